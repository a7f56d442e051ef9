//! Tells people about a question: runs the command under `[fleet] announce` with JSON on its input.
//!
//! Starts that command; creates the key that signs. Invariants: its failure changes nothing, and the question
//! stays open; the token in it answers this question, once.

use crate::remote::database;
use aops_core::config::policy::fleet::Fleet;
use aops_core::system::env::Env;
use aops_core::system::process::program::{Identity, Program};
use aops_core::system::process::{self, Task, variable};
use aops_core::text::redact::redact;
use aops_fleet::approval::sign;
use serde_json::json;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);
/// `sha256=` and the HMAC of the input, made with the key.
const SIGNATURE: &str = "AOPS_SIGNATURE";

/// Announces a question by its own id, with its run and repository. Without a token, it is answered only by
/// whoever may do so.
pub fn announce(env: &Env, fleet: &Fleet, [id, run, repository, question]: [&str; 4], token: Option<&str>) {
    let (Some(command), Ok(key)) = (&fleet.announce, database::secret(env, "fleet.key")) else { return };
    let repository = redact(repository);
    let question = redact(question);
    let mut said = json!({"id": id, "run": run, "repository": repository, "question": question});
    if let Some(token) = token {
        said["token"] = token.into();
    }
    if let Some(page) = &fleet.page {
        let token = token.map(|token| format!("#{token}")).unwrap_or_default();
        said["link"] = format!("{}/{token}", page.trim_end_matches('/')).into();
    }
    let said = said.to_string();
    let signature = format!("sha256={}", sign(key.as_bytes(), said.as_bytes()));
    let mut variables = env.variables(|name| name != SIGNATURE);
    variables.push(variable(SIGNATURE, signature));
    let args = ["-c".to_owned(), command.to_owned()];
    let Ok(program) = Program::find(env, Identity::At(Path::new("/bin/sh"))) else { return };
    let task = Task::new(&program, &args, Path::new("/"), &variables, PATIENCE);
    let _ = process::run(&Task { input: said.as_bytes(), ..task });
}
