//! Reads the characters of a raw word into pieces: text, patterns, braces, and unknown parts. Then it expands
//! `{a,b}` into its alternatives, which the shell does first, fills in `~` and variables, and splits at
//! blanks.

use super::{ALTERNATIVES, Expanded, Run, arithmetic};
use crate::syntax::scope::Scope;
use crate::syntax::tree::Raw;
use crate::syntax::{Bit, Word};
use std::borrow::Cow;

/// The letters after a backslash in `$'…'`, and the character for each.
const ESCAPES: (&str, &str) = ("ntreEabfv", "\n\t\r\u{1b}\u{1b}\u{7}\u{8}\u{c}\u{b}");

/// A part of a word before brace expansion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Bit(Bit),
    /// An unquoted brace or comma.
    Sign(char),
    /// An unquoted `~`.
    Tilde,
    /// One of several texts: a variable that may hold any of them. An unquoted one is split at blanks.
    OneOf(Vec<Vec<Bit>>, bool),
    /// All of these texts, each a word of its own: `"$@"`.
    All(Vec<Vec<Bit>>, bool),
}

/// What surrounds the text being read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    None,
    Double,
    /// `$'…'`
    Ansi,
    /// A here-document, which no quote ends.
    Document,
}

/// A raw word being read. Positions are bytes of its text.
pub(super) struct Scan<'t> {
    pub(super) scope: &'t Scope,
    pub(super) raw: &'t Raw<'t>,
    pub(super) pieces: Vec<Piece>,
    /// What is known about the word apart from its text.
    pub(super) word: Word,
    /// What it runs and sets.
    pub(super) done: Expanded<'t>,
    /// It disappears if it is empty, because it contains no quotes.
    pub(super) vanishes: bool,
    /// Where the last `[` could end, and the last quote or expansion before that.
    range: (usize, usize),
}

impl<'t> Scan<'t> {
    pub(super) fn new(raw: &'t Raw<'t>, scope: &'t Scope) -> Self {
        let word = Word::default();
        let done = Expanded::default();
        let vanishes = !raw.text.contains(['"', '\'']);
        Self { scope, raw, pieces: Vec::new(), word, done, vanishes, range: (0, 0) }
    }

    /// Collects only what the text runs and sets; its characters are not needed.
    pub(super) fn inside(&mut self, from: usize, to: usize) {
        let mut within = Scan::new(self.raw, self.scope);
        within.read(from, to, Quotes::Document);
        self.take(within.done);
    }

    /// Like `inside`, for arithmetic, where every value is a number or a program.
    pub(super) fn sum(&mut self, from: usize, to: usize) {
        let mut within = Scan::new(self.raw, self.scope);
        within.read(from, to, Quotes::Document);
        let terms = arithmetic::terms(self.raw, from, to);
        self.done.numbers.extend(terms.names);
        self.done.counted.extend(terms.sets);
        self.done.odd |= terms.is_odd;
        self.done.counts.append(&mut within.done.runs);
        self.take(within.done);
    }

    /// `$x[…]`: text in bash, but in zsh an index that is evaluated.
    pub(super) fn index(&mut self, open: usize, to: usize) {
        let Some(end) = self.raw.closing(open + 1, to, b'[', b']') else { return };
        let terms = arithmetic::terms(self.raw, open + 1, end);
        self.done.indexes.extend(terms.names);
        self.done.odd |= self.raw.text[open..end].contains("$(") || self.raw.text[open..end].contains('`');
    }

    pub(super) fn take(&mut self, mut within: Expanded<'t>) {
        self.done.runs.append(&mut within.runs);
        self.done.sets.append(&mut within.sets);
        self.done.counts.append(&mut within.counts);
        self.done.counted.append(&mut within.counted);
        self.done.numbers.append(&mut within.numbers);
        self.done.indexes.append(&mut within.indexes);
        self.done.varied.append(&mut within.varied);
        self.done.odd |= within.odd;
        self.done.beyond |= within.beyond;
    }

    pub(super) fn text(&mut self, c: char) {
        self.bit(Bit::Char(c));
    }

    pub(super) fn bit(&mut self, bit: Bit) {
        self.pieces.push(Piece::Bit(bit));
    }

    /// The byte at this position, or 0 after the end.
    pub(super) fn byte(&self, at: usize, to: usize) -> u8 {
        if at < to { self.raw.text.as_bytes()[at] } else { 0 }
    }

    /// The character that begins here, and the position after it.
    fn letter(&self, at: usize) -> (char, usize) {
        let letter = self.raw.text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or('\u{fffd}');
        (letter, at + letter.len_utf8())
    }

    /// Reads up to the closing quote or to the end. Returns the position after it.
    pub(super) fn read(&mut self, from: usize, to: usize, quotes: Quotes) -> usize {
        let is_bare = quotes == Quotes::None;
        let is_ansi = quotes == Quotes::Ansi;
        let mut at = from;
        while at < to {
            at = match (self.byte(at, to), self.byte(at + 1, to)) {
                (b'"', _) if quotes == Quotes::Double => return at + 1,
                (b'\'', _) if is_ansi => return at + 1,
                (b'\\', _) if is_ansi => self.escape(at + 1, to),
                (b'\\', b'\n') => at + 2,
                (b'\\', next) if at + 1 < to && (is_bare || b"$`\"\\".contains(&next)) => {
                    let (letter, end) = self.letter(at + 1);
                    self.text(letter);
                    end
                }
                (b'\'', _) if is_bare => self.single(at + 1, to),
                (b'"', _) if is_bare => self.read(at + 1, to, Quotes::Double),
                (b'$', b'\'') if is_bare => self.read(at + 2, to, Quotes::Ansi),
                (b'$', b'"') if is_bare => self.read(at + 2, to, Quotes::Double),
                (b'$' | b'`', _) if !is_ansi => self.dollar(at, to, !is_bare),
                (b'<' | b'>', b'(') if is_bare => self.program(at, to),
                (b'@' | b'+' | b'!' | b'?' | b'*', b'(') if is_bare => self.extended_glob(at + 1, to),
                (b'[', _) if is_bare => self.bracket(at, to),
                _ => {
                    let (letter, end) = self.letter(at);
                    self.pieces.push(if is_bare { plain(letter) } else { Piece::Bit(Bit::Char(letter)) });
                    end
                }
            };
        }
        at
    }

    fn single(&mut self, from: usize, to: usize) -> usize {
        let end = memchr::memchr(b'\'', &self.raw.text.as_bytes()[from..to]).map_or(to, |end| from + end);
        let text = self.raw.text;
        text[from..end].chars().for_each(|c| self.text(c));
        end + 1
    }

    fn escape(&mut self, at: usize, to: usize) -> usize {
        if at >= to {
            return at;
        }
        let (letter, end) = self.letter(at);
        let (radix, begin, most) = match letter {
            'x' if self.byte(end, to) == b'{' => (16, end + 1, 8),
            'x' => (16, end, 2),
            'u' => (16, end, 4),
            'U' => (16, end, 8),
            '0'..='7' => (8, at, 3),
            'c' if end < to => {
                let (control, end) = self.letter(end);
                return self.code(u32::from(control) & 0x1f, end, to);
            }
            _ => {
                let mut known = ESCAPES.0.chars().zip(ESCAPES.1.chars());
                self.text(known.find(|(name, _)| *name == letter).map_or(letter, |(_, c)| c));
                return end;
            }
        };
        let digits =
            self.raw.text[begin..to].chars().take(most).take_while(|digit| digit.is_digit(radix)).count();
        let value = u32::from_str_radix(&self.raw.text[begin..begin + digits], radix).unwrap_or(u32::MAX);
        let end = begin + digits;
        let is_braced = begin > 0 && letter == 'x' && self.byte(begin - 1, to) == b'{';
        let end = end + usize::from(is_braced && self.byte(end, to) == b'}');
        // One byte, whatever its digits say: `\555` is `m`.
        self.code(if radix == 8 || is_braced { value & 0xff } else { value }, end, to)
    }

    /// The character with this code. After a zero the shell drops the rest of the quoted text.
    fn code(&mut self, value: u32, mut at: usize, to: usize) -> usize {
        if value != 0 {
            self.text(char::from_u32(value).unwrap_or('\u{fffd}'));
            return at;
        }
        while at < to && self.byte(at, to) != b'\'' {
            at += if self.byte(at, to) == b'\\' { 2 } else { 1 };
        }
        at.min(to)
    }

    /// Reads the substitution that begins here, which stands for its output or the name of its pipe. Returns
    /// the position after it.
    pub(super) fn program(&mut self, at: usize, to: usize) -> usize {
        self.bit(Bit::Any);
        let text = self.raw.text;
        if let Some((part, end)) = self.raw.part(at).filter(|(_, end)| *end <= to)
            && let Some(list) = &part.list
        {
            self.done.runs.push(Run::Tree(list));
            return end;
        }
        // Quoted on the line, but the shell evaluates this text again: `[[ 'a[$(rm x)]' -eq 1 ]]`.
        let end = self.raw.closing(at + 2, to, b'(', b')').unwrap_or(to);
        self.done.runs.push(Run::Text(text[at + 2..end].to_owned()));
        (end + 1).min(to)
    }

    /// `@(a|b)`: any text may match. In zsh the brackets may contain a program: `*(e:…:)`.
    fn extended_glob(&mut self, open: usize, to: usize) -> usize {
        self.bit(Bit::Star);
        self.done.odd = true;
        let end = self.raw.closing(open + 1, to, b'(', b')').unwrap_or(to);
        self.inside(open + 1, end);
        (end + 1).min(to)
    }

    /// `[a-z]` is one character; a lone `[` is itself.
    fn bracket(&mut self, at: usize, to: usize) -> usize {
        let bytes = &self.raw.text.as_bytes()[..to];
        if self.range.0 < at + 2 {
            // Every `[` before this end has the same end, so it is searched only once.
            let ends = |at: &usize| matches!(bytes[*at], b'/' | b']');
            let quotes = |at: &usize| matches!(bytes[*at], b'$' | b'`' | b'"' | b'\'' | b'\\');
            let end = (at + 2..to).find(ends).unwrap_or(to);
            self.range = (end, (at..end).rfind(quotes).unwrap_or(at));
        }
        let (end, quote) = self.range;
        // Expansions and quotes inside must be read, so a bracket that contains them is plain text here.
        if end < to && bytes[end] == b']' && quote <= at {
            self.bit(Bit::One);
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
        '{' | ',' | '}' => Piece::Sign(c),
        '~' => Piece::Tilde,
        _ => Piece::Bit(Bit::Char(c)),
    }
}

/// All alternatives of these pieces, within the remaining room; `None` if there are too many.
pub(super) fn spread(pieces: Vec<Piece>, room: &mut usize) -> Option<Vec<Vec<Piece>>> {
    let mut waiting = vec![pieces];
    let mut done = Vec::new();
    while let Some(pieces) = waiting.pop() {
        let Some(bounds) = first_group(&pieces) else {
            done.push(pieces);
            continue;
        };
        let members = (bounds.len() - 1).max(1);
        *room = room.checked_sub(members * pieces.len())?;
        if waiting.len() + done.len() + members > ALTERNATIVES {
            return None;
        }
        let open = bounds[0];
        let close = bounds[bounds.len() - 1];
        let around = |inner: &[Piece]| [&pieces[..open], inner, &pieces[close + 1..]].concat();
        if bounds.len() == 2 {
            waiting.push(around(&[Piece::Bit(Bit::Any)]));
        } else {
            waiting.extend(bounds.windows(2).rev().map(|pair| around(&pieces[pair[0] + 1..pair[1]])));
        }
    }
    Some(done)
}

/// The first brace group that has several members or is a sequence: its opening brace, its own commas, and
/// its closing brace. One pass.
fn first_group(pieces: &[Piece]) -> Option<Vec<usize>> {
    let mut best: Option<Vec<usize>> = None;
    let mut open: Vec<(Vec<usize>, bool)> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Sign('{') => open.push((vec![at], false)),
            Piece::Sign('}') => {
                let Some((mut bounds, counts)) = open.pop() else { continue };
                if let Some((_, outer)) = open.last_mut() {
                    *outer |= counts;
                }
                bounds.push(at);
                let earlier = best.as_ref().is_none_or(|best| bounds[0] < best[0]);
                if earlier && (bounds.len() > 2 || counts) {
                    best = Some(bounds);
                }
                if open.is_empty() && best.is_some() {
                    return best;
                }
            }
            Piece::Sign(_) => open.last_mut().into_iter().for_each(|(bounds, _)| bounds.push(at)),
            Piece::Bit(Bit::Char('.')) if at > 0 && pieces[at - 1] == Piece::Bit(Bit::Char('.')) => {
                open.last_mut().into_iter().for_each(|(_, counts)| *counts = true);
            }
            _ => {}
        }
    }
    best
}

/// The words that these pieces become, and where the first variable was filled in; `None` if they are too
/// many or too long.
pub(super) fn fields(pieces: &[Piece], scope: &Scope, room: &mut usize) -> Option<Vec<Word>> {
    // Each alternative is a list of words; only the last one is still growing.
    let mut alternatives = vec![vec![Word { bits: Vec::with_capacity(pieces.len()), ..Word::default() }]];
    let mut length = 0;
    let blanks = separators(scope);
    for (at, piece) in pieces.iter().enumerate() {
        let (choices, filled, splits) = match piece {
            Piece::Bit(bit) => {
                length += alternatives.len();
                if length > *room {
                    return None;
                }
                alternatives
                    .iter_mut()
                    .filter_map(|words| words.last_mut())
                    .for_each(|last| last.bits.push(*bit));
                continue;
            }
            Piece::All(texts, splits) => {
                length += alternatives.len() * texts.iter().map(|text| text.len() + 1).sum::<usize>();
                if alternatives.len() * texts.len() > ALTERNATIVES || length > *room {
                    return None;
                }
                for words in &mut alternatives {
                    each(words, texts, splits.then_some(&*blanks));
                }
                continue;
            }
            Piece::Sign(c) => (vec![vec![Bit::Char(*c)]], false, false),
            Piece::Tilde => (vec![tilde(pieces, at, scope)], false, false),
            Piece::OneOf(texts, splits) => (texts.clone(), true, *splits),
        };
        length = length * choices.len() + alternatives.len() * choices.iter().map(Vec::len).sum::<usize>();
        if alternatives.len() * choices.len() > ALTERNATIVES || length > *room {
            return None;
        }
        let grown = |words| {
            let copies = std::iter::repeat_n(words, choices.len()).zip(&choices);
            copies.map(|(words, choice)| grow(words, choice, filled, splits.then_some(&*blanks)))
        };
        alternatives = alternatives.into_iter().flat_map(grown).collect();
    }
    *room -= length;
    Some(alternatives.into_iter().flatten().collect())
}

/// The values that these pieces may stand for.
pub(super) fn values(pieces: &[Piece]) -> impl Iterator<Item = Word> {
    let texts = pieces.iter().flat_map(|piece| match piece {
        Piece::OneOf(texts, _) | Piece::All(texts, _) => texts.as_slice(),
        _ => &[],
    });
    texts.map(|bits| Word { bits: bits.clone(), ..Word::default() })
}

/// These pieces as one word, with an unknown bit for each value.
pub(super) fn unfilled(pieces: &[Piece], scope: &Scope) -> Vec<Bit> {
    let bits = |(at, piece): (usize, &Piece)| match piece {
        Piece::Bit(bit) => vec![*bit],
        Piece::Sign(c) => vec![Bit::Char(*c)],
        Piece::Tilde => tilde(pieces, at, scope),
        Piece::OneOf(..) | Piece::All(..) => vec![Bit::Any],
    };
    pieces.iter().enumerate().flat_map(bits).collect()
}

/// The first text continues the last word; each of the others begins a new one.
fn each(words: &mut Vec<Word>, texts: &[Vec<Bit>], blanks: Option<&str>) {
    for (n, text) in texts.iter().enumerate() {
        if n > 0 {
            words.push(Word { shifts: Some(0), ..Word::default() });
        }
        *words = grow(std::mem::take(words), text, true, blanks);
    }
}

/// The characters at which the shell splits a value: any that the line puts into `IFS`.
fn separators(scope: &Scope) -> Cow<'static, str> {
    let values = scope.value("IFS").unwrap_or_default();
    let texts: Option<Vec<String>> = values.iter().map(Word::literal).collect();
    match texts.filter(|texts| !texts.is_empty()) {
        Some(texts) => Cow::Owned(texts.concat()),
        None => Cow::Borrowed(" \t\n"),
    }
}

/// `blanks`: where the text is split, if it is.
fn grow(mut words: Vec<Word>, bits: &[Bit], filled: bool, blanks: Option<&str>) -> Vec<Word> {
    if let Some(last) = words.last_mut().filter(|_| filled) {
        last.shifts = last.shifts.or(Some(last.bits.len()));
    }
    for bit in bits {
        if matches!(bit, Bit::Char(c) if blanks.is_some_and(|blanks| blanks.contains(*c))) {
            words.push(Word { shifts: Some(0), ..Word::default() });
        } else if let Some(last) = words.last_mut() {
            last.bits.push(*bit);
        }
    }
    words
}

/// A `~` as the shell expands it; in other places the plain character.
fn tilde(pieces: &[Piece], at: usize, scope: &Scope) -> Vec<Bit> {
    let before = at.checked_sub(1).map(|i| &pieces[i]);
    let begins = matches!(before, None | Some(Piece::Bit(Bit::Char('=' | ':'))));
    if !begins {
        return vec![Bit::Char('~')];
    }
    match pieces.get(at + 1) {
        None | Some(Piece::Bit(Bit::Char('/' | ':'))) => scope.home.bits.clone(),
        // `~+` and `~name` are unknown; the name may be our own user's.
        _ => vec![Bit::Any],
    }
}
