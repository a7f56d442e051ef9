//! A program that works for us on what an agent may have made: git with a repository's filters, the user's checks, the
//! tracker. It runs where shell commands run, so that it cannot change what guards the session either.
//!
//! Gives words only. `jail::confined` carries them out in the new process.

use crate::system::env::Env;
use std::path::{Path, PathBuf};

/// An internal verb: the program and its arguments follow.
pub const VERB: &str = "__confined";

/// The program to start, and its arguments. Where the client does not start commands through us, it is the program itself.
pub fn words(env: &Env, program: &Path, arguments: &[String]) -> (PathBuf, Vec<String>) {
    let own = if env.is_jailing() { std::env::current_exe().ok() } else { None };
    let Some(own) = own else { return (program.to_owned(), arguments.to_vec()) };
    let before = [VERB.to_owned(), program.to_string_lossy().into_owned()];
    (own, before.into_iter().chain(arguments.iter().cloned()).collect())
}
