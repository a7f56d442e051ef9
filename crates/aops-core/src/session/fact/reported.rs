//! The report of one of our agents. Stored type: fields in sorted order.

use crate::model::agent::AgentId;
use crate::model::named::Stored;
use crate::session::agent_report::AgentReport;
use serde::{Deserialize, Serialize};

/// The verdict of one of our agents, or that it ended without one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Reported {
    pub agent: Stored<AgentId>,
    pub agent_id: String,
    /// `None` if the agent was sent back or given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<AgentReport>,
    /// A question replaces an unfinished task, which is parked with these files (a limited list).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parked_paths: Vec<String>,
    /// In that case: how many uncommitted files the parked task changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parks: Option<u64>,
    /// What was wrong with its report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// A new plan for the same task, after the critic rejected the first one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replans: bool,
    /// The agent was sent back, and will report again.
    pub sent_on: bool,
    /// The position of the parked task that the plan continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes_up: Option<u64>,
    /// The steps of the plan as todos: how many are done, and how many there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todos: Option<(u64, u64)>,
    /// With VERIFIED: the digest of the verified tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
}
