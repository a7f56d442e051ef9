//! Which paths are executable configuration: files that the client, a shell or git run without asking our
//! hooks.
//!
//! Compares a path, or a pattern of paths, with names; reads nothing. Invariant: a text that brings no
//! program is free; `observe` finds out whether it does.

use super::path::pattern::{ends_as, exact, fits, hints, named, unnamed};
use super::path::{Component, Protected, components, lower, names};
use super::started::{self, Row};
use crate::tool::targets::{Act, Target};
use aops_shell::syntax::{Bit, Word};

/// Why a path is executable configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executable {
    /// With any content.
    Always(&'static str),
    /// A text for the client, which may bring programs.
    Text,
    /// Only if its text contains one of the row's words.
    Saying(&'static Row),
    /// Another file in a skill's folder; the number is how many components lead to that folder.
    Beside(usize),
}

const PLUGINS: &str = "a plugin, or the list of them";
const SNAPSHOTS: &str = "what the client sources before each command";
const HOOKS: &str = "a script that hooks run";
const SERVERS: &str = "a list of MCP servers";
const SERVER_LIST: &str = ".mcp.json";
const GIT: &str = "a hook or the configuration of git";
const TEXTS: [&str; 3] = ["skills", "commands", "agents"];
/// Files in a skill's folder that make it a plugin.
const PARTS: [&str; 7] =
    [".claude-plugin", "hooks", "hooks.json", "plugin.json", ".lsp.json", "monitors", "bin"];

/// Why this target is executable configuration, by its given path or by its real one.
pub fn of_target(protected: &Protected, target: &Target) -> Option<Executable> {
    if target.act == Act::Copy {
        return None;
    }
    let of = |word: &Word| of_path(protected, &components(&word.bits), target.act);
    of(&target.path).or_else(|| target.real.as_ref().and_then(of))
}

/// Files that a pattern with only a known ending may mean; each is executable configuration if it exists. For
/// `src/*.py` that is `src/sitecustomize.py`.
pub fn perhaps(target: &Target) -> Vec<Target> {
    let path = target.real.as_ref().unwrap_or(&target.path);
    let last = lower(path.last_bits());
    let folder = path.folder();
    if exact(&last) || unnamed(&last) || folder.literal().is_none() {
        return Vec::new();
    }
    let meant = started::loose().chain([SERVER_LIST]).filter(|name| hints(&last, name) && fits(&last, name));
    let target = |name| Target {
        path: Word::of(name).from_folder(&folder),
        act: target.act,
        real: None,
        stands: None,
    };
    meant.map(target).collect()
}

fn of_path(protected: &Protected, path: &[Component], act: Act) -> Option<Executable> {
    if ends_as(path, SERVER_LIST) {
        return Some(Executable::Always(SERVERS));
    }
    if of_git(path) {
        return Some(Executable::Always(GIT));
    }
    if let Some(row) = started::row(protected, path, act) {
        return Some(if row.words.is_empty() {
            Executable::Always(row.what)
        } else {
            Executable::Saying(row)
        });
    }
    let config = names(&protected.config);
    let in_config = path.len() > config.len() && config.iter().zip(path).all(|(name, part)| fits(part, name));
    let below = |at: usize| in_client_folder(&path[at..], at, act);
    if let Some(found) =
        in_config.then(|| of_config(&path[config.len()]).or_else(|| below(config.len()))).flatten()
    {
        return Some(found);
    }
    let folders = path.iter().enumerate().filter(|(_, part)| named(part, ".claude"));
    folders.into_iter().find_map(|(at, _)| below(at + 1))
}

/// For paths below the client's own folder.
fn of_config(first: &Component) -> Option<Executable> {
    if named(first, "plugins") {
        return Some(Executable::Always(PLUGINS));
    }
    let sourced = ["shell-snapshots", "session-env"].iter().any(|name| named(first, name));
    sourced.then_some(Executable::Always(SNAPSHOTS))
}

/// For paths below a `.claude` folder. `at`: how many components lead to `rest`.
fn in_client_folder(rest: &[Component], at: usize, act: Act) -> Option<Executable> {
    let (first, inner) = rest.split_first()?;
    if named(first, "hooks") && !inner.is_empty() {
        return Some(Executable::Always(HOOKS));
    }
    if !TEXTS.iter().any(|name| named(first, name)) {
        return None;
    }
    if inner.iter().any(|part| PARTS.iter().any(|name| named(part, name))) {
        return Some(Executable::Always(PLUGINS));
    }
    let brings_whole = matches!(act, Act::Into | Act::Merge | Act::Become);
    match inner.last() {
        None => brings_whole.then_some(Executable::Text),
        // Removing the file brings nothing.
        Some(_) if act.goes_below() => None,
        Some(last) if brings_whole || unnamed(last) || is_text(last) => Some(Executable::Text),
        Some(_) => Some(Executable::Beside(at + 2)),
    }
}

/// `*.md`, or a name that may end in that.
fn is_text(last: &Component) -> bool {
    let plain = last.iter().all(|bit| matches!(bit, Bit::Char(_)));
    !plain || last.ends_with(&[Bit::Char('.'), Bit::Char('m'), Bit::Char('d')])
}

/// `.git/hooks/…`, `.git/config`, also of worktrees and submodules.
fn of_git(path: &[Component]) -> bool {
    let Some(at) = path.iter().position(|part| named(part, ".git")) else { return false };
    let inside = &path[at + 1..];
    let config = |last: &Component| named(last, "config") || named(last, "config.worktree");
    inside.iter().any(|part| named(part, "hooks")) || inside.last().is_some_and(config)
}
