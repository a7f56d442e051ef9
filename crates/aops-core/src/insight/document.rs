//! The insights document of a session, filled from ledger and transcript; and `RICH`, the fields that an
//! analysis fills.
//!
//! Pure. Stored type, version `schema`: fields in sorted order. Invariants: no value is invented, so an
//! unknown field is empty or null; a check is about forms, not about words, and an unknown field is kept.

use crate::host::claude::usage::Tokens;
use crate::model::named::Stored;
use crate::model::outcome::{AgentVerdict, RunOutcome, SessionOutcome};
use crate::text::json::{self, cut};
use crate::text::plain::{count, is_zero};
use crate::text::redact::redact;
use crate::text::template::one_line;
use crate::text::time;
use aops_ledger::json::unchanged;
use aops_network::counts::size;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The summary of a session about which nobody said anything.
pub const NO_SUMMARY: &str = "session completed";

/// Version of this form.
pub const SCHEMA: u32 = 1;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Insights {
    pub acceptance_criteria_count: u64,
    pub accomplishments: Vec<String>,
    pub audits: Audits,
    /// The session's client, by name.
    pub client: String,
    pub context_gaps: Value,
    pub conversation_flow: Value,
    pub cost_usd: Option<f64>,
    pub critic_verdict: Option<Stored<AgentVerdict>>,
    pub custodiet_blocks: u64,
    pub date: String,
    /// Why the session ended, according to its client.
    pub end_reason: Option<String>,
    pub ended_at: Option<String>,
    pub files_changed: Vec<String>,
    pub friction_points: Vec<String>,
    pub gates: BTreeMap<String, u64>,
    /// The traffic to each host, as `host:port`, if hosts are judged.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub hosts: BTreeMap<String, HostCounts>,
    pub learning_observations: Value,
    /// The last entry that was used; `None` for a session without a ledger.
    pub ledger_head: Option<String>,
    pub outcome: Stored<SessionOutcome>,
    /// Who worked, by the system's name for them when it ended.
    pub person: Option<String>,
    pub phase_ms: BTreeMap<String, u64>,
    pub project: String,
    pub proposed_changes: Vec<String>,
    pub qa_verdict: Option<Stored<AgentVerdict>>,
    /// What people were asked about calls, and what they answered.
    pub questions: QuestionCounts,
    /// The framework agent's latest seven fields.
    pub reflection: Option<BTreeMap<String, String>>,
    pub rehearsed: BTreeMap<String, u64>,
    /// What each rule stopped or asked about: `danger:git-discard`, `rules:NAME`; a gate without rules has
    /// its own name.
    pub rules: BTreeMap<String, RuleCounts>,
    /// The run to which the session belongs, and its outcome.
    pub run_id: Option<String>,
    pub run_outcome: Option<Stored<RunOutcome>>,
    pub schema: u32,
    pub session_id: String,
    pub skill_compliance: Value,
    pub started_at: Option<String>,
    /// Why the last turn ended.
    pub stop_reason: Option<String>,
    pub subagent_count: u64,
    pub subagents_invoked: Vec<String>,
    pub summary: Option<String>,
    pub todos_completed: u64,
    /// The client's own todos, or the steps of the plan if the client made none.
    pub todos_total: u64,
    pub tokens: Tokens,
    pub tool_calls: Calls,
    /// Rollbacks of its working tree.
    pub undone: u64,
    pub user_mood: Value,
    pub user_prompts: Vec<String>,
    pub waivers: Vec<String>,
    pub workflows_used: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Audits {
    pub done: u64,
    pub drawn: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Calls {
    pub completed: u64,
    pub denied: u64,
    pub failed: u64,
    /// Of the ended calls: commands whose result was lost with a throwaway layer.
    #[serde(skip_serializing_if = "is_zero")]
    pub unsaved: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostCounts {
    pub connections: u64,
    pub down: u64,
    pub refused: u64,
    pub up: u64,
}

impl HostCounts {
    /// `3 hosts, 41 MB in, 88 kB out, 2 refused`; `None` if no host is known.
    pub fn describe(all: &BTreeMap<String, Self>) -> String {
        let sum = |of: fn(&Self) -> u64| all.values().map(of).sum::<u64>();
        if all.is_empty() {
            return String::new();
        }
        let reached = all.values().filter(|host| host.connections > 0).count() as u64;
        let refused = match sum(|host| host.refused) {
            0 => String::new(),
            n => format!(", {n} refused"),
        };
        format!(
            "{}, {} in, {} out{refused}",
            count(reached, "host"),
            size(sum(|h| h.down)),
            size(sum(|h| h.up))
        )
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuestionCounts {
    pub allowed: u64,
    pub asked: u64,
    /// Permission dialogs of the client that a person saw, whatever caused them.
    pub dialogs: u64,
    /// Answered by another hook in a person's place.
    pub overridden: u64,
    /// Lines that we answered in a person's place.
    pub quieted: u64,
    pub refused: u64,
    /// Total time that answers took.
    pub waited_ms: u64,
}

impl QuestionCounts {
    /// `9 asked, 7 approved, 2 rejected, 4 s to answer on average; 41 lines answered, 12 prompts seen`. The
    /// last two are never added up: not every answered line would have been a prompt.
    pub fn describe(&self) -> String {
        let prompts = match (self.quieted, self.dialogs) {
            (0, 0) => None,
            (0, seen) => Some(format!("{} seen", count(seen, "prompt"))),
            (lines, seen) => {
                Some(format!("{} answered, {} seen", count(lines, "line"), count(seen, "prompt")))
            }
        };
        if self.asked == 0 {
            return prompts.unwrap_or_default();
        }
        let prompts = prompts.map(|words| format!("; {words}")).unwrap_or_default();
        let mean =
            self.waited_ms.checked_div(self.allowed + self.refused).and_then(|ms| i64::try_from(ms).ok());
        let mean = mean.map(|ms| format!(", {} to answer on average", time::age(ms))).unwrap_or_default();
        let over = match self.overridden {
            0 => String::new(),
            n => format!(", {n} answered by another hook"),
        };
        format!(
            "{} asked, {} approved, {} rejected{over}{mean}{prompts}",
            self.asked, self.allowed, self.refused
        )
    }

    pub fn add(&mut self, other: &Self) {
        self.allowed += other.allowed;
        self.asked += other.asked;
        self.dialogs += other.dialogs;
        self.overridden += other.overridden;
        self.quieted += other.quieted;
        self.refused += other.refused;
        self.waited_ms += other.waited_ms;
    }
}

/// What one rule did. `refused`: by itself, or by the person whom it asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuleCounts {
    pub allowed: u64,
    pub asked: u64,
    /// Commands before which it kept what they would lose. Older versions did not count them.
    #[serde(skip_serializing_if = "is_none")]
    pub kept: u64,
    pub refused: u64,
    /// Calls that passed with a warning. Older versions did not count them.
    #[serde(skip_serializing_if = "is_none")]
    pub warned: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl RuleCounts {
    pub fn add(&mut self, other: &Self) {
        self.allowed += other.allowed;
        self.asked += other.asked;
        self.kept += other.kept;
        self.refused += other.refused;
        self.warned += other.warned;
    }
}

/// What was done for the person: the summary that they read once a week.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Worth {
    /// Lines that were answered in the person's place.
    pub answered: u64,
    /// Commands before which something was kept.
    pub kept: u64,
    /// Dangerous calls that were not made.
    pub stopped: u64,
    /// Working trees that were rolled back, and kept work that was restored.
    pub undone: u64,
}

impl Worth {
    /// `212 prompts answered for you, 9 dangerous commands stopped, work kept before 2 commands, 3 undone`;
    /// `None` if all are zero.
    pub fn describe(&self) -> Option<String> {
        let words = [
            (self.answered, format!("{} answered for you", count(self.answered, "prompt"))),
            (self.stopped, format!("{} stopped", count(self.stopped, "dangerous command"))),
            (self.kept, format!("work kept before {}", count(self.kept, "command"))),
            (self.undone, format!("{} undone", self.undone)),
        ];
        let parts: Vec<String> = words.into_iter().filter(|(n, _)| *n > 0).map(|(_, words)| words).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    pub fn add(&mut self, other: Self) {
        self.answered += other.answered;
        self.kept += other.kept;
        self.stopped += other.stopped;
        self.undone += other.undone;
    }

    /// What was added since.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            answered: self.answered.saturating_sub(before.answered),
            kept: self.kept.saturating_sub(before.kept),
            stopped: self.stopped.saturating_sub(before.stopped),
            undone: self.undone.saturating_sub(before.undone),
        }
    }
}

impl Calls {
    pub fn describe(&self) -> String {
        let unsaved = if self.unsaved > 0 { format!(", {} not saved", self.unsaved) } else { String::new() };
        format!("{} completed, {} failed, {} denied{unsaved}", self.completed, self.failed, self.denied)
    }
}

/// `qa 1, sandbox 2`
pub fn describe_counts(counts: &BTreeMap<String, u64>) -> String {
    counts.iter().map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>().join(", ")
}

/// How many entries of a list and characters of a string the copy in the state keeps: it is written at every
/// event.
const FEW: usize = 20;
const SHORT: usize = 200;

impl Insights {
    /// The last verdict of each reviewer: all that we know about a session without a ledger.
    pub fn last_verdicts(&self) -> BTreeMap<String, u64> {
        let last = [("critic", &self.critic_verdict), ("qa-verifier", &self.qa_verdict)];
        last.into_iter()
            .filter_map(|(agent, said)| Some((format!("{agent} {}", said.as_ref()?), 1)))
            .collect()
    }

    /// With the fields of an analysis empty.
    pub fn new() -> Self {
        let [context_gaps, conversation_flow, learning_observations] =
            [const { Value::Array(Vec::new()) }; 3];
        Self { context_gaps, conversation_flow, learning_observations, schema: SCHEMA, ..Self::default() }
    }

    /// Keeps the fields of an earlier analysis.
    pub fn keep_rich(&mut self, old: &Value) {
        for field in &RICH {
            if let Some(value) = old.get(field.name).filter(|value| (field.fits)(value)) {
                *(field.of)(self) = redact_all(value);
            }
        }
    }

    /// What was done for the person: calls stopped by the guard and the danger rules, or by the person whom
    /// they asked.
    pub fn worth(&self) -> Worth {
        let dangerous = |name: &&String| name.starts_with("danger:") || name.starts_with("guard");
        let stopped =
            self.rules.iter().filter(|(name, _)| dangerous(name)).map(|(_, counts)| counts.refused).sum();
        let kept = self.rules.values().map(|counts| counts.kept).sum();
        Worth { answered: self.questions.quieted, kept, stopped, undone: self.undone }
    }

    /// It ended, or if it is still running began, in the last seven days.
    pub fn is_recent(&self, now_ms: i64) -> bool {
        let at = self.ended_at.as_ref().or(self.started_at.as_ref());
        at.and_then(|at| time::parse(at)).is_some_and(|at| now_ms - at < 7 * 86_400_000)
    }

    /// The same without what a person typed: for other machines.
    #[must_use]
    pub fn without_prompts(&self) -> Self {
        let mut open = self.clone();
        let typed = std::mem::take(&mut open.user_prompts);
        // In a session without a plan the summary is its last prompt.
        let summary = open.summary.take();
        open.summary =
            summary.filter(|summary| !typed.iter().any(|prompt| one_line(prompt, 300) == *summary));
        open
    }

    /// The same, small enough for the state.
    #[must_use]
    pub fn short(&self) -> Self {
        let mut short = self.clone();
        let lists = [
            &mut short.accomplishments,
            &mut short.files_changed,
            &mut short.friction_points,
            &mut short.proposed_changes,
            &mut short.subagents_invoked,
            &mut short.user_prompts,
            &mut short.workflows_used,
        ];
        for list in lists {
            list.truncate(FEW);
            for text in list {
                *text = cut(text, SHORT).to_owned();
            }
        }
        for value in [&mut short.context_gaps, &mut short.conversation_flow, &mut short.learning_observations]
        {
            if let Value::Array(items) = value {
                items.truncate(FEW / 4);
            }
        }
        short
    }

    /// In canonical form. Its content was redacted at its source; redacting by name would remove the
    /// session's ID.
    pub fn text(&self) -> String {
        let plain = serde_json::to_string(self).unwrap_or_default();
        json::read(&plain).map(|json| json.canonical(unchanged)).unwrap_or_default()
    }
}

/// Dollars as millionths.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded before")]
pub fn micros(dollars: f64) -> u64 {
    (dollars.clamp(0.0, 1e9) * 1e6).round() as u64
}

#[expect(clippy::cast_precision_loss, reason = "no run costs a billion dollars")]
pub fn usd(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// Redacts a model's words at any depth.
fn redact_all(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(redact(text).into_owned()),
        Value::Array(items) => Value::Array(items.iter().map(redact_all).collect()),
        Value::Object(map) => {
            let pair = |(name, value): (&String, &Value)| (redact(name).into_owned(), redact_all(value));
            Value::Object(map.iter().map(pair).collect())
        }
        plain => plain.clone(),
    }
}

/// A field that an analysis fills, not the ledger.
struct Rich {
    name: &'static str,
    /// Its form, for messages.
    wants: &'static str,
    fits: fn(&Value) -> bool,
    of: fn(&mut Insights) -> &mut Value,
}

const REMARKS: &str = "a list of texts or objects";

static RICH: [Rich; 5] = [
    Rich {
        name: "learning_observations",
        wants: REMARKS,
        fits: are_remarks,
        of: |insights| &mut insights.learning_observations,
    },
    Rich {
        name: "skill_compliance",
        wants: "an object or null",
        fits: |value| value.is_object() || value.is_null(),
        of: |insights| &mut insights.skill_compliance,
    },
    Rich {
        name: "context_gaps",
        wants: REMARKS,
        fits: are_remarks,
        of: |insights| &mut insights.context_gaps,
    },
    Rich {
        name: "user_mood",
        wants: "a number from -1 to 1, a word, or null",
        fits: |value| {
            value.is_null() || value.is_string() || value.as_f64().is_some_and(|n| (-1.0..=1.0).contains(&n))
        },
        of: |insights| &mut insights.user_mood,
    },
    Rich {
        name: "conversation_flow",
        wants: REMARKS,
        fits: are_remarks,
        of: |insights| &mut insights.conversation_flow,
    },
];

/// Texts, or lists of texts, or objects with more details.
fn are_remarks(value: &Value) -> bool {
    let texts = |value: &Value| value.as_array().is_some_and(|items| items.iter().all(Value::is_string));
    let remark = |item: &Value| item.is_string() || item.is_object() || texts(item);
    value.as_array().is_some_and(|items| items.iter().all(remark))
}

/// Checks the fields of an analysis: all of them are there, each in its form, and none that only the ledger
/// may fill.
pub fn check_rich(value: &Value) -> Result<(), String> {
    let Some(found) = value.as_object() else { return Err("not a JSON object".to_owned()) };
    if let Some(name) = found.keys().find(|name| RICH.iter().all(|field| field.name != **name)) {
        return Err(format!("`{name}` is not one of the fields an analysis may fill"));
    }
    for field in &RICH {
        match found.get(field.name) {
            None => return Err(format!("`{}` is missing", field.name)),
            Some(value) if !(field.fits)(value) => {
                return Err(format!("`{}` must be {}", field.name, field.wants));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_stored_form_is_canonical_and_keeps_no_secret() {
        let mut insights =
            Insights { cost_usd: Some(0.000_001), session_id: "x".to_owned(), ..Insights::new() };
        let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        insights.keep_rich(&json!({"context_gaps": [{"why": secret}], "outcome": "success"}));
        let text = insights.text();
        assert!(
            text.contains("\"cost_usd\":0.000001,") && text.contains("redacted") && !text.contains(secret),
            "{text}"
        );
        let again: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json_canonicalizer::to_string(&again).unwrap(), text);
        assert_eq!(again["outcome"], "");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let all = json!({"learning_observations": ["x"], "skill_compliance": null, "context_gaps": [], "user_mood": 0.5, "conversation_flow": [["a", "b"]]});
        check_rich(&all).unwrap();
        let more = json!({"outcome": "success", "learning_observations": []});
        assert!(check_rich(&more).unwrap_err().contains("`outcome` is not one of"));
        let mut wrong = all.clone();
        wrong["user_mood"] = json!(2);
        assert_eq!(
            check_rich(&wrong).unwrap_err(),
            "`user_mood` must be a number from -1 to 1, a word, or null"
        );
        wrong.as_object_mut().unwrap().remove("user_mood");
        assert_eq!(check_rich(&wrong).unwrap_err(), "`user_mood` is missing");
        assert_eq!(check_rich(&json!([])).unwrap_err(), "not a JSON object");
    }
}
