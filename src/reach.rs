//! What one tool call would reach: files it may write, programs it runs, text it hides behind.
//!
//! Reads the call alone; nothing is looked up on disk. Invariant: a tool or command nobody knows may write whatever its
//! arguments name; one that only reads reaches nothing.

use crate::command_line::{self, Bit, Ground, Line, Simple, Word};

mod code;
mod files;
mod foreign;
mod git;
mod input;
mod moved;
mod operand;
mod reader;
mod tool;

pub use tool::{line, reach};

use std::collections::BTreeSet;

/// Paths of one call that are looked at, and characters of all its lines; a call with more is refused unread.
const TARGETS: usize = 20_000;
const LINES: usize = 128 * 1024;

/// These are no files of anybody, and stand in every other line.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty"];

/// How a path is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// This very file is written.
    Write,
    /// It, and whatever lies below, is removed, moved or changed.
    Whole,
    /// Files the line does not name are put into this folder.
    Into,
    /// A folder's content, which the line does not name, is merged into this one.
    Merge,
    /// If it is not there yet, it comes to be, with what the line does not name in it.
    Become,
    /// A second name or a copy is made of it.
    Copy,
}

/// One path a call may touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Absolute, as given: not yet normalised, perhaps a pattern.
    pub path: Word,
    pub act: Act,
    /// The same path as the disk sees it, where that differs and somebody looked.
    pub real: Option<Word>,
    /// Whether it exists, where that decides and somebody looked.
    pub stands: Option<bool>,
}

/// Everything a call reaches.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    pub targets: Vec<Target>,
    /// The simple commands, program first.
    pub runs: Vec<Run>,
    /// Text that may write what it names.
    pub hidden: Vec<Hidden>,
    /// It holds more than anybody looks at.
    pub over: bool,
    known: BTreeSet<(Vec<Bit>, Act)>,
    lines: usize,
}

/// Text that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// A line that is no shell, or too deep or long for one.
    Line(String),
    /// A program for an interpreter or an editor.
    Program(String),
}

/// One program run with its arguments.
#[derive(Clone, Debug, Default)]
pub struct Run {
    pub words: Vec<Word>,
    /// What may arrive on its standard input.
    pub arriving: Vec<Word>,
    /// It only reads.
    pub reads: bool,
}

impl Reach {
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty() && self.runs.is_empty() && self.hidden.is_empty() && !self.over
    }

    /// A shell line, with everything it runs.
    fn line(&mut self, text: &str, ground: &Ground) {
        self.lines += text.len() + 64;
        self.over |= self.lines > LINES;
        if !self.over {
            self.cut(&command_line::cut(text, ground));
        }
    }

    fn cut(&mut self, line: &Line) {
        if line.unclear {
            self.hidden.push(Hidden::Line(line.text.clone()));
        }
        for simple in &line.commands {
            self.simple(simple);
        }
    }

    fn simple(&mut self, simple: &Simple) {
        for word in &simple.writes {
            self.touch(simple, word, Act::Write);
        }
        if simple.words.is_empty() {
            return;
        }
        let touched = files::touched(simple, &mut self.hidden);
        let reads = touched.is_none();
        for (word, act) in touched.unwrap_or_default() {
            self.touch(simple, &word, act);
        }
        let run = Run { words: simple.words.clone(), arriving: simple.arriving.clone(), reads };
        self.runs.push(run);
    }

    fn touch(&mut self, simple: &Simple, word: &Word, act: Act) {
        for folder in simple.folders.iter() {
            self.target(word, folder, act);
            for named in &word.named {
                self.target(named, folder, act);
            }
        }
    }

    fn target(&mut self, word: &Word, folder: &Word, act: Act) {
        if word.bits.is_empty() || DEVICES.iter().any(|device| word.is(device)) {
            return;
        }
        let path = word.from_folder(folder);
        let known = !self.known.insert((path.bits.clone(), act));
        self.over |= self.targets.len() >= TARGETS;
        if self.over || known && path.unknown.is_empty() {
            return;
        }
        self.targets.push(Target { path, act, real: None, stands: None });
    }
}
