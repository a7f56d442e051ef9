//! A message as the name of a shipped text and the values to fill in.
//!
//! Reads nothing, writes nothing. Invariants: all values are filled in at once, so that no value can insert
//! another; a value from outside is on one line, clean and clipped.

use super::plain::on_a_line;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phrase {
    pub template: &'static str,
    pub values: Vec<(&'static str, String)>,
}

impl Phrase {
    pub fn new(template: &'static str, values: Vec<(&'static str, String)>) -> Self {
        Self { template, values }
    }

    /// The text with every placeholder replaced. A placeholder without a value stays, and a test finds it.
    pub fn fill(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 200);
        let mut rest = text.trim_end_matches('\n');
        while let Some(open) = rest.find("{{") {
            let Some(close) = rest[open..].find("}}").map(|at| open + at) else { break };
            out.push_str(&rest[..open]);
            let name = &rest[open + 2..close];
            match self.values.iter().find(|(known, _)| *known == name) {
                Some((_, value)) => out.push_str(value),
                None => out.push_str(&rest[open..close + 2]),
            }
            rest = &rest[close + 2..];
        }
        out.push_str(rest);
        out
    }
}

/// A value on one line: breaks and control characters become spaces, and it is clipped.
pub fn one_line(text: &str, longest: usize) -> String {
    let line: String = text.chars().map(on_a_line).take(longest + 1).collect();
    if line.chars().count() > longest { line.chars().take(longest).chain(['…']).collect() } else { line }
}

/// What a person is asked to allow, on one line. A long text is shown with its beginning, its end and the
/// number of omitted characters: a question must not hide what it asks about. Characters that reverse or hide
/// text become `�`.
pub fn whole_line(text: &str, longest: usize) -> String {
    let visible = |c: char| match c {
        '\n' => '⏎',
        '\u{ad}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{180e}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{e0000}'..='\u{e007f}' => '\u{fffd}',
        c if c.is_control() => ' ',
        c => c,
    };
    let all: Vec<char> = text.chars().map(visible).collect();
    if all.len() <= longest {
        return all.into_iter().collect();
    }
    let begin = longest * 3 / 4;
    let end = all.len() - longest / 4;
    let first: String = all[..begin].iter().collect();
    let last: String = all[end..].iter().collect();
    format!("{first} [… {} characters are not shown …] {last}", end - begin)
}

/// A value from outside, each line quoted so that it cannot end its own quotation; an empty one becomes the
/// word `none`.
pub fn quote(text: &str) -> String {
    if text.trim().is_empty() {
        return "> none".to_owned();
    }
    text.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pass() {
        let phrase = Phrase::new("x", vec![("a", "{{b}}".to_owned()), ("b", "B".to_owned())]);
        assert_eq!(phrase.fill("1 {{a}} 2 {{b}} {{c}} {{\n"), "1 {{b}} 2 B {{c}} {{");
        assert_eq!(one_line("a\nb\x1b[31mc", 4), "a b …");
        assert_eq!(quote("a\nb"), "> a\n> b");
        assert_eq!(whole_line("a\nb\u{202e}c\x1b", 9), "a⏎b\u{fffd}c ");
        assert_eq!(whole_line("abcdefghij", 8), "abcdef [… 2 characters are not shown …] ij");
    }
}
