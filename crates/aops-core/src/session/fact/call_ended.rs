//! What the last entry of a call holds: what came of it, or why it was refused. Stored types: fields in
//! sorted order.

use super::{Kept, Reached};
use crate::config::policy::is_default;
use crate::model::call::ToolResult;
use crate::model::profile::Proof;
use crate::session::agent_report::AgentReport;
use crate::session::growth::Growth;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a call that has ended came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallEnded {
    /// After a write: whether the audit's lot fell on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawn: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// It started an agent, which goes on in the background.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub launched: bool,
    /// Settings, configuration and binary as they are now, where they changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks: Option<BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub measured: Measured,
    /// After `ExitPlanMode`: the plan that a person approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Box<AgentReport>>,
    /// After a push: the remote refused it, since it has commits that are not here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
    /// What came out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
    /// A todo list that it set: done, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todos: Option<(u64, u64)>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub under: Under,
    /// It would be evidence, but went on in the background, or was stopped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unended: bool,
}

/// What a command changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// All that the task changed so far, where that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grown: Option<Growth>,
    /// Something of it may go on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lasts: bool,
    /// Git brought files of commits into the tree that are nobody's edit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moved: bool,
    /// After the work was verified: the tree is as it was then. In mode `strict` also with one that tests or
    /// asks a server of this machine: the tree is as it was before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchanged: bool,
}

/// Under what a command ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Under {
    /// It was answered in the person's place, failed, and the jail was in its way: the next time a person is
    /// asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hindered: bool,
    /// Hosts that were new in its session, and each that was refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Reached>,
    /// How it was jailed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jailed: Option<Proof>,
    /// What was kept before it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
    /// It failed in a throwaway layer, which has no network, as programs do that reach no other machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offline: bool,
}

/// What is recorded with a refusal, beside its gate and reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallDenied {
    /// By how much the task would be more than a small edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outgrown: Option<String>,
    /// The rule of the gate, where it has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The user was told how to go without the loop.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told: bool,
}
