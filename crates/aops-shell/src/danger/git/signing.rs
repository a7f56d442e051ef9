//! Git commands that sign as the user.

use super::Verb;
use crate::flags::is_option;

/// Settings that make git sign commits, tags or pushes.
pub(super) const SIGNING: &[&str] = &["commit.gpgsign", "tag.gpgsign", "tag.forcesignannotated"];
pub(super) const TRUE: &[&str] = &["true", "yes", "on", "1"];

pub(super) fn takes_signature(verb: &str) -> bool {
    matches!(
        verb,
        "am" | "cherry-pick" | "commit" | "commit-tree" | "merge" | "pull" | "rebase" | "revert" | "tag"
    )
}

/// `-S`, `-aS`, `-Skey`, `--gpg-sign`; for a tag also `-s` and `-u KEY`. A message that looks like one does
/// not count.
pub(super) fn signs(verb: &Verb) -> bool {
    // Letters that take a value: the rest of the word, or the next word.
    let (wanted, valued) = match verb.name {
        "tag" => ("su", "mFn"),
        "merge" | "pull" | "rebase" => ("S", "mFsXxC"),
        _ => ("S", "mFCctXpu"),
    };
    let mut is_value = false;
    for text in verb.before() {
        if std::mem::take(&mut is_value) {
            continue;
        }
        let long = text.split('=').next().unwrap_or_default();
        let is_signing = |option: &str| is_option(long, option);
        let of_tag = || verb.name == "tag" && (is_signing("--sign") || is_signing("--local-user"));
        if is_signing("--gpg-sign") || of_tag() {
            return true;
        }
        is_value = matches!(text.as_str(), "--message" | "--file" | "--template" | "--strategy" | "--author");
        let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
        match letters.find(|letter| wanted.contains(letter) || valued.contains(letter)) {
            Some(at) if letters[at..].starts_with(|letter| wanted.contains(letter)) => return true,
            Some(at) => is_value = letters.len() == at + 1 && !letters.ends_with('u'),
            None => {}
        }
    }
    false
}

/// `git config commit.gpgsign true`
pub(super) fn configures_signing(verb: &Verb) -> bool {
    let operands = verb.operands();
    operands.windows(2).any(|pair| {
        let key = pair[0].to_lowercase();
        let value = pair[1].to_lowercase();
        SIGNING.contains(&key.as_str()) && TRUE.contains(&value.as_str())
    })
}
