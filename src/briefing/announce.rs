//! Tells people of a question: runs the command under `[fleet] announce` with JSON on its input.
//!
//! Starts that command; makes the key that signs. Invariants: its failure changes nothing, and the question stays where it
//! is; the token in it answers this question, once.

use crate::config::policy::fleet::Fleet;
use crate::system::database;
use crate::system::env::Env;
use crate::system::process::{self, Task};
use crate::text::redact::redact;
use aops_fleet::approval::sign;
use serde_json::json;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);
/// `sha256=` and the HMAC of the input, under the key.
const SIGNATURE: &str = "AOPS_SIGNATURE";

/// A question of a run, by its own id, in this repository.
pub fn announce(env: &Env, fleet: &Fleet, [id, run, repository, question]: [&str; 4], token: &str) {
    let (Some(command), Ok(key)) = (&fleet.announce, database::secret(env, "fleet.key")) else { return };
    let (repository, question) = (redact(repository), redact(question));
    let mut said = json!({"id": id, "run": run, "repository": repository, "question": question, "token": token});
    if let Some(page) = &fleet.page {
        said["link"] = format!("{}/#{token}", page.trim_end_matches('/')).into();
    }
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
