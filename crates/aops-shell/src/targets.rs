//! What a shell line would touch: files it may write, programs it runs, text we cannot follow. Invariant: an
//! unknown command may write whatever its arguments name; one that only reads touches nothing.

pub use super::commands::Act;

use super::commands;
use super::syntax::{self, Bit, Ground, Line, Simple, Word};
use std::collections::BTreeMap;
use std::rc::Rc;

/// How many paths of one call are examined, and how many characters of all its lines; a call with more is
/// refused unread.
const TARGETS: usize = 20_000;
const LINES: usize = 256 * 1024;
/// A longer line is not a command that any system accepts.
pub const LONGEST: usize = 1024 * 1024;
/// How deep lines in arguments of lines go; how many links are followed; how many names may replace an
/// unknown head, and of them all are kept.
const DEEPEST: usize = 4;
const LINKS: usize = 64;
const HEADS: usize = 1024;

/// Not files; they occur in many lines.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty"];

/// One path a call may touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Absolute, as given: not normalised yet, perhaps a pattern.
    pub path: Word,
    pub act: Act,
    /// The same path as the disk sees it, if it was looked up and differs.
    pub real: Option<Word>,
    /// Whether it exists, if that was looked up because it matters.
    pub stands: Option<bool>,
}

#[derive(Clone, Debug, Default)]
pub struct Targets {
    pub paths: Vec<Target>,
    /// The simple commands, program first.
    pub runs: Vec<CommandRun>,
    /// Text that may write what it names.
    pub hidden: Vec<Hidden>,
    /// It exceeds a bound.
    pub over: bool,
    /// The positions of paths with this hash.
    known: BTreeMap<u64, Vec<usize>>,
    /// How many characters of lines were split so far, and how many lines surround this one.
    lines: usize,
    depth: usize,
    /// Links the line creates, and their targets.
    links: Vec<(Word, Word)>,
}

/// Text that we cannot follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// A line that is not shell text, or is too deep or too long.
    Line(String),
    /// A program for an interpreter or an editor.
    Program(String),
}

/// One program run with its arguments.
#[derive(Clone, Debug, Default)]
pub struct CommandRun {
    pub command: Rc<Simple>,
    pub reads: bool,
    /// Variables set for it alone, or by the line.
    pub assigned: Vec<String>,
}

impl Targets {
    /// Adds a shell line, with everything it runs.
    pub fn line(&mut self, text: &str, ground: &Ground) {
        if self.has_room(text) {
            self.cut(&syntax::cut(text, ground), ground);
        }
    }

    fn has_room(&mut self, text: &str) -> bool {
        self.lines += text.len() + 64;
        self.over |= self.lines > LINES;
        !self.over
    }

    pub fn cut(&mut self, line: &Line, ground: &Ground) {
        self.depth += 1;
        self.links.extend(line.links.iter().cloned());
        self.over |= line.text.len() > LONGEST;
        if line.unclear && !self.over {
            self.hidden.push(Hidden::Line(line.text.clone()));
        }
        let set: Vec<&String> =
            line.variables.iter().filter(|(_, held)| held.set).map(|(name, _)| name).collect();
        for simple in &line.commands {
            self.simple(simple, line, &set, ground);
        }
        // `exec 9<file; flock 9`: whoever holds the lock of a file blocks others, so this counts as a write.
        if line
            .commands
            .iter()
            .any(|simple| simple.words.first().is_some_and(|word| word.last_part().is("flock")))
        {
            for simple in &line.commands {
                simple.arriving.iter().for_each(|word| self.touch(simple, word, Act::Write));
            }
        }
        self.depth -= 1;
    }

    fn simple(&mut self, simple: &Rc<Simple>, line: &Line, set: &[&String], ground: &Ground) {
        for word in &simple.writes {
            self.touch(simple, word, Act::Write);
        }
        if simple.words.is_empty() {
            return;
        }
        let touched = commands::touched(simple, line);
        // A command that creates a link does not write through it.
        let links = if simple.makes_links() { std::mem::take(&mut self.links) } else { Vec::new() };
        for (word, act) in &touched.files {
            self.touch(simple, word, *act);
        }
        self.links.extend(links);
        self.hidden.extend(touched.programs.into_iter().map(Hidden::Program));
        if self.depth < DEEPEST {
            touched.lines.iter().for_each(|text| self.inner(text, simple, ground));
        } else {
            self.hidden.extend(touched.lines.into_iter().map(Hidden::Program));
        }
        let assigned = simple.assigned.iter().chain(set.iter().copied()).cloned().collect();
        self.runs.push(CommandRun { command: Rc::clone(simple), reads: touched.reads, assigned });
    }

    /// A line in an argument. It does not run for certain and may be prose; text that is not shell counts as
    /// a program.
    fn inner(&mut self, text: &str, simple: &Simple, ground: &Ground) {
        if !self.has_room(text) {
            return;
        }
        let cwd = simple.folders.first().and_then(Word::literal);
        let ground = Ground { cwd: cwd.as_deref().unwrap_or(ground.cwd), ..*ground };
        let line = syntax::cut(text, &ground);
        if line.unclear && commands::program_writes(text) {
            self.hidden.push(Hidden::Program(text.to_owned()));
        }
        self.cut(&Line { unclear: false, ..line }, &ground);
    }

    fn touch(&mut self, simple: &Simple, word: &Word, act: Act) {
        for folder in simple.folders.iter() {
            self.target(word, folder, act);
            for named in &word.named {
                self.target(&placed(word, named), folder, act);
            }
            for guess in guesses(word, folder) {
                self.target(&guess, folder, act);
            }
        }
    }

    /// Adds the same path with the line's links followed.
    fn followed(&mut self, path: &Word, act: Act) {
        let mut waiting = vec![path.tidied()];
        let mut seen: Vec<Word> = Vec::new();
        while let Some(path) = waiting.pop() {
            if seen.contains(&path) {
                continue;
            }
            if seen.len() >= LINKS {
                self.over = true;
                return;
            }
            seen.push(path.clone());
            let leads = |(link, to): &(Word, Word)| {
                let rest = path.bits.strip_prefix(link.bits.as_slice())?;
                let ends = rest.first().is_none_or(|bit| *bit == Bit::Char('/'));
                ends.then(|| Word { bits: [&to.bits[..], rest].concat(), ..Word::default() })
            };
            // There may be several: the line does not say whether `ln -s a b` creates `b` or `b/a`.
            let next: Vec<Word> = self.links.iter().filter_map(leads).map(|path| path.tidied()).collect();
            for path in &next {
                self.push(path.clone(), act);
            }
            waiting.extend(next);
        }
    }

    /// Adds one path, seen from a folder.
    pub fn target(&mut self, word: &Word, folder: &Word, act: Act) {
        if word.bits.is_empty() || DEVICES.iter().any(|device| word.is(device)) {
            return;
        }
        let path = word.from_folder(folder);
        if !self.links.is_empty() {
            self.followed(&path, act);
        }
        self.push(path, act);
    }

    fn push(&mut self, path: Word, act: Act) {
        let places = self.known.entry(path.mark(act as u64)).or_default();
        let same = |at: &usize| self.paths[*at].act == act && self.paths[*at].path.bits == path.bits;
        let known = places.iter().any(same);
        self.over |= self.paths.len() >= TARGETS;
        if self.over || known && path.unknown.is_empty() {
            return;
        }
        places.push(self.paths.len());
        self.paths.push(Target { path, act, real: None, stands: None });
    }
}

/// The path that a substitution in this word yields: `out/$(basename src/a.json)` is `out/a.json`.
fn placed(word: &Word, named: &Word) -> Word {
    let at = word.bits.iter().position(|bit| *bit == Bit::Any).filter(|_| word.is_one_name());
    let folder = at.map(|at| &word.bits[..at]).filter(|folder| folder.contains(&Bit::Char('/')));
    folder.map_or_else(
        || named.clone(),
        |folder| Word { bits: [folder, named.last_bits()].concat(), ..Word::default() },
    )
}

/// The guesses for a path with an unknown head: what its programs name, or the folder of that, with the known
/// tail.
fn guesses(word: &Word, folder: &Word) -> Vec<Word> {
    let whole_name = word.is_one_name() && word.bits.contains(&Bit::Char('/'));
    if !folder.bits.contains(&Bit::Any) && (whole_name || !word.bits.contains(&Bit::Any)) {
        return Vec::new();
    }
    let whole = word.from_folder(folder);
    let Some(unknown) = whole.bits.iter().rposition(|bit| *bit == Bit::Any) else { return Vec::new() };
    let tail = whole.bits[unknown + 1..].iter().copied().skip_while(|bit| *bit == Bit::Char('/'));
    let tail = Word { bits: tail.collect(), ..Word::default() };
    if tail.bits.is_empty() {
        return Vec::new();
    }
    let outer = folder.named.iter().filter(|_| !word.starts_with("/"));
    let heads = word.named.iter().chain(outer).take(HEADS);
    heads.flat_map(|head| [tail.from_folder(head), tail.from_folder(&head.folder())]).collect()
}
