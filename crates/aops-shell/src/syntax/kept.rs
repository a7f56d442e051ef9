//! What variables and positional parameters may hold after one branch of a line, and after either of two.
//!
//! Invariant: an assignment that may not have happened adds a value and removes none.

use super::scope::{Lists, Scope, Unset, added, are_over, as_lists, is_over};
use super::{Bit, Word};
use std::collections::BTreeMap;
use std::rc::Rc;

#[derive(Clone, Debug)]
pub(super) struct Kept {
    variables: Rc<Vec<(String, Vec<Word>)>>,
    unset: Rc<BTreeMap<String, Unset>>,
    lists: Rc<Lists>,
    given: Rc<Vec<Vec<Word>>>,
    /// Merged from two branches, so a variable may have several values.
    joined: bool,
    /// Some variable had too many values, and may now hold anything.
    over: bool,
}

/// What one branch knows about a variable.
enum State<'a> {
    /// The line has not set it.
    Unnamed,
    /// It is set, but the line does not say to what.
    Unknown,
    Gone,
    /// One of these values; if `true`, it may also be unset.
    OneOf(&'a [Word], bool),
}

impl Kept {
    pub(super) fn of(scope: &Scope) -> Self {
        let variables = Rc::clone(&scope.variables);
        let unset = Rc::clone(&scope.unset);
        let lists = Rc::clone(&scope.lists);
        let given = Rc::clone(&scope.given);
        Self { variables, unset, lists, given, joined: false, over: false }
    }

    /// `false` if there are too many values.
    pub(super) fn put(self, scope: &mut Scope) -> bool {
        scope.chooses |= self.joined;
        scope.variables = self.variables;
        scope.unset = self.unset;
        scope.given = self.given;
        scope.lists = self.lists;
        !self.over
    }

    /// The number of variables and lists to compare.
    pub(super) fn len(&self) -> usize {
        self.variables.len()
            + self.lists.values().map(|lists| 1 + lists.len() * lists.len() / 8).sum::<usize>()
    }

    /// Whether some value does not occur in any variable of the other.
    pub(super) fn has_new(&self, other: &Self) -> bool {
        let known = |value: &Word| other.variables.iter().any(|(_, values)| values.contains(value));
        let longer = |(name, lists): (&String, &Vec<Vec<Word>>)| {
            lists.iter().any(|list| other.lists.get(name).is_none_or(|known| !known.contains(list)))
        };
        self.variables.iter().flat_map(|(_, values)| values).any(|value| !known(value))
            || self.lists.iter().any(longer)
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        let same = Rc::ptr_eq(&self.variables, &other.variables) || self.variables == other.variables;
        let alike = Rc::ptr_eq(&self.lists, &other.lists) || self.lists == other.lists;
        same && alike && self.unset == other.unset && self.given == other.given
    }

    /// `at` is the variable's position in the other branch: most branches name the same variables in the same
    /// order.
    fn state(&self, at: usize, name: &str) -> State<'_> {
        let here = self.variables.get(at).filter(|(known, _)| known == name);
        let unset = self.unset.get(name);
        match here.or_else(|| self.variables.iter().find(|(known, _)| known == name)) {
            None => State::Unnamed,
            Some(_) if unset == Some(&Unset::Surely) => State::Gone,
            Some((_, values)) if values.is_empty() => State::Unknown,
            Some((_, values)) => State::OneOf(values, unset.is_some()),
        }
    }

    /// The state if either branch may have run.
    #[must_use]
    pub(super) fn or(&self, other: &Self) -> Self {
        if self.is_same(other) {
            return Self { over: self.over || other.over, ..self.clone() };
        }
        // If no list is known, the parameters may be empty.
        let lists = |given: &[Vec<Word>]| if given.is_empty() { vec![Vec::new()] } else { given.to_vec() };
        let given = if self.given == other.given {
            Rc::clone(&self.given)
        } else {
            Rc::new(lists(&other.given).into_iter().fold(lists(&self.given), added))
        };
        let mut unset = BTreeMap::new();
        let mut lists = Lists::new();
        let mut over = self.over || other.over;
        let more = other.variables.iter().enumerate();
        let more = more.filter(|(at, (name, _))| matches!(self.state(*at, name), State::Unnamed));
        let mut variables = Vec::with_capacity(self.variables.len());
        for (at, (name, _)) in self.variables.iter().enumerate().chain(more) {
            let (values, state) = either(name, self.state(at, name), other.state(at, name));
            unset.extend(state.map(|state| (name.clone(), state)));
            let mut full = is_over(&values);
            if self.lists.contains_key(name) || other.lists.contains_key(name) {
                let one = self.lists(name, &self.state(at, name));
                let either = other.lists(name, &other.state(at, name)).into_iter().fold(one, added);
                full |= are_over(&either);
                lists.insert(name.clone(), if either.len() > 1 && !full { either } else { Vec::new() });
            }
            over |= full;
            variables.push((name.clone(), if full { Vec::new() } else { values }));
        }
        let variables = Rc::new(variables);
        let unset = Rc::new(unset);
        let lists = Rc::new(lists);
        Self { variables, unset, lists, given, joined: true, over }
    }

    /// The possible contents of an array after this branch, each as one list.
    fn lists(&self, name: &str, state: &State) -> Vec<Vec<Word>> {
        match state {
            State::OneOf(values, _) => as_lists(self.lists.get(name), values),
            State::Unknown => vec![vec![unknown(name)]],
            State::Unnamed | State::Gone => Vec::new(),
        }
    }

    /// Like `or`, but ignores variables that were not set before.
    #[must_use]
    pub(super) fn or_known(&self, other: &Self) -> Self {
        let mut known = other.clone();
        let named = |(name, _): &(String, Vec<Word>)| self.variables.iter().any(|(own, _)| own == name);
        if !Rc::ptr_eq(&self.variables, &other.variables) {
            known.variables =
                Rc::new(other.variables.iter().filter(|variable| named(variable)).cloned().collect());
        }
        self.or(&Self { given: Rc::clone(&self.given), ..known })
    }
}

fn unknown(name: &str) -> Word {
    Word { unknown: vec![name.to_owned()], bits: vec![Bit::Any], ..Word::default() }
}

fn either(name: &str, one: State, other: State) -> (Vec<Word>, Option<Unset>) {
    match (one, other) {
        (State::OneOf(one, maybe), State::OneOf(other, perhaps)) => {
            let values =
                if one == other { one.to_vec() } else { other.iter().cloned().fold(one.to_vec(), added) };
            (values, (maybe || perhaps).then_some(Unset::Maybe))
        }
        (State::OneOf(values, _), State::Unnamed | State::Gone)
        | (State::Unnamed | State::Gone, State::OneOf(values, _)) => (values.to_vec(), Some(Unset::Maybe)),
        (State::OneOf(values, maybe), State::Unknown) | (State::Unknown, State::OneOf(values, maybe)) => {
            (added(values.to_vec(), unknown(name)), maybe.then_some(Unset::Maybe))
        }
        (State::Gone, State::Gone) => (Vec::new(), Some(Unset::Surely)),
        _ => (Vec::new(), None),
    }
}
