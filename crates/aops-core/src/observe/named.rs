//! Lists what the user's rules are compared with: paths that a call names, reads or touches, and its simple
//! commands.
//!
//! Resolves links on disk. Invariant: what a line may read is kept apart from what it touches.

use super::real_paths;
use crate::model::call::ToolCall;
use crate::model::event::Event;
use crate::text::json;
use crate::tool::targets::{CommandRun, Targets};
use aops_shell::syntax::{Simple, Word};
use std::path::{Path, PathBuf};

/// Every path that the call names or touches, and its simple commands.
pub(super) fn list(
    event: &Event,
    call: &ToolCall,
    reach: &Targets,
) -> (Vec<String>, Vec<String>, Vec<Vec<String>>) {
    let reached = reach.paths.iter().map(|target| target.real.as_ref().unwrap_or(&target.path).lossy());
    let input = json::read(&call.input).ok();
    let field = |name: &str| input.as_ref()?.text_of(name);
    let real = |path: PathBuf| {
        let path = Path::new(&event.cwd).join(path);
        real_paths::real(&path).unwrap_or(path).to_string_lossy().into_owned()
    };
    let fields =
        ["file_path", "notebook_path", "path"].into_iter().filter_map(field).map(PathBuf::from).map(real);
    let mut opened: Vec<PathBuf> = reach.runs.iter().flat_map(|run| read_by(&run.command)).collect();
    if matches!(call.key.tool.as_str(), "Grep" | "Glob") {
        let below = PathBuf::from(field("path").unwrap_or_default());
        opened.extend(["pattern", "glob"].into_iter().filter_map(field).map(|text| below.join(text)));
        opened.push(below.join("*"));
    }
    let commands = reach.runs.iter().map(|run| run.command.words.iter().map(Word::lossy).collect());
    (reached.chain(fields).collect(), opened.into_iter().map(real).collect(), commands.collect())
}

/// The files that a command may read: each of its words and its inputs, relative to its folders; also as a
/// folder, and with the revision removed (`HEAD:secret/a`).
fn read_by(command: &Simple) -> Vec<PathBuf> {
    let words = command.words.iter().skip(1).chain(&command.arriving).map(Word::lossy);
    let mut all = Vec::new();
    for word in words {
        let word =
            word.split_once('=').filter(|_| word.starts_with('-')).map_or(word.as_str(), |(_, value)| value);
        let parts = [Some(word), word.split_once(':').map(|(_, path)| path)];
        for part in parts.into_iter().flatten().filter(|part| !part.is_empty() && !part.starts_with('-')) {
            for folder in command.folders.iter() {
                let path = Path::new(&folder.lossy()).join(part);
                all.extend([path.join("*"), path]);
            }
        }
    }
    all
}

/// `git commit`, with any options before the verb.
pub(super) fn commits(run: &CommandRun) -> bool {
    let words: Vec<String> = run.command.words.iter().map(Word::lossy).collect();
    let Some((program, rest)) = words.split_first() else { return false };
    let takes_value = |word: &str| matches!(word, "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace");
    let mut rest = rest.iter();
    let verb = loop {
        match rest.next() {
            Some(word) if takes_value(word) => drop(rest.next()),
            Some(word) if word.starts_with('-') => {}
            verb => break verb,
        }
    };
    program.rsplit('/').next() == Some("git") && verb.is_some_and(|verb| verb == "commit")
}
