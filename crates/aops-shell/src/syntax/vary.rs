//! Commands that run with one of several: each value of a variable in its place, each call of a function with its arguments.

use super::scope::{Scope, added};
use super::tree::SimpleCommand;
use super::walk::Walk;
use super::{Simple, Word};
use std::rc::Rc;

/// Ways in which the values of one command's variables go together.
const WAYS: usize = 1024;
/// A function inside itself.
const RECURSION: usize = 3;

/// What the ways of one command leave behind, beside one another.
#[derive(Default)]
struct Left {
    folders: Vec<Word>,
    given: Vec<Vec<Word>>,
    variables: Vec<(String, Vec<Word>)>,
}

impl Left {
    fn add(&mut self, after: &Scope, before: &Scope) {
        self.folders = after.folders.iter().cloned().fold(std::mem::take(&mut self.folders), added);
        self.given = after.given.iter().cloned().fold(std::mem::take(&mut self.given), added);
        if Rc::ptr_eq(&after.variables, &before.variables) {
            return;
        }
        for (at, (name, values)) in after.variables.iter().enumerate() {
            if before.variables.get(at).is_some_and(|(_, old)| old == values) {
                continue;
            }
            let known = self.variables.iter_mut().find(|(known, _)| known == name);
            match known {
                Some((_, all)) => *all = values.iter().cloned().fold(std::mem::take(all), added),
                None => self.variables.push((name.clone(), values.clone())),
            }
        }
    }
}

impl Walk {
    pub(super) fn simple(&mut self, command: &SimpleCommand, scope: &mut Scope) {
        if !scope.chooses {
            return self.once(command, scope);
        }
        let around = std::mem::take(&mut self.varied);
        let (before, first) = (scope.clone(), self.found.len());
        self.once(command, scope);
        let varied = std::mem::replace(&mut self.varied, around);
        let names: Vec<&String> = varied.iter().filter(|name| before.choices(name) > 1).collect();
        if !names.is_empty() {
            // All of them at once are words of one command only in an array, and in zsh.
            if !names.iter().any(|name| self.arrays.contains(*name)) {
                self.found.truncate(first);
            }
            self.each_way(command, &before, &names, scope);
        }
        // What a substitution depends on, the command around it does too.
        self.varied.extend(varied);
    }

    /// The command once for each way in which these variables have one value.
    fn each_way(&mut self, command: &SimpleCommand, before: &Scope, names: &[&String], scope: &mut Scope) {
        let ways = names.iter().try_fold(1usize, |ways, name| ways.checked_mul(before.choices(name)));
        let Some(ways) = ways.filter(|ways| *ways <= WAYS) else { return self.too_much() };
        let mut left = Left::default();
        for way in 0..ways {
            if !self.spend(1 + before.variables.len() / 4) {
                return;
            }
            let mut one = before.clone();
            names.iter().fold(way, |way, name| {
                let choices = before.choices(name).max(1);
                one.choose(name, way % choices);
                way / choices
            });
            let chosen = one.clone();
            self.once(command, &mut one);
            left.add(&one, &chosen);
            (scope.left, scope.forgot) = (one.left, one.forgot);
        }
        scope.folders = Rc::clone(&before.folders);
        scope.given =
            if names.iter().any(|name| *name == "@") { Rc::clone(&before.given) } else { Rc::new(left.given) };
        scope.variables = Rc::clone(&before.variables);
        scope.stand_in(left.folders);
        for (name, values) in left.variables {
            self.assign(scope, &name, values);
        }
    }

    /// A call of a function of this line: what it does with these arguments.
    pub(super) fn called(&mut self, simple: &Simple, scope: &mut Scope) {
        let Some(name) = simple.name().filter(|_| simple.words.len() > 1) else { return };
        let bodies = self.bodies.get(name).cloned().unwrap_or_default();
        let inside = self.calling.iter().filter(|known| ***known == *name).count();
        if bodies.is_empty() || inside >= RECURSION {
            return self.guess_if(inside >= RECURSION, "a function that calls itself");
        }
        self.calling.push(Rc::from(name));
        let outer = Rc::clone(&scope.given);
        for body in bodies {
            self.give(scope, simple.words[1..].to_vec());
            self.program(&body, scope);
        }
        scope.given = outer;
        self.calling.pop();
    }
}
