//! The packets of a run: one at each pause, for a person to decide on, and one at its end.
//!
//! Reads nothing, writes nothing. Stored types: fields in sorted order. Invariants: a pause's digest covers everything but
//! the two fields a person may edit, and the working tree; the same packet has the same bytes.

use super::status::{Decision, Outcome, Trigger};
use super::yaml_text;
use crate::text::sha256::sha256;
use crate::text::stored::canonical;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// `CP_<run_id>_<step>.yaml`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    pub checkpoint_id: String,
    pub digest: String,
    pub policy_hash: String,
    /// What a person decides.
    pub question: String,
    pub resolution_decision: Option<Decision>,
    pub resolved: bool,
    pub run_id: String,
    pub session_id: String,
    pub step_index: u64,
    pub task_spec: String,
    pub timestamp: String,
    /// The deferred call.
    pub tool_use_id: Option<String>,
    pub trigger: Trigger,
}

/// `TP_<run_id>.yaml`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    pub commit_hash: String,
    pub ledger_head: String,
    pub outcome: Outcome,
    pub policy_hash: String,
    pub reason: String,
    pub run_id: String,
    pub steps_executed: Vec<String>,
    pub timestamp: String,
    pub workflow: String,
}

/// `<run_id>_<step>.json`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Files that the step changed.
    pub artifacts: Vec<String>,
    pub duration_ms: u64,
    pub outcome: Outcome,
    pub step_name: String,
}

impl Pause {
    /// The packet with its digest over this working tree.
    #[must_use]
    pub fn sealed(mut self, tree: &str) -> Self {
        self.digest = self.digest_with(tree);
        self
    }

    pub fn digest_with(&self, tree: &str) -> String {
        let bare = Self { digest: String::new(), resolution_decision: None, resolved: false, ..self.clone() };
        sha256(&[canonical(&bare).as_bytes(), b"\0", tree.as_bytes()])
    }

    /// The decision; `None` unless both fields hold it.
    pub fn decision(&self) -> Option<Decision> {
        self.resolution_decision.filter(|_| self.resolved)
    }

    pub fn text(&self) -> String {
        yaml_text::write(&to_map(self))
    }

    /// The packet in a file, or what is wrong with it. The caller checks its digest.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut found = yaml_text::read(text, &to_map(&Self::default()))?;
        // A person may write `approved`.
        if let Some(Value::String(word)) = found.get_mut("resolution_decision") {
            word.make_ascii_uppercase();
        }
        serde_json::from_value(Value::Object(found)).map_err(|error| error.to_string())
    }
}

impl End {
    pub fn text(&self) -> String {
        yaml_text::write(&to_map(self))
    }
}

impl Summary {
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

fn to_map<T: Serialize>(packet: &T) -> Map<String, Value> {
    match serde_json::to_value(packet) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause() -> Pause {
        Pause {
            checkpoint_id: "CP_r_build".to_owned(),
            policy_hash: "p".to_owned(),
            question: "may it: run `x`?\nhint: y".to_owned(),
            run_id: "r".to_owned(),
            session_id: "s".to_owned(),
            step_index: 3,
            task_spec: "do: it # now".to_owned(),
            timestamp: "2026-01-13T10:00:00.123Z".to_owned(),
            tool_use_id: Some("toolu_1".to_owned()),
            ..Pause::default()
        }
        .sealed("tree")
    }

    #[test]
    fn a_person_may_edit_two_fields_and_no_other() {
        let packet = pause();
        let text = packet.text();
        assert_eq!(Pause::read(&text).unwrap(), packet);
        let decided = text
            .replace("resolved: false", "resolved: true")
            .replace("resolution_decision: null", "resolution_decision: approved");
        let read = Pause::read(&decided).unwrap();
        assert_eq!((read.decision(), read.digest_with("tree")), (Some(Decision::Approved), packet.digest.clone()));
        for line in text.lines().filter(|line| !line.starts_with("resol")) {
            let edited = text.replace(line, &line.replace(": ", ": 1"));
            let same = Pause::read(&edited).is_ok_and(|read| read.digest_with("tree") == read.digest);
            assert!(!same, "{line}");
        }
        assert_ne!(packet.digest_with("another"), packet.digest);
    }

    #[test]
    fn half_a_decision_is_none() {
        let half = Pause { resolved: true, ..pause() };
        assert_eq!(half.decision(), None);
        let half = Pause { resolution_decision: Some(Decision::Rejected), ..pause() };
        assert_eq!(half.decision(), None);
    }

    #[test]
    fn keys_are_sorted() {
        let end = End {
            commit_hash: "c".to_owned(),
            ledger_head: "l".to_owned(),
            outcome: Outcome::Pass,
            policy_hash: "p".to_owned(),
            reason: "all steps passed".to_owned(),
            run_id: "r".to_owned(),
            steps_executed: vec!["a".to_owned()],
            timestamp: "t".to_owned(),
            workflow: "w".to_owned(),
        };
        for text in [end.text(), pause().text()] {
            let keys: Vec<_> = text.lines().filter(|line| !line.starts_with(' ')).collect();
            assert!(keys.is_sorted(), "{text}");
        }
    }
}
