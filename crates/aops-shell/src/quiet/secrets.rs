//! Whether a line may show a secret of the environment, or of a file that it names.
//!
//! Reads the line, but no file. Invariants: a variable shows its value unless it is known to hold no secret;
//! a command shows the files that it names unless it is known to keep silent about them.

use super::places::{LISTERS, WORDS_ONLY};
use super::programs;
use crate::commands;
use crate::danger::{is_secret_name, keeps_values, may_be_secret, names_secret};
use crate::syntax::{Line, Simple, Word};

/// Variables of the shell and the system that hold no secret.
#[rustfmt::skip]
const PLAIN: &[&str] = &[
    "BASH", "BASHPID", "BASH_SOURCE", "BASH_SUBSHELL", "BASH_VERSION", "CARGO_HOME", "CI", "CLAUDE_PROJECT_DIR",
    "CLAUDE_SCRATCHPAD_DIR", "COLORTERM", "COLUMNS", "CONDA_PREFIX", "DISPLAY", "EDITOR", "EPOCHREALTIME",
    "EPOCHSECONDS", "EUID", "FUNCNAME", "GID", "GOPATH", "GOROOT", "HOME", "HOST", "HOSTNAME", "HOSTTYPE", "IFS",
    "JAVA_HOME", "LANG", "LANGUAGE", "LINENO", "LINES", "LOGNAME", "MACHTYPE", "NODE_ENV", "NVM_DIR", "OLDPWD",
    "OPTARG", "OPTIND", "OSTYPE", "PAGER", "PATH", "PIPESTATUS", "PPID", "PS1", "PWD", "PYTHONPATH", "RANDOM",
    "REPLY", "RUSTUP_HOME", "SECONDS", "SHELL", "SHLVL", "SRANDOM", "TEMP", "TERM", "TERM_PROGRAM", "TMP",
    "TMPDIR", "TZ", "UID", "USER", "USERNAME", "VIRTUAL_ENV", "VISUAL", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME",
    "ZSH_VERSION",
];
const PLAIN_FAMILIES: &[&str] = &["LC_", "XDG_"];
/// Commands that show nothing of their standard input.
const DEAF: &[&str] = &[
    ":", "[", "[[", "b2sum", "cksum", "echo", "md5sum", "printf", "sha1sum", "sha256sum", "sha512sum",
    "shasum", "test", "true", "wc",
];
/// Verbs of git that show no content of a file.
const GIT: &[&str] = &["check-attr", "check-ignore", "ls-files", "ls-tree", "status"];
/// Their first operand is a pattern and no file.
const SEARCHERS: &[&str] = &["ack", "ag", "egrep", "fgrep", "grep", "rg", "zgrep"];

/// Whether the line may show a secret. `strictly`: so may any variable that is not known to hold none.
pub(super) fn shows(line: &Line, strictly: bool) -> bool {
    programs(line).any(lists_environment) || expands_secret(line, strictly) || shows_file(line)
}

/// `env`, `declare -p`, `ps e`, `jq -n env`: the environment without a `$`.
fn lists_environment(simple: &Simple) -> bool {
    let texts: Vec<String> = simple.words.iter().skip(1).map(Word::lossy).collect();
    let has = |sign: &str| texts.iter().any(|text| text.contains(sign));
    match simple.name() {
        Some("env" | "envsubst") => true,
        Some("printenv") => texts.is_empty() || texts.iter().any(|name| !is_plain(name)),
        Some("declare" | "export" | "local" | "readonly" | "typeset") => {
            let is_option = |text: &String| text.starts_with('-');
            texts.iter().all(is_option) || texts.iter().any(|text| is_option(text) && text.contains('p'))
        }
        Some("set") => texts.is_empty(),
        Some("ps") => {
            let shows =
                |text: &str| text.contains(['e', 'E']) && text.bytes().all(|b| b.is_ascii_alphabetic());
            let mut before = "";
            texts.iter().any(|text| {
                let is_value = std::mem::replace(&mut before, text).starts_with('-');
                !is_value && shows(text)
            })
        }
        Some("awk" | "gawk" | "mawk" | "nawk") => has("ENVIRON"),
        Some("jq" | "yq") => texts.iter().any(|text| asks_environment(text)),
        _ => false,
    }
}

/// `env.X`, `$ENV.X`, `strenv(X)` in a program of `jq` or `yq`; `.env` is a field.
fn asks_environment(program: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    ["env", "ENV"].iter().flat_map(|name| program.match_indices(name)).any(|(at, name)| {
        let before = program[..at].trim_end_matches("str");
        let after = program[at + name.len()..].trim_start_matches("subst");
        !before.ends_with(|c| is_part(c) || matches!(c, '.' | '"' | '-' | '/'))
            && !after.starts_with(|c| is_part(c) || c == '-')
    })
}

fn is_plain(name: &str) -> bool {
    PLAIN.contains(&name) || PLAIN_FAMILIES.iter().any(|family| name.starts_with(family))
}

/// Whether the line expands a variable that may hold a secret. Text in single quotes is mostly a program of
/// another language, so only a secret's name counts there.
fn expands_secret(line: &Line, strictly: bool) -> bool {
    let text = line.text.as_str();
    // With these a single quote may be a letter of a text, or the text a program of the shell.
    let is_odd = ["<<", "#", "$'", "sh ", "eval", "trap"].iter().any(|sign| text.contains(sign));
    let is_set = |name: &str| line.variables.get(name).is_some_and(|held| held.set);
    let mut quote = None;
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' if quote != Some('\'') && !text[at + 1..].starts_with('$') => {
                letters.next();
            }
            '\'' | '"' if !is_odd && quote.is_none_or(|open| open == letter) => {
                quote = if quote.is_none() { Some(letter) } else { None };
            }
            '$' => {
                let rest = &text[at + 1..];
                let is_program = quote == Some('\'');
                match expanded(rest) {
                    Expanded::Named(name) if is_secret_name(name) => return true,
                    Expanded::Named(name) if strictly && !is_program && !is_plain(name) && !is_set(name) => {
                        return true;
                    }
                    Expanded::Anything if strictly && !is_program => return true,
                    _ => {}
                }
            }
            _ => {}
        }
    }
    false
}

enum Expanded<'t> {
    /// Nothing, or nothing of a variable's value.
    Nothing,
    Named(&'t str),
    /// `${!x}`, `${(P)x}`: the line does not say which variable.
    Anything,
}

/// What a `$` with this text behind it expands to.
fn expanded(rest: &str) -> Expanded<'_> {
    let (inner, is_braced) = rest.strip_prefix('{').map_or((rest, false), |inner| (inner, true));
    // In zsh `$=x` and `$~x` are variables too.
    let inner = inner.trim_start_matches(['=', '~', '^']);
    let end = inner.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(inner.len());
    let (name, after) = inner.split_at(end);
    let is_list = after.starts_with("[@]}") || after.starts_with("[*]}");
    match name.chars().next() {
        Some(first) if first.is_ascii_digit() => Expanded::Nothing,
        // `${x:+set}` tells only whether there is a value.
        Some(_) if is_braced && (after.starts_with(":+") || after.starts_with('+')) => Expanded::Nothing,
        Some(_) => Expanded::Named(name),
        None if is_braced && inner.starts_with('!') && !is_list => Expanded::Anything,
        None if is_braced && inner.starts_with('(') => Expanded::Anything,
        None => Expanded::Nothing,
    }
}

/// Whether a command may show a file of secrets that the line names: every such name in its text must be a
/// word of a command that keeps silent about it.
fn shows_file(line: &Line) -> bool {
    let mut silent = 0;
    for simple in programs(line) {
        let name = simple.name().unwrap_or_default();
        let pattern = pattern(simple);
        for (at, word) in simple.words.iter().enumerate().skip(1) {
            if Some(at) == pattern || is_silent(simple, line) || keeps_values(simple, word) {
                silent += secrets(&word.lossy());
            } else if names_secret(simple, word) {
                return true;
            }
        }
        for word in simple.arriving.iter().filter(|_| simple.fed.is_empty()) {
            if DEAF.contains(&name) || keeps_values(simple, word) {
                silent += secrets(&word.lossy());
            } else if names_secret(simple, word) {
                return true;
            }
        }
    }
    secrets(&line.text) > silent
}

/// How many names of files of secrets are in this text.
fn secrets(text: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || "._/~@+%*?-".contains(c);
    text.split(|c| !is_part(c)).filter(|part| may_be_secret(part)).count()
}

/// Whether the command shows nothing of the files that its words name.
fn is_silent(simple: &Simple, line: &Line) -> bool {
    let Some(name) = simple.name() else { return false };
    let verb = || simple.words.iter().skip(1).find(|word| !word.is_option());
    let is_known = match name {
        "git" => verb().is_some_and(|verb| GIT.iter().any(|known| verb.is(known))),
        "cd" => true,
        _ => WORDS_ONLY.contains(&name) || LISTERS.contains(&name),
    };
    is_known && !commands::opens_unnamed(name, simple, line)
}

/// The position of the word that is the pattern of a search.
fn pattern(simple: &Simple) -> Option<usize> {
    let gives = |word: &Word| {
        let text = word.lossy();
        let is_short = text.starts_with('-') && !text.starts_with("--");
        is_short && text.contains(['e', 'f']) || text.starts_with("--regexp") || text.starts_with("--file")
    };
    simple.name().filter(|name| SEARCHERS.contains(name))?;
    if simple.words.iter().any(gives) {
        return None;
    }
    (1..simple.words.len()).find(|at| !simple.words[*at].is_option())
}
