//! What the table says about a command, and one command with its arguments.

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
    /// It and everything below it is removed, moved or changed.
    Whole,
    /// Everything below it is removed or put back, except what git ignores.
    Sweep,
    /// Everything below it that git does not track is removed, except folders named `.claude`.
    Spare,
    /// Like `Spare`, but folders named `.aops` are kept as well.
    SpareBoth,
    /// Files are put into this folder, and the line does not name them.
    Into,
    /// The content of a folder is merged into this one, and the line does not name it.
    Merge,
    /// If it does not exist yet, it is created, and the line does not name the content.
    Become,
    /// A second name or a copy is made of it.
    Copy,
}

impl Act {
    /// It reaches what lies below a folder, and not only the path itself.
    pub fn goes_below(self) -> bool {
        matches!(self, Self::Whole | Self::Sweep | Self::Spare | Self::SpareBoth)
    }
}

pub type Files = Vec<(Word, Act)>;

#[derive(Debug, Default)]
pub struct Touched {
    pub files: Files,
    /// Program text in its arguments, which may write what it names.
    pub programs: Vec<String>,
    /// Shell lines it may run.
    pub lines: Vec<String>,
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

/// One row of the table, without its name.
#[derive(Clone, Copy)]
pub(super) struct Row {
    /// Its options in the notation of [`options`]: the harmless ones, and those that name a file to write.
    pub(super) options: &'static str,
    pub(super) rule: ClassRule,
    pub(super) touches: Touches,
}

/// How a command is classed.
#[derive(Clone, Copy)]
pub(super) enum ClassRule {
    /// A read, whatever its arguments.
    Reads,
    /// A read with the options of its row.
    Listed,
    /// A read with the options of its row, if the first of its arguments contains one of these.
    Needs(&'static [&'static str]),
    /// A read with the options of its row and at most this many operands.
    AtMost(usize),
    Rule(fn(&Invocation) -> Class),
    /// A write, unless it is asked for its version, or is a tool called with a verb that only looks.
    Unknown,
}

/// Which files a command touches; a command classed as a read touches none.
#[derive(Clone, Copy)]
pub(super) enum Touches {
    Nothing,
    /// The files that its writing options name.
    Outputs,
    Operands(Act),
    Second,
    /// It may change any file that an argument names, like a command that is not in the table.
    Every,
    /// It runs other commands or programs: it touches the same files as `Every`, but is not itself a change.
    Runs,
    /// Like `Runs`, and its standard input is a program.
    Scripted,
    /// Its arguments are text for people or for another machine.
    Remote,
    /// It changes files, as this function says.
    ChangesBy(fn(&Invocation) -> Touched),
    /// It runs a program, as this function says.
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
    /// The arguments, sorted as far as the row's options allow.
    pub(super) fn sort(&self) -> Sorted<'a> {
        self.sort_by(&[self.options])
    }

    pub(super) fn sort_by(&self, lists: &[&str]) -> Sorted<'a> {
        options::sort(self.arguments, lists, self.line)
    }

    /// The files that its writing options name. Only the writing options take a value here: which others do
    /// differs between systems, and a mistake there must not swallow a writing option.
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

    /// The reason for a write: this argument.
    pub(super) fn refusal(&self, argument: &str) -> String {
        unknown(format!("{} {argument}", self.name).trim_end())
    }

    /// A read, unless there is such a word; then that word is the reason for a write.
    pub(super) fn unless(&self, word: Option<&Word>) -> Class {
        word.map_or(Ok(Effect::Read), |word| Err(self.refusal(&word.lossy())))
    }

    /// A read if `holds`; else a write, because of this argument.
    pub(super) fn reads_if(&self, holds: bool, argument: &str) -> Class {
        if holds { Ok(Effect::Read) } else { Err(self.refusal(argument)) }
    }
}

pub fn unknown(what: &str) -> String {
    format!("`{}` may do more than read", clean(what))
}

/// Whether a redirection or copy to this path leaves nothing behind.
pub fn is_nowhere(word: &Word) -> bool {
    let nowhere = ["/dev/null", "/dev/stderr", "/dev/stdout"];
    word.is_firm() && nowhere.iter().any(|path| word.is(path))
}

pub(super) fn all<'w>(words: impl IntoIterator<Item = &'w Word>, act: Act) -> Files {
    words.into_iter().map(|word| (word.clone(), act)).collect()
}

/// For an unknown command: each argument, and each value after `=`, `:` or an option's letter.
pub(super) fn every<'w>(arguments: impl IntoIterator<Item = &'w Word>) -> Files {
    let mut files = Vec::new();
    for word in arguments {
        let glued = (word.is_option() && !word.starts_with("--")).then(|| word.after(2));
        let parts = [Some(word.clone()), word.past('='), word.past(':'), glued];
        files.extend(parts.into_iter().flatten().map(|word| (word, Act::Write)));
    }
    files
}
