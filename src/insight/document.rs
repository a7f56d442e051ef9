//! The insights document of a session, filled from ledger and transcript; and `FIELDS`, from which its schema follows.
//!
//! Pure. Stored type, version `schema`: fields in sorted order. Invariants: no value is invented, so an unknown field is
//! empty or null; a check is about forms, not about words, and an unknown field is kept.

use crate::host::claude::usage::Tokens;
use crate::text::json::{self, cut};
use crate::text::redact::redact;
use aops_ledger::json::unchanged;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Version of this form.
pub const SCHEMA: u32 = 1;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Insights {
    pub acceptance_criteria_count: u64,
    pub accomplishments: Vec<String>,
    pub audits: Audits,
    pub context_gaps: Value,
    pub conversation_flow: Value,
    pub cost_usd: Option<f64>,
    pub critic_verdict: Option<String>,
    pub custodiet_blocks: u64,
    pub date: String,
    /// Why the session ended, as its client said it.
    pub end_reason: Option<String>,
    pub ended_at: Option<String>,
    pub files_changed: Vec<String>,
    pub friction_points: Vec<String>,
    pub gates: BTreeMap<String, u64>,
    pub learning_observations: Value,
    /// The last entry this is made of; nothing for a session without a ledger.
    pub ledger_head: Option<String>,
    pub outcome: String,
    pub phase_ms: BTreeMap<String, u64>,
    pub project: String,
    pub proposed_changes: Vec<String>,
    pub qa_verdict: Option<String>,
    /// The framework agent's seven fields, as it gave them last.
    pub reflection: Option<BTreeMap<String, String>>,
    pub rehearsed: BTreeMap<String, u64>,
    pub schema: u32,
    pub session_id: String,
    pub skill_compliance: Value,
    pub started_at: Option<String>,
    pub stop_reason: Option<String>,
    pub subagent_count: u64,
    pub subagents_invoked: Vec<String>,
    pub summary: Option<String>,
    pub tokens: Tokens,
    pub tool_calls: Calls,
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
}

impl Calls {
    pub fn describe(&self) -> String {
        format!("{} completed, {} failed, {} denied", self.completed, self.failed, self.denied)
    }
}

/// `qa 1, sandbox 2`
pub fn describe_counts(counts: &BTreeMap<String, u64>) -> String {
    counts.iter().map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>().join(", ")
}

/// Entries of a list and characters of a text that the copy in the state keeps: it is written at every event.
const FEW: usize = 20;
const SHORT: usize = 200;

impl Insights {
    /// With the fields of an analysis empty.
    pub fn new() -> Self {
        let [context_gaps, conversation_flow, learning_observations] = [const { Value::Array(Vec::new()) }; 3];
        Self { context_gaps, conversation_flow, learning_observations, schema: SCHEMA, ..Self::default() }
    }

    /// Keeps the fields of an earlier analysis.
    pub fn keep_rich(&mut self, old: &Value) {
        for field in FIELDS.iter().filter(|field| field.rich) {
            if let Some(value) = old.get(field.name).filter(|value| field.form.accepts(value)) {
                *self.rich(field.name) = redact_all(value);
            }
        }
    }

    fn rich(&mut self, name: &str) -> &mut Value {
        match name {
            "learning_observations" => &mut self.learning_observations,
            "skill_compliance" => &mut self.skill_compliance,
            "context_gaps" => &mut self.context_gaps,
            "user_mood" => &mut self.user_mood,
            _ => &mut self.conversation_flow,
        }
    }

    /// The same, small enough to be carried in the state.
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
        for value in [&mut short.context_gaps, &mut short.conversation_flow, &mut short.learning_observations] {
            if let Value::Array(items) = value {
                items.truncate(FEW / 4);
            }
        }
        short
    }

    /// In canonical form. What it holds was redacted where it came from; redacting by name would take the session's id.
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

/// A model's words, as deep as they go.
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

pub struct InsightField {
    pub name: &'static str,
    pub form: FieldForm,
    /// Filled by an analysis, not from the ledger.
    pub rich: bool,
    pub about: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldForm {
    Text,
    MaybeText,
    Day,
    Time,
    Outcome,
    Verdict(&'static [&'static str]),
    Count,
    Money,
    Texts,
    /// Texts, or objects that say more.
    Remarks,
    /// An object, or nothing.
    Facts,
    /// -1 to 1, a word, or nothing.
    Mood,
    /// Names with counts.
    Counts,
    Named(&'static [&'static str]),
    Tokens,
    /// Seven texts, or nothing.
    Reflection,
}

pub const OUTCOMES: [&str; 3] = ["success", "partial", "failure"];
const TOKENS: [&str; 3] = ["by_model", "by_agent", "by_phase"];

const fn field(name: &'static str, form: FieldForm, about: &'static str) -> InsightField {
    InsightField { name, form, rich: false, about }
}

const fn rich(name: &'static str, form: FieldForm, about: &'static str) -> InsightField {
    InsightField { name, form, rich: true, about }
}

/// In the order of the contract.
pub static FIELDS: &[InsightField] = &[
    field("session_id", FieldForm::Text, "the session"),
    field("date", FieldForm::Day, "its first day, UTC"),
    field("project", FieldForm::Text, "the last part of the project's folder"),
    field("summary", FieldForm::MaybeText, "what was accomplished, else what was wanted, in one line"),
    field("outcome", FieldForm::Outcome, "success only when verified and closed; failure when halted; else partial"),
    field("accomplishments", FieldForm::Texts, "as the reflections tell them"),
    field("friction_points", FieldForm::Texts, "root causes, the verifier's issues, violations"),
    field("proposed_changes", FieldForm::Texts, "as the reflections propose them"),
    field("workflows_used", FieldForm::Texts, "in the order of their first use"),
    field("subagents_invoked", FieldForm::Texts, "kinds of agents, in the order of their first start"),
    field("subagent_count", FieldForm::Count, "how many agents were started"),
    field("custodiet_blocks", FieldForm::Count, "how often custodiet said BLOCK"),
    field("stop_reason", FieldForm::MaybeText, "why the last turn ended"),
    field("end_reason", FieldForm::MaybeText, "why the session ended, as the client said it"),
    field("critic_verdict", FieldForm::Verdict(&["PROCEED", "REVISE", "HALT"]), "the critic's last"),
    field("acceptance_criteria_count", FieldForm::Count, "of the last task"),
    rich("learning_observations", FieldForm::Remarks, "what can be learnt, each with its evidence"),
    rich("skill_compliance", FieldForm::Facts, "skills that were suggested and used"),
    rich("context_gaps", FieldForm::Remarks, "what the agent would have needed to know"),
    rich("user_mood", FieldForm::Mood, "-1 to 1, or a word"),
    rich("conversation_flow", FieldForm::Remarks, "the turns that mattered"),
    field("user_prompts", FieldForm::Texts, "a person's prompts, redacted"),
    field("schema", FieldForm::Count, "version of this form"),
    field("qa_verdict", FieldForm::Verdict(&["VERIFIED", "ISSUES"]), "the verifier's last"),
    field("reflection", FieldForm::Reflection, "the framework agent's last"),
    field("gates", FieldForm::Counts, "refusals by gate"),
    field("rehearsed", FieldForm::Counts, "in mode `observe`: what the rehearsed mode would have refused, by gate"),
    field("waivers", FieldForm::Texts, "what a person waived: a gate, or the whole loop for a task, and why"),
    field("audits", FieldForm::Named(&["drawn", "done"]), "random audits"),
    field("tool_calls", FieldForm::Named(&["completed", "failed", "denied"]), "calls by outcome"),
    field("files_changed", FieldForm::Texts, "by the edit tools"),
    field("tokens", FieldForm::Tokens, "usage once per message, by model, agent and phase"),
    field("cost_usd", FieldForm::Money, "of the models that have a price"),
    field("phase_ms", FieldForm::Counts, "milliseconds in each phase"),
    field("started_at", FieldForm::Time, "the first entry"),
    field("ended_at", FieldForm::Time, "the session's end, once it has ended"),
    field("ledger_head", FieldForm::MaybeText, "digest of the last entry this is made of"),
];

/// The rich fields of an analysis: all of them, each in its form, and nothing that only the ledger may say.
pub fn check_rich(value: &Value) -> Result<(), String> {
    let rich = |name: &&String| FIELDS.iter().any(|field| field.rich && field.name == *name);
    if let Some(name) = value.as_object().and_then(|found| found.keys().find(|name| !rich(name))) {
        return Err(format!("`{name}` is not one of the fields an analysis may fill"));
    }
    check_fields(value, |field| field.rich)
}

fn check_fields(value: &Value, wanted: impl Fn(&InsightField) -> bool) -> Result<(), String> {
    if !value.is_object() {
        return Err("not a JSON object".to_owned());
    }
    for field in FIELDS.iter().filter(|field| wanted(field)) {
        match value.get(field.name) {
            None => return Err(format!("`{}` is missing", field.name)),
            Some(value) if !field.form.accepts(value) => {
                return Err(format!("`{}` must be {}", field.name, field.form.describe()));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

impl FieldForm {
    pub fn accepts(self, value: &Value) -> bool {
        let texts = |value: &Value| value.as_array().is_some_and(|items| items.iter().all(Value::is_string));
        let counts = |value: &Value| value.as_object().is_some_and(|map| map.values().all(Value::is_u64));
        let word = |words: &[&str]| value.as_str().is_some_and(|text| words.contains(&text));
        match self {
            FieldForm::Text => value.is_string(),
            FieldForm::MaybeText => value.is_string() || value.is_null(),
            FieldForm::Day => value.as_str().is_some_and(|day| day.len() == 10 && day.is_ascii()),
            FieldForm::Time => {
                value.is_null() || value.as_str().is_some_and(|at| crate::text::time::parse(at).is_some())
            }
            FieldForm::Outcome => word(&OUTCOMES),
            FieldForm::Verdict(words) => value.is_null() || word(words),
            FieldForm::Count => value.is_u64(),
            FieldForm::Money => value.is_null() || value.as_f64().is_some_and(|n| n >= 0.0),
            FieldForm::Texts => texts(value),
            FieldForm::Remarks => value
                .as_array()
                .is_some_and(|items| items.iter().all(|item| item.is_string() || item.is_object() || texts(item))),
            FieldForm::Facts => value.is_object() || value.is_null(),
            FieldForm::Mood => {
                value.is_null() || value.is_string() || value.as_f64().is_some_and(|n| (-1.0..=1.0).contains(&n))
            }
            FieldForm::Counts => counts(value),
            FieldForm::Named(names) => counts(value) && names.iter().all(|name| value.get(name).is_some()),
            FieldForm::Tokens => TOKENS.iter().all(|name| {
                value.get(name).and_then(Value::as_object).is_some_and(|sums| sums.values().all(Value::is_object))
            }),
            FieldForm::Reflection => {
                value.is_null() || value.as_object().is_some_and(|map| map.values().all(Value::is_string))
            }
        }
    }

    /// In a message.
    fn describe(self) -> String {
        let words = match self {
            FieldForm::Text => "a text",
            FieldForm::MaybeText => "a text or null",
            FieldForm::Day => "a day such as 2026-01-13",
            FieldForm::Time => "a time such as 2026-01-13T10:00:00Z, or null",
            FieldForm::Outcome => "success, partial or failure",
            FieldForm::Verdict(words) => return format!("{} or null", words.join(", ")),
            FieldForm::Count => "a whole number",
            FieldForm::Money => "a number or null",
            FieldForm::Texts => "a list of texts",
            FieldForm::Remarks => "a list of texts or objects",
            FieldForm::Facts => "an object or null",
            FieldForm::Mood => "a number from -1 to 1, a word, or null",
            FieldForm::Counts => "an object of whole numbers",
            FieldForm::Named(names) => return format!("an object with {}", names.join(", ")),
            FieldForm::Tokens => return format!("an object with {}", TOKENS.join(", ")),
            FieldForm::Reflection => "an object of texts, or null",
        };
        words.to_owned()
    }

    /// For other programs.
    fn schema(self) -> Value {
        let (text, count) = (json!({"type": "string"}), json!({"type": "integer", "minimum": 0}));
        match self {
            FieldForm::Text => text,
            FieldForm::MaybeText => json!({"type": ["string", "null"]}),
            FieldForm::Day => json!({"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}),
            FieldForm::Time => {
                let pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$";
                json!({"type": ["string", "null"], "pattern": pattern})
            }
            FieldForm::Outcome => json!({"enum": OUTCOMES}),
            FieldForm::Verdict(words) => {
                let all: Vec<Value> = words.iter().map(|word| json!(word)).chain([Value::Null]).collect();
                json!({"enum": all})
            }
            FieldForm::Count => count,
            FieldForm::Money => json!({"type": ["number", "null"], "minimum": 0}),
            FieldForm::Texts => json!({"type": "array", "items": text}),
            FieldForm::Remarks => json!({"type": "array", "items": {"type": ["string", "object", "array"]}}),
            FieldForm::Facts => json!({"type": ["object", "null"]}),
            FieldForm::Mood => json!({"type": ["number", "string", "null"], "minimum": -1, "maximum": 1}),
            FieldForm::Counts => json!({"type": "object", "additionalProperties": count}),
            FieldForm::Named(names) => json!({"type": "object", "required": names, "additionalProperties": count}),
            FieldForm::Tokens => {
                let sums = json!({"type": "object", "additionalProperties": {"type": "object"}});
                let sums: Map<_, _> = TOKENS.iter().map(|name| ((*name).to_owned(), sums.clone())).collect();
                json!({"type": "object", "required": TOKENS, "properties": sums})
            }
            FieldForm::Reflection => json!({"type": ["object", "null"], "additionalProperties": text}),
        }
    }
}

/// `schemas/insights.schema.json`.
pub fn schema() -> Value {
    let property = |field: &InsightField| {
        let mut schema = field.form.schema();
        schema["description"] = json!(field.about);
        (field.name.to_owned(), schema)
    };
    let properties: Map<_, _> = FIELDS.iter().map(property).collect();
    let names: Vec<&str> = FIELDS.iter().map(|field| field.name).collect();
    json!({"type": "object", "required": names, "properties": properties})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_form_is_canonical_and_keeps_no_secret() {
        let mut insights = Insights { cost_usd: Some(0.000_001), session_id: "x".to_owned(), ..Insights::new() };
        let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        insights.keep_rich(&serde_json::json!({"context_gaps": [{"why": secret}], "outcome": "success"}));
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
    fn the_table_is_the_type() {
        let value =
            serde_json::to_value(Insights { outcome: "partial".into(), date: "2026-01-13".into(), ..Insights::new() })
                .unwrap();
        check_fields(&value, |_| true).unwrap();
        let mut names: Vec<&str> = FIELDS.iter().map(|field| field.name).collect();
        names.sort_unstable();
        assert_eq!(value.as_object().unwrap().keys().collect::<Vec<_>>(), names);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let mut value =
            serde_json::to_value(Insights { outcome: "partial".into(), date: "2026-01-13".into(), ..Insights::new() })
                .unwrap();
        value["reflection"] = json!({"Followed": "Partial - the tests came late", "extra": "kept"});
        check_fields(&value, |_| true).unwrap();
        value["outcome"] = json!("great");
        assert_eq!(check_fields(&value, |_| true).unwrap_err(), "`outcome` must be success, partial or failure");
        value.as_object_mut().unwrap().remove("outcome");
        assert_eq!(check_fields(&value, |_| true).unwrap_err(), "`outcome` is missing");
        let all = json!({"learning_observations": ["x"], "skill_compliance": null, "context_gaps": [], "user_mood": 0.5, "conversation_flow": [["a", "b"]]});
        check_rich(&all).unwrap();
        let more = json!({"outcome": "success", "learning_observations": []});
        assert!(check_rich(&more).unwrap_err().contains("`outcome` is not one of"));
    }
}
