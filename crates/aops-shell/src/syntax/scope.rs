//! What a command sees when it runs: its folders, variables and standard input; and what a variable may hold
//! over all its assignments, since branches and loops make any of them the last.

use super::{Bit, Ground, Word};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Folders a command may stand in; where there are more, one of them is unknown.
const FOLDERS: usize = 24;
/// Characters in a folder's path; no system takes more.
const DEEPEST: usize = 4096;
/// Folders to go back to.
const STACK: usize = 64;
/// Lists that `$@` may be.
const SHIFTS: usize = 64;
/// Words that are given to a program or a function as `$1` and so on.
pub(super) const POSITIONS: usize = 256;
/// Values a variable may have, and characters in all.
const VALUES: usize = 1024;
const LONGEST: usize = 256 * 1024;
/// Lists that an array may be.
const LISTS: usize = 256;

/// A variable that has no value, though the line names one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unset {
    /// Some way to this place sets it, another does not.
    Maybe,
    Surely,
}

/// Stands before a variable's name where not its values are chosen from, but whether it has one.
const WHETHER: char = '?';

pub(super) fn whether(name: &str) -> String {
    format!("{WHETHER}{name}")
}

/// The same where one of the lists that an array may be is chosen.
const LIST: char = '[';

pub(super) fn list_of(name: &str) -> String {
    format!("{LIST}{name}")
}

/// The variables that are arrays, with what each may be if that is more than one list. Their values are the
/// elements of all.
pub(super) type Lists = BTreeMap<String, Vec<Vec<Word>>>;

#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub(super) home: Rc<Word>,
    pub(super) folders: Rc<Vec<Word>>,
    /// Where `popd` and `cd -` go back to.
    pub(super) left: Rc<Vec<Rc<Vec<Word>>>>,
    /// There were more of them.
    pub(super) forgot: bool,
    pub(super) variables: Rc<Vec<(String, Vec<Word>)>>,
    pub(super) unset: Rc<BTreeMap<String, Unset>>,
    pub(super) lists: Rc<Lists>,
    pub(super) functions: Rc<Vec<String>>,
    /// `$0`, where the line gives it.
    pub(super) zero: Option<Rc<Word>>,
    /// What `$1` and the next may be: several lists where a `shift` may have run. None are known where it is
    /// empty.
    pub(super) given: Rc<Vec<Vec<Word>>>,
    /// Some variable has, or had, more values than one.
    pub(super) chooses: bool,
    pub(super) arriving: Vec<Word>,
    pub(super) script: Option<String>,
    /// Names of the project's files arrive, and nothing else.
    pub(super) lists_files: bool,
    /// Programs whose output is standard input.
    pub(super) fed: Vec<Rc<str>>,
    /// The script is all of the command's standard input, letter by letter.
    pub(super) sure: bool,
    /// What is printed here becomes variables of the shell.
    pub(super) exported: bool,
    /// What is printed here becomes a part of another command.
    pub(super) captured: bool,
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
        Self {
            home: Rc::new(home),
            folders: Rc::new(vec![cwd]),
            variables: Rc::new(variables),
            ..Self::default()
        }
    }

    /// What a variable may hold; `None` or nothing if we do not know.
    pub(super) fn value(&self, name: &str) -> Option<&[Word]> {
        if name == "PWD" {
            return Some(&self.folders);
        }
        let first = name.as_bytes().first().copied().unwrap_or_default();
        if first.is_ascii_digit() || matches!(name, "@" | "*") {
            return self.position(name);
        }
        if is_set_by_shell(name) {
            return None;
        }
        self.variables.iter().find(|(known, _)| known == name).map(|(_, values)| values.as_slice())
    }

    /// `$0`, `$1`, `$@`
    fn position(&self, name: &str) -> Option<&[Word]> {
        let given = self.given.first();
        match name {
            "@" | "*" => given.map(Vec::as_slice),
            "0" => self.zero.as_deref().map(std::slice::from_ref),
            _ => given?.get(name.parse::<usize>().ok()?.checked_sub(1)?).map(std::slice::from_ref),
        }
    }

    /// `shift`, which may not have run where it stands in a branch, by as many as the line says, or any.
    /// `false` if there are too many lists.
    pub(super) fn shift(&mut self, by: Option<usize>) -> bool {
        let tails = |list: &Vec<Word>| {
            let from = by.map_or(1..=list.len().min(SHIFTS + 1), |by| by..=by);
            from.map(|from| list.get(from..).unwrap_or_default().to_vec()).collect::<Vec<_>>()
        };
        let all = self.given.iter().cloned().chain(self.given.iter().flat_map(tails)).fold(Vec::new(), added);
        let whole = all.len() <= SHIFTS;
        self.given = Rc::new(if whole { all } else { Vec::new() });
        self.chooses = true;
        whole
    }

    /// How many values the variable has here, of which a command sees one.
    pub(super) fn choices(&self, name: &str) -> usize {
        if let Some(name) = name.strip_prefix(WHETHER) {
            return 1 + usize::from(self.unset.get(name) == Some(&Unset::Maybe));
        }
        if let Some(name) = name.strip_prefix(LIST) {
            return self.lists.get(name).map_or(0, Vec::len);
        }
        if name == "@" { self.given.len() } else { self.value(name).map_or(0, <[Word]>::len) }
    }

    /// The variable has the value at this place, and no other.
    pub(super) fn choose(&mut self, name: &str, at: usize) {
        if let Some(name) = name.strip_prefix(WHETHER) {
            if at == 0 {
                Rc::make_mut(&mut self.unset).remove(name);
            } else {
                self.take_away(name);
            }
        } else if let Some(name) = name.strip_prefix(LIST) {
            if let Some(list) = self.lists.get(name).and_then(|lists| lists.get(at)).cloned() {
                let unset = Rc::clone(&self.unset);
                self.fill(name, vec![list]);
                self.unset = unset;
            }
        } else if name == "@" {
            self.given = Rc::new(self.given.get(at).cloned().into_iter().collect());
        } else if let Some(value) = self.value(name).and_then(|values| values.get(at)).cloned() {
            self.set(name, vec![value]);
        }
    }

    /// `false` if they are too many or too long: then it may hold anything.
    pub(super) fn set(&mut self, name: &str, values: Vec<Word>) -> bool {
        let whole = !is_over(&values);
        let values = if whole { values } else { Vec::new() };
        self.chooses |= values.len() > 1;
        if self.unset.contains_key(name) {
            Rc::make_mut(&mut self.unset).remove(name);
        }
        if self.lists.contains_key(name) {
            Rc::make_mut(&mut self.lists).remove(name);
        }
        let variables = Rc::make_mut(&mut self.variables);
        match variables.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = values,
            None => variables.push((name.to_owned(), values)),
        }
        whole
    }

    /// An array is one of these lists. `false` if they are too many or too long: then it may be anything.
    pub(super) fn fill(&mut self, name: &str, lists: Vec<Vec<Word>>) -> bool {
        let whole = !are_over(&lists);
        let values = if whole { elements(&lists) } else { Vec::new() };
        if !self.set(name, values) || !whole {
            return false;
        }
        Rc::make_mut(&mut self.lists)
            .insert(name.to_owned(), if lists.len() > 1 { lists } else { Vec::new() });
        true
    }

    /// What an array may be; of a variable that is none, each value is a list.
    pub(super) fn lists(&self, name: &str) -> Vec<Vec<Word>> {
        as_lists(self.lists.get(name), self.value(name).unwrap_or_default())
    }

    /// `unset`
    pub(super) fn take_away(&mut self, name: &str) {
        self.set(name, Vec::new());
        Rc::make_mut(&mut self.unset).insert(name.to_owned(), Unset::Surely);
    }

    /// `local name`: empty in a function, and what it was elsewhere.
    pub(super) fn perhaps_take_away(&mut self, name: &str) {
        if self.value(name).is_some_and(|values| !values.is_empty()) {
            self.chooses = true;
            Rc::make_mut(&mut self.unset).insert(name.to_owned(), Unset::Maybe);
        }
    }

    /// `cd`, `pushd`
    pub(super) fn enter(&mut self, target: &Word) {
        let back = self.left.last().filter(|_| target.is("-")).cloned();
        // `cd a; cd ..` is back again, by the letters of the path. A folder is tidy already: a long row of
        // `cd` does not pay for its whole path each time.
        let is_odd = |part: &[Bit]| matches!(part, [] | [Bit::Char('.')] | [Bit::Char('.'), Bit::Char('.')]);
        let untidy = target.bits.split(|bit| *bit == Bit::Char('/')).any(is_odd);
        let there = self.folders.iter().map(|folder| {
            let ends = folder.bits.last() == Some(&Bit::Char('/'));
            (untidy || ends, target.from_folder(folder))
        });
        let known = |(untidy, word): (bool, Word)| {
            let is_known = || word.bits.iter().all(|bit| matches!(bit, Bit::Char(_)));
            let word = if untidy && is_known() || word.bits.len() > DEEPEST {
                Word { shifts: word.shifts, ..word.tidied() }
            } else {
                word
            };
            if word.bits.len() > DEEPEST { Word::any() } else { word }
        };
        let gone = || Rc::new(there.map(known).fold(Vec::new(), added));
        let lost = target.is("-") && self.left.is_empty() && self.forgot;
        let there = back.unwrap_or_else(|| if lost { Rc::new(vec![Word::any()]) } else { gone() });
        let left = std::mem::replace(&mut self.folders, there);
        let stack = Rc::make_mut(&mut self.left);
        if stack.len() >= STACK {
            stack.remove(0);
            self.forgot = true;
        }
        stack.push(left);
    }

    /// `popd`
    pub(super) fn back(&mut self) {
        if let Some(back) = Rc::make_mut(&mut self.left).pop() {
            self.folders = back;
        } else if self.forgot {
            self.folders = Rc::new(vec![Word::any()]);
        }
    }

    /// It stands in one of these.
    pub(super) fn stand_in(&mut self, mut folders: Vec<Word>) {
        if folders.len() > FOLDERS {
            folders.truncate(FOLDERS);
            folders.push(Word::any());
        }
        self.folders = Rc::new(folders);
    }

    /// A folder some branches have left and others not.
    pub(super) fn also_in(&mut self, folders: &[Word]) {
        // Most commands leave nothing, and a line with many `cd` has its full number soon.
        if std::ptr::eq(self.folders.as_slice(), folders) || self.folders.len() > FOLDERS {
            return;
        }
        for folder in folders {
            if !self.folders.contains(folder) && self.folders.len() <= FOLDERS {
                let full = self.folders.len() == FOLDERS;
                Rc::make_mut(&mut self.folders).push(if full { Word::any() } else { folder.clone() });
            }
        }
    }
}

/// More values than are looked at.
pub(super) fn is_over(values: &[Word]) -> bool {
    values.len() > VALUES || values.iter().map(|word| word.bits.len()).sum::<usize>() > LONGEST
}

/// More lists than are looked at.
pub(super) fn are_over(lists: &[Vec<Word>]) -> bool {
    lists.len() > LISTS || lists.iter().flatten().map(|word| 1 + word.bits.len()).sum::<usize>() > LONGEST
}

/// The elements of all lists.
fn elements(lists: &[Vec<Word>]) -> Vec<Word> {
    match lists {
        [only] => only.clone(),
        several => several.iter().flatten().cloned().fold(Vec::new(), added),
    }
}

pub(super) fn as_lists(lists: Option<&Vec<Vec<Word>>>, values: &[Word]) -> Vec<Vec<Word>> {
    match lists {
        None => values.iter().map(|value| vec![value.clone()]).collect(),
        Some(only) if only.is_empty() => vec![values.to_vec()],
        Some(several) => several.clone(),
    }
}

/// It beside others that are not the same.
pub(super) fn added<T: PartialEq>(mut all: Vec<T>, one: T) -> Vec<T> {
    if !all.contains(&one) {
        all.push(one);
    }
    all
}

/// Variables that builtins and the shell itself set, of bash and of zsh: what they hold is not in the line.
const SET_BY_SHELL: [&str; 41] = [
    "0", "COPROC", "DIRSTACK", "EPOCHREALTIME", "EPOCHSECONDS", "EUID", "FUNCNAME", "GROUPS", "HISTCMD",
    "LINENO", "MAPFILE", "MATCH", "MBEGIN", "MEND", "OLDPWD", "OPTARG", "OPTERR", "OPTIND", "PIPESTATUS",
    "PPID", "RANDOM", "REPLY", "SECONDS", "SHLVL", "SRANDOM", "TTYIDLE", "UID", "_", "argv", "dirstack",
    "errnos", "mapfile", "match", "mbegin", "mend", "pipestatus", "reply", "status", "termcap", "terminfo",
    "words",
];

pub fn is_set_by_shell(name: &str) -> bool {
    let families = ["BASH_", "COMP_", "COPROC_", "READLINE_", "ZSH_"];
    SET_BY_SHELL.binary_search(&name).is_ok() || families.iter().any(|family| name.starts_with(family))
}

/// What is true of every value a line gives a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Known, one word, and no option: nothing unknown in it, no blanks, not empty, no `-` in front.
    pub plain: bool,
    pub number: bool,
    /// Blanks and line breaks only, or nothing.
    pub blank: bool,
    /// Holds text that is a program when the value is used as a number: `a[$(…)]`.
    pub armed: bool,
    /// The line sets it; the ground only knows it.
    pub set: bool,
}

impl Held {
    /// It may hold anything.
    pub(super) const ANYTHING: Held =
        Held { plain: false, number: false, blank: false, armed: false, set: true };

    pub(super) const NUMBER: Held = Held { plain: true, number: true, blank: false, armed: false, set: true };

    pub fn of(word: &Word) -> Self {
        let unknown = word.bits.iter().filter(|bit| **bit == Bit::Any).count();
        let blank = |bit: &Bit| matches!(bit, Bit::Char(' ' | '\t' | '\n' | '\r'));
        let number = |bit: &Bit| matches!(bit, Bit::Char('0'..='9') | Bit::Any);
        let known = unknown == word.sums + word.commits;
        // A pattern may find a file whose name begins with a dash.
        let begins =
            word.bits.first().is_some_and(|bit| !matches!(bit, Bit::Char('-') | Bit::Star | Bit::One));
        Self {
            plain: known && begins && !word.bits.iter().any(blank),
            number: unknown == word.sums && !word.bits.is_empty() && word.bits.iter().all(number),
            blank: word.bits.iter().all(blank),
            armed: begins_program(&word.bits),
            set: true,
        }
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            plain: self.plain && other.plain,
            number: self.number && other.number,
            blank: self.blank && other.blank,
            armed: self.armed || other.armed,
            set: self.set || other.set,
        }
    }
}

/// An index with a program in it, as text: `a[$(…)]`. The shell runs it wherever it expects a number.
pub fn is_armed(word: &Word) -> bool {
    let open = word.bits.iter().position(|bit| *bit == Bit::Char('['));
    open.is_some_and(|at| begins_program(&word.bits[at..]))
}

fn begins_program(bits: &[Bit]) -> bool {
    bits.contains(&Bit::Char('`')) || bits.windows(2).any(|pair| pair == [Bit::Char('$'), Bit::Char('(')])
}
