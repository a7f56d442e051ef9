//! Looks inside commands that run other commands: `sudo`, `env`, `xargs`, `sh -c`, `eval`, `find -exec` and kin.

use super::found::found;
use super::walk::{Scope, Walk};
use super::{Bit, Simple, Word};

/// A command whose arguments are another command.
struct Wrapper {
    name: &'static str,
    /// Its options that take a value of their own.
    valued: &'static [&'static str],
    /// Operands before the command.
    operands: usize,
}

const fn wrapper(name: &'static str, valued: &'static [&'static str], operands: usize) -> Wrapper {
    Wrapper { name, valued, operands }
}

static WRAPPERS: &[Wrapper] = &[
    wrapper(
        "sudo",
        &["-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D", "-R", "--user", "--group", "--chdir"],
        0,
    ),
    wrapper("doas", &["-u", "-C"], 0),
    wrapper("env", &["-u", "-C", "--unset", "--chdir", "-P"], 0),
    wrapper("nohup", &[], 0),
    wrapper("nice", &["-n", "--adjustment"], 0),
    wrapper("ionice", &["-c", "-n", "-p"], 0),
    wrapper("time", &["-f", "--format"], 0),
    wrapper("timeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    wrapper("gtimeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    wrapper("setsid", &[], 0),
    wrapper("stdbuf", &["-i", "-o", "-e"], 0),
    wrapper("command", &[], 0),
    wrapper("exec", &["-a"], 0),
    wrapper("builtin", &[], 0),
    wrapper("busybox", &[], 0),
    wrapper("toybox", &[], 0),
    wrapper("unbuffer", &[], 0),
    wrapper("chronic", &[], 0),
    wrapper("caffeinate", &["-t", "-w"], 0),
    wrapper("taskset", &[], 1),
    wrapper("chrt", &[], 1),
    wrapper("chroot", &[], 1),
    wrapper("unshare", &[], 0),
    wrapper("setarch", &[], 1),
    wrapper("strace", &["-e", "-p", "-s", "-u"], 0),
    wrapper("ltrace", &["-e", "-p", "-s", "-u"], 0),
    wrapper("flock", &["-w", "-E"], 1),
    wrapper(
        "xargs",
        &[
            "-I",
            "-i",
            "-n",
            "-P",
            "-L",
            "-d",
            "-s",
            "-E",
            "-J",
            "-R",
            "--max-args",
            "--max-procs",
            "--replace",
            "--delimiter",
            "--max-lines",
        ],
        0,
    ),
    wrapper("parallel", &["-j", "--jobs", "-n", "-N", "-a"], 0),
];

/// Programs that read a shell program.
const SHELLS: [&str; 10] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "fish", "yash"];

/// Walk what this command runs. `false`: it runs nothing else, keep it as it is.
pub(super) fn look_inside(walk: &mut Walk, simple: &Simple, scope: &mut Scope, own: &Scope) -> bool {
    let Some(name) = simple.name() else { return false };
    let arguments = &simple.words[1..];
    if SHELLS.contains(&name.as_str()) || name == "su" {
        return shell(walk, simple, own, &name);
    }
    match name.as_str() {
        "eval" => {
            let words: Vec<&Word> = arguments.iter().filter(|word| !word.is("--")).collect();
            texts(walk, &words, scope)
        }
        "watch" => {
            let words: Vec<&Word> = arguments.iter().skip_while(|word| word.is_option()).collect();
            texts(walk, &words, &mut scope.clone())
        }
        "trap" => {
            let first: Vec<&Word> = arguments.iter().filter(|word| !word.is_option()).take(1).collect();
            texts(walk, &first, &mut scope.clone())
        }
        "script" => {
            let code = |pair: &[Word]| pair[0].is_option() && pair[0].lossy().ends_with(['c', 'd']);
            let given: Vec<&Word> =
                arguments.windows(2).find(|pair| code(pair)).map(|pair| &pair[1]).into_iter().collect();
            texts(walk, &given, &mut scope.clone())
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
        return None;
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
            folder_option(&text, value.as_ref(), wrapper, &mut inner_scope);
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
    scope.folders = scope.folders.iter().map(|from| folder.from_folder(from)).collect();
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
