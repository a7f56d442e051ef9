//! Reads one simple command of the tree: its words, assignments and redirections, and how they change the
//! scope.

use super::builtin::operands;
use super::scope::{Scope, Unset, added, is_armed, is_set_by_shell, programs_in};
use super::tree::{Assignment, Raw, Redirect, SimpleCommand};
use super::walk::Walk;
use super::word::is_plain;
use super::wrap::{MADE_UP, code};
use super::{Bit, Simple, Word};
use std::rc::Rc;

/// How many links one line may create.
const LINKS: usize = 256;
/// Builtins whose assignments persist, in POSIX shells.
const SPECIAL: [&str; 10] =
    [":", ".", "eval", "exec", "export", "readonly", "set", "shift", "times", "unset"];

/// Builtins that evaluate the index of a variable they are given.
const EVALUATES: [&str; 14] = [
    "[", "declare", "export", "let", "local", "mapfile", "printf", "read", "readarray", "readonly", "test",
    "typeset", "unset", "wait",
];

impl Walk {
    pub(super) fn once(&mut self, command: &SimpleCommand, scope: &mut Scope) {
        let around = std::mem::take(&mut self.defaulted);
        let mut own = Scope { sure: false, ..scope.clone() };
        let mut simple = Simple::default();
        let assigned: Vec<_> =
            command.assignments.iter().map(|assignment| self.assignment(assignment, scope)).collect();
        let exports = command.words.first().is_some_and(|word| matches!(word.text, "export" | "readonly"));
        {
            // Dropped before a variable is set: a shared map of variables would have to be copied.
            let inner = Scope { exported: exports || scope.exported, ..scope.clone() };
            command.words.iter().for_each(|word| self.word(word, &mut simple.words, &inner));
        }
        simple.writes = self.redirects(&command.redirects, &mut own);
        if simple.words.is_empty() {
            // Nothing runs that could see the variables, and setting one while the map is shared would copy
            // the map.
            own.variables = Rc::default();
        }
        let defaulted = std::mem::replace(&mut self.defaulted, around);
        self.defaults(scope, &defaulted);
        for (name, given) in assigned {
            self.give_value(name, given, &mut simple, scope, &mut own);
        }
        simple.arriving.clone_from(&own.arriving);
        simple.script.clone_from(&own.script);
        simple.fed.clone_from(&own.fed);
        simple.exported = own.exported;
        simple.captured = own.captured;
        simple.empties = command.redirects.iter().any(Redirect::empties);
        simple.silent = is_silent(&command.redirects);
        self.run(simple, scope, &own);
    }

    fn give_value(
        &mut self,
        name: String,
        given: Given,
        simple: &mut Simple,
        scope: &mut Scope,
        own: &mut Scope,
    ) {
        let values = match given {
            Given::OneOf(values) => values,
            Given::Lists(lists) if simple.words.is_empty() => {
                self.programmed(&name, &lists.concat(), scope);
                return self.filled(scope, &name, lists);
            }
            Given::Lists(lists) => lists.concat(),
        };
        self.programmed(&name, &values, scope);
        // Before a command, the assignment holds only for that command; the command's own words were expanded
        // without it.
        if simple.words.is_empty() {
            return self.assigned(scope, &name, values);
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

    /// `${x:=y}`: the current values, or `y` if the variable was empty.
    fn defaults(&mut self, scope: &mut Scope, names: &[String]) {
        for name in names {
            if scope.value(name).is_none_or(<[Word]>::is_empty) {
                self.assign(scope, name, Vec::new());
            }
            self.adds(scope, name, &[Word { unknown: vec![name.clone()], ..Word::any() }]);
        }
    }

    /// Adds possible values to a variable that already has known ones.
    fn adds(&mut self, scope: &mut Scope, name: &str, values: &[Word]) {
        if let Some(old) = scope.value(name).filter(|old| !old.is_empty()).map(<[Word]>::to_vec) {
            self.assign(scope, name, values.iter().cloned().fold(old, added));
        }
    }

    /// The command is complete: look inside it, or record it.
    pub(super) fn run(&mut self, simple: Simple, scope: &mut Scope, own: &Scope) {
        let folders: usize = scope.folders.iter().map(|folder| folder.bits.len()).sum();
        let carried = simple.arriving.len() + simple.fed.len();
        if !self.spend(1 + simple.words.len() + carried / 4 + folders / 256) || !self.enter() {
            return;
        }
        self.closed(&simple, scope, own);
        self.opened(simple, scope, own);
        self.leave();
    }

    fn opened(&mut self, mut simple: Simple, scope: &mut Scope, own: &Scope) {
        simple.folders = Rc::clone(&scope.folders);
        simple.call();
        if simple.name().is_some_and(|name| EVALUATES.contains(&name)) {
            for word in &simple.words[1..] {
                self.expanded_again(word, false, scope);
            }
        }
        // `$(echo git) status`: a program name made by a substitution.
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
            // A shortcut for plain words, with the same result as `Walk::words`.
            words.push(if self.spend(1 + raw.text.len() / 256) { Word::of(raw.text) } else { Word::any() });
        } else {
            words.extend(self.words(raw, scope));
        }
    }

    /// The files that redirections write; input from redirections goes into the scope.
    pub(super) fn redirects(&mut self, redirects: &[Redirect], scope: &mut Scope) -> Vec<Word> {
        let mut writes = Vec::new();
        for redirect in redirects {
            match redirect {
                Redirect::File(sign, word, _) => writes.extend(self.file(sign, word, scope)),
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
                    if body.text.contains(['&', '\'', '"']) {
                        self.line.documents.insert(body.text.to_owned());
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
        scope.sure &= !copies && !sign.starts_with('<');
        match sign {
            "<" => scope.arriving = std::mem::take(&mut words),
            "<>" => scope.arriving.clone_from(&words),
            "<&" => {
                // A shell that reads from another descriptor runs what another command wrote there.
                let other = words.iter().any(|word| !matches!(word.lossy().as_str(), "0" | "-"));
                scope.fed.extend(other.then(|| Rc::from("descriptor")));
                words.clear();
            }
            ">&" => words.retain(|word| !is_descriptor(word)),
            _ => {}
        }
        words
    }

    fn assignment(&mut self, assignment: &Assignment, scope: &Scope) -> (String, Given) {
        let name = assignment.name.to_owned();
        assignment.indexes.iter().for_each(|index| self.sum(index, scope));
        if assignment.is_array {
            self.arrays.insert(name.clone());
        }
        let words: Vec<Vec<Word>> = assignment.values.iter().map(|word| self.words(word, scope)).collect();
        if assignment.is_array {
            let values = in_order(assignment, words);
            return (
                name,
                Given::Lists(if assignment.keeps { grown(assignment, scope, &values) } else { vec![values] }),
            );
        }
        let mut values = words.concat();
        if values.is_empty() {
            values.push(Word::default());
        }
        // Blanks do not split an assigned value.
        if values.len() > 1 && !assignment.values[0].text.contains('{') {
            values = vec![joined(&values)];
        }
        let given = match assignment.keeps {
            true if !assignment.indexes.is_empty() => {
                self.arrays.insert(name.clone());
                Given::Lists(grown(assignment, scope, &values))
            }
            true => Given::OneOf(kept(assignment, scope, values)),
            false => Given::OneOf(values),
        };
        (name, given)
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

    /// Variables whose value other programs run: `PAGER`, `GIT_SSH_COMMAND` and similar.
    pub(super) fn programmed(&mut self, name: &str, values: &[Word], scope: &Scope) {
        const ENDS: [&str; 10] = [
            "PAGER", "EDITOR", "VISUAL", "BROWSER", "COMMAND", "CMD", "LESSOPEN", "EXTERNAL_DIFF", "ASKPASS",
            "GIT_SSH",
        ];
        // Expanded again wherever a number or a prompt is.
        let is_prompt = matches!(name, "PS0" | "PS1" | "PS2" | "PS4");
        for value in values {
            self.expanded_again(value, is_prompt, scope);
        }
        if matches!(name, "BASH_ENV" | "ENV") {
            let said: Vec<&String> = values.iter().filter_map(|value| value.said.as_ref()).collect();
            return said.into_iter().for_each(|text| self.program(text, &mut scope.clone()));
        }
        // Settings of git, some of which are programs: `GIT_CONFIG_VALUE_0`, `GIT_CONFIG_PARAMETERS`.
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
                for line in lines {
                    // A program, or the words of an alias.
                    self.program(line, &mut scope.clone());
                    self.program(&format!("git {line}"), &mut scope.clone());
                }
            } else {
                self.program(&text, &mut scope.clone());
            }
        }
    }
}

impl Walk {
    /// Text that the shell may expand once more: `a[$(…)]` as a number, or any text as a prompt.
    pub(super) fn expanded_again(&mut self, word: &Word, is_prompt: bool, scope: &Scope) {
        if !is_prompt && !is_armed(word) {
            return;
        }
        for program in programs_in(&word.lossy()) {
            if self.spend(4 + program.len() / 64) {
                self.program(&program, &mut scope.clone());
            }
        }
    }

    /// What the command is if the unknown parts inside its name and its options are empty: `r$()m`,
    /// `git pu${x}sh --fo${x}rce`.
    fn closed(&mut self, simple: &Simple, scope: &Scope, own: &Scope) {
        let closed: Vec<Option<Word>> = (0..simple.words.len()).map(|at| closed(&simple.words, at)).collect();
        if closed.iter().all(Option::is_none) {
            return;
        }
        let words = simple.words.iter().zip(closed).map(|(word, closed)| closed.unwrap_or(word.clone()));
        self.run(Simple { words: words.collect(), ..simple.clone() }, &mut scope.clone(), own);
    }
}

/// This word without its unknown parts, if these are inside the command's name, its verb or an option.
fn closed(words: &[Word], at: usize) -> Option<Word> {
    let word = &words[at];
    let mut gaps = (0..word.bits.len()).filter(|at| word.bits[*at] == Bit::Any).peekable();
    gaps.peek()?;
    let bits: Vec<Bit> = word.bits.iter().copied().filter(|bit| *bit != Bit::Any).collect();
    let is_letter = |bit: &Bit| matches!(bit, Bit::Char(c) if c.is_ascii_alphabetic());
    let is_part = |bit: &Bit| matches!(bit, Bit::Char(c) if c.is_ascii_alphanumeric() || *c == '-');
    let is_option = bits.first() == Some(&Bit::Char('-'));
    // `python$version` may be `python`; but `$dir-1` and the value in `-j$n` are no names.
    let is_loose = at == 0 || at == 1 && words[0].is("git");
    let holds = |at: usize| {
        let is_text = |bits: &[Bit]| bits.iter().any(|bit| *bit != Bit::Any);
        let precedes = is_text(&word.bits[..at]);
        let follows = is_text(&word.bits[at + 1..]);
        if is_loose && !is_option { precedes || follows } else { precedes && follows }
    };
    let is_name = at < 2 && bits.first().is_some_and(is_letter);
    let is_one = (is_option || is_name) && bits.len() > 1 && bits.iter().all(is_part) && gaps.all(holds);
    is_one.then(|| Word { bits, ..Word::default() })
}

/// What an assignment sets: one of several values, or one of several lists.
enum Given {
    OneOf(Vec<Word>),
    Lists(Vec<Vec<Word>>),
}

/// The elements of `(b [3]=c …)` in the order of their indexes, if every index is a number.
fn in_order(assignment: &Assignment, words: Vec<Vec<Word>>) -> Vec<Word> {
    let numbers: Option<Vec<usize>> =
        assignment.indexes.iter().map(|index| index.text.trim().parse().ok()).collect();
    match numbers.filter(|numbers| !numbers.is_empty() && numbers.len() == words.len()) {
        Some(numbers) => {
            let mut placed: Vec<_> = numbers.into_iter().zip(words).collect();
            placed.sort_by_key(|(number, _)| *number);
            // With gaps, the position of an element is not its index.
            let has_gaps = placed.iter().enumerate().any(|(at, (number, _))| at != *number);
            let gap = has_gaps.then(|| Word { several: true, ..Word::any() });
            placed.into_iter().flat_map(|(_, words)| words).chain(gap).collect()
        }
        None => words.concat(),
    }
}

/// The values after `x+=value`.
fn kept(assignment: &Assignment, scope: &Scope, values: Vec<Word>) -> Vec<Word> {
    let old = scope.value(assignment.name).unwrap_or_default();
    let unset = scope.unset.get(assignment.name);
    if unset == Some(&Unset::Surely) {
        return values;
    }
    if old.is_empty() {
        return values.into_iter().chain([Word::any()]).collect();
    }
    let glued = |old: &Word, value: &Word| Word {
        bits: [&old.bits[..], &value.bits].concat(),
        ..joined(&[old.clone(), value.clone()])
    };
    let alone = values.iter().filter(|_| unset.is_some()).cloned();
    alone.chain(old.iter().flat_map(|old| values.iter().map(|value| glued(old, value)))).collect()
}

/// The lists after `x+=(value …)` and `x[1]=value`, for each list before.
fn grown(assignment: &Assignment, scope: &Scope, values: &[Word]) -> Vec<Vec<Word>> {
    let old = scope.lists(assignment.name);
    let unset = scope.unset.get(assignment.name);
    let index = assignment.indexes.first().filter(|_| !assignment.is_array);
    let is_new =
        index.is_some() && scope.value(assignment.name).is_none() && !is_set_by_shell(assignment.name);
    if old.is_empty() && unset.is_none() && !is_new {
        return vec![values.iter().cloned().chain([Word::any()]).collect()];
    }
    let empty = (old.is_empty() || unset.is_some()).then(Vec::new);
    let Some(index) = index else {
        return empty.into_iter().chain(old).map(|list| [&list, values].concat()).fold(Vec::new(), added);
    };
    let number: Option<usize> = index.text.trim().parse().ok();
    let with = |list: Vec<Word>| match number.filter(|number| *number <= list.len()) {
        Some(number) => [&list[..number], values, list.get(number + 1..).unwrap_or_default()].concat(),
        None => values.iter().cloned().chain(list).chain([Word::any()]).collect(),
    };
    empty.into_iter().chain(old).map(with).fold(Vec::new(), added)
}

/// Whether its output is discarded: `> /dev/null`, not `2> /dev/null`.
fn is_silent(redirects: &[Redirect]) -> bool {
    let nowhere = |redirect: &Redirect| match redirect {
        Redirect::File(">" | ">>" | ">|" | "&>", word, is_standard_output) => {
            *is_standard_output && word.text == "/dev/null"
        }
        _ => false,
    };
    redirects.iter().any(nowhere)
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
