//! What the shell's own commands may do, and which variables a line may set.
//!
//! Invariant: a variable that changes what other programs do, or one whose name the line does not say, is never set by a
//! line that counts as reading.

use super::command::{Class, Invocation};
use crate::effect::Effect;
use crate::syntax::{Line, Word, is_armed};

/// Variables that choose programs, files or the way a line is read.
#[rustfmt::skip]
static CHOOSING: &[&str] = &[
    "BROWSER", "CDPATH", "CFLAGS", "DISPLAY", "EDITOR", "ENV", "EXECIGNORE", "FCEDIT", "FIGNORE", "FPATH",
    "FUNCNEST", "GLOBIGNORE", "GOFLAGS", "HOME", "INPUTRC", "MAKEFLAGS", "PAGER", "PATH", "PROMPT_COMMAND",
    "PWD", "SHELL", "SHELLOPTS", "TMPDIR", "VISUAL", "ZDOTDIR", "aliases",
    "commands", "fpath", "functions", "galiases", "path",
];

/// Beginnings of names that programs look for.
#[rustfmt::skip]
static FAMILIES: &[&str] = &[
    "ACA_", "AOPS", "BASH", "BAT_", "BD_", "BEADS", "CARGO", "CLAUDE", "CURL_", "DOCKER_", "DYLD_", "GH_", "GIT_",
    "GPG", "GREP_", "HIST", "JAVA_", "JQ_", "LD_", "LESS", "MAN", "NODE_", "NPM_", "PERL", "PIP_", "PS4", "PYTHON",
    "RIPGREP", "RUBY", "RUST", "SSH_", "XDG_",
];

/// A variable a line may set: no other program looks at it.
fn is_own(name: &str) -> bool {
    let word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty();
    word && !CHOOSING.contains(&name)
        && !FAMILIES.iter().any(|family| name.starts_with(family))
        && !name.ends_with("PAGER")
        && !name.ends_with("EDITOR")
}

/// Every variable the line sets, and every one it computes with.
pub fn variables(line: &Line) -> Class {
    let number = |name: &&String| match line.variables.get(*name) {
        Some(held) => held.number || !held.set,
        // What the line does not set, the shell has counted itself; its arguments may be anything.
        None => !name.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '@' | '*')),
    };
    if let Some(name) = line.numbers.iter().find(|name| !number(name)) {
        return Err(format!("it computes with `{name}`, which may be a program"));
    }
    for (name, held) in line.variables.iter().filter(|(_, held)| held.set) {
        let blank = name == "IFS" && held.blank;
        // `read -p 'Go on? ' x`: what is no name is no variable.
        let no_name = name.contains([' ', '?', ':', '.']) || name.is_empty();
        if held.armed || !blank && (name == "IFS" || !is_own(name) && !no_name) {
            return Err(format!("it sets `{}`", name.replace('`', " ")));
        }
    }
    Ok(Effect::Read)
}

/// Words that name variables, with or without a value.
fn own_names<'a>(command: &Invocation, words: impl Iterator<Item = &'a Word>) -> Class {
    for word in words {
        let name = word.lossy();
        let name = name.split('=').next().unwrap_or_default().trim_end_matches('+');
        let firm = word.shifts.is_none_or(|at| at > name.chars().count());
        if !firm || !is_own(name) || is_armed(word) {
            return Err(command.refusal(name));
        }
    }
    Ok(Effect::Read)
}

pub(super) fn declare(command: &Invocation) -> Class {
    own_names(command, command.sorted()?.operands.into_iter())
}

/// Variables that other programs read but that only change how they print.
pub const PRINTING: [&str; 4] = ["LC_ALL", "LANG", "TZ", "NO_COLOR"];

/// An exported variable reaches other programs.
pub(super) fn export(command: &Invocation) -> Class {
    let prints = |word: &Word| {
        let text = word.lossy();
        text.split_once('=').is_some_and(|(name, _)| PRINTING.contains(&name))
    };
    command.unless(command.sorted()?.operands.into_iter().find(|word| !prints(word)))
}

pub(super) fn read(command: &Invocation) -> Class {
    let sorted = command.sorted()?;
    own_names(command, sorted.operands.iter().copied().chain(sorted.values(&["-a"])))
}

pub(super) fn printf(command: &Invocation) -> Class {
    let first = command.arguments.first();
    let named = first.filter(|word| word.starts_with("-v") || word.shifts == Some(0) && word.splits);
    match named {
        // An index in the name is evaluated.
        Some(_) if command.arguments.iter().any(is_armed) => Err(command.refusal("-v")),
        Some(word) if !word.is("-v") => Err(command.refusal(&word.lossy())),
        Some(_) => own_names(command, command.arguments.get(1).into_iter()),
        None => Ok(Effect::Read),
    }
}

/// Where the shell expects a number it evaluates text, and an index in it may run a program.
pub(super) fn test(command: &Invocation) -> Class {
    command.unless(command.arguments.iter().find(|word| is_armed(word)))
}

/// `-a` exports, `-k` makes arguments assignments.
pub(super) fn set(command: &Invocation) -> Class {
    let names = ["pipefail", "errexit", "nounset", "xtrace", "verbose", "noglob"];
    let harmless = |word: &Word| {
        let text = word.lossy();
        let letters = text.strip_prefix(['-', '+']).unwrap_or_default();
        let plain = !letters.is_empty() && letters.chars().all(|c| "beEfhmoTuvxC".contains(c));
        word.is_firm() && (plain || names.contains(&text.as_str()))
    };
    let mut options = command.arguments.iter().take_while(|word| !word.is("--") && !word.is("-"));
    command.unless(options.find(|word| !harmless(word)))
}

/// The program of a trap was read on its own, if it stands in the line.
pub(super) fn trap(command: &Invocation) -> Class {
    command.reads_if(command.arguments.iter().all(Word::is_firm), "")
}

/// Listing aliases reads; defining one changes what later words mean.
pub(super) fn alias(command: &Invocation) -> Class {
    command.unless(command.arguments.iter().find(|word| word.lossy().contains('=') || !word.is_firm()))
}

/// Removing a function uncovers the program of its name.
pub(super) fn unset(command: &Invocation) -> Class {
    let sorted = command.sorted()?;
    if !command.line.functions.is_empty() {
        return Err(command.refusal(""));
    }
    own_names(command, sorted.operands.into_iter())
}
