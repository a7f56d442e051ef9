//! The mode set by an installation: from the command line, or from the person at the terminal.
//!
//! Reads one line from the terminal at most three times, writes nothing but the question. Invariant: without
//! an answer, the mode stays the same.

use super::{Level, SECRETS};
use crate::cli::mode::{self, Change};
use crate::cli::{Io, text};
use aops_core::config::in_force;
use aops_core::config::policy::ModeLevel;
use aops_core::host::claude::settings::deny::denies_secrets as denies;
use aops_core::jail::enter::what_holds;
use aops_core::jail::plan::Ground;
use aops_core::model::profile::{Hold, Profile};
use aops_core::system::env::Env;
use aops_core::system::files;
use clap::ArgMatches;
use std::io::{self, IsTerminal};

const TRIES: usize = 3;

/// The configuration change that belongs to this installation; `None` if none is wanted.
pub(super) fn change(given: &ArgMatches, io: &mut Io) -> anyhow::Result<Option<Change>> {
    let asked = text(given, "mode").and_then(ModeLevel::of);
    let level = match asked {
        None if may_ask(given, io) => ask(io)?,
        asked => asked,
    };
    // Hooks for one project need a mode for that project only.
    let for_project = Level::given(given) != Level::User;
    level.map(|level| Change::make(io.env, level, for_project)).transpose()
}

/// Whether a person is there, and no file sets the mode yet.
fn may_ask(given: &ArgMatches, io: &Io) -> bool {
    let talks = is_person_there(io) && !given.get_flag("dry-run");
    let is_open =
        || in_force::look(io.env, &io.env.cwd).is_ok_and(|now| now.origins.of("mode.level").is_empty());
    talks && is_open()
}

/// Whether somebody is at the terminal and wants to be asked.
pub(super) fn is_person_there(io: &Io) -> bool {
    io.terminal && io::stdin().is_terminal() && !io.json && !io.yes && !io.gone
}

/// Whether the client itself should be kept from reading secrets: from the command line, or from the person
/// at the terminal. Asked only if the mode is still open; an empty answer means no. `None` if nobody answers
/// any more.
pub(super) fn denies_secrets(given: &ArgMatches, io: &mut Io) -> anyhow::Result<Option<bool>> {
    let path = Level::given(given).path(io.env);
    if given.get_flag(SECRETS) || !may_ask(given, io) || denies(&files::read_text(path).unwrap_or_default()) {
        return Ok(Some(given.get_flag(SECRETS)));
    }
    let question = "have the client itself refuse to read `.env`, keys and credentials, also by `@file` in \
        a prompt? Without this you are asked before a tool reads one (not in mode `observe`) [y/N]: ";
    Ok(io.ask(question)?.map(|answer| is_yes(&answer)))
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.to_lowercase().as_str(), "y" | "yes")
}

/// Only namespaces can restrict the network. Whether they work here is tested, not guessed from the system's
/// name.
fn holds_networks(env: &Env) -> bool {
    let holds = || what_holds(&Ground::here(env, &env.cwd), Profile::Work);
    cfg!(target_os = "linux") && holds().is_ok_and(|state| state.hold == Hold::Namespaces)
}

/// Whether to record the hosts that commands reach, as the person at the terminal answers; an empty answer
/// means no.
pub(super) fn observes_network(given: &ArgMatches, io: &mut Io) -> anyhow::Result<bool> {
    let is_open =
        || in_force::look(io.env, &io.env.cwd).is_ok_and(|now| now.origins.of("network.mode").is_empty());
    if !may_ask(given, io) || !is_open() || !holds_networks(io.env) {
        return Ok(false);
    }
    let question = "note which hosts your commands reach (`[network] mode = \"observe\"`)? Ping, UDP and \
        IPv6 do not work in commands then [y/N]: ";
    Ok(io.ask(question)?.is_some_and(|answer| is_yes(&answer)))
}

fn ask(io: &mut Io) -> anyhow::Result<Option<ModeLevel>> {
    writeln!(io.out, "how much of the loop do you want?")?;
    for line in mode::lines(None) {
        writeln!(io.out, "{line}")?;
    }
    for _ in 0..TRIES {
        let Some(answer) = io.ask("mode [loop]: ")? else {
            writeln!(io.out)?;
            return Ok(None);
        };
        match understand(&answer) {
            Some(level) => return Ok(Some(level)),
            None => writeln!(io.out, "one of {}; Enter for loop", ModeLevel::WORDS.join(", "))?,
        }
    }
    Ok(None)
}

/// A mode by its name or the beginning of it; Enter chooses the recommended one.
fn understand(answer: &str) -> Option<ModeLevel> {
    let answer = if answer.is_empty() { ModeLevel::Loop.name().to_owned() } else { answer.to_lowercase() };
    ModeLevel::WORDS.iter().find(|word| word.starts_with(&answer)).and_then(|word| ModeLevel::of(word))
}

/// How the next prompt will work, and how to change that.
pub(super) fn ending(env: &Env, command: &str) -> Vec<String> {
    let program = if env.on_path("aops-hook").is_some() { "aops-hook" } else { command };
    let how = format!("to change that: `{program} mode {}`", ModeLevel::WORDS.join("|"));
    match in_force::look(env, &env.cwd) {
        Ok(now) => vec![mode::next_prompt(&now.policy), how],
        Err(_) => vec![
            format!(
                "the configuration has a problem, and until it is fixed, every guarded event is blocked: \
                `{program} policy show`"
            ),
            how,
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        for (answer, level) in [
            ("", Some(ModeLevel::Loop)),
            ("l", Some(ModeLevel::Loop)),
            ("Strict", Some(ModeLevel::Strict)),
            ("obs", Some(ModeLevel::Observe)),
            ("guard", Some(ModeLevel::Guard)),
            ("yes", None),
            ("loops", None),
        ] {
            assert_eq!(understand(answer), level, "{answer}");
        }
    }
}
