//! Whether a write goes into the working tree or its repository, or merely runs something, such as tests.
//!
//! Invariant: a path or program that is not certain counts as touching the tree.

use super::Around;
use crate::model::call::Effect;
use crate::shell::commands::{self, is_nowhere};
use crate::shell::syntax::{Bit, Line, Simple, Word};

pub(super) fn touches(line: &Line, around: &Around) -> bool {
    line.unclear || line.guessed.is_some() || line.commands.iter().any(|simple| one(line, simple, around))
}

fn one(line: &Line, simple: &Simple, around: &Around) -> bool {
    let inside = |word: &Word| !is_nowhere(word) && is_inside(simple, word, around);
    if simple.writes.iter().any(inside) {
        return true;
    }
    let Some(program) = simple.words.first() else { return false };
    let Some(name) = program.literal().filter(|_| program.is_firm()) else { return true };
    let name = name.rsplit('/').next().unwrap_or_default();
    if name == "git" {
        return commands::class(name, simple, line) != Ok(Effect::Read);
    }
    let arguments = &simple.words[1..];
    let changed = commands::changed(name, simple, line);
    let changed = changed.or_else(|| edits_in_place(name, arguments).then(|| arguments.into()));
    if let Some(words) = changed {
        return words.iter().any(|word| names(word).any(|word| inside(&word)));
    }
    // Formatters and linters that put right what they find.
    let rewrites = ["--fix", "--write", "--in-place", "--inplace"];
    let formats = name == "cargo" && arguments.first().is_some_and(|word| word.is("fmt") || word.is("fix"));
    arguments.iter().any(|word| rewrites.iter().any(|option| word.is(option)))
        || formats && !arguments.iter().any(|word| word.is("--check"))
}

/// `perl` and `ruby` run code; with `-i` they change their files.
fn edits_in_place(name: &str, arguments: &[Word]) -> bool {
    let in_place = |word: &Word| word.is_option() && !word.starts_with("--") && word.lossy().contains('i');
    matches!(name, "perl" | "ruby") && arguments.iter().any(in_place)
}

/// The paths a word may be: itself, what follows `=`, what is glued to an option.
fn names(word: &Word) -> impl Iterator<Item = Word> {
    let whole = (!word.is_option()).then(|| word.clone());
    let takes = ["-o", "-t", "-d", "-C", "-P"].iter().any(|option| word.starts_with(option));
    let glued = (takes && word.bits.len() > 2).then(|| word.after(2));
    [whole, word.past('='), glued].into_iter().flatten()
}

/// Below the folder the line runs in, or the project's.
fn is_inside(simple: &Simple, word: &Word, around: &Around) -> bool {
    let project = around.ground.variables.iter().find(|(name, _)| name == "CLAUDE_PROJECT_DIR");
    let roots = [Some(around.ground.cwd), project.map(|(_, value)| value.as_str())];
    let paths = simple.folders.iter().map(|folder| plain(&word.from_folder(folder)));
    let below = |path: &str, root: &str| {
        path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            && !root.is_empty()
    };
    paths
        .into_iter()
        .any(|path| path.is_none_or(|path| roots.iter().flatten().any(|root| below(&path, root))))
}

/// The path without `.` and `..`; `None` if its folder is not certain.
fn plain(path: &Word) -> Option<String> {
    let end = path.shifts.unwrap_or(path.bits.len());
    let known: String = path.bits[..end.min(path.bits.len())]
        .iter()
        .map_while(|bit| if let Bit::Char(c) = bit { Some(*c) } else { None })
        .collect();
    let whole = known.chars().count() == path.bits.len();
    // A file of unknown name in a known folder; with `..` behind, anywhere.
    if !whole && (path.shifts.is_some() || path.lossy().contains("..")) {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in known.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    Some(format!("/{}", parts.join("/")))
}
