//! Tells people of a question: runs the command under `[fleet] announce` with JSON on its input.
//!
//! Starts that command. Invariant: its failure changes nothing; the question stays where it is.

use crate::system::env::Env;
use crate::system::process::{self, Task};
use aops_fleet::queue::TakenRun;
use serde_json::json;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

pub fn announce(env: &Env, command: Option<&str>, id: &str, run: &TakenRun, question: &str, token: &str) {
    let Some(command) = command else { return };
    let said = json!({"id": id, "run": run.id, "repository": run.repository, "question": question, "token": token})
        .to_string();
    let variables = env.variables(|_| true);
    let variables: Vec<(&str, &OsStr)> =
        variables.iter().map(|(name, value)| (name.as_str(), value.as_os_str())).collect();
    let task = Task {
        program: Path::new("/bin/sh"),
        args: &["-c".to_owned(), command.to_owned()],
        folder: Path::new("/"),
        variables: &variables,
        input: said.as_bytes(),
        timeout: PATIENCE,
        keep: 1000,
    };
    let _ = process::run(&task);
}
