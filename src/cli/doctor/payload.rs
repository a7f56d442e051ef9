//! Makes up one harmless event of each kind, in the form the client sends; `payload.json` has them by name.
//!
//! Reads nothing, writes nothing. Invariant: every event of the table has a payload; one without fields of its own has
//! the common ones.

use serde_json::{Value, json};

/// The fields a kind has beside the common ones; `{project}` stands for the project's folder.
const PAYLOADS: &str = include_str!("payload.json");

/// The fields this event has beside the common ones.
pub(super) fn of(event: &str, project: &str) -> Value {
    let mut all: Value = serde_json::from_str(PAYLOADS).unwrap_or_default();
    let mut own = all.get_mut(event).map_or_else(|| json!({}), Value::take);
    name_project(&mut own, project);
    own
}

/// Puts the project's folder into every text.
fn name_project(value: &mut Value, project: &str) {
    match value {
        Value::String(text) => *text = text.replace("{project}", project),
        Value::Array(items) => items.iter_mut().for_each(|item| name_project(item, project)),
        Value::Object(fields) => fields.values_mut().for_each(|field| name_project(field, project)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::event::EventKind;
    use std::collections::BTreeMap;

    #[test]
    fn every_payload_is_of_an_event_and_names_the_project() {
        let all: BTreeMap<String, Value> = serde_json::from_str(PAYLOADS).unwrap();
        for name in all.keys() {
            assert_ne!(EventKind::of(name), EventKind::Other, "{name}");
            assert!(!of(name, "/p").to_string().contains("{project}"), "{name}");
        }
        assert_eq!(of("PostToolBatch", "/p")["tool_calls"][0]["tool_input"], json!({"file_path": "/p/README.md"}));
        assert_eq!(of("Unheard", "/p"), json!({}));
    }
}
