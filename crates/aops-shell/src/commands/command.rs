//! What the table says of a command, and one command with its arguments.

use super::options::{self, Sorted, clean};
use crate::effect::Effect;
use crate::syntax::{Line, Simple, Word};

/// What a command does to the world, or why it counts as a write.
pub type Class = Result<Effect, String>;

/// How a path is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// This very file is written.
    Write,
    /// It, and everything below it, is removed, moved or changed.
    Whole,
    /// What git neither tracks nor ignores below it is removed.
    Sweep,
    /// What git does not track below it is removed, but for each folder `.claude`.
    Spare,
    /// The same, and but for each `.aops`.
    SpareBoth,
    /// Files that the line does not name are put into this folder.
    Into,
    /// A folder's content, which the line does not name, is merged into this one.
    Merge,
    /// If it does not exist yet, it is created with content that the line does not name.
    Become,
    /// A second name or a copy is made of it.
    Copy,
}

pub type Files = Vec<(Word, Act)>;

#[derive(Debug, Default)]
pub struct Touched {
    pub files: Files,
    /// Program text it carries, which may write what it names.
    pub programs: Vec<String>,
    /// Shell lines it may run.
    pub lines: Vec<String>,
    /// It only reads.
    pub reads: bool,
}

impl Touched {
    pub(super) fn nothing() -> Self {
        Self { reads: true, ..Self::default() }
    }

    pub(super) fn files(files: Files) -> Self {
        Self { files, ..Self::default() }
    }
}

/// One row of the table without its name.
#[derive(Clone, Copy)]
pub(super) struct Row {
    /// Its options as [`options`] reads them: the harmless ones, and those that name a file it writes.
    pub(super) options: &'static str,
    pub(super) rule: ClassRule,
    pub(super) touches: Touches,
}

/// How a command is classed.
#[derive(Clone, Copy)]
pub(super) enum ClassRule {
    /// It reads, whatever its arguments.
    Reads,
    /// It reads with the options of its row.
    Listed,
    /// It reads with the options of its row, and the first of them must hold one of these.
    Needs(&'static [&'static str]),
    /// It reads with the options of its row and at most this many operands.
    AtMost(usize),
    Rule(fn(&Invocation) -> Class),
    /// A write, unless it is asked for its version or is a tool with a verb that looks.
    Unknown,
}

/// Which files a command touches. What is classed as a read touches none.
#[derive(Clone, Copy)]
pub(super) enum Touches {
    Nothing,
    /// What its writing options name.
    Outputs,
    Operands(Act),
    Second,
    /// It changes files, perhaps each that an argument names, as a command that is not in the table may.
    Every,
    /// It runs other commands or programs: the same, but it is not itself a change.
    Runs,
    /// The same, and what arrives on its standard input is a program.
    Scripted,
    /// Its arguments are words for people or for another machine.
    Remote,
    /// It changes files by its own rule.
    ChangesBy(fn(&Invocation) -> Touched),
    /// It runs a program by its own rule.
    RunsBy(fn(&Invocation) -> Touched),
}

/// One command with its arguments.
#[derive(Clone, Copy)]
pub(super) struct Invocation<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: &'a [Word],
    pub(super) options: &'static str,
    pub(super) simple: &'a Simple,
    pub(super) line: &'a Line,
}

impl<'a> Invocation<'a> {
    /// The arguments, sorted as well as the row's options allow.
    pub(super) fn sort(&self) -> Sorted<'a> {
        self.sort_by(&[self.options])
    }

    pub(super) fn sort_by(&self, lists: &[&str]) -> Sorted<'a> {
        options::sort(self.arguments, lists, self.line)
    }

    /// The files that its writing options name. Only these take a value here: which others do differs between
    /// systems, and none may swallow one of them.
    pub(super) fn written(&self) -> Vec<Word> {
        let writing: Vec<&str> = self.options.split(' ').filter(|row| row.ends_with('>')).collect();
        self.sort_by(&writing).written
    }

    /// The arguments, if every option is on the row's list and none of them writes.
    pub(super) fn sorted(&self) -> Result<Sorted<'a>, String> {
        self.sorted_by(&[self.options])
    }

    pub(super) fn sorted_by(&self, lists: &[&str]) -> Result<Sorted<'a>, String> {
        let mut sorted = self.sort_by(lists);
        sorted.odd.take().map_or(Ok(sorted), |odd| Err(self.refusal(&odd)))
    }

    /// Why it is a write: this argument.
    pub(super) fn refusal(&self, argument: &str) -> String {
        unknown(format!("{} {argument}", self.name).trim_end())
    }

    /// A read, unless there is such a word.
    pub(super) fn unless(&self, word: Option<&Word>) -> Class {
        word.map_or(Ok(Effect::Read), |word| Err(self.refusal(&word.lossy())))
    }

    /// A read if it holds, else a write because of this argument.
    pub(super) fn reads_if(&self, holds: bool, argument: &str) -> Class {
        if holds { Ok(Effect::Read) } else { Err(self.refusal(argument)) }
    }
}

pub fn unknown(what: &str) -> String {
    format!("`{}` is not known to only read", clean(what))
}

/// A redirection or copy to here leaves nothing behind.
pub fn is_nowhere(word: &Word) -> bool {
    let nowhere = ["/dev/null", "/dev/stderr", "/dev/stdout"];
    word.is_firm() && nowhere.iter().any(|path| word.is(path))
}

pub(super) fn all<'w>(words: impl IntoIterator<Item = &'w Word>, act: Act) -> Files {
    words.into_iter().map(|word| (word.clone(), act)).collect()
}

/// The command is not known: each argument, and each value after `=`, `:` or an option's letter.
pub(super) fn every<'w>(arguments: impl IntoIterator<Item = &'w Word>) -> Files {
    let mut files = Vec::new();
    for word in arguments {
        let glued = (word.is_option() && !word.starts_with("--")).then(|| word.after(2));
        let parts = [Some(word.clone()), word.past('='), word.past(':'), glued];
        files.extend(parts.into_iter().flatten().map(|word| (word, Act::Write)));
    }
    files
}
