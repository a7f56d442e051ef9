//! Sends the heads of sessions to the database that machines share: every head once, in the order in which it was written.
//!
//! Connects to the database; keeps how far it came beside the machine's name. Invariants: only the refresher does this, so no
//! event waits for it; what could not be sent is sent next time; one process sends at a time.

use crate::config::in_force;
use crate::ledger::heads::{self, Head};
use crate::ledger::sessions;
use crate::session::fold::Session;
use crate::system::env::Env;
use crate::system::{database, files};
use crate::text::sha256::sha256;
use aops_fleet::session::{Machine, SessionHead};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

/// Heads in one transaction.
const BATCH: usize = 500;

/// Whatever goes wrong is tried again after the next turn. Without the folder, which the hook makes where a database is
/// configured, no configuration is read.
pub(super) fn ship(env: &Env, project: &str) {
    if !database::folder(env).is_dir() {
        return;
    }
    let Ok(in_force) = in_force::load(env, Path::new(project)) else { return };
    let Some(url) = &in_force.policy.fleet.url else { return };
    let _ = send(env, url, &in_force.hash);
}

fn send(env: &Env, url: &str, policy: &str) -> Option<()> {
    let machine = database::machine(env).ok()?;
    // Another database has seen nothing yet.
    let cursor = database::folder(env).join(format!("sent-{}", &sha256(&[url.as_bytes()])[..12]));
    let alone = File::create(cursor.with_extension("lock")).ok()?;
    alone.try_lock().ok()?;
    let from = fs::read_to_string(&cursor).ok().and_then(|text| text.trim().parse().ok()).unwrap_or_default();
    let (written, end) = heads::after(env, from).ok()?;
    let mut fleet = database::open(env, url).ok()?;
    let labels = [];
    fleet.register(&Machine { name: &machine, version: env!("CARGO_PKG_VERSION"), labels: &labels, policy }).ok()?;
    for batch in written.chunks(BATCH) {
        let told: Vec<SessionHead> = newest(batch).into_iter().map(|head| describe(env, head)).collect();
        fleet.report(&machine, &told).ok()?;
    }
    let found = files::find(&cursor).ok()?;
    found.replace(end.to_string().as_bytes(), 0o600).ok()
}

/// The last head of each session, in the order of these.
fn newest(batch: &[Head]) -> Vec<&Head> {
    let last: BTreeMap<&str, u64> = batch.iter().map(|head| (head.session_id.as_str(), head.seq)).collect();
    batch.iter().filter(|head| last.get(head.session_id.as_str()) == Some(&head.seq)).collect()
}

fn describe(env: &Env, head: &Head) -> SessionHead {
    let known = session(env, head);
    let cost = known.as_ref().and_then(|session| {
        let insights: serde_json::Value = serde_json::from_str(session.state.insights.as_ref()?.get()).ok()?;
        insights["cost_usd"].as_f64()
    });
    #[expect(clippy::cast_possible_truncation, reason = "millionths of a dollar")]
    let cost = (cost.unwrap_or_default() * 1_000_000.0) as i64;
    SessionHead {
        id: head.session_id.clone(),
        project: head.project.clone(),
        entries: i64::try_from(head.seq).unwrap_or(i64::MAX),
        head: head.digest.clone(),
        phase: known.as_ref().map(|session| session.state.phase.name().to_owned()).unwrap_or_default(),
        mode: known.as_ref().map(|session| session.policy().mode.level().word().to_owned()).unwrap_or_default(),
        cost,
        ts: head.ts.clone(),
    }
}

/// The session as its state file has it.
fn session(env: &Env, head: &Head) -> Option<Session> {
    let folders = env.projects_named(&head.project).into_iter();
    let found = folders.flat_map(sessions::in_project).find(|found| found.session_id == head.session_id)?;
    sessions::session(&found)
}
