//! `aops-hook __confined PROGRAM …`: a program of ours in the profile `work`, where that holds.
//!
//! Becomes the program. Invariant: with the jail on it runs inside or, where the kernel holds nothing, as it is.

use super::enter::{become_program, close_on_exec, enter, holds, lock};
use super::plan::Ground;
use crate::config::in_force;
use crate::config::policy::jail::JailLevel;
use crate::model::profile::{Hold, Profile};
use crate::system::env::Env;
use std::convert::Infallible;
use std::ffi::CString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

const CANNOT_RUN: u8 = 126;

/// Returns only if it cannot become the program.
pub fn run(words: &[String], env: &Env) -> u8 {
    let Err(why) = start(words, env);
    let _ = writeln!(std::io::stderr(), "aops-hook did not run this program: {why}");
    CANNOT_RUN
}

fn start(words: &[String], env: &Env) -> Result<Infallible, String> {
    let variables = env.variables(|_| true);
    let variable =
        |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| PathBuf::from(value));
    let project = if env.project.as_os_str().is_empty() { &env.cwd } else { &env.project };
    let ground = Ground::of(env, project, &variable);
    let is_off = in_force::load(env, &env.cwd).is_ok_and(|found| found.policy.jail.level == JailLevel::Off);
    close_on_exec();
    if !is_off && holds(Hold::Namespaces, Profile::Work, &ground) {
        enter(Hold::Namespaces, Profile::Work, &ground, &env.cwd)?;
        lock(Hold::Namespaces, &env.cwd)?;
    }
    let c_text = |bytes: &[u8]| CString::new(bytes).map_err(|_| "it holds a zero byte".to_owned());
    let words: Vec<CString> = words.iter().map(|word| c_text(word.as_bytes())).collect::<Result<_, _>>()?;
    let program = words.first().ok_or("none is named")?;
    let given = variables.iter().map(|(name, value)| c_text(&[name.as_bytes(), b"=", value.as_bytes()].concat()));
    let given: Vec<CString> = given.collect::<Result<_, _>>()?;
    become_program(program, &words, &given).map_err(|error| format!("`{}`: {error}", program.to_string_lossy()))
}
