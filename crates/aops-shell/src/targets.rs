//! What a shell line would touch: files it may write, programs it runs, text it hides behind. Invariant: an
//! unknown command may write whatever its arguments name; one that only reads touches nothing.

pub use super::commands::Act;

use super::commands;
use super::syntax::{self, Bit, Ground, Line, Simple, Word};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Paths of one call that are looked at, and characters of all its lines; a call with more is refused unread.
const TARGETS: usize = 20_000;
const LINES: usize = 256 * 1024;
/// A line above this is no command that any system takes.
pub const LONGEST: usize = 1024 * 1024;
/// Lines in arguments of lines; links behind links; names that may stand for an unknown head, all that are
/// kept.
const DEEPEST: usize = 4;
const LINKS: usize = 64;
const HEADS: usize = 1024;

/// Not files; they occur in every other line.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty"];

/// One path a call may touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Absolute, as given: not yet normalised, perhaps a pattern.
    pub path: Word,
    pub act: Act,
    /// The same path as the disk sees it, where that was looked up and differs.
    pub real: Option<Word>,
    /// Whether it exists, where that was looked up because it decides.
    pub stands: Option<bool>,
}

#[derive(Clone, Debug, Default)]
pub struct Targets {
    pub paths: Vec<Target>,
    /// The simple commands, program first.
    pub runs: Vec<CommandRun>,
    /// Text that may write what it names.
    pub hidden: Vec<Hidden>,
    /// It holds more than is looked at.
    pub over: bool,
    /// Where the paths with this hash are.
    known: BTreeMap<u64, Vec<usize>>,
    /// Characters of lines cut so far, and lines around this one.
    lines: usize,
    depth: usize,
    /// Links the line makes, and where they lead.
    links: Vec<(Word, Word)>,
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
pub struct CommandRun {
    pub command: Rc<Simple>,
    /// It only reads.
    pub reads: bool,
    /// Variables set for it, or by the line.
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
        // `exec 9<file; flock 9`: who holds the lock of a file keeps others from it, as who writes it does.
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
        // A command that makes a link does not go through it.
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

    /// A line in an argument. Unlike one that surely runs, it may be prose: text that is no shell is a
    /// program.
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

    /// The same path behind the links of this line.
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
            // More than one may be meant: whether `ln -s a b` makes `b` or `b/a`, the line does not say.
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

/// What a substitution in this word names, as a path: `out/$(basename src/a.json)` is `out/a.json`.
fn placed(word: &Word, named: &Word) -> Word {
    let at = word.bits.iter().position(|bit| *bit == Bit::Any).filter(|_| word.is_one_name());
    let folder = at.map(|at| &word.bits[..at]).filter(|folder| folder.contains(&Bit::Char('/')));
    folder.map_or_else(
        || named.clone(),
        |folder| Word { bits: [folder, named.last_bits()].concat(), ..Word::default() },
    )
}

/// A path whose head only the running shell knows: what its programs name, or the folder of that, with the
/// known tail.
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
