//! Tells people of a question: runs the command under `[fleet] announce` with JSON on its input.
//!
//! Starts that command; makes the key that signs. Invariants: its failure changes nothing, and the question stays where it
//! is; the token in it answers this question, once.

use crate::run::driver::random_hex;
use crate::system::env::Env;
use crate::system::files;
use crate::system::process::{self, Task};
use aops_fleet::approval::sign;
use aops_fleet::queue::TakenRun;
use serde_json::json;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;
use std::{fs, io};

const PATIENCE: Duration = Duration::from_secs(20);
/// `sha256=` and the HMAC of the input, under the key.
const SIGNATURE: &str = "AOPS_SIGNATURE";

/// The key that signs announcements, beside the other keys: made once.
pub fn key(env: &Env) -> io::Result<String> {
    let file = env.config.join("aops/keys/fleet.key");
    let known = fs::read_to_string(&file).unwrap_or_default();
    if !known.trim().is_empty() {
        return Ok(known.trim().to_owned());
    }
    let key = random_hex(32).map_err(|failure| io::Error::other(failure.to_string()))?;
    fs::create_dir_all(file.parent().unwrap_or(&file))?;
    files::find(&file)?.replace(format!("{key}\n").as_bytes(), 0o600)?;
    Ok(key)
}

pub fn announce(env: &Env, command: Option<&str>, id: &str, run: &TakenRun, question: &str, token: &str) {
    let (Some(command), Ok(key)) = (command, key(env)) else { return };
    let said = json!({"id": id, "run": run.id, "repository": run.repository, "question": question, "token": token});
    let said = said.to_string();
    let signature = format!("sha256={}", sign(key.as_bytes(), said.as_bytes()));
    let variables = env.variables(|name| name != SIGNATURE);
    let variables = variables.iter().map(|(name, value)| (name.as_str(), value.as_os_str()));
    let variables: Vec<(&str, &OsStr)> = variables.chain([(SIGNATURE, OsStr::new(&signature))]).collect();
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
