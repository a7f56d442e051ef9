//! The part of an event's ledger entry that depends on the kind of event.
//!
//! Reads session, event, verdict and context; writes nothing. Invariant: the entry's details match the kind
//! of the event.

use crate::gate::owed::{debts, is_paused, without_git};
use crate::gate::{Context, checks, is_busy, parked, reflection, report};
use crate::model::agent::ours;
use crate::model::debt::DebtId;
use crate::model::event::{Event, EventKind};
use crate::model::named::{Stored, join_names};
use crate::model::phase::Sandbox;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fact::{
    AgentStarted, AgentStopped, BatchEnded, Fact, GoesOn, Happened, PermissionAsked, PromptHeard,
    SessionEnded, SessionStarted, TurnBefore, TurnEnded, Violation, ViolationKind,
};
use crate::session::fold::Session;
use crate::session::names_taken::NamesTaken;
use crate::session::prompt::Prompt;
use crate::text::sha256::sha256;

pub(super) fn of_event(session: &Session, event: &Event, verdict: &Verdict, context: &Context) -> Happened {
    match event.kind() {
        EventKind::PermissionRequest => Happened::PermissionAsked(permission_asked(event, context)),
        EventKind::PostToolBatch => {
            let waits = verdict.halt && report::awaited_in_background(session, event, context).is_some();
            Happened::BatchEnded(BatchEnded { waits })
        }
        EventKind::SessionEnd => Happened::SessionEnded(Box::new(SessionEnded {
            before: turn_before(session, context, None),
            hosts: context.hosts().to_vec(),
            log: None,
        })),
        EventKind::SessionStart => Happened::SessionStarted(Box::new(SessionStarted {
            agentless: context.start().and_then(|start| start.agentless.clone()),
            before: turn_before(session, context, None),
            beside: context.start().is_some_and(|start| start.beside),
            names_taken: names_taken(context),
            source: Stored::of(event.source()),
            ..SessionStarted::default()
        })),
        EventKind::Stop => Happened::Stopped(Box::new(turn_ended(session, event, verdict, context))),
        EventKind::SubagentStart => Happened::AgentStarted(AgentStarted {
            names_taken: names_taken(context),
            starter: starter(event, context),
        }),
        EventKind::SubagentStop => {
            Happened::AgentStopped(AgentStopped { uncounted: !is_awaited(session, event) })
        }
        EventKind::UserPromptSubmit => Happened::Prompted(Box::new(prompt_heard(session, event, context))),
        _ => Happened::Other,
    }
}

fn permission_asked(event: &Event, context: &Context) -> PermissionAsked {
    let plan = context.call().map(|call| &call.plan);
    let hook = plan.and_then(|plan| plan.hook.clone());
    let asks_plan = context.attended && !context.unstarted && hook.is_none() && is_plan_question(event);
    PermissionAsked {
        asks_plan,
        dialog: context.interactive,
        plan_hook: hook,
        plan_shown: plan.and_then(|plan| plan.shown.clone()).filter(|_| asks_plan),
    }
}

/// What a prompt means for the current task, and by what we recognise it if it comes again.
fn prompt_heard(session: &Session, event: &Event, context: &Context) -> PromptHeard {
    let goes_on = parked::goes_on(session, event, context);
    PromptHeard {
        anew: context.prompt() == Prompt::Ordinary && session.is_mere_question(),
        baseline: None,
        before: turn_before(session, context, goes_on),
        goes_on,
        means: context.prompt(),
        sha256: event.prompt_id.as_ref().map(|_| sha256(&[event.prompt().as_bytes()])),
    }
}

fn turn_ended(session: &Session, event: &Event, verdict: &Verdict, context: &Context) -> TurnEnded {
    if is_busy(session, event) || is_paused(session, context) {
        return TurnEnded::default();
    }
    let owed = owed_now(session, context);
    let asks = context.stop().is_some_and(|stop| stop.asks);
    // A task that was allowed to end is over, whatever it still owes. A step of a run has no task.
    let weighed = context.stage.is_none() || session.weighs();
    let ends = weighed && verdict.ruling == Ruling::Pass && !owed.is_empty();
    let over = owed.is_empty() || ends;
    TurnEnded {
        asks: checks::asks(context),
        ends,
        no_git: without_git(session, context),
        reflection: reflection::written(session, context, &owed),
        shuts: over && session.plans_first() && session.state.sandbox == Sandbox::Open,
        // If the turn ends with a question about the plan, the debts stay as they are.
        owed: Some(owed).filter(|_| !asks || session.awaits_plan_of().is_none()),
        ..TurnEnded::default()
    }
}

fn owed_now(session: &Session, context: &Context) -> Vec<Stored<DebtId>> {
    debts(session, context).iter().map(|debt| debt.id.into()).collect()
}

/// A turn had no Stop. If the person interrupted it, its task is parked; otherwise its debts stay.
fn turn_before(session: &Session, context: &Context, goes_on: Option<GoesOn>) -> Option<TurnBefore> {
    let turn = context.earlier.unstopped.as_ref()?;
    Some(if turn.interrupted {
        parked::left_by(session, turn, goes_on)
    } else {
        TurnBefore::Owing(owed_now(session, context))
    })
}

/// The debts of a turn that had no Stop and was not interrupted by a person.
pub(super) fn missing_stop(session: &Session, event: &Event, context: &Context) -> Option<Fact> {
    context.earlier.unstopped.as_ref().filter(|turn| !turn.interrupted)?;
    let owed = owed_now(session, context);
    let words = if owed.is_empty() { "nothing".to_owned() } else { join_names(&owed) };
    let violation = format!("{}; it owed {words}", Violation::NO_STOP);
    Some(Fact::Violation(Violation::of(event, ViolationKind::NoStop, violation)))
}

fn names_taken(context: &Context) -> Option<NamesTaken> {
    let start = context.start()?;
    Some(NamesTaken { names: start.clashes.clone(), path: start.shadowed.clone()? })
}

/// The client in which one of our agents starts.
fn starter(event: &Event, context: &Context) -> Option<String> {
    let agent = event.agent_type.as_deref().and_then(ours).filter(|_| context.unproven.is_none());
    agent.map(|_| context.client.clone())
}

/// We wait for this report, or it is not from one of our agents.
fn is_awaited(session: &Session, event: &Event) -> bool {
    let agent = event.agent_type.as_deref().and_then(ours);
    let id = event.agent_id.as_deref().unwrap_or_default();
    agent.is_none_or(|agent| session.awaited(id, agent.name).is_some())
}

/// The main agent shows the plan that it made in plan mode.
pub fn is_plan_question(event: &Event) -> bool {
    event.agent_id.is_none() && event.call().is_some_and(|call| call.key.tool == "ExitPlanMode")
}
