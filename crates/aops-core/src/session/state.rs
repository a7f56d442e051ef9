//! `session-state.json`: the public state of a session, with exactly the contract's keys.
//!
//! Reads nothing, writes nothing. Stored type, version `schema`. Invariant: fields are declared in sorted
//! order, so the plain serialisation *is* the RFC 8785 form; a test checks that for every stored type.

pub use crate::session::hydration::Hydration;

use crate::model::debt::DebtId;
use crate::model::named::{Stored, named};
use crate::model::phase::{Phase, Sandbox};
use crate::session::memory::Witness;
use crate::text::sha256::sha256;
use crate::text::stored::canonical;
use memchr::memmem;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::mem;
use std::ops::{Deref, DerefMut};

pub const SCHEMA: u32 = 1;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct State {
    pub audit: Audit,
    pub date: String,
    /// Digest of everything else in the file; left out while it is computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    pub ended_at: Option<String>,
    pub hydration: Hydration,
    pub insights: Option<Box<RawValue>>,
    /// The ledger that this state belongs to; not part of what the ledger commits to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<Witness>,
    pub main_agent: MainAgent,
    pub phase: Phase,
    pub policy_hash: String,
    pub sandbox: Sandbox,
    pub schema: u32,
    pub session_id: String,
    pub started_at: String,
    pub state: Flags,
    pub stop: Stopping,
    pub subagents: BTreeMap<String, Subagent>,
    pub task: Option<Task>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    pub done: u64,
    pub drawn: u64,
    pub due: bool,
    pub writes_since: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MainAgent {
    pub current_task: Option<String>,
    pub todos_completed: u64,
    pub todos_total: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flags {
    pub current_workflow: Option<String>,
    pub custodiet_block_reason: Option<String>,
    pub custodiet_blocked: bool,
    pub hydration_pending: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopping {
    pub owed: Vec<Stored<DebtId>>,
    pub refusals: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subagent {
    /// The critic's list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptance_criteria: Vec<String>,
    pub last_invoked: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
}

impl Subagent {
    /// Its verdict or result.
    pub fn said(&self) -> Option<&String> {
        self.verdict.as_ref().or(self.result.as_ref())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub intent: Option<String>,
    pub n: u64,
    pub waiver: Option<Stored<TaskWaiver>>,
    pub writes: u64,
}

named! {
    /// What exempts a whole task from the loop.
    pub enum TaskWaiver {
        /// The prompt begins with a dot.
        Prompt = "prompt",
        /// A slash command.
        Command = "command",
    }
}

/// The state inside a fold. It notices when it is touched: every change goes through `deref_mut`.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Boxed because it is large: on the stack, each move of a session would touch several more pages at
    /// every event.
    state: Box<State>,
    touched: bool,
}

impl Shown {
    pub fn into_inner(self) -> Box<State> {
        self.state
    }

    /// Whether it may have changed since this was last asked.
    pub fn take_touched(&mut self) -> bool {
        mem::take(&mut self.touched)
    }
}

impl From<Box<State>> for Shown {
    fn from(state: Box<State>) -> Self {
        Self { state, touched: false }
    }
}

impl Deref for Shown {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Shown {
    fn deref_mut(&mut self) -> &mut State {
        self.touched = true;
        &mut self.state
    }
}

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.state.serialize(to)
    }
}

impl State {
    pub fn empty() -> Self {
        Self { schema: SCHEMA, ..Self::default() }
    }
}

/// The canonical form of a state without `ledger` and `digest`. An event needs two digests of it; writing it
/// out is dearer than hashing it.
#[derive(Debug, Default)]
pub struct StateText(String);

impl StateText {
    /// The name that follows `ledger`, and how its value begins. Only there: what a text contains is escaped,
    /// and no later part has a `main_agent`.
    const AFTER_LEDGER: &[u8] = br#""main_agent":{"current_task":"#;

    pub fn of(state: &State) -> Self {
        Self(canonical(state))
    }

    /// To this the ledger commits.
    pub fn digest(&self) -> String {
        sha256(&[self.0.as_bytes()])
    }

    /// To this the file commits, which also names its ledger.
    pub fn digest_with(&self, ledger: &Witness) -> String {
        let at = memmem::rfind(self.0.as_bytes(), Self::AFTER_LEDGER).unwrap_or_default();
        let (before, after) = self.0.as_bytes().split_at(at);
        sha256(&[before, br#""ledger":"#, canonical(ledger).as_bytes(), b",", after])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::stored::digest_of;

    /// Both digests are those of the whole form, whatever a session contains.
    #[test]
    fn a_text_has_the_digests_of_its_state() {
        let plain = State::empty();
        let words = r#"","main_agent":{"current_task":"x"},"ledger":{}"#.to_owned();
        let inner = RawValue::from_string(r#"{"main_agent":{"current_task":null}}"#.to_owned()).unwrap();
        let named =
            ["main_agent", "\u{e000}", "\u{1f602}"].map(|name| (name.to_owned(), Subagent::default()));
        let odd = State {
            insights: Some(inner),
            main_agent: MainAgent { current_task: Some(words.clone()), ..MainAgent::default() },
            state: Flags { current_workflow: Some(words.clone()), ..Flags::default() },
            subagents: named.into(),
            task: Some(Task { intent: Some(words), ..Task::default() }),
            ..State::empty()
        };
        let memory = RawValue::from_string(r#"{"main_agent":{"current_task":1}}"#.to_owned()).unwrap();
        let ledger = Witness { memory, binary: "\u{1f602}".to_owned(), ..Witness::default() };
        for state in [plain, odd] {
            let text = StateText::of(&state);
            assert_eq!(text.digest(), digest_of(&state));
            let whole = State { ledger: Some(ledger.clone()), ..state };
            assert_eq!(text.digest_with(&ledger), digest_of(&whole));
        }
    }
}
