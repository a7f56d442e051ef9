//! Looks inside commands that run other commands: `sudo`, `env`, `xargs`, `sh -c`, `eval`, `find -exec` and kin.

use super::found::found;
use super::scope::Scope;
use super::walk::Walk;
use super::wrapper::{Takes, WRAPPERS, Wrapper};
use super::{Bit, SYSTEM_FOLDERS, Simple, Word};
use std::rc::Rc;

/// Programs that read a shell program.
const SHELLS: [&str; 10] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "fish", "yash"];

/// Said of text that becomes a program only when it runs.
const MADE_UP: &str = "a program put together when it runs";

/// Walk what this command runs. `false`: it runs nothing else, keep it as it is.
pub(super) fn look_inside(walk: &mut Walk, simple: &Simple, scope: &mut Scope, own: &Scope) -> bool {
    let Some(name) = simple.name() else { return said(walk, simple, scope) };
    let looked = inside(walk, simple, scope, own, name);
    if looked && !is_certain(&simple.words[0]) {
        walk.guess(name);
    }
    looked
}

/// The program is what its name says: in the line as written, and found on the path or among the system's.
fn is_certain(program: &Word) -> bool {
    let text = program.lossy();
    program.is_firm() && text.rsplit_once('/').is_none_or(|(folder, _)| SYSTEM_FOLDERS.contains(&folder))
}

fn inside(walk: &mut Walk, simple: &Simple, scope: &mut Scope, own: &Scope, name: &str) -> bool {
    let arguments = &simple.words[1..];
    if SHELLS.contains(&name) || name == "su" {
        return shell(walk, simple, own, name);
    }
    match name {
        "eval" => {
            let words: Vec<&Word> = arguments.iter().filter(|word| !word.is("--")).collect();
            texts(walk, &words, scope)
        }
        "source" | "." => {
            walk.guess("a file read as program");
            let text = arguments.first().and_then(|word| word.said.clone()).or_else(|| simple.script.clone());
            text.is_some_and(|text| {
                walk.program(&text, scope);
                true
            })
        }
        "watch" | "trap" | "script" | "alias" => {
            for word in programs(name, arguments) {
                texts(walk, &[&word], &mut scope.clone());
            }
            false
        }
        "find" | "fd" | "fdfind" => {
            executed(walk, simple, scope);
            false
        }
        _ => {
            let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) else { return false };
            if !wrapper.is_plain {
                walk.guess(name);
            }
            unwrap(walk, simple, scope, own, wrapper)
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

/// The program's name comes out of a substitution: `$(echo rm) file`.
fn said(walk: &mut Walk, simple: &Simple, scope: &mut Scope) -> bool {
    let Some(text) = simple.words.first().and_then(|word| word.said.clone()) else { return false };
    walk.guess(MADE_UP);
    let rest = simple.words[1..].iter().map(Word::lossy);
    let line = std::iter::once(text).chain(rest).collect::<Vec<_>>().join(" ");
    walk.program(&line, scope);
    false
}

/// A program given as words; joined by blanks, as `eval` does.
pub(super) fn texts(walk: &mut Walk, words: &[&Word], scope: &mut Scope) -> bool {
    let text: Option<Vec<String>> = words.iter().map(|word| code(word)).collect();
    if !words.iter().all(|word| word.is_firm()) {
        walk.guess(MADE_UP);
    }
    match text {
        Some(text) if !text.is_empty() => walk.program(&text.join(" "), scope),
        _ => return false,
    }
    true
}

/// A word as program text. Glob signs are themselves; what is unknown becomes a variable nobody sets.
fn code(word: &Word) -> Option<String> {
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

/// `sh -c 'program' name arguments`, `sh < program`, `sh file`.
fn shell(walk: &mut Walk, simple: &Simple, own: &Scope, name: &str) -> bool {
    let arguments = &simple.words[1..];
    let flag = |word: &&Word| {
        let text = word.lossy();
        text == "--command" || (text.starts_with(['-', '+']) && !text.starts_with("--") && text.contains('c'))
    };
    // Functions stay behind.
    let mut scope = Scope { functions: Rc::default(), ..own.clone() };
    if let Some(at) = arguments.iter().position(|word| flag(&word)) {
        if name == "su" || name == "fish" || !arguments[..at].iter().all(is_usual) {
            walk.guess(name);
        }
        let mut rest = arguments[at + 1..].iter().skip_while(|word| word.is_option());
        let Some(text) = rest.next() else { return false };
        if !text.is_firm() {
            walk.guess(MADE_UP);
        }
        let Some(program) = code(text) else { return false };
        for (n, word) in rest.enumerate().take(10) {
            scope.set(&n.to_string(), vec![word.clone()]);
            scope.set(if n == 0 { "_name" } else { "@" }, vec![word.clone()]);
        }
        walk.program(&program, &mut scope);
        return true;
    }
    if let Some(text) = arguments.iter().find(|word| !word.is_option()).and_then(|word| word.said.clone()) {
        walk.guess(MADE_UP);
        walk.program(&text, &mut scope);
        return true;
    }
    let reads_input = arguments.iter().all(|word| word.is_option() || word.is("-"));
    match &simple.script {
        Some(script) if (reads_input || arguments.iter().any(|word| word.is("-s"))) && name != "su" => {
            if !own.sure || name == "fish" || !arguments.iter().all(is_usual) {
                walk.guess(MADE_UP);
            }
            walk.program(script, &mut scope);
            true
        }
        _ => false,
    }
}

/// An option of a shell that changes nothing about what its program does.
fn is_usual(word: &Word) -> bool {
    let plain = |text: String| {
        matches!(
            text.as_str(),
            "--norc" | "--noprofile" | "--login" | "--posix" | "-" | "-o" | "pipefail" | "errexit"
        ) || text.strip_prefix('-').is_some_and(|letters| letters.chars().all(|c| "celsuxv".contains(c)))
    };
    word.is_firm() && word.literal().is_some_and(plain)
}

/// Take the wrapper off and run the rest.
fn unwrap(walk: &mut Walk, simple: &Simple, scope: &mut Scope, own: &Scope, wrapper: &Wrapper) -> bool {
    let mut inner = Simple { writes: Vec::new(), ..simple.clone() };
    inner.words.remove(0);
    let mut inner_scope = scope.clone();
    let mut operands = wrapper.operands;
    loop {
        let Some(word) = inner.words.first().cloned() else { return false };
        let text = word.lossy();
        let is_assignment = wrapper.operands == 0
            && text.split_once('=').is_some_and(|(name, _)| is_name(name))
            && matches!(wrapper.name, "env" | "sudo" | "doas");
        if text == "--" {
            inner.words.remove(0);
        } else if wrapper.name == "command" && word.is_option() && text.contains(['v', 'V']) {
            return false;
        } else if word.is_option() {
            match option(walk, &mut inner, &word, wrapper, &mut inner_scope) {
                Next::Command => {}
                Next::Done(looked) => return looked,
            }
        } else if is_assignment {
            inner.assigned.extend(text.split('=').next().map(str::to_owned));
            inner.values.push(word.past('=').unwrap_or_default());
            inner.words.remove(0);
        } else if operands > 0 {
            operands -= 1;
            if word.splits {
                walk.guess(MADE_UP);
            }
            inner.words.remove(0);
        } else {
            break;
        }
    }
    if matches!(wrapper.name, "xargs" | "parallel") {
        // What arrives may be options, and as many words as it likes.
        let arriving = Word { named: simple.arriving.clone(), shifts: Some(0), splits: true, ..Word::any() };
        inner.words.push(arriving);
    }
    // `exec`, `builtin` and `command cd` act in this very shell.
    let here = matches!(wrapper.name, "command" | "builtin" | "exec" | "time");
    let target = if here { scope } else { &mut inner_scope };
    // Only `time` finds functions; the others look for a program.
    let functions = (wrapper.name != "time").then(|| std::mem::take(&mut target.functions));
    walk.run(inner, target, own);
    target.functions = functions.unwrap_or_else(|| Rc::clone(&target.functions));
    true
}

/// Where to look after an option.
enum Next {
    Command,
    /// The option said it all: whether we looked inside.
    Done(bool),
}

/// Take one option of a wrapper, and its value, off the words.
fn option(walk: &mut Walk, inner: &mut Simple, word: &Word, wrapper: &Wrapper, scope: &mut Scope) -> Next {
    let text = word.lossy();
    if wrapper.name == "env"
        && let Some(split) = text.strip_prefix("-S").or_else(|| text.strip_prefix("--split-string="))
    {
        let mut words = vec![split.to_owned()];
        words.extend(inner.words[1..].iter().filter_map(code));
        if !inner.words.iter().all(Word::is_firm) || !inner.assigned.is_empty() {
            walk.guess(MADE_UP);
        }
        walk.program(&words.join(" "), scope);
        return Next::Done(true);
    }
    if wrapper.name == "flock" && text == "-c" {
        let words: Vec<&Word> = inner.words[1..].iter().collect();
        return Next::Done(texts(walk, &words, scope));
    }
    let takes = wrapper.takes(word);
    let value = match takes {
        Takes::Next => inner.words.get(1).cloned(),
        Takes::Glued(at) => Some(word.after(at)),
        Takes::Nothing | Takes::Unknown => None,
    };
    let replaces = wrapper.name == "xargs"
        && (text.starts_with(['-']) && text.contains(['I', 'J', 'i']) || text.starts_with("--replace"));
    let bends = word.splits || value.as_ref().is_some_and(|value| value.splits);
    if matches!(takes, Takes::Unknown) || bends || replaces && runs_code(inner) {
        walk.guess(wrapper.name);
    }
    folder_option(&text, value.as_ref(), wrapper, scope);
    if matches!(wrapper.name, "time" | "strace" | "ltrace") && text.trim_start_matches('-').starts_with('o') {
        let writes = value.into_iter().collect();
        let folders = Rc::clone(&scope.folders);
        walk.found.push(Simple { writes, folders, ..Simple::default() });
    }
    let count = 1 + usize::from(matches!(takes, Takes::Next));
    inner.words.drain(..count.min(inner.words.len()));
    Next::Command
}

/// `xargs -I{} sh -c 'ls {}'`: what arrives becomes program text.
fn runs_code(inner: &Simple) -> bool {
    inner.words.iter().any(|word| SHELLS.iter().any(|shell| word.last_part().is(shell)) || word.is("eval"))
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

/// The commands after `-exec` and its kin; what `find` found is named by its roots and patterns.
fn executed(walk: &mut Walk, simple: &Simple, scope: &Scope) {
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
            walk.run(command, &mut Scope { functions: Rc::default(), ..scope.clone() }, scope);
        }
        at = end + 1;
    }
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
