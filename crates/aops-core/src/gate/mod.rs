//! The gates, and their joined verdict.
//!
//! Reads the session, the event and the context that `observe` prepared; writes nothing. Deciding is pure and
//! total: no file, no clock, no `Result`. A new gate is a file in `gate/` and a row in `GATES`.

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
pub mod never;
pub mod jail;
pub mod unsaved;
mod secrets;
pub mod danger;
pub mod kept;
pub mod quiet;
pub mod lease;
pub mod sandbox;
pub mod profile;
pub mod network;
mod meaning;
pub mod reflection;
pub mod questions;
pub mod settle;
mod timers;
mod parked;
mod verdicts;
mod happened;
pub mod facts;
pub mod audit;
pub mod agentless;
pub mod watch;
pub mod rehearsal;

pub use context::{
    AgentNames, AgentStopContext, CallContext, CallEffect, CheckFacts, Context, DangerFacts, Earlier,
    EndContext, Evidence, Found, GuardFacts, Held, Holder, HostFacts, JailFacts, Keeps, LastRefusal,
    LeaseFacts, PlanQuestion, PromptContext, QuietAnswer, RuleFacts, SessionEndContext, SettingsContext,
    SettingsEdit, StartContext, StopContext, TaskFacts, Unheld, Unlisted, Unstopped,
};

use crate::config::policy::{Level, Policy};
use crate::model::call::{CallState, ToolCall};
use crate::model::event::Event;
use crate::model::gate_id::GateId;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fold::Session;
use crate::session::memory::{OpenCall, Waived, Waiver};

/// Waived for this task by its prompt, or by a person for a limited time.
pub fn is_waived(session: &Session, context: &Context, gate: GateId) -> bool {
    let by_prompt = session.state.task.as_ref().is_some_and(|task| task.waiver.is_some());
    by_prompt && !session.state.state.hydration_pending || session.is_waived_by_person(gate, context.now_ms)
}

/// Some gate is waived now: for this task by its prompt, or by a person for a limited time.
pub fn is_waived_at_all(session: &Session, context: &Context) -> bool {
    let by_prompt = session.state.task.as_ref().is_some_and(|task| task.waiver.is_some());
    let by_person = |waiver: &Waiver| waiver.until_ms > context.now_ms;
    by_prompt || session.memory.progress.waivers.iter().any(by_person)
}

/// How strictly a gate is enforced. `block`, `guard` and `repeat` are always enforced; `owed` checks the
/// level of each debt; `report` is enforced if any gate waits for one of our agents.
fn level(policy: &Policy, gate: GateId) -> Level {
    match gate {
        GateId::Sandbox => policy.gates.sandbox,
        GateId::Audit => policy.gates.audit,
        GateId::Checks => policy.gates.checks,
        GateId::Critic => policy.gates.critic,
        GateId::Rules | GateId::Danger => policy.mode.level().default_for(gate),
        GateId::Report => {
            let gates = &policy.gates;
            let waiting =
                [gates.sandbox, gates.critic, gates.audit, gates.qa, gates.reflect].into_iter().max();
            waiting.unwrap_or_default().max(policy.mode.level().default_for(gate))
        }
        _ => Level::Enforce,
    }
}

pub struct Gate {
    pub id: GateId,
    pub judges: &'static [fn(&Session, &Event, &Context) -> Verdict],
}

/// In the order in which they are asked, each with what it refuses; the first refusal is the one reported. A
/// row's position is the number of its `GateId`.
pub static GATES: &[Gate] = &[
    // Everything, until a person clears the block.
    Gate { id: GateId::Block, judges: &[block::judge] },
    // A change of our folders during a session, writes to guarded files, and verbs that only a person may
    // use. Also reports who answered in a person's place.
    Gate { id: GateId::Guard, judges: &[moved::judge, watch::judge, questions::judge] },
    // A call that already ended, or an ID used twice.
    Gate { id: GateId::Repeat, judges: &[repeat::judge] },
    // Calls that the user's own rules forbid.
    Gate { id: GateId::Rules, judges: &[rules::judge] },
    // Commands that the jail must confine but cannot, and hosts on no list. Also reports lost results, and
    // what hindered a command.
    Gate { id: GateId::Jail, judges: &[jail::judge, unsaved::judge, quiet::judge, network::judge] },
    // Calls that lose work, break the system or give secrets away. Also reports what was kept.
    Gate { id: GateId::Danger, judges: &[danger::judge, kept::judge] },
    // In mode `strict`: edits of a file that another session is editing.
    Gate { id: GateId::Lease, judges: &[lease::judge] },
    // Changes before the task has a reviewed plan.
    Gate { id: GateId::Sandbox, judges: &[agentless::judge_sandbox] },
    // Changes while a drawn audit has not begun.
    Gate { id: GateId::Audit, judges: &[agentless::judge_audit] },
    // A prompt, first change, save or commit whose check failed.
    Gate { id: GateId::Checks, judges: &[checks::judge] },
    // The end of one of our agents without its verdict.
    Gate { id: GateId::Report, judges: &[report::judge] },
    // The end of a turn while the task owes something. Also reports which task is parked.
    Gate { id: GateId::Owed, judges: &[owed::judge, parked::judge] },
    // Nothing. When a session starts or a turn ends, it reports what was refused and not done since.
    Gate { id: GateId::Unfinished, judges: &[unfinished::judge] },
];

/// In a run no person can answer, so a question pauses the run, unless a person has already approved the
/// call. An agent inside the client cannot pause the run, so its question is a refusal. Deferring allows
/// nothing, so it needs no proof of the run.
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
    if approved.is_some() && event.call().is_some_and(is_approved) {
        return Verdict::pass();
    }
    let ruling = if event.agent_id.is_some() { Ruling::Deny } else { Ruling::Defer };
    Verdict { ruling, ..said }
}

/// The turn ends while agents are working that will continue it. A hanging agent that nobody waits for does
/// not count.
pub fn is_busy(session: &Session, event: &Event) -> bool {
    event.stopped().is_some_and(|stop| stop.busy_with.iter().any(|id| !session.is_left_behind(id)))
}

/// The client ended without making this call, and there is no answer yet.
pub fn is_waiting(open: &OpenCall) -> bool {
    open.means.deferred && open.state == CallState::Pending
}

/// Who approved this very call after the client deferred it, and when.
fn answered(session: &Session, event: &Event, context: &Context) -> Option<String> {
    let asked = |call: &ToolCall| {
        let open = session.open_call(&call.key)?;
        (open.means.deferred && open.input_sha256 == call.input_sha256)
            .then(|| Waived::Call(call.key.id.clone()))
    };
    let call = event.call().and_then(asked)?;
    let holds = |waiver: &&Waiver| waiver.lifts(&call, context.now_ms);
    let waiver = session.memory.progress.waivers.iter().find(holds)?;
    Some(format!("approved by {}", waiver.reason))
}

/// The joined verdict of all gates. The first refusal ends the round.
pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    let mut verdict = Verdict::pass();
    let policy = session.policy();
    for gate in GATES {
        for judge in gate.judges {
            let said = in_run(judge(session, event, context), session, event, context);
            verdict = verdict.join(match level(policy, gate.id) {
                Level::Enforce => said,
                Level::Warn => said.soften(),
                Level::Off => Verdict::pass(),
            });
            if verdict.ruling == Ruling::Deny {
                return verdict;
            }
        }
    }
    verdict
}

#[cfg(test)]
mod tests;
