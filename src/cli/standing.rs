//! The current state of a session: what it owes, which gates are waived, and for how long.
//!
//! Reads the session and, where the project's folder is known, its working tree; writes nothing. Invariant: a waiver that
//! has run out is not there.

use crate::gate::{Context, owed};
use crate::ledger::session_folder::dashed;
use crate::ledger::sessions::SessionOnDisk;
use crate::model::phase::Phase;
use crate::model::worktree::Worktree;
use crate::session::fold::Session;
use crate::session::state::{Sandbox, Waiver};
use crate::system::env::Env;
use crate::system::git;
use crate::text::time;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The session's working directory: the current one or a parent of it, if it belongs to that project; else the recorded
/// root of the project, if it still exists.
pub fn folder(env: &Env, shelved: &SessionOnDisk, session: &Session) -> Option<PathBuf> {
    let name = shelved.path.parent()?.file_name()?.to_str()?;
    let here = env.cwd.ancestors().find(|folder| dashed(&folder.to_string_lossy()) == name);
    let root = Path::new(&session.memory.root);
    here.or(Some(root).filter(|root| root.is_absolute() && root.is_dir())).map(Path::to_path_buf)
}

/// What the task owes now. Without a folder and what was uncommitted in it when the session began, commit and push are as
/// the last Stop found them.
pub fn owed(env: &Env, session: &Session, tree: Option<(&Path, &BTreeMap<String, String>)>) -> Vec<String> {
    let last = |name: &str| session.state.stop.owed.iter().any(|owed| owed == name);
    let tree = match tree {
        Some((folder, baseline)) if session.state.task.as_ref().is_some_and(|task| task.writes > 0) => {
            git::owed(env, folder, baseline)
        }
        _ => Worktree {
            uncommitted: last("commit").then(String::new).into_iter().collect(),
            push: last("push").then(Default::default),
            unknown: false,
        },
    };
    let context = Context { now_ms: env.now_ms, tree, ..Context::default() };
    let debts = owed::debts(session, &context);
    // Checks are not run just to show the state: show what the last Stop found.
    let checks = last("checks").then_some("checks").filter(|_| session.state.task.is_some());
    checks.into_iter().chain(debts.iter().map(|debt| debt.name)).map(str::to_owned).collect()
}

/// Waivers that have not run out.
pub fn waivers<'a>(env: &Env, session: &'a Session) -> Vec<&'a Waiver> {
    session.memory.progress.waivers.iter().filter(|waiver| waiver.until_ms > env.now_ms).collect()
}

/// How long a waiver still holds: `9 min`.
pub fn left(env: &Env, waiver: &Waiver) -> String {
    time::age(waiver.until_ms - env.now_ms)
}

/// The same as JSON.
pub fn value(env: &Env, session: &Session, owed: &[String]) -> Value {
    let state = &session.state;
    let waivers: Vec<Value> = waivers(env, session)
        .iter()
        .map(|w| json!({"gate": w.gate, "reason": w.reason, "until": time::timestamp(w.until_ms)}))
        .collect();
    json!({
        "session_id": state.session_id,
        "phase": state.phase,
        "sandbox": state.sandbox,
        "blocked": state.state.custodiet_blocked,
        "block_reason": state.state.custodiet_block_reason,
        "owed": owed,
        "audit": state.audit,
        "task": state.task,
        "waivers": waivers,
        "workflow": state.state.current_workflow,
        "hydration_pending": state.state.hydration_pending,
        "refusals": state.stop.refusals,
        "agents": state.subagents,
        "calls": session.memory.calls.iter().map(|open| &open.call.id).collect::<Vec<_>>(),
        "started_at": state.started_at,
        "ended_at": state.ended_at,
    })
}

pub fn phase(phase: Phase) -> &'static str {
    phase.name()
}

pub fn sandbox(sandbox: Sandbox) -> &'static str {
    match sandbox {
        Sandbox::Shut => "shut",
        Sandbox::Open => "open",
    }
}
