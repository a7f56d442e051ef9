//! The facts that go into the ledger for one judged event.
//!
//! Reads session, event and verdict; writes nothing. Invariants: every event leaves a fact; every call that
//! was asked about is settled by some later event (`settle`); the answer is recorded with the question.

pub use crate::gate::happened::is_plan_question;
use crate::gate::report::started;
pub use crate::gate::settle::{abandoned, rejected};
use crate::gate::settle::{in_flight, settle, settle_answered, settled};
use crate::gate::timers::{listed_timers, new_timers, scheduled, set_timer};
use crate::gate::{
    Context, happened, jail, meaning, parked, questions, repeat, rules, sandbox, unreported, verdicts,
    way_out,
};
use crate::model::agent::AgentId;
use crate::model::call::CallState::{self, Authorized, Completed, Denied, Executing, Failed, Pending};
use crate::model::call::ToolCall;
use crate::model::event::{Event, EventKind};
use crate::model::gate_id::GateId;
use crate::model::named::Stored;
use crate::model::outcome::CheckEnding;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fact::{
    Blocked, CallAsked, CallDenied, CallEnded, Fact, Said, Seen, Starts, Step, Violation, ViolationKind,
};
use crate::session::fold::Session;
use crate::session::memory::{OpenCall, Waived, Waiver};
use crate::session::prompt::Prompt;
use crate::text::json::{cut, quoted};
use crate::text::redact::redact;
use serde_json::value::RawValue;

/// At most this many calls in flight; one more settles the oldest.
const MOST_OPEN: usize = 256;

pub fn facts(session: &Session, event: &Event, verdict: &Verdict, context: &Context) -> Vec<Fact> {
    let run = context.checks.iter().filter(|run| run.ending != CheckEnding::NotConcerned);
    let checks = run.cloned().map(Fact::Check);
    let unreported = unreported::facts(session, event, verdict, context);
    checks.chain(of_event(session, event, verdict, context)).chain(unreported).collect()
}

fn of_event(session: &Session, event: &Event, verdict: &Verdict, context: &Context) -> Vec<Fact> {
    match (event.kind(), event.call()) {
        (EventKind::PreToolUse, Some(call)) => {
            let mut facts = asked(session, event, call, verdict, context);
            facts.extend(verdicts::reported(session, event, verdict, context));
            facts
        }
        (EventKind::PostToolUse, Some(call)) => ended(session, event, call, Completed, context),
        (EventKind::PostToolUseFailure, Some(call)) => ended(session, event, call, Failed, context),
        _ => {
            let mut facts = questions::proven(session, event, context);
            facts.extend(settled(session, event, context));
            facts.extend(parked::over(context));
            facts.extend(happened::missing_stop(session, event, context));
            facts.push(Fact::Event(Box::new(Seen {
                rehearsed: verdict.rehearsed.as_deref().and_then(rehearsed),
                timers: listed_timers(session, event, context),
                what: happened::of_event(session, event, verdict, context),
                ..seen(event, context, said(verdict))
            })));
            facts.extend(
                parked::chosen(session, context).and_then(Result::ok).map(|(fact, _)| Fact::Task(fact)),
            );
            facts.extend(verdicts::reported(session, event, verdict, context));
            facts.extend(waived(session, verdict, context));
            facts
        }
    }
}

/// A prompt that lifts the whole loop for its task is recorded as a waiver, like one for a gate and a time.
fn waived(session: &Session, verdict: &Verdict, context: &Context) -> Option<Fact> {
    let reason = match context.prompt() {
        Prompt::Waived => "its prompt begins with `.`",
        Prompt::Command if !session.has_open_task() => "its prompt is a slash command",
        _ => return None,
    };
    let passes = verdict.ruling != Ruling::Deny && context.stage.is_none();
    let waiver = Waiver { gate: Waived::Task, reason: reason.to_owned(), until_ms: 0 };
    passes.then_some(Fact::Waive(waiver))
}

fn seen(event: &Event, context: &Context, said: Option<Said>) -> Seen {
    Seen {
        about: raw(&event.about).unwrap_or_default(),
        agent_id: event.agent_id.clone(),
        agent_type: event.agent_type.clone(),
        event: Stored::of(cut(&event.name, 64)),
        unproven: context.unproven.clone(),
        mode: event.permission_mode.clone(),
        prompt_id: event.prompt_id.clone(),
        run: context.stage.as_ref().map(|stage| stage.run_id.clone()),
        said,
        ..Seen::default()
    }
}

fn said(verdict: &Verdict) -> Option<Said> {
    let texts = [&verdict.notice, &verdict.context, &verdict.feedback];
    let silent = verdict.ruling == Ruling::Pass && texts.into_iter().all(String::is_empty);
    (!silent).then(|| Said {
        gate: verdict.gate.into(),
        reason: cut(&redact(&verdict.reason), 2048).to_owned(),
        ruling: verdict.ruling.into(),
    })
}

/// What the rehearsed mode would have refused. At the end of a turn the gate is that of the first debt.
fn rehearsed(verdict: &Verdict) -> Option<Said> {
    let said = said(verdict)?;
    let gate = verdict.debts.first().map_or(said.gate, |debt| debt.id.gate().into());
    Some(Said { gate, ..said })
}

fn raw(canonical: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(canonical.to_owned()).ok()
}

fn asked(
    session: &Session,
    event: &Event,
    call: &ToolCall,
    verdict: &Verdict,
    context: &Context,
) -> Vec<Fact> {
    let open = session.open_call(&call.key);
    if open.is_some_and(|open| open.means.deferred && open.input_sha256 == call.input_sha256) {
        // A call for which a run paused comes again with its answer.
        return decided(event, call, verdict);
    }
    if open.is_some() {
        let why = "an id was used for a second call while the first was running";
        let violation =
            Violation { said: said(verdict), ..broken(event, call, ViolationKind::ReusedId, why) };
        return vec![Fact::Violation(violation)];
    }
    if verdict.ruling == Ruling::Deny && repeat::ended_before(event, call, context).is_some() {
        let again = broken(event, call, ViolationKind::AskedAgain, Violation::ENDED);
        return vec![Fact::Violation(Violation { said: said(verdict), ..again })];
    }
    let mut facts = Vec::new();
    if context.stage.is_some() {
        // The deferred call is now made, or asked for, under another ID.
        facts.extend(asked_before(session, event, call).flat_map(settle));
    }
    if session.memory.calls.len() >= MOST_OPEN {
        facts.extend(give_up_oldest(session, event, context));
    }
    let first = first_step(session, event, call, verdict, context);
    let question = questions::asked(session, event, &first, verdict, context);
    facts.push(Fact::Call(first));
    facts.extend(question);
    facts.extend(decided(event, call, verdict));
    let told = way_out::is_told(session, event, context, verdict);
    if let Some(Fact::Call(last)) = facts.last_mut().filter(|_| told) {
        last.denied.get_or_insert_default().told = true;
    }
    if let Some(Fact::Call(last)) = facts.last_mut().filter(|_| verdict.gate == Some(GateId::Sandbox)) {
        let seen = context.call().filter(|_| last.to == Denied && context.stage.is_none());
        if let Some(words) = seen.and_then(|seen| sandbox::outgrown(session, seen)) {
            last.denied.get_or_insert_default().outgrown = Some(words);
        }
    }
    facts
}

/// The first recorded step of a call, before its verdict.
fn first_step(
    session: &Session,
    event: &Event,
    call: &ToolCall,
    verdict: &Verdict,
    context: &Context,
) -> Step {
    let (schedules, timers_lost) = scheduled(session, call, verdict.ruling == Ruling::Deny);
    let asks = CallAsked {
        input: raw(&call.clipped),
        means: meaning::of_call(session, event, call, verdict, context),
        schedules,
        starts: started(call).map(|agent| Starts { client: context.client.clone(), name: agent.into() }),
        timers_lost,
        warned: rules::warned(session, event, verdict, context),
    };
    let waits = matches!(verdict.ruling, Ruling::Ask | Ruling::Defer);
    let (gate, reason) = if waits { spoken(verdict) } else { (None, None) };
    Step {
        asks: Some(Box::new(asks)),
        gate,
        mode: event.permission_mode.clone(),
        reason,
        rehearsed: verdict.rehearsed.as_deref().and_then(rehearsed),
        ..step(event, call, None, Pending)
    }
}

/// Deferred calls of the main agent that are the same as this one under another ID: Codex cannot repeat a
/// deferred call by itself.
pub fn asked_before<'a>(
    session: &'a Session,
    event: &Event,
    call: &'a ToolCall,
) -> impl Iterator<Item = &'a OpenCall> + use<'a> {
    let main = event.agent_id.is_none();
    let same = move |open: &&OpenCall| {
        let key = &call.key;
        let other = &open.call;
        let alike =
            (&key.tool, &key.server, &call.input_sha256) == (&other.tool, &other.server, &open.input_sha256);
        main && alike && key.id != other.id && open.means.deferred && open.state == Pending
    };
    session.memory.calls.iter().filter(same)
}

/// A timer that was set without asking us, or with another text: a hook may have changed it.
fn unasked_timer(session: &Session, event: &Event, call: &ToolCall, context: &Context) -> Option<Fact> {
    let timers = new_timers(session, set_timer(call).into_iter());
    (!timers.new.is_empty()).then(|| Fact::Event(Box::new(Seen { timers, ..seen(event, context, None) })))
}

/// Settles a call because too many are in flight: preferably one that changes nothing; otherwise its changes
/// count.
fn give_up_oldest(session: &Session, event: &Event, context: &Context) -> Vec<Fact> {
    let calls = || in_flight(session);
    let idle = calls().find(|open| open.means.effect.is_none());
    let Some(open) = idle.or_else(|| calls().next()) else { return Vec::new() };
    let mut facts = settle_answered(open, event, context);
    if let (Some(Fact::Call(last)), Some(file)) = (facts.last_mut(), &open.means.grows)
        && last.to == Failed
    {
        let grown = session.memory.progress.weight.grown.with(file.clone());
        last.end.get_or_insert_default().measured.grown = Some(grown);
    }
    facts
}

fn spoken(verdict: &Verdict) -> (Option<Stored<GateId>>, Option<String>) {
    let said = !verdict.reason.is_empty();
    let reason = said.then(|| cut(&redact(&verdict.reason), 2048).to_owned());
    (said.then(|| verdict.gate.into()), reason)
}

/// How the verdict changes the state of the call that waits for it.
fn decided(event: &Event, call: &ToolCall, verdict: &Verdict) -> Vec<Fact> {
    let (gate, reason) = spoken(verdict);
    match verdict.ruling {
        Ruling::Ask | Ruling::Defer => Vec::new(),
        Ruling::Deny => {
            let denied =
                verdict.rule.clone().map(|rule| CallDenied { rule: Some(rule), ..CallDenied::default() });
            vec![Fact::Call(Step { denied, gate, reason, ..step(event, call, Some(Pending), Denied) })]
        }
        _ => vec![
            Fact::Call(step(event, call, Some(Pending), Authorized)),
            Fact::Call(step(event, call, Some(Authorized), Executing)),
        ],
    }
}

fn ended(session: &Session, event: &Event, call: &ToolCall, end: CallState, context: &Context) -> Vec<Fact> {
    let Some(open) = session.open_call(&call.key) else {
        return ended_unasked(session, event, call, context);
    };
    let mut facts = questions::proven(session, event, context);
    // A person was asked and approved: the client reports it only now.
    if open.state == Pending {
        facts.extend(questions::approved(open, call, context));
        facts.push(Fact::Call(step(event, call, Some(Pending), Authorized)));
    }
    if open.state != Executing {
        facts.push(Fact::Call(step(event, call, Some(Authorized), Executing)));
    }
    facts.push(Fact::Call(Step {
        end: Some(Box::new(came_to(session, call, open, end, context))),
        input_sha256: open.input_sha256.clone(),
        prompt_id: open.prompt_id.clone(),
        reason: (!call.error.is_empty()).then(|| call.error.clone()),
        ..step(event, call, Some(Executing), end)
    }));
    facts.extend(unasked_timer(session, event, call, context));
    if context.end().is_some_and(|end| end.unproven) {
        let why = Violation::UNJAILED;
        facts.push(Fact::Violation(broken(event, call, ViolationKind::Unjailed, why)));
        let block = Blocked { by: GateId::Jail.to_string(), reason: why.to_owned() };
        facts.extend(jail::blocks(session).then_some(Fact::Block(block)));
    }
    let disarmed = context.end().and_then(|end| end.disarmed.clone());
    facts.extend(disarmed.map(|reason| Fact::Block(Blocked { by: GateId::Guard.to_string(), reason })));
    facts
}

/// What the client reports about the end, in addition to what we observed.
fn came_to(
    session: &Session,
    call: &ToolCall,
    open: &OpenCall,
    end: CallState,
    context: &Context,
) -> CallEnded {
    let recorded = context.recorded().cloned().unwrap_or_default();
    let planned = recorded.plan.as_ref().and_then(|plan| session.planned_todos(AgentId::Hydrator, plan));
    CallEnded {
        duration_ms: call.duration_ms,
        launched: call.launched && started(call).is_some(),
        marks: recorded.marks.filter(|marks| *marks != session.memory.watched.marks),
        result: call.result.clone(),
        todos: call.todos.filter(|_| end == Completed).or(planned),
        unended: call.unended && (open.means.tests || open.means.formats),
        ..recorded
    }
}

/// The hook was killed or not heard, so the client let the call pass.
fn ended_unasked(session: &Session, event: &Event, call: &ToolCall, context: &Context) -> Vec<Fact> {
    let (kind, why) = match &context.earlier.past {
        Some(past) if past.to == Denied => {
            (ViolationKind::RanDenied, "the client ran a call that was DENIED")
        }
        Some(_) => return vec![again(event, call, context)],
        None => (
            ViolationKind::Unasked,
            "a call that was never authorized ended: its hook did not run or was killed",
        ),
    };
    let unasked = context.end().and_then(|end| end.unasked.clone());
    let ran = Fact::Violation(Violation { unasked, ..broken(event, call, kind, why) });
    [ran].into_iter().chain(unasked_timer(session, event, call, context)).collect()
}

/// A call that already ended ends again: recorded, but not counted twice.
fn again(event: &Event, call: &ToolCall, context: &Context) -> Fact {
    let id = quoted(&call.key.id);
    let about =
        format!("{{\"repeated\":true,\"tool_name\":{},\"tool_use_id\":{id}}}", quoted(&call.key.tool));
    Fact::Event(Box::new(Seen { about: raw(&about).unwrap_or_default(), ..seen(event, context, None) }))
}

fn broken(event: &Event, call: &ToolCall, kind: ViolationKind, why: &str) -> Violation {
    Violation { call: Some(call.key.clone()), ..Violation::of(event, kind, why) }
}

fn step(event: &Event, call: &ToolCall, from: Option<CallState>, to: CallState) -> Step {
    Step {
        agent_id: event.agent_id.clone(),
        agent_type: event.agent_type.clone(),
        call: call.key.clone(),
        from,
        input_sha256: call.input_sha256.clone(),
        prompt_id: event.prompt_id.clone(),
        to,
        ..Step::default()
    }
}
