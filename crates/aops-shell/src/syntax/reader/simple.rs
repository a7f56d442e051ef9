//! Simple commands: assignments, words and redirections; and functions, which begin like them.

use super::{Command, Raw, Reader};
use crate::syntax::tree::{Assignment, SimpleCommand, Value};

/// Words that begin, part or end something where a command may begin.
#[rustfmt::skip]
const RESERVED: [&str; 22] = [
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select",
    "then", "time", "until", "while", "{", "}",
];

/// Commands whose arguments may be arrays.
const DECLARING: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];

pub(super) fn is_reserved(word: &str) -> bool {
    word.len() < 9 && RESERVED.binary_search(&word).is_ok()
}

pub(super) fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit()) && name_length(text) == text.len() && !text.is_empty()
}

fn name_length(text: &str) -> usize {
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()
}

impl<'a> Reader<'a> {
    /// A simple command whose first word may have been read.
    pub(super) fn simple(&mut self, first: Option<Raw<'a>>) -> Option<Command<'a>> {
        let mut command = SimpleCommand::default();
        let mut first = first;
        loop {
            if first.is_none() && self.at_redirect() {
                command.redirects.push(self.redirect()?);
                continue;
            }
            let Some(word) = first.take().or_else(|| self.word()) else { break };
            if !command.words.is_empty() {
                let word = self.with_array(word, &command)?;
                command.words.push(word);
            } else if is_reserved(word.text) {
                return None;
            } else if let Some((name_end, value)) = assigned(&word)? {
                command.assignments.push(self.assignment(word, name_end, value)?);
            } else if command.assignments.is_empty() && command.redirects.is_empty() && self.pass("(") {
                self.expect(")")?;
                return self.function(word.text);
            } else {
                command.words.push(word);
            }
        }
        let is_empty = command.words.is_empty() && command.assignments.is_empty() && command.redirects.is_empty();
        (!is_empty).then_some(Command::Simple(command))
    }

    /// `declare name=(…)` is one word.
    fn with_array(&mut self, word: Raw<'a>, command: &SimpleCommand) -> Option<Raw<'a>> {
        if self.byte(self.at) != Some(b'(') {
            return Some(word);
        }
        let declares = command.words.first().is_some_and(|first| DECLARING.contains(&first.text));
        let (name, _) = word.text.split_once('=').filter(|(_, value)| value.is_empty() && declares)?;
        if !is_name(name.trim_end_matches('+')) {
            return None;
        }
        let begin = self.at - word.text.len();
        self.gather(begin, |reader| {
            reader.at += 1;
            reader.until(b'(', b')')?;
            reader.at += 1;
            Some(())
        })
    }

    /// `value` is where the value of this word begins, and `name_end` where its name ends.
    fn assignment(&mut self, word: Raw<'a>, name_end: usize, value: usize) -> Option<Assignment<'a>> {
        let name = &word.text[..name_end];
        let appends = word.text[..value].ends_with("+=");
        let index_end = value - 1 - usize::from(appends);
        let (head, scalar) = word.split(value);
        let index = (index_end > name_end).then(|| head.split(index_end - 1).0.split(name_end + 1).1);
        if scalar.text.is_empty() && self.byte(self.at) == Some(b'(') {
            if index.is_some() {
                return None;
            }
            return Some(Assignment { name, index, appends, value: Value::Array(self.array()?) });
        }
        Some(Assignment { name, index, appends, value: Value::Scalar(scalar) })
    }

    fn array(&mut self) -> Option<Vec<(Option<Raw<'a>>, Raw<'a>)>> {
        self.expect("(")?;
        let mut all = Vec::new();
        loop {
            self.linebreaks();
            let Some(word) = self.word() else { break };
            let end = if word.text.starts_with('[') { Some(closing(&word, 1)?) } else { None };
            match end.filter(|end| word.text[*end..].starts_with("]=")) {
                Some(end) => {
                    let (head, value) = word.split(end + 2);
                    all.push((Some(head.split(end).0.split(1).1), value));
                }
                None => all.push((None, word)),
            }
        }
        self.expect(")")?;
        // `a=(b)c` is no word.
        self.byte(self.at).is_none_or(super::token::ends_word).then_some(all)
    }

    /// What follows `name ()`.
    pub(super) fn function(&mut self, name: &'a str) -> Option<Command<'a>> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:+@%/,^".contains(&byte) || byte > 127;
        if is_reserved(name) || name.is_empty() || !name.bytes().all(is_plain) {
            return None;
        }
        self.linebreaks();
        let body = self.compound()?;
        Some(Command::Function(name, Box::new(body), self.redirects()?))
    }
}

/// Where the name of an assignment ends and its value begins; `Some(None)` if the word assigns nothing.
#[expect(clippy::option_option, reason = "not an assignment, or one that is not understood")]
fn assigned(word: &Raw) -> Option<Option<(usize, usize)>> {
    let name_end = name_length(word.text);
    if name_end == 0 || word.text.as_bytes()[0].is_ascii_digit() {
        return Some(None);
    }
    let indexed = word.text[name_end..].starts_with('[');
    // bash reads on over blanks to the end of an index; here the word has ended.
    let end = if indexed { closing(word, name_end + 1)? + 1 } else { name_end };
    let rest = &word.text[end..];
    Some(if rest.starts_with('=') {
        Some((name_end, end + 1))
    } else {
        rest.starts_with("+=").then_some((name_end, end + 2))
    })
}

/// The bracket that closes an index. Quotes and expansions are passed.
fn closing(word: &Raw, from: usize) -> Option<usize> {
    let bytes = word.text.as_bytes();
    let (mut at, mut depth, mut quoted) = (from, 0usize, false);
    while let Some(&byte) = bytes.get(at) {
        at = match byte {
            _ if word.part(at).is_some() => word.part(at)?.1,
            b'\\' => at + 2,
            b'\'' if !quoted => at + 2 + memchr::memchr(b'\'', &bytes[at + 1..])?,
            b'`' => return None,
            b']' if depth == 0 && !quoted => return Some(at),
            _ => {
                quoted ^= byte == b'"';
                depth = depth + usize::from(byte == b'[' && !quoted) - usize::from(byte == b']' && !quoted);
                at + 1
            }
        };
    }
    None
}
