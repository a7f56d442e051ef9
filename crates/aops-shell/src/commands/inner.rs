//! Commands in the arguments of unknown commands: `tmux new "cp a b"`, `uv run python -c …`, `ssh host rm a`.

use super::command::{Act, Invocation, Touched, all};
use crate::syntax::{Bit, Word, is_text};

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

/// Lines that may run when this command does.
pub(super) fn lines(words: &[Word]) -> Vec<String> {
    let arguments = words.get(1..).unwrap_or_default();
    let mut all = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        if has_blanks(word) && !is_message(arguments, at) {
            let glued = (word.is_option() && !word.starts_with("--")).then(|| word.after(2));
            let parts = [word.past('=').filter(has_blanks), glued, Some(word.clone())];
            all.extend(parts.iter().flatten().map(code));
        }
    }
    let behind = |word: &Word| BEHIND.iter().any(|known| is_text(word.last_bits(), known));
    if let Some(at) = (1..words.len()).find(|at| behind(&words[*at])) {
        all.push(words[at..].iter().map(quoted).collect::<Vec<_>>().join(" "));
    }
    all
}

pub(super) const SSH: &str = "-b= -c= -D= -E> -F= -i= -J= -l= -L= -m= -o= -p= -R= -S= -w= -W=";

/// `ssh`: what runs on the other machine may as well be this one; `-o` may hold a local command.
pub(super) fn ssh(command: &Invocation) -> Touched {
    let sorted = command.sort();
    let remote = sorted.operands.iter().skip(1).map(|word| code(word)).collect::<Vec<_>>().join(" ");
    let options = sorted.values(&["-o"]).filter_map(|word| word.past('=')).map(|word| code(&word));
    let lines = options.chain([remote]).filter(|line| !line.is_empty()).collect();
    let programs = command.simple.script.iter().cloned().collect();
    Touched { files: all(&sorted.written, Act::Write), programs, lines, reads: false }
}

/// The value of an option that takes words for people.
fn is_message(arguments: &[Word], at: usize) -> bool {
    let glued = |option: &&str| {
        arguments[at].starts_with(option) && arguments[at].bits.get(option.len()) == Some(&Bit::Char('='))
    };
    MESSAGES.iter().any(|option| at > 0 && arguments[at - 1].is(option) || glued(option))
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
