//! Finds commands that need a person: our admin verbs, switching the client's hooks off, acting on its
//! process.

use super::path::{self, Protected, pattern};
use super::{process, unguarded};
use crate::model::event::EventKind;
use crate::tool::targets::CommandRun;
use aops_shell::syntax::{Bit, Word};
use aops_shell::verbs::{self, Who};

/// The command as written, if it needs a person.
pub(super) fn refused(protected: &Protected, run: &CommandRun) -> Option<String> {
    let words = &run.command.words;
    let written = || words.iter().map(Word::lossy).collect::<Vec<_>>().join(" ");
    if !protected.own_alone && process::acts_on_us(protected, run) {
        return Some(written());
    }
    if run.reads {
        return None;
    }
    // An unknown program may start ours: `nsenter … aops-hook clear-block`.
    for (at, word) in words.iter().enumerate() {
        let rest = &words[at + 1..];
        if is_own_program(protected, word) && (at == 0 || !rest.is_empty()) && needs_person(word, rest)
            || !protected.own_alone && is_client(word, at) && (unhooks(rest) || unguarded::is_moved(run))
            || !protected.own_alone && word.is("claude") && unguarded::is_unhooked(rest)
        {
            return Some(written());
        }
    }
    // A copy of our program under another name.
    words.get(1).is_some_and(|word| word.is("clear-block")).then(written)
}

fn name(word: &Word) -> String {
    word.last_part().lossy().to_lowercase()
}

fn is_own_program(protected: &Protected, word: &Word) -> bool {
    let by_path = protected.binaries.iter().any(|path| word.is(path));
    by_path
        || meanings(word)
            .filter(|word| may_begin(word, 'a'))
            .any(|word| fits(word.last_bits(), "aops-hook") || name(word).starts_with("aops-hook-"))
}

/// The last part of this word begins with this letter, or is unknown. A cheap test before the precise ones.
fn may_begin(word: &Word, letter: char) -> bool {
    word.last_bits().first().is_some_and(|bit| match bit {
        Bit::Char(c) => c.eq_ignore_ascii_case(&letter),
        _ => true,
    })
}

/// The word, and what it may expand to: `$(which aops-hook)`, the `{}` of `find`.
fn meanings(word: &Word) -> impl Iterator<Item = &Word> {
    std::iter::once(word).chain(&word.named)
}

/// The name, or a pattern that contains most of it.
fn fits(bits: &[Bit], name: &str) -> bool {
    let said = bits.iter().filter(|bit| matches!(bit, Bit::Char(_))).count();
    said > 3 && pattern::fits(&path::lower(bits), name)
}

fn needs_person(program: &Word, arguments: &[Word]) -> bool {
    let called = program.last_part().lossy();
    if program.lossy().ends_with(verbs::STARTER) {
        return true;
    }
    if called.get("aops-hook-".len()..).is_some_and(EventKind::is_event_name) {
        return true;
    }
    let texts: Vec<String> = arguments.iter().map(Word::lossy).collect();
    if verbs::asks_help(&texts) && arguments.iter().all(Word::is_firm) {
        return false;
    }
    // Without a verb our program reads an event from its input.
    let Some(verb) = arguments.iter().find(|word| !word.is_option()) else { return true };
    verb.bits.contains(&Bit::Any)
        || arguments.iter().any(may_be_option) && verbs::may_need_person(&texts)
        || EventKind::is_event_name(&verb.lossy())
        || verbs::called(&texts).is_some_and(|verb| verb.who != Who::Anyone)
}

/// `$(…)`, `$x`: it may expand to an option, or to another verb. A number or a commit does not.
fn may_be_option(word: &Word) -> bool {
    let gaps = word.bits.iter().filter(|bit| **bit == Bit::Any).count();
    word.bits.first() == Some(&Bit::Any) && gaps > word.sums + word.commits
}

fn is_client(word: &Word, at: usize) -> bool {
    let named = |word: &Word| fits(word.last_bits(), "claude") || fits(word.last_bits(), "claude-code");
    if at == 0 && meanings(word).any(|word| may_begin(word, 'c') && named(word)) {
        return true;
    }
    let letter = |bit: Bit, letter: char| matches!(bit, Bit::Char(c) if c.eq_ignore_ascii_case(&letter));
    if !word.bits.windows(2).any(|pair| letter(pair[0], 'c') && letter(pair[1], 'l')) {
        return false;
    }
    let whole = word.lossy().to_lowercase();
    whole.contains("@anthropic-ai/claude-code") || whole.ends_with("/bin/claude")
}

fn unhooks(arguments: &[Word]) -> bool {
    if unguarded::is_unhooked(arguments) || unguarded::takes_us_away(arguments) {
        return true;
    }
    let text: Vec<String> = arguments.iter().map(Word::lossy).collect();
    let named =
        |text: &String| text.eq_ignore_ascii_case("disableAllHooks") || text.eq_ignore_ascii_case("hooks");
    text.iter().find(|text| !text.starts_with('-')).is_some_and(|verb| verb == "config")
        && text.iter().any(named)
}

/// Why this command needs a person's approval, if it does: it starts something that our hooks do not see, or
/// brings programs that run without asking.
pub(super) fn asked(protected: &Protected, run: &CommandRun) -> Option<(String, Option<String>)> {
    let words = &run.command.words;
    let written = || words.iter().map(Word::lossy).collect::<Vec<_>>().join(" ");
    if run.reads {
        return None;
    }
    if let Some((what, hint)) = unguarded::started(run).and_then(|started| started.unseen(protected)) {
        return Some((format!("`{}` {what}", super::clip(&written())), hint));
    }
    if unguarded::sets_git_program(run) {
        return Some((format!("`{}` sets a program that git runs by itself", super::clip(&written())), None));
    }
    let brings = |at: usize| is_client(&words[at], at) && unguarded::brings_programs(&words[at + 1..]);
    (0..words.len()).any(brings).then(|| {
        (format!("`{}` brings programs that run without being asked", super::clip(&written())), None)
    })
}
