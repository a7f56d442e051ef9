//! What a reflection leaves in the tracker: a record of it, and the change it proposes as work to do.
//!
//! Reads the tracker's snapshot, writes its queue. Invariant: a project without a tracker loses nothing, since the ledger
//! has the reflection already; the tracker itself is written by the refresher, later and once.

use crate::env::Env;
use crate::failure::Failure;
use crate::phrase::one_line;
use crate::session::Session;
use crate::tracker::item::Item;
use crate::tracker::{self, queue};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Keeps a reflection where the project's work is kept.
pub fn keep(
    env: &Env,
    session: &Session,
    project: &Path,
    reflection: &BTreeMap<String, String>,
) -> Result<(), Failure> {
    let Some(tool) = tracker::snapshot(env, project).tool.filter(|_| !env.dry) else { return Ok(()) };
    let (id, task) = (session.state.session_id.clone(), session.state.task.as_ref().map_or(0, |task| task.n));
    // Other trackers of this family keep no audit records.
    if tool.starts_with("bd") {
        let mut extra = reflection.clone();
        extra.extend([("session".to_owned(), id.clone()), ("task".to_owned(), task.to_string())]);
        let record = Item::Audit { kind: "reflection".to_owned(), issue: None, tool: None, extra };
        queue::enqueue(env, project, record)?;
    }
    let proposed = reflection.get("proposed_change").map(|change| change.trim()).unwrap_or_default();
    if proposed.is_empty() || proposed.trim_end_matches('.').eq_ignore_ascii_case("none") {
        return Ok(());
    }
    let mut body = format!("Proposed by the reflection on task {task} of session {id}.\n");
    for (name, text) in reflection {
        let _ = write!(body, "\n{name}: {text}\n");
    }
    let title = format!("Proposed: {}", one_line(proposed, 150));
    let labels = vec!["aops-learning".to_owned()];
    queue::enqueue(env, project, Item::Issue { title, body, kind: "chore".to_owned(), priority: 3, labels })?;
    Ok(())
}
