//! Commands that run another one for each name they find or read: `find -exec`, `fd -x`, `xargs -I`.

use super::found::{found, globbed};
use super::scope::Scope;
use super::walk::Walk;
use super::{Bit, Simple, Word};
use crate::flags::is_option;
use std::rc::Rc;

impl Walk {
    /// The commands after `-exec` and similar; the files found are described by `find`'s roots and patterns.
    pub(super) fn executed(&mut self, simple: &Simple, scope: &Scope, own: &Scope) {
        const FLAGS: [&str; 8] = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
        let words = &simple.words;
        let named = found(simple).unwrap_or_default();
        // Cloned without the words, of which there may be many.
        let rest = Simple { words: Vec::new(), writes: Vec::new(), ..simple.clone() };
        let mut at = 1;
        while at < words.len() {
            if !FLAGS.iter().any(|flag| words[at].is(flag)) {
                at += 1;
                continue;
            }
            // `;` ends a command of `find`, and so does `+` after `{}`.
            let ends = |n: &usize| words[*n].is(";") || words[*n].is("+") && words[*n - 1].is("{}");
            let end = (at..words.len()).find(ends).unwrap_or(words.len());
            let mut inner: Vec<Word> =
                words[at + 1..end].iter().map(|word| placeholder(word, "{}", &named)).collect();
            let is_bare = words[at].is("-execdir") || words[at].is("-okdir");
            for word in inner.iter_mut().filter(|word| is_bare && word.bits.first() == Some(&Bit::Any)) {
                // Some systems pass the name without `./`, so it may look like an option.
                word.shifts = Some(0);
            }
            let is_batch =
                end < words.len() && words[end].is("+") || words[at].is("-X") || words[at].is("--exec-batch");
            for word in inner.iter_mut().filter(|word| is_batch && word.bits == [Bit::Any]) {
                // It stands for all the words that were found.
                word.bits.push(Bit::Any);
            }
            if simple.name() != Some("find") && !inner.is_empty() {
                // `fd` puts the found name at the end, or in the place of `{/}`, `{.}`, …
                let bits = [Bit::Char('.'), Bit::Char('/'), Bit::Any, Bit::Any];
                inner.push(Word { bits: bits[..3 + usize::from(is_batch)].to_vec(), ..Word::default() });
            }
            if !inner.is_empty() {
                let command = Simple { words: inner, ..rest.clone() };
                self.run(command, &mut Scope { functions: Rc::default(), ..scope.clone() }, own);
            }
            at = end + 1;
        }
    }
}

/// A command with a value in the place of each `{}`, or at its end.
pub(super) fn filled(words: &[Word], value: &Word) -> Vec<Word> {
    let put = |word: &Word| {
        let parts: Vec<Vec<Bit>> =
            word.lossy().split("{}").map(|part| part.chars().map(Bit::Char).collect()).collect();
        Word { bits: parts.join(&value.bits[..]), ..word.clone() }
    };
    let is_mark = |word: &&Word| word.lossy().contains("{}");
    let behind = (!words.iter().any(|word| is_mark(&word))).then(|| value.clone());
    words.iter().map(|word| if is_mark(&word) { put(word) } else { word.clone() }).chain(behind).collect()
}

/// The mark that `xargs` replaces: the value of `-I`, `-J` or `--replace`, or `{}`.
pub(super) fn replaced(rest: &[Word], name: &str) -> Option<String> {
    let text = rest[0].lossy();
    let letter = text.get(..2)?;
    let glued = text.get(2..)?;
    let next = || rest.get(1).map(Word::lossy);
    match letter {
        _ if name != "xargs" => None,
        "-I" | "-J" if glued.is_empty() => next(),
        "-i" if glued.is_empty() => Some("{}".to_owned()),
        "-I" | "-J" | "-i" => Some(glued.to_owned()),
        _ if text.starts_with("--replace") => {
            Some(text.split_once('=').map_or("{}", |(_, mark)| mark).to_owned())
        }
        // Bundled with other letters: `-0I {}`.
        _ if !text.starts_with("--") && text.ends_with('I') => next(),
        _ => None,
    }
}

/// `sh -c 'cd x && {}'`: whether the mark is at the start of a command, or an argument of `eval`. Anywhere
/// else it is an argument of a command that the line names.
pub(super) fn runs_mark(words: &[Word], mark: &str) -> bool {
    const BEFORE: [&str; 16] = [
        "!", "builtin", "command", "do", "else", "env", "exec", "if", "nice", "nohup", "sudo", "then",
        "time", "timeout", "until", "while",
    ];
    let Some(flag) = words.iter().position(is_command_flag) else { return false };
    let Some(program) = words[flag + 1..].iter().find(|word| !word.is_option()) else { return false };
    // The mark itself may contain characters that separate commands.
    let text = program.lossy().replace(mark, "\u{1}");
    text.split([';', '&', '|', '(', '{', '\n', '`']).any(|command| {
        let mut words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'', ')', '}']));
        let first =
            words.find(|word| !BEFORE.contains(word) && !word.starts_with('-') && !word.contains('='));
        first == Some("\u{1}") || first == Some("eval") && words.any(|word| word.contains('\u{1}'))
    })
}

/// `-c`, alone or with other letters.
pub(super) fn is_command_flag(word: &Word) -> bool {
    let text = word.lossy();
    is_option(&text, "--command")
        || (text.starts_with(['-', '+']) && !text.starts_with("--") && text.contains('c'))
}

/// `echo a | xargs -I{} rm {}`: the words with each row of this text in place of the mark.
pub(super) fn rows(words: &[Word], mark: &str, text: Option<&str>) -> Vec<Vec<Word>> {
    let is_marked = |word: &Word| !mark.is_empty() && word.lossy().contains(mark);
    let text = text.filter(|text| words.iter().any(is_marked) && !text.contains('…')).unwrap_or_default();
    let put = |row: &str| {
        let row = globbed(&Word::of(row.trim_start()));
        let fill = |word: &Word| {
            let parts: Vec<Vec<Bit>> =
                word.lossy().split(mark).map(|part| part.chars().map(Bit::Char).collect()).collect();
            Word { bits: parts.join(&row.bits[..]), ..word.clone() }
        };
        words.iter().map(|word| if is_marked(word) { fill(word) } else { word.clone() }).collect()
    };
    text.split(['\n', '\0']).filter(|row| !row.trim().is_empty()).map(put).collect()
}

/// What arrives in place of a mark may begin with a dash.
pub(super) fn arriving(word: Word) -> Word {
    let shifts = word.bits.iter().position(|bit| *bit == Bit::Any).or(word.shifts);
    Word { shifts, ..word }
}

/// Replaces the mark with whatever was found or arrives.
pub(super) fn placeholder(word: &Word, mark: &str, found: &[Word]) -> Word {
    let text = word.lossy();
    if mark.is_empty() || !text.contains(mark) {
        return word.clone();
    }
    let mut bits = Vec::new();
    for (n, part) in text.split(mark).enumerate() {
        if n > 0 {
            bits.push(Bit::Any);
        }
        bits.extend(part.chars().map(Bit::Char));
    }
    Word { bits, named: found.to_vec(), ..word.clone() }
}
