//! Cuts a shell line into the simple commands it would run.
//!
//! `reader` parses the text into a `tree`, `word` expands words as far as they are certain, `walk` and
//! `simple` collect the commands with what each would see, `wrap` opens `sh -c`, `eval`, `xargs`,
//! `find -exec`, `sudo` and kin.
//! Invariant: total and bounded. What is too long, too deep or not understood makes the line `unclear`, never
//! a guess; where a bound is the reason it is `beyond` too.

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

/// Where programs of the system live. A program of the same name elsewhere may be anything.
pub const SYSTEM_FOLDERS: [&str; 7] =
    ["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin", "/usr/xpg4/bin"];

/// Said of `source f`.
pub const SOURCED: &str = "a file read as program";

/// Where a line would run. Paths are absolute.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ground<'a> {
    pub cwd: &'a str,
    pub home: &'a str,
    /// Variables whose values we know, such as `CLAUDE_CONFIG_DIR`.
    pub variables: &'a [(String, String)],
}

#[derive(Clone, Debug, Default)]
pub struct Line {
    pub text: String,
    pub commands: Vec<Rc<Simple>>,
    /// Some part could not be read: it may do anything with whatever its text names.
    pub unclear: bool,
    /// A command of it runs in the background.
    pub background: bool,
    /// It holds more than is looked at: it is too long or too deep, or has too many words, values or
    /// alternatives.
    pub beyond: bool,
    /// Texts that run, and are no program that is understood.
    pub unread: Vec<String>,
    /// Some part was read as it probably is, and may run something else: which.
    pub guessed: Option<String>,
    /// What the line does to variables, by name.
    pub variables: BTreeMap<String, Held>,
    /// Links it makes, and where they lead. Absolute.
    pub links: Vec<(Word, Word)>,
    /// Variables it computes with.
    pub numbers: BTreeSet<String>,
    /// Variables that it computes with if the shell is zsh.
    pub indexes: BTreeSet<String>,
    /// Functions it surely defines, and only once: a call of one runs what was seen.
    pub functions: BTreeSet<String>,
    /// Programs inside it that leave something behind: what `sh -c`, `eval` and their kin run, as text.
    pub programs: BTreeSet<String>,
    /// Bodies of its here-documents. They are no part of the line, unless a shell reads them.
    pub documents: BTreeSet<String>,
    /// What arrives in a pipe is a command of it: `xargs -I{} sh -c '{}'`.
    pub runs_arriving: bool,
}

/// What a command prints goes into a pipe, wherever the line has this command. It says nothing about what the
/// command is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Piped(pub bool);

impl PartialEq for Piped {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Piped {}

/// One simple command, seen from inside: `sudo`, `env` and their kind are taken off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simple {
    /// The program and its arguments. Empty for a bare redirection.
    pub words: Vec<Word>,
    pub writes: Vec<Word>,
    /// One of them is emptied first: `>`, not `>>`.
    pub empties: bool,
    /// What it prints is thrown away.
    pub silent: bool,
    /// Folders it may run in. More than one when a `cd` may have failed.
    pub folders: Rc<Vec<Word>>,
    /// What earlier stages of the pipe name: it may arrive on standard input.
    pub arriving: Vec<Word>,
    /// The text on standard input, where the line itself holds it.
    pub script: Option<String>,
    /// The programs whose output is its standard input: earlier stages of the pipe.
    pub fed: Vec<Rc<str>>,
    /// What it prints becomes variables of the shell: `export $(cat .env)`.
    pub exported: bool,
    /// What it prints becomes a part of another command: `$(…)`.
    pub captured: bool,
    /// Where what it prints goes.
    pub piped: Piped,
    /// The name is a function of this line, whatever it looks like.
    pub function: bool,
    /// Variables set for this command alone, and the value of each.
    pub assigned: Vec<String>,
    pub values: Vec<Word>,
    /// The program's name without its folder, where the line says it.
    called: Option<Rc<str>>,
    /// What the command of this name does, or why it is a write: asked by the guard and by the sandbox.
    pub class: OnceCell<Result<Effect, String>>,
}

impl Simple {
    /// The program's name without its folder; `None` if the line does not say it.
    pub fn name(&self) -> Option<&str> {
        self.called.as_deref().filter(|_| !self.words.is_empty())
    }

    /// `ln -s`, `cp -s`: what it makes leads elsewhere.
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

    /// Everybody asks for the name: it is read once, when the words are complete.
    fn call(&mut self) {
        let whole = self.words.first().and_then(Word::literal);
        self.called = whole.and_then(|whole| whole.rsplit('/').next().map(Rc::from));
    }
}

/// The commands in their order, each where it stands first: one that runs a hundred times is judged once.
fn distinct(commands: Vec<Simple>) -> Vec<Rc<Simple>> {
    let mut kept: Vec<Rc<Simple>> = Vec::with_capacity(commands.len());
    let mut places: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for command in commands {
        let words = command.words.iter().chain(&command.writes).chain(&command.arriving);
        // Of folders the length is enough: each `cd` makes it longer.
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

/// How many texts this thread has read since this was last asked.
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
