//! Limits how often the end of a turn is refused, for a client without such a limit: it would continue
//! forever.

use super::turn::Turn;
use crate::model::client::Ability;
use crate::model::event::EventKind;
use crate::model::gate_id::GateId;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fact::{Fact, Seen};

/// The same limit as Claude Code's.
const MOST: usize = 8;

/// If the end of a turn was refused too often since the last prompt, allows it and tells the person.
pub(super) fn hold(mut turn: Box<Turn>) -> Box<Turn> {
    let refused = turn.event.kind() == EventKind::Stop && turn.verdict.ruling == Ruling::Deny;
    if !refused || turn.env.host.can(Ability::CapsStops) || refusals(&turn) < MOST {
        return turn;
    }
    let words = format!(
        "the turn ended unfinished: its end was refused {MOST} times since your prompt\nhint: `aops-hook status` shows what is owed; your next prompt starts a new task"
    );
    turn.verdict = Verdict::notice(GateId::Owed, words);
    turn
}

fn refusals(turn: &Turn) -> usize {
    let recent = turn.ledger.recent();
    let seen = recent.iter().rev().filter_map(|entry| match &entry.fact {
        Fact::Event(seen) => Some(&**seen),
        _ => None,
    });
    let since = seen.take_while(|seen| seen.kind() != EventKind::UserPromptSubmit);
    let denied = |seen: &&Seen| seen.kind() == EventKind::Stop && seen.is_refused();
    since.filter(denied).count()
}
