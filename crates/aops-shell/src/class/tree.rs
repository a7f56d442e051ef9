//! Whether a write goes into the working tree or its repository, or only runs something, such as tests.
//!
//! Invariant: a path or program that is not certain counts as touching the tree.

use super::LineSetting;
use crate::commands::{self, is_nowhere};
use crate::effect::Effect;
use crate::syntax::{Bit, Line, Simple, Word};

pub(super) fn touches(line: &Line, around: &LineSetting) -> bool {
    line.unclear || line.guessed.is_some() || line.commands.iter().any(|simple| one(line, simple, around))
}

fn one(line: &Line, simple: &Simple, around: &LineSetting) -> bool {
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
        return words.iter().any(|word| paths(word).any(|path| inside(&path)));
    }
    // Formatters and linters that fix what they find.
    let fixes = ["--fix", "--write", "--in-place", "--inplace"];
    let formats = name == "cargo" && arguments.first().is_some_and(|word| word.is("fmt") || word.is("fix"));
    arguments.iter().any(|word| fixes.iter().any(|option| word.is(option)))
        || formats && !arguments.iter().any(|word| word.is("--check"))
}

/// `perl` and `ruby` run code; with `-i` they change their files.
fn edits_in_place(name: &str, arguments: &[Word]) -> bool {
    let in_place = |word: &Word| word.is_option() && !word.starts_with("--") && word.lossy().contains('i');
    matches!(name, "perl" | "ruby") && arguments.iter().any(in_place)
}

/// The paths a word may be: itself, what follows `=`, what is glued to an option.
fn paths(word: &Word) -> impl Iterator<Item = Word> {
    let whole = (!word.is_option()).then(|| word.clone());
    let takes = ["-o", "-t", "-d", "-C", "-P"].iter().any(|option| word.starts_with(option));
    let glued = (takes && word.bits.len() > 2).then(|| word.after(2));
    [whole, word.past('='), glued].into_iter().flatten()
}

/// Below the folder the line runs in, or the project's.
fn is_inside(simple: &Simple, word: &Word, around: &LineSetting) -> bool {
    let roots = [Some(around.ground.cwd), around.project];
    let below = |path: &str, root: &str| {
        let rest = path.strip_prefix(root).filter(|_| !root.is_empty());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let inside = |path: &str| roots.iter().flatten().any(|root| below(path, root));
    simple.folders.iter().any(|folder| normal(&word.from_folder(folder)).is_none_or(|path| inside(&path)))
}

/// The path without `.` and `..`; `None` if its folder is not certain.
fn normal(path: &Word) -> Option<String> {
    let firm = path.bits.iter().take(path.shifts.unwrap_or(usize::MAX));
    let known: Vec<Bit> = firm.take_while(|bit| matches!(bit, Bit::Char(_))).copied().collect();
    let whole = known.len() == path.bits.len();
    // A file of unknown name in a known folder; with `..` behind, anywhere.
    if !whole && (path.shifts.is_some() || path.lossy().contains("..")) {
        return None;
    }
    Word { bits: known, ..Word::default() }.tidied().literal()
}
