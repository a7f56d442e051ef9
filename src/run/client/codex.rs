//! Codex as a run starts it: its arguments, and the thread that it continues.
//!
//! Writes one line into Codex's folder of sessions. Codex names a new thread itself, but the step must be in
//! the session's ledger before Codex starts, so a run creates the thread and Codex resumes it. Invariant: a
//! thread is created once.

use crate::run::plan::PlannedStep;
use aops_core::host::codex::rollout;
use aops_core::model::client::Client;
use aops_core::model::profile::Profile;
use aops_core::system::env::{Env, RUN_KEY};
use aops_core::system::files;
use aops_core::text::time::timestamp;
use serde_json::json;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file of this thread, if it has one.
pub fn thread(env: &Env, session: &str) -> Option<PathBuf> {
    rollout::find(&sessions(env), session)
}

fn sessions(env: &Env) -> PathBuf {
    env.folder_of(Client::Codex).join("sessions")
}

/// Creates a thread without a turn, in this folder.
pub fn make_thread(env: &Env, session: &str, cwd: &Path) -> io::Result<()> {
    let now = timestamp(env.now_ms);
    let day = now[..10].replace('-', "/");
    let second = now[..19].replace(':', "-");
    let folder = sessions(env).join(day);
    fs::create_dir_all(&folder)?;
    let about = json!({
        "id": session, "timestamp": now, "cwd": cwd, "originator": "aops-hook", "cli_version": "",
        "source": "exec",
    });
    let line = json!({"timestamp": now, "type": "session_meta", "payload": about});
    files::find(&folder.join(format!("rollout-{second}-{session}.jsonl")))?
        .replace(format!("{line}\n").as_bytes(), 0o600)
}

/// The arguments of one start. A step that may change nothing runs in Codex's own sandbox, if the kernel
/// allows that. Any other step is limited only by our gates, since that sandbox would forbid commit and push.
pub(super) fn arguments(step: &PlannedStep, session: &str, prompt: &str) -> Vec<String> {
    let sandbox = if step.profile() == Profile::Work { "danger-full-access" } else { "read-only" };
    let sandbox = format!("sandbox_mode=\"{sandbox}\"");
    // Commands of the client must not see the key, which only the client may have.
    let secret = format!("shell_environment_policy.set.{RUN_KEY}=\"\"");
    let given =
        ["exec", "resume", "--json", "--skip-git-repo-check", "-c", &sandbox, "-c", &secret, session, prompt];
    given.map(str::to_owned).to_vec()
}
