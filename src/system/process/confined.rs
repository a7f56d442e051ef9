//! A program that works for us on what an agent may have made: git with a repository's filters, the user's checks, the
//! tracker. It runs where shell commands run, so that it cannot change what guards the session either.
//!
//! Gives words only. `jail::confined` carries them out in the new process.

use crate::system::env::Env;
use std::path::{Path, PathBuf};

/// Two internal verbs: the program and its arguments follow. The second looks by itself whether anything holds. Neither
/// gives its caller more than the program would.
pub const HELD: &str = "__held";
pub const VERB: &str = "__confined";

/// The program to start, and its arguments. It is the program itself where neither the client starts commands through us nor
/// a run does, and where the session knows that namespaces hold nothing.
pub fn words(env: &Env, program: &Path, arguments: &[String]) -> (PathBuf, Vec<String>) {
    let known = env.is_confining.get().copied();
    let own =
        if (env.is_jailing() || env.is_driving) && known != Some(false) { std::env::current_exe().ok() } else { None };
    let Some(own) = own else { return (program.to_owned(), arguments.to_vec()) };
    let verb = if known.is_some() { HELD } else { VERB };
    let before = [verb.to_owned(), program.to_string_lossy().into_owned()];
    (own, before.into_iter().chain(arguments.iter().cloned()).collect())
}
