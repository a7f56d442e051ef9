//! The content of a call's last entry: its results, or why it was refused. Stored types: fields in sorted
//! order.

use super::{Kept, Reached};
use crate::config::policy::is_default;
use crate::model::call::ToolResult;
use crate::model::profile::Proof;
use crate::session::agent_report::AgentReport;
use crate::session::growth::Growth;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The results of a call that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallEnded {
    /// After a write: whether it drew an audit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawn: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// It started an agent, which continues in the background.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub launched: bool,
    /// The present state of settings, configuration and binary, if they changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks: Option<BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub measured: Measured,
    /// After `ExitPlanMode`: the plan that a person approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Box<AgentReport>>,
    /// After a push: the remote rejected it, since it has commits that we do not have.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
    /// A todo list that it set: how many are done, and how many there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todos: Option<(u64, u64)>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub under: Under,
    /// It would be evidence, but continued in the background, or was stopped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unended: bool,
}

/// What a command changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// Everything that the task has changed so far, if that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grown: Option<Growth>,
    /// Part of it may still be running.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lasts: bool,
    /// Git brought files from commits into the tree that nobody edited here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moved: bool,
    /// After the work was verified: the tree is still the same. In mode `strict` also for a command that
    /// tests or asks a server of this machine: the tree is as it was before the command.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchanged: bool,
}

/// The conditions under which a command ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Under {
    /// It was answered in the person's place and failed because of the jail: the next time a person is asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hindered: bool,
    /// Hosts that were new in its session, and each that was refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Reached>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jailed: Option<Proof>,
    /// What was kept before it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
    /// It failed in a throwaway layer, which has no network, with an error typical for an unreachable
    /// machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offline: bool,
}

/// What is recorded with a refusal, apart from its gate and reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallDenied {
    /// How far the task would exceed the small-edit limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outgrown: Option<String>,
    /// The rule, if the gate has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The user was told how to skip the loop.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told: bool,
}
