//! Which file of secrets a call reads or edits, and whether the person has already approved that for the
//! current task.
//!
//! Reads session, event and call; writes nothing. Invariants: an answer counts only for its own file and
//! task; approving a change does not approve showing the content; a line that does more than read needs
//! approval each time.

use super::CallContext;
use crate::model::call::Effect;
use crate::model::event::Event;
use crate::session::fold::Session;
use crate::session::question::SecretFile;
use crate::tool::danger::{Danger, is_secret};
use aops_shell::syntax::{Simple, Word};
use std::path::{Component, Path};

/// The rule that asks about such files.
pub(super) const RULE: &str = "secret-file";

/// The person approved that this task reads the file; or edits it, if the call is an edit.
pub(super) fn is_approved(session: &Session, event: &Event, seen: &CallContext, danger: &Danger) -> bool {
    let Some(file) = touched(event, seen, danger) else { return false };
    let covers = |known: &SecretFile| known.path == file.path && (known.reads || !file.reads);
    session.memory.questions.secrets.iter().any(covers)
}

/// The one file that this call is about, if nothing else in the call needs an answer.
pub(super) fn touched(event: &Event, seen: &CallContext, danger: &Danger) -> Option<SecretFile> {
    let tool = event.call().filter(|_| danger.rule.id() == RULE)?.key.tool.as_str();
    if tool == "Bash" {
        let path = (seen.does.effect == Effect::Read).then(|| read_by_line(event, seen))??;
        return Some(SecretFile { path, reads: true });
    }
    let edits = matches!(tool, "Edit" | "MultiEdit" | "Write");
    let named = danger.what.strip_prefix(tool)?.strip_prefix(' ').filter(|_| edits || tool == "Read")?;
    let path = Path::new(&event.cwd).join(named);
    let path = path.to_str().filter(|_| is_plain(&path))?.to_owned();
    Some(SecretFile { path, reads: !edits })
}

/// The file of secrets that a line reads, if it is a single one and every mention means it.
fn read_by_line(event: &Event, seen: &CallContext) -> Option<String> {
    let mut named = seen.reach.runs.iter().flat_map(|run| secrets_of(&run.command));
    let first = named.next()??;
    let mentioned =
        |text: &str| text.split(|c: char| !c.is_alphanumeric() && !"._-/~*?".contains(c)).any(is_secret);
    let alone = named.all(|other| other.as_ref() == Some(&first)) && !mentioned(&without(event, &first)?);
    (alone && is_plain(Path::new(&first))).then_some(first)
}

/// The words of a command that name files of secrets, as absolute paths; `None` for a word whose folder is
/// uncertain.
fn secrets_of(command: &Simple) -> impl Iterator<Item = Option<String>> {
    let folder = match command.folders.as_slice() {
        [one] => Some(one),
        _ => None,
    };
    let secret = |word: &&Word| is_secret(&word.lossy());
    let place = move |word: &Word| word.is_firm().then(|| word.from_folder(folder?).literal())?;
    command.words.iter().skip(1).filter(secret).map(place)
}

/// The line without the words that end in this path: the rest may name another file.
fn without(event: &Event, path: &str) -> Option<String> {
    let line = crate::text::json::read(&event.call()?.input).ok()?.text_of("command")?;
    let ends = |word: &&str| !path.ends_with(word.trim_matches(['"', '\'']).trim_start_matches("./"));
    Some(line.split_whitespace().filter(ends).collect::<Vec<_>>().join(" "))
}

fn is_plain(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}
