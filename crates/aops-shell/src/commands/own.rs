//! Our own program and the tracker, by their verbs.

use super::command::{Class, Invocation};
use crate::effect::Effect;
use crate::syntax::Word;
use crate::verbs::{self, Who};

/// `aops-hook`: verbs that only report are reads, `block` may only tighten, and all others need a person.
pub(super) fn aops_hook(command: &Invocation) -> Class {
    let words = command.arguments;
    let texts: Vec<String> = words.iter().map(Word::lossy).collect();
    let first = texts.first().map(String::as_str).unwrap_or_default();
    let shifts = words.iter().any(|word| word.shifts == Some(0));
    command.reads_if(!shifts, first)?;
    if verbs::asks_help(&texts) && words.iter().all(Word::is_firm) {
        return Ok(Effect::Read);
    }
    let firm = words.iter().find(|word| !word.is_option()).is_some_and(Word::is_firm);
    match verbs::called(&texts).filter(|_| firm && !verbs::writes_files(&texts)) {
        Some(verb) if verb.who == Who::Anyone && !verb.effect.is_write() => Ok(verb.effect),
        _ => Err(command.refusal(first)),
    }
}

/// Options of the tracker before its verb. `export -o file` can write anywhere.
pub(super) const BD: &str = "-qvh --global --json --profile --quiet --readonly --sandbox --verbose --help --version \
    --mb-no-cmd-logging --actor= --db= --dolt-auto-commit=";

/// Verbs that only touch issues and notes. Verbs that set up the repository, the client's settings or the
/// tracker's storage are left out: `setup`, `init`, `hooks`, `doctor`, `dolt`, `sync`, `migrate`, …
#[rustfmt::skip]
static TRACKING: &[&str] = &[
    "activity", "assign", "audit", "blocked", "children", "claim", "close", "comment", "comments", "context", "count", "create", "create-form",
    "defer", "dep", "diff", "duplicate", "duplicates", "epic", "export", "find-duplicates", "forget", "gate", "get", "graph", "help",
    "history", "human", "info", "label", "link", "lint", "list", "memories", "new", "note", "orphans", "ping", "prime", "priority", "q",
    "query", "quickstart", "ready", "recall", "remember", "reopen", "search", "set-state", "show", "stale", "state", "stats",
    "status", "statuses", "supersede", "tag", "todo", "types", "undefer", "update", "version", "where", "whoami",
];

/// The tracker by its verb; only its own global options may come first.
pub(super) fn tracker(command: &Invocation) -> Class {
    let written = |word: &&Word| word.starts_with("--out") || word.starts_with("-o");
    if let Some(word) = command.arguments.iter().find(written) {
        return Err(command.refusal(&word.lossy()));
    }
    let mut words = command.arguments.iter();
    while let Some(word) = words.next() {
        let text = word.lossy();
        let name = text.split('=').next().unwrap_or_default();
        let listed = |sign: &str| {
            BD.split(' ')
                .any(|row| row.strip_suffix(sign) == Some(name) && row.ends_with('=') != sign.is_empty())
        };
        let known =
            word.is_firm() || text.contains('=') && word.shifts.is_none_or(|at| at > name.chars().count());
        if !known || word.splits {
            return Err(command.refusal(&text));
        }
        match word.is_option() {
            true if text.contains('=') && (listed("=") || listed("")) => {}
            true if listed("=") => drop(words.next()),
            true if listed("") || matches!(name, "-q" | "-v" | "-h") => {}
            false if TRACKING.contains(&name) => return Ok(Effect::Tracker),
            // `mb sync` reconciles the two forms of its own issues; with an argument it writes anywhere.
            false if name == "sync" && command.name == "mb" && words.len() == 0 => {
                return Ok(Effect::Tracker);
            }
            _ => return Err(command.refusal(&text)),
        }
    }
    Ok(Effect::Tracker)
}
