//! Commands that need a person: our admin verbs, switching the client's hooks off, killing the client.

use super::path::{self, Protected, pattern};
use super::unguarded;
use crate::model::event::EventKind;
use crate::tool::targets::CommandRun;
use aops_shell::syntax::{Bit, Word};
use aops_shell::verbs::{self, Who};

/// The command as written, if it needs a person.
pub(super) fn refused(protected: &Protected, run: &CommandRun) -> Option<String> {
    let words = &run.command.words;
    let written = || words.iter().map(Word::lossy).collect::<Vec<_>>().join(" ");
    let name = name(words.first()?);
    let kills = matches!(name.as_str(), "kill" | "pkill" | "killall" | "skill" | "killall5");
    let asks = name == "kill" && words.iter().any(|word| word.is("-0") || word.is("-l") || word.is("-L"));
    if kills && !asks && !protected.own_alone && kills_client(protected, run, &name) {
        return Some(written());
    }
    if run.reads {
        return None;
    }
    // Our program may follow one that is not known: `nsenter … aops-hook clear-block`.
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

/// The last part of this word begins with this letter, or is unknown. A cheap test before the closer ones.
fn may_begin(word: &Word, letter: char) -> bool {
    word.last_bits().first().is_some_and(|bit| match bit {
        Bit::Char(c) => c.eq_ignore_ascii_case(&letter),
        _ => true,
    })
}

/// The word, and what it may become: `$(which aops-hook)`, the `{}` of `find`.
fn meanings(word: &Word) -> impl Iterator<Item = &Word> {
    std::iter::once(word).chain(&word.named)
}

/// The name, or a pattern that says most of it.
fn fits(bits: &[Bit], name: &str) -> bool {
    let said = bits.iter().filter(|bit| matches!(bit, Bit::Char(_))).count();
    said > 3 && pattern::fits(&path::lower(bits), name)
}

fn needs_person(program: &Word, arguments: &[Word]) -> bool {
    let called = program.last_part().lossy();
    if called.get("aops-hook-".len()..).is_some_and(EventKind::is_event_name) {
        return true;
    }
    let texts: Vec<String> = arguments.iter().map(Word::lossy).collect();
    if verbs::asks_help(&texts) && arguments.iter().all(Word::is_firm) {
        return false;
    }
    // Without a verb it reads an event from its input.
    let Some(verb) = arguments.iter().find(|word| !word.is_option()) else { return true };
    verb.bits.contains(&Bit::Any)
        || EventKind::is_event_name(&verb.lossy())
        || verbs::called(&texts).is_some_and(|verb| verb.who != Who::Anyone)
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
    let named = |text: &String| text.eq_ignore_ascii_case("disableAllHooks") || text.eq_ignore_ascii_case("hooks");
    text.iter().find(|text| !text.starts_with('-')).is_some_and(|verb| verb == "config") && text.iter().any(named)
}

/// Why a person is asked about this command, where one is there: it starts what no hook of ours sees, or brings programs that
/// run without being asked.
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
    (0..words.len())
        .any(brings)
        .then(|| (format!("`{}` brings programs that run without being asked", super::clip(&written())), None))
}

/// By name, by a variable that holds its process, or all processes at once.
fn kills_client(protected: &Protected, run: &CommandRun, name: &str) -> bool {
    let arguments = &run.command.words[1..];
    let by_variable = |word: &Word| word.unknown.iter().any(|name| matches!(name.as_str(), "PPID" | "CLAUDE_PID"));
    let given = arguments.iter().chain(arguments.iter().flat_map(|word| &word.named)).chain(&run.command.arriving);
    let by_name = |word: &Word| meant(&word.lossy()) || word.starts_with("ppid");
    if given.clone().any(by_variable) {
        return true;
    }
    if name != "kill" {
        return given.filter(|word| !word.is_option()).any(by_name);
    }
    let numbers = arguments.iter().skip(1).any(|word| word.is("-1"));
    let pid = |word: &Word| {
        word.literal().is_some_and(|text| protected.pids.iter().any(|pid| *pid == text.trim_start_matches('-')))
    };
    let found = arguments.iter().flat_map(|word| &word.named).chain(&run.command.arriving).any(by_name);
    numbers || arguments.iter().any(pid) || found
}

/// A pattern that matches the client or our program: `claude`, `^claude$`, `node.*claude`, `aops-hook`.
fn meant(pattern: &str) -> bool {
    let pattern = pattern.to_lowercase().replace(['[', ']'], "");
    if pattern.contains(['.', '*', '+', '?']) && !pattern.contains([' ', '/']) && matches_either(&pattern) {
        return true;
    }
    let words = pattern.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    let mut words = words.filter(|word| !word.is_empty());
    let whole = words.clone().count() == 1;
    words.any(|word| {
        matches!(word, "claude" | "claude-code" | "aops-hook")
            || whole && word.len() > 2 && ("claude".starts_with(word) || "aops-hook".starts_with(word))
    })
}

/// A regular expression, read loosely, that may match the client's name or ours.
fn matches_either(pattern: &str) -> bool {
    let mut bits = vec![Bit::Star];
    for c in pattern.chars().filter(|c| !matches!(c, '^' | '$' | '\\' | '(' | ')')) {
        match c {
            '.' => bits.push(Bit::One),
            // Any number of what stands before it.
            '*' | '+' | '?' => *bits.last_mut().unwrap_or(&mut Bit::Star) = Bit::Star,
            c => bits.push(Bit::Char(c)),
        }
    }
    bits.push(Bit::Star);
    let said = bits.iter().filter(|bit| matches!(bit, Bit::Char(_))).count();
    said > 2 && ["claude", "aops-hook"].iter().any(|name| pattern::fits(&bits, name))
}
