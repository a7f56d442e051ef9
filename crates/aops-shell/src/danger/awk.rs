//! What a program of `awk` runs and writes: `system(…)`, `"…" | getline`, `print | "…"`, `print > "…"`.

use super::Search;
use super::typed::{self, UNKNOWN};
use super::{content, files};
use crate::syntax::{Simple, Word};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Text(String),
    Name(String),
    Sign(char),
}
use Token::{Name, Sign, Text};

pub(super) fn judge(search: &mut Search, simple: &Simple, program: &str) {
    let program = Program::new(tokens(program), &simple.words);
    for at in 0..program.tokens.len() {
        match &program.tokens[at] {
            Name(name) if name == "system" && program.is(at + 1, '(') => {
                typed::for_each(search, &program.forward(at + 2), simple);
            }
            Sign('|') => {
                let next = program.tokens.get(at + 1);
                if next == Some(&Name("getline".to_owned())) {
                    typed::for_each(search, &program.backward(at), simple);
                } else {
                    let line = format!("echo \"{UNKNOWN}\" | {}", program.forward(at + 1));
                    search.text(&line, simple);
                }
            }
            Sign('>') if program.prints(at) => {
                if let Some(Text(path)) = program.tokens.get(at + 1) {
                    let file = Word::of(path);
                    files::written(search, simple, &file);
                    if !program.is(at - 1, '>') {
                        content::replaced(search, simple, &file);
                    }
                }
            }
            _ => {}
        }
    }
}

struct Program {
    tokens: Vec<Token>,
    /// Variables with the text that they are set to.
    set: BTreeMap<String, String>,
}

impl Program {
    fn new(tokens: Vec<Token>, words: &[Word]) -> Self {
        let mut set = BTreeMap::new();
        // `-v name=text`
        for text in words.iter().map(Word::lossy) {
            if let Some((name, value)) = text.trim_start_matches("-v").split_once('=')
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            {
                set.insert(name.to_owned(), value.to_owned());
            }
        }
        for three in tokens.windows(3) {
            if let [Name(name), Sign('='), Text(text)] = three {
                set.insert(name.clone(), text.clone());
            }
        }
        Self { tokens, set }
    }

    fn is(&self, at: usize, sign: char) -> bool {
        self.tokens.get(at) == Some(&Sign(sign))
    }

    fn text(&self, token: &Token) -> String {
        match token {
            Text(text) => text.clone(),
            Name(name) => self.set.get(name).cloned().unwrap_or_else(|| UNKNOWN.to_owned()),
            Sign(_) => String::new(),
        }
    }

    fn ends(token: &Token) -> bool {
        matches!(token, Sign(';' | '{' | '}' | '\n' | '|' | ')' | '(' | '=' | ',' | '>'))
    }

    /// The text of the expression that begins here.
    fn forward(&self, at: usize) -> String {
        let rest = self.tokens[at.min(self.tokens.len())..].iter();
        rest.take_while(|token| !Self::ends(token)).map(|token| self.text(token)).collect()
    }

    /// The text of the expression that ends here.
    fn backward(&self, at: usize) -> String {
        let before = self.tokens[..at].iter().rev().skip_while(|token| matches!(token, Sign(')')));
        let mut parts: Vec<String> =
            before.take_while(|token| !Self::ends(token)).map(|token| self.text(token)).collect();
        parts.reverse();
        parts.concat()
    }

    /// Whether this sign stands in a statement that prints.
    fn prints(&self, at: usize) -> bool {
        let before = self.tokens[..at].iter().rev();
        let mut statement = before.take_while(|token| !matches!(token, Sign(';' | '{' | '}' | '\n')));
        statement.any(|token| matches!(token, Name(name) if name == "print" || name == "printf"))
    }
}

fn tokens(program: &str) -> Vec<Token> {
    let letters: Vec<char> = program.chars().collect();
    let mut all: Vec<Token> = Vec::new();
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        match letter {
            '"' => {
                let (text, end) = quoted(&letters, at);
                all.push(Text(text));
                at = end;
            }
            // After a value it divides.
            '/' if !matches!(all.last(), Some(Text(_) | Name(_) | Sign(')' | ']'))) => {
                at = quoted(&letters, at).1;
                all.push(Sign('/'));
            }
            '#' => {
                let end = letters[at..].iter().position(|letter| *letter == '\n');
                at = end.map_or(letters.len(), |end| at + end);
            }
            '|' | '&' if letters.get(at + 1) == Some(&letter) => {
                all.push(Sign(','));
                at += 2;
            }
            _ if letter.is_alphanumeric() || matches!(letter, '_' | '$') => {
                let part = |letter: &char| letter.is_alphanumeric() || *letter == '_';
                let end = letters[at + 1..].iter().position(|letter| !part(letter));
                let end = end.map_or(letters.len(), |end| at + 1 + end);
                all.push(Name(letters[at..end].iter().collect()));
                at = end;
            }
            ' ' | '\t' | '\r' => at += 1,
            _ => {
                all.push(Sign(letter));
                at += 1;
            }
        }
    }
    all
}

/// The text between this sign and the next one, and the position after it.
fn quoted(letters: &[char], from: usize) -> (String, usize) {
    let mut text = String::new();
    let mut at = from + 1;
    while let Some(&letter) = letters.get(at) {
        at += 1;
        match letter {
            _ if letter == letters[from] => break,
            '\\' => {
                let next = letters.get(at).copied().unwrap_or_default();
                text.push(if next == 'n' { '\n' } else { next });
                at += 1;
            }
            _ => text.push(letter),
        }
    }
    (text, at)
}
