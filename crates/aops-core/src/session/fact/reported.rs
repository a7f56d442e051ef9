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
    /// Left out where the agent was sent on or given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<AgentReport>,
    /// A question takes the place of an unfinished task, which is parked: with these files, as far as they
    /// are listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parked_paths: Vec<String>,
    /// The same: how many files it changed that are not committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parks: Option<u64>,
    /// What was wrong with its report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// A plan that the critic had sent back is made again for the same task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replans: bool,
    /// It goes on and will report again.
    pub sent_on: bool,
    /// The place of the parked task that the plan goes on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes_up: Option<u64>,
    /// The steps of the plan as todos: done, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todos: Option<(u64, u64)>,
    /// With VERIFIED: the digest of the tree that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
}
