//! The user's crontab, which the program `crontab` lists and replaces.
//!
//! Starts `crontab`. Invariant: no crontab and an empty one are the same.

use crate::model::error::Failure;
use crate::system::env::Env;
use crate::system::process::program::{Identity, Program};
use crate::system::process::{self, Ending, Task, variable};
use crate::text::template::one_line;
use std::io;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(4);
const LONGEST: usize = 1 << 20;

/// The crontab; empty if there is none, or no such program.
pub fn listed(env: &Env) -> Result<Vec<u8>, String> {
    match run(env, &["-l"], b"") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error.to_string()),
        Ok(Said { ends_well: true, stdout, .. }) => Ok(stdout),
        Ok(said) if said.why.contains("no crontab for") => Ok(Vec::new()),
        Ok(said) => Err(said.why),
    }
}

/// Replaces the crontab.
pub(super) fn put(env: &Env, table: &[u8]) -> Result<(), Failure> {
    let words: &[&str] = if table.is_empty() { &["-r"] } else { &["-"] };
    let said = run(env, words, table).map_err(|error| Failure::storage("crontab", error))?;
    if said.ends_well { Ok(()) } else { Err(Failure::storage("crontab", said.why)) }
}

struct Said {
    ends_well: bool,
    stdout: Vec<u8>,
    /// The first line of its error message.
    why: String,
}

fn run(env: &Env, words: &[&str], input: &[u8]) -> io::Result<Said> {
    let program = Program::find(env, Identity::OnPath("crontab"))?;
    let args: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let variables =
        [variable("HOME", &env.home), variable("PATH", env.search_path()), variable("LC_ALL", "C")];
    let task = Task { input, keep: LONGEST, ..Task::new(&program, &args, &env.home, &variables, PATIENCE) };
    let said = process::run(&task)?;
    if said.cut {
        return Err(io::Error::other("it printed too much"));
    }
    let complaint = String::from_utf8_lossy(&said.stderr);
    let why = one_line(complaint.lines().next().unwrap_or("it fails"), 160);
    Ok(Said { ends_well: said.ending == Ending::Exit(0), stdout: said.stdout, why })
}
