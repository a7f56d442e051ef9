//! Takes leases on the files that a call is about to write, and finds a file that another session is editing.

use super::{client, real_paths};
use crate::gate::{CallContext, Context, Held, Holder, lease};
use crate::ledger::leases::{self, Lease};
use crate::model::event::Event;
use crate::session::fold::Session;
use crate::system::env::Env;
use crate::system::git;
use crate::tool::targets::Act;
use std::path::Path;

/// At most this many files of one call are looked at.
const MOST: usize = 32;

/// Fills in which files the call leases, or who holds one of them.
pub fn look(env: &Env, session: &Session, event: &Event, context: &mut Context) {
    if !lease::is_kept(session) || session.memory.place.root.is_empty() {
        return;
    }
    let goes_on = lease::goes_on(session, context);
    let Some(call) = context.call_mut().filter(|call| call.does.effect.is_write()) else { return };
    let tree = Path::new(&session.memory.place.root);
    let paths = written(env, call, tree);
    if paths.is_empty() {
        return;
    }
    let client = client::process(env);
    match leases::take(env, tree, &paths, &event.session_id, client.as_ref(), goes_on) {
        Ok(taken) => {
            call.lease.taken = taken.files;
            call.lease.held = taken.held.map_or(Held::Nobody, |lease| Held::Another(holder(lease, tree)));
        }
        Err(failure) => call.lease.held = Held::Unknown(failure.to_string()),
    }
}

fn holder(lease: Lease, tree: &Path) -> Holder {
    let path =
        Path::new(&lease.path).strip_prefix(tree).map_or(lease.path.clone(), |p| p.display().to_string());
    Holder { path, session_id: lease.session_id, since_ms: lease.since_ms }
}

/// The files in this tree that the call says it writes, except generated ones, which are never leased.
fn written(env: &Env, call: &CallContext, tree: &Path) -> Vec<String> {
    let targets =
        call.reach.paths.iter().filter(|target| matches!(target.act, Act::Write | Act::Whole | Act::Become));
    let literal = targets.filter_map(|target| target.real.as_ref().unwrap_or(&target.path).literal());
    let real = literal.filter_map(|path| real_paths::real(Path::new(&path)));
    let inside = |path: &Path| path.strip_prefix(tree).map(|inside| inside.to_string_lossy().into_owned());
    let is_made = |path: &Path| inside(path).is_ok_and(|inside| git::is_made(env, tree, &inside));
    let mut paths: Vec<String> = real
        .filter(|path| path.starts_with(tree) && !path.is_dir() && !is_made(path))
        .take(MOST)
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    paths.sort();
    paths.dedup();
    paths
}
