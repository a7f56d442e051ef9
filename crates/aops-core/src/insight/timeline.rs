//! Which facts are worth a line in a session's timeline, and the line.
//!
//! Pure. Invariant: a successful call has no entry, a refused one has.

use crate::model::named::{Stored, join_names, named};
use crate::model::{call::CallState, event::EventKind};
use crate::session::fact::{Fact, Said, Seen, Step};
use std::collections::BTreeMap;

named! {
    /// Its name is its class in the report.
    pub enum TimelineKind {
        Prompt = "prompt",
        Verdict = "verdict",
        Question = "question",
        Refusal = "refusal",
        Rehearsed = "rehearsed",
        Failure = "failure",
        Audit = "audit",
        Block = "block",
        End = "end",
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineEntry {
    pub at_ms: i64,
    pub kind: TimelineKind,
    pub text: String,
}

/// The kind of a fact that is worth a line in a timeline, and the line.
pub fn describe_moment(fact: &Fact) -> Option<(TimelineKind, String)> {
    match fact {
        Fact::Event(seen) => describe_event(seen),
        Fact::Call(step) => describe_call(step),
        Fact::Verdict(report) if !report.sent_on => {
            let finding = report.finding.as_ref()?;
            let said = finding.verdict.as_ref().map(Stored::name).or(finding.workflow.as_deref());
            let said = said.or(finding.reflection.get("outcome").map(String::as_str)).unwrap_or_default();
            let more = finding.problems.first().or(finding.intent.as_ref());
            let more = more.map(|more| format!(": {more}")).unwrap_or_default();
            Some((TimelineKind::Verdict, format!("{} {said}{more}", report.agent)))
        }
        Fact::Answer(answered) => {
            let kind = if answered.allowed && !answered.is_overridden() {
                TimelineKind::Question
            } else {
                TimelineKind::Refusal
            };
            Some((kind, answered.tell(160)))
        }
        Fact::Block(block) => {
            Some((TimelineKind::Block, format!("blocked by {}: {}", block.by, block.reason)))
        }
        Fact::Unblock(by) => Some((TimelineKind::Block, format!("block lifted by {}", by.by))),
        Fact::Task(chosen) => Some((TimelineKind::Block, format!("{} {}", chosen.by, chosen.how.words()))),
        Fact::Waive(waiver) => {
            Some((TimelineKind::Block, format!("{} waived: {}", waiver.gate, waiver.reason)))
        }
        _ => None,
    }
}

fn describe_event(seen: &Seen) -> Option<(TimelineKind, String)> {
    if let Some(would) = &seen.rehearsed {
        return Some((TimelineKind::Rehearsed, describe_rehearsed(seen.event.name(), would)));
    }
    if let Some(said) = seen.said.as_ref().filter(|said| said.refuses()) {
        // Use the list itself: the first line of the reason only says that there is one.
        let owed = seen.owed().filter(|owed| !owed.is_empty());
        let why = owed.map_or_else(
            || first_line(&said.reason).to_owned(),
            |owed| format!("still owes {}", join_names(owed)),
        );
        return Some((TimelineKind::Refusal, format!("{} at {}: {why}", said.gate, seen.event)));
    }
    match seen.kind() {
        EventKind::UserPromptSubmit => {
            let prompt = seen.words("prompt").filter(|_| seen.is_persons_prompt());
            prompt.map(|prompt| (TimelineKind::Prompt, prompt))
        }
        EventKind::Stop => Some((TimelineKind::End, "the turn ended".to_owned())),
        EventKind::StopFailure => Some((
            TimelineKind::Failure,
            format!("the turn broke off: {}", seen.words("error").unwrap_or_default()),
        )),
        EventKind::SessionEnd => Some((TimelineKind::End, "the session ended".to_owned())),
        _ => None,
    }
}

fn describe_call(step: &Step) -> Option<(TimelineKind, String)> {
    let tool = &step.call.tool;
    let reason = step.reason.as_deref().unwrap_or_default();
    if let Some(would) = &step.rehearsed {
        return Some((TimelineKind::Rehearsed, describe_rehearsed(tool, would)));
    }
    match (step.to, &step.gate) {
        (CallState::Denied, Some(gate)) => {
            Some((TimelineKind::Refusal, format!("{gate}: {tool}: {}", first_line(reason))))
        }
        (CallState::Failed, _) => Some((TimelineKind::Failure, format!("{tool}: {reason}"))),
        _ if step.ended().drawn == Some(true) => Some((TimelineKind::Audit, "an audit was drawn".to_owned())),
        _ => None,
    }
}

fn describe_rehearsed(what: &str, would: &Said) -> String {
    format!("{} would {} {what}: {}", would.gate, would.verb(), first_line(&would.reason))
}

/// The reason without the way out.
fn first_line(reason: &str) -> &str {
    reason.lines().next().unwrap_or_default()
}

/// How long each phase took.
pub fn spent(phases: &[(i64, &'static str)], last_ms: i64) -> BTreeMap<String, u64> {
    let mut spent = BTreeMap::new();
    let ends = phases.iter().skip(1).map(|(at, _)| *at).chain([last_ms]);
    for ((began, phase), end) in phases.iter().zip(ends) {
        let ms = u64::try_from(end - began).unwrap_or(0);
        if ms > 0 {
            *spent.entry((*phase).to_owned()).or_default() += ms;
        }
    }
    spent
}
