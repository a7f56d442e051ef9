//! The data passed between the engine, a machine and `aops-hook`.
//!
//! Plain data, stored in the engine's journal: nothing secret, and nothing large. The order itself belongs to
//! `aops-hook`, which checks it before it trusts it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the order format. A worker serves this one and the one before.
pub const PROTOCOL: u64 = 1;
/// The maximum length of a text in the journal, which people can read in the server's pages.
pub const LONGEST_WORDS: usize = 16 << 10;

/// A requested run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    pub protocol: u64,
    /// Only machines with all of these labels.
    #[serde(default)]
    pub labels: Vec<String>,
    pub who: String,
    /// Repository, commit, folder and request, in the form of `aops-hook`.
    pub run: Value,
}

/// A part of a run, from its present state to its end or its next question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    pub run: String,
    pub order: Value,
    #[serde(default)]
    pub answer: Option<Decision>,
    /// Another machine may have worked on it in the meantime: what is on this one counts only if the remote
    /// has nothing newer.
    #[serde(default)]
    pub restore: bool,
}

/// A person's answer. It is valid only for the question with this digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub about: String,
    pub approve: bool,
    pub who: String,
    #[serde(default)]
    pub at: String,
    #[serde(default)]
    pub note: Option<String>,
}

/// How a leg ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LegEnd {
    Finished {
        outcome: String,
        reason: String,
        #[serde(default)]
        delivered: Option<Value>,
    },
    Asks {
        question: String,
        about: String,
        /// The client's conversation exists only on this machine.
        #[serde(default)]
        pinned: bool,
    },
    /// Interrupted; it can continue from its present state.
    GivenBack,
    /// `aops-hook` itself failed.
    Failed { words: String },
}

/// The status of a run, for people and programs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// `waits`, `runs`, `asks`, `over`.
    pub state: String,
    /// What it waits for.
    #[serde(default)]
    pub waits_for: Option<String>,
    pub machine: Option<String>,
    /// It can continue only there, unless a person releases it.
    #[serde(default)]
    pub pinned: bool,
    pub leg: u64,
    pub question: Option<String>,
    /// The digest that an answer must name.
    pub about: Option<String>,
    /// RFC 3339, the time when this state began.
    pub since: String,
    pub who: String,
    #[serde(default)]
    pub repository: String,
    #[serde(default)]
    pub task: String,
    #[serde(default)]
    pub outcome: Option<String>,
    #[serde(default)]
    pub reason: Option<String>,
}

/// The maximum length of a task in a list of runs.
const LONGEST_TASK: usize = 300;

impl Standing {
    /// The part of the status that never changes during a run.
    pub fn of(order: &Order) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            who: order.who.clone(),
            repository: text(&order.run["repository"]),
            task: text(&order.run["run"]["task"]).chars().take(LONGEST_TASK).collect(),
            ..Self::default()
        }
    }
}
