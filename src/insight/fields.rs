//! `FIELDS`: every field of the insights, with its form; the schema file and the check of a file both follow from it.
//!
//! Reads nothing, writes nothing. Invariant: a check is about forms, not about words: an unknown field is kept, and
//! `"followed": "Partial - the tests were late"` is as good as `"Partial"`.

use serde_json::{Map, Value, json};

pub struct Field {
    pub name: &'static str,
    pub form: Form,
    /// Filled by an analysis, not from the ledger.
    pub rich: bool,
    pub about: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
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

const fn field(name: &'static str, form: Form, about: &'static str) -> Field {
    Field { name, form, rich: false, about }
}

const fn rich(name: &'static str, form: Form, about: &'static str) -> Field {
    Field { name, form, rich: true, about }
}

/// In the order of the contract.
pub static FIELDS: &[Field] = &[
    field("session_id", Form::Text, "the session"),
    field("date", Form::Day, "its first day, UTC"),
    field("project", Form::Text, "the last part of the project's folder"),
    field("summary", Form::MaybeText, "what was accomplished, else what was wanted, in one line"),
    field("outcome", Form::Outcome, "success only when verified and closed; failure when halted; else partial"),
    field("accomplishments", Form::Texts, "as the reflections tell them"),
    field("friction_points", Form::Texts, "root causes, the verifier's issues, violations"),
    field("proposed_changes", Form::Texts, "as the reflections propose them"),
    field("workflows_used", Form::Texts, "in the order of their first use"),
    field("subagents_invoked", Form::Texts, "kinds of agents, in the order of their first start"),
    field("subagent_count", Form::Count, "how many agents were started"),
    field("custodiet_blocks", Form::Count, "how often custodiet said BLOCK"),
    field("stop_reason", Form::MaybeText, "why the last turn or the session ended"),
    field("critic_verdict", Form::Verdict(&["PROCEED", "REVISE", "HALT"]), "the critic's last"),
    field("acceptance_criteria_count", Form::Count, "of the last task"),
    rich("learning_observations", Form::Remarks, "what can be learnt, each with its evidence"),
    rich("skill_compliance", Form::Facts, "skills that were suggested and used"),
    rich("context_gaps", Form::Remarks, "what the agent would have needed to know"),
    rich("user_mood", Form::Mood, "-1 to 1, or a word"),
    rich("conversation_flow", Form::Remarks, "the turns that mattered"),
    field("user_prompts", Form::Texts, "a person's prompts, redacted"),
    field("schema", Form::Count, "version of this form"),
    field("qa_verdict", Form::Verdict(&["VERIFIED", "ISSUES"]), "the verifier's last"),
    field("reflection", Form::Reflection, "the framework agent's last"),
    field("gates", Form::Counts, "refusals by gate"),
    field("audits", Form::Named(&["drawn", "done"]), "random audits"),
    field("tool_calls", Form::Named(&["completed", "failed", "denied"]), "calls by outcome"),
    field("files_changed", Form::Texts, "by the edit tools"),
    field("tokens", Form::Tokens, "usage once per message, by model, agent and phase"),
    field("cost_usd", Form::Money, "of the models that have a price"),
    field("phase_ms", Form::Counts, "milliseconds in each phase"),
    field("started_at", Form::Time, "the first entry"),
    field("ended_at", Form::Time, "the session's end, once it has ended"),
    field("ledger_head", Form::MaybeText, "digest of the last entry this is made of"),
];

/// Whether this is what the schema wants; what is wrong if not.
pub fn check(value: &Value) -> Result<(), String> {
    let Value::Object(found) = value else { return Err("not a JSON object".to_owned()) };
    check_fields(found, |_| true)
}

/// The rich fields of an analysis: all of them, each in its form, and nothing that only the ledger may say.
pub fn check_rich(value: &Value) -> Result<(), String> {
    let Value::Object(found) = value else { return Err("not a JSON object".to_owned()) };
    let foreign = found.keys().find(|name| !FIELDS.iter().any(|field| field.rich && field.name == *name));
    if let Some(name) = foreign {
        return Err(format!("`{name}` is not one of the fields an analysis may fill"));
    }
    check_fields(found, |field| field.rich)
}

fn check_fields(found: &Map<String, Value>, wanted: impl Fn(&Field) -> bool) -> Result<(), String> {
    for field in FIELDS.iter().filter(|field| wanted(field)) {
        match found.get(field.name) {
            None => return Err(format!("`{}` is missing", field.name)),
            Some(value) if !field.form.accepts(value) => {
                return Err(format!("`{}` must be {}", field.name, field.form.wanted()));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

impl Form {
    pub fn accepts(self, value: &Value) -> bool {
        let texts = |value: &Value| value.as_array().is_some_and(|items| items.iter().all(Value::is_string));
        let counts = |value: &Value| value.as_object().is_some_and(|map| map.values().all(Value::is_u64));
        let word = |words: &[&str]| value.as_str().is_some_and(|text| words.contains(&text));
        match self {
            Form::Text => value.is_string(),
            Form::MaybeText => value.is_string() || value.is_null(),
            Form::Day => value.as_str().is_some_and(|day| day.len() == 10 && day.is_ascii()),
            Form::Time => value.is_null() || value.as_str().is_some_and(|at| crate::text::time::parse(at).is_some()),
            Form::Outcome => word(&["success", "partial", "failure"]),
            Form::Verdict(words) => value.is_null() || word(words),
            Form::Count => value.is_u64(),
            Form::Money => value.is_null() || value.as_f64().is_some_and(|n| n >= 0.0),
            Form::Texts => texts(value),
            Form::Remarks => value
                .as_array()
                .is_some_and(|items| items.iter().all(|item| item.is_string() || item.is_object() || texts(item))),
            Form::Facts => value.is_object() || value.is_null(),
            Form::Mood => {
                value.is_null() || value.is_string() || value.as_f64().is_some_and(|n| (-1.0..=1.0).contains(&n))
            }
            Form::Counts => counts(value),
            Form::Named(names) => counts(value) && names.iter().all(|name| value.get(name).is_some()),
            Form::Tokens => ["by_model", "by_agent", "by_phase"].iter().all(|name| {
                value.get(name).and_then(Value::as_object).is_some_and(|sums| sums.values().all(Value::is_object))
            }),
            Form::Reflection => {
                value.is_null() || value.as_object().is_some_and(|map| map.values().all(Value::is_string))
            }
        }
    }

    pub fn wanted(self) -> String {
        match self {
            Form::Text => "a text".to_owned(),
            Form::MaybeText => "a text or null".to_owned(),
            Form::Day => "a day such as 2026-01-13".to_owned(),
            Form::Time => "a time such as 2026-01-13T10:00:00Z, or null".to_owned(),
            Form::Outcome => "success, partial or failure".to_owned(),
            Form::Verdict(words) => format!("{} or null", words.join(", ")),
            Form::Count => "a whole number".to_owned(),
            Form::Money => "a number or null".to_owned(),
            Form::Texts => "a list of texts".to_owned(),
            Form::Remarks => "a list of texts or objects".to_owned(),
            Form::Facts => "an object or null".to_owned(),
            Form::Mood => "a number from -1 to 1, a word, or null".to_owned(),
            Form::Counts => "an object of whole numbers".to_owned(),
            Form::Named(names) => format!("an object with {}", names.join(", ")),
            Form::Tokens => "an object with by_model, by_agent, by_phase".to_owned(),
            Form::Reflection => "an object of texts, or null".to_owned(),
        }
    }

    /// The same for other programs.
    fn schema(self) -> Value {
        let text = json!({"type": "string"});
        let count = json!({"type": "integer", "minimum": 0});
        match self {
            Form::Text => text,
            Form::MaybeText => json!({"type": ["string", "null"]}),
            Form::Day => json!({"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}),
            Form::Time => {
                json!({"type": ["string", "null"], "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$"})
            }
            Form::Outcome => json!({"enum": ["success", "partial", "failure"]}),
            Form::Verdict(words) => {
                let words: Vec<Value> = words.iter().map(|word| json!(word)).chain([Value::Null]).collect();
                json!({"enum": words})
            }
            Form::Count => count,
            Form::Money => json!({"type": ["number", "null"], "minimum": 0}),
            Form::Texts => json!({"type": "array", "items": text}),
            Form::Remarks => json!({"type": "array", "items": {"type": ["string", "object", "array"]}}),
            Form::Facts => json!({"type": ["object", "null"]}),
            Form::Mood => json!({"type": ["number", "string", "null"], "minimum": -1, "maximum": 1}),
            Form::Counts => json!({"type": "object", "additionalProperties": count}),
            Form::Named(names) => json!({"type": "object", "required": names, "additionalProperties": count}),
            Form::Tokens => {
                let sums = json!({"type": "object", "additionalProperties": {"type": "object"}});
                json!({"type": "object", "required": ["by_model", "by_agent", "by_phase"],
                    "properties": {"by_model": sums, "by_agent": sums, "by_phase": sums}})
            }
            Form::Reflection => json!({"type": ["object", "null"], "additionalProperties": text}),
        }
    }
}

/// `schemas/insights.schema.json`.
pub fn schema() -> Value {
    let mut properties = Map::new();
    for field in FIELDS {
        let mut schema = field.form.schema();
        schema["description"] = json!(field.about);
        properties.insert(field.name.to_owned(), schema);
    }
    let names: Vec<&str> = FIELDS.iter().map(|field| field.name).collect();
    json!({"type": "object", "required": names, "properties": properties})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insight::document::Insights;

    #[test]
    fn the_table_is_the_type() {
        let value =
            serde_json::to_value(Insights { outcome: "partial".into(), date: "2026-01-13".into(), ..Insights::new() })
                .unwrap();
        check(&value).unwrap();
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
        check(&value).unwrap();
        value["outcome"] = json!("great");
        assert_eq!(check(&value).unwrap_err(), "`outcome` must be success, partial or failure");
        value.as_object_mut().unwrap().remove("outcome");
        assert_eq!(check(&value).unwrap_err(), "`outcome` is missing");
        let all = json!({"learning_observations": ["x"], "skill_compliance": null, "context_gaps": [], "user_mood": 0.5, "conversation_flow": [["a", "b"]]});
        check_rich(&all).unwrap();
        let more = json!({"outcome": "success", "learning_observations": []});
        assert!(check_rich(&more).unwrap_err().contains("`outcome` is not one of"));
    }
}
