//! Records questions to a person as facts: which rule asked, about which line, and how, by whom and after how
//! long it was answered.
//!
//! Reads session, event and context; refuses nothing. Invariants: a call that was asked about gets its answer
//! with the event that settles it; an approval by another hook in a person's place is a violation, and the
//! person is told.

use super::{Context, danger, secrets};
use crate::model::call::CallState::Pending;
use crate::model::call::ToolCall;
use crate::model::event::{Event, EventKind};
use crate::model::gate_id::GateId;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::describe::describe_call;
use crate::session::fact::{Fact, Step, Violation, ViolationKind};
use crate::session::fold::Session;
use crate::session::memory::OpenCall;
use crate::session::question::{Answered, Answerer, Asked, Decision};
use crate::text::template::one_line;

const GATE: GateId = GateId::Guard;

/// Tells the person that another hook answered for them.
pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    if context.earlier.decisions.is_empty() {
        return Verdict::pass();
    }
    let settled = session.open_questions().filter_map(|(open, _)| settled(open, event, context));
    let all: Vec<Answered> =
        unproven(session, context).chain(settled).filter(Answered::is_overridden).collect();
    let Some(first) = all.first() else { return Verdict::pass() };
    let more = if all.len() > 1 { format!(" (and {} more)", all.len() - 1) } else { String::new() };
    let words = format!(
        "another hook approved `{}`, which needed your approval ({}){more}\nhint: look for `PermissionRequest` hooks in your settings and plugins: the first answer to a dialog wins",
        one_line(&first.line, 200).replace('`', "'"),
        first.asker(),
    );
    Verdict::notice(GATE, words)
}

/// The question that this verdict puts to a person about its call.
pub fn asked(
    session: &Session,
    event: &Event,
    first: &Step,
    verdict: &Verdict,
    context: &Context,
) -> Option<Fact> {
    let gate = verdict.gate.into();
    let rule = verdict.rule.clone();
    let line = || describe_call(first, &session.memory.place.root);
    let about =
        verdict.rule.as_deref().filter(|rule| *rule == secrets::RULE && verdict.gate == Some(GateId::Danger));
    let secret = || about.and_then(|_| danger::asked_file(session, event, context));
    (verdict.ruling == Ruling::Ask).then(|| {
        Fact::Question(Asked { call: first.call.clone(), gate, line: line(), rule, secret: secret() })
    })
}

/// The call was made, so somebody approved it. The client tells later who that was.
pub fn approved(open: &OpenCall, call: &ToolCall, context: &Context) -> Option<Fact> {
    let ran_ms = call.duration_ms.and_then(|ms| i64::try_from(ms).ok()).unwrap_or(0);
    let question = open.question.as_ref()?;
    Some(Fact::Answer(question.answer(&open.call, true, Answerer::Unknown, Some(context.now_ms - ran_ms))))
}

/// The answer to the question about a call that gets no further event.
pub fn settled(open: &OpenCall, event: &Event, context: &Context) -> Option<Answered> {
    let question = open.question.as_ref()?;
    let decision = decision_on(context, &open.call.id);
    let by_client = event.kind() == EventKind::PermissionDenied;
    let by = if by_client { Answerer::Client } else { decision.map_or(Answerer::Unknown, |said| said.by) };
    let at_ms = decision.and_then(|said| said.at_ms).unwrap_or(context.now_ms);
    Some(question.answer(&open.call, decision.is_some_and(|said| said.allowed), by, Some(at_ms)))
}

/// Answers for which the client now says who gave them.
pub fn proven(session: &Session, event: &Event, context: &Context) -> Vec<Fact> {
    unproven(session, context).flat_map(|answered| told(event, answered)).collect()
}

fn unproven<'a>(session: &'a Session, context: &'a Context) -> impl Iterator<Item = Answered> + 'a {
    let known = session.memory.questions.unproven.iter();
    known.filter_map(|known| known.proven(decision_on(context, &known.answered.call.id)?))
}

fn decision_on<'a>(context: &'a Context, call: &str) -> Option<&'a Decision> {
    context
        .earlier
        .decisions
        .iter()
        .find(|decision| decision.call == call && decision.by != Answerer::Unknown)
}

/// The answer; if another hook approved, also the violation that a person should have answered.
pub fn told(event: &Event, answered: Answered) -> Vec<Fact> {
    let violation = answered.is_overridden().then(|| {
        let words =
            format!("another hook approved a call that needed a person: {}", one_line(&answered.line, 300));
        let call = Some(answered.call.clone());
        Violation { call, ..Violation::of(event, ViolationKind::Overridden, words) }
    });
    std::iter::once(Fact::Answer(answered)).chain(violation.map(Fact::Violation)).collect()
}

/// The client itself refused the call that a person was asked about.
pub fn is_rejected(event: &Event, open: &OpenCall) -> bool {
    let same = event.call().is_some_and(|call| call.key == open.call);
    same && open.state == Pending && open.question.is_some()
}
