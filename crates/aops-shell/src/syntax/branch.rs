//! Walks branches and loops. Which branch runs is unknown, so later commands see the results of all of them.

use super::kept::Kept;
use super::scope::Scope;
use super::tree::{Arm, Compound, List, Raw};
use super::walk::Walk;
use super::{Bit, Word};

/// The maximum number of walks through a loop, each with what the last round may have left.
const ROUNDS: usize = 8;
/// The maximum if each round creates new values: `x="$x $f"`.
const GROWING: usize = 3;

impl Walk {
    pub(super) fn compound(&mut self, compound: &Compound, scope: &mut Scope) {
        match compound {
            Compound::Group(list) => self.list(list, scope, false),
            Compound::Subshell(list) => self.list(list, &mut scope.clone(), false),
            Compound::If { arms, otherwise } => self.arms(arms, otherwise.as_ref(), scope),
            Compound::While(condition, body) => self.rounds(scope, false, |walk, scope| {
                walk.list(condition, scope, false);
                let left = Kept::of(scope);
                walk.list(body, scope, false);
                Some(left)
            }),
            Compound::Each { selects, name, values, body } => self.each(*selects, name, values, body, scope),
            Compound::Sum(sum, body) => {
                self.sum(sum, scope);
                self.rounds(scope, true, |walk, scope| {
                    walk.list(body, scope, false);
                    None
                });
            }
            Compound::Case(value, arms) => self.case(value, arms, scope),
            Compound::Test(operands) => {
                for (word, is_computed) in operands {
                    self.document(word, scope);
                    if *is_computed {
                        self.sum(word, scope);
                    }
                }
            }
        }
    }

    /// The state after either of two branches.
    pub(super) fn either(&mut self, one: &Kept, other: &Kept) -> Kept {
        if one.is_same(other) || self.spend(1 + (one.len() + other.len()) / 4) {
            one.or(other)
        } else {
            one.clone()
        }
    }

    /// Makes a kept state the current one.
    pub(super) fn put(&mut self, kept: Kept, scope: &mut Scope) {
        if !kept.put(scope) {
            self.too_much();
        }
    }

    fn arms(&mut self, arms: &[(List, List)], otherwise: Option<&List>, scope: &mut Scope) {
        let mut ends: Option<Kept> = None;
        for (condition, body) in arms {
            self.list(condition, scope, false);
            let start = Kept::of(scope);
            self.list(body, scope, false);
            let left = Kept::of(scope);
            ends = Some(ends.map_or(left.clone(), |ends| self.either(&ends, &left)));
            self.put(start, scope);
        }
        if let Some(list) = otherwise {
            self.list(list, scope, false);
        }
        if let Some(ends) = ends {
            let ends = self.either(&ends, &Kept::of(scope));
            self.put(ends, scope);
        }
    }

    fn case(&mut self, value: &Raw, arms: &[Arm], scope: &mut Scope) {
        self.words(value, scope);
        let start = Kept::of(scope);
        let catches = arms.iter().any(|arm| arm.patterns.iter().any(|pattern| pattern.text == "*"));
        let mut ends = (!catches).then(|| start.clone());
        let mut fallen: Option<Kept> = None;
        for arm in arms {
            let from = fallen.take().map_or(start.clone(), |fallen| self.either(&start, &fallen));
            self.put(from, scope);
            for pattern in &arm.patterns {
                self.document(pattern, scope);
            }
            self.list(&arm.list, scope, false);
            let left = Kept::of(scope);
            fallen = arm.falls.then(|| left.clone());
            ends = Some(ends.map_or(left.clone(), |ends| self.either(&ends, &left)));
        }
        if let Some(ends) = ends {
            self.put(ends, scope);
        }
    }

    fn each(&mut self, selects: bool, name: &str, values: &[Raw], body: &List, scope: &mut Scope) {
        let mut all: Vec<Word> = values.iter().flat_map(|word| self.words(word, scope)).collect();
        if values.is_empty() {
            // `for x; do` loops over the arguments.
            all = scope.given.concat();
        }
        for value in all.iter_mut().filter(|value| value.bits == [Bit::Any]) {
            // A substitution may print any number of values.
            value.several = value.splits && value.unknown.is_empty();
        }
        let before = Kept::of(scope);
        // Only a word that is certainly one word guarantees a round.
        let may_skip = selects || !all.iter().any(|value| !value.is_several());
        self.assign(scope, name, if selects { Vec::new() } else { all });
        if selects {
            self.assign(scope, "REPLY", Vec::new());
        }
        self.rounds(scope, false, |walk, scope| {
            walk.list(body, scope, false);
            None
        });
        if may_skip {
            let end = self.either(&Kept::of(scope), &before);
            self.put(end, scope);
        }
    }

    /// The rounds of a loop, and the state after it. `round` returns the state if the loop ends before its
    /// body; otherwise the loop ends with its body, or runs no round if it `may_skip`.
    fn rounds(
        &mut self,
        scope: &mut Scope,
        may_skip: bool,
        round: impl Fn(&mut Self, &mut Scope) -> Option<Kept>,
    ) {
        let start = Kept::of(scope);
        let entered = scope.clone();
        let first = self.found.len();
        let mut begun = start.clone();
        let mut left = round(self, scope);
        for n in 1.. {
            let again = self.either(&begun, &Kept::of(scope));
            if again.is_same(&begun) || n >= GROWING && again.has_new(&begun) {
                break;
            }
            if n >= ROUNDS {
                self.too_much();
                break;
            }
            begun = again.clone();
            // The next round sees all that this one saw, and more.
            self.found.truncate(first);
            *scope = entered.clone();
            self.put(again, scope);
            left = round(self, scope);
        }
        let mut end = Kept::of(scope);
        if may_skip {
            end = self.either(&end, &start);
        }
        let end = left.map_or(end.clone(), |left| self.either(&left, &end));
        self.put(end, scope);
    }
}
