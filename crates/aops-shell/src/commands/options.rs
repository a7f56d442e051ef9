//! The one option sorter: splits a command's arguments into options, their values and operands.
//!
//! A list is words: `-ab` are letters without a value, `-k=` a letter with one, `-U?` one that may have a
//! value glued to it, `-#` a number, `-o>` a letter whose value is a file it writes; `--name`, `--name=`,
//! `--name>` the same for long options. Invariant: everything is sorted as far as the list allows; `odd` says
//! whether anything was not on it.

use crate::flags::is_option;
use crate::syntax::{Bit, Line, Word};

/// Arguments, sorted by a list of options.
#[derive(Debug, Default)]
pub(super) struct Sorted<'a> {
    /// Options by their name on the list, with their values.
    pub(super) options: Vec<(String, Option<Word>)>,
    pub(super) operands: Vec<&'a Word>,
    /// Values of the options that write.
    pub(super) written: Vec<Word>,
    /// The first option that writes or is not on the list, or the first word that may turn out to be an
    /// option.
    pub(super) odd: Option<String>,
}

impl Sorted<'_> {
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    pub(super) fn values(&self, names: &[&str]) -> impl Iterator<Item = &Word> {
        let given = self.options.iter().filter(move |(name, _)| names.contains(&name.as_str()));
        given.filter_map(|(_, value)| value.as_ref())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordShape {
    Option,
    Operand,
    /// Not known statically.
    Either,
}

/// Whether this word is an option or an operand, given what the line does to its variables.
pub(super) fn shape(word: &Word, line: &Line) -> WordShape {
    if word.shifts != Some(0) {
        let begins = word.bits.first() == Some(&Bit::Char('-'));
        let dash = begins && (word.bits.len() > 1 || word.shifts == Some(1));
        // A pattern may match a file whose name begins with a dash.
        let globs = matches!(word.bits.first(), Some(Bit::Star | Bit::One));
        return match dash {
            true => WordShape::Option,
            false if globs => WordShape::Either,
            // The word begins with known text, but may split, and a later piece may be an option.
            false if word.splits && !is_plain(word, line) => WordShape::Either,
            false => WordShape::Operand,
        };
    }
    if is_plain(word, line) { WordShape::Operand } else { WordShape::Either }
}

/// Every value its variables may have is a known word and no option.
fn is_plain(word: &Word, line: &Line) -> bool {
    let mut variables = word.filled.iter().chain(&word.unknown).peekable();
    let programs = word.bits.iter().filter(|bit| **bit == Bit::Any).count() > word.sums + word.commits;
    let only_sums = variables.peek().is_none() && !programs;
    let named = variables.peek().is_some();
    let plain = variables.all(|name| line.variables.get(name).is_some_and(|held| held.plain));
    only_sums || named && plain && !programs
}

pub(super) fn sort<'a>(arguments: &'a [Word], lists: &[&str], line: &Line) -> Sorted<'a> {
    let mut sorting = Sorting { lists, rest: arguments.iter(), sorted: Sorted::default() };
    while let Some(word) = sorting.rest.next() {
        let shape = shape(word, line);
        if shape == WordShape::Either {
            sorting.odd(word);
        }
        if word.is("--") {
            sorting.sorted.operands.extend(sorting.rest.by_ref());
        } else if shape == WordShape::Option || shape == WordShape::Either && word.is_option() {
            let certain = &word.bits[..word.shifts.unwrap_or(word.bits.len())];
            let firm = certain.iter().take_while(|bit| matches!(bit, Bit::Char(_))).count();
            let text = word.lossy();
            if text.starts_with("--") {
                sorting.long(word, &text, firm);
            } else {
                sorting.letters(word, &text, firm);
            }
        } else {
            sorting.sorted.operands.push(word);
        }
    }
    sorting.sorted
}

struct Sorting<'s, 'a> {
    lists: &'s [&'s str],
    rest: std::slice::Iter<'a, Word>,
    sorted: Sorted<'a>,
}

impl Sorting<'_, '_> {
    fn long(&mut self, word: &Word, text: &str, firm: usize) {
        let (written, glued) = text.split_once('=').map_or((text, false), |(name, _)| (name, true));
        let certain = if glued { written.chars().count() < firm } else { firm == word.bits.len() };
        let (name, sign, exact) = find_long(self.lists, written).unwrap_or((written, ' ', false));
        if !certain || !exact || glued && word.splits {
            self.odd(word);
        }
        let value = match (glued, sign) {
            (true, _) => word.past('='),
            (false, '=' | '>') => self.next(word),
            (false, _) => None,
        };
        self.push(word, name.to_owned(), sign, value);
    }

    fn letters(&mut self, word: &Word, text: &str, firm: usize) {
        if let Some(sign) = find_whole(self.lists, text) {
            let value = self.next(word);
            return self.push(word, text.to_owned(), sign, value);
        }
        for (at, letter) in text.chars().enumerate().skip(1) {
            let sign = find_letter(self.lists, letter);
            if sign.is_none() || at >= firm {
                self.odd(word);
            }
            let name = format!("-{letter}");
            match sign {
                Some(sign @ ('=' | '>')) if at + 1 == word.bits.len() => {
                    let value = self.next(word);
                    return self.push(word, name, sign, value);
                }
                Some(sign @ ('=' | '>' | '?' | '#')) => {
                    if word.splits {
                        self.odd(word);
                    }
                    let value = Some(word.after(at + 1)).filter(|value| !value.bits.is_empty());
                    return self.push(word, name, sign, value);
                }
                _ => self.sorted.options.push((name, None)),
            }
        }
    }

    fn push(&mut self, word: &Word, name: String, sign: char, value: Option<Word>) {
        if sign == '>' {
            self.odd(word);
            self.sorted.written.extend(value.clone());
        }
        self.sorted.options.push((name, value));
    }

    fn odd(&mut self, word: &Word) {
        self.sorted.odd.get_or_insert_with(|| shown(word));
    }

    /// The word after an option, taken as its value, whatever it contains.
    fn next(&mut self, word: &Word) -> Option<Word> {
        let value = self.rest.next()?;
        if value.splits {
            self.sorted.odd.get_or_insert_with(|| format!("{} {}", shown(word), shown(value)));
        }
        Some(value.clone())
    }
}

fn rows<'l>(lists: &'l [&'l str]) -> impl Iterator<Item = &'l str> + Clone {
    lists.iter().flat_map(|list| list.split_ascii_whitespace())
}

/// Splits a row into its name and how it takes a value: `=`, `>`, or ` ` for not at all.
fn cut(row: &str) -> (&str, char) {
    match row.as_bytes().last() {
        Some(b'=') => (&row[..row.len() - 1], '='),
        Some(b'>') => (&row[..row.len() - 1], '>'),
        _ => (row, ' '),
    }
}

/// A long option: its name on the list, its sign, and whether it was written in full. An abbreviation that
/// could mean a writing option does.
fn find_long<'l>(lists: &'l [&'l str], written: &str) -> Option<(&'l str, char, bool)> {
    let mut found = None;
    for row in rows(lists).filter(|row| row.starts_with(written) && row.starts_with("--")) {
        let (name, sign) = cut(row);
        if name == written {
            return Some((name, sign, true));
        }
        if written.len() > 2 && (found.is_none() || sign == '>') {
            found = Some((name, sign, false));
        }
    }
    found
}

/// A long option with one dash and a glued value: `-cmd=`.
fn find_whole(lists: &[&str], written: &str) -> Option<char> {
    let mut rows = rows(lists).filter(|row| row.len() > 3).map(cut);
    rows.find(|(name, sign)| *sign != ' ' && *name == written).map(|(_, sign)| sign)
}

/// How a letter takes its value: `=`, `>`, `?`, `#`, or ` ` for none; `None` if it is not on the list.
fn find_letter(lists: &[&str], letter: char) -> Option<char> {
    let mut rows = rows(lists).filter_map(|row| row.strip_prefix('-')).filter(|row| !row.starts_with('-'));
    rows.find_map(|row| match row.chars().next_back() {
        Some('#') => letter.is_ascii_digit().then_some('#'),
        Some(sign @ ('=' | '>' | '?')) => (row.len() == 2 && row.starts_with(letter)).then_some(sign),
        _ => row.contains(letter).then_some(' '),
    })
}

/// Every value that these options may have (`-x`, `--exec`, `-exec`): the next word, or what is glued to
/// them, also in a bundle or behind a name that is cut short. Reads too much rather than too little.
pub fn given(arguments: &[Word], options: &[&str]) -> Vec<Word> {
    let before = arguments.iter().take_while(|word| !word.is("--")).count();
    let mut found = Vec::new();
    for (at, word) in arguments[..before].iter().enumerate().filter(|(_, word)| word.starts_with("-")) {
        let text = word.lossy();
        let next = || arguments.get(at + 1).cloned();
        found.extend(options.iter().filter_map(|option| match option.strip_prefix('-') {
            _ if text == *option => next(),
            Some(letter) if letter.chars().count() == 1 && !text.starts_with("--") => {
                let rest = word.after(text.chars().position(|c| letter.starts_with(c))? + 1);
                if rest.bits.is_empty() { next() } else { Some(rest) }
            }
            Some(long) if long.starts_with('-') && is_option(&text, option) => {
                if text.contains('=') {
                    word.past('=')
                } else {
                    next()
                }
            }
            _ => text.strip_prefix(option)?.starts_with('=').then(|| word.past('='))?,
        }));
    }
    found
}

/// A word as a refusal shows it.
pub fn shown(word: &Word) -> String {
    clean(&word.lossy())
}

/// Text as a refusal shows it: short, without control characters.
pub(super) fn clean(text: &str) -> String {
    let text: String = text.chars().take(60).collect();
    text.replace(|c: char| c.is_control() || c == '`', " ")
}
