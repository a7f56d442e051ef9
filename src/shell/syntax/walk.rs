//! Walks a syntax tree and collects its simple commands, with the folder and variables each would see.
//!
//! Subshells and pipe stages get a scope of their own. Invariant: a spent budget or text that is no shell sets
//! `unclear`; nothing is dropped silently.

use super::scope::Scope;
use super::word::{Expanded, Manner, expand, sum};
use super::{Bit, Ground, Held, Simple, Word, found, grammar, number};
use brush_parser::ast;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Programs inside programs: `sh -c "sh -c …"`, `$( $( … ) )`.
const DEEPEST: usize = 12;
/// Commands inside commands, over all programs.
const NESTED: usize = 64;
/// Commands and words in all.
const BUDGET: usize = 20_000;

/// The walk so far.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) found: Vec<Simple>,
    pub(super) unclear: bool,
    pub(super) guessed: Option<String>,
    pub(super) variables: BTreeMap<String, Held>,
    pub(super) numbers: BTreeSet<String>,
    pub(super) links: Vec<(Word, Word)>,
    /// Functions, and whether nothing but the line's end can keep it from being defined.
    functions: Vec<(String, bool)>,
    /// The next command is a statement of the line itself: no branch, loop or pipe around it.
    outermost: bool,
    spent: usize,
    /// Commands around this one.
    nested: usize,
}

impl Walk {
    pub(super) fn new(ground: &Ground) -> Self {
        let known = ground.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let known = known.chain([("HOME", ground.home), ("PWD", ground.cwd)]);
        let held = |value: &str| Held { set: false, ..Held::of(&Word::of(value)) };
        let variables = known.map(|(name, value)| (name.to_owned(), held(value))).collect();
        Self { variables, ..Self::default() }
    }

    pub(super) fn program(&mut self, text: &str, scope: &mut Scope) {
        if scope.depth >= DEEPEST {
            self.unclear = true;
            return;
        }
        let Some(tree) = grammar::parse(text) else {
            self.unclear = true;
            return;
        };
        scope.depth += 1;
        for list in &tree.complete_commands {
            self.list(list, scope, scope.depth == 1);
        }
        scope.depth -= 1;
    }

    /// What follows may run something else than we see.
    pub(super) fn guess(&mut self, what: &str) {
        self.guessed.get_or_insert_with(|| what.to_owned());
    }

    /// A variable gets one of these values.
    pub(super) fn assign(&mut self, scope: &mut Scope, name: &str, values: Vec<Word>) {
        let held = values.iter().map(Held::of).reduce(Held::and).unwrap_or(Held::ANYTHING);
        self.hold(name, held);
        // Scopes share their variables until one of them is set, which copies them all.
        if self.spend(1 + scope.variables.len() / 16) {
            scope.set(name, values);
        }
    }

    pub(super) fn hold(&mut self, name: &str, held: Held) {
        let known = self.variables.entry(name.to_owned()).or_insert(held);
        *known = known.and(held);
    }

    /// Functions defined once, and in any case.
    pub(super) fn sure_functions(&self) -> BTreeSet<String> {
        let mut sure: BTreeMap<&str, bool> = BTreeMap::new();
        for (name, outermost) in &self.functions {
            sure.entry(name).and_modify(|sure| *sure = false).or_insert(*outermost);
        }
        sure.into_iter().filter(|(_, sure)| *sure).map(|(name, _)| name.to_owned()).collect()
    }

    /// One more step; `false` when there were too many.
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        self.spent += steps;
        self.unclear |= self.spent > BUDGET;
        self.spent <= BUDGET
    }

    fn list(&mut self, list: &ast::CompoundList, scope: &mut Scope, outermost: bool) {
        for ast::CompoundListItem(chain, separator) in &list.0 {
            let alone = chain.additional.is_empty() && chain.first.seq.len() == 1;
            self.outermost = outermost && alone && matches!(separator, ast::SeparatorOperator::Sequence);
            if matches!(separator, ast::SeparatorOperator::Async) {
                self.chain(chain, &mut scope.clone());
            } else {
                self.chain(chain, scope);
            }
        }
    }

    fn chain(&mut self, chain: &ast::AndOrList, scope: &mut Scope) {
        let before = Rc::clone(&scope.folders);
        self.pipeline(&chain.first, scope);
        for next in &chain.additional {
            match next {
                ast::AndOr::And(pipeline) => self.pipeline(pipeline, scope),
                ast::AndOr::Or(pipeline) => {
                    scope.also_in(&before);
                    self.pipeline(pipeline, scope);
                }
            }
        }
        // The `cd` before a `;` may have failed.
        scope.also_in(&before);
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline, scope: &mut Scope) {
        if let [only] = pipeline.seq.as_slice() {
            return self.command(only, scope);
        }
        let mut arriving = scope.arriving.clone();
        let mut script = scope.script.clone();
        for stage in &pipeline.seq {
            let mut own = Scope {
                arriving: std::mem::take(&mut arriving),
                script: script.take(),
                sure: false,
                ..scope.clone()
            };
            let first = self.found.len();
            self.command(stage, &mut own);
            (arriving, script) = self.printed(first);
            // Known once is enough: a long pipe of like stages stays short.
            own.arriving.retain(|word| !arriving.contains(word));
            arriving.append(&mut own.arriving);
        }
    }

    fn command(&mut self, command: &ast::Command, scope: &mut Scope) {
        let outermost = std::mem::take(&mut self.outermost);
        self.unclear |= self.nested >= NESTED;
        if !self.spend(1) || self.nested >= NESTED {
            return;
        }
        self.nested += 1;
        self.enter(command, scope, outermost);
        self.nested -= 1;
    }

    fn enter(&mut self, command: &ast::Command, scope: &mut Scope, outermost: bool) {
        match command {
            ast::Command::Simple(simple) => self.simple(simple, scope),
            ast::Command::Compound(compound, redirects) => {
                let mut outer = scope.clone();
                let made = self.redirects(redirects.as_ref().map_or(&[], |list| &list.0), &mut outer);
                (scope.arriving, scope.script, scope.sure) = (outer.arriving, outer.script, false);
                self.found.extend(made);
                self.compound(compound, scope);
            }
            ast::Command::Function(function) => {
                let name = &function.fname.value;
                self.functions.push((name.clone(), outermost));
                if self.spend(1 + scope.functions.len() / 16) {
                    Rc::make_mut(&mut scope.functions).push(name.clone());
                }
                let mut own = scope.clone();
                let redirects = function.body.1.as_ref().map_or(&[][..], |list| &list.0);
                let made = self.redirects(redirects, &mut own);
                self.found.extend(made);
                self.compound(&function.body.0, &mut own);
                // Whoever calls it may stand where it went.
                scope.also_in(&own.folders);
                self.unclear |= own.folders.iter().any(|folder| !scope.folders.contains(folder));
            }
            ast::Command::ExtendedTest(test, redirects) => {
                let made = self.redirects(redirects.as_ref().map_or(&[], |list| &list.0), scope);
                self.found.extend(made);
                self.document(&test.expr.to_string(), scope);
                self.test(&test.expr, scope);
            }
        }
    }

    fn compound(&mut self, compound: &ast::CompoundCommand, scope: &mut Scope) {
        use ast::CompoundCommand as C;
        match compound {
            C::BraceGroup(group) => self.list(&group.list, scope, false),
            C::Subshell(group) => self.list(&group.list, &mut scope.clone(), false),
            C::ForClause(each) => {
                let raw = each.values.iter().flatten();
                let values: Vec<Word> = raw.flat_map(|word| self.words(&word.value, scope)).collect();
                self.assign(scope, &each.variable_name, values);
                self.list(&each.body.list, scope, false);
            }
            C::CaseClause(case) => {
                self.words(&case.value.value, scope);
                for item in &case.cases {
                    item.patterns.iter().for_each(|pattern| self.document(&pattern.value, scope));
                    item.cmd.iter().for_each(|list| self.list(list, scope, false));
                }
            }
            C::IfClause(branch) => {
                self.list(&branch.condition, scope, false);
                self.list(&branch.then, scope, false);
                for other in branch.elses.iter().flatten() {
                    other.condition.iter().for_each(|list| self.list(list, scope, false));
                    self.list(&other.body, scope, false);
                }
            }
            C::WhileClause(each) | C::UntilClause(each) => {
                self.list(&each.0, scope, false);
                self.list(&each.1.list, scope, false);
            }
            C::ArithmeticForClause(each) => {
                for sum in [&each.initializer, &each.condition, &each.updater].into_iter().flatten() {
                    self.sum(&sum.value, scope);
                }
                self.list(&each.body.list, scope, false);
            }
            C::Arithmetic(sum) => self.sum(&sum.expr.value, scope),
            C::Coprocess(other) => self.command(&other.body, &mut scope.clone()),
        }
    }

    /// The words a raw one becomes, its substitutions walked.
    pub(super) fn words(&mut self, raw: &str, scope: &Scope) -> Vec<Word> {
        let mut read = expand(raw, scope, Manner::Word);
        let first = self.found.len();
        self.read(&read, scope);
        let mut words = std::mem::take(&mut read.words);
        let (names, said) = self.printed(first);
        if let ([code], [word]) = (read.runs.as_slice(), words.as_mut_slice())
            && word.bits == [Bit::Any]
            && number::is_printed(code, &self.found[first..])
        {
            word.sums = 1;
        }
        for word in &mut words {
            word.named.extend(names.iter().cloned());
            word.said = word.said.take().or_else(|| said.clone());
        }
        let length: usize = words.iter().map(|word| word.bits.len()).sum();
        if self.spend(words.len() + length / 256) { words } else { vec![Word::any()] }
    }

    /// A word that stands for itself; in nothing else than [`Walk::words`] would have it.
    pub(super) fn plain_word(&mut self, raw: &str, words: &mut Vec<Word>) {
        let word = if self.spend(1 + raw.len() / 256) { Word::of(raw) } else { Word::any() };
        words.push(word);
    }

    /// Text in which only substitutions count.
    pub(super) fn document(&mut self, text: &str, scope: &Scope) {
        self.read(&expand(text, scope, Manner::Document), scope);
    }

    /// Text the shell computes.
    pub(super) fn sum(&mut self, text: &str, scope: &Scope) {
        self.read(&sum(text, scope), scope);
    }

    /// The sides of `-eq` and its kin are computed.
    fn test(&mut self, test: &ast::ExtendedTestExpr, scope: &Scope) {
        use ast::{BinaryPredicate as B, ExtendedTestExpr as T};
        match test {
            T::And(left, right) | T::Or(left, right) => {
                self.test(left, scope);
                self.test(right, scope);
            }
            T::Not(inner) | T::Parenthesized(inner) => self.test(inner, scope),
            T::BinaryTest(
                B::ArithmeticEqualTo
                | B::ArithmeticNotEqualTo
                | B::ArithmeticLessThan
                | B::ArithmeticLessThanOrEqualTo
                | B::ArithmeticGreaterThan
                | B::ArithmeticGreaterThanOrEqualTo,
                left,
                right,
            ) => {
                self.sum(&left.value, scope);
                self.sum(&right.value, scope);
            }
            T::BinaryTest(..) | T::UnaryTest(..) => {}
        }
    }

    /// What a word does beside standing for text.
    fn read(&mut self, read: &Expanded, scope: &Scope) {
        if read.odd {
            self.guess("an expansion that may run its text");
        }
        for name in &read.sets {
            self.hold(name, Held::ANYTHING);
        }
        self.numbers.extend(read.numbers.iter().cloned());
        for code in &read.runs {
            self.program(code, &mut scope.clone());
        }
        for code in &read.counts {
            let first = self.found.len();
            self.program(code, &mut scope.clone());
            if !number::is_printed(code, &self.found[first..]) {
                self.guess("a sum with text that may be a program");
            }
        }
    }

    /// A word that stands for what this list prints.
    pub(super) fn sublist(&mut self, list: &ast::CompoundList, scope: &Scope) -> Word {
        let first = self.found.len();
        self.list(list, &mut scope.clone(), false);
        let (named, said) = self.printed(first);
        Word { named, said, ..Word::any() }
    }

    /// What the commands found since `first` may print: names, and text where the line holds it.
    fn printed(&self, first: usize) -> (Vec<Word>, Option<String>) {
        let commands = &self.found[first..];
        let said = commands.iter().filter_map(super::simple::said).reduce(|all, more| all + "\n" + &more);
        (named(commands), said)
    }
}

/// What these commands may print: what they found, or their arguments.
fn named(commands: &[Simple]) -> Vec<Word> {
    let mut all = Vec::new();
    for command in commands {
        if let Some(found) = found::found(command) {
            all.extend(found);
            continue;
        }
        let own = command.words.iter().skip(1);
        let plain = own.filter(|word| !word.is_option() && !word.is(".") && !word.is("..") && !word.is("/"));
        all.extend(plain.map(|word| Word { named: Vec::new(), ..word.clone() }));
    }
    all.truncate(64);
    all
}
