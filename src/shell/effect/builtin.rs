//! What the shell's own commands may do, and which variables a line may set.
//!
//! Invariant: a variable that changes what other programs do, or one whose name the line does not say, is never set by a
//! line that counts as reading.

use super::line::Said;
use super::options::Sorted;
use super::table::Command;
use crate::model::call::Effect;
use crate::shell::syntax::{Line, Word, is_armed};

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
pub(super) fn variables(line: &Line) -> Said {
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
fn own_names<'a>(command: &Command, words: impl Iterator<Item = &'a Word>) -> Said {
    for word in words {
        let name = word.lossy();
        let name = name.split('=').next().unwrap_or_default().trim_end_matches('+');
        let firm = word.shifts.is_none_or(|at| at > name.chars().count());
        if !firm || !is_own(name) || is_armed(word) {
            return Err(command.refused(name));
        }
    }
    Ok(Effect::Read)
}

pub(super) fn declare(command: &Command) -> Said {
    let sorted = command.sorted(&["-aAirgpfFlu"])?;
    own_names(command, sorted.operands.into_iter())
}

/// What is exported reaches other programs: only what changes how they print.
pub(super) fn export(command: &Command) -> Said {
    let sorted = command.sorted(&["-p"])?;
    let free = ["LC_ALL=", "LANG=", "TZ=", "NO_COLOR="];
    match sorted.operands.iter().find(|word| !free.iter().any(|name| word.starts_with(name))) {
        Some(word) => Err(command.refused(&word.lossy())),
        None => Ok(Effect::Read),
    }
}

pub(super) fn read(command: &Command) -> Said {
    let sorted = command.sorted(&["-rse -a= -d= -n= -N= -p= -t= -u= -i="])?;
    let Sorted { operands, .. } = &sorted;
    own_names(command, operands.iter().copied().chain(sorted.values(&["-a"])))
}

/// `-C` runs a program for each line.
pub(super) fn mapfile(command: &Command) -> Said {
    let sorted = command.sorted(&["-t -d= -n= -O= -s= -u="])?;
    own_names(command, sorted.operands.into_iter())
}

pub(super) fn printf(command: &Command) -> Said {
    let first = command.arguments.first();
    let named = first.filter(|word| word.starts_with("-v") || word.shifts == Some(0) && word.splits);
    match named {
        // An index in the name is evaluated.
        Some(_) if command.arguments.iter().any(is_armed) => Err(command.refused("-v")),
        Some(word) if !word.is("-v") => Err(command.refused(&word.lossy())),
        Some(_) => own_names(command, command.arguments.get(1).into_iter()),
        None => Ok(Effect::Read),
    }
}

/// Where the shell expects a number it evaluates text, and an index in it may run a program.
pub(super) fn test(command: &Command) -> Said {
    match command.arguments.iter().find(|word| is_armed(word)) {
        Some(word) => Err(command.refused(&word.lossy())),
        None => Ok(Effect::Read),
    }
}

/// `-a` exports, `-k` makes arguments assignments.
pub(super) fn set(command: &Command) -> Said {
    for word in command.arguments {
        let text = word.lossy();
        if text == "--" || text == "-" {
            break;
        }
        let letters = text.strip_prefix(['-', '+']).unwrap_or_default();
        let name =
            matches!(text.as_str(), "pipefail" | "errexit" | "nounset" | "xtrace" | "verbose" | "noglob");
        let plain = !letters.is_empty() && letters.chars().all(|c| "beEfhmoTuvxC".contains(c));
        if !word.is_firm() || !(plain || name) {
            return Err(command.refused(&text));
        }
    }
    Ok(Effect::Read)
}

/// The program of a trap was read on its own, if it stands in the line.
pub(super) fn trap(command: &Command) -> Said {
    let firm = command.arguments.iter().all(Word::is_firm);
    if firm { Ok(Effect::Read) } else { Err(command.refused("")) }
}

/// Listing them reads; one that is defined changes what later words mean.
pub(super) fn alias(command: &Command) -> Said {
    match command.arguments.iter().find(|word| word.lossy().contains('=') || !word.is_firm()) {
        Some(word) => Err(command.refused(&word.lossy())),
        None => Ok(Effect::Read),
    }
}

/// A function that is taken away uncovers the program of its name.
pub(super) fn unset(command: &Command) -> Said {
    let sorted = command.sorted(&["-v"])?;
    if !command.line.functions.is_empty() {
        return Err(command.refused(""));
    }
    own_names(command, sorted.operands.into_iter())
}
