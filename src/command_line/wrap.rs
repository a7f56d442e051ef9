//! Looks inside commands that run other commands: `sudo`, `env`, `xargs`, `sh -c`, `eval`, `find -exec` and kin.

use super::found::found;
use super::scope::Scope;
use super::walk::Walk;
use super::wrapper::{WRAPPERS, Wrapper};
use super::{Bit, Simple, Word};

/// Programs that read a shell program.
const SHELLS: [&str; 10] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "fish", "yash"];

/// Walk what this command runs. `false`: it runs nothing else, keep it as it is.
pub(super) fn look_inside(walk: &mut Walk, simple: &Simple, scope: &mut Scope, own: &Scope) -> bool {
    let Some(name) = simple.name() else { return said(walk, simple, scope) };
    let arguments = &simple.words[1..];
    if SHELLS.contains(&name.as_str()) || name == "su" {
        return shell(walk, simple, own, &name);
    }
    match name.as_str() {
        "eval" => {
            let words: Vec<&Word> = arguments.iter().filter(|word| !word.is("--")).collect();
            texts(walk, &words, scope)
        }
        "source" | "." => {
            let text = arguments.first().and_then(|word| word.said.clone()).or_else(|| simple.script.clone());
            text.is_some_and(|text| {
                walk.program(&text, scope);
                true
            })
        }
        "watch" | "trap" | "script" | "alias" => {
            for word in programs(&name, arguments) {
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
    let rest = simple.words[1..].iter().map(Word::lossy);
    let line = std::iter::once(text).chain(rest).collect::<Vec<_>>().join(" ");
    walk.program(&line, scope);
    false
}

/// A program given as words; joined by blanks, as `eval` does.
fn texts(walk: &mut Walk, words: &[&Word], scope: &mut Scope) -> bool {
    let text: Option<Vec<String>> = words.iter().map(|word| code(word)).collect();
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
    let mut scope = own.clone();
    if let Some(at) = arguments.iter().position(|word| flag(&word)) {
        let mut rest = arguments[at + 1..].iter().skip_while(|word| word.is_option());
        let Some(program) = rest.next().and_then(code) else { return false };
        for (n, word) in rest.enumerate().take(10) {
            scope.set(&n.to_string(), vec![word.clone()]);
            scope.set(if n == 0 { "_name" } else { "@" }, vec![word.clone()]);
        }
        walk.program(&program, &mut scope);
        return true;
    }
    if let Some(text) = arguments.iter().find(|word| !word.is_option()).and_then(|word| word.said.clone()) {
        walk.program(&text, &mut scope);
        return true;
    }
    let reads_input = arguments.iter().all(|word| word.is_option() || word.is("-"));
    match &simple.script {
        Some(script) if (reads_input || arguments.iter().any(|word| word.is("-s"))) && name != "su" => {
            walk.program(script, &mut scope);
            true
        }
        _ => false,
    }
}

/// Take the wrapper off and run the rest.
fn unwrap(walk: &mut Walk, simple: &Simple, scope: &mut Scope, own: &Scope, wrapper: &Wrapper) -> bool {
    let mut rest = simple.words[1..].to_vec();
    let mut inner_scope = scope.clone();
    let mut operands = wrapper.operands;
    loop {
        let Some(word) = rest.first() else { return false };
        let text = word.lossy();
        if text == "--" {
            rest.remove(0);
        } else if wrapper.name == "command" && (text == "-v" || text == "-V") {
            return false;
        } else if let Some(split) = text.strip_prefix("-S").or_else(|| text.strip_prefix("--split-string="))
            && wrapper.name == "env"
        {
            let mut words = vec![split.to_owned()];
            words.extend(rest[1..].iter().filter_map(code));
            walk.program(&words.join(" "), &mut inner_scope);
            return true;
        } else if word.is_option() {
            let value = wrapper.valued.contains(&text.as_str()).then(|| rest.get(1).cloned()).flatten();
            if wrapper.name == "flock" && text == "-c" {
                let words: Vec<&Word> = rest[1..].iter().collect();
                return texts(walk, &words, &mut inner_scope);
            }
            folder_option(&text, value.as_ref(), wrapper, &mut inner_scope);
            if matches!((wrapper.name, text.as_str()), ("time" | "strace" | "ltrace", "-o" | "--output")) {
                let writes = value.iter().cloned().collect();
                walk.found.push(Simple {
                    writes,
                    folders: std::rc::Rc::clone(&scope.folders),
                    ..Simple::default()
                });
            }
            rest.drain(..(1 + usize::from(value.is_some())).min(rest.len()));
        } else if text.split('=').next().is_some_and(is_name) && text.contains('=') && operands == 0 {
            rest.remove(0);
        } else if operands > 0 {
            operands -= 1;
            rest.remove(0);
        } else {
            break;
        }
    }
    if matches!(wrapper.name, "xargs" | "parallel") {
        rest.push(Word { named: simple.arriving.clone(), ..Word::any() });
    }
    let inner = Simple { words: rest, writes: Vec::new(), ..simple.clone() };
    // `exec`, `builtin` and `command cd` act in this very shell.
    let here = matches!(wrapper.name, "command" | "builtin" | "exec" | "time");
    let target = if here { scope } else { &mut inner_scope };
    walk.run(inner, target, own);
    true
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
    scope.folders = std::rc::Rc::new(scope.folders.iter().map(|from| folder.from_folder(from)).collect());
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
        let end =
            words[at..].iter().position(|word| word.is(";") || word.is("+")).map_or(words.len(), |n| at + n);
        let named = found(simple).unwrap_or_default();
        let inner: Vec<Word> = words[at + 1..end].iter().map(|word| placeholder(word, &named)).collect();
        if !inner.is_empty() {
            let command = Simple { words: inner, writes: Vec::new(), ..simple.clone() };
            walk.run(command, &mut scope.clone(), scope);
        }
        at = end + 1;
    }
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
