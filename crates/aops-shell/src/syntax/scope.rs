//! What a command sees when it runs: its folders, variables and standard input.

use super::{Ground, Word};
use std::rc::Rc;

/// Folders a command may stand in.
const FOLDERS: usize = 6;
/// Characters in a folder's path; no system takes more.
const DEEPEST: usize = 4096;
/// Folders to go back to.
const STACK: usize = 16;
/// Values a variable may have, and characters in all; more is not looked at.
const VALUES: usize = 16;
const LONGEST: usize = 32 * 1024;

/// What a command sees.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub(super) home: Rc<Word>,
    pub(super) folders: Rc<Vec<Word>>,
    /// Where `popd` and `cd -` go back to.
    pub(super) left: Rc<Vec<Rc<Vec<Word>>>>,
    pub(super) variables: Rc<Vec<(String, Vec<Word>)>>,
    pub(super) functions: Rc<Vec<String>>,
    pub(super) arriving: Vec<Word>,
    pub(super) script: Option<String>,
    /// The script is all of the command's standard input, letter by letter.
    pub(super) sure: bool,
    /// Programs around this one.
    pub(super) depth: usize,
}

impl Scope {
    pub(super) fn new(ground: &Ground) -> Self {
        let home = Word::of(ground.home);
        let cwd = Word::of(ground.cwd);
        let mut variables = vec![("HOME".to_owned(), vec![home.clone()])];
        let given = ground.variables.iter().map(|(name, value)| (name.clone(), vec![Word::of(value)]));
        variables.extend(given.filter(|(name, _)| name != "HOME"));
        Self { home: Rc::new(home), folders: Rc::new(vec![cwd]), variables: Rc::new(variables), ..Self::default() }
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
        let values = if values.len() > VALUES || length > LONGEST { Vec::new() } else { values };
        let variables = Rc::make_mut(&mut self.variables);
        match variables.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = values,
            None => variables.push((name.to_owned(), values)),
        }
    }

    /// `cd`, `pushd`
    pub(super) fn enter(&mut self, target: &Word) {
        let back = self.left.last().filter(|_| target.is("-")).cloned();
        let there = self.folders.iter().map(|folder| target.from_folder(folder));
        let known = |word: Word| {
            let word = if word.bits.len() > DEEPEST { word.tidied() } else { word };
            if word.bits.len() > DEEPEST { Word::any() } else { word }
        };
        let there = back.unwrap_or_else(|| Rc::new(there.map(known).collect()));
        let left = std::mem::replace(&mut self.folders, there);
        let stack = Rc::make_mut(&mut self.left);
        if stack.len() < STACK {
            stack.push(left);
        }
    }

    /// `popd`
    pub(super) fn back(&mut self) {
        if let Some(back) = Rc::make_mut(&mut self.left).pop() {
            self.folders = back;
        }
    }

    /// A folder some branches have left and others not.
    pub(super) fn also_in(&mut self, folders: &[Word]) {
        // Most commands leave nothing, and a line with many `cd` has its full number soon.
        if std::ptr::eq(self.folders.as_slice(), folders) || self.folders.len() >= FOLDERS {
            return;
        }
        for folder in folders {
            if !self.folders.contains(folder) && self.folders.len() < FOLDERS {
                Rc::make_mut(&mut self.folders).push(folder.clone());
            }
        }
    }
}
