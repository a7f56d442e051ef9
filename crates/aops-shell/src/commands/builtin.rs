//! What the shell's own commands may do, and which variables a line may set.
//!
//! Invariant: a line that counts as reading never sets a variable that changes what other programs do, or one
//! whose name is not in the line.

use super::command::{Class, Invocation};
use super::options::clean;
use crate::effect::Effect;
use crate::syntax::{Bit, Line, Word, is_armed, is_set_by_shell};

/// Variables that choose programs or files, or change how a line is parsed.
static CHOOSING: &[&str] = &[
    "BROWSER", "CDPATH", "CFLAGS", "DISPLAY", "EDITOR", "ENV", "EXECIGNORE", "FCEDIT", "FIGNORE", "FPATH",
    "FUNCNEST", "GLOBIGNORE", "GOFLAGS", "HOME", "INPUTRC", "MAKEFLAGS", "PAGER", "PATH", "PROMPT_COMMAND",
    "NULLCMD", "POSIXLY_CORRECT", "PWD", "READNULLCMD", "SHELL", "SHELLOPTS", "STTY", "TERM", "TMPDIR",
    "VISUAL", "WATCHFMT", "aliases", "cdpath", "commands", "fpath", "functions", "galiases", "histchars",
    "manpath", "module_path", "nameddirs", "options", "parameters", "path", "prompt", "saliases", "watch",
];

/// Prefixes of variables that other programs read.
static FAMILIES: &[&str] = &[
    "ACA_", "AOPS", "BASH", "BAT_", "BD_", "BEADS", "CARGO", "CLAUDE", "CURL_", "DOCKER_", "DYLD_", "GH_",
    "GIT_", "AWS_", "BZIP", "GO", "GPG", "GREP_", "GZIP", "HELM", "HIST", "JAVA_", "KUBE", "JQ_", "LD_",
    "LESS", "MAN", "NODE_", "NPM_", "PERL", "PIP_", "PS4", "PYTHON", "PROMPT", "PS1", "PS2", "PS3",
    "RIPGREP", "RPROMPT", "RUBY", "RUST", "SSH_", "TAR_", "TF_", "UNZIP", "UV_", "XDG_", "XZ_", "YARN_",
    "ZDOT", "ZIP", "ZSTD_", "npm_",
];

/// Whether a line may set this variable: no other program reads it.
fn is_own(name: &str) -> bool {
    let word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty();
    word && !CHOOSING.contains(&name)
        && !FAMILIES.iter().any(|family| name.starts_with(family))
        && !name.ends_with("PAGER")
        && !name.ends_with("EDITOR")
}

/// Variables that zsh keeps as numbers: it evaluates what is assigned to them.
static INTEGERS: &[&str] = &[
    "BAUD", "COLUMNS", "DIRSTACKSIZE", "EGID", "ERRNO", "EUID", "FUNCNEST", "GID", "HISTCMD", "HISTSIZE",
    "KEYTIMEOUT", "LINENO", "LINES", "LISTMAX", "LOGCHECK", "MAILCHECK", "OPTIND", "PPID", "RANDOM",
    "REPORTMEMORY", "REPORTTIME", "SAVEHIST", "SECONDS", "SHLVL", "SRANDOM", "TMOUT", "TRY_BLOCK_ERROR",
    "TTYIDLE", "UID", "status",
];

/// The class of every variable that the line sets or computes with.
pub fn variables(line: &Line) -> Class {
    let number = |name: &String| match line.variables.get(name) {
        Some(held) => held.set && held.number,
        None => ["RANDOM", "SECONDS", "LINENO", "EPOCHSECONDS", "UID", "PPID"].contains(&name.as_str()),
    };
    let index =
        |name: &String| !is_set_by_shell(name) && line.variables.get(name).is_none_or(|held| !held.set);
    let texts = line.indexes.iter().filter(|name| !index(name));
    if let Some(name) = line.numbers.iter().chain(texts).find(|name| !number(name)) {
        return Err(format!("it computes with `{}`, which may be a program", clean(name)));
    }
    for (name, held) in line.variables.iter().filter(|(_, held)| held.set) {
        let is_free = match name.as_str() {
            "IFS" => held.blank,
            name if INTEGERS.contains(&name) => held.number,
            name => is_own(name),
        };
        if held.armed || !is_free {
            return Err(format!("it sets `{}`", clean(name)));
        }
    }
    Ok(Effect::Read)
}

/// Whether a word is always a number: digits, sums, or variables that hold only those.
pub(super) fn is_number(word: &Word, line: &Line) -> bool {
    let counted = |name: &String| {
        matches!(name.as_str(), "#" | "?" | "!" | "$")
            || line.variables.get(name).is_some_and(|held| held.set && held.number)
    };
    let mut names = word.filled.iter().chain(&word.unknown);
    let unknown = word.bits.iter().filter(|bit| **bit == Bit::Any).count();
    let digits = |bit: &Bit| matches!(bit, Bit::Any | Bit::Char('0'..='9' | '.'));
    let body = word.bits.strip_prefix(&[Bit::Char('-')]).unwrap_or(&word.bits);
    unknown <= word.sums + names.clone().count() && names.all(counted) && body.iter().all(digits)
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

/// With an array, a number or a function, the value is evaluated or run.
pub(super) fn declare(command: &Invocation) -> Class {
    let sorted = command.sorted()?;
    let computes = sorted.has(&["-a", "-A", "-f", "-F"]);
    let valued = |word: &&&Word| computes && word.bits.contains(&Bit::Char('='));
    command.unless(sorted.operands.iter().find(valued).copied())?;
    own_names(command, sorted.operands.into_iter())
}

/// Variables that only change how other programs print.
#[rustfmt::skip]
static PRINTING: &[&str] = &[
    "CARGO_TERM_COLOR", "CI", "CLICOLOR", "CLICOLOR_FORCE", "DOCKER_CLI_HINTS", "FORCE_COLOR", "GIT_OPTIONAL_LOCKS",
    "GIT_TERMINAL_PROMPT", "HOMEBREW_NO_AUTO_UPDATE", "LANG", "NODE_NO_WARNINGS", "NO_COLOR", "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED", "PY_COLORS", "RUST_BACKTRACE", "RUST_LOG", "TZ",
];

/// Variables that other programs read but that only change how they print; some only with such a value.
pub fn only_prints(name: &str, value: &Word) -> bool {
    let firm = value.is_firm();
    match name {
        name if PRINTING.contains(&name) => firm,
        "COLUMNS" | "LINES" => firm && value.bits.iter().all(|bit| matches!(bit, Bit::Char('0'..='9'))),
        "TERM" => {
            ["dumb", "xterm", "xterm-256color", "vt100", "screen"].iter().any(|known| firm && value.is(known))
        }
        name if name.ends_with("PAGER") => firm && (value.bits.is_empty() || value.is("cat")),
        name => name.starts_with("LC_") && firm,
    }
}

/// An exported variable reaches other programs.
pub(super) fn export(command: &Invocation) -> Class {
    let prints = |word: &Word| {
        let name = word.lossy();
        let name = name.split('=').next().unwrap_or_default();
        word.past('=').is_some_and(|value| only_prints(name, &value))
    };
    command.unless(command.sorted()?.operands.into_iter().find(|word| !prints(word)))
}

pub(super) fn read(command: &Invocation) -> Class {
    let sorted = command.sorted()?;
    command.unless(sorted.values(&["-t", "-n", "-N", "-u"]).find(|word| !word.is_firm()))?;
    own_names(command, sorted.operands.iter().copied().chain(sorted.values(&["-a"])))
}

pub(super) fn printf(command: &Invocation) -> Class {
    let first = command.arguments.first();
    let named = first.filter(|word| word.starts_with("-v") || word.shifts == Some(0) && word.splits);
    match named {
        // An index in the name is evaluated by the shell.
        Some(_) if command.arguments.iter().any(is_armed) => Err(command.refusal("-v")),
        Some(word) if !word.is("-v") => Err(command.refusal(&word.lossy())),
        Some(_) => {
            own_names(command, command.arguments.get(1).into_iter())?;
            formatted(command, command.arguments.get(2..).unwrap_or_default())
        }
        None => formatted(command, command.arguments),
    }
}

/// zsh evaluates what is printed as a number, and `%n` sets a variable.
fn formatted(command: &Invocation, words: &[Word]) -> Class {
    let words = if words.first().is_some_and(|word| word.is("--")) { &words[1..] } else { words };
    let Some((format, values)) = words.split_first().filter(|(_, values)| !values.is_empty()) else {
        return Ok(Effect::Read);
    };
    let kinds = conversions(&format.lossy());
    command.reads_if(format.is_firm() && !kinds.contains(&'n'), "")?;
    let splits = |word: &Word| word.splits && !is_number(word, command.line);
    let counts = |at: usize| match kinds.len() {
        0 => false,
        // After a word that may split into several, any later word may be the number.
        _ if values[..=at].iter().any(splits) => kinds.contains(&'d'),
        all => kinds[at % all] == 'd',
    };
    let odd = values.iter().enumerate().find(|(at, word)| counts(*at) && !is_number(word, command.line));
    command.unless(odd.map(|(_, word)| word))
}

/// What each argument of a format is read as: `d` for a number, `s` for text, `n` for a variable.
fn conversions(format: &str) -> Vec<char> {
    let mut all = Vec::new();
    for part in format.replace("%%", "").split('%').skip(1) {
        // `%(…)T` takes a time, and `*` a width.
        let part = part.rsplit_once(")T").map_or(part, |_| "d");
        let end = part.find(|c: char| c.is_ascii_alphabetic() && !"hlLjzt".contains(c)).unwrap_or(part.len());
        all.extend(part[..end].chars().filter(|c| *c == '*').map(|_| 'd'));
        all.extend(part[end..].chars().next().map(|letter| match letter {
            's' | 'b' | 'q' | 'Q' => 's',
            'n' => 'n',
            _ => 'd',
        }));
    }
    all
}

/// `exit`, `shift`, `break` and the like: zsh evaluates their argument.
pub(super) fn counted(command: &Invocation) -> Class {
    command.unless(command.arguments.iter().find(|word| !is_number(word, command.line)))
}

/// `-p` names a variable to set.
pub(super) fn wait(command: &Invocation) -> Class {
    let known = |word: &Word| word.is("-n") || word.is("-f") || word.starts_with("%") && word.is_firm();
    command.unless(
        command
            .arguments
            .iter()
            .find(|word| !known(word) && (word.is_option() || !is_number(word, command.line))),
    )
}

/// Shell options can change the meaning of every later word.
pub(super) fn set(command: &Invocation) -> Class {
    let names = ["pipefail", "errexit", "nounset", "xtrace", "verbose", "noglob"];
    let harmless = |word: &Word| {
        let text = word.lossy();
        let letters = text.strip_prefix(['-', '+']).unwrap_or_default();
        let plain = !letters.is_empty() && letters.chars().all(|c| "eEfouvxC".contains(c));
        word.is_firm() && (plain || names.contains(&text.as_str()))
    };
    let mut options = command.arguments.iter().take_while(|word| !word.is("--") && !word.is("-"));
    command.unless(options.find(|word| !harmless(word)))
}

pub(super) fn shopt(command: &Invocation) -> Class {
    let names = ["nullglob", "globstar", "dotglob", "nocaseglob", "nocasematch", "failglob"];
    let sorted = command.sorted()?;
    let sets = sorted.has(&["-s", "-u"]);
    command.unless(
        sorted
            .operands
            .into_iter()
            .find(|word| sets && !names.iter().any(|name| word.is(name) && word.is_firm())),
    )
}

/// The program of a trap has been read on its own, if the line contains it.
pub(super) fn trap(command: &Invocation) -> Class {
    command.reads_if(command.arguments.iter().all(Word::is_firm), "")
}

/// A bare name is only shown; `name=value` sets it: for `alias` the meaning of later words, for `sysctl` the
/// kernel.
pub(super) fn show(command: &Invocation) -> Class {
    let sorted = command.sorted()?;
    command.unless(sorted.operands.into_iter().find(|word| word.lossy().contains('=') || !word.is_firm()))
}

/// Removing a function uncovers the program of its name.
pub(super) fn unset(command: &Invocation) -> Class {
    let sorted = command.sorted()?;
    if !command.line.functions.is_empty() {
        return Err(command.refusal(""));
    }
    own_names(command, sorted.operands.into_iter())
}

#[cfg(test)]
mod tests {
    use super::conversions;

    #[test]
    fn a_format_says_what_its_arguments_are() {
        let read = |format: &str| conversions(format).into_iter().collect::<String>();
        assert_eq!(read("%s\n"), "s");
        assert_eq!(read("%-10s|%5.2f%%|%ld"), "sdd");
        assert_eq!(read("%*d %n"), "ddn");
        assert_eq!(read("%(%F)T %b"), "ds");
        assert_eq!(read("100%"), "");
    }
}
