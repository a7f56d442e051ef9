//! `aops-hook __held PROGRAM …`: a program of ours in the profile `work`. `__confined PROGRAM …`: the same where that holds.
//!
//! Becomes the program. Invariant: with the jail on it runs inside or, where namespaces hold nothing, without the keys or as it is.

use super::enter::{close_on_exec, enter, holds, keep_keys, lock};
use super::plan::Ground;
use super::program::become_program;
use crate::config::in_force;
use crate::config::policy::jail::JailLevel;
use crate::model::profile::{Hold, Profile};
use crate::system::env::Env;
use crate::system::process::confined::{HELD, VERB};
use std::convert::Infallible;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const CANNOT_RUN: u8 = 126;

pub fn is_call(arguments: &[String]) -> bool {
    arguments.get(1).is_some_and(|verb| [HELD, VERB].contains(&verb.as_str()))
}

/// Returns only if it cannot become the program. The arguments are our own.
pub fn run(arguments: &[String], env: &Env) -> u8 {
    let Err(why) = start(arguments[1] == HELD, &arguments[2..], env);
    let _ = writeln!(std::io::stderr(), "aops-hook did not run this program: {why}");
    CANNOT_RUN
}

fn start(is_held: bool, words: &[String], env: &Env) -> Result<Infallible, String> {
    let variables = env.variables(|_| true);
    let project = if env.project.as_os_str().is_empty() { &env.cwd } else { &env.project };
    let ground = Ground::here(env, project);
    close_on_exec();
    let is_on = is_held || !is_off(env);
    if is_held || is_on && holds(Hold::Namespaces, Profile::Work, &ground)? {
        enter(Hold::Namespaces, Profile::Work, &ground, &env.cwd)?;
        lock(Hold::Namespaces, Profile::Work, &env.cwd)?;
    } else if is_on {
        keep_keys(&ground)?;
    }
    let words: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
    let program = words.first().copied().unwrap_or_default();
    become_program(Path::new(OsStr::from_bytes(program)), &words, variables.iter().map(|(name, value)| (name, value)))
}

fn is_off(env: &Env) -> bool {
    in_force::policy(env, &env.cwd).is_ok_and(|policy| policy.jail.level == JailLevel::Off)
}
