//! An event of the client, and what it tells.

use super::{Reached, Said};
use crate::config::policy::Policy;
use crate::model::debt::DebtId;
use crate::model::event::EventKind;
use crate::model::named::Stored;
use crate::model::profile::JailState;
use crate::session::memory::{ClientProcess, PlanShown, Signed};
use crate::session::observed::Observed;
use crate::session::prompt::Prompt;
use crate::session::timer::TimerMark;
use crate::text::json;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// An event of the client that is not a step of a call.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Seen {
    /// The event's own fields: canonical, redacted, clipped.
    pub about: Box<RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// `SessionStart` only: why this client cannot start agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agentless: Option<String>,
    /// `UserPromptSubmit` only: the task in hand is a question without a change, so it is over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anew: bool,
    /// `PermissionRequest` only: a person is asked to approve the plan of plan mode.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks_plan: bool,
    /// `SessionStart`, and a prompt after work that is over: what was uncommitted then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BTreeMap<String, String>>,
    /// With a prompt after a task that is done: the digest of that task's own, since the prompt may go on with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_before: Option<String>,
    /// Its digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_sha256: Option<String>,
    /// `SessionStart` only: another client of this session is alive, and the session stays that one's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beside: bool,
    /// `SessionStart` only: the boot and the folders it found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// Stop after work: files that differ from the baseline, committed or not, from the root of the repository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// With `foreign`: which of our agents' names foreign files have taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clashes: Vec<String>,
    /// `SessionStart` only: the client that fires the events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientProcess>,
    /// `PermissionRequest` only: a person sits at the client and saw the prompt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dialog: bool,
    /// Stop only, mode `loop`: the task is given up with everything committed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends: bool,
    pub event: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folders: Option<BTreeMap<String, String>>,
    /// `SessionStart`, `SubagentStart`: a foreign file that defines one of our agents' names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign: Option<String>,
    /// `UserPromptSubmit` only: the person asks to go on with what was parked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
    /// `SessionStart` only: the project's file with a hook of its own for this event, which may send the first prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub greets: Option<String>,
    /// `SessionStart` only: settings files that register us, with their events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<BTreeMap<String, Vec<String>>>,
    /// `SessionEnd` only: what went to each host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Reached>,
    /// `SessionStart` only: what holds shell commands, where the client starts them through us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jail: Option<JailState>,
    /// The person interrupted the turn before, and its task had changed nothing: it is over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaves: bool,
    /// `SessionStart` only: protected places that are links, or lie behind one, and where they really are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linked: Option<BTreeMap<String, String>>,
    /// The end of a turn or of the session: the log as it was signed by then, before this entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Signed>,
    /// Settings, configuration and binary as they are now, where they were looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks: Option<BTreeMap<String, String>>,
    /// `UserPromptSubmit` only: what the prompt means, where its form alone does not say it, or said something else to older
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meant: Option<Prompt>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Stop only: the user was told that there is no git to close the work in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_git: bool,
    /// For the attestation of commits, where they are attested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Box<Observed>>,
    /// What was still owed at a Stop, or where one is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owed: Option<Vec<Stored<DebtId>>>,
    /// With `parks`: these files, as far as they are listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parked_paths: Vec<String>,
    /// The person interrupted the turn before: its task is parked, with so many changed files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parks: Option<u64>,
    /// `SessionStart`, and `PermissionRequest` for a plan: a file with a hook that may answer in a person's place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_hook: Option<String>,
    /// With `asks_plan`: what the person is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_shown: Option<PlanShown>,
    /// Beside a new hash: the configuration it stands for, where it is not the shipped one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Box<Policy>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    /// `UserPromptSubmit` with an id: SHA-256 of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_sha256: Option<String>,
    /// Stop only: the reflection on a task that went smoothly, made from the ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reflection: Option<BTreeMap<String, String>>,
    /// Mode `observe`: what the mode that is rehearsed would have said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsed: Option<Said>,
    /// `UserPromptSubmit` only: it says no more than to go on after an interrupt, so the task in hand goes on with its plan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumes: bool,
    /// `SessionStart` only: the root of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The run whose driver started the client, where that is proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Said>,
    /// Stop only: the task is done, and the sandbox shuts again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shuts: bool,
    /// `SubagentStart` of an agent of ours: the client whose call started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starter: Option<String>,
    /// `UserPromptSubmit` only: the place of the parked task that it goes on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes_up: Option<u64>,
    /// What timers will send, where it is new: as the end of a turn lists it, or as a call set it that we were not asked about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timers: Vec<TimerMark>,
    /// With `timers`: more than are remembered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timers_lost: bool,
    /// `SessionStart` only: the span of the client's own trace, as it handed it on (`00-trace-span-flags`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// `SubagentStop` of an agent of ours: no verdict is awaited from it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncounted: bool,
    /// Why this start or prompt is no person's, or why this agent's verdict does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unproven: Option<String>,
    /// A prompt, start or end of the session: the turn before it had no Stop.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unstopped: bool,
    /// `PostToolBatch`: the turn ends here, because an agent of ours is at work in the background.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
}

impl Seen {
    /// The end of a turn or of the session.
    pub fn ends_turn(&self) -> bool {
        matches!(EventKind::of(&self.event), EventKind::Stop | EventKind::SessionEnd)
    }

    pub fn is_refused(&self) -> bool {
        self.said.as_ref().is_some_and(Said::refuses)
    }

    /// A prompt that the client did not make itself, such as the notice that an agent has ended.
    pub fn is_persons_prompt(&self) -> bool {
        EventKind::of(&self.event) == EventKind::UserPromptSubmit && self.means() != Prompt::Machine
    }

    /// What a prompt means, as it was recorded; else what its form alone says.
    pub fn means(&self) -> Prompt {
        self.meant.unwrap_or_else(|| Prompt::of(&self.words("prompt").unwrap_or_default()))
    }

    /// A text field of the event; a clipped one by its beginning.
    pub fn words(&self, name: &str) -> Option<String> {
        json::text_in(self.about.get(), name)
    }
}
