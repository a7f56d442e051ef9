//! Measures how much a task changes: an edit before it is made, a command after it ran.
//!
//! Reads the file of an edit, and compares the tree with the checkpoint of the task's start. Invariants: a
//! call that only reads costs nothing here; ignored files, scratch files outside the project and changes that
//! the task did not make never count, but an edit of a file that is ignored only by a rule of the task itself
//! does; without a checkpoint edits are added up, and commands are not measured.

mod light;
mod own;

use super::checks::proposed_text;
use super::jailed::is_background;
use super::real_paths;
use super::scratch::{is_scratch, temporary_folders};
use super::verified;
use crate::checkpoint::capture::{is_ignored, was_ignored};
use crate::checkpoint::form::Id;
use crate::checkpoint::rollback::root;
use crate::checkpoint::store::Store;
use crate::config::policy::ModeLevel;
use crate::model::call::ToolCall;
use crate::model::event::Event;
use crate::session::fact::Measured;
use crate::session::fold::Session;
use crate::session::growth::ChangedFile;
use crate::session::memory::OpenCall;
use crate::system::env::Env;
use crate::system::files;
use crate::system::git;
use crate::text::diff::count_lines;
use crate::text::json::{self, Json};
use crate::text::sha256::{Sum, sha256};
use crate::tool::table::edited_field;
use crate::tool::targets::{self, Act};
use aops_shell::class::{LineSetting, is_only_unknown, only_changes_named, only_syncs};
use aops_shell::lasting::lasts;
use aops_shell::leftovers::only_checks;
use aops_shell::outside::{asks_here, outside};
use aops_shell::syntax::{Ground, Line, Word};
use own::Own;
use std::fs;
use std::path::{Path, PathBuf};

const LARGEST: u64 = 8 << 20;

/// The call that edits a file of a task that is weighed, its input, and the file.
fn edit<'e>(session: &Session, event: &'e Event) -> Option<(&'e ToolCall, Json<'e>, PathBuf)> {
    let call = event.call().filter(|_| session.measures() && event.by_our_agent().is_none())?;
    let field = edited_field(&call.key.tool)?;
    let input = json::read(&call.input).ok()?;
    let place = Path::new(&event.cwd).join(input.text_of(field)?);
    let place = real_paths::real(&place).unwrap_or(place);
    Some((call, input, place))
}

/// The file that this call edits does not count.
pub(super) fn is_weightless(env: &Env, session: &Session, event: &Event) -> bool {
    let Some((_, _, place)) = edit(session, event) else { return false };
    counted_path(env, session, root(env, session, event).as_deref(), &place).is_none()
}

/// The file as this edit will leave it; `None` for any other call, and if the edit will fail.
pub(super) fn of_edit(env: &Env, session: &Session, event: &Event) -> Option<ChangedFile> {
    let (call, input, place) = edit(session, event)?;
    let tool = call.key.tool.as_str();
    let root = root(env, session, event);
    let path = counted_path(env, session, root.as_deref(), &place)?;
    let now = fs::metadata(&place)
        .ok()
        .filter(|about| about.len() <= LARGEST)
        .and_then(|_| files::read(&place).ok());
    let known = session.memory.progress.weight.grown.file(&path);
    if tool == "NotebookEdit" {
        let source = input.text_of("new_source").unwrap_or_default();
        let lines = known.map_or(0, |known| known.lines) + source.lines().count().max(1) as u64;
        let was = known.map_or_else(|| digest(now.as_deref()), |known| known.was.clone());
        let is = sha256(&[b"notebook", source.as_bytes()]);
        return Some(ChangedFile { is, light: false, lines, path, was });
    }
    let next = proposed_text(tool, &call.input, &place)?;
    let Some(known) = known else {
        let lines = count(now.as_deref().unwrap_or_default(), &next);
        let was = digest(now.as_deref());
        return Some(ChangedFile { is: sha256(&[&next]), light: false, lines, path, was });
    };
    let lines = match start(root.as_deref(), &known.was).filter(|_| !known.light) {
        Some(start) => count(&start, &next),
        None => known.lines + count(now.as_deref().unwrap_or_default(), &next),
    };
    Some(ChangedFile { is: sha256(&[&next]), lines, path, ..known.clone() })
}

/// The file of an edit that was made without asking us. Its old content is unknown, so all its lines count.
pub(super) fn of_unasked(env: &Env, session: &Session, event: &Event) -> Option<ChangedFile> {
    let (_, _, place) = edit(session, event)?;
    let path = counted_path(env, session, root(env, session, event).as_deref(), &place)?;
    let now = fs::metadata(&place)
        .ok()
        .filter(|about| about.len() <= LARGEST)
        .and_then(|_| files::read(&place).ok());
    let known = session.memory.progress.weight.grown.file(&path);
    let lines = known.map_or(0, |known| known.lines) + count(&[], now.as_deref().unwrap_or_default());
    let was = known.map_or_else(String::new, |known| known.was.clone());
    Some(ChangedFile { is: digest(now.as_deref()), light: false, lines, path, was })
}

/// The file is as the edit would leave it.
pub(super) fn is_made(env: &Env, session: &Session, event: &Event, open: &OpenCall) -> bool {
    let (Some(file), Some(root)) = (&open.means.grows, root(env, session, event)) else { return false };
    // The new content of a notebook cannot be predicted.
    if open.call.tool == "NotebookEdit" {
        return true;
    }
    let content = fs::metadata(root.join(&file.path)).ok().filter(|about| about.len() <= LARGEST);
    content
        .and_then(|_| files::read(root.join(&file.path)).ok())
        .is_some_and(|now| sha256(&[&now]) == file.is)
}

/// The path under which this file counts; `None` if it does not count.
fn counted_path(env: &Env, session: &Session, root: Option<&Path>, place: &Path) -> Option<String> {
    let inside = root.and_then(|root| {
        let real = real_paths::real(root).unwrap_or_else(|| root.to_path_buf());
        let path = place.strip_prefix(root).or_else(|_| place.strip_prefix(&real)).ok()?;
        Some((real, path.to_string_lossy().into_owned()))
    });
    if let Some((root, path)) = inside {
        let hidden = is_ignored(&root, &path) && was_always_ignored(session, &root, &path);
        return (!hidden && !git::is_made(env, &root, &path)).then_some(path);
    }
    let scratch = temporary_folders().iter().chain([&env.config]).any(|folder| place.starts_with(folder));
    (!scratch).then(|| place.to_string_lossy().into_owned())
}

/// The rule that ignores this file is older than the task. We assume so if we do not know the task's start.
fn was_always_ignored(session: &Session, root: &Path, path: &str) -> bool {
    let id = session.memory.progress.weight.start.as_deref().and_then(Id::read);
    let store = id.as_ref().and_then(|_| Store::look(root).ok()?);
    let start = store.as_ref().zip(id).and_then(|(store, id)| Some((store, store.read(&id).ok()?)));
    start.is_none_or(|(store, start)| was_ignored(store, path, &start.artifacts))
}

/// The file as it was when the task began; `None` if the store does not have it.
fn start(root: Option<&Path>, was: &str) -> Option<Vec<u8>> {
    if was.is_empty() { Some(Vec::new()) } else { stored(&Store::look(root?).ok()??, was) }
}

fn stored(store: &Store, was: &str) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    if !was.is_empty() {
        store.unpack(&Sum::read(was)?.0, &mut content).ok()?;
    }
    Some(content)
}

fn digest(content: Option<&[u8]>) -> String {
    content.map_or_else(String::new, |content| sha256(&[content]))
}

fn count(old: &[u8], new: &[u8]) -> u64 {
    count_lines(&String::from_utf8_lossy(old), &String::from_utf8_lossy(new))
}

/// A task with a plan may act elsewhere. Only for a shell line without effects outside of this machine does
/// the tree show everything that it did.
fn stays_here(env: &Env, event: &Event) -> bool {
    let home = env.home.to_string_lossy();
    let ground = Ground { cwd: &event.cwd, home: &home, variables: &[] };
    let line = event.call().and_then(|call| targets::line(&call.key.tool, &call.input, &ground));
    line.is_some_and(|line| !outside(&line))
}

/// This line changes files that the tree does not show: what it names outside of it, or another repository.
fn acts_elsewhere(env: &Env, session: &Session, event: &Event) -> bool {
    let home = env.home.to_string_lossy();
    let ground = Ground { cwd: &event.cwd, home: &home, variables: &[] };
    let (Some(call), Some(root)) = (event.call(), root(env, session, event)) else { return false };
    let Some(line) = targets::line(&call.key.tool, &call.input, &ground) else { return false };
    let root = real_paths::real(&root).unwrap_or(root);
    let away = |path: &Word| {
        let path = real_paths::real(Path::new(&path.tidied().literal()?))?;
        let is_ours = path.starts_with(&root) || root.starts_with(&path) || path.starts_with(&env.config);
        Some(path).filter(|path| !is_ours && !is_scratch(env, &root, &Word::of(&path.to_string_lossy())))
    };
    let is_repository = |path: PathBuf| {
        path.ancestors().take_while(|above| !root.starts_with(above)).any(|above| above.join(".git").exists())
    };
    let reach = targets::of(&call.key.tool, &call.input, Some(&line), &ground);
    let named = reach.paths.iter().filter(|target| target.act != Act::Copy);
    let mut named = named.filter_map(|target| away(&target.path));
    if only_changes_named(&line, &LineSetting::of(ground)) {
        return named.next().is_some();
    }
    let mut folders = line.commands.iter().flat_map(|simple| simple.folders.iter()).filter_map(away);
    named.any(is_repository) || folders.any(is_repository)
}

/// Everything that the task has changed so far, after this command; does nothing if that is unknown.
pub(super) fn of_tree(env: &Env, session: &Session, event: &Event, open: &OpenCall, measured: &mut Measured) {
    if !session.measures() {
        measured.lasts = session.measures_commands() && may_go_on(env, event);
        return;
    }
    let Some(own) = Own::find(env, session, event, open) else { return };
    let (growth, moved) = own.measure(env, session, event);
    // Among files that are only counted a change may go unnoticed; to weigh a task, their number is enough.
    if session.memory.progress.weight.unplanned || growth.is_whole() {
        let lasts = may_go_on(env, event);
        *measured = Measured { grown: Some(growth), lasts, moved, unchanged: measured.unchanged };
    }
}

/// Mode `strict`: tests, linters, requests to a server of this machine, and changes of named files are not
/// work if they left the tree as it was.
pub(super) fn is_idle(env: &Env, session: &Session, event: &Event, open: &OpenCall) -> bool {
    let asked =
        session.mode() == ModeLevel::Strict && session.measures_commands() && open.means.since_ms.is_some();
    let Some(call) = event.call().filter(|call| asked && !call.unended && !is_background(call)) else {
        return false;
    };
    let home = env.home.to_string_lossy();
    let ground = Ground { cwd: &event.cwd, home: &home, variables: &[] };
    let around = LineSetting::of(ground);
    let idles = |line: &Line| {
        only_checks(&line.text) && is_only_unknown(line, &around)
            || asks_here(line)
            || only_syncs(line, &around)
            || verified::changes_here(env, session, event, line)
    };
    let line = targets::line(&call.key.tool, &call.input, &ground);
    let own = line
        .filter(|line| idles(line) && lasts(line).is_none())
        .and_then(|_| Own::find(env, session, event, open));
    own.is_some_and(|own| {
        own.measure(env, session, event) == (session.memory.progress.weight.grown.clone(), false)
    })
}

/// Part of this command may still be running.
fn may_go_on(env: &Env, event: &Event) -> bool {
    let home = env.home.to_string_lossy();
    let ground = Ground { cwd: &event.cwd, home: &home, variables: &[] };
    event.call().is_some_and(|call| {
        let line = || targets::line(&call.key.tool, &call.input, &ground);
        call.unended || is_background(call) || line().is_some_and(|line| lasts(&line).is_some())
    })
}
