//! Reads one simple command of the tree: its words, assignments and redirections, and what they change in the scope.

use super::builtin::operands;
use super::scope::{Scope, Unset, added};
use super::tree::{Assignment, Raw, Redirect, SimpleCommand};
use super::walk::Walk;
use super::word::is_plain;
use super::wrap::{MADE_UP, code};
use super::{Bit, Simple, Word};
use std::rc::Rc;

/// Links that one line makes.
const LINKS: usize = 256;
/// Builtins whose assignments stay, in shells of POSIX.
const SPECIAL: [&str; 10] = [":", ".", "eval", "exec", "export", "readonly", "set", "shift", "times", "unset"];

impl Walk {
    pub(super) fn once(&mut self, command: &SimpleCommand, scope: &mut Scope) {
        let around = std::mem::take(&mut self.defaulted);
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
        let defaulted = std::mem::replace(&mut self.defaulted, around);
        self.defaults(scope, &defaulted);
        for (name, values) in assigned {
            self.programmed(&name, &values, scope);
            // Before a command it holds for that command alone, but its words were read without it.
            if simple.words.is_empty() {
                self.assigned(scope, &name, values);
                continue;
            }
            if SPECIAL.iter().any(|special| simple.words[0].is(special)) {
                self.adds(scope, &name, &values);
            }
            simple.values.push(values.last().cloned().unwrap_or_default());
            if !own.set(&name, values) {
                self.too_much();
            }
            simple.assigned.push(name);
        }
        simple.arriving.clone_from(&own.arriving);
        simple.script.clone_from(&own.script);
        simple.fed.clone_from(&own.fed);
        (simple.exported, simple.captured) = (own.exported, own.captured);
        simple.empties = empties(&command.redirects);
        self.run(simple, scope, &own);
    }

    /// `${x:=y}`: what they hold now, or something else if they were empty.
    fn defaults(&mut self, scope: &mut Scope, names: &[String]) {
        for name in names {
            if scope.value(name).is_none_or(<[Word]>::is_empty) {
                self.assign(scope, name, Vec::new());
            }
            self.adds(scope, name, &[Word { unknown: vec![name.clone()], ..Word::any() }]);
        }
    }

    /// A variable that has a value may have one of these instead.
    fn adds(&mut self, scope: &mut Scope, name: &str, values: &[Word]) {
        if let Some(old) = scope.value(name).filter(|old| !old.is_empty()).map(<[Word]>::to_vec) {
            self.assign(scope, name, values.iter().cloned().fold(old, added));
        }
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
        // `$(echo git) status`
        let is_made = |word: &Word| word.shifts.is_some() && !word.printed.is_empty();
        self.guess_if(simple.words.first().is_some_and(is_made), MADE_UP);
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
        if values.is_empty() && !assignment.is_array {
            values.push(Word::default());
        }
        // Blanks in an assigned value do not split it.
        if !assignment.is_array && values.len() > 1 && !assignment.values[0].text.contains('{') {
            values = vec![joined(&values)];
        }
        if assignment.keeps {
            values = kept(assignment, scope, values);
        }
        (assignment.name.to_owned(), values)
    }

    /// `ln -s to link`, `ln -s to other folder`: a later write to the link goes to its target.
    pub(super) fn link(&mut self, simple: &Simple) {
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
                if link != leads && !self.line.links.iter().any(|known| known.0 == link && known.1 == leads) {
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
}

/// What `x+=value`, `x+=(value …)` and `x[1]=value` leave.
fn kept(assignment: &Assignment, scope: &Scope, values: Vec<Word>) -> Vec<Word> {
    let old = scope.value(assignment.name).unwrap_or_default();
    let unset = scope.unset.get(assignment.name);
    let is_gone = unset == Some(&Unset::Surely);
    match (assignment.is_array, assignment.indexes.is_empty()) {
        (true, true) if is_gone || !old.is_empty() => old.iter().cloned().chain(values).collect(),
        (false, true) if is_gone => values,
        (false, true) if !old.is_empty() => {
            let glued = |old: &Word, value: &Word| Word {
                bits: [&old.bits[..], &value.bits].concat(),
                ..joined(&[old.clone(), value.clone()])
            };
            let alone = values.iter().filter(|_| unset.is_some()).cloned();
            alone.chain(old.iter().flat_map(|old| values.iter().map(|value| glued(old, value)))).collect()
        }
        _ => values.into_iter().chain(old.iter().cloned()).chain([Word::any()]).collect(),
    }
}

fn empties(redirects: &[Redirect]) -> bool {
    redirects.iter().any(|redirect| matches!(redirect, Redirect::File(">" | ">|" | "&>" | ">&", _)))
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
