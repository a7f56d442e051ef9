//! Commands whose words have several possible values: runs each value of a variable in turn, and each call of
//! a function with its arguments.

use super::kept::Kept;
use super::scope::{Scope, added};
use super::tree::SimpleCommand;
use super::walk::Walk;
use super::{Simple, Word};
use std::rc::Rc;

/// How many combinations of one command's variables are tried.
const WAYS: usize = 1024;
/// How deeply a function may call itself.
const RECURSION: usize = 3;

impl Walk {
    pub(super) fn simple(&mut self, command: &SimpleCommand, scope: &mut Scope) {
        if !scope.chooses {
            return self.once(command, scope);
        }
        let around = std::mem::take(&mut self.varied);
        let before = scope.clone();
        let first = self.found.len();
        self.once(command, scope);
        let varied = std::mem::replace(&mut self.varied, around);
        let names: Vec<&String> = varied.iter().filter(|name| before.choices(name) > 1).collect();
        if !names.is_empty() {
            // All values at once can be words of one command only for an array, and in zsh: the elements of
            // one of its lists.
            let (elements, others): (Vec<&String>, Vec<&String>) =
                names.iter().partition(|name| self.arrays.contains(**name));
            if elements.is_empty() || !others.is_empty() {
                self.found.truncate(first);
            }
            if !elements.is_empty() && !others.is_empty() {
                self.each_way(command, &before, &others, scope);
            }
            self.each_way(command, &before, &names, scope);
        }
        // What a substitution depends on, the command around it depends on too.
        self.varied.extend(varied);
    }

    /// The command, once for each combination of values of these variables.
    fn each_way(&mut self, command: &SimpleCommand, before: &Scope, names: &[&String], scope: &mut Scope) {
        let ways = names.iter().try_fold(1usize, |ways, name| ways.checked_mul(before.choices(name)));
        let Some(ways) = ways.filter(|ways| *ways <= WAYS) else { return self.too_much() };
        let mut folders: Vec<Word> = Vec::new();
        let mut ends: Vec<Kept> = Vec::new();
        let mut sets: bool = false;
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
            let chosen = Kept::of(&one);
            self.once(command, &mut one);
            folders = one.folders.iter().cloned().fold(folders, added);
            ends.push(Kept::of(&one));
            sets |= !ends[way].is_same(&chosen);
            scope.left = one.left;
            scope.forgot = one.forgot;
        }
        // If no combination sets anything, the state stays as it was, with its order.
        let mut end = Kept::of(before);
        if let Some((first, rest)) = ends.split_first().filter(|_| sets) {
            end = rest.iter().fold(first.clone(), |end, one| self.either(&end, one));
        }
        self.put(end, scope);
        scope.stand_in(folders);
    }

    /// A call of a function of this line, with its arguments.
    pub(super) fn called(&mut self, simple: &Simple, scope: &mut Scope) {
        let tells = |name: &&str| simple.words.len() > 1 || self.setters.contains(*name);
        let Some(name) = simple.name().filter(tells) else { return };
        let bodies = self.bodies.get(name).cloned().unwrap_or_default();
        let inside = self.calling.iter().filter(|known| ***known == *name).count();
        if bodies.is_empty() || inside >= RECURSION {
            self.guess_if(inside >= RECURSION, "a function that calls itself");
            // With literal arguments, each deeper call may pass something else.
            if inside >= RECURSION
                && simple.words.len() > 1
                && simple.words.iter().all(|word| word.literal().is_some())
            {
                self.too_much();
            }
            return;
        }
        self.calling.push(Rc::from(name));
        let before = Kept::of(scope);
        let outer = Rc::clone(&scope.given);
        // The call may reach another definition or none, and its `local` variables end with it.
        let mut end = before.clone();
        for body in bodies {
            self.put(before.clone(), scope);
            self.give(scope, simple.words[1..].to_vec());
            self.program(&body, scope);
            scope.given = Rc::clone(&outer);
            end = self.either(&end, &Kept::of(scope));
        }
        self.put(end, scope);
        self.calling.pop();
    }
}
