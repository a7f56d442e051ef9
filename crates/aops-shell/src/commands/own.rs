//! Our own program and the tracker, by their verbs.

use super::command::{Class, Invocation};
use crate::effect::Effect;
use crate::syntax::Word;
use crate::verbs::{self, Who};

/// `aops-hook`: verbs that tell read, `block` only tightens, the rest needs a person.
pub(super) fn aops_hook(command: &Invocation) -> Class {
    let words = command.arguments;
    let texts: Vec<String> = words.iter().map(Word::lossy).collect();
    let first = texts.first().map(String::as_str).unwrap_or_default();
    let shifts = words.iter().any(|word| word.shifts == Some(0));
    command.reads_if(!shifts, first)?;
    if texts.is_empty() || texts.iter().any(|text| matches!(text.as_str(), "--help" | "-h" | "--version")) {
        return Ok(Effect::Read);
    }
    let firm = words.iter().find(|word| !word.is_option()).is_some_and(Word::is_firm);
    let writes = texts.iter().any(|text| ["--o", "-o", "--i"].iter().any(|option| text.starts_with(option)));
    match verbs::called(&texts).filter(|_| firm && !writes) {
        Some(verb) if verb.who == Who::Anyone && !verb.effect.is_write() => Ok(verb.effect),
        _ => Err(command.refusal(first)),
    }
}

/// Options of the tracker before its verb; `export -o file` writes wherever it is told.
pub(super) const BD: &str = "-qvh --global --json --profile --quiet --readonly --sandbox --verbose --help --version \
    --actor= --db= --dolt-auto-commit=";

/// The tracker, except for what it does to the repository and its own storage.
pub(super) fn tracker(command: &Invocation) -> Class {
    const REACHING: [&str; 3] = ["sync", "hooks", "dolt"];
    let written = |word: &&Word| word.starts_with("--out") || word.starts_with("-o");
    if let Some(word) = command.arguments.iter().find(written) {
        return Err(command.refusal(&word.lossy()));
    }
    let mut words = command.arguments.iter();
    while let Some(word) = words.next() {
        let text = word.lossy();
        let option = word.is_option();
        let bare = option && !text.contains('=');
        let listed = |sign: &str| BD.split(' ').any(|row| row.strip_suffix(sign) == Some(text.as_str()));
        if word.shifts == Some(0) || word.splits || bare && !word.is_firm() {
            return Err(command.refusal(&text));
        }
        let reaches = |word: &Word| REACHING.iter().any(|verb| word.is(verb));
        let unknown = bare && !listed("") && !matches!(text.as_str(), "-q" | "-v" | "-h");
        if bare && listed("=") {
            words.next();
        } else if unknown && words.clone().take(2).any(reaches) || !option && reaches(word) {
            return Err(command.refusal(&text));
        } else if unknown || !option {
            // An unknown option may take a word with it, so that the verb is not certain.
            break;
        }
    }
    Ok(Effect::Tracker)
}
