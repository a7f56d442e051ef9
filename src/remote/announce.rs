//! Tells people about a question: runs the command under `[fleet] announce` with JSON on its input.
//!
//! Starts that command; creates the key that signs. Invariants: its failure changes nothing, and the question
//! stays open; it contains nothing that answers it.

use crate::remote::database;
use aops_core::config::policy::fleet::Fleet;
use aops_core::system::env::Env;
use aops_core::system::process::program::{Identity, Program};
use aops_core::system::process::{self, Task, variable};
use aops_core::text::redact::redact;
use aops_proof::seal::hmac;
use serde_json::json;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);
/// `sha256=` and the HMAC of the input, made with the key.
const SIGNATURE: &str = "AOPS_SIGNATURE";

/// Announces the question of a run or a session, with its repository. The link opens the question and does
/// not answer it.
pub fn announce(env: &Env, fleet: &Fleet, [run, repository, question]: [&str; 3]) {
    let (Some(command), Ok(key)) = (&fleet.announce, database::secret(env, "fleet.key")) else { return };
    let mut said = json!({"run": run, "repository": redact(repository), "question": redact(question)});
    if let Some(page) = fleet.page.as_ref().or(fleet.engine.as_ref()) {
        said["link"] = format!("{}/runs/{run}", page.trim_end_matches('/')).into();
    }
    let said = said.to_string();
    let signature = hmac(key.as_bytes(), &[said.as_bytes()]);
    let signature = format!("sha256={}", signature.map(|byte| format!("{byte:02x}")).concat());
    let mut variables = env.variables(|name| name != SIGNATURE);
    variables.push(variable(SIGNATURE, signature));
    let args = ["-c".to_owned(), command.to_owned()];
    let Ok(program) = Program::find(env, Identity::At(Path::new("/bin/sh"))) else { return };
    let task = Task::new(&program, &args, Path::new("/"), &variables, PATIENCE);
    let _ = process::run(&Task { input: said.as_bytes(), ..task });
}
