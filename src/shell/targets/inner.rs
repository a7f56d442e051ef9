//! Commands in the arguments of commands nobody knows: `tmux new "cp a b"`, `uv run python -c …`, `ssh host rm a`.

use super::operand::sort;
use crate::shell::syntax::{Bit, Word, is_text};

/// Commands that take words for people, or for another machine.
#[rustfmt::skip]
static ELSEWHERE: &[&str] = &[
    "adb", "aops-hook", "aws", "az", "bd", "claude", "codex", "curl", "docker", "fly", "gcloud", "gemini", "gh", "glab",
    "http", "hub", "jira", "kubectl", "linear", "llm", "logger", "mail", "nerdctl", "notify-send", "oc", "podman", "say",
    "slack", "wall", "wget",
];

/// Options whose value is a message.
#[rustfmt::skip]
static MESSAGES: &[&str] = &[
    "--body", "--comment", "--description", "--header", "--message", "--notes", "--prompt", "--query", "--reason",
    "--subject", "--text", "--title", "-H", "-m",
];

/// Commands worth finding behind others.
#[rustfmt::skip]
static BEHIND: &[&str] = &[
    "awk", "bash", "bun", "chmod", "chown", "cp", "dash", "dd", "deno", "env", "find", "ln", "mv", "node", "perl", "php",
    "python", "python3", "rm", "rmdir", "rsync", "ruby", "sed", "sh", "shred", "sudo", "tar", "tee", "truncate", "tsx",
    "unlink", "xargs", "zsh",
];

/// Lines that may run when this command does. Everything else it names is its own business.
pub(super) fn lines(name: Option<&str>, words: &[Word]) -> Vec<String> {
    if name.is_some_and(goes_elsewhere) {
        return Vec::new();
    }
    let arguments = words.get(1..).unwrap_or_default();
    if name == Some("ssh") {
        let valued =
            ["-b", "-c", "-D", "-E", "-F", "-i", "-J", "-l", "-L", "-m", "-o", "-p", "-R", "-S", "-w", "-W"];
        let sorted = sort(arguments, &valued);
        let remote = sorted.operands.iter().skip(1).map(code).collect::<Vec<_>>().join(" ");
        let options = sorted.given(&["-o"]).into_iter().filter_map(|word| word.past('='));
        return options.map(|word| code(&word)).chain([remote]).filter(|line| !line.is_empty()).collect();
    }
    let mut all = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        if has_blanks(word) && !is_message(arguments, at) {
            let glued = (word.is_option() && !word.starts_with("--")).then(|| word.after(2));
            let parts = [word.past('=').filter(has_blanks), glued, Some(word.clone())];
            all.extend(parts.iter().flatten().map(code));
        }
    }
    let behind = |word: &Word| {
        let last = word.last_bits();
        BEHIND.iter().any(|known| is_text(last, known))
    };
    if let Some(at) = (1..words.len()).find(|at| behind(&words[*at])) {
        all.push(words[at..].iter().map(quoted).collect::<Vec<_>>().join(" "));
    }
    all
}

/// The value of an option that takes words for people.
fn is_message(arguments: &[Word], at: usize) -> bool {
    let glued = |option: &&str| {
        arguments[at].starts_with(option) && arguments[at].bits.get(option.len()) == Some(&Bit::Char('='))
    };
    MESSAGES.iter().any(|option| at > 0 && arguments[at - 1].is(option) || glued(option))
}

pub(super) fn goes_elsewhere(name: &str) -> bool {
    ELSEWHERE.binary_search(&name).is_ok()
}

pub(super) fn has_blanks(word: &Word) -> bool {
    word.bits.iter().any(|bit| matches!(bit, Bit::Char(c) if c.is_whitespace()))
}

/// A word as a line of its own; `!` begins one in git's aliases.
pub(super) fn code(word: &Word) -> String {
    let text: String = word.bits.iter().copied().map(letter).collect();
    text.trim_start_matches(['!', '|', ' ']).to_owned()
}

/// A word as one word of a line.
pub(super) fn quoted(word: &Word) -> String {
    let text = word.bits.iter().map(|bit| match *bit {
        Bit::Char('\'') => "\\'".to_owned(),
        Bit::Char(c) if c.is_ascii_alphanumeric() || "_-./:=%+,@".contains(c) => c.to_string(),
        Bit::Char(c) => format!("'{c}'"),
        other => letter(other),
    });
    text.collect()
}

fn letter(bit: Bit) -> String {
    match bit {
        Bit::Char(c) => c.to_string(),
        Bit::One => "?".to_owned(),
        Bit::Star => "*".to_owned(),
        Bit::Any => "${_unknown}".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_sorted_so_that_they_are_found() {
        assert!(super::ELSEWHERE.is_sorted());
    }
}
