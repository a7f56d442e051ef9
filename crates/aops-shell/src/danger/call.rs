//! One command as the rules see it: its words as text, its options and operands.

use crate::flags::{holds, is_option, takes_back};
use crate::syntax::{Bit, Simple, Word};

pub(super) struct Call<'a> {
    pub(super) name: &'a str,
    pub(super) simple: &'a Simple,
    pub(super) words: &'a [Word],
    pub(super) texts: Vec<String>,
}

impl<'a> Call<'a> {
    pub(super) fn new(name: &'a str, simple: &'a Simple) -> Self {
        let words = &simple.words[1..];
        Self { name, simple, words, texts: words.iter().map(Word::lossy).collect() }
    }

    /// The same command from this argument on, with its own name.
    pub(super) fn from(&self, at: usize) -> &'a [Word] {
        self.words.get(at..).unwrap_or_default()
    }

    /// The position of the first operand after these options; the options in `valued` also take the next
    /// word.
    pub(super) fn behind_options(&self, mut at: usize, valued: &[&str]) -> usize {
        while self.texts.get(at).is_some_and(|text| text.starts_with('-')) {
            at += if valued.contains(&self.texts[at].as_str()) { 2 } else { 1 };
        }
        at
    }

    pub(super) fn only_tells(&self) -> bool {
        // In the middle, `--version` may be an option with a value: `aws … --version 1`.
        let asks = |at: Option<&String>| at.is_some_and(|text| text == "--version" || text == "--help");
        if asks(self.texts.first()) || asks(self.texts.last()) {
            return true;
        }
        let tells = |text: &String| {
            matches!(text.as_str(), "--dry-run" | "--dryrun" | "--what-if" | "--whatif")
                || text.starts_with("--dry-run=") && text != "--dry-run=none" && text != "--dry-run=false"
        };
        let takes_back = |text: &str| {
            takes_back(text, &["--dry-run"]) || matches!(text, "--dry-run=none" | "--dry-run=false")
        };
        self.options().fold(false, |is, text| !takes_back(text) && (is || tells(text)))
    }

    /// The words before `--` that begin with a dash.
    pub(super) fn options(&self) -> impl Iterator<Item = &String> {
        self.texts
            .iter()
            .take_while(|text| *text != "--")
            .filter(|text| text.len() > 1 && text.starts_with('-'))
    }

    /// Whether one of these options is given: `--force` also as `--force=…`, `-f` also within a bundle.
    pub(super) fn has(&self, wanted: &[&str]) -> bool {
        self.options().any(|text| wanted.iter().any(|option| is_option(text, option)))
    }

    /// The same for options that make the command harmless: a later `--no-…` takes them back.
    pub(super) fn spares(&self, wanted: &[&str]) -> bool {
        holds(self.options().map(String::as_str), wanted)
    }

    /// The values of these options, as the next word.
    pub(super) fn values(&self, wanted: &'a [&'a str]) -> impl Iterator<Item = &'a Word> + '_ {
        let is_given = |text: &str| {
            wanted.contains(&text)
                || text.starts_with("--")
                    && !text.contains('=')
                    && wanted.iter().any(|option| is_option(text, option))
        };
        self.words
            .iter()
            .zip(&self.texts)
            .enumerate()
            .filter_map(move |(at, (_, text))| is_given(text).then(|| self.words.get(at + 1)).flatten())
    }

    /// All operands with their positions; after `--`, everything is an operand.
    pub(super) fn operands(&self) -> Vec<(usize, &'a Word)> {
        let end = self.texts.iter().position(|text| text == "--").unwrap_or(self.texts.len());
        let is_operand = |at: usize| {
            at > end || at < end && !(self.texts[at].len() > 1 && self.texts[at].starts_with('-'))
        };
        self.words.iter().enumerate().filter(|(at, _)| is_operand(*at)).collect()
    }
}

/// The value of an option: `-o f`, `-so f`, `-of`, `--output f`, `--output=f`, `--outp=f`.
pub(crate) fn value_of(arguments: &[Word], letter: char, long: &str) -> Option<Word> {
    arguments.iter().take_while(|word| !word.is("--")).enumerate().find_map(|(at, word)| {
        let text = word.lossy();
        let next = || arguments.get(at + 1).cloned();
        match text.strip_prefix("--") {
            Some(_) if !is_option(&text, long) => None,
            Some(_) if text.contains('=') => word.past('='),
            Some(_) => next(),
            None if !text.starts_with('-') => None,
            None if text.ends_with(letter) => next(),
            None => text[1..].starts_with(letter).then(|| word.after(2)),
        }
    })
}

/// A word quoted for a shell line; an unknown part becomes a variable that is never set.
pub(super) fn quoted(word: &Word) -> String {
    let text = word.quoted();
    if text.is_empty() { "''".to_owned() } else { text }
}

/// A word as shown to people: `$NAME` for a variable, if the line names it.
pub(super) fn named(word: &Word) -> String {
    let gaps = word.bits.iter().filter(|bit| **bit == Bit::Any).count();
    let known = word.unknown.len() == gaps && word.unknown.iter().all(|name| !name.is_empty());
    let mut text = word.lossy();
    for name in word.unknown.iter().filter(|_| known) {
        text = text.replacen('…', &format!("${name}"), 1);
    }
    crate::commands::shown(&Word::of(&text))
}

/// Whether the line leaves this word open, and it is not known to be a number, a commit or a folder: it may
/// be a verb or an option.
pub(super) fn is_open(word: &Word) -> bool {
    let gaps = word.bits.iter().filter(|bit| **bit == Bit::Any).count();
    !word.bits.is_empty() && gaps == word.bits.len() && gaps > word.sums + word.commits + word.places
}

/// Whether the word may become this text.
pub(super) fn may_be(bits: &[Bit], text: &str) -> bool {
    match bits.split_first() {
        None => text.is_empty(),
        Some((Bit::Char(c), rest)) => text.strip_prefix(*c).is_some_and(|text| may_be(rest, text)),
        Some((Bit::One, rest)) => !text.is_empty() && may_be(rest, &text[1..]),
        // Verbs are short, so each possible split is tried.
        Some((_, rest)) => (0..=text.len()).any(|from| may_be(rest, &text[from..])),
    }
}

/// Whether any part of the word is unknown until the shell runs.
pub(super) fn is_unknown(word: &Word) -> bool {
    !word.bits.is_empty()
        && word.bits.iter().all(|bit| *bit == Bit::Any)
        && (word.said.is_none() || word.is_filtered())
}

/// Whether the name says that it is for tests or temporary: `app_test`, `docker-compose.test.yml`,
/// `tmp_import`.
pub(super) fn is_trial(name: &str) -> bool {
    let parts = || name.split(['.', '-', '_', '/', ':', '?', '=']).map(str::to_lowercase);
    let trial = parts().any(|part| {
        matches!(part.as_str(), "test" | "tests" | "testing" | "tmp" | "temp" | "e2e" | "scratch")
            || part
                .strip_prefix("test")
                .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
    });
    trial && !parts().any(|part| matches!(part.as_str(), "prod" | "production" | "live" | "staging"))
}

/// Whether the command says that it runs in a test environment: `RAILS_ENV=test`, `--env=testing`.
pub(super) fn is_among_tests(call: &Call) -> bool {
    let named =
        |name: &str| name.ends_with("_ENV") || name.ends_with("DATABASE") || name.ends_with("DATABASE_URL");
    let mut set = call.simple.assigned.iter().zip(&call.simple.values);
    let glued = |text: &String| {
        text.split_once('=').is_some_and(|(name, value)| (named(name) || name == "--env") && is_trial(value))
    };
    set.any(|(name, value)| named(name) && is_trial(&value.lossy()))
        || call.texts.iter().any(glued)
        || call.values(&["--env", "-e", "--environment"]).any(|word| is_trial(&word.lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_an_option() {
        let of = |line: &str| {
            let words: Vec<Word> = line.split(' ').map(Word::of).collect();
            value_of(&words, 't', "--target-directory").and_then(|word| word.literal())
        };
        for line in ["-t d a", "-ft d a", "-td a", "--target-directory d a", "--targ=d a", "--targ d"] {
            assert_eq!(of(line).as_deref(), Some("d"), "{line}");
        }
        assert_eq!(of("a -- -t d"), None);
    }
}
