//! The question of a session without a person: the call that its client deferred, as a question for the
//! database that machines share.
//!
//! Reads the session's ledger. Invariant: a session that belongs to a run asks nothing here; its driver does.

use aops_core::gate::{self, sandbox};
use aops_core::insight::collect;
use aops_core::ledger::recover::LEDGER_FILE;
use aops_core::ledger::sessions::{self, SessionOnDisk};
use aops_core::session::fact::Fact;
use aops_core::session::memory::OpenCall;
use aops_core::system::env::Env;
use aops_core::system::files;
use aops_core::text::sha256::sha256;
use aops_core::text::template::one_line;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Stored type: what the worker needs to continue after the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionQuestion {
    pub call: String,
    /// The folder that the client was started in.
    pub cwd: String,
    pub session: String,
}

impl SessionQuestion {
    /// Always the same id for the same call.
    pub fn id(&self) -> String {
        format!("session-{}", &sha256(&[self.session.as_bytes(), b"\0", self.call.as_bytes()])[..16])
    }
}

/// The call that a client ended without making, and that has not been answered yet.
pub fn waiting(calls: &[OpenCall]) -> Option<&OpenCall> {
    calls.iter().find(|open| gate::is_waiting(open))
}

/// What this session asks, with its wording.
pub fn of(env: &Env, found: &SessionOnDisk) -> Option<(SessionQuestion, String)> {
    let session = sessions::session(found)?;
    let open = waiting(&session.memory.calls)?;
    let mut in_run = false;
    let mut what = String::new();
    collect::entries(&found.path.join(LEDGER_FILE), |_, fact| match fact {
        Fact::Run(_) => in_run = true,
        Fact::Call(step) if step.call == open.call => {
            let whole = step.input().map(|input| sandbox::shown_whole(&open.call.tool, input.get()));
            what = whole.unwrap_or(std::mem::take(&mut what));
        }
        _ => {}
    })
    .ok()?;
    let reason = open.reason.as_deref().unwrap_or_default();
    let why = one_line(reason.split("\nhint:").next().unwrap_or_default(), 400);
    let words = format!("may `{what}` be done? {why}");
    let asked = SessionQuestion {
        call: open.call.id.clone(),
        cwd: cwd(&collect::transcript_of(env, found))?,
        session: found.session_id.clone(),
    };
    (!in_run).then_some((asked, words))
}

/// The folder that the client was started in: no event records it, but the transcript begins there.
fn cwd(transcript: &Path) -> Option<String> {
    let lines = BufReader::new(files::open(transcript).ok()?.take(1 << 20)).lines();
    let of_line = |line: String| Some(serde_json::from_str::<Value>(&line).ok()?["cwd"].as_str()?.to_owned());
    lines.map_while(Result::ok).find_map(of_line)
}
