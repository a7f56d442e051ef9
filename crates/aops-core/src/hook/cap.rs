//! Our own cap on refused ends of a turn, for a client that has none: it would go on for ever.

use super::turn::Turn;
use crate::model::client::Ability;
use crate::model::event::EventKind;
use crate::model::gate_id::GateId;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fact::{Fact, Seen};

/// As many as Claude Code allows.
const MOST: usize = 8;

/// Lets a turn end that was refused its end too often since the last prompt, and tells the person.
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
