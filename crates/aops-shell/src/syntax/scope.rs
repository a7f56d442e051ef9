//! What a command sees when it runs (its folders, variables and standard input), and what a variable may hold
//! over all its assignments, since branches and loops can make any of them the last.

use super::{Bit, Ground, Word};
use std::collections::BTreeMap;
use std::rc::Rc;

/// How many folders a command may be in; beyond that, one of them is unknown.
const FOLDERS: usize = 24;
/// The maximum length of a folder's path; no system accepts more.
const DEEPEST: usize = 4096;
/// How many folders `popd` and `cd -` can return to.
const STACK: usize = 64;
/// How many lists `$@` may be.
const SHIFTS: usize = 64;
/// How many positional parameters a program or a function may get.
pub(super) const POSITIONS: usize = 256;
/// How many values a variable may have, and how long they may be in total.
const VALUES: usize = 1024;
const LONGEST: usize = 256 * 1024;
/// How many lists an array may be.
const LISTS: usize = 256;

/// Why a variable has no value, although the line names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unset {
    /// Some branches set it, others do not.
    Maybe,
    Surely,
}

/// Marks a choice whether a variable has a value at all; it precedes the name.
const WHETHER: char = '?';

pub(super) fn whether(name: &str) -> String {
    format!("{WHETHER}{name}")
}

/// Marks a choice among the lists of an array.
const LIST: char = '[';

pub(super) fn list_of(name: &str) -> String {
    format!("{LIST}{name}")
}

/// The array variables, with the lists each may be if there are several. Their values are the elements of all
/// lists.
pub(super) type Lists = BTreeMap<String, Vec<Vec<Word>>>;

#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub(super) home: Rc<Word>,
    pub(super) folders: Rc<Vec<Word>>,
    /// The folders that `popd` and `cd -` return to.
    pub(super) left: Rc<Vec<Rc<Vec<Word>>>>,
    /// There were more folders than are kept.
    pub(super) forgot: bool,
    pub(super) variables: Rc<Vec<(String, Vec<Word>)>>,
    pub(super) unset: Rc<BTreeMap<String, Unset>>,
    pub(super) lists: Rc<Lists>,
    /// Variables that are other names of variables: `declare -n`.
    pub(super) names: Rc<BTreeMap<String, String>>,
    pub(super) functions: Rc<Vec<String>>,
    /// `$0`, if the line sets it.
    pub(super) zero: Option<Rc<Word>>,
    /// What `$1` and so on may be: several lists if a `shift` may have run. Unknown if empty.
    pub(super) given: Rc<Vec<Vec<Word>>>,
    /// Some variable has, or had, several values.
    pub(super) chooses: bool,
    pub(super) arriving: Vec<Word>,
    pub(super) script: Option<String>,
    /// Standard input consists only of names of project files.
    pub(super) lists_files: bool,
    /// Programs whose output is standard input.
    pub(super) fed: Vec<Rc<str>>,
    /// The script is the exact and complete standard input of the command.
    pub(super) sure: bool,
    /// The output becomes variables of the shell.
    pub(super) exported: bool,
    /// The output becomes a part of another command.
    pub(super) captured: bool,
    /// How many programs surround this one.
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

    /// What a variable may hold; `None` or empty if unknown.
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
        let name = self.names.get(name).map_or(name, String::as_str);
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

    /// `shift` by a known number, or by any. In a branch it may not have run, so the old lists stay. `false`
    /// if there are too many lists.
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

    /// How many values the variable has here; a command sees one of them.
    pub(super) fn choices(&self, name: &str) -> usize {
        if let Some(name) = name.strip_prefix(WHETHER) {
            return 1 + usize::from(self.unset.get(name) == Some(&Unset::Maybe));
        }
        if let Some(name) = name.strip_prefix(LIST) {
            return self.lists.get(name).map_or(0, Vec::len);
        }
        if name == "@" { self.given.len() } else { self.value(name).map_or(0, <[Word]>::len) }
    }

    /// Reduces the variable to the value at this index.
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

    /// `false` if there are too many values or they are too long: then the variable may hold anything.
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

    /// Makes an array one of these lists. `false` if there are too many or they are too long: then it may be
    /// anything.
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

    /// What an array may be; for a variable that is not an array, each value is a list.
    pub(super) fn lists(&self, name: &str) -> Vec<Vec<Word>> {
        as_lists(self.lists.get(name), self.value(name).unwrap_or_default())
    }

    /// `unset`
    pub(super) fn take_away(&mut self, name: &str) {
        self.set(name, Vec::new());
        Rc::make_mut(&mut self.unset).insert(name.to_owned(), Unset::Surely);
    }

    /// `local name`: empty in a function, unchanged outside it.
    pub(super) fn perhaps_take_away(&mut self, name: &str) {
        if self.value(name).is_some_and(|values| !values.is_empty()) {
            self.chooses = true;
            Rc::make_mut(&mut self.unset).insert(name.to_owned(), Unset::Maybe);
        }
    }

    /// `cd`, `pushd`
    pub(super) fn enter(&mut self, target: &Word) {
        let back = self.left.last().filter(|_| target.is("-")).cloned();
        // `cd a; cd ..` returns to the start, judging by the text of the path. Folders are already tidy, so a
        // long series of `cd` does not process the whole path each time.
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

    /// The command may be in any of these folders.
    pub(super) fn stand_in(&mut self, mut folders: Vec<Word>) {
        if folders.len() > FOLDERS {
            folders.truncate(FOLDERS);
            folders.push(Word::any());
        }
        self.folders = Rc::new(folders);
    }

    /// Adds folders, for a `cd` that some branches ran and others did not.
    pub(super) fn also_in(&mut self, folders: &[Word]) {
        // Returns early: most commands change no folder, and a line with many `cd` soon reaches the maximum.
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

/// Whether these are too many values.
pub(super) fn is_over(values: &[Word]) -> bool {
    values.len() > VALUES || values.iter().map(|word| word.bits.len()).sum::<usize>() > LONGEST
}

/// Whether these are too many lists.
pub(super) fn are_over(lists: &[Vec<Word>]) -> bool {
    lists.len() > LISTS || lists.iter().flatten().map(|word| 1 + word.bits.len()).sum::<usize>() > LONGEST
}

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

/// Adds an element unless an equal one is there.
pub(super) fn added<T: PartialEq>(mut all: Vec<T>, one: T) -> Vec<T> {
    if !all.contains(&one) {
        all.push(one);
    }
    all
}

/// Variables that builtins and the shell itself set, in bash and zsh: the line does not contain their values.
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

/// What is true of every value that a line gives a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Known, one word, and not an option: nothing unknown in it, no blanks, not empty, no leading `-`.
    pub plain: bool,
    pub number: bool,
    /// Blanks and line breaks only, or nothing.
    pub blank: bool,
    /// Contains text that runs as a program when the value is used as a number: `a[$(…)]`.
    pub armed: bool,
    /// The line sets it; otherwise its value comes only from the environment.
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
        // A pattern may match a file whose name begins with a dash.
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

/// Whether the text has an index with a program in it: `a[$(…)]`. The shell runs it wherever it expects a
/// number.
pub fn is_armed(word: &Word) -> bool {
    let open = word.bits.iter().position(|bit| *bit == Bit::Char('['));
    open.is_some_and(|at| begins_program(&word.bits[at..]))
}

/// The programs in this text that the shell runs if it expands the text once more: `$(…)`, backquotes.
pub(super) fn programs_in(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '$']) {
        let (sign, behind) = rest[at..].split_at(1);
        let inner = behind.strip_prefix('(').filter(|_| sign == "$");
        let end = match inner {
            Some(inner) => closing(inner),
            None if sign == "`" => behind.find('`'),
            None => {
                rest = behind;
                continue;
            }
        };
        let inner = inner.unwrap_or(behind);
        found.push(inner[..end.unwrap_or(inner.len())].to_owned());
        rest = end.and_then(|end| inner.get(end + 1..)).unwrap_or_default();
    }
    found
}

/// Where the bracket closes that was open before this text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1;
    text.char_indices().find_map(|(at, letter)| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}

fn begins_program(bits: &[Bit]) -> bool {
    bits.contains(&Bit::Char('`')) || bits.windows(2).any(|pair| pair == [Bit::Char('$'), Bit::Char('(')])
}
