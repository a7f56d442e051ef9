//! The facts that go into the ledger for one judged event.
//!
//! Reads session, event and verdict; writes nothing. Invariants: every event leaves a fact; every call that is asked is
//! settled by some later event; the answer stands beside the question.

mod settle;
mod call;

pub use settle::{abandoned, rejected};

use crate::gate::Context;
use crate::gate::owed::{debts, without_git};
use crate::model::agent::ours;
use crate::model::call::CallState::{Completed, Failed};
use crate::model::event::{Event, EventKind};
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fact::{Blocked, Checked, Fact, Reported, Said, Seen};
use crate::session::fold::Session;
use crate::text::json::cut;
use crate::text::redact::redact;
use call::{asked, ended};
use serde_json::value::RawValue;
use settle::settled;

/// The facts of this event.
pub fn facts(session: &Session, event: &Event, verdict: &Verdict, context: &Context) -> Vec<Fact> {
    let run = context.checks.iter().filter(|run| run.ending != Checked::NOT_CONCERNED);
    let checks = run.cloned().map(Fact::Check);
    checks.chain(of_event(session, event, verdict, context)).collect()
}

fn of_event(session: &Session, event: &Event, verdict: &Verdict, context: &Context) -> Vec<Fact> {
    match (event.kind, &event.call) {
        (EventKind::PreToolUse, Some(call)) => asked(session, event, call, verdict, context),
        (EventKind::PostToolUse, Some(call)) => ended(session, event, call, Completed, context),
        (EventKind::PostToolUseFailure, Some(call)) => ended(session, event, call, Failed, context),
        _ => {
            let mut facts = settled(session, event);
            let mut seen = seen(event, context, said(verdict));
            if event.kind == EventKind::Stop && !event.busy {
                seen.owed = Some(debts(session, context).iter().map(|debt| debt.name.to_owned()).collect());
                seen.no_git = without_git(session, context);
            }
            facts.push(Fact::Event(seen));
            facts.extend(reported(session, event, verdict, context));
            facts
        }
    }
}

/// The verdict of one of our agents, or that its report held none. A BLOCK is a block at once, in the same batch.
fn reported(session: &Session, event: &Event, verdict: &Verdict, context: &Context) -> Vec<Fact> {
    let (Some(report), Some(id)) = (&context.report, event.agent_id.as_deref()) else { return Vec::new() };
    let Some(agent) = event.agent_type.as_deref().and_then(ours) else { return Vec::new() };
    if session.awaited(id, agent.name).is_none() {
        return Vec::new();
    }
    let (finding, problem) = match report {
        Ok(finding) => (Some(finding.clone()), None),
        Err(problem) => (None, Some(cut(problem, 600).to_owned())),
    };
    let blocks = finding.as_ref().filter(|finding| finding.verdict.as_deref() == Some("BLOCK"));
    let block =
        blocks.map(|finding| Fact::Block(Blocked { by: agent.name.to_owned(), reason: finding.problems.join("; ") }));
    let sent_on = verdict.ruling == Ruling::Deny;
    let fact = Reported { agent: agent.name.to_owned(), agent_id: id.to_owned(), finding, problem, sent_on };
    [Fact::Verdict(fact)].into_iter().chain(block).collect()
}

fn seen(event: &Event, context: &Context, said: Option<Said>) -> Seen {
    Seen {
        about: raw(&event.about).unwrap_or_default(),
        agent_id: event.agent_id.clone(),
        agent_type: event.agent_type.clone(),
        event: cut(&event.name, 64).to_owned(),
        foreign: context.start.shadowed.clone(),
        mode: event.permission_mode.clone(),
        prompt_id: event.prompt_id.clone(),
        run: context.stage.as_ref().map(|stage| stage.run_id.clone()),
        said,
        ..Seen::default()
    }
}

fn said(verdict: &Verdict) -> Option<Said> {
    let silent = verdict.ruling == Ruling::Pass && verdict.notice.is_empty() && verdict.context.is_empty();
    (!silent).then(|| Said {
        gate: verdict.gate.to_owned(),
        reason: cut(&redact(&verdict.reason), 2048).to_owned(),
        ruling: verdict.ruling.name().to_owned(),
    })
}

fn raw(canonical: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(canonical.to_owned()).ok()
}
