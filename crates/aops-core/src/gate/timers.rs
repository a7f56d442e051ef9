//! Which timers an event mentions, and whether an older one must be forgotten for them.
//!
//! Reads session and call. Invariants: a running timer is remembered, or it is recorded that one was not; a
//! call that is refused makes us forget none.

use super::Context;
use crate::model::call::ToolCall;
use crate::model::event::Event;
use crate::session::fact::TimersHeard;
use crate::session::fold::Session;
use crate::session::timer::{self, TimerMark};
use crate::text::json;

/// Those of these timers that are not remembered yet, and whether they exceed what we can remember.
pub(super) fn new_timers(session: &Session, listed: impl Iterator<Item = TimerMark>) -> TimersHeard {
    let known = &session.memory.timers.known;
    let mut new: Vec<TimerMark> = Vec::new();
    for mark in listed {
        if known.len() + new.len() > timer::MOST {
            break;
        }
        if !known.contains(&mark) && !new.contains(&mark) {
            new.push(mark);
        }
    }
    let lost = known.len() + new.len() > timer::MOST;
    new.truncate(timer::MOST);
    TimersHeard { lost, new }
}

/// The timers that the event lists, and at a start those that the client had before; and whether one is
/// forgotten.
pub(super) fn listed_timers(session: &Session, event: &Event, context: &Context) -> TimersHeard {
    let of_event = event.stopped().map_or(&[][..], |stop| &stop.timers);
    let before = context.start().into_iter().flat_map(|start| &start.timers);
    let listed = of_event.iter().map(|text| TimerMark::of(text)).chain(before.cloned());
    let heard = new_timers(session, listed);
    TimersHeard { lost: heard.lost || context.start().is_some_and(|start| start.timers_lost), ..heard }
}

/// The prompt that this call gives to a timer, and whether another timer is forgotten for it. A refused call
/// sets none.
pub(super) fn scheduled(session: &Session, call: &ToolCall, refused: bool) -> (Option<TimerMark>, bool) {
    let Some(mark) = set_timer(call) else { return (None, false) };
    let known = &session.memory.timers.known;
    match known.contains(&mark) || known.len() < timer::MOST {
        false if refused => (None, false),
        has_room => (Some(mark), !has_room),
    }
}

pub(super) fn set_timer(call: &ToolCall) -> Option<TimerMark> {
    let sets = matches!(call.key.tool.as_str(), "CronCreate" | "ScheduleWakeup");
    let prompt = json::read(&call.input).ok().filter(|_| sets)?.text_of("prompt")?;
    Some(TimerMark::of(&prompt))
}
