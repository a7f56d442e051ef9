//! Reads one simple command of the tree: its words, assignments and redirections, and what they change in the scope.

use super::scope::{POSITIONS, Scope};
use super::tree::{Assignment, Raw, Redirect, SimpleCommand};
use super::walk::Walk;
use super::word::is_plain;
use super::wrap::{MADE_UP, code};
use super::{Bit, Simple, Word};
use std::rc::Rc;

/// Links that one line makes.
const LINKS: usize = 256;

impl Walk {
    pub(super) fn once(&mut self, command: &SimpleCommand, scope: &mut Scope) {
        let mut own = Scope { sure: false, ..scope.clone() };
        let mut simple = Simple::default();
        let assigned: Vec<_> =
            command.assignments.iter().map(|assignment| self.assignment(assignment, scope)).collect();
        let exports = command.words.first().is_some_and(|word| matches!(word.text, "export" | "readonly"));
        {
            // Dropped before a variable is set, which would copy them all while they are shared.
            let inner = Scope { exported: exports || scope.exported, ..scope.clone() };
            command.words.iter().for_each(|word| self.word(word, &mut simple.words, &inner));
        }
        simple.writes = self.redirects(&command.redirects, &mut own);
        if simple.words.is_empty() {
            // Nothing runs that could see them, and setting one while the map is shared would copy the map.
            own.variables = Rc::default();
        }
        for (name, values) in assigned {
            self.programmed(&name, &values, scope);
            // Before a command it holds for that command alone, but its words were read without it.
            if simple.words.is_empty() {
                self.assign(scope, &name, values);
            } else {
                simple.values.push(values.last().cloned().unwrap_or_default());
                if !own.set(&name, values) {
                    self.too_much();
                }
                simple.assigned.push(name);
            }
        }
        simple.arriving.clone_from(&own.arriving);
        simple.script.clone_from(&own.script);
        simple.fed.clone_from(&own.fed);
        (simple.exported, simple.captured) = (own.exported, own.captured);
        simple.empties = empties(&command.redirects);
        self.run(simple, scope, &own);
    }

    /// A command is complete: look inside it, or keep it.
    pub(super) fn run(&mut self, simple: Simple, scope: &mut Scope, own: &Scope) {
        let folders: usize = scope.folders.iter().map(|folder| folder.bits.len()).sum();
        let carried = simple.arriving.len() + simple.fed.len();
        if !self.spend(1 + simple.words.len() + carried / 4 + folders / 256) || !self.enter() {
            return;
        }
        self.opened(simple, scope, own);
        self.leave();
    }

    fn opened(&mut self, mut simple: Simple, scope: &mut Scope, own: &Scope) {
        simple.folders = Rc::clone(&scope.folders);
        simple.call();
        simple.function = simple.name().is_some_and(|name| scope.functions.iter().any(|known| known == name));
        self.change(&simple, scope, own);
        if simple.function {
            self.called(&simple, scope);
            return self.found.push(simple);
        }
        if !self.look_inside(&simple, scope, own) {
            self.found.push(simple);
        } else if !simple.writes.is_empty() || !simple.assigned.is_empty() {
            self.found.push(Simple { words: Vec::new(), empties: false, ..simple });
        }
    }

    fn word(&mut self, raw: &Raw, words: &mut Vec<Word>, scope: &Scope) {
        if is_plain(raw.text) {
            // In nothing else than `Walk::words` would have it.
            words.push(if self.spend(1 + raw.text.len() / 256) { Word::of(raw.text) } else { Word::any() });
        } else {
            words.extend(self.words(raw, scope));
        }
    }

    /// The files that redirections write; what they feed goes into the scope.
    pub(super) fn redirects(&mut self, redirects: &[Redirect], scope: &mut Scope) -> Vec<Word> {
        let mut writes = Vec::new();
        for redirect in redirects {
            match redirect {
                Redirect::File(sign, word) => writes.extend(self.file(sign, word, scope)),
                Redirect::Text(word, is_standard_input) => {
                    scope.lists_files = false;
                    let words = self.words(word, scope);
                    scope.sure = words.iter().all(Word::is_firm) && *is_standard_input;
                    scope.script = Some(words.iter().map(Word::lossy).collect::<Vec<_>>().join(" "));
                    scope.arriving = words;
                }
                Redirect::Document { body, is_literal, strips_tabs, is_standard_input } => {
                    scope.lists_files = false;
                    scope.sure = *is_standard_input && (*is_literal || !body.text.contains(['$', '`', '\\']));
                    if !is_literal {
                        self.document(body, scope);
                    }
                    let lines = body.text.split_inclusive('\n');
                    let read = |line| if *strips_tabs { str::trim_start_matches(line, '\t') } else { line };
                    scope.script = Some(lines.map(read).collect());
                }
            }
        }
        writes
    }

    fn file(&mut self, sign: &str, raw: &Raw, scope: &mut Scope) -> Vec<Word> {
        let copies = matches!(sign, "<&" | ">&");
        scope.lists_files &= !sign.starts_with('<');
        if let Some(list) = raw.process().filter(|_| !copies) {
            let word = self.process(raw, list, scope);
            scope.arriving.extend(word.named);
            scope.fed.extend(word.printed);
            scope.script = word.said.or(scope.script.take());
            scope.sure = false;
            return Vec::new();
        }
        let mut words = self.words(raw, scope);
        scope.sure &= !copies && sign != "<";
        match sign {
            "<" => scope.arriving = std::mem::take(&mut words),
            "<&" => {
                // A shell that reads from there runs what another command wrote.
                let other = words.iter().any(|word| !matches!(word.lossy().as_str(), "0" | "-"));
                scope.fed.extend(other.then(|| Rc::from("descriptor")));
                words.clear();
            }
            ">&" => words.retain(|word| !is_descriptor(word)),
            _ => {}
        }
        words
    }

    fn assignment(&mut self, assignment: &Assignment, scope: &Scope) -> (String, Vec<Word>) {
        assignment.indexes.iter().for_each(|index| self.sum(index, scope));
        if assignment.is_array {
            self.arrays.insert(assignment.name.to_owned());
        }
        let mut values: Vec<Word> = assignment.values.iter().flat_map(|word| self.words(word, scope)).collect();
        // Blanks in an assigned value do not split it.
        if !assignment.is_array && values.len() > 1 && !assignment.values[0].text.contains('{') {
            values = vec![joined(&values)];
        }
        if assignment.keeps {
            let old = scope.value(assignment.name).unwrap_or_default();
            values.extend(old.iter().cloned());
            values.push(Word::any());
        }
        (assignment.name.to_owned(), values)
    }

    /// `ln -s to link`, `ln -s to other folder`: a later write to the link goes to its target.
    fn link(&mut self, simple: &Simple) {
        let Some(folder) = simple.folders.first() else { return };
        let mut given = operands(simple);
        let into = simple.words.iter().position(|word| word.is("-t") || word.is("--target-directory"));
        let into = into.and_then(|at| simple.words.get(at + 1)).cloned();
        let glued = simple.words.iter().find(|word| word.starts_with("--target-directory="));
        let into = into.or_else(|| glued.and_then(|word| word.past('=')));
        given.retain(|word| Some(*word) != into.as_ref());
        let is_folder = into.is_some() || given.len() > 2;
        let last = into.or_else(|| if given.len() > 1 { given.pop().cloned() } else { None });
        let last = last.unwrap_or_else(|| Word::of("."));
        for to in given {
            let alone = Some(last.clone()).filter(|_| !is_folder);
            for link in alone.into_iter().chain([to.last_part().from_folder(&last)]) {
                let link = link.from_folder(folder).tidied();
                let leads = to.from_folder(&link.folder());
                if self.line.links.len() >= LINKS {
                    return self.too_much();
                }
                if link != leads {
                    self.line.links.push((link, leads));
                }
            }
        }
    }

    /// Variables whose value other programs run: `PAGER`, `GIT_SSH_COMMAND` and kin.
    pub(super) fn programmed(&mut self, name: &str, values: &[Word], scope: &Scope) {
        const ENDS: [&str; 10] = [
            "PAGER", "EDITOR", "VISUAL", "BROWSER", "COMMAND", "CMD", "LESSOPEN", "EXTERNAL_DIFF", "ASKPASS", "GIT_SSH",
        ];
        // Settings of git, of which some are programs: `GIT_CONFIG_VALUE_0`, `GIT_CONFIG_PARAMETERS`.
        let is_setting = name.starts_with("GIT_CONFIG_VALUE") || name == "GIT_CONFIG_PARAMETERS";
        if !is_setting && !ENDS.iter().any(|end| name.ends_with(end)) {
            return;
        }
        for value in values {
            self.guess_if(!value.is_firm(), MADE_UP);
            let Some(text) = code(value) else { continue };
            if is_setting {
                let parts = text.split('\'').map(|part| part.split_once('=').map_or(part, |(_, line)| line));
                let lines = parts.map(|line| line.trim_start_matches('!')).filter(|line| line.contains(' '));
                lines.for_each(|line| self.program(line, &mut scope.clone()));
            } else {
                self.program(&text, &mut scope.clone());
            }
        }
    }

    /// What `$1` and the next are from here on.
    pub(super) fn give(&mut self, scope: &mut Scope, words: Vec<Word>) {
        if words.len() > POSITIONS || !self.spend(words.len()) {
            scope.given = Rc::default();
            return self.too_much();
        }
        scope.given = Rc::new(vec![words]);
    }

    /// `set -- a b`, `set a b`
    fn positions(&mut self, simple: &Simple, scope: &mut Scope) {
        let dashes = simple.words.iter().position(|word| word.is("--"));
        let given: Vec<Word> = match dashes {
            Some(at) => simple.words[at + 1..].to_vec(),
            None => operands(simple).into_iter().cloned().collect(),
        };
        if dashes.is_some() || !given.is_empty() {
            self.give(scope, given);
        }
    }

    /// Builtins that change what later commands see.
    fn change(&mut self, simple: &Simple, scope: &mut Scope, own: &Scope) {
        let Some(name) = simple.name() else { return };
        match name {
            "cd" | "chdir" | "pushd" => enter(simple, scope, own),
            _ if simple.makes_links() => self.link(simple),
            "popd" => scope.back(),
            "read" | "mapfile" | "readarray" => {
                for name in filled(simple, name) {
                    self.arrays.insert(name.clone());
                    let mut values = simple.arriving.clone();
                    let several = !simple.fed.is_empty() || !simple.arriving.is_empty();
                    values.push(Word { several, printed: simple.fed.clone(), ..Word::any() });
                    self.assign(scope, &name, values);
                }
            }
            "printf" if simple.words.get(1).is_some_and(|word| word.starts_with("-v")) => {
                let glued = Some(simple.words[1].after(2)).filter(|word| !word.bits.is_empty());
                let mut rest = simple.words[2..].iter().cloned();
                let name = glued.or_else(|| rest.next()).unwrap_or_default();
                let values: Vec<Word> = rest.chain([Word::any()]).collect();
                self.assign(scope, &name.lossy(), values);
            }
            "export" | "declare" | "local" | "readonly" | "typeset" => {
                for word in operands(simple) {
                    let Some(value) = word.past('=') else { continue };
                    let at = word.bits.len() - value.bits.len() - 1;
                    let name = Word { bits: word.bits[..at].to_vec(), ..Word::default() };
                    self.programmed(&name.lossy(), std::slice::from_ref(&value), scope);
                    self.assign(scope, name.lossy().trim_end_matches('+'), vec![value]);
                }
            }
            "set" => self.positions(simple, scope),
            "shift" => {
                let by = simple.words.get(1).map_or(Some(1), |word| word.lossy().parse().ok());
                if !scope.shift(by) {
                    self.too_much();
                }
            }
            "unset" => operands(simple).iter().for_each(|word| self.assign(scope, &word.lossy(), Vec::new())),
            _ => {}
        }
    }
}

/// Go to the folder that `cd` names.
fn enter(simple: &Simple, scope: &mut Scope, own: &Scope) {
    let target = operands(simple).first().map_or_else(|| (*scope.home).clone(), |word| (*word).clone());
    let before = Rc::clone(&scope.folders);
    scope.enter(&target);
    // A bare name is looked for in these first.
    for path in own.value("CDPATH").unwrap_or_default() {
        let there = path.bits.split(|bit| *bit == Bit::Char(':')).map(<[Bit]>::to_vec);
        let there = there.map(|bits| Word { bits, ..Word::default() }.from_folder(&before[0]));
        scope.also_in(&there.map(|base| target.from_folder(&base)).collect::<Vec<_>>());
    }
}

fn empties(redirects: &[Redirect]) -> bool {
    redirects.iter().any(|redirect| matches!(redirect, Redirect::File(">" | ">|" | "&>" | ">&", _)))
}

fn operands(simple: &Simple) -> Vec<&Word> {
    simple.words.iter().skip(1).filter(|word| !word.is_option()).collect()
}

/// The variables that `read` and `mapfile` fill: their operands, and what follows `-a`.
fn filled(simple: &Simple, program: &str) -> Vec<String> {
    let (valued, usual) = if program == "read" { ("adinNptuAk", "REPLY") } else { ("dnOsucC", "MAPFILE") };
    let mut names = Vec::new();
    let mut words = simple.words.iter().skip(1);
    while let Some(word) = words.next() {
        let text = word.lossy();
        if !word.is_option() {
            names.push(text.split('?').next().unwrap_or_default().to_owned());
            continue;
        }
        let Some(at) = text.find(|c: char| valued.contains(c)) else { continue };
        let (letter, glued) = (&text[at..=at], &text[at + 1..]);
        let value = if glued.is_empty() { words.next().map(Word::lossy) } else { Some(glued.to_owned()) };
        names.extend(value.filter(|_| program == "read" && matches!(letter, "a" | "A")));
    }
    if names.is_empty() {
        names.push(usual.to_owned());
    }
    names
}

fn is_descriptor(word: &Word) -> bool {
    word.literal().is_some_and(|text| text.chars().all(|c| c.is_ascii_digit() || c == '-'))
}

fn joined(words: &[Word]) -> Word {
    let mut all = Word::default();
    for word in words {
        if !all.bits.is_empty() {
            all.bits.push(Bit::Char(' '));
        }
        all.bits.extend(&word.bits);
        all.named.extend(word.named.iter().cloned());
        all.printed.extend(word.printed.iter().cloned());
        all.unknown.extend(word.unknown.iter().cloned());
    }
    all
}
