//! The data passed between the engine, a machine and `aops-hook`.
//!
//! Plain data, stored in the engine's journal: nothing secret, and nothing large. The order itself belongs to
//! `aops-hook`, which checks it before it trusts it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// The version of the order format. A worker serves this one and the one before.
pub const PROTOCOL: u64 = 1;
/// The maximum length of a string in the journal, which people can read in the server's pages.
pub const LONGEST_WORDS: usize = 16 << 10;

/// The key of the object that knows all machines.
pub const ALL: &str = "all";

/// The service of a machine, which has its name.
pub fn name_of(machine: &str) -> String {
    format!("machine-{machine}")
}

/// The workflow with this id, and its first handler: a run, or the question of a session.
pub fn workflow_of(id: &str) -> (&'static str, &'static str) {
    if id.starts_with("session-") { ("Question", "ask") } else { ("Run", "run") }
}

/// The path of this handler of it.
pub fn path_of(id: &str, handler: &str) -> String {
    format!("/{}/{id}/{handler}", workflow_of(id).0)
}

/// A machine with a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    pub name: String,
    pub labels: Vec<String>,
    #[serde(default)]
    pub runs: u64,
    /// Its worker could not be reached for too long, and has not announced itself since.
    #[serde(default)]
    pub away: bool,
    /// Since when it is away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// The bundle that it runs, and its version; null if none is installed.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub bundle: Value,
    /// How many seconds a step has between SIGTERM and SIGKILL.
    #[serde(default)]
    pub grace_s: u64,
    /// How many seconds a step keeps running after its stream is lost.
    #[serde(default)]
    pub reattach_s: u64,
}

impl Machine {
    /// After this time nothing of a step is left on the machine, whatever happens to the network.
    pub fn lets_go_after(&self) -> Duration {
        Duration::from_secs(self.reattach_s + self.grace_s + 1)
    }
}

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
    /// Who vouches for that name.
    #[serde(default)]
    pub issuer: String,
    #[serde(default)]
    pub at: String,
    /// How and from which address it was given.
    #[serde(default)]
    pub from: String,
    #[serde(default)]
    pub note: Option<String>,
    /// The gateway's, over all of this and the run.
    #[serde(default)]
    pub signature: String,
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
        /// Its steps and its cost.
        #[serde(default)]
        account: Value,
    },
    Asks {
        question: String,
        about: String,
        /// The client's conversation exists only on this machine.
        #[serde(default)]
        pinned: bool,
        /// The whole call, and what asks.
        #[serde(default)]
        asked: Value,
        #[serde(default)]
        account: Value,
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
    pub commit: String,
    /// What its machine must have, which also decides who may do what with it.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Whoever asked for it does not answer its present question.
    #[serde(default)]
    pub four_eyes: bool,
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
            commit: text(&order.run["commit"]),
            labels: order.labels.clone(),
            task: text(&order.run["run"]["task"]).chars().take(LONGEST_TASK).collect(),
            ..Self::default()
        }
    }

    /// What its log says when it comes into this state.
    pub fn sentence(&self, state: &str) -> String {
        let machine = self.machine.as_deref().unwrap_or_default();
        let or = |text: &Option<String>| text.clone().unwrap_or_default();
        match state {
            "waits" => format!("waits for {}", or(&self.waits_for)),
            "runs" => format!("runs on {machine}"),
            "asks" => format!("asks: {}", or(&self.question)),
            _ => format!("ended as {}: {}", or(&self.outcome), or(&self.reason)),
        }
    }
}

/// What happened to a run, for its page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    pub at: String,
    pub what: String,
    /// Of an answer: who gave it, and from where.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub who: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub from: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl LogLine {
    /// That a person answered.
    pub fn of(said: &Decision) -> Self {
        let what = if said.approve { "approved" } else { "rejected" }.to_owned();
        let Decision { at, who, from, note, .. } = said.clone();
        Self { at, what, who, from, note }
    }
}

/// How many lines of the log are kept, the last ones.
const MOST_LINES: usize = 200;

/// What became of a run so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Told {
    #[serde(default)]
    pub account: Value,
    #[serde(default)]
    pub log: Vec<LogLine>,
}

impl Told {
    pub fn add(&mut self, line: LogLine) {
        let cut = |text: String| text.chars().take(LONGEST_TASK).collect();
        if self.log.len() >= MOST_LINES {
            self.log.remove(0);
        }
        self.log.push(LogLine { what: cut(line.what), ..line });
    }
}
