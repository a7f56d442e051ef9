//! Printable text: without characters that move the cursor, change colours or reverse the reading direction.
//!
//! Invariant: text without such a character comes back borrowed.

use std::borrow::Cow;

/// Safe to print, including line feeds and tabs.
pub fn is_plain(c: char) -> bool {
    let turns =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !turns && !c.is_control() || matches!(c, '\n' | '\t')
}

pub fn plain(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|c| is_plain(*c)).collect())
}

/// A character of text from outside, as it is shown on one line.
pub fn on_a_line(c: char) -> char {
    match c {
        c if c.is_control() => ' ',
        c if is_plain(c) => c,
        _ => '·',
    }
}

/// Whether a number is not worth storing.
pub fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What a longer text is about: the first heading of a document, or the first sentence after a heading that
/// only says `Plan`.
pub fn title(text: &str) -> &str {
    let bare = |line: &str| matches!(line.to_lowercase().trim_end_matches(':'), "" | "plan" | "the plan");
    let mut lines = text.lines().map(|line| line.trim().trim_start_matches('#').trim());
    if !text.trim().contains('\n') {
        return text.trim();
    }
    let line = lines.find(|line| !bare(line)).unwrap_or_default();
    let end = line.find(". ").map_or(line.len(), |at| at + 1);
    &line[..end]
}

/// `1 file`, `2 files`, `3 entries`.
pub fn count(n: impl TryInto<u64>, what: &str) -> String {
    let n = n.try_into().unwrap_or(u64::MAX);
    match what.strip_suffix('y').filter(|_| n != 1) {
        Some(stem) => format!("{n} {stem}ies"),
        None if n == 1 => format!("{n} {what}"),
        None => format!("{n} {what}s"),
    }
}

/// Quotes a string as one shell word.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%:,=".contains(c);
    if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_told_by_its_heading() {
        for (text, wanted) in [
            ("add a greeting. And a test.", "add a greeting. And a test."),
            ("# Plan\n\nAdd a function. It greets.\n\n## Verification\n- run it", "Add a function."),
            ("# Greetings\n\nAdd a function.", "Greetings"),
            ("\n\n", ""),
        ] {
            assert_eq!(title(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn what_moves_the_cursor_goes_and_the_rest_stays() {
        assert_eq!(plain("a\u{1b}[31mb\u{9b}2J\u{202e}c\u{7f}\r\n\td\u{0}é🦀"), "a[31mb2Jc\n\tdé🦀");
        assert!(matches!(plain("as it is\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_breaks_a_line_becomes_a_space_and_what_turns_it_a_dot() {
        let line: String = "a\u{1b}[31m\u{202e}b\r\n\tc\u{61c}é🦀".chars().map(on_a_line).collect();
        assert_eq!(line, "a [31m·b   c·é🦀");
    }

    #[test]
    fn one_is_not_many() {
        let said =
            [count(1_u64, "file"), count(0_usize, "file"), count(1_u8, "entry"), count(2_u32, "entry")];
        assert_eq!(said, ["1 file", "0 files", "1 entry", "2 entries"]);
    }
}
