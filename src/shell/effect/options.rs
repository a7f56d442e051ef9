//! Sorts a command's arguments by the list of its harmless options.
//!
//! A list is words: `-ab` are letters without a value, `-k=` a letter with one, `-U?` one that may have a value glued to
//! it, `-#` a number, `--name` a long option, `--name=` one with a value. Invariant: an option that is not on the list,
//! or a word that may turn out to be one, is an error.

use super::line::shown;
use crate::shell::syntax::{Bit, Line, Word};

/// Arguments of which every option is on the list.
#[derive(Debug, Default)]
pub(super) struct Sorted<'a> {
    /// Options by name, with their values.
    pub(super) options: Vec<(String, Option<Word>)>,
    pub(super) operands: Vec<&'a Word>,
}

impl Sorted<'_> {
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    /// The values given to these options.
    pub(super) fn values(&self, names: &[&str]) -> impl Iterator<Item = &Word> {
        let given = self.options.iter().filter(move |(name, _)| names.contains(&name.as_str()));
        given.filter_map(|(_, value)| value.as_ref())
    }
}

/// What a word may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Option,
    Operand,
    /// Only the running shell knows.
    Either,
}

/// What this word may be, given what the line does to its variables.
pub(super) fn shape(word: &Word, line: &Line) -> Shape {
    if word.shifts != Some(0) {
        let begins = word.bits.first() == Some(&Bit::Char('-'));
        let dash = begins && (word.bits.len() > 1 || word.shifts == Some(1));
        return match dash {
            true => Shape::Option,
            // A word that begins as written but splits may go on as an option.
            false if word.splits && !is_plain(word, line) => Shape::Either,
            false => Shape::Operand,
        };
    }
    if is_plain(word, line) { Shape::Operand } else { Shape::Either }
}

/// Every value its variables may have is a known word and no option.
fn is_plain(word: &Word, line: &Line) -> bool {
    let mut variables = word.filled.iter().chain(&word.unknown).peekable();
    let programs = word.bits.iter().filter(|bit| **bit == Bit::Any).count() > word.sums;
    let only_sums = variables.peek().is_none() && !programs;
    let named = variables.peek().is_some();
    let plain = variables.all(|name| line.variables.get(name).is_some_and(|held| held.plain));
    only_sums || named && plain && !programs
}

/// Sort the arguments, or name the option that is not on the list.
pub(super) fn sort<'a>(arguments: &'a [Word], lists: &[&str], line: &Line) -> Result<Sorted<'a>, String> {
    let mut sorted = Sorted::default();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match shape(word, line) {
            Shape::Operand => sorted.operands.push(word),
            Shape::Either => return Err(shown(word)),
            Shape::Option if word.is("--") => {
                sorted.operands.extend(rest.by_ref());
            }
            Shape::Option => option(word, &mut rest, lists, &mut sorted)?,
        }
    }
    Ok(sorted)
}

fn option<'a>(
    word: &Word,
    rest: &mut impl Iterator<Item = &'a Word>,
    lists: &[&str],
    sorted: &mut Sorted,
) -> Result<(), String> {
    let firm: String = word.bits[..word.shifts.unwrap_or(word.bits.len())]
        .iter()
        .map_while(|bit| if let Bit::Char(c) = bit { Some(*c) } else { None })
        .collect();
    let whole = firm.chars().count() == word.bits.len();
    let fails = || Err(shown(word));
    if firm.starts_with("--") {
        let (name, glued) = firm.split_once('=').map_or((firm.as_str(), false), |(name, _)| (name, true));
        let Some(takes) = find_long(lists, name).filter(|_| whole || glued) else { return fails() };
        if glued && word.splits {
            return fails();
        }
        let value = match (glued, takes) {
            (true, _) => word.past('='),
            (false, true) => next(word, rest)?,
            (false, false) => None,
        };
        sorted.options.push((name.to_owned(), value));
        return Ok(());
    }
    for (at, letter) in firm.chars().enumerate().skip(1) {
        let name = format!("-{letter}");
        let glued = || Some(word.after(at + 1)).filter(|value| !value.bits.is_empty());
        let value = match find_letter(lists, letter) {
            Some('=') if at + 1 == word.bits.len() => next(word, rest)?,
            Some('=' | '?' | '#') if word.splits => return fails(),
            Some('=' | '?' | '#') => glued(),
            Some(_) => {
                sorted.options.push((name, None));
                continue;
            }
            None => return fails(),
        };
        sorted.options.push((name, value));
        return Ok(());
    }
    if whole { Ok(()) } else { fails() }
}

/// The word after an option, as its value: one word, whatever it holds.
fn next<'a>(word: &Word, rest: &mut impl Iterator<Item = &'a Word>) -> Result<Option<Word>, String> {
    match rest.next() {
        Some(value) if value.splits => Err(format!("{} {}", shown(word), shown(value))),
        value => Ok(value.cloned()),
    }
}

/// Whether a long option takes a value; `None` if it is not on the list.
fn find_long(lists: &[&str], name: &str) -> Option<bool> {
    let rows = lists.iter().flat_map(|list| list.split_whitespace());
    let mut found = rows.filter(|row| row.starts_with("--") && row.trim_end_matches('=') == name);
    found.next().map(|row| row.ends_with('='))
}

/// How a letter takes its value: `=`, `?`, `#`, or ` ` for none.
fn find_letter(lists: &[&str], letter: char) -> Option<char> {
    let rows = lists.iter().flat_map(|list| list.split_whitespace());
    let mut rows = rows.filter_map(|row| row.strip_prefix('-')).filter(|row| !row.starts_with('-'));
    rows.find_map(|row| match row.chars().next_back() {
        Some('#') => letter.is_ascii_digit().then_some('#'),
        Some(sign @ ('=' | '?')) => row.starts_with(letter).then_some(sign),
        _ => row.contains(letter).then_some(' '),
    })
}
