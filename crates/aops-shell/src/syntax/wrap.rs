//! Looks inside commands that run other commands: `sudo`, `env`, `xargs`, `sh -c`, `eval`, `find -exec` and kin.
//!
//! Says what runs, and in which scope; `simple` walks it.

use super::found::found;
use super::scope::Scope;
use super::wrapper::{Takes, WRAPPERS, Wrapper};
use super::{Bit, SYSTEM_FOLDERS, Simple, Word};
use std::rc::Rc;

/// Programs that read a shell program.
const SHELLS: [&str; 10] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "fish", "yash"];

/// Said of text that becomes a program only when it runs.
pub(super) const MADE_UP: &str = "a program put together when it runs";

/// What a command runs.
#[derive(Debug, Default)]
pub(super) struct Inside {
    /// The command does nothing else: only what it runs counts.
    pub(super) is_all: bool,
    /// It may run something else than this: why.
    pub(super) guess: Option<String>,
    pub(super) runs: Vec<Inner>,
}

#[derive(Debug)]
pub(super) enum Inner {
    Program(String, Place),
    Command(Box<Simple>, Place),
    /// A command in this very shell, but no function.
    Builtin(Box<Simple>),
    /// Files that the command itself writes.
    Writes(Vec<Word>),
}

/// Which scope something runs in.
#[derive(Debug)]
pub(super) enum Place {
    /// The one of the command: what it changes there stays.
    Here,
    Apart(Box<Scope>),
}

impl Inside {
    /// Only the first reason is kept.
    fn guess(&mut self, why: &str) {
        self.guess.get_or_insert_with(|| why.to_owned());
    }

    fn guess_if(&mut self, is_guess: bool, why: &str) {
        if is_guess {
            self.guess(why);
        }
    }

    fn program(&mut self, text: String, place: Place) {
        self.runs.push(Inner::Program(text, place));
    }

    /// A program given as words; joined by blanks, as `eval` does. Whether there is one.
    fn texts(&mut self, words: &[&Word], place: Place) -> bool {
        let text: Option<Vec<String>> = words.iter().map(|word| code(word)).collect();
        self.guess_if(!words.iter().all(|word| word.is_firm()), MADE_UP);
        let text = text.filter(|text| !text.is_empty());
        let found = text.is_some();
        self.runs.extend(text.map(|text| Inner::Program(text.join(" "), place)));
        found
    }
}

fn apart(scope: &Scope) -> Place {
    Place::Apart(Box::new(scope.clone()))
}

/// What this command runs. `own` is the scope with the assignments before the command.
pub(super) fn look_inside(simple: &Simple, scope: &Scope, own: &Scope) -> Inside {
    let mut inside = Inside::default();
    match simple.name() {
        Some(name) => {
            inside.is_all = inside.look(simple, scope, own, name);
            inside.guess_if(inside.is_all && !is_certain(&simple.words[0]), name);
        }
        None => inside.substituted(simple),
    }
    inside
}

/// The program is what its name says: in the line as written, and found on the path or among the system's.
fn is_certain(program: &Word) -> bool {
    let text = program.lossy();
    program.is_firm() && text.rsplit_once('/').is_none_or(|(folder, _)| SYSTEM_FOLDERS.contains(&folder))
}

impl Inside {
    /// Whether the command does nothing but run what was found.
    fn look(&mut self, simple: &Simple, scope: &Scope, own: &Scope, name: &str) -> bool {
        let arguments = &simple.words[1..];
        if SHELLS.contains(&name) || name == "su" {
            return self.shell(simple, own, name);
        }
        match name {
            "eval" => {
                let words: Vec<&Word> = arguments.iter().filter(|word| !word.is("--")).collect();
                self.texts(&words, Place::Here)
            }
            "source" | "." => {
                self.guess("a file read as program");
                let said = arguments.first().and_then(|word| word.said.clone());
                let Some(text) = said.or_else(|| simple.script.clone()) else { return false };
                self.program(text, Place::Here);
                true
            }
            "watch" | "trap" | "script" | "alias" => {
                for word in programs(name, arguments) {
                    self.texts(&[&word], apart(scope));
                }
                false
            }
            "find" | "fd" | "fdfind" => {
                self.executed(simple, scope);
                false
            }
            _ => {
                let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) else {
                    return false;
                };
                self.guess_if(!wrapper.is_plain, name);
                self.unwrap(simple, scope, wrapper)
            }
        }
    }

    /// The program's name comes out of a substitution: `$(echo rm) file`.
    fn substituted(&mut self, simple: &Simple) {
        let Some(text) = simple.words.first().and_then(|word| word.said.clone()) else { return };
        self.guess(MADE_UP);
        let rest = simple.words[1..].iter().map(Word::lossy);
        let line = std::iter::once(text).chain(rest).collect::<Vec<_>>().join(" ");
        self.program(line, Place::Here);
    }

    /// `sh -c 'program' name arguments`, `sh < program`, `sh file`.
    fn shell(&mut self, simple: &Simple, own: &Scope, name: &str) -> bool {
        let arguments = &simple.words[1..];
        // Functions stay behind.
        let mut scope = Scope { functions: Rc::default(), ..own.clone() };
        if let Some(at) = arguments.iter().position(is_command_flag) {
            let usual = arguments[..at].iter().all(is_usual);
            self.guess_if(name == "su" || name == "fish" || !usual, name);
            let mut rest = arguments[at + 1..].iter().skip_while(|word| word.is_option());
            let Some(text) = rest.next() else { return false };
            self.guess_if(!text.is_firm(), MADE_UP);
            let Some(program) = code(text) else { return false };
            for (n, word) in rest.enumerate().take(10) {
                scope.set(&n.to_string(), vec![word.clone()]);
                scope.set(if n == 0 { "_name" } else { "@" }, vec![word.clone()]);
            }
            self.program(program, Place::Apart(Box::new(scope)));
            return true;
        }
        let file = arguments.iter().find(|word| !word.is_option());
        if let Some(text) = file.and_then(|word| word.said.clone()) {
            self.guess(MADE_UP);
            self.program(text, Place::Apart(Box::new(scope)));
            return true;
        }
        let reads_input = arguments.iter().all(|word| word.is_option() || word.is("-"));
        let Some(script) = &simple.script else { return false };
        if name == "su" || !reads_input && !arguments.iter().any(|word| word.is("-s")) {
            return false;
        }
        self.guess_if(!own.sure || name == "fish" || !arguments.iter().all(is_usual), MADE_UP);
        self.program(script.clone(), Place::Apart(Box::new(scope)));
        true
    }

    /// Take the wrapper off and run the rest.
    fn unwrap(&mut self, simple: &Simple, scope: &Scope, wrapper: &Wrapper) -> bool {
        let mut inner = Simple { words: Vec::new(), writes: Vec::new(), ..simple.clone() };
        let mut inner_scope = scope.clone();
        let mut operands = wrapper.operands;
        let mut rest = &simple.words[1..];
        loop {
            let Some(word) = rest.first() else { return false };
            let text = word.lossy();
            let is_assignment = wrapper.operands == 0
                && text.split_once('=').is_some_and(|(name, _)| is_name(name))
                && matches!(wrapper.name, "env" | "sudo" | "doas");
            let mut count = 1;
            if text == "--" {
            } else if wrapper.name == "command" && word.is_option() && text.contains(['v', 'V']) {
                return false;
            } else if word.is_option() {
                if let Some(looked) = self.inner_program(rest, &inner, wrapper, &inner_scope) {
                    return looked;
                }
                count = self.option(rest, wrapper, &mut inner_scope);
            } else if is_assignment {
                inner.assigned.extend(text.split('=').next().map(str::to_owned));
                inner.values.push(word.past('=').unwrap_or_default());
            } else if operands > 0 {
                operands -= 1;
                self.guess_if(word.splits, MADE_UP);
            } else {
                break;
            }
            rest = &rest[count.min(rest.len())..];
        }
        inner.words = rest.to_vec();
        if matches!(wrapper.name, "xargs" | "parallel") {
            // What arrives may be options, and as many words as it likes.
            let named = simple.arriving.clone();
            inner.words.push(Word { named, shifts: Some(0), splits: true, ..Word::any() });
        }
        let inner = Box::new(inner);
        self.runs.push(match wrapper.name {
            "time" => Inner::Command(inner, Place::Here),
            "command" | "builtin" | "exec" => Inner::Builtin(inner),
            _ => {
                inner_scope.functions = Rc::default();
                Inner::Command(inner, Place::Apart(Box::new(inner_scope)))
            }
        });
        true
    }

    /// An option whose value is the program: whether it was looked into. `None` for other options.
    fn inner_program(&mut self, rest: &[Word], inner: &Simple, wrapper: &Wrapper, scope: &Scope) -> Option<bool> {
        let text = rest[0].lossy();
        if wrapper.name == "flock" && text == "-c" {
            return Some(self.texts(&rest[1..].iter().collect::<Vec<_>>(), apart(scope)));
        }
        let split = text.strip_prefix("-S").or_else(|| text.strip_prefix("--split-string="));
        let split = split.filter(|_| wrapper.name == "env")?;
        let words = std::iter::once(split.to_owned()).chain(rest[1..].iter().filter_map(code));
        self.guess_if(!rest.iter().all(Word::is_firm) || !inner.assigned.is_empty(), MADE_UP);
        self.program(words.collect::<Vec<_>>().join(" "), apart(scope));
        Some(true)
    }

    /// An option of a wrapper: how many words it takes.
    fn option(&mut self, rest: &[Word], wrapper: &Wrapper, scope: &mut Scope) -> usize {
        let word = &rest[0];
        let text = word.lossy();
        let takes = wrapper.takes(word);
        let value = match takes {
            Takes::Next => rest.get(1).cloned(),
            Takes::Glued(at) => Some(word.after(at)),
            Takes::Nothing | Takes::Unknown => None,
        };
        let replaces = wrapper.name == "xargs"
            && (text.starts_with(['-']) && text.contains(['I', 'J', 'i']) || text.starts_with("--replace"));
        let bends = word.splits || value.as_ref().is_some_and(|value| value.splits);
        let unknown = matches!(takes, Takes::Unknown) || bends || replaces && runs_code(rest);
        self.guess_if(unknown, wrapper.name);
        folder_option(&text, value.as_ref(), wrapper, scope);
        if matches!(wrapper.name, "time" | "strace" | "ltrace") && text.trim_start_matches('-').starts_with('o') {
            self.runs.push(Inner::Writes(value.into_iter().collect()));
        }
        1 + usize::from(matches!(takes, Takes::Next))
    }

    /// The commands after `-exec` and its kin; what `find` found is named by its roots and patterns.
    fn executed(&mut self, simple: &Simple, scope: &Scope) {
        const FLAGS: [&str; 8] = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
        let words = &simple.words;
        let mut at = 1;
        while at < words.len() {
            if !FLAGS.iter().any(|flag| words[at].is(flag)) {
                at += 1;
                continue;
            }
            let end = (at..words.len()).find(|&n| ends(words, n)).unwrap_or(words.len());
            let named = found(simple).unwrap_or_default();
            let inner: Vec<Word> = words[at + 1..end].iter().map(|word| placeholder(word, &named)).collect();
            if !inner.is_empty() {
                let command = Simple { words: inner, writes: Vec::new(), ..simple.clone() };
                let scope = Scope { functions: Rc::default(), ..scope.clone() };
                self.runs.push(Inner::Command(Box::new(command), Place::Apart(Box::new(scope))));
            }
            at = end + 1;
        }
    }
}

/// Arguments that are shell programs.
fn programs(name: &str, arguments: &[Word]) -> Vec<Word> {
    match name {
        "watch" => arguments.iter().filter(|word| !word.is_option()).cloned().collect(),
        "trap" => arguments.iter().filter(|word| !word.is_option()).take(1).cloned().collect(),
        "alias" => arguments.iter().filter_map(|word| word.past('=')).collect(),
        _ => {
            let code = |pair: &&[Word]| pair[0].is_option() && pair[0].lossy().ends_with(['c', 'd']);
            arguments.windows(2).filter(code).map(|pair| pair[1].clone()).collect()
        }
    }
}

/// A word as program text. Glob signs are themselves; what is unknown becomes a variable that is never set.
pub(super) fn code(word: &Word) -> Option<String> {
    if word.bits.iter().all(|bit| *bit == Bit::Any) {
        return word.said.clone();
    }
    let text = word.bits.iter().map(|bit| match bit {
        Bit::Char(c) => c.to_string(),
        Bit::One => "?".to_owned(),
        Bit::Star => "*".to_owned(),
        Bit::Any => "${_unknown}".to_owned(),
    });
    Some(text.collect())
}

/// `-c`, alone or with other letters.
fn is_command_flag(word: &Word) -> bool {
    let text = word.lossy();
    text == "--command" || (text.starts_with(['-', '+']) && !text.starts_with("--") && text.contains('c'))
}

/// An option of a shell that changes nothing about what its program does.
fn is_usual(word: &Word) -> bool {
    let plain = |text: String| {
        matches!(text.as_str(), "--norc" | "--noprofile" | "--login" | "--posix" | "-" | "-o" | "pipefail" | "errexit")
            || text.strip_prefix('-').is_some_and(|letters| letters.chars().all(|c| "celsuxv".contains(c)))
    };
    word.is_firm() && word.literal().is_some_and(plain)
}

/// `xargs -I{} sh -c 'ls {}'`: what arrives becomes program text.
fn runs_code(words: &[Word]) -> bool {
    words.iter().any(|word| SHELLS.iter().any(|shell| word.last_part().is(shell)) || word.is("eval"))
}

/// `env -C dir`, `sudo -D dir`.
fn folder_option(text: &str, value: Option<&Word>, wrapper: &Wrapper, scope: &mut Scope) {
    let moves = matches!((wrapper.name, text), ("env", "-C" | "--chdir") | ("sudo", "-D" | "--chdir"));
    let folder = match (moves, value) {
        (true, Some(value)) => value.clone(),
        _ => match text.strip_prefix("--chdir=") {
            Some(folder) => Word::of(folder),
            None => return,
        },
    };
    scope.folders = Rc::new(scope.folders.iter().map(|from| folder.from_folder(from)).collect());
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// `;` ends a command of `find`, and so does `+` after `{}`.
fn ends(words: &[Word], at: usize) -> bool {
    words[at].is(";") || words[at].is("+") && words[at - 1].is("{}")
}

/// `{}` is whatever was found.
fn placeholder(word: &Word, found: &[Word]) -> Word {
    let text = word.lossy();
    if !text.contains("{}") {
        return word.clone();
    }
    let mut bits = Vec::new();
    for (n, part) in text.split("{}").enumerate() {
        if n > 0 {
            bits.push(Bit::Any);
        }
        bits.extend(part.chars().map(Bit::Char));
    }
    Word { bits, named: found.to_vec(), ..word.clone() }
}
