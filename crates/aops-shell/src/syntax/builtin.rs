//! What builtins change for the commands that follow: folders, variables, positional parameters.

use super::scope::{POSITIONS, Scope, added};
use super::walk::Walk;
use super::{Bit, Held, Simple, Word};
use std::rc::Rc;

/// How many variables of a line may be other names of variables.
const NAMES: usize = 64;

impl Walk {
    /// Sets the positional parameters `$1` and so on.
    pub(super) fn give(&mut self, scope: &mut Scope, words: Vec<Word>) {
        if words.len() > POSITIONS || !self.spend(words.len()) {
            scope.given = Rc::default();
            return self.too_much();
        }
        scope.given = Rc::new(vec![words]);
    }

    /// `set -- a b`, `set a b`
    fn positions(&mut self, simple: &Simple, scope: &mut Scope) {
        let dashes = simple.words.iter().position(|word| word.is("--"));
        let given: Vec<Word> = match dashes {
            Some(at) => simple.words[at + 1..].to_vec(),
            None => operands(simple).into_iter().cloned().collect(),
        };
        if dashes.is_some() || !given.is_empty() {
            self.give(scope, given);
        }
    }

    /// `export x=y`, `local x`, `readonly x`, `declare -r x=y`
    fn declare(&mut self, program: &str, simple: &Simple, scope: &mut Scope) {
        let names = simple.words.iter().any(|word| word.is_option() && word.lossy().contains('n'));
        let freezes = simple.words.iter().any(|word| word.is_option() && word.lossy().contains('r'));
        for word in operands(simple) {
            let value = word.past('=');
            let at = value.as_ref().map_or(word.bits.len(), |value| word.bits.len() - value.bits.len() - 1);
            let name = Word { bits: word.bits[..at].to_vec(), ..Word::default() }.lossy();
            let (name, adds) = name.strip_suffix('+').map_or((name.as_str(), false), |name| (name, true));
            let target = value.as_ref().and_then(Word::literal).filter(|_| names && program != "export");
            if let Some(target) = target.filter(|target| target != name) {
                if scope.names.len() >= NAMES {
                    return self.too_much();
                }
                Rc::make_mut(&mut scope.names).insert(name.to_owned(), target);
            } else if let Some(value) = value {
                self.programmed(name, std::slice::from_ref(&value), scope);
                let old = scope.value(name).filter(|_| adds).unwrap_or_default().to_vec();
                let unknown = adds.then(Word::any);
                self.assign(scope, name, std::iter::once(value).chain(old).chain(unknown).collect());
            } else if matches!(program, "declare" | "local" | "typeset") {
                scope.perhaps_take_away(name);
            }
            if program == "readonly" || freezes && program != "export" {
                self.frozen.insert(name.to_owned());
            }
        }
    }

    /// Gives a variable these values; `a=()` has none.
    pub(super) fn assigned(&mut self, scope: &mut Scope, name: &str, values: Vec<Word>) {
        let is_empty = values.is_empty();
        self.assign(scope, name, values);
        if is_empty && !self.frozen.contains(name) {
            scope.take_away(name);
        }
    }

    /// Makes an array one of these lists; `a+=()` may leave it empty.
    pub(super) fn filled(&mut self, scope: &mut Scope, name: &str, lists: Vec<Vec<Word>>) {
        let (empty, mut lists): (Vec<_>, Vec<_>) = lists.into_iter().partition(Vec::is_empty);
        if lists.is_empty() {
            return self.assigned(scope, name, Vec::new());
        }
        let held = lists.iter().flatten().map(Held::of).reduce(Held::and);
        self.hold(name, held.unwrap_or(Held::ANYTHING));
        if self.frozen.contains(name) {
            lists = scope.lists(name).into_iter().fold(lists, added);
        }
        // Scopes share their variables; the first assignment copies them all.
        if self.spend(1 + scope.variables.len() / 2 + lists.len()) && !scope.fill(name, lists) {
            self.too_much();
        }
        if !empty.is_empty() {
            scope.perhaps_take_away(name);
        }
    }

    /// Builtins that change what later commands see.
    pub(super) fn change(&mut self, simple: &Simple, scope: &mut Scope, own: &Scope) {
        let Some(program) = simple.name() else { return };
        match program {
            "cd" | "chdir" | "pushd" => enter(simple, scope, own),
            _ if simple.makes_links() => self.link(simple),
            "popd" => scope.back(),
            "read" | "mapfile" | "readarray" => {
                for name in read_into(simple, program) {
                    self.arrays.insert(name.clone());
                    let mut values = simple.arriving.clone();
                    let several = !simple.fed.is_empty() || !simple.arriving.is_empty();
                    values.push(Word { several, printed: simple.fed.clone(), ..Word::any() });
                    self.filled(scope, &name, vec![values]);
                }
            }
            "printf" if simple.words.get(1).is_some_and(|word| word.starts_with("-v")) => {
                let glued = Some(simple.words[1].after(2)).filter(|word| !word.bits.is_empty());
                let mut rest = simple.words[2..].iter().cloned();
                let name = glued.or_else(|| rest.next()).unwrap_or_default();
                let values: Vec<Word> = rest.chain([Word::any()]).collect();
                self.assign(scope, &name.lossy(), values);
            }
            "export" | "declare" | "local" | "readonly" | "typeset" => self.declare(program, simple, scope),
            "getopts" => {
                let name = simple.words.get(2).map(Word::lossy).unwrap_or_default();
                self.assign(scope, &name, vec![Word::any()]);
            }
            "set" => self.positions(simple, scope),
            "shift" => {
                let by = simple.words.get(1).map_or(Some(1), |word| word.lossy().parse().ok());
                if !scope.shift(by) {
                    self.too_much();
                }
            }
            "unset" => {
                for word in operands(simple) {
                    self.assigned(scope, &word.lossy(), Vec::new());
                }
            }
            _ => {}
        }
    }
}

/// Changes to the folder that `cd` names.
fn enter(simple: &Simple, scope: &mut Scope, own: &Scope) {
    let target = operands(simple).first().map_or_else(|| (*scope.home).clone(), |word| (*word).clone());
    let before = Rc::clone(&scope.folders);
    scope.enter(&target);
    // A bare name is looked up in these folders first.
    for path in own.value("CDPATH").unwrap_or_default() {
        let there = path.bits.split(|bit| *bit == Bit::Char(':')).map(<[Bit]>::to_vec);
        let there = there.map(|bits| Word { bits, ..Word::default() }.from_folder(&before[0]));
        scope.also_in(&there.map(|base| target.from_folder(&base)).collect::<Vec<_>>());
    }
}

pub(super) fn operands(simple: &Simple) -> Vec<&Word> {
    simple.words.iter().skip(1).filter(|word| !word.is_option()).collect()
}

/// The variables that `read` and `mapfile` fill: their operands, and the value of `-a`.
fn read_into(simple: &Simple, program: &str) -> Vec<String> {
    let (valued, usual) = if program == "read" { ("adinNptuAk", "REPLY") } else { ("dnOsucC", "MAPFILE") };
    let mut names = Vec::new();
    let mut words = simple.words.iter().skip(1);
    while let Some(word) = words.next() {
        let text = word.lossy();
        if !word.is_option() {
            names.push(text.split('?').next().unwrap_or_default().to_owned());
            continue;
        }
        let Some(at) = text.find(|c: char| valued.contains(c)) else { continue };
        let letter = &text[at..=at];
        let glued = &text[at + 1..];
        let value = if glued.is_empty() { words.next().map(Word::lossy) } else { Some(glued.to_owned()) };
        names.extend(value.filter(|_| program == "read" && matches!(letter, "a" | "A")));
    }
    if names.is_empty() {
        names.push(usual.to_owned());
    }
    names
}
