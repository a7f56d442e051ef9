//! Walks a syntax tree and collects its simple commands, with the folder and variables each would see.
//!
//! Subshells and pipe stages get a scope of their own. Invariant: a spent budget or text that is no shell sets
//! `unclear`; nothing is dropped silently.

use super::word::{Expanded, Manner, expand};
use super::{Ground, Simple, Word, found, grammar};
use brush_parser::ast;

/// Programs inside programs: `sh -c "sh -c …"`, `$( $( … ) )`.
const DEEPEST: usize = 12;
/// Commands and words in all.
const BUDGET: usize = 20_000;
/// Characters a variable may hold; more is not looked at.
const LONGEST: usize = 32 * 1024;
/// Folders a command may stand in.
const FOLDERS: usize = 4;

/// What a command sees.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub(super) home: Word,
    pub(super) folders: Vec<Word>,
    /// Where `popd` and `cd -` go back to.
    pub(super) left: Vec<Vec<Word>>,
    pub(super) variables: Vec<(String, Vec<Word>)>,
    pub(super) functions: Vec<String>,
    pub(super) arriving: Vec<Word>,
    pub(super) script: Option<String>,
    depth: usize,
}

impl Scope {
    pub(super) fn new(ground: &Ground) -> Self {
        let home = Word::of(ground.home);
        let cwd = Word::of(ground.cwd);
        let mut variables = vec![("HOME".to_owned(), vec![home.clone()])];
        let given = ground.variables.iter().map(|(name, value)| (name.clone(), vec![Word::of(value)]));
        variables.extend(given.filter(|(name, _)| name != "HOME"));
        Self { home, folders: vec![cwd], variables, ..Self::default() }
    }

    /// What a variable may hold; `None` or nothing if we do not know.
    pub(super) fn value(&self, name: &str) -> Option<&[Word]> {
        if name == "PWD" {
            return Some(&self.folders);
        }
        self.variables.iter().find(|(known, _)| known == name).map(|(_, values)| values.as_slice())
    }

    pub(super) fn set(&mut self, name: &str, values: Vec<Word>) {
        let length: usize = values.iter().map(|word| word.bits.len()).sum();
        let values = if values.len() > 16 || length > LONGEST { Vec::new() } else { values };
        match self.variables.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = values,
            None => self.variables.push((name.to_owned(), values)),
        }
    }

    /// A folder some branches have left and others not.
    fn also_in(&mut self, folders: &[Word]) {
        for folder in folders {
            if !self.folders.contains(folder) && self.folders.len() < FOLDERS {
                self.folders.push(folder.clone());
            }
        }
    }
}

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
        let before = scope.folders.clone();
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
            let stages = &self.found[first..];
            arriving = named(stages);
            arriving.append(&mut own.arriving);
            script = stages.iter().filter_map(super::simple::said).reduce(|all, more| all + "\n" + &more);
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
                scope.functions.push(function.fname.value.clone());
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
        let names = self.runs(&runs, scope);
        words.iter_mut().for_each(|word| word.named.extend(names.iter().cloned()));
        let length: usize = words.iter().map(|word| word.bits.len()).sum();
        if self.spend(words.len() + length / 256) { words } else { vec![Word::any()] }
    }

    /// Text in which only substitutions count.
    pub(super) fn document(&mut self, text: &str, scope: &Scope) {
        let runs = expand(text, scope, Manner::Document).runs;
        self.runs(&runs, scope);
    }

    fn runs(&mut self, runs: &[String], scope: &Scope) -> Vec<Word> {
        let first = self.found.len();
        for code in runs {
            self.program(code, &mut scope.clone());
        }
        named(&self.found[first..])
    }

    pub(super) fn sublist(&mut self, list: &ast::CompoundList, scope: &Scope) -> Vec<Word> {
        let first = self.found.len();
        self.list(list, &mut scope.clone());
        named(&self.found[first..])
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
