//! The gates, and their joined verdict.
//!
//! Reads the session, the event and the context that `observe` prepared; writes nothing. Deciding is pure and total: no
//! file, no clock, no `Result`. A new gate is a file in `gate/` and a row in `GATES`.

pub mod guard;
pub mod context;
pub mod block;
pub mod checks;
pub mod moved;
pub mod owed;
pub mod unfinished;
pub mod unreported;
pub mod report;
pub mod way_out;
pub mod repeat;
pub mod rules;
pub mod jail;
pub mod unsaved;
pub mod danger;
pub mod lease;
pub mod sandbox;
pub mod profile;
pub mod reflection;
pub mod questions;
pub mod settle;
mod timers;
mod parked;
mod verdicts;
pub mod facts;
pub mod audit;
pub mod agentless;
pub mod watch;
pub mod rehearsal;

pub use context::{
    CallContext, Context, EndContext, Evidence, Held, Holder, LastRefusal, SettingsEdit, StartContext, Unheld,
    Unstopped,
};

use crate::config::policy::{Level, Policy};
use crate::model::call::{CallState, ToolCall};
use crate::model::event::Event;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fold::Session;
use crate::session::memory::OpenCall;
use crate::session::memory::Waiver;

/// Waived for this task by its prompt, or by a person for a limited time.
pub fn is_waived(session: &Session, context: &Context, gate: &str) -> bool {
    let by_prompt = session.state.task.as_ref().is_some_and(|task| task.waiver.is_some());
    by_prompt && !session.state.state.hydration_pending || is_waived_by_person(session, context, gate)
}

fn is_waived_by_person(session: &Session, context: &Context, gate: &str) -> bool {
    let holds = |waiver: &Waiver| waiver.gate == gate && waiver.until_ms > context.now_ms;
    session.memory.progress.waivers.iter().any(holds)
}

/// How strictly a gate is held. `block`, `guard` and `repeat` are always enforced; `owed` asks for each debt by itself;
/// `report` is held where any gate waits for one of our agents.
fn level(policy: &Policy, gate: &str) -> Level {
    match gate {
        "sandbox" => policy.gates.sandbox,
        "audit" => policy.gates.audit,
        "checks" => policy.gates.checks,
        "critic" => policy.gates.critic,
        "rules" | "danger" => policy.mode.level().default_for(gate),
        "report" => {
            let gates = &policy.gates;
            let waiting = [gates.sandbox, gates.critic, gates.audit, gates.qa, gates.reflect].into_iter().max();
            waiting.unwrap_or_default().max(policy.mode.level().default_for(gate))
        }
        _ => Level::Enforce,
    }
}

/// One named rule.
pub struct Gate {
    pub name: &'static str,
    pub judge: fn(&Session, &Event, &Context) -> Verdict,
}

/// In the order in which they are asked, each with what it refuses: of two refusals the first is reported.
pub static GATES: &[Gate] = &[
    Gate { name: "block", judge: block::judge }, // everything, until a person clears the block
    Gate { name: "guard", judge: moved::judge }, // being moved away from one's own state
    Gate { name: "guard", judge: watch::judge }, // writes to what guards, and a person's verbs
    Gate { name: "guard", judge: questions::judge }, // nothing: tells who answered in a person's place
    Gate { name: "repeat", judge: repeat::judge }, // a call that already ended, or an id used twice
    Gate { name: "rules", judge: rules::judge }, // what the user's own rules say
    Gate { name: "jail", judge: jail::judge },   // commands that the jail must hold and cannot
    Gate { name: "jail", judge: unsaved::judge }, // nothing: it says what a command changed and is gone
    Gate { name: "danger", judge: danger::judge }, // what loses work, breaks the system or gives secrets away
    Gate { name: "lease", judge: lease::judge }, // a file that another session edits, in mode `strict`
    Gate { name: "sandbox", judge: agentless::judge_sandbox }, // changes before the task has a reviewed plan
    Gate { name: "audit", judge: agentless::judge_audit }, // changes while a drawn audit has not begun
    Gate { name: "checks", judge: checks::judge }, // what a failing check of the user's guards
    Gate { name: "report", judge: report::judge }, // the end of an agent of ours without its verdict
    Gate { name: "owed", judge: owed::judge },   // the end of a turn while the task owes something
    Gate { name: "unfinished", judge: unfinished::judge }, // nothing: tells whoever started a session that nobody watched
];

/// In a run there is no person to answer, so a question pauses the run, unless a person has approved the call already.
/// An agent inside the client cannot pause the run: its question is a refusal. Deferring allows nothing, so it needs no
/// proof of the run.
fn in_run(said: Verdict, session: &Session, event: &Event, context: &Context) -> Verdict {
    if said.ruling != Ruling::Ask {
        return said;
    }
    if let Some(by) = answered(session, event, context) {
        return Verdict { ruling: Ruling::Allow, gate: said.gate, reason: by, ..Verdict::pass() };
    }
    if !context.defers {
        return said;
    }
    let approved = context.stage.as_ref().and_then(|stage| stage.approved.as_deref());
    let is_approved = |call: &ToolCall| {
        let of_it = |open: &OpenCall| Some(open.call.id.as_str()) == approved;
        let is_same = |open: &OpenCall| open.input_sha256 == call.input_sha256 && is_waiting(open);
        let again = session.open_call(&call.key).filter(|open| is_same(open));
        again.is_some_and(of_it) || facts::asked_before(session, event, call).any(of_it)
    };
    if approved.is_some() && event.call.as_ref().is_some_and(is_approved) {
        return Verdict::pass();
    }
    let ruling = if event.agent_id.is_some() { Ruling::Deny } else { Ruling::Defer };
    Verdict { ruling, ..said }
}

/// The turn ends while agents work that will go on with it. One that hangs and that nobody waits for is none.
pub fn is_busy(session: &Session, event: &Event) -> bool {
    event.busy && (event.busy_with.is_empty() || event.busy_with.iter().any(|id| !session.is_left_behind(id)))
}

/// The client ended without making this call, and it has had no answer yet.
pub fn is_waiting(open: &OpenCall) -> bool {
    open.deferred && open.state == CallState::Pending
}

/// What a waiver is called by which a person lets one call be made.
pub fn approval_of(call: &str) -> String {
    format!("call {call}")
}

/// Who approved this very call, which the client deferred, and when.
fn answered(session: &Session, event: &Event, context: &Context) -> Option<String> {
    let asked = |call: &ToolCall| {
        let open = session.open_call(&call.key)?;
        (open.deferred && open.input_sha256 == call.input_sha256).then(|| approval_of(&call.key.id))
    };
    let name = event.call.as_ref().and_then(asked)?;
    let holds = |waiver: &&Waiver| waiver.gate == name && waiver.until_ms > context.now_ms;
    let waiver = session.memory.progress.waivers.iter().find(holds)?;
    Some(format!("approved by {}", waiver.reason))
}

/// The joined verdict of all gates. The first refusal ends the round.
pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    let mut verdict = Verdict::pass();
    let policy = session.policy();
    for gate in GATES {
        let said = (gate.judge)(session, event, context);
        let said = in_run(said, session, event, context);
        verdict = verdict.join(match level(policy, gate.name) {
            Level::Enforce => said,
            Level::Warn => said.soften(),
            Level::Off => Verdict::pass(),
        });
        if verdict.ruling == Ruling::Deny {
            break;
        }
    }
    verdict
}

#[cfg(test)]
mod tests;
