//! Records the clients of sessions: process, start and session, in `<config>/aops/clients/PID`.
//!
//! Written when a session starts; read when somebody claims a person's authority. Why: a process that a
//! session's client started is inside that session, whatever its environment says. Invariants: if another
//! process has a recorded ID now, it is not the client; one question reads only one file per ancestor,
//! however many sessions there are.

use crate::session::fold::Session;
use crate::session::memory::ClientProcess;
use crate::system::env::{Env, boot_id};
use crate::system::files::{self, make_all, replace_private};
use crate::system::process::kin;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// At most this many files of ended clients are removed at one start.
const MOST_REMOVED: usize = 256;

#[derive(Debug, Serialize, Deserialize)]
struct Known {
    /// The client's own name for itself, `claude-code_2-1-325_harness`; older versions recorded none.
    #[serde(default)]
    agent: String,
    boot: String,
    pid: i32,
    session_id: String,
    started: String,
}

fn folder(env: &Env) -> PathBuf {
    env.config.join("aops/clients")
}

/// The process with this ID is still the one that was recorded.
pub fn is_alive(client: &ClientProcess) -> bool {
    kin::started(client.pid).is_some_and(|started| started == client.started)
}

/// A client of this session is alive, working or waiting.
pub fn is_live(session: &Session, boot: &str) -> bool {
    let alive = session.memory.client.process.as_ref().is_some_and(is_alive);
    session.state.ended_at.is_none() && session.memory.place.boot == boot && alive
}

/// Remembers to which session this client belongs, and forgets clients that have ended. Best effort: the
/// ledger records it, too.
pub fn remember(env: &Env, client: &ClientProcess, session_id: &str) {
    let folder = folder(env);
    if env.dry_run || make_all(&folder).is_err() {
        return;
    }
    let boot = boot_id();
    let others = std::fs::read_dir(&folder).into_iter().flatten().flatten().take(MOST_REMOVED);
    for path in
        others.map(|item| item.path()).filter(|path| !read(path).is_some_and(|known| lives(&known, &boot)))
    {
        let _ = std::fs::remove_file(path);
    }
    let ClientProcess { pid, started } = client.clone();
    let known =
        Known { agent: env.client.agent.clone(), boot, pid, session_id: session_id.to_owned(), started };
    if let Ok(text) = serde_json::to_vec(&known) {
        let _ = replace_private(&folder.join(pid.to_string()), &text);
    }
}

/// This session's client and its version, in the client's own words when the session started.
pub fn agent_of(env: &Env, session_id: &str) -> Option<String> {
    let all = std::fs::read_dir(folder(env)).into_iter().flatten().flatten();
    let known = all.filter_map(|item| read(&item.path())).find(|known| known.session_id == session_id)?;
    let version = known.agent.strip_prefix("claude-code_")?.split('_').next()?.replace('-', ".");
    Some(format!("Claude Code {version}"))
}

/// The session whose client is this process or one of its ancestors.
pub fn session_around(env: &Env, pid: i32) -> Option<String> {
    std::iter::once(pid).chain(kin::ancestors(pid)).find_map(|pid| session_of(env, pid))
}

/// The session whose client is an ancestor of this process.
pub fn session_above(env: &Env, pid: i32) -> Option<String> {
    kin::ancestors(pid).into_iter().find_map(|pid| session_of(env, pid))
}

/// The session to which this client process belongs.
pub fn session_of(env: &Env, pid: i32) -> Option<String> {
    let known = read(&folder(env).join(pid.to_string()))?;
    (known.pid == pid && lives(&known, &boot_id())).then_some(known.session_id)
}

fn lives(known: &Known, boot: &str) -> bool {
    known.boot == boot && is_alive(&ClientProcess { pid: known.pid, started: known.started.clone() })
}

fn read(path: &Path) -> Option<Known> {
    serde_json::from_slice(&files::read(path).ok()?).ok()
}
