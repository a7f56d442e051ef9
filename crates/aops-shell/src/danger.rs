//! Which command of a line is dangerous: it loses work, breaks the system, runs what it downloads, gives secrets away,
//! destroys what others use, or publishes.
//!
//! `RULES` is the one table, a row for each rule with its reason, what to do instead, and examples. The rules ask the same
//! reading of the line as every other question: wrappers, substitutions, variables and here-documents are seen through.
//! Invariants: a rule that finds nothing it is sure of stays silent; a command whose program no rule knows costs one look
//! at its name.

mod rule;
mod rules;
mod call;
mod place;
mod secret;
mod forms;
mod table;
mod sql;
mod remote;
mod outgoing;
mod system;
mod swept;
mod files;
mod rights;
mod git;
mod cloud;
mod carrier;
mod code;
mod windows;
mod programs;

pub use place::Place;
pub use rule::{Danger, Rule, Severity};
pub use rules::{RULES, rule};
pub use secret::is_secret;
pub use sql::destroys;
pub use windows::powershell_destroys;

use crate::syntax::{Ground, Line, Simple, Word, cut};
use call::Call;

/// Lines inside lines.
const DEEPEST: usize = 4;
/// A longer line that is no program is not looked at.
const LONGEST: usize = 1024;

/// What is dangerous in this line, in the order of its commands; each rule once.
pub fn dangers(line: &Line, place: &Place) -> Vec<Danger> {
    let mut search =
        Search { place, found: Vec::new(), shown: Vec::new(), links: Vec::new(), pipes: Vec::new(), depth: 0 };
    search.line(line);
    if line.unclear && line.commands.is_empty() && line.text.len() < LONGEST {
        search.pieces(&line.text);
    }
    search.found
}

/// A search in a line and in the lines that its commands carry.
struct Search<'a> {
    place: &'a Place<'a>,
    found: Vec<Danger>,
    /// Commands that print a secret variable.
    shown: Vec<Simple>,
    /// Links that the line makes, and where they lead.
    links: Vec<(Word, Word)>,
    /// The names of pipes that the line makes.
    pipes: Vec<String>,
    depth: usize,
}

impl Search<'_> {
    fn line(&mut self, line: &Line) {
        system::fork_bomb(self, line);
        if line.guessed.as_deref() == Some("xargs") {
            // `xargs -I{} sh -c '… {}'`: what arrives becomes a program.
            self.add_what("unknown-code", line.text.chars().take(80).collect());
        }
        self.links.extend(line.links.iter().cloned());
        self.pipes.extend(outgoing::pipes(line));
        for simple in &line.commands {
            self.simple(simple);
        }
        remote::run_after_download(self, line);
        secret::shown(self, line);
    }

    fn simple(&mut self, simple: &Simple) {
        if simple.function {
            return;
        }
        for word in &simple.writes {
            files::written(self, simple, word);
        }
        if !simple.writes.is_empty() {
            swept::redirected(self, simple);
        }
        if simple.words.is_empty() {
            // `$(< .env)`
            return secret::arriving(self, simple, "");
        }
        if let Some(line) = joined(&simple.words) {
            return self.text(&line, simple);
        }
        let Some(name) = simple.name() else { return files::unnamed(self, simple) };
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
        let name = name.to_ascii_lowercase();
        let name = name.strip_suffix(".exe").unwrap_or(&name);
        if let Some(judge) = programs::judge(name) {
            let call = Call::new(name, simple);
            // Asked about itself, or told to change nothing.
            if !call.only_tells() || call.name == "find" {
                judge(self, &call);
            }
        }
        if !simple.arriving.is_empty() {
            secret::arriving(self, simple, name);
        }
    }

    /// A line that is no program, at least none of bash. What each of its parts would do on its own.
    fn pieces(&mut self, text: &str) {
        const SIGNS: [char; 9] = ['\n', ';', '&', '|', '(', ')', '{', '}', '`'];
        const WORDS: [&str; 8] = ["coproc ", "then ", "do ", "else ", "if ", "while ", "until ", "! "];
        let mut whole = Simple::default();
        whole.words.push(Word::of(text));
        code::judge(self, &whole, text);
        if outgoing::talks_beside(text) {
            self.add("file-send", &whole);
        }
        for piece in text.split(SIGNS) {
            let piece = WORDS.iter().fold(piece.trim(), |piece, word| piece.strip_prefix(word).unwrap_or(piece).trim());
            let ground = Ground { cwd: self.place.cwd, home: self.place.home, variables: &[] };
            let line = cut(piece, &ground);
            let line = if line.unclear { cut(&piece.replace(['"', '\''], ""), &ground) } else { line };
            self.line(&line);
        }
    }

    /// A line that runs when this command does.
    fn text(&mut self, text: &str, simple: &Simple) {
        if self.depth >= DEEPEST || text.len() > 64 * 1024 {
            return;
        }
        self.depth += 1;
        let folder = simple.folders.first().and_then(Word::literal);
        let cwd = folder.as_deref().unwrap_or(self.place.cwd);
        let line = cut(text, &Ground { cwd, home: self.place.home, variables: &[] });
        self.line(&line);
        self.depth -= 1;
    }

    /// A command that runs when this one does: its words from here on.
    fn words(&mut self, words: &[Word], simple: &Simple) {
        if words.is_empty() || self.depth >= DEEPEST {
            return;
        }
        // Shells and wrappers are opened by reading the words as a line of their own.
        let text: Vec<String> = words.iter().map(call::quoted).collect();
        self.text(&fed(simple, &text.join(" ")), simple);
    }

    fn add(&mut self, id: &'static str, simple: &Simple) {
        let words: Vec<String> = simple.words.iter().take(8).map(call::named).collect();
        self.add_what(id, words.join(" "));
    }

    fn add_what(&mut self, id: &'static str, what: String) {
        if let Some(rule) = rule(id)
            && !self.found.iter().any(|known| known.rule.id() == id)
        {
            self.found.push(Danger { rule, what });
        }
    }
}

/// A line of its own that stands in these words, though it is not cut into them.
fn joined(words: &[Word]) -> Option<String> {
    let line = || words.iter().map(Word::code).collect::<Vec<_>>().join(" ");
    if words.iter().any(|word| word.unknown.iter().any(|name| name == "IFS")) {
        // `rm${IFS}-rf${IFS}/`: what splits words is a blank.
        return Some(line().replace("${_unknown}", " "));
    }
    // `parallel 'rm -rf {}'`
    words[0].lossy().contains(' ').then(line)
}

/// The line behind what its command is fed with: `cat x | line`.
fn fed(simple: &Simple, line: &str) -> String {
    simple.fed.iter().map(|fed| &**fed).chain([line]).collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests;
