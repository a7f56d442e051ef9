//! Splits a shell line into the simple commands it would run.
//!
//! `reader` parses the text into a `tree`, `word` expands words as far as they are certain, `walk` and
//! `simple` collect the commands with what each would see, `wrap` opens `sh -c`, `eval`, `xargs`, `find
//! -exec`, `sudo` and similar.
//! Invariant: total and bounded. Text that is too long, too deep or not understood makes the line `unclear`
//! and is never guessed; if a bound is the reason, the line is `beyond` too.

mod tree;
mod reader;
mod scope;
mod kept;
mod word;
mod found;
mod walk;
mod branch;
mod each;
mod wrap;
mod builtin;
mod simple;
mod vary;

use crate::effect::Effect;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

pub use found::{found, globbed};
pub use scope::{Held, is_armed, is_set_by_shell};
pub use word::{Bit, Word, is_text};

/// Folders of the system's programs. A program of the same name elsewhere may be anything.
pub const SYSTEM_FOLDERS: [&str; 7] =
    ["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin", "/usr/xpg4/bin"];

/// The reason recorded for `source f`.
pub const SOURCED: &str = "a file read as program";

/// Where a line would run. Paths are absolute.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ground<'a> {
    pub cwd: &'a str,
    pub home: &'a str,
    /// Variables with known values, such as `CLAUDE_CONFIG_DIR`.
    pub variables: &'a [(String, String)],
}

#[derive(Clone, Debug, Default)]
pub struct Line {
    pub text: String,
    pub commands: Vec<Rc<Simple>>,
    /// Some part could not be parsed: it may do anything to whatever its text names.
    pub unclear: bool,
    /// One of its commands runs in the background.
    pub background: bool,
    /// It exceeds a bound: it is too long or too deep, or has too many words, values or alternatives.
    pub beyond: bool,
    /// Texts that run, but could not be parsed as a program.
    pub unread: Vec<String>,
    /// The part, if any, that was read only as it probably is, and may run something else.
    pub guessed: Option<String>,
    /// What the line does to variables, by name.
    pub variables: BTreeMap<String, Held>,
    /// Links it creates, and their targets. Absolute.
    pub links: Vec<(Word, Word)>,
    /// Variables it uses in arithmetic.
    pub numbers: BTreeSet<String>,
    /// Variables it uses in arithmetic only if the shell is zsh.
    pub indexes: BTreeSet<String>,
    /// Functions that are certainly defined, and only once: a call runs the body that was read.
    pub functions: BTreeSet<String>,
    /// Programs inside it that change what follows, as text: what `sh -c`, `eval` and similar run.
    pub programs: BTreeSet<String>,
    /// The bodies of its here-documents. They are not part of the line, unless a shell reads them.
    pub documents: BTreeSet<String>,
    /// Input from a pipe runs as one of its commands: `xargs -I{} sh -c '{}'`.
    pub runs_arriving: bool,
}

/// Whether the output of a command goes into a pipe, at any place where the line has this command. Not part
/// of the command's identity.
#[derive(Clone, Copy, Debug, Default)]
pub struct Piped(pub bool);

impl PartialEq for Piped {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Piped {}

/// One simple command without wrappers such as `sudo` and `env`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simple {
    /// The program and its arguments. Empty for a bare redirection.
    pub words: Vec<Word>,
    pub writes: Vec<Word>,
    /// One of the written files is emptied first: `>`, not `>>`.
    pub empties: bool,
    /// Its output is discarded.
    pub silent: bool,
    /// Folders it may run in. Several if a `cd` may have failed.
    pub folders: Rc<Vec<Word>>,
    /// What earlier stages of the pipe name: it may arrive on standard input.
    pub arriving: Vec<Word>,
    /// The text on standard input, if the line itself contains it.
    pub script: Option<String>,
    /// The programs whose output is its standard input: earlier stages of the pipe.
    pub fed: Vec<Rc<str>>,
    /// Its output becomes variables of the shell: `export $(cat .env)`.
    pub exported: bool,
    /// Its output becomes part of another command: `$(…)`.
    pub captured: bool,
    /// Whether its output goes into a pipe.
    pub piped: Piped,
    /// The name is a function of this line, even if it looks like a program.
    pub function: bool,
    /// Variables set for this command alone; `values` has their values.
    pub assigned: Vec<String>,
    pub values: Vec<Word>,
    /// The program's name without its folder, if the line says it.
    called: Option<Rc<str>>,
    /// What the command does, or why it is a write; both the guard and the plan gate ask.
    pub class: OnceCell<Result<Effect, String>>,
}

impl Simple {
    /// The program's name without its folder; `None` if the line does not say it.
    pub fn name(&self) -> Option<&str> {
        self.called.as_deref().filter(|_| !self.words.is_empty())
    }

    /// `echo a b | xargs rm`, `rm $(echo a)`: the command with the words that the line itself hands it. A
    /// pattern stays one: the shell that printed the names has expanded it.
    pub fn handed(&self) -> Option<Self> {
        let (last, before) = self.words.split_last().filter(|(last, _)| last.bits == [Bit::Any])?;
        let text = last.said.as_ref().filter(|text| !text.contains(['\'', '"', '\\', '…']))?;
        let mut told = self.clone();
        told.words = before.iter().cloned().chain(names(text).map(|name| globbed(&Word::of(name)))).collect();
        Some(told)
    }

    /// `ln -s`, `cp -s`: whether it creates links.
    pub fn makes_links(&self) -> bool {
        let symbolic = |word: &Word| {
            let text = word.lossy();
            text.starts_with("--sy") || text.starts_with('-') && !text.starts_with("--") && text.contains('s')
        };
        match self.name() {
            Some("ln" | "gln") => true,
            Some("cp" | "gcp") => self.words.iter().any(symbolic),
            _ => false,
        }
    }

    /// The name is needed often, so it is computed once, when the words are complete.
    fn call(&mut self) {
        let whole = self.words.first().and_then(Word::literal);
        self.called = whole.and_then(|whole| whole.rsplit('/').next().map(Rc::from));
    }
}

/// The names in a string that arrives, separated by blanks or `\0`.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || c == '\0').filter(|name| !name.is_empty())
}

/// Each command once, in the order of first occurrence: one that runs a hundred times is judged once.
fn distinct(commands: Vec<Simple>) -> Vec<Rc<Simple>> {
    let mut kept: Vec<Rc<Simple>> = Vec::with_capacity(commands.len());
    let mut places: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for command in commands {
        let words = command.words.iter().chain(&command.writes).chain(&command.arriving);
        // The length distinguishes folders, since each `cd` makes it longer.
        let folders: usize = command.folders.iter().map(|folder| folder.bits.len()).sum();
        let mark = words.fold((folders + command.words.len()) as u64, |mark, word| word.mark(mark));
        let places = places.entry(mark).or_default();
        let known = places.iter().copied().find(|at| *kept[*at] == command);
        if let Some(known) = known.and_then(|at| Rc::get_mut(&mut kept[at])) {
            known.piped.0 &= command.piped.0;
        } else {
            places.push(kept.len());
            kept.push(Rc::new(command));
        }
    }
    kept
}

/// How many texts this thread has parsed since the last call.
#[cfg(any(test, debug_assertions))]
pub fn texts_read() -> usize {
    reader::TEXTS.with(std::cell::Cell::take)
}

/// All simple commands of a line.
pub fn cut(line: &str, ground: &Ground) -> Line {
    let mut walk = walk::Walk::new(ground);
    let mut scope = scope::Scope::new(ground);
    walk.allow(line.len());
    walk.program(line, &mut scope);
    let functions = walk.sure_functions();
    Line { text: line.to_owned(), commands: distinct(walk.found), functions, ..walk.line }
}

#[cfg(test)]
mod tests {
    use super::{Ground, cut};

    fn count(line: &str) -> usize {
        cut(line, &Ground { cwd: "/a", home: "/h", variables: &[] }).commands.len()
    }

    #[test]
    fn a_command_counts_again_only_where_something_about_it_differs() {
        assert_eq!(count("ls; ls; ls && ls"), 1);
        assert_eq!(count("ls; ls | ls; ls | ls"), 2, "not what feeds it");
        assert_eq!(count("ls a; ls b; ls a"), 2);
        assert_eq!(count("ls; ls > x; ls > y; ls > x"), 3);
        assert_eq!(count("A=1 ls; A=2 ls; ls; A=1 ls"), 3);
        assert_eq!(count("ls; cd b; ls"), 3, "not where it was");
        assert_eq!(count("cat a | xargs rm; cat b | xargs rm"), 4, "not what arrives");
        assert_eq!(count("sh <<E\nls\nE\nsh <<E\nls\nE\n"), 1);
        assert_eq!(count("python <<E\n1\nE\npython <<E\n2\nE\n"), 2, "not what it reads");
        assert_eq!(count("f; f() { ls; }; f"), 3, "not the same program");
    }
}
