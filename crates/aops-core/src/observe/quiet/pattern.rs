//! Compares patterns of the client's rules so that a doubtful case counts as a match.
//!
//! Pure.

use aops_shell::syntax::{Bit, Word};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Char(char),
    /// Any text.
    Any,
}

/// The signs of a pattern with stars. A pattern only needs to match a beginning, so a star at its end has no
/// effect. The same for spaces next to a star: the client compares a line with all its spaces, but we keep
/// only one.
pub(super) fn signs(text: &str) -> Vec<Sign> {
    let text = text.trim_end_matches(['*', ' ', ':']);
    let words: Vec<&str> = text.split_whitespace().collect();
    let parts: Vec<String> = words.join(" ").split('*').map(|part| part.trim().to_owned()).collect();
    parts.join("*").chars().map(|c| if c == '*' { Sign::Any } else { Sign::Char(c) }).collect()
}

/// In one of these lines, some text that begins at a word's beginning may begin with the pattern.
pub(super) fn occurs(pattern: &[Sign], words: &[Word]) -> bool {
    let mut at = States::new(pattern);
    for (n, word) in words.iter().enumerate() {
        // A first word may be a program even if the line does not spell it out; a later such word is not.
        if n == 0 || matches!(word.bits.first(), Some(Bit::Char(_))) {
            at.begin();
        }
        // A program called by its path is the same program.
        let name = word.bits.iter().rposition(|bit| *bit == Bit::Char('/')).map_or(0, |slash| slash + 1);
        for (n, bit) in word.bits.iter().enumerate() {
            if n == name && matches!(bit, Bit::Char(_)) {
                at.begin();
            }
            match bit {
                Bit::Char(c) => at.read(*c),
                Bit::One | Bit::Star | Bit::Any => at.read_any(),
            }
        }
        if at.read_end() {
            return true;
        }
    }
    false
}

/// The positions in the pattern that the text so far may have reached.
struct States<'a> {
    pattern: &'a [Sign],
    may: Vec<bool>,
    met: bool,
}

impl<'a> States<'a> {
    fn new(pattern: &'a [Sign]) -> Self {
        Self { pattern, may: vec![false; pattern.len() + 1], met: pattern.is_empty() }
    }

    fn begin(&mut self) {
        self.reach(0);
    }

    /// A star may stand for nothing.
    fn reach(&mut self, mut at: usize) {
        loop {
            self.may[at] = true;
            self.met |= at == self.pattern.len();
            match self.pattern.get(at) {
                Some(Sign::Any) => at += 1,
                _ => return,
            }
        }
    }

    fn read(&mut self, c: char) {
        let before = std::mem::replace(&mut self.may, vec![false; self.pattern.len() + 1]);
        for at in before.iter().enumerate().filter_map(|(at, may)| may.then_some(at)) {
            match self.pattern.get(at) {
                Some(Sign::Any) => self.reach(at),
                Some(Sign::Char(wanted)) if *wanted == c => self.reach(at + 1),
                _ => {}
            }
        }
    }

    /// Reads a part of the text that may be anything.
    fn read_any(&mut self) {
        if let Some(first) = self.may.iter().position(|may| *may) {
            for at in first..=self.pattern.len() {
                self.reach(at);
            }
        }
    }

    /// The end of a word: the pattern may continue after a space.
    fn read_end(&mut self) -> bool {
        if !self.met {
            self.read(' ');
        }
        self.met
    }
}

/// A component of a path matches this component of a pattern: `*` is any text, `?` any character, and case is
/// ignored, as in the client.
pub(super) fn is_part(pattern: &str, part: &str) -> bool {
    let mut rest = pattern.chars();
    let mut text = part.chars();
    match rest.next() {
        None => part.is_empty(),
        Some('*') => {
            let rest = rest.as_str();
            part.char_indices().map(|(at, _)| &part[at..]).chain([""]).any(|left| is_part(rest, left))
        }
        Some('?') => text.next().is_some() && is_part(rest.as_str(), text.as_str()),
        Some(c) => {
            let is = |other: char| other == c || other.to_lowercase().eq(c.to_lowercase());
            text.next().is_some_and(is) && is_part(rest.as_str(), text.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meets(rule: &str, line: &str) -> bool {
        let words: Vec<Word> = line
            .split(' ')
            .map(|word| if word.starts_with('$') { Word::any() } else { Word::of(word) })
            .collect();
        occurs(&signs(rule), &words)
    }

    #[test]
    fn a_rule_is_met_wherever_its_command_may_stand() {
        for (rule, line) in [
            ("cat:*", "cat x"),
            ("cat *", "cat"),
            ("cat", "xargs -n1 cat x"),
            ("git log:*", "timeout 5 git log -p"),
            ("git * main", "git push origin main now"),
            ("cat * a.txt", "cat a.txt"),
            ("git log:*", "/usr/bin/git log"),
            ("git log x", "git $sub x"),
            ("*", "ls"),
            ("rm -rf *", "sh -c rm -rf x"),
            ("cat private/*", "cat $f"),
            ("rm:*", "$x y"),
        ] {
            assert!(meets(rule, line), "{rule}: {line}");
        }
        for (rule, line) in [
            ("git push:*", "git log"),
            ("cat x", "cat y"),
            ("npm run build", "npm run lint"),
            ("git log:*", "cat $f"),
        ] {
            assert!(!meets(rule, line), "{rule}: {line}");
        }
    }

    #[test]
    fn a_part_of_a_path_with_stars() {
        for (pattern, part) in
            [("*", "x"), (".env*", ".env.local"), ("*.pem", "A.PEM"), ("a?c", "abc"), ("*", "")]
        {
            assert!(is_part(pattern, part), "{pattern} {part}");
        }
        for (pattern, part) in [(".env", ".envx"), ("*.pem", "a.pe"), ("a?c", "ac")] {
            assert!(!is_part(pattern, part), "{pattern} {part}");
        }
    }
}
