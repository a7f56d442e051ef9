//! Walks a syntax tree and collects its simple commands, with the folder and variables each would see.
//!
//! Subshells and pipe stages get a scope of their own. Invariant: a spent budget or unparsable text sets
//! `unclear`; nothing is dropped silently.

use super::found::Prints;
use super::kept::Kept;
use super::reader::{PROGRAMS, Unread, parse};
use super::scope::{Scope, added, is_set_by_shell};
use super::tree::{Command, Function, List, Pipeline, Raw, Redirect, Statement};
use super::word::{Expanded, Run, document, expand, sum};
use super::{Bit, Ground, Held, Line, SOURCED, Simple, Word, found};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// How many commands may nest, over all programs.
const NESTED: usize = 64;
/// The total number of commands and words; longer lines get more, so that every part is read.
const BUDGET: usize = 100_000;
const BUDGET_PER_BYTE: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) line: Line,
    pub(super) found: Vec<Simple>,
    /// Functions, and whether each is certainly defined unless the line ends early.
    functions: Vec<(String, bool)>,
    /// The next command is a statement of the line itself, not inside a branch, loop or pipe.
    outermost: bool,
    /// Variables with several values that occur in the words of this command.
    pub(super) varied: BTreeSet<String>,
    /// Variables that were set as arrays.
    pub(super) arrays: BTreeSet<String>,
    /// The bodies of functions, and the functions being called.
    pub(super) bodies: BTreeMap<String, Vec<Rc<str>>>,
    pub(super) calling: Vec<Rc<str>>,
    /// Functions that set variables.
    pub(super) setters: BTreeSet<String>,
    /// Variables that keep their value despite assignments.
    pub(super) frozen: BTreeSet<String>,
    /// Variables that the words of this command may assign: `${x:=…}`.
    pub(super) defaulted: Vec<String>,
    spent: usize,
    budget: usize,
    /// How many commands surround this one.
    nested: usize,
}

impl Walk {
    pub(super) fn new(ground: &Ground) -> Self {
        let known = ground.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let known = known.chain([("HOME", ground.home), ("PWD", ground.cwd)]);
        let held = |value: &str| Held { set: false, ..Held::of(&Word::of(value)) };
        let variables = known.map(|(name, value)| (name.to_owned(), held(value))).collect();
        Self { line: Line { variables, ..Line::default() }, ..Self::default() }
    }

    pub(super) fn program(&mut self, text: &str, scope: &mut Scope) {
        if scope.depth > 0 && text.contains('&') {
            self.line.programs.insert(text.to_owned());
        }
        match parse(text) {
            Ok(list) => self.tree(&list, scope),
            Err(Unread::Beyond) => self.too_much(),
            Err(Unread::NoProgram) => {
                self.line.unclear = true;
                self.line.unread.push(text.to_owned());
                // A continuation inside a word may hide a name, so it is read as the shell joins it.
                let joined = text.replace("\\\n", "");
                if joined.len() < text.len()
                    && let Ok(list) = parse(&joined)
                {
                    self.tree(&list, scope);
                }
            }
        }
    }

    /// Sets the budget for a line of this length.
    pub(super) fn allow(&mut self, length: usize) {
        self.budget = BUDGET + BUDGET_PER_BYTE * length;
    }

    /// A bound was reached: the rest was not examined.
    pub(super) fn too_much(&mut self) {
        self.line.unclear = true;
        self.line.beyond = true;
    }

    fn tree(&mut self, list: &List, scope: &mut Scope) {
        if scope.depth >= PROGRAMS {
            return self.too_much();
        }
        scope.depth += 1;
        self.list(list, scope, scope.depth == 1);
        scope.depth -= 1;
    }

    /// Later parts may run something other than we see. A sourced file is the weakest reason, so any other
    /// replaces it.
    pub(super) fn guess(&mut self, what: &str) {
        if self.line.guessed.as_deref().is_none_or(|known| known == SOURCED) {
            self.line.guessed = Some(what.to_owned());
        }
    }

    pub(super) fn guess_if(&mut self, is_guess: bool, what: &str) {
        if is_guess {
            self.guess(what);
        }
    }

    pub(super) fn assign(&mut self, scope: &mut Scope, name: &str, values: Vec<Word>) {
        let held = values.iter().map(Held::of).reduce(Held::and).unwrap_or(Held::ANYTHING);
        self.hold(name, held);
        let old = scope.value(name).filter(|_| self.frozen.contains(name)).unwrap_or_default();
        let values = if values.is_empty() { values } else { old.iter().cloned().fold(values, added) };
        // Scopes share their variables; the first assignment copies them all.
        if self.spend(1 + scope.variables.len() / 2) && !scope.set(name, values) {
            self.too_much();
        }
    }

    pub(super) fn hold(&mut self, name: &str, held: Held) {
        let held = if is_set_by_shell(name) { Held { armed: held.armed, ..Held::ANYTHING } } else { held };
        let known = self.line.variables.entry(name.to_owned()).or_insert(held);
        *known = known.and(held);
    }

    /// Functions that are certainly defined, and only once.
    pub(super) fn sure_functions(&self) -> BTreeSet<String> {
        let mut sure: BTreeMap<&str, bool> = BTreeMap::new();
        for (name, outermost) in &self.functions {
            sure.entry(name).and_modify(|sure| *sure = false).or_insert(*outermost);
        }
        sure.into_iter().filter(|(_, sure)| *sure).map(|(name, _)| name.to_owned()).collect()
    }

    /// Spends steps of the budget; `false` once it is used up.
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        self.spent += steps;
        if self.spent > self.budget {
            self.too_much();
        }
        self.spent <= self.budget
    }

    pub(super) fn list(&mut self, list: &List, scope: &mut Scope, outermost: bool) {
        let mut later = Vec::new();
        for statement in list {
            let first = self.found.len();
            let is_alone = matches!(statement.pipelines.as_slice(), [(_, pipeline)] if pipeline.len() == 1);
            self.outermost = outermost && is_alone && !statement.background;
            self.line.background |= statement.background;
            if statement.background {
                self.chain(statement, &mut scope.clone());
            } else {
                self.chain(statement, scope);
            }
            if runs_later(statement) {
                later.push((statement, first..self.found.len()));
            }
        }
        for (statement, found) in later.into_iter().rev() {
            self.again(statement, found, scope);
        }
    }

    /// Walks a function's body or a trap again if variables it uses, unknown at first, are set by now.
    fn again(&mut self, statement: &Statement, found: std::ops::Range<usize>, scope: &Scope) {
        let known = |name: &String| scope.value(name).is_some_and(|values| !values.is_empty());
        let waits = |simple: &Simple| {
            simple.words.iter().chain(&simple.writes).any(|word| word.unknown.iter().any(known))
        };
        if !self.found[found.clone()].iter().any(waits) || !self.spend(1) {
            return;
        }
        let functions = self.functions.len();
        let behind = self.found.split_off(found.end);
        self.found.truncate(found.start);
        self.chain(statement, &mut scope.clone());
        self.functions.truncate(functions);
        self.found.extend(behind);
    }

    fn chain(&mut self, statement: &Statement, scope: &mut Scope) {
        let before = Rc::clone(&scope.folders);
        // The states after the last pipeline succeeded, and after it failed.
        let mut ends: Option<(Kept, Kept)> = None;
        for (is_or, pipeline) in &statement.pipelines {
            if *is_or {
                scope.also_in(&before);
            }
            if let Some((succeeded, failed)) = &ends {
                let from = if *is_or { failed } else { succeeded };
                self.put(from.clone(), scope);
            }
            self.pipeline(pipeline, scope);
            let left = Kept::of(scope);
            ends = Some(match ends {
                None => (left.clone(), left),
                Some((_, failed)) if !is_or => (left.clone(), self.either(&failed, &left)),
                Some((succeeded, _)) => (self.either(&succeeded, &left), left),
            });
        }
        if let Some((succeeded, failed)) = ends.filter(|_| statement.pipelines.len() > 1) {
            let end = self.either(&succeeded, &failed);
            self.put(end, scope);
        }
        // The `cd` before a `;` may have failed.
        scope.also_in(&before);
    }

    fn pipeline(&mut self, pipeline: &Pipeline, scope: &mut Scope) {
        if let [only] = pipeline.as_slice() {
            return self.command(only, scope);
        }
        let mut arriving = scope.arriving.clone();
        let mut script = scope.script.clone();
        let mut fed = scope.fed.clone();
        let mut lists_files = false;
        let mut left = None;
        for (at, stage) in pipeline.iter().enumerate() {
            let arrived = std::mem::take(&mut arriving);
            let said = script.take();
            let fed_now = fed.clone();
            let mut own = Scope {
                arriving: arrived,
                script: said,
                fed: fed_now,
                lists_files,
                sure: false,
                ..scope.clone()
            };
            let first = self.found.len();
            self.command(stage, &mut own);
            if at + 1 < pipeline.len() {
                self.found[first..].iter_mut().for_each(|simple| simple.piped.0 = true);
            }
            let is_simple = matches!(stage, Command::Simple(_));
            lists_files =
                is_simple && first < self.found.len() && self.found[first..].iter().all(found::lists_files);
            (arriving, script) = self.printed(first, &mut fed);
            // One copy is enough: this keeps a long pipe of similar stages short.
            own.arriving.retain(|word| !arriving.contains(word));
            arriving.append(&mut own.arriving);
            if !self.spend(1 + arriving.len()) {
                return;
            }
            left = Some(Kept::of(&own));
        }
        // In zsh, the last stage runs in the shell itself.
        if let Some(left) = left {
            let end = Kept::of(scope).or_known(&left);
            self.put(end, scope);
        }
    }

    /// What the commands from index `first` on may print; their program names are added to `names`.
    fn printed(&mut self, first: usize, names: &mut Vec<Rc<str>>) -> (Vec<Word>, Option<String>) {
        let commands = &self.found[first..];
        let printed = found::printed(commands);
        let whole = found::add_names(names, commands);
        let Some((words, said)) = printed.filter(|_| whole) else {
            self.too_much();
            return (Vec::new(), None);
        };
        (words, said)
    }

    fn command(&mut self, command: &Command, scope: &mut Scope) {
        let outermost = std::mem::take(&mut self.outermost);
        if !self.spend(1) || !self.enter() {
            return;
        }
        match command {
            Command::Simple(simple) => self.simple(simple, scope),
            Command::Compound(compound, redirects) => {
                let mut outer = scope.clone();
                self.redirect(redirects, &mut outer);
                scope.arriving = outer.arriving;
                scope.script = outer.script;
                scope.sure = false;
                scope.lists_files = outer.lists_files;
                self.compound(compound, scope);
            }
            Command::Function(function) => {
                self.guess_if(
                    found::BELIEVED.contains(&function.name),
                    "a function with the name of a program",
                );
                self.functions.push((function.name.to_owned(), outermost));
                self.function(function, scope);
            }
        }
        self.leave();
    }

    /// Enters one more level of commands; `false` if there are too many.
    pub(super) fn enter(&mut self) -> bool {
        if self.nested >= NESTED {
            self.too_much();
            return false;
        }
        self.nested += 1;
        true
    }

    pub(super) fn leave(&mut self) {
        self.nested -= 1;
    }

    fn function(&mut self, function: &Function, scope: &mut Scope) {
        if self.spend(1 + scope.functions.len() / 2 + function.text.len() / 64) {
            Rc::make_mut(&mut scope.functions).push(function.name.to_owned());
            let known = self.bodies.entry(function.name.to_owned()).or_default();
            if !known.iter().any(|text| **text == *function.text) {
                known.push(Rc::from(function.text));
            }
        }
        // A function has its own arguments, not those of the line.
        let mut own = Scope { given: Rc::default(), ..scope.clone() };
        self.redirect(&function.redirects, &mut own);
        self.compound(&function.body, &mut own);
        if !Rc::ptr_eq(&own.variables, &scope.variables) {
            self.setters.insert(function.name.to_owned());
        }
        // The caller may end up in the folder that the function changed to.
        scope.also_in(&own.folders);
        self.line.unclear |= own.folders.iter().any(|folder| !scope.folders.contains(folder));
    }

    fn redirect(&mut self, redirects: &[Redirect], scope: &mut Scope) {
        let writes = self.redirects(redirects, scope);
        if !writes.is_empty() {
            let empties = redirects.iter().any(Redirect::empties);
            self.found.push(Simple {
                writes,
                empties,
                folders: Rc::clone(&scope.folders),
                ..Simple::default()
            });
        }
    }

    /// The words that a raw word expands to; walks its substitutions.
    pub(super) fn words(&mut self, raw: &Raw, scope: &Scope) -> Vec<Word> {
        if let Some(list) = raw.process() {
            return vec![self.process(raw, list, scope)];
        }
        let mut read = expand(raw, scope);
        let first = self.found.len();
        self.read(&read, scope);
        let mut words = std::mem::take(&mut read.words);
        let mut printed = Vec::new();
        let (names, said) = self.printed(first, &mut printed);
        if let [word] = words.as_mut_slice()
            && word.unknown.is_empty()
            && word.bits.iter().filter(|bit| **bit == Bit::Any).count() == read.runs.len()
        {
            for run in &read.runs {
                let kind = found::prints(run, &scope.functions);
                word.names += usize::from(found::prints_name(run, kind, &scope.functions));
                word.sums += usize::from(kind == Prints::Numbers);
                word.commits += usize::from(kind == Prints::Commits);
                word.places += usize::from(kind == Prints::Place);
            }
        }
        if let ([word], [run]) = (words.as_slice(), read.runs.as_slice())
            && let Some(text) = found::echoed(run, &self.found[first..], &scope.functions)
            && let Some(known) = word.with_known(&text)
        {
            // An option decides where the command may read, so an option that is printed is only a guess.
            self.guess_if(
                known.iter().any(|word| word.starts_with("-")),
                "an option that a substitution prints",
            );
            words = known;
        }
        if read.beyond || !self.spend(words.len() * (names.len() + printed.len()) / 4) {
            return words;
        }
        for word in &mut words {
            word.named.extend(names.iter().cloned());
            word.printed.extend(printed.iter().cloned());
            word.said = word.said.take().or_else(|| said.clone());
        }
        let length: usize = words.iter().map(|word| word.bits.len()).sum();
        if self.spend(words.len() + length / 32) { words } else { vec![Word::any()] }
    }

    /// Text in which only substitutions matter.
    pub(super) fn document(&mut self, text: &Raw, scope: &Scope) {
        self.read(&document(text, scope), scope);
    }

    pub(super) fn sum(&mut self, text: &Raw, scope: &Scope) {
        self.read(&sum(text, scope), scope);
    }

    /// Applies the effects of a word: what it runs and sets.
    fn read(&mut self, read: &Expanded, scope: &Scope) {
        self.guess_if(read.odd, "an expansion that may run its text");
        if read.beyond {
            self.too_much();
        }
        for name in &read.sets {
            self.hold(name, Held::ANYTHING);
            self.defaulted.push(name.clone());
        }
        for name in &read.counted {
            self.hold(name, Held::NUMBER);
        }
        self.line.numbers.extend(read.numbers.iter().cloned());
        self.line.indexes.extend(read.indexes.iter().cloned());
        self.varied.extend(read.varied.iter().cloned());
        read.runs.iter().for_each(|run| self.substituted(run, scope));
        for run in &read.counts {
            self.substituted(run, scope);
            let is_number = found::prints(run, &scope.functions) == Prints::Numbers;
            self.guess_if(!is_number, "a sum with text that may be a program");
        }
    }

    fn substituted(&mut self, run: &Run, scope: &Scope) {
        let mut inner = Scope { captured: true, ..scope.clone() };
        match run {
            Run::Tree(list) => self.tree(list, &mut inner),
            Run::Text(text) => self.program(text, &mut inner),
        }
    }

    /// `<(…)`, or `>(…)`, which receives what is written to it.
    pub(super) fn process(&mut self, raw: &Raw, list: &List, scope: &Scope) -> Word {
        let mut inner = scope.clone();
        inner.fed.extend(raw.text.starts_with('>').then(|| Rc::from("output")));
        self.sublist(list, &inner)
    }

    /// A word that stands for the output of this list.
    fn sublist(&mut self, list: &List, scope: &Scope) -> Word {
        let first = self.found.len();
        self.list(list, &mut scope.clone(), false);
        let mut printed = Vec::new();
        let (named, said) = self.printed(first, &mut printed);
        Word { named, said, printed, ..Word::any() }
    }
}

/// Whether this defines a function or a trap, whose content runs later in the line.
fn runs_later(statement: &Statement) -> bool {
    let [(_, pipeline)] = statement.pipelines.as_slice() else { return false };
    match pipeline.as_slice() {
        [Command::Function(_)] => true,
        [Command::Simple(simple)] => simple.words.first().is_some_and(|word| word.text == "trap"),
        _ => false,
    }
}
