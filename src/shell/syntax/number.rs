//! Where the shell computes: which variables an arithmetic text uses, and which programs surely print a number.
//!
//! The shell evaluates what a variable holds, again and again, and an index in that text may run a program. So whatever
//! it computes with must be a number.

use super::{Simple, Word};

/// The variables an arithmetic text computes with; the text of programs inside it is skipped.
pub(super) fn names(text: &[char]) -> Vec<String> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(&c) = text.get(at) {
        if c == '$' && text.get(at + 1) == Some(&'(') && text.get(at + 2) != Some(&'(') {
            at = super::word::closing(text, at + 2, '(', ')').map_or(text.len(), |end| end + 1);
        } else if c == '$' && text.get(at + 1).is_some_and(|c| c.is_ascii_digit() || matches!(c, '@' | '*')) {
            all.push(text[at + 1].to_string());
            at += 2;
        } else if c.is_ascii_alphanumeric() || c == '_' {
            let end = (at..text.len()).find(|&i| !is_name(text[i])).unwrap_or(text.len());
            if !c.is_ascii_digit() {
                all.push(text[at..end].iter().collect());
            } else if text.get(end) == Some(&'#') {
                // `16#ff`
                at = (end + 1..text.len()).find(|&i| !is_name(text[i])).unwrap_or(text.len());
                continue;
            }
            at = end;
        } else {
            at += 1;
        }
    }
    all
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

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
