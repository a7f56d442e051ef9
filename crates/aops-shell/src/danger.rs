//! Which command of a line is dangerous: it loses work, breaks the system, runs what it downloads, gives
//! secrets away, destroys what others use, or publishes.
//!
//! `RULES` is the one table, with a row for each rule: its reason, what to do instead, and examples. The
//! rules use the same reading of the line as all other checks, which sees through wrappers, substitutions,
//! variables and here-documents.
//! Invariants: a rule that is not sure stays silent; a command whose program no rule knows costs one lookup
//! of its name.

mod rule;
mod rules;
mod call;
mod typed;
mod place;
mod masked;
mod secret;
mod printed;
mod readers;
mod forms;
mod table;
mod sql;
mod remote;
mod outgoing;
mod system;
mod processes;
mod rights;
mod swept;
mod content;
mod files;
mod git;
mod cloud;
mod shown;
mod program;
mod awk;
mod code;
mod carried;
mod carrier;
mod windows;
mod programs;

pub(crate) use call::value_of;
pub(crate) use masked::{is_secret_name, keeps_values};
pub use place::{Disk, Fed, Place, is_below_temporary, is_generated};
pub use rule::{Danger, Rule, Severity, Usual};
pub use rules::{RULES, rule};
pub(crate) use secret::names_secret;
pub use secret::{is_secret, may_be_secret};
pub use sql::destroys;
pub use windows::powershell_destroys;

use crate::syntax::{Ground, Line, Simple, Word, cut};
use crate::targets::LONGEST;
use call::Call;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// How deeply nested lines are followed.
const DEEPEST: usize = 8;
/// How many words of a command are examined inside text that is not parsed in full.
const SHOWN: usize = 16;

/// The dangers in this line, in the order of its commands; each rule once.
pub fn dangers(line: &Line, place: &Place) -> Vec<Danger> {
    let mut search = Search::new(place);
    search.line(line);
    search.found
}

/// The dangers of writing this file, by whatever tool.
pub fn overwritten(path: &str, place: &Place) -> Vec<Danger> {
    let mut search = Search::new(place);
    let file = Word::of(path);
    let mut simple = Simple::default();
    simple.words.push(file.clone());
    simple.folders = Rc::new(vec![Word::of(place.cwd)]);
    files::written(&mut search, &simple, &file);
    search.found
}

/// The danger reported for a call that is too large to be examined.
pub fn unread(what: &str) -> Option<Danger> {
    rule("unread-line").map(|rule| Danger { rule, what: what.chars().take(80).collect() })
}

/// A search through a line and the lines that its commands carry.
struct Search<'a> {
    place: &'a Place<'a>,
    found: Vec<Danger>,
    /// Commands that print a secret variable.
    shown: Vec<Simple>,
    /// Commands that read a file of secrets, whose output another command receives.
    captured: Vec<Simple>,
    /// Links that the line makes, and their targets.
    links: Vec<(Word, Word)>,
    /// The names of pipes that the line makes.
    pipes: Vec<String>,
    /// The commands of the line that is being looked at.
    around: Vec<Rc<Simple>>,
    depth: usize,
    /// The output of this line goes into a pipe of the line around it.
    in_pipe: bool,
    /// This line is a fragment of a text that could not be parsed as a whole.
    is_part: bool,
}

impl<'a> Search<'a> {
    fn new(place: &'a Place<'a>) -> Self {
        let found = Vec::new();
        let shown = Vec::new();
        let links = Vec::new();
        let pipes = Vec::new();
        Self {
            place,
            found,
            shown,
            captured: Vec::new(),
            links,
            pipes,
            around: Vec::new(),
            depth: 0,
            in_pipe: false,
            is_part: false,
        }
    }

    fn line(&mut self, line: &Line) {
        system::fork_bomb(self, line);
        if line.runs_arriving {
            // `xargs -I{} sh -c 'cd x && {}'`: the input becomes a command.
            self.add_what("unknown-code", line.text.chars().take(80).collect());
        }
        self.links.extend(line.links.iter().cloned());
        self.pipes.extend(outgoing::pipes(line));
        let outer = std::mem::replace(&mut self.around, line.commands.clone());
        // The secrets that a line shows are judged within that line alone.
        let shown = std::mem::take(&mut self.shown);
        let captured = std::mem::take(&mut self.captured);
        for simple in &line.commands {
            self.simple(simple);
        }
        remote::run_after_download(self, line);
        printed::shown(self, line);
        printed::read(self, line);
        printed::sourced(self, line);
        self.around = outer;
        self.shown = shown;
        self.captured = captured;
        if line.beyond {
            self.found.extend(unread(&line.text).filter(|_| !self.has("unread-line")));
        }
        if !self.is_part {
            self.is_part = true;
            line.unread.iter().for_each(|text| self.pieces(text));
            if line.beyond {
                self.pieces(&line.text);
            }
            self.is_part = false;
        }
    }

    fn has(&self, id: &str) -> bool {
        self.found.iter().any(|known| known.rule.id() == id)
    }

    fn simple(&mut self, simple: &Simple) {
        if simple.function {
            return printed::read_in(self, simple);
        }
        for word in &simple.writes {
            files::written(self, simple, word);
        }
        if !simple.writes.is_empty() {
            content::redirected(self, simple);
        }
        if simple.words.is_empty() {
            // `$(< .env)`
            return secret::arriving(self, simple, "");
        }
        if let Some(line) = joined(&simple.words) {
            return self.text(&line, simple);
        }
        let Some(name) = simple.name() else { return files::unnamed(self, simple) };
        if let Some(handed) = simple.handed().filter(|_| simple.words.len() > 1) {
            self.simple(&handed);
        }
        if simple.words[0].shifts == Some(0) {
            files::unnamed(self, simple);
        }
        if name.contains('=') {
            // `1A=2 rm -rf /`: not a valid assignment, but the command after it was meant.
            return self.words(&simple.words[1..], simple);
        }
        if name == "{}" || name.contains('…') {
            // `xargs -I{} sh -c {}`, `echo "$x" | sh`
            self.add("unknown-code", simple);
        }
        if let Some(rest) = init_script(simple, name) {
            return self.text(&rest, simple);
        }
        self.program(simple, name);
    }

    /// A command whose program is known by its name.
    fn program(&mut self, simple: &Simple, name: &str) {
        let name = name.to_ascii_lowercase();
        let name = name.strip_suffix(".exe").unwrap_or(&name);
        let call = Call::new(name, simple);
        carried::options(self, &call);
        if let Some(judge) = programs::judge(name) {
            // Help, version or dry-run calls are not judged.
            if !call.only_tells() || call.name == "find" {
                judge(self, &call);
            }
        } else {
            readers::shown(self, &call);
            carrier::unknown(self, &call);
        }
        if !simple.arriving.is_empty() {
            secret::arriving(self, simple, name);
            printed::read_in(self, simple);
        }
    }

    /// Text that is not a program, at least not one of bash, or is too complex: judges what each of its parts
    /// would do on its own.
    fn pieces(&mut self, text: &str) {
        // Longer than any system accepts as a command: the guard blocks it.
        if text.len() > LONGEST {
            return;
        }
        let mut whole = Simple::default();
        whole.words.push(Word::of(text));
        code::judge(self, &whole, text);
        if outgoing::talks_beside(text) {
            self.add("file-send", &whole);
        }
        let ground = Ground { cwd: self.place.cwd, home: self.place.home, variables: &[] };
        let mut seen = BTreeSet::new();
        for row in text.split('\n').map(opened) {
            if row.contains(|c: char| c.is_ascii_alphabetic()) && seen.insert(row) {
                self.row(row, text.len(), &ground);
            }
        }
    }

    /// Judges one row of such a text: first as a whole, then statement by statement, then between
    /// any two separators.
    fn row(&mut self, row: &str, unread: usize, ground: &Ground) {
        const SIGNS: [char; 8] = [';', '&', '|', '(', ')', '{', '}', '`'];
        let inner = row.rsplit_once("$(").map(|(_, inner)| inner);
        let closed = row.trim_end_matches([')', '}', ';', ' ']);
        let closed = Some(closed).filter(|closed| closed.len() < row.len());
        // A piece as long as the unparsed text is that text, so parsing it again would never end.
        for whole in [Some(row), closed, inner].into_iter().flatten().filter(|whole| whole.len() < unread) {
            let line = cut(whole, ground);
            if !line.unclear {
                return self.line(&line);
            }
        }
        for statement in row.split(';').map(opened).filter(|statement| statement.contains('|')) {
            let line = cut(statement, ground);
            if !line.unclear {
                self.line(&line);
            }
        }
        let mut seen = BTreeSet::new();
        for piece in
            row.split(SIGNS).map(opened).filter(|piece| piece.contains(|c: char| c.is_ascii_alphabetic()))
        {
            if !seen.insert(piece) {
                continue;
            }
            let line = cut(piece, ground);
            let line = if line.unclear { cut(&piece.replace(['"', '\''], ""), ground) } else { line };
            if line.beyond {
                self.words_of(piece, ground);
            }
            self.line(&line);
        }
    }

    /// Judges the command that may begin at each word, for text with too many nested commands: `eval eval …`.
    fn words_of(&mut self, text: &str, ground: &Ground) {
        let plain = text.replace(['"', '\'', '\\'], "");
        let words: Vec<&str> = plain.split_whitespace().collect();
        let mut known: BTreeMap<&str, bool> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for at in 1..words.len() {
            let name = words[at].rsplit('/').next().unwrap_or_default();
            let is_known = *known.entry(name).or_insert_with(|| programs::judge(name).is_some());
            if is_known && seen.insert(&words[at..(at + SHOWN).min(words.len())]) {
                self.line(&cut(&words[at..(at + SHOWN).min(words.len())].join(" "), ground));
            }
        }
    }

    /// A line that runs when this command does.
    fn text(&mut self, text: &str, simple: &Simple) {
        self.inner(text, simple, true);
    }

    /// Like `text`, for text that may be something else, such as a program of another language.
    fn perhaps(&mut self, text: &str, simple: &Simple) {
        self.inner(text, simple, false);
    }

    /// Like `perhaps`, for text that may be prose: only if it begins with a program that the rules know.
    fn likely(&mut self, text: &str, simple: &Simple) {
        let first = text.split_whitespace().next().unwrap_or_default();
        let is_known = programs::judge(first.rsplit('/').next().unwrap_or(first)).is_some();
        if is_known && text.trim().contains(char::is_whitespace) {
            self.perhaps(text, simple);
        }
    }

    fn inner(&mut self, text: &str, simple: &Simple, is_line: bool) {
        if self.depth >= DEEPEST {
            self.found.extend(unread(text).filter(|_| !self.has("unread-line")));
            return;
        }
        self.depth += 1;
        let in_pipe = self.in_pipe;
        self.in_pipe |= simple.piped.0;
        let folder = simple.folders.first().and_then(Word::literal);
        let cwd = folder.as_deref().unwrap_or(self.place.cwd);
        let line = cut(text, &Ground { cwd, home: self.place.home, variables: &[] });
        if is_line || !line.unclear {
            self.line(&line);
        }
        self.depth -= 1;
        self.in_pipe = in_pipe;
    }

    /// A command that runs when this one does: its words from here on.
    fn words(&mut self, words: &[Word], simple: &Simple) {
        if words.is_empty() {
            return;
        }
        // Shells and wrappers are opened by reading the words as a line of their own.
        let set = simple.assigned.iter().zip(&simple.values).filter(|(_, value)| value.is_firm());
        let set = set.map(|(name, value)| format!("{name}={}", value.quoted()));
        let text: Vec<String> = set.chain(words.iter().map(call::quoted)).collect();
        self.text(&fed(simple, &text.join(" ")), simple);
    }

    fn add(&mut self, id: &'static str, simple: &Simple) {
        let words: Vec<String> = simple.words.iter().take(8).map(call::named).collect();
        self.add_what(id, words.join(" "));
    }

    fn add_what(&mut self, id: &'static str, what: String) {
        if let Some(rule) = rule(id)
            && !self.has(id)
        {
            self.found.push(Danger { rule, what });
        }
    }
}

/// The line that these words hold without being split into words.
fn joined(words: &[Word]) -> Option<String> {
    let line = || words.iter().map(Word::code).collect::<Vec<_>>().join(" ");
    if words.iter().any(|word| word.unknown.iter().any(|name| name == "IFS")) {
        // In `rm${IFS}-rf${IFS}/`, the variable that splits words becomes a blank.
        return Some(line().replace("${_unknown}", " "));
    }
    // `parallel 'rm -rf {}'`
    words[0].lossy().contains(' ').then(line)
}

/// The text without leading brackets and keywords of branches and loops.
fn opened(text: &str) -> &str {
    const WORDS: [&str; 8] = ["coproc ", "then ", "do ", "else ", "if ", "while ", "until ", "! "];
    let mut text = text.trim();
    loop {
        let rest = text.trim_start_matches(['(', '{', ' ', '\t']);
        let rest = WORDS.iter().find_map(|word| rest.strip_prefix(word)).unwrap_or(rest);
        if rest.len() == text.len() {
            return text;
        }
        text = rest;
    }
}

/// `/etc/init.d/nginx stop` is `service nginx stop`.
fn init_script(simple: &Simple, name: &str) -> Option<String> {
    let folder = simple.words[0].folder();
    let is_script = folder.is("/etc/init.d") || folder.is("/etc/rc.d") || folder.is("/etc/rc.d/init.d");
    let rest = || simple.words[1..].iter().map(call::quoted).collect::<Vec<_>>().join(" ");
    is_script.then(|| format!("service {name} {}", rest()))
}

/// The line with its input in front: `cat x | line`.
fn fed(simple: &Simple, line: &str) -> String {
    simple.fed.iter().map(|fed| &**fed).chain([line]).collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests;
