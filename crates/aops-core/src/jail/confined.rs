//! `aops-hook __held HOLD FOLDERS… -- PROGRAM …` runs a program that we start in the profile `work`.
//! `__confined FOLDERS… -- PROGRAM …` does the same, but finds out first which kind of jail works here.
//! Without a program it enters the jail and starts the programs that it is asked for.
//!
//! Becomes the program. Invariants: if the jail is on, the program runs inside it, or without one if the
//! kernel offers none; our caller's guarded files are protected, wherever the program's own variables point.

use super::enter::{close_on_exec, enter, lock, what_holds};
use super::network;
use super::plan::Ground;
use super::program::become_program;
use crate::config::in_force;
use crate::config::policy::Policy;
use crate::config::policy::jail::JailLevel;
use crate::ledger::sessions;
use crate::model::error::Failure;
use crate::model::profile::{Hold, Profile};
use crate::system::env::{Env, HeldNetwork};
use crate::system::process::program::{HELD, NETWORK, PROGRAM_FOLLOWS, SESSION, VERB};
#[cfg(target_os = "linux")]
use crate::system::process::shared;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const CANNOT_RUN: u8 = 126;

pub fn is_call(arguments: &[String]) -> bool {
    arguments.get(1).is_some_and(|verb| [HELD, VERB].contains(&verb.as_str()))
}

/// Returns if it cannot become the program, or if nobody asks for another one. The arguments are our own.
pub fn run(arguments: &[String], env: &Env) -> u8 {
    let (hold, words) = if arguments[1] == HELD { (arguments.get(2), 3) } else { (None, 2) };
    match start(hold.map(String::as_str), arguments.get(words..).unwrap_or_default(), env) {
        Ok(()) => 0,
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "aops-hook did not run this program: {why}");
            CANNOT_RUN
        }
    }
}

fn start(hold: Option<&str>, words: &[String], env: &Env) -> Result<(), String> {
    let variables = env.variables(|_| true);
    let end = words.iter().position(|word| word == PROGRAM_FOLLOWS).ok_or("no program is named")?;
    let folders = &words[..end];
    let words = &words[end + 1..];
    let named = |name: &str| folders.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    let own =
        |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| PathBuf::from(value));
    let place = |name: &str| named(name).map(PathBuf::from).or_else(|| own(name));
    let env = &env.clone().with_folders(&|name| place(name).filter(|path| path.is_absolute()));
    let project = if env.client.project.as_os_str().is_empty() { &env.cwd } else { &env.client.project };
    let mut ground = Ground::here(env, project);
    close_on_exec();
    let policy = hold.is_none().then(|| in_force::policy(env, &env.cwd));
    let hold = match (hold, &policy) {
        (Some(hold), _) => Hold::of(hold).ok_or("we do not know what confines it")?,
        (None, Some(Ok(policy))) if policy.jail.level == JailLevel::Off => Hold::Words,
        (None, _) => what_holds(&ground, Profile::Work)?.hold,
    };
    let network = match named(NETWORK) {
        Some(text) => Some(HeldNetwork::of_text(text)),
        None => named(SESSION).zip(policy).and_then(|(id, policy)| of_session(env, id, policy)),
    };
    if let Some(network) = network.filter(|_| hold == Hold::Namespaces) {
        network::hold(&network, &mut ground)?;
    }
    if hold != Hold::Words {
        enter(hold, Profile::Work, &ground, &env.cwd)?;
        lock(hold, Profile::Work, &ground, &env.cwd)?;
    }
    #[cfg(target_os = "linux")]
    if words.is_empty() {
        return shared::serve().map_err(|error| error.to_string());
    }
    let words: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
    let program = words.first().copied().unwrap_or_default();
    let variables = variables.iter().map(|(name, value)| (name, value));
    match become_program(Path::new(OsStr::from_bytes(program)), &words, variables) {
        Err(why) => Err(why),
    }
}

/// The network of a session that did not say which one it has. If it cannot be found out, the program gets
/// none.
fn of_session(env: &Env, id: &str, policy: Result<Policy, Failure>) -> Option<HeldNetwork> {
    let Ok(policy) = policy else { return Some(HeldNetwork { closes: true, ..HeldNetwork::default() }) };
    let known = || sessions::find_anywhere(env, id, &env.cwd).ok().flatten().map(|(folder, _)| folder);
    network::held(&policy.network, &env.home, known)
}
