//! When two sessions edit one file of one tree, warns the second in mode `loop` and refuses it in mode
//! `strict`.
//!
//! Way out: edit another file until the other turn ends, or use a separate working tree.

use super::{Context, Held, is_waived};
use crate::config::policy::ModeLevel;
use crate::model::event::Event;
use crate::model::gate_id::GateId;
use crate::model::verdict::Verdict;
use crate::session::fold::Session;
use crate::text::json::cut;
use crate::text::template::one_line;
use crate::text::time;

const GATE: GateId = GateId::Lease;

/// Whether leases are kept: lower modes say nothing about them.
pub fn is_kept(session: &Session) -> bool {
    session.policy().mode.level() >= ModeLevel::Loop
}

/// The second session may continue in spite of the lease.
pub fn goes_on(session: &Session, context: &Context) -> bool {
    session.policy().mode.level() < ModeLevel::Strict || is_waived(session, context, GATE)
}

pub fn judge(session: &Session, _event: &Event, context: &Context) -> Verdict {
    let held = match context.call().map(|call| &call.lease.held) {
        None | Some(Held::Nobody) => return Verdict::pass(),
        Some(Held::Unknown(why)) => return unknown(session, context, why),
        Some(Held::Another(held)) => held,
    };
    let path = &held.path;
    let id = cut(&held.session_id, 8);
    let ago = time::age(context.now_ms - held.since_ms);
    let what = format!("session {id} edits `{path}` too (its last write began {ago} ago)");
    if goes_on(session, context) {
        let words =
            format!("{what}: read the file again before you change it, or work in a tree of your own");
        return Verdict { notice: what, ..Verdict::context(GATE, words) };
    }
    Verdict::deny(
        GATE,
        format!(
            "{what}\nhint: work on other files until that turn has ended, or in a tree of your own: {WAYS}"
        ),
    )
}

/// We could not find out who edits the file, so assume that somebody does.
fn unknown(session: &Session, context: &Context, why: &str) -> Verdict {
    let what = format!("we could not check whether another session edits this file: {}", one_line(why, 200));
    if goes_on(session, context) {
        let words = format!("{what}: read the file again before you change it");
        return Verdict { notice: what, ..Verdict::context(GATE, words) };
    }
    Verdict::deny(GATE, format!("{what}\nhint: try again, or work in a tree of your own: {WAYS}"))
}

const WAYS: &str =
    "`git worktree add ../NAME`. A person can allow it: `aops-hook waive lease --for 1h --reason WHY`";
