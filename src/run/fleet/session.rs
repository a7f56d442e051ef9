//! Carries out the answer to a session's question: the client makes exactly this call, once, or is never
//! started again.
//!
//! Writes the session's ledger, starts the client. Invariants: the ledger records who answered and when
//! before the client is started; a call that was made or given up since is not made again.

use super::stop::{Answered, Left, Stop, rejected};
use crate::remote::asked::{SessionQuestion, waiting};
use crate::run::attempt::RunOutcome;
use crate::run::client;
use aops_core::config::in_force;
use aops_core::gate::facts;
use aops_core::ledger::open::Ledger;
use aops_core::ledger::session_folder::SessionKey;
use aops_core::model::error::Failure;
use aops_core::session::fact::Fact;
use aops_core::session::memory::{OpenCall, Waived, Waiver};
use aops_core::system::env::{Env, RUN, RUN_KEY};
use aops_core::system::process::program::{Identity, Program};
use aops_core::system::process::{self, Task};
use aops_core::text::template::one_line;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A session that runs longer is ended.
const PATIENCE: Duration = Duration::from_hours(2);
/// The client makes the call immediately; the answer stays valid longer, so that a killed client can be
/// started again.
const HOLDS_MS: i64 = 24 * 3_600_000;

pub(super) fn go_on(env: &Env, asked: &SessionQuestion, answered: Option<&Answered>) -> Stop {
    let again = |words: String| Stop {
        about: asked.call.clone(),
        ..Stop::asks(format!("{words}; may it be tried again?"))
    };
    let Some(answer) = answered.filter(|answered| answered.about == asked.call) else {
        return again("the answer is lost".to_owned());
    };
    let env = place(env, asked);
    match record(&env, asked, answer).map(|open| open.is_some()) {
        Err(failure) => again(failure.to_string()),
        Ok(_) if !answer.approve => rejected(&answer.who),
        Ok(false) => made("the call was made or given up before"),
        Ok(true) => match resume(&env, asked) {
            Err(words) => again(words),
            Ok(said) => match look(&env, asked) {
                Ok(Some(_)) => again(format!("the client did not make the call: {}", one_line(&said, 300))),
                _ => made("the call was made"),
            },
        },
    }
}

pub(super) fn place(env: &Env, asked: &SessionQuestion) -> Env {
    Env { cwd: PathBuf::from(&asked.cwd), ..env.later().for_project(Path::new("")) }
}

fn made(words: &str) -> Stop {
    Stop::of(Left::Finished { outcome: RunOutcome::Pass, reason: words.to_owned() })
}

fn lock(env: &Env, asked: &SessionQuestion) -> Result<Ledger, Failure> {
    Ledger::lock(env, SessionKey { session_id: &asked.session, transcript_path: "", cwd: &asked.cwd }, true)
}

/// The call, if it still waits.
pub(super) fn look(env: &Env, asked: &SessionQuestion) -> Result<Option<OpenCall>, Failure> {
    let ledger = lock(env, asked)?;
    Ok(waiting(&ledger.session().memory.calls).filter(|open| open.call.id == asked.call).cloned())
}

/// Records the answer, if the call still waits for it.
fn record(env: &Env, asked: &SessionQuestion, answer: &Answered) -> Result<Option<OpenCall>, Failure> {
    let Some(open) = look(env, asked)? else { return Ok(None) };
    let note = answer.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    let by = format!("{} at {}{note}", answer.who, answer.at);
    let facts = if answer.approve {
        let gate = Waived::Call(open.call.id.clone());
        vec![Fact::Waive(Waiver { gate, reason: by, until_ms: env.now_ms + HOLDS_MS })]
    } else {
        facts::rejected(&open, format!("rejected by {by}"))
    };
    lock(env, asked)?.append(env, facts)?;
    Ok(Some(open))
}

/// Starts the client on its session, to the end of its turn. Returns its last message.
fn resume(env: &Env, asked: &SessionQuestion) -> Result<String, String> {
    let in_force = in_force::load(env, Path::new(&asked.cwd)).map_err(|failure| failure.to_string())?;
    let path = client::find(env, &in_force.policy)?;
    let failed = |error: io::Error| format!("`{}`: {error}", path.display());
    let program = Program::find(env, Identity::Client(&path)).map_err(failed)?;
    let args = ["-p", "--resume", &asked.session, "--output-format", "json"].map(str::to_owned);
    let variables = env.variables(|name| name != RUN && name != RUN_KEY);
    let folder = Path::new(&asked.cwd);
    let task = Task { keep: 4000, ..Task::new(&program, &args, folder, &variables, PATIENCE) };
    let ended = process::run(&task).map_err(failed)?;
    Ok(String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned())
}
