//! Expands one shell word as far as its text is certain.
//!
//! Quotes, `~`, known variables, braces and `$'…'` become text; globs stay patterns; what is known only at
//! run time becomes [`Bit::Any`]. Invariant: linear in the word, at most `ALTERNATIVES` results, never fails.

use super::scope::Scope;
use super::tree::{List, Raw};
use std::rc::Rc;

mod arithmetic;
mod remade;
mod scan;
mod parameter;

/// How many words one word may stand for; beyond that it may be anything.
const ALTERNATIVES: usize = 1024;

/// Their maximum length in total.
const LONGEST: usize = 512 * 1024;

/// One character of a word, or what may be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bit {
    Char(char),
    /// `?` or `[…]`.
    One,
    Star,
    /// Not known statically.
    Any,
}

impl Bit {
    /// As program text; an unknown part becomes a variable that is never set.
    pub fn code(self) -> String {
        match self {
            Bit::Char(c) => c.to_string(),
            Bit::One => "?".to_owned(),
            Bit::Star => "*".to_owned(),
            Bit::Any => "${_unknown}".to_owned(),
        }
    }

    /// Like `code`, but quoted as one word of a program.
    fn quoted(self) -> String {
        match self {
            Bit::Char('\'') => "\\'".to_owned(),
            Bit::Char(c) if c.is_ascii_alphanumeric() || "_-./:=%+,@".contains(c) => c.to_string(),
            Bit::Char(c) => format!("'{c}'"),
            other => other.code(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    pub bits: Vec<Bit>,
    /// What its substitutions name: the word may become one of these.
    pub named: Vec<Word>,
    /// What those substitutions print, if the line itself contains it.
    pub said: Option<String>,
    /// The programs in those substitutions.
    pub printed: Vec<Rc<str>>,
    /// Variables in it whose value is unknown.
    pub unknown: Vec<String>,
    /// Variables in it whose value was filled in.
    pub filled: Vec<String>,
    /// Where its first expansion begins: from this bit on, the text may differ at run time.
    pub shifts: Option<usize>,
    /// An expansion is unquoted: it may become several words, or none.
    pub splits: bool,
    /// How many of its unknown bits are arithmetic results, and so numbers.
    pub sums: usize,
    /// How many of its unknown bits are names of commits, and so not options.
    pub commits: usize,
    /// How many of its unknown bits are the folder it runs in, or the root of the repository.
    pub places: usize,
    /// How many of its unknown bits contain no slash: numbers, file names without a folder.
    pub names: usize,
    /// It stands for file names that an earlier command of the pipe lists.
    pub lists_files: bool,
    /// It is each of several values in turn: what a loop gets from a substitution or a pipe.
    pub several: bool,
}

impl Word {
    /// As program text. Wildcards stay wildcards.
    pub fn code(&self) -> String {
        self.bits.iter().copied().map(Bit::code).collect()
    }

    /// As one word of a program.
    pub fn quoted(&self) -> String {
        self.bits.iter().copied().map(Bit::quoted).collect()
    }

    pub fn of(text: &str) -> Self {
        Self { bits: text.chars().map(Bit::Char).collect(), ..Self::default() }
    }

    pub fn any() -> Self {
        Self { bits: vec![Bit::Any], ..Self::default() }
    }

    /// The text, if all of it is certain.
    pub fn literal(&self) -> Option<String> {
        let mut text = String::with_capacity(self.bits.len());
        for bit in &self.bits {
            let Bit::Char(c) = bit else { return None };
            text.push(*c);
        }
        Some(text)
    }

    /// The text for people, unknown parts as `…`.
    pub fn lossy(&self) -> String {
        let shown = |bit: &Bit| match bit {
            Bit::Char(c) => *c,
            Bit::One => '?',
            Bit::Star => '*',
            Bit::Any => '…',
        };
        let mut text = String::with_capacity(self.bits.len());
        text.extend(self.bits.iter().map(shown));
        text
    }

    pub fn starts_with(&self, text: &str) -> bool {
        let mut bits = self.bits.iter();
        text.chars().all(|c| bits.next() == Some(&Bit::Char(c)))
    }

    pub fn is(&self, text: &str) -> bool {
        is_text(&self.bits, text)
    }

    pub fn is_option(&self) -> bool {
        self.bits.len() > 1 && self.starts_with("-")
    }

    /// Continues the hash `mark` with these bits; equal bits give equal results.
    pub fn mark(&self, mark: u64) -> u64 {
        self.bits.iter().fold(mark.rotate_left(7) ^ 0x2f, |mark, bit| {
            let letter = match bit {
                Bit::Char(c) => u64::from(*c),
                other => 0x0020_0000 + u64::from(*other == Bit::Any),
            };
            (mark ^ letter).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    /// Whether it runs exactly as written: no expansion, no pattern.
    pub fn is_firm(&self) -> bool {
        self.shifts.is_none() && self.bits.iter().all(|bit| matches!(bit, Bit::Char(_)))
    }

    /// Whether it may become several words, or none: a pattern, an unquoted expansion, the results of a
    /// `find`.
    pub fn is_several(&self) -> bool {
        self.splits
            || self.bits.windows(2).any(|pair| pair == [Bit::Any, Bit::Any])
            || self.bits.iter().any(|bit| matches!(bit, Bit::Star | Bit::One))
    }

    /// Whether another program changes the output of its substitutions.
    pub fn is_filtered(&self) -> bool {
        const PLAIN: [&str; 7] = ["cat", "echo", "envsubst", "head", "printf", "tail", "tee"];
        self.printed.iter().any(|name| !PLAIN.contains(&&**name))
    }

    /// The word without its first `n` bits.
    #[must_use]
    pub fn after(&self, n: usize) -> Self {
        let bits = self.bits.get(n..).unwrap_or_default().to_vec();
        self.with(bits, self.shifts.map(|at| at.saturating_sub(n)))
    }

    /// The same word with other bits; everything else known about it stays.
    fn with(&self, bits: Vec<Bit>, shifts: Option<usize>) -> Self {
        // We cannot tell which of the unknown bits was dropped.
        let lost = unknown(&bits) < unknown(&self.bits);
        Self {
            bits,
            names: if lost { 0 } else { self.names },
            named: self.named.clone(),
            said: self.said.clone(),
            printed: self.printed.clone(),
            unknown: self.unknown.clone(),
            filled: self.filled.clone(),
            shifts,
            splits: self.splits,
            sums: self.sums,
            commits: self.commits,
            places: self.places,
            lists_files: self.lists_files,
            several: self.several,
        }
    }

    /// Whether it names a file in one known folder: no slash can appear at run time that the line does not
    /// show.
    pub fn is_one_name(&self) -> bool {
        let (folder, name) = self.split_last();
        folder.iter().all(|bit| matches!(bit, Bit::Char(_))) && unknown(name) <= self.names
    }

    /// Whether it contains no slash, and cannot contain one at run time.
    pub(super) fn has_no_slash(&self) -> bool {
        !self.bits.contains(&Bit::Char('/')) && self.is_one_name()
    }

    /// The words it becomes if its one unknown bit is this text; `None` if a character of the text may have a
    /// special meaning.
    pub(super) fn with_known(&self, text: &str) -> Option<Vec<Self>> {
        let text = text.trim_end_matches('\n');
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@+^ \n".contains(c);
        let at = self.bits.iter().position(|bit| *bit == Bit::Any)?;
        let alone =
            self.unknown.is_empty() && self.filled.is_empty() && !self.bits[at + 1..].contains(&Bit::Any);
        if !alone || !text.chars().all(is_plain) {
            return None;
        }
        let texts: Vec<&str> = if self.splits { text.split_whitespace().collect() } else { vec![text] };
        let mut words: Vec<Vec<Bit>> =
            texts.iter().map(|text| text.chars().map(Bit::Char).collect()).collect();
        if words.is_empty() && self.bits.len() > 1 {
            words.push(Vec::new());
        }
        if let Some(first) = words.first_mut() {
            first.splice(..0, self.bits[..at].iter().copied());
        }
        if let Some(last) = words.last_mut() {
            last.extend(&self.bits[at + 1..]);
        }
        Some(words.into_iter().map(|bits| self.with(bits, Some(0))).collect())
    }

    /// The word after the first `sign`, if it contains one.
    pub fn past(&self, sign: char) -> Option<Self> {
        let at = self.bits.iter().position(|bit| *bit == Bit::Char(sign))?;
        Some(self.after(at + 1))
    }

    /// This path as seen from `folder`.
    #[must_use]
    pub fn from_folder(&self, folder: &Word) -> Self {
        if self.starts_with("/") {
            return self.clone();
        }
        let mut bits = Vec::with_capacity(folder.bits.len() + 1 + self.bits.len());
        bits.extend_from_slice(&folder.bits);
        bits.push(Bit::Char('/'));
        let shifts = folder.shifts.or(self.shifts.map(|at| at + bits.len()));
        bits.extend_from_slice(&self.bits);
        self.with(bits, shifts)
    }

    /// Lexically normalised: without `.`, `..` and doubled slashes.
    #[must_use]
    pub fn tidied(&self) -> Self {
        let mut parts: Vec<&[Bit]> = Vec::new();
        for part in self.bits.split(|bit| *bit == Bit::Char('/')) {
            match part {
                [] | [Bit::Char('.')] => {}
                [Bit::Char('.'), Bit::Char('.')] => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        let root = self.bits.first().filter(|bit| **bit == Bit::Char('/')).copied();
        let bits = root.into_iter().chain(parts.join(&Bit::Char('/'))).collect();
        self.with(bits, self.shifts.map(|_| 0))
    }

    /// The bits before its last path component, and that component.
    fn split_last(&self) -> (&[Bit], &[Bit]) {
        let end = self.bits.iter().rposition(|bit| *bit != Bit::Char('/')).map_or(0, |at| at + 1);
        let begin = self.bits[..end].iter().rposition(|bit| *bit == Bit::Char('/')).map_or(0, |at| at + 1);
        (&self.bits[..begin], &self.bits[begin..end])
    }

    #[must_use]
    pub fn folder(&self) -> Self {
        let (_slash, folder) = self.split_last().0.split_last().unzip();
        folder.map_or_else(|| Self::of("."), |bits| Self { bits: bits.to_vec(), ..Self::default() })
    }

    #[must_use]
    pub fn last_part(&self) -> Self {
        Self { bits: self.last_bits().to_vec(), ..Self::default() }
    }

    pub fn last_bits(&self) -> &[Bit] {
        self.split_last().1
    }
}

fn unknown(bits: &[Bit]) -> usize {
    bits.iter().filter(|bit| **bit == Bit::Any).count()
}

pub fn is_text(bits: &[Bit], text: &str) -> bool {
    let mut letters = text.chars();
    bits.iter().all(|bit| letters.next().is_some_and(|c| *bit == Bit::Char(c))) && letters.next().is_none()
}

/// A program that a word runs.
#[derive(Debug)]
pub(super) enum Run<'t> {
    /// Parsed with the word.
    Tree(&'t List<'t>),
    /// Known only after the quotes are removed: backquotes.
    Text(String),
}

#[derive(Debug, Default)]
pub(super) struct Expanded<'t> {
    pub(super) words: Vec<Word>,
    /// Programs its substitutions run.
    pub(super) runs: Vec<Run<'t>>,
    /// Variables it sets: `${x:=…}`.
    pub(super) sets: Vec<String>,
    /// It stands for too many words.
    pub(super) beyond: bool,
    /// It uses a form that we cannot evaluate: `${x@P}`, or a pattern that is a program in another shell.
    pub(super) odd: bool,
    /// Programs whose output it uses in arithmetic, and variables.
    pub(super) counts: Vec<Run<'t>>,
    pub(super) numbers: Vec<String>,
    /// Variables that its arithmetic assigns.
    pub(super) counted: Vec<String>,
    /// Variables with several values; the word holds one of them.
    pub(super) varied: Vec<String>,
    /// Variables that only zsh evaluates as arithmetic: `$x[y]`.
    pub(super) indexes: Vec<String>,
}

/// Most words are plain text: they stand for themselves.
pub(super) fn is_plain(raw: &str) -> bool {
    raw.bytes().all(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'..=b'/' | b':' | b'=' | b'%' | b'+')
    })
}

pub(super) fn expand<'t>(raw: &'t Raw<'t>, scope: &'t Scope) -> Expanded<'t> {
    if is_plain(raw.text) {
        return Expanded { words: vec![Word::of(raw.text)], ..Expanded::default() };
    }
    let mut scan = scan::Scan::new(raw, scope);
    scan.pieces.reserve(raw.text.len());
    scan.read(0, raw.text.len(), scan::Quotes::None);
    let scan::Scan { pieces, mut word, mut done, vanishes, .. } = scan;
    word.sums += usize::from(is_sequence(raw.text));
    word.names += usize::from(is_sequence(raw.text));
    // `{1..9}` becomes as many words.
    word.splits |= raw.text.contains('{') && raw.text.contains("..");
    let mut room = LONGEST;
    let Some(alternatives) = scan::spread(pieces, &mut room) else {
        done.beyond = true;
        done.words.push(word.with(vec![Bit::Any], Some(0)));
        return done;
    };
    // The count covers all alternatives, so it says nothing about a single one.
    word.names *= usize::from(alternatives.len() == 1);
    for pieces in alternatives {
        if done.words.len() * (word.named.len() + word.printed.len()) > LONGEST / 8 {
            done.beyond = true;
            break;
        }
        let Some(fields) = scan::fields(&pieces, scope, &mut room) else {
            // Too many values: any of them may be here.
            done.beyond |= word.named.len() > ALTERNATIVES;
            word.named.truncate(ALTERNATIVES);
            word.names = 0;
            word.named.extend(scan::values(&pieces).take(ALTERNATIVES));
            done.words.push(word.with(scan::unfilled(&pieces, scope), Some(0)));
            continue;
        };
        word.names *= usize::from(fields.len() == 1);
        for Word { bits, shifts, .. } in fields {
            if bits.is_empty() && vanishes && word.splits {
                continue;
            }
            let shifts = shifts.or_else(|| bits.iter().position(|bit| *bit == Bit::Any));
            done.words.push(word.with(bits, shifts));
        }
    }
    done
}

/// What a here-document or a pattern runs and sets: quotes are ordinary characters, only `$` and backquotes
/// count.
pub(super) fn document<'t>(raw: &'t Raw<'t>, scope: &'t Scope) -> Expanded<'t> {
    let mut scan = scan::Scan::new(raw, scope);
    scan.inside(0, raw.text.len());
    scan.done
}

/// The variables that an arithmetic text uses, and what it runs.
pub(super) fn sum<'t>(raw: &'t Raw<'t>, scope: &'t Scope) -> Expanded<'t> {
    let mut scan = scan::Scan::new(raw, scope);
    scan.sum(0, raw.text.len());
    scan.done
}

/// `{1..9}`: numbers that we do not enumerate.
fn is_sequence(raw: &str) -> bool {
    let inside = raw.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
    inside.contains("..") && inside.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}
