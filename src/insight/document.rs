//! The insights document of a session: one schema, filled from ledger and transcript.
//!
//! Reads nothing, writes nothing. Stored type, version `schema`: fields in sorted order. Invariants: no value is
//! invented, so an unknown field is empty or null; `outcome` is success only where the last task was verified and closed, failure
//! where the session is halted, and partial otherwise.

use crate::claude::usage::Tokens;
use crate::text::json::{self, cut};
use crate::text::redact::redact;
use aops_ledger::json::Unchanged;
use serde::{Deserialize, Serialize};
use serde_json::Value;
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

/// Entries of a list and characters of a text that the copy in the state keeps: it is written at every event.
const FEW: usize = 20;
const SHORT: usize = 200;

impl Insights {
    /// With the fields of an analysis empty.
    pub fn new() -> Self {
        Self {
            context_gaps: Value::Array(Vec::new()),
            conversation_flow: Value::Array(Vec::new()),
            learning_observations: Value::Array(Vec::new()),
            schema: SCHEMA,
            ..Self::default()
        }
    }

    /// Keeps the fields of an earlier analysis.
    pub fn keep_rich(&mut self, old: &Value) {
        for field in super::fields::FIELDS.iter().filter(|field| field.rich) {
            if let Some(value) = old.get(field.name).filter(|value| field.form.accepts(value)) {
                *self.rich(field.name) = redacted(value);
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
        json::read(&plain).map(|json| json.canonical(&Unchanged)).unwrap_or_default()
    }
}

/// A model's words, as deep as they go.
fn redacted(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(redact(text).into_owned()),
        Value::Array(items) => Value::Array(items.iter().map(redacted).collect()),
        Value::Object(map) => {
            let pair = |(name, value): (&String, &Value)| (redact(name).into_owned(), redacted(value));
            Value::Object(map.iter().map(pair).collect())
        }
        plain => plain.clone(),
    }
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
}
