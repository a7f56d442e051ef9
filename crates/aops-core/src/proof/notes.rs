//! Checkpoints in the project's repository, as git notes that are pushed with the work.
//!
//! Starts `git` through `system::git`. Invariant: a note contains checkpoints and nothing else of ours.

use super::store::Store;
use crate::model::error::Failure;
use crate::system::env::Env;
use crate::system::git::{Remotes, notes as git};
use aops_proof::note::Note;
use std::path::Path;

/// Adds the newest checkpoint to the repository that contains this folder, and pushes it if the work was
/// pushed.
pub fn publish(env: &Env, project: &Path) -> Result<(), Failure> {
    let Some(note) = Store::look(env)?.map(|store| store.checkpoint()).transpose()?.flatten() else {
        return Ok(());
    };
    if git::add(env, project, &note.1.to_string()).is_some()
        && let Ok(remotes) = Remotes::ask(env, project)
    {
        git::push(env, project, &git::CHECKPOINTS, &remotes);
    }
    Ok(())
}

/// The checkpoints in a text that contains many.
pub fn parse(lines: &str) -> Vec<Note> {
    let mut found = Vec::new();
    let mut block = String::new();
    let is_signature = |line: &str| line.starts_with("— ");
    let mut signed = false;
    for line in lines.lines().chain([""]) {
        if signed && !is_signature(line) {
            found.extend(Note::parse(&block).ok());
            block.clear();
            signed = false;
        }
        signed |= is_signature(line);
        if !(block.is_empty() && line.is_empty()) {
            block += line;
            block.push('\n');
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use aops_proof::key::{SecretKey, Use};

    #[test]
    fn many_notes_in_one_text() {
        let key = SecretKey::new("a.example", Use::Note, &[1; 32]).unwrap();
        let note = |text: &str| Note {
            signatures: [0, 1].iter().filter_map(|time| key.sign(text, *time)).collect(),
            text: text.to_owned(),
        };
        let one = note("a.example\n1\nx\n");
        let two = note("a.example\n2\ny\n");
        assert_eq!(parse(&format!("{one}\n{two}{one}")), [one.clone(), two, one]);
        assert_eq!(parse("words\n\nof others\n"), []);
    }
}
