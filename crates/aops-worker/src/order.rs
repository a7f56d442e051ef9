//! What is passed between the engine, a machine and `aops-hook`.
//!
//! Plain data, stored in the engine's journal: nothing secret, and nothing large. The order itself is
//! `aops-hook`'s own, and is believed only after its checks.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The form of orders. A worker serves this one and the one before.
pub const PROTOCOL: u64 = 1;
/// Of a text in the journal, which people can read in the server's pages.
pub const LONGEST_WORDS: usize = 16 << 10;

/// A run that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    pub protocol: u64,
    /// Only machines with all of these.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Who asked for it.
    pub who: String,
    /// Repository, commit, folder and request, in the form of `aops-hook`.
    pub run: Value,
}

/// A part of a run, from where it stands to its end or its next question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    pub run: String,
    pub order: Value,
    #[serde(default)]
    pub answer: Option<Decision>,
    /// Another machine may have worked on it since this one did: what is here counts only if the remote has
    /// nothing newer.
    #[serde(default)]
    pub restore: bool,
}

/// A person's answer. It counts for the question with this digest alone.
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
        /// The client's conversation is on this machine alone.
        #[serde(default)]
        pinned: bool,
    },
    /// Interrupted; it goes on where it stands.
    GivenBack,
    /// `aops-hook` itself failed.
    Failed { words: String },
}

/// How a run stands, for people and programs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// `waits`, `runs`, `asks`, `over`.
    pub state: String,
    /// What it waits for.
    #[serde(default)]
    pub waits_for: Option<String>,
    pub machine: Option<String>,
    /// It goes on only there, unless a person releases it.
    #[serde(default)]
    pub pinned: bool,
    pub leg: u64,
    pub question: Option<String>,
    /// The digest that an answer must name.
    pub about: Option<String>,
    /// RFC 3339, when this began.
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

/// Of a task, where runs are listed.
const LONGEST_TASK: usize = 300;

impl Standing {
    /// What stays the same as long as the run lasts.
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
