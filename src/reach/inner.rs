//! Commands in the arguments of commands nobody knows: `tmux new "cp a b"`, `uv run python -c …`, `ssh host rm a`.

use super::operand::sort;
use crate::command_line::{Bit, Word};

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
        let said = at.checked_sub(1).is_some_and(|before| MESSAGES.iter().any(|o| arguments[before].is(o)))
            || MESSAGES.iter().any(|option| word.starts_with(&format!("{option}=")));
        if !said && has_blanks(word) {
            let glued = (word.is_option() && !word.starts_with("--")).then(|| word.after(2));
            let parts = [word.past('=').filter(has_blanks), glued, Some(word.clone())];
            all.extend(parts.iter().flatten().map(code));
        }
    }
    if let Some(at) = (1..words.len()).find(|at| BEHIND.iter().any(|known| words[*at].last_part().is(known)))
    {
        all.push(words[at..].iter().map(quoted).collect::<Vec<_>>().join(" "));
    }
    all
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
