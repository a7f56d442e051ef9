//! Walks a syntax tree and collects its simple commands, with the folder and variables each would see.
//!
//! Subshells and pipe stages get a scope of their own. Invariant: a spent budget or text that is no shell sets
//! `unclear`; nothing is dropped silently.

use super::scope::Scope;
use super::word::{Expanded, Manner, expand};
use super::{Simple, Word, found, grammar};
use brush_parser::ast;
use std::rc::Rc;

/// Programs inside programs: `sh -c "sh -c …"`, `$( $( … ) )`.
const DEEPEST: usize = 12;
/// Commands and words in all.
const BUDGET: usize = 20_000;

/// The walk so far.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) found: Vec<Simple>,
    pub(super) unclear: bool,
    spent: usize,
}

impl Walk {
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
            self.list(list, scope);
        }
        scope.depth -= 1;
    }

    /// One more step; `false` when there were too many.
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        self.spent += steps;
        self.unclear |= self.spent > BUDGET;
        self.spent <= BUDGET
    }

    fn list(&mut self, list: &ast::CompoundList, scope: &mut Scope) {
        for ast::CompoundListItem(chain, separator) in &list.0 {
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
            let mut own =
                Scope { arriving: std::mem::take(&mut arriving), script: script.take(), ..scope.clone() };
            let first = self.found.len();
            self.command(stage, &mut own);
            (arriving, script) = self.printed(first);
            arriving.append(&mut own.arriving);
        }
    }

    fn command(&mut self, command: &ast::Command, scope: &mut Scope) {
        if !self.spend(1) {
            return;
        }
        match command {
            ast::Command::Simple(simple) => self.simple(simple, scope),
            ast::Command::Compound(compound, redirects) => {
                let mut outer = scope.clone();
                let made = self.redirects(redirects.as_ref().map_or(&[], |list| &list.0), &mut outer);
                (scope.arriving, scope.script) = (outer.arriving, outer.script);
                self.found.extend(made);
                self.compound(compound, scope);
            }
            ast::Command::Function(function) => {
                Rc::make_mut(&mut scope.functions).push(function.fname.value.clone());
                let mut own = scope.clone();
                let redirects = function.body.1.as_ref().map_or(&[][..], |list| &list.0);
                let made = self.redirects(redirects, &mut own);
                self.found.extend(made);
                self.compound(&function.body.0, &mut own);
            }
            ast::Command::ExtendedTest(test, redirects) => {
                let made = self.redirects(redirects.as_ref().map_or(&[], |list| &list.0), scope);
                self.found.extend(made);
                self.words(&test.expr.to_string(), scope);
            }
        }
    }

    fn compound(&mut self, compound: &ast::CompoundCommand, scope: &mut Scope) {
        use ast::CompoundCommand as C;
        match compound {
            C::BraceGroup(group) => self.list(&group.list, scope),
            C::Subshell(group) => self.list(&group.list, &mut scope.clone()),
            C::ForClause(each) => {
                let raw = each.values.iter().flatten();
                let values: Vec<Word> = raw.flat_map(|word| self.words(&word.value, scope)).collect();
                scope.set(&each.variable_name, values);
                self.list(&each.body.list, scope);
            }
            C::CaseClause(case) => {
                self.words(&case.value.value, scope);
                let lists = case.cases.iter().filter_map(|item| item.cmd.as_ref());
                lists.for_each(|list| self.list(list, scope));
            }
            C::IfClause(branch) => {
                self.list(&branch.condition, scope);
                self.list(&branch.then, scope);
                for other in branch.elses.iter().flatten() {
                    other.condition.iter().for_each(|list| self.list(list, scope));
                    self.list(&other.body, scope);
                }
            }
            C::WhileClause(each) | C::UntilClause(each) => {
                self.list(&each.0, scope);
                self.list(&each.1.list, scope);
            }
            C::ArithmeticForClause(each) => {
                for sum in [&each.initializer, &each.condition, &each.updater].into_iter().flatten() {
                    self.document(&sum.value, scope);
                }
                self.list(&each.body.list, scope);
            }
            C::Arithmetic(sum) => self.document(&sum.expr.value, scope),
            C::Coprocess(other) => self.command(&other.body, &mut scope.clone()),
        }
    }

    /// The words a raw one becomes, its substitutions walked.
    pub(super) fn words(&mut self, raw: &str, scope: &Scope) -> Vec<Word> {
        let Expanded { mut words, runs } = expand(raw, scope, Manner::Word);
        let first = self.found.len();
        self.runs(&runs, scope);
        let (names, said) = self.printed(first);
        for word in &mut words {
            word.named.extend(names.iter().cloned());
            word.said = word.said.take().or_else(|| said.clone());
        }
        let length: usize = words.iter().map(|word| word.bits.len()).sum();
        if self.spend(words.len() + length / 256) { words } else { vec![Word::any()] }
    }

    /// Text in which only substitutions count.
    pub(super) fn document(&mut self, text: &str, scope: &Scope) {
        let runs = expand(text, scope, Manner::Document).runs;
        self.runs(&runs, scope);
    }

    fn runs(&mut self, runs: &[String], scope: &Scope) {
        for code in runs {
            self.program(code, &mut scope.clone());
        }
    }

    /// A word that stands for what this list prints.
    pub(super) fn sublist(&mut self, list: &ast::CompoundList, scope: &Scope) -> Word {
        let first = self.found.len();
        self.list(list, &mut scope.clone());
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
