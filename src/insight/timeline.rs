//! The timeline of a session: prompts, verdicts, refusals, audits, blocks, ends.
//!
//! Reads one fact at a time, writes nothing. Invariant: a call that succeeded has no entry, a refused
//! one has.

use crate::model::call::CallState;
use crate::model::event::EventKind;
use crate::session::fact::{Fact, Seen};
use crate::session::prompt::Prompt;
use crate::text::json::{self, Json};
use crate::text::template::one_line;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineEntry {
    pub at_ms: i64,
    /// `prompt`, `verdict`, `refusal`, `failure`, `audit`, `block` or `end`.
    pub kind: &'static str,
    pub text: String,
}

const LONGEST: usize = 160;

/// The reason without the way out.
fn first(reason: &str) -> &str {
    reason.lines().next().unwrap_or_default()
}

pub fn timeline_entry(at_ms: i64, fact: &Fact) -> Option<TimelineEntry> {
    let (kind, text) = match fact {
        Fact::Event(seen) => match &seen.said {
            Some(said) if said.ruling == "deny" => {
                ("refusal", format!("{} at {}: {}", said.gate, seen.event, first(&said.reason)))
            }
            _ => match EventKind::of(&seen.event) {
                EventKind::UserPromptSubmit => {
                    ("prompt", words(seen, "prompt").filter(|prompt| Prompt::of(prompt) != Prompt::Machine)?)
                }
                EventKind::Stop => ("end", "the turn ended".to_owned()),
                EventKind::StopFailure => {
                    ("failure", format!("the turn broke off: {}", words(seen, "error").unwrap_or_default()))
                }
                EventKind::SessionEnd => ("end", "the session ended".to_owned()),
                _ => return None,
            },
        },
        Fact::Call(step) => match (step.to, &step.gate) {
            (CallState::Denied, Some(gate)) => {
                let reason = first(step.reason.as_deref().unwrap_or_default());
                ("refusal", format!("{gate}: {}: {reason}", step.call.tool))
            }
            (CallState::Failed, _) => {
                let reason = step.reason.as_deref().unwrap_or_default();
                ("failure", format!("{}: {reason}", step.call.tool))
            }
            _ if step.drawn == Some(true) => ("audit", "an audit was drawn".to_owned()),
            _ => return None,
        },
        Fact::Verdict(report) if !report.sent_on => {
            let finding = report.finding.as_ref()?;
            let said = finding.verdict.as_deref().or(finding.workflow.as_deref());
            let said = said.or(finding.reflection.get("outcome").map(String::as_str)).unwrap_or_default();
            let more = finding.problems.first().or(finding.intent.as_ref());
            let more = more.map(|more| format!(": {more}")).unwrap_or_default();
            ("verdict", format!("{} {said}{more}", report.agent))
        }
        Fact::Block(block) => ("block", format!("blocked by {}: {}", block.by, block.reason)),
        Fact::Unblock(by) => ("block", format!("block lifted by {}", by.by)),
        Fact::Waive(waiver) => ("block", format!("{} waived: {}", waiver.gate, waiver.reason)),
        _ => return None,
    };
    Some(TimelineEntry { at_ms, kind, text: one_line(&text, LONGEST) })
}

/// A text of the event; of a clipped one its beginning.
pub fn words(seen: &Seen, name: &str) -> Option<String> {
    let about = json::read(seen.about.get()).ok()?;
    match about.get(name)? {
        clipped @ Json::Object(_) => Some(clipped.text_of("clipped")? + "…"),
        text => Some(text.text()?.into_owned()),
    }
}
