//! A step of a call, and what it says by itself.

use super::{Kept, Quieted, Reached, Said, Starts};
use crate::model::agent::ours;
use crate::model::call::{CallKey, CallState, Effect, ToolResult};
use crate::model::gate_id::GateId;
use crate::model::named::Stored;
use crate::model::profile::{Losses, Profile, Proof};
use crate::session::agent_report::AgentReport;
use crate::session::growth::{ChangedFile, Growth};
use crate::session::observed::Observed;
use crate::session::timer::TimerMark;
use crate::tool::tracking::Tracks;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Step {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    pub call: CallKey,
    /// With PENDING: a run pauses for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferred: Option<bool>,
    /// With the end of a write: whether the audit's lot fell on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawn: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// With PENDING, where it is not plain reading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// With PENDING: it is the command of `close.format`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub formats: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<CallState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Stored<GateId>>,
    /// With the end of a command: all that the task changed so far, where that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grown: Option<Growth>,
    /// With PENDING: what the file of an edit will be, where that is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grows: Option<ChangedFile>,
    /// With the end of a command that was answered: the jail was in its way, so the next time a person is asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hindered: bool,
    /// With the end of a command: hosts that were new in its session, and each that was refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Reached>,
    /// With PENDING: the input, canonical, redacted, clipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Box<RawValue>>,
    pub input_sha256: String,
    /// With PENDING: how the command is to be jailed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jail: Option<Profile>,
    /// With the end of a command: how it was jailed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jailed: Option<Proof>,
    /// With PENDING: what it would lose is to be kept before it runs; the danger rules that found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps: Option<Vec<String>>,
    /// With the end of a command: what was kept before it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
    /// With the end of a command that was measured: something of it may go on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lasts: bool,
    /// With the end of a call that started an agent: it goes on in the background.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub launched: bool,
    /// With `jail`: the command without its secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_sha256: Option<String>,
    /// With a terminal step: settings, configuration and binary as they are now, where they changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks: Option<BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// With the end of a command: git brought files of commits into the tree that are nobody's edit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moved: bool,
    /// For the attestation of commits, where they are attested: before the call with PENDING, else after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Box<Observed>>,
    /// With the end of a command in a throwaway layer: it failed as programs do that reach no other machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offline: bool,
    /// With `jail`: it only reads, and cannot without the network.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub online: bool,
    /// With DENIED: by how much the task would be more than a small edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outgrown: Option<String>,
    /// With the end of `ExitPlanMode`: the plan that a person approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Box<AgentReport>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    /// With PENDING: it was answered in the person's place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<Box<Quieted>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// With PENDING, in mode `observe`: what the mode that is rehearsed would have said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsed: Option<Said>,
    /// With the end of a push: the remote refused it, since it has commits that are not here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
    /// With the end of a call: what came out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
    /// With DENIED: the rule of the gate, where it has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// With PENDING: the prompt that a timer will send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedules: Option<TimerMark>,
    /// With PENDING: when a command is asked about whose changes are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<i64>,
    /// With PENDING: the agent of ours that it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<Starts>,
    /// With PENDING: its success is the evidence that `evidence.test` asks for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tests: bool,
    /// With `schedules`: one timer more than are remembered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timers_lost: bool,
    pub to: CallState,
    /// A todo list that this call set: done, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todos: Option<(u64, u64)>,
    /// With DENIED: the user was told how to go without the loop.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told: bool,
    /// With PENDING: what it does to issues of the tracker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tracks: Vec<Tracks>,
    /// With the end of a command after the work was verified: the tree is as it was then. In mode `strict` also with one that
    /// tests or asks a server of this machine: the tree is as it was before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchanged: bool,
    /// With the end of a command that would be evidence: it went on in the background, or was stopped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unended: bool,
    /// With PENDING: hosts that a person is asked about; a command that starts was allowed to reach them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wants: Vec<String>,
}

impl Step {
    /// The result of this command is gone with a throwaway layer, as what our own agents try out always is.
    pub fn is_unsaved(&self) -> bool {
        self.lost().is_some() && self.jailed.as_ref().is_some_and(|proof| !proof.profile.is_quiet())
    }

    pub fn lost(&self) -> Option<&Losses> {
        let ours = self.agent_id.is_some() && self.agent_type.as_deref().is_some_and(|name| ours(name).is_some());
        self.jailed.as_ref().map(|proof| &proof.lost).filter(|lost| !ours && !lost.is_empty())
    }
}
