//! Reads what a `$` or a backquote begins: variables, substitutions, arithmetic.

use super::remade::{remade, slice};
use super::scan::{Piece, Quotes, Scan};
use super::{ALTERNATIVES, Run};
use crate::syntax::scope::{Unset, list_of, programs_in, whether};
use crate::syntax::tree::is_name_byte;
use crate::syntax::{Bit, Word};

/// In the place of a name: text derived from a variable, but not its value.
const OTHER: &str = "";

impl Scan<'_> {
    /// Reads the expansion that begins at `at`. Returns the position after it.
    pub(super) fn dollar(&mut self, at: usize, to: usize, quoted: bool) -> usize {
        let part =
            self.raw.part(at).map(|(part, end)| (part.list.is_some(), end)).filter(|(_, end)| *end <= to);
        match (self.byte(at, to), self.byte(at + 1, to), part) {
            (b'`', ..) => self.backquoted(at + 1, to, quoted),
            (_, b'(', Some((false, end))) => self.computed(at + 3, end - 2, end),
            (_, b'[', Some((_, end))) => self.computed(at + 2, end - 1, end),
            (_, b'(', _) => {
                self.word.splits |= !quoted;
                self.program(at, to)
            }
            (_, b'{', Some((_, end))) => {
                self.braced(at + 2, end - 1, quoted);
                end
            }
            (_, byte, _) if byte.is_ascii_alphabetic() || byte == b'_' => {
                let end = self.name_end(at + 1, to);
                let raw = self.raw;
                self.variable(&raw.text[at + 1..end], quoted);
                if self.byte(end, to) == b'[' {
                    self.index(end, to);
                }
                end
            }
            // `$~x`, `$^x` and `$=x` in zsh treat the value as a pattern, which may run a program.
            (_, b'~' | b'^' | b'=', _) if !quoted && is_name_byte(self.byte(at + 2, to)) => {
                self.done.odd = true;
                at + 1
            }
            (_, byte, _) if byte.is_ascii_digit() || b"@*#?-$!".contains(&byte) => {
                self.variable(char::from(byte).encode_utf8(&mut [0]), quoted);
                at + 2
            }
            _ => {
                self.text('$');
                at + 1
            }
        }
    }

    /// Arithmetic is not a program, though it may run some.
    fn computed(&mut self, from: usize, to: usize, end: usize) -> usize {
        self.sum(from, to);
        self.word.sums += 1;
        self.word.names += 1;
        self.bit(Bit::Any);
        end
    }

    fn name_end(&self, from: usize, to: usize) -> usize {
        (from..to).find(|&at| !is_name_byte(self.byte(at, to))).unwrap_or(to)
    }

    fn backquoted(&mut self, from: usize, to: usize, quoted: bool) -> usize {
        let text = &self.raw.text[from..to];
        let mut code = String::new();
        let mut end = to;
        let mut letters = text.char_indices().peekable();
        while let Some((at, letter)) = letters.next() {
            match (letter, letters.peek()) {
                ('`', _) => {
                    end = from + at + 1;
                    break;
                }
                ('\\', Some(&(_, next @ ('`' | '$' | '\\')))) => {
                    code.push(next);
                    letters.next();
                }
                _ => code.push(letter),
            }
        }
        self.done.runs.push(Run::Text(code));
        self.word.splits |= !quoted;
        self.bit(Bit::Any);
        end
    }

    /// A variable that stands for one of its values, or `$@` and similar.
    fn variable(&mut self, name: &str, quoted: bool) {
        let is_position = name.bytes().all(|byte| byte.is_ascii_digit() || b"@*".contains(&byte));
        if is_position && self.scope.given.len() > 1 {
            self.done.varied.push("@".to_owned());
        }
        if matches!(name, "@" | "*") && self.scope.value(name).is_some_and(|values| !values.is_empty()) {
            return self.all(name, 0.., quoted && name == "*", quoted);
        }
        self.word.splits |= !quoted || matches!(name, "@" | "*");
        if self.is_whole(name) && self.nothing(name) {
            return;
        }
        if name == "IFS" && !quoted && self.scope.value(name).is_none() {
            // The blanks at which it is split: `rm${IFS}file`.
            return self.pieces.push(Piece::OneOf(vec![vec![Bit::Char(' ')]], true));
        }
        match self.scope.value(name) {
            Some(values) if !values.is_empty() => {
                let texts = values.iter().map(|word| word.bits.clone()).collect();
                self.word.said =
                    self.word.said.take().or_else(|| values.iter().find_map(|word| word.said.clone()));
                self.carry(values);
                if let [only] = values {
                    self.word.sums += only.sums;
                    self.word.commits += only.commits;
                    self.word.places += only.places;
                    self.word.names += only.names;
                }
                self.word.filled.push(name.to_owned());
                let is_one = self.scope.choices(name) > 1 && !matches!(name, "@" | "*" | "PWD");
                self.done.varied.extend(is_one.then(|| name.to_owned()));
                self.one_list(name);
                self.pieces.push(Piece::OneOf(texts, !quoted));
            }
            _ => {
                self.word.unknown.push(name.to_owned());
                self.bit(Bit::Any);
            }
        }
    }

    /// Whether the word is only this variable, unquoted, so that it disappears if the variable is not set.
    /// Also true if the variable is assigned to another: `export x=$y`.
    fn is_whole(&self, name: &str) -> bool {
        let (before, value) = self.raw.text.split_once('=').unwrap_or(("", self.raw.text));
        let text = value.strip_prefix('$').filter(|_| before.bytes().all(is_name_byte)).unwrap_or_default();
        text == name || text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) == Some(name)
    }

    /// Whether the variable has no value here. If it may have none, both cases are examined.
    fn nothing(&mut self, name: &str) -> bool {
        match self.scope.unset.get(name) {
            Some(Unset::Surely) => {
                self.word.filled.push(name.to_owned());
                true
            }
            Some(Unset::Maybe) => {
                self.done.varied.push(whether(name));
                false
            }
            None => false,
        }
    }

    /// A command gets one of the lists that an array may be.
    fn one_list(&mut self, name: &str) {
        let is_one = self.scope.lists.get(name).is_some_and(|lists| lists.len() > 1);
        self.done.varied.extend(is_one.then(|| list_of(name)));
    }

    /// All values of a variable: as separate words, or joined with blanks.
    fn all(&mut self, name: &str, range: impl std::ops::RangeBounds<usize>, is_joined: bool, quoted: bool) {
        let values = self.scope.value(name).unwrap_or_default();
        let inside = values.iter().enumerate().filter(|(at, _)| range.contains(at));
        let values: Vec<Word> = inside.map(|(_, value)| value.clone()).collect();
        self.word.splits |= !is_joined;
        self.word.said = self.word.said.take().or_else(|| values.iter().find_map(|word| word.said.clone()));
        self.carry(&values);
        self.word.filled.push(name.to_owned());
        let texts: Vec<Vec<Bit>> = values.into_iter().map(|word| word.bits).collect();
        let texts = if is_joined { vec![texts.join(&Bit::Char(' '))] } else { texts };
        if !texts.is_empty() {
            self.pieces.push(Piece::All(texts, !quoted));
        }
    }

    /// `${@}`, `${@:2}`, `${a[@]}`, `${a[@]:1:3}`. Returns whether it was one of these.
    fn listed(&mut self, name: &str, rest: &str, quoted: bool) -> bool {
        let (name, sign, rest) = match (name, rest.as_bytes()) {
            ("", [sign @ (b'@' | b'*'), ..]) => ("@", *sign, &rest[1..]),
            (_, [b'[', sign @ (b'@' | b'*'), b']', ..]) if !name.is_empty() => (name, *sign, &rest[3..]),
            _ => return false,
        };
        let Some((from, to)) = slice(rest) else { return false };
        let is_all = rest.is_empty() && self.raw.text.trim_matches('"').len() == name.len() + 6;
        if is_all && self.nothing(name) {
            self.word.splits = true;
            self.vanishes = true;
            return true;
        }
        if self.scope.value(name).is_none_or(<[Word]>::is_empty) {
            return false;
        }
        if name == "@" && self.scope.given.len() > 1 {
            self.done.varied.push("@".to_owned());
        }
        self.one_list(name);
        // `${@:1}` begins with `$1`, but `${a[@]:1}` with the second element.
        let skipped = usize::from(name == "@" && !rest.is_empty());
        self.all(
            name,
            from.saturating_sub(skipped)..to.saturating_sub(skipped),
            quoted && sign == b'*',
            quoted,
        );
        true
    }

    /// Passes on what substitutions in these values name and run.
    fn carry(&mut self, values: &[Word]) {
        for value in values {
            let full = self.word.named.len() + value.named.len() > ALTERNATIVES;
            self.done.beyond |= full;
            self.word.named.extend(value.named.iter().filter(|_| !full).cloned());
            let more = value.printed.iter().filter(|name| !self.word.printed.contains(name)).cloned();
            let more: Vec<_> = more.collect();
            self.word.printed.extend(more);
            self.word.several |= value.several;
        }
    }

    /// Reads the inside of `${…}`.
    fn braced(&mut self, from: usize, to: usize, quoted: bool) {
        let begin = self.name_end(from, to);
        let raw = self.raw;
        let name = &raw.text[from..begin];
        let rest = &raw.text[begin..to];
        let Some(&sign) = rest.as_bytes().first() else { return self.variable(name, quoted) };
        if self.listed(name, rest, quoted) {
            return;
        }
        let colon = usize::from(sign == b':');
        let known = self.scope.value(name).is_some_and(|values| !values.is_empty());
        // With `[@]` each element is a word; `@P` runs what its value says.
        self.word.splits |= !quoted || sign == b'[';
        self.done.odd |= rest.ends_with("@P") || name.is_empty() && !is_known(rest);
        if let Some(target) = self.pointed(name, rest) {
            return self.variable(&target, quoted);
        }
        if rest == "@P" {
            let values = self.scope.value(name).unwrap_or_default().iter();
            let programs = values.flat_map(|value| programs_in(&value.lossy()));
            self.done.runs.extend(programs.map(Run::Text));
        }
        if sign == b'#' && name.is_empty() && rest.len() > 1 {
            return self.length(begin, to);
        }
        if sign == b'[' {
            self.element(begin, to);
            if let Some(texts) = self.exact_element(name, rest) {
                return self.one_of(name, texts, quoted);
            }
            return self.variable(name, quoted);
        }
        if let Some(texts) = self.remade(name, rest) {
            return self.one_of(name, texts, quoted);
        }
        match rest.as_bytes().get(colon) {
            Some(&sign @ (b'-' | b'=' | b'+')) if !name.is_empty() => {
                if sign == b'=' {
                    self.done.sets.push(name.to_owned());
                }
                if known && sign != b'+' {
                    // The variable may be empty at run time.
                    self.inside(begin, to);
                    self.word.unknown.push(OTHER.to_owned());
                    return self.variable(name, quoted);
                }
                self.word.unknown.extend([name.to_owned(), OTHER.to_owned()]);
                self.default(begin + colon + 1, to, quoted);
            }
            _ => self.made((name, sign), begin, to),
        }
    }

    /// Cut, replaced, indirect: the result may be anything, and the expansion may still run programs.
    fn made(&mut self, (name, sign): (&str, u8), begin: usize, to: usize) {
        // `${@:2}` has no name.
        let begin = begin + usize::from(name.is_empty() && matches!(sign, b'@' | b'*'));
        if self.is_slice(begin, to) {
            self.sum(begin, to);
        } else {
            self.inside(begin, to);
        }
        let values = self.scope.value(name).unwrap_or_default();
        self.word.names += usize::from(is_one_name(&self.raw.text[begin..to], values));
        self.word.named.extend(values.iter().cloned());
        self.word.unknown.extend([name.to_owned(), OTHER.to_owned()]);
        self.bit(Bit::Any);
    }

    /// The text of `${!name}`'s variable, if it is the name of another.
    fn pointed(&self, name: &str, rest: &str) -> Option<String> {
        let pointer = rest.strip_prefix('!').filter(|pointer| name.is_empty() && is_variable(pointer))?;
        let [target] = self.scope.value(pointer)? else { return None };
        target.literal().filter(|target| is_variable(target))
    }

    /// `${a[1]}` of an array whose elements are all known: in each list that it may be.
    fn exact_element(&mut self, name: &str, rest: &str) -> Option<Vec<Vec<Bit>>> {
        let at: usize = rest.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?;
        let lists = self.scope.lists.contains_key(name).then(|| self.scope.lists(name))?;
        let is_known = |list: &Vec<Word>| list.iter().all(|word| word.literal().is_some());
        let all = lists.iter().all(is_known);
        let texts: Option<Vec<Vec<Bit>>> =
            lists.iter().map(|list| list.get(at).map(|word| word.bits.clone())).collect();
        let texts = texts.filter(|texts| all && !texts.is_empty())?;
        self.one_list(name);
        Some(texts)
    }

    /// What `${c,,}`, `${c#x}`, `${c%.*}`, `${c/a/b}` and `${c:2}` make of values that are known.
    fn remade(&mut self, name: &str, rest: &str) -> Option<Vec<Vec<Bit>>> {
        let values = self.scope.value(name).filter(|values| !values.is_empty())?;
        let texts: Option<Vec<String>> = values.iter().map(|value| remade(&value.literal()?, rest)).collect();
        let is_one = self.scope.choices(name) > 1;
        self.done.varied.extend(is_one.then(|| name.to_owned()));
        Some(texts?.iter().map(|text| text.chars().map(Bit::Char).collect()).collect())
    }

    fn one_of(&mut self, name: &str, texts: Vec<Vec<Bit>>, quoted: bool) {
        self.word.filled.push(name.to_owned());
        self.pieces.push(Piece::OneOf(texts, !quoted));
    }

    /// `${#name[sum]}`, from the operator on.
    fn length(&mut self, from: usize, to: usize) {
        self.word.sums += 1;
        self.word.names += 1;
        let open = self.raw.text[from..to].find('[').map_or(to, |open| from + open + 1);
        self.sum(open, self.raw.closing(open, to, b'[', b']').unwrap_or(to));
        self.bit(Bit::Any);
    }

    /// `[sum]` and the text after it.
    fn element(&mut self, from: usize, to: usize) {
        let end = self.raw.closing(from + 1, to, b'[', b']').unwrap_or(to);
        self.sum(from + 1, end);
        if self.is_slice(end + 1, to) {
            self.sum(end + 1, to);
        } else {
            self.inside(end, to);
        }
    }

    /// Whether this is `:from:length` rather than `:-word` or similar.
    fn is_slice(&self, at: usize, to: usize) -> bool {
        self.byte(at, to) == b':' && !b"-=+?".contains(&self.byte(at + 1, to))
    }

    /// The word of `${x:-word}`: its text, or unknown.
    fn default(&mut self, from: usize, to: usize, quoted: bool) {
        let mut within = Scan::new(self.raw, self.scope);
        within.read(from, to, if quoted { Quotes::Document } else { Quotes::None });
        let bits = within.pieces.iter().map(|piece| match piece {
            Piece::Bit(bit) => vec![*bit],
            Piece::OneOf(texts, _) => texts.first().cloned().unwrap_or_default(),
            Piece::All(texts, _) => texts.join(&Bit::Char(' ')),
            Piece::Tilde => self.scope.home.bits.clone(),
            Piece::Sign(c) => vec![Bit::Char(*c)],
        });
        let bits: Vec<Bit> = bits.flatten().collect();
        self.take(within.done);
        self.pieces.push(Piece::OneOf(vec![bits, vec![Bit::Any]], false));
    }
}

fn is_variable(text: &str) -> bool {
    text.bytes().all(is_name_byte) && !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// `${x##*/}`, or `${x%.md}` of a value without a slash: the result has no slash either. `cut` begins after
/// the name.
fn is_one_name(cut: &str, values: &[Word]) -> bool {
    cut == "##*/"
        || cut.starts_with(['#', '%']) && !values.is_empty() && values.iter().all(Word::has_no_slash)
}

/// `${…}` that does not begin with a name, but still only stands for text: special parameters, lengths, the
/// names of variables or keys. Others do more: `${!x}` takes a name from a value, and zsh runs the text of
/// `${(e)x}` and `${~x}`.
fn is_known(rest: &str) -> bool {
    let (sign, rest) = rest.split_at(rest.chars().next().map_or(0, char::len_utf8));
    let name = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    match sign {
        "!" => name.len() < rest.len() && matches!(name, "[@]" | "[*]" | "*" | "@"),
        "#" => true,
        "@" | "*" | "?" | "-" | "$" => !rest.starts_with(['{', '(']),
        _ => false,
    }
}
