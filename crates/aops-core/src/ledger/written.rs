//! What the calls of a session wrote, or may have written, since its uncommitted files were last recorded.
//!
//! Reads the ledger, the list of leases and the times of files, only when we need to know what a task owes.
//! Invariants: the file of an edit is the session's own, whoever saves it later; any other file is its own if
//! it last changed while a command was running, or after one that may still be running, and no other session
//! edited it meanwhile.

use super::entry::Line;
use super::leases;
use super::recover::{self, LEDGER_FILE};
use super::session_folder;
use super::sessions::SessionOnDisk;
use crate::model::call::{CallState, Effect};
use crate::model::error::Failure;
use crate::model::worktree::Worktree;
use crate::session::fact::{Fact, Step};
use crate::session::fold::Session;
use crate::session::memory::Memory;
use crate::system::env::Env;
use crate::system::{folder, git};
use crate::text::json::{self, Json};
use crate::text::time;
use crate::tool::{table::edited_field, targets};
use aops_shell::lasting::lasts;
use aops_shell::syntax::Ground;
use rustix::fs::OFlags;
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::mem;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// File times are only as precise as one clock tick.
const TICK_MS: i64 = 20;

#[derive(Debug, Default)]
struct Written {
    /// Files of edits.
    files: BTreeSet<PathBuf>,
    /// When calls were running that change something: from, until.
    spans: Vec<(i64, i64)>,
    /// The same since the session began.
    all_spans: Vec<(i64, i64)>,
    /// Files that other sessions edited, and when they last did.
    others: BTreeMap<String, i64>,
}

/// A call that has begun.
struct Begun {
    id: String,
    from_ms: i64,
    file: Option<PathBuf>,
    goes_on: bool,
}

impl Written {
    fn read(env: &Env, session_id: &str, memory: &Memory, ledger: &File, long: u64) -> Result<Self, Failure> {
        let mut written = Self::default();
        let mut begun = Vec::new();
        let mut last_ms = 0;
        let root = Path::new(&memory.place.root);
        folder::each_line(ledger, 0, long, |_, line| {
            if let Some(line) = line.strip_suffix(b"\n").and_then(Line::read) {
                let at = time::parse(line.ts).unwrap_or(last_ms);
                let tells = match line.kind {
                    "call" | "violation" => true,
                    "event" => line.with.contains("\"baseline\":{"),
                    _ => false,
                };
                match tells.then(|| Fact::read(line.kind, line.with)).flatten() {
                    Some(Fact::Call(step)) => written.note(env, memory, &mut begun, &step, at),
                    // It was never asked about, so its start is unknown: count from the entry before.
                    Some(Fact::Violation(violation)) if violation.unasked.is_some() => {
                        written.ran(last_ms, at);
                    }
                    Some(Fact::Event(seen))
                        if seen.baseline().is_some_and(|new| {
                            memory.place.baseline_sha256.as_ref() == Some(&new.sha256)
                        }) =>
                    {
                        let all_spans = mem::take(&mut written.all_spans);
                        written = Self { all_spans, ..Self::default() };
                    }
                    _ => {}
                }
                last_ms = at;
            }
            Some(())
        })?;
        // Their end was not reported yet.
        for call in begun {
            written.keep(call, i64::MAX);
        }
        // If the task is weighed, its own files are known by name.
        written
            .files
            .extend(memory.progress.weight.grown.files.iter().map(|file| real(&root.join(&file.path))));
        written.others = leases::of_others(env, root, session_id);
        Ok(written)
    }

    fn note(&mut self, env: &Env, memory: &Memory, begun: &mut Vec<Begun>, step: &Step, at: i64) {
        if step.to == CallState::Pending {
            if step.effect().is_some_and(Effect::is_write) {
                begun.push(Begun::of(env, memory, step, at));
            }
            return;
        }
        let ended =
            step.to.is_terminal().then(|| begun.iter().position(|call| call.id == step.call.id)).flatten();
        if let Some(call) =
            ended.map(|found| begun.swap_remove(found)).filter(|_| step.to != CallState::Denied)
        {
            let goes_on = call.goes_on || step.ended().unended || step.ended().measured.lasts;
            self.keep(call, if goes_on { i64::MAX } else { at });
        }
    }

    fn keep(&mut self, call: Begun, until_ms: i64) {
        self.ran(call.from_ms - TICK_MS, until_ms);
        self.files.extend(call.file);
    }

    fn ran(&mut self, from_ms: i64, until_ms: i64) {
        self.spans.push((from_ms, until_ms));
        self.all_spans.push((from_ms, until_ms));
    }

    /// One of the session's calls ran in this second.
    fn ran_at(&self, second: i64) -> bool {
        let from = second.saturating_mul(1000);
        let until = from.saturating_add(999);
        self.all_spans.iter().any(|(began, ended)| *began <= until && from <= *ended)
    }

    /// This file is, or may be, as the session left it; or the session edited it at some time.
    fn is_own(&self, place: &Path) -> bool {
        if self.files.contains(&real(place)) {
            return true;
        }
        let at = changed_ms(place);
        let theirs = self.others.get(&*real(place).to_string_lossy());
        let apart = |from: i64| theirs.is_none_or(|since| *since < from);
        self.spans.iter().any(|(from, until)| (*from..=*until).contains(&at) && apart(*from))
    }
}

/// What this session owes in its working tree. The ledger is read only if something there is new.
pub fn owed(env: &Env, session: &Session, cwd: &Path, ledger: (&File, u64)) -> Result<Worktree, Failure> {
    let (file, long) = ledger;
    let baseline = recover::baseline(&session.memory, file, long)?;
    let read = || Written::read(env, &session.state.session_id, &session.memory, file, long);
    let written = LazyCell::new(|| read().ok());
    // If the ledger cannot be read, the session may have written any file.
    let is_own = |place: &Path| written.as_ref().is_none_or(|written| written.is_own(place));
    let ran_at = |second: i64| written.as_ref().is_none_or(|written| written.ran_at(second));
    let deeds = git::Deeds { wrote: &is_own, ran_at: &ran_at };
    Ok(git::owed(env, cwd, Path::new(&session.memory.place.root), &baseline, &deeds))
}

/// The same for a session that is not open here.
pub fn owed_on_disk(env: &Env, found: &SessionOnDisk, session: &Session, cwd: &Path) -> Option<Worktree> {
    let place = session_folder::open(found.path.clone()).ok()??;
    let (file, long) = folder::open(&place.dir, LEDGER_FILE, OFlags::RDONLY).ok()??;
    owed(env, session, cwd, (&file, long)).ok()
}

impl Begun {
    fn of(env: &Env, memory: &Memory, step: &Step, from_ms: i64) -> Self {
        let text = step.input().map_or("{}", |input| input.get());
        let input = json::read(text).unwrap_or(Json::Null);
        let file = edited_field(&step.call.tool).and_then(|field| input.text_of(field));
        let home = env.home.to_string_lossy();
        let ground = Ground { cwd: &memory.place.root, home: &home, variables: &[] };
        let background = matches!(input.get("run_in_background"), Some(Json::Bool(true)));
        let line = || targets::line(&step.call.tool, text, &ground);
        Self {
            id: step.call.id.clone(),
            from_ms,
            file: file.map(|file| real(&Path::new(&memory.place.root).join(file))),
            goes_on: background
                || step.call.tool == "Monitor"
                || line().is_some_and(|line| lasts(&line).is_some()),
        }
    }
}

/// The path with its real folder; its last component may be a link, which counts as a file of its own.
fn real(place: &Path) -> PathBuf {
    let folder = place.parent().and_then(|folder| folder.canonicalize().ok());
    folder.zip(place.file_name()).map_or_else(|| place.to_owned(), |(folder, name)| folder.join(name))
}

/// When this file last changed (`ctime`), which no program can set; for a deleted file, its folder.
fn changed_ms(place: &Path) -> i64 {
    let known = place.ancestors().find_map(|at| fs::symlink_metadata(at).ok());
    known.map_or(i64::MAX, |about| about.ctime() * 1000 + about.ctime_nsec() / 1_000_000)
}
