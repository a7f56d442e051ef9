//! Reads the characters of a raw word into pieces: text, patterns, braces, and what is not known.

use super::{Manner, number, parameter};
use crate::shell::syntax::scope::Scope;
use crate::shell::syntax::{Bit, Word};

/// A part of a word before braces are spread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Bit(Bit),
    /// One of several texts: a variable that may hold any of them. Unquoted ones are split at blanks.
    OneOf(Vec<Vec<Bit>>, bool),
    Open,
    Comma,
    Close,
    /// An unquoted `~`.
    Tilde,
}

/// A raw word being read.
pub(super) struct Scan<'a> {
    pub(super) scope: &'a Scope,
    pub(super) pieces: Vec<Piece>,
    pub(super) unknown: Vec<String>,
    /// What the values of its variables may become.
    pub(super) named: Vec<Word>,
    /// What they print.
    pub(super) said: Option<String>,
    pub(super) runs: Vec<String>,
    pub(super) filled: Vec<String>,
    pub(super) sets: Vec<String>,
    pub(super) splits: bool,
    pub(super) sums: usize,
    pub(super) odd: bool,
    /// Programs whose output it computes with, and variables.
    pub(super) counts: Vec<String>,
    pub(super) numbers: Vec<String>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(scope: &'a Scope) -> Self {
        Self {
            scope,
            pieces: Vec::new(),
            unknown: Vec::new(),
            named: Vec::new(),
            said: None,
            runs: Vec::new(),
            filled: Vec::new(),
            sets: Vec::new(),
            splits: false,
            sums: 0,
            odd: false,
            counts: Vec::new(),
            numbers: Vec::new(),
        }
    }

    /// Only what text inside it runs and sets; its characters are not wanted.
    pub(super) fn inside(&mut self, chars: &[char]) {
        let mut within = Scan::new(self.scope);
        within.quoted(chars);
        self.runs.append(&mut within.runs);
        self.take(within);
    }

    /// The same of an arithmetic text, where all that stands for text is a number or a program.
    pub(super) fn sum(&mut self, chars: &[char]) {
        let mut within = Scan::new(self.scope);
        within.quoted(chars);
        self.numbers.extend(number::names(chars));
        self.counts.append(&mut within.runs);
        self.take(within);
    }

    pub(super) fn take(&mut self, mut within: Scan) {
        self.sets.append(&mut within.sets);
        self.counts.append(&mut within.counts);
        self.numbers.append(&mut within.numbers);
        self.odd |= within.odd;
    }

    pub(super) fn text(&mut self, c: char) {
        self.pieces.push(Piece::Bit(Bit::Char(c)));
    }

    pub(super) fn read(&mut self, raw: &str, manner: Manner) {
        let chars: Vec<char> = raw.chars().collect();
        if manner == Manner::Document {
            return self.quoted(&chars);
        }
        self.pieces.reserve(chars.len());
        let mut at = 0;
        while let Some(&c) = chars.get(at) {
            at = match (c, chars.get(at + 1)) {
                ('\\', Some('\n')) => at + 2,
                ('\\', Some(&next)) => {
                    self.text(next);
                    at + 2
                }
                ('\'', _) => self.single(&chars, at + 1),
                ('"', _) => self.double(&chars, at + 1),
                ('$', Some('\'')) => self.ansi(&chars, at + 2),
                ('$', Some('"')) => self.double(&chars, at + 2),
                ('$' | '`', _) => parameter::dollar(self, &chars, at, false),
                ('@' | '+' | '!' | '?' | '*', Some('(')) => self.extended_glob(&chars, at + 1),
                ('[', _) => self.bracket(&chars, at),
                _ => {
                    self.pieces.push(plain(c));
                    at + 1
                }
            };
        }
    }

    fn single(&mut self, chars: &[char], from: usize) -> usize {
        let end = (from..chars.len()).find(|&i| chars[i] == '\'').unwrap_or(chars.len());
        chars[from..end].iter().for_each(|&c| self.text(c));
        end + 1
    }

    fn double(&mut self, chars: &[char], from: usize) -> usize {
        let end = closing_quote(chars, from);
        self.quoted(&chars[from..end]);
        end + 1
    }

    /// The inside of double quotes, or a here-document.
    pub(super) fn quoted(&mut self, chars: &[char]) {
        let mut at = 0;
        while let Some(&c) = chars.get(at) {
            at = match (c, chars.get(at + 1)) {
                ('\\', Some('\n')) => at + 2,
                ('\\', Some(&next @ ('$' | '`' | '"' | '\\'))) => {
                    self.text(next);
                    at + 2
                }
                ('$' | '`', _) => parameter::dollar(self, chars, at, true),
                _ => {
                    self.text(c);
                    at + 1
                }
            };
        }
    }

    /// `$'…'`
    fn ansi(&mut self, chars: &[char], from: usize) -> usize {
        let mut at = from;
        while let Some(&c) = chars.get(at) {
            if c == '\'' {
                return at + 1;
            }
            if c == '\\' {
                at = self.escape(chars, at + 1);
            } else {
                self.text(c);
                at += 1;
            }
        }
        at
    }

    fn escape(&mut self, chars: &[char], at: usize) -> usize {
        let Some(&c) = chars.get(at) else { return at };
        let (radix, begin, most) = match c {
            'x' => (16, at + 1, 2),
            'u' => (16, at + 1, 4),
            'U' => (16, at + 1, 8),
            '0'..='7' => (8, at, 3),
            _ => {
                self.text(match c {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'e' | 'E' => '\u{1b}',
                    'a' => '\u{7}',
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'v' => '\u{b}',
                    other => other,
                });
                return at + 1;
            }
        };
        let digits = chars[begin..].iter().take(most).take_while(|d| d.is_digit(radix)).count();
        let text: String = chars[begin..begin + digits].iter().collect();
        let value = u32::from_str_radix(&text, radix).ok().and_then(char::from_u32);
        self.text(value.unwrap_or('\u{fffd}'));
        begin + digits
    }

    /// `@(a|b)`: any text may match. In zsh the brackets may hold a program: `*(e:…:)`.
    fn extended_glob(&mut self, chars: &[char], open: usize) -> usize {
        self.pieces.push(Piece::Bit(Bit::Star));
        self.odd = true;
        let end = parameter::closing(chars, open + 1, '(', ')').unwrap_or(chars.len());
        self.inside(&chars[(open + 1).min(end)..end]);
        end + 1
    }

    /// `[a-z]` is one character; a lone `[` is itself.
    fn bracket(&mut self, chars: &[char], at: usize) -> usize {
        let end =
            chars.iter().enumerate().skip(at + 2).take_while(|(_, c)| **c != '/').find(|(_, c)| **c == ']');
        // What is expanded or quoted inside must be read, so those brackets are plain text to us.
        let plain = |end: usize| !chars[at..end].iter().any(|c| matches!(c, '$' | '`' | '"' | '\'' | '\\'));
        if let Some((end, _)) = end.filter(|(end, _)| plain(*end)) {
            self.pieces.push(Piece::Bit(Bit::One));
            return end + 1;
        }
        self.text('[');
        at + 1
    }
}

fn plain(c: char) -> Piece {
    match c {
        '*' => Piece::Bit(Bit::Star),
        '?' => Piece::Bit(Bit::One),
        '{' => Piece::Open,
        ',' => Piece::Comma,
        '}' => Piece::Close,
        '~' => Piece::Tilde,
        _ => Piece::Bit(Bit::Char(c)),
    }
}

/// Where a double-quoted text ends, substitutions inside it skipped.
pub(super) fn closing_quote(chars: &[char], from: usize) -> usize {
    let mut at = from;
    while let Some(&c) = chars.get(at) {
        at = match (c, chars.get(at + 1)) {
            ('"', _) => return at,
            ('\\', _) => at + 2,
            ('$', Some('(')) => {
                parameter::closing(chars, at + 2, '(', ')').map_or(chars.len(), |end| end + 1)
            }
            ('$', Some('{')) => {
                parameter::closing(chars, at + 2, '{', '}').map_or(chars.len(), |end| end + 1)
            }
            _ => at + 1,
        };
    }
    chars.len()
}
