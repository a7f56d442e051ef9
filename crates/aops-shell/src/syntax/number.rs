//! Which programs surely print a number.

use super::{Simple, Word};

/// This program, of which these are the commands, prints numbers and nothing else.
pub(super) fn is_printed(code: &str, commands: &[Simple]) -> bool {
    let one = !code.contains([';', '&', '\n', '(', '{', '`']);
    let Some(last) = commands.last().filter(|last| one && !last.function && last.writes.is_empty()) else {
        return false;
    };
    if !matches!(last.name(), Some("nproc" | "wc" | "seq" | "echo" | "date" | "grep")) {
        return false;
    }
    let firm = last.words.iter().all(Word::is_firm);
    let words: Vec<String> = last.words.iter().skip(1).map(Word::lossy).collect();
    let digits = |word: &String| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    match last.name() {
        Some("nproc") => words.is_empty(),
        Some("wc") => words.len() == 1 && matches!(words[0].as_str(), "-l" | "-w" | "-c" | "-m"),
        Some("seq" | "echo") => firm && words.iter().all(digits),
        Some("date") => firm && matches!(words.as_slice(), [only] if only == "+%s" || only == "+%Y"),
        Some("grep") => firm && words.first().is_some_and(|word| word == "-c") && words.len() <= 3,
        _ => false,
    }
}
