//! The facts that ledger entries hold, and their stored form.
//!
//! Reads nothing, writes nothing. Stored types: fields in sorted order (the plain serialisation is the canonical form)
//! and no name that sorts after `working_digest`, which a commit mark appends. Invariant: everything a fold needs is in
//! the fact; nothing is looked up or recomputed later.

pub use crate::session::said::Said;

use crate::config::policy::Policy;
use crate::config::policy::check::Moment;
use crate::model::call::{CallKey, CallState, Effect, ToolResult};
use crate::model::event::EventKind;
use crate::model::profile::{JailState, Profile, Proof};
use crate::session::agent_report::AgentReport;
use crate::session::growth::{ChangedFile, Growth};
use crate::session::memory::{ClientProcess, Memory, ModeAsked, RollbackState, RunStep, Undone, Waiver};
use crate::session::prompt::Prompt;
use crate::session::question::{Answered, Asked};
use crate::session::state::State;
use crate::text::json;
use crate::text::stored::canonical;
use crate::tool::tracking::Tracks;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Makes the enum, and what writes and reads each kind, out of the same rows.
macro_rules! facts {
    ($($kind:literal: $name:ident($fact:ty),)*) => {
        /// One fact.
        #[derive(Clone, Debug)]
        pub enum Fact {
            $($name($fact),)*
        }

        impl Fact {
            /// The entry's `type` and `with`.
            pub fn stored(&self) -> (&'static str, String) {
                match self {
                    $(Fact::$name(fact) => ($kind, canonical(fact)),)*
                }
            }

            /// The fact of a stored entry; `None` for a type or a form that this version does not know.
            pub fn read(kind: &str, with: &str) -> Option<Fact> {
                match kind {
                    $($kind => serde_json::from_str(with).ok().map(Fact::$name),)*
                    // As older versions wrote it.
                    "waive" => serde_json::from_str(with).ok().map(Fact::Waive),
                    _ => None,
                }
            }
        }
    };
}

// A new kind is a row here and an arm in the fold.
facts! {
    "open": Open(Opened),
    "event": Event(Seen),
    "call": Call(Step),
    "question": Question(Asked),
    "answer": Answer(Answered),
    "block": Block(Blocked),
    "unblock": Unblock(Unblocked),
    "verdict": Verdict(Reported),
    "waiver": Waive(Waiver),
    "check": Check(Checked),
    "mode": Mode(ModeAsked),
    "run": Run(Staged),
    "violation": Violation(Violation),
    "recovery": Recovery(Recovered),
    "checkpoint": Checkpoint(Taken),
    "rollback": Rollback(Undone),
    "insights": Insights(Concluded),
    "snapshot": Snapshot(Box<Snapshot>),
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Opened {
    pub binary: String,
    pub boot: String,
    pub folders: BTreeMap<String, String>,
    /// Version of the ledger's form.
    pub format: u32,
    /// The configuration in force, where it is not the shipped one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Box<Policy>>,
    pub policy_hash: String,
    /// The ledger this one continues: set aside by a person, or lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Previous>,
    pub project: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Previous {
    pub folder: String,
    /// Its last good digest and sequence number.
    pub head: String,
    pub seq: u64,
}

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
    /// `UserPromptSubmit` only: the task in hand is a question without a change, so it is over. Older versions went on with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anew: bool,
    /// `PermissionRequest` only: a person is asked to approve the plan of plan mode.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks_plan: bool,
    /// `SessionStart`, and a prompt after work that owed no commit: what was uncommitted then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BTreeMap<String, String>>,
    /// Its digest; older versions recorded none.
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
    /// Stop only, mode `loop`: the task is given up with everything committed. Older versions went on with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends: bool,
    pub event: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folders: Option<BTreeMap<String, String>>,
    /// `SessionStart`, `SubagentStart`: a foreign file that defines one of our agents' names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign: Option<String>,
    /// `SessionStart` only: the project's file with a hook of its own for this event, which may send the first prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub greets: Option<String>,
    /// `SessionStart` only: settings files that register us, with their events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<BTreeMap<String, Vec<String>>>,
    /// `SessionStart` only: what holds shell commands, where the client starts them through us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jail: Option<JailState>,
    /// `SessionStart` only: protected places that are links, or lie behind one, and where they really are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linked: Option<BTreeMap<String, String>>,
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
    /// Stop only: what was still owed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owed: Option<Vec<String>>,
    /// Beside a new hash: the configuration it stands for, where it is not the shipped one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Box<Policy>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    /// Stop only: the reflection on a task that went smoothly, made from the ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reflection: Option<BTreeMap<String, String>>,
    /// Mode `observe`: what the mode that is rehearsed would have said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsed: Option<Said>,
    /// `SessionStart` only: the root of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The run whose driver started the client, where that is proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Said>,
    /// Stop only: the task is done, and the sandbox shuts again. Older versions left it open.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shuts: bool,
    /// `SubagentStart` of an agent of ours: the client whose call started it. Older versions asked for no call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starter: Option<String>,
    /// Stop only: digests of the prompts that timers will send.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timers: Vec<String>,
    /// `SessionStart` only: the span of the client's own trace, as it handed it on (`00-trace-span-flags`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// `SubagentStop` of an agent of ours: no verdict is awaited from it. Older versions kept its words as the agent's result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncounted: bool,
    /// Why this start or prompt is no person's, or why this agent's verdict does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unproven: Option<String>,
}

impl Seen {
    /// The end of a turn or of the session.
    pub fn ends_turn(&self) -> bool {
        matches!(EventKind::of(&self.event), EventKind::Stop | EventKind::SessionEnd)
    }

    /// A text field of the event; a clipped one by its beginning.
    pub fn words(&self, name: &str) -> Option<String> {
        json::text_in(self.about.get(), name)
    }
}

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
    pub gate: Option<String>,
    /// With the end of a command: all that the task changed so far, where that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grown: Option<Growth>,
    /// With PENDING: what the file of an edit will be, where that is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grows: Option<ChangedFile>,
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
    /// With DENIED: by how much the task would be more than a small edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outgrown: Option<String>,
    /// With the end of `ExitPlanMode`: the plan that a person approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Box<AgentReport>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// With PENDING, in mode `observe`: what the mode that is rehearsed would have said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsed: Option<Said>,
    /// With the end of a push: the remote refused it, since it has commits that are not here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
    /// With the end of a call: what came out. Older versions recorded none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
    /// With DENIED: the rule of the gate, where it has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// With PENDING: digest of the prompt that a timer will send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedules: Option<String>,
    /// With PENDING: the agent of ours that it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<Starts>,
    /// With PENDING: its success is the evidence that `evidence.test` asks for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tests: bool,
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
    /// With the end of a command that would be evidence: it went on in the background, or was stopped. Older versions took it
    /// for one that succeeded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unended: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Starts {
    /// The client's process.
    pub client: String,
    pub name: String,
}

/// The verdict of one of our agents, or that it ended without one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reported {
    pub agent: String,
    pub agent_id: String,
    /// Its word is the `result` of the agent in the state, but for the critic's. Older versions called each a `verdict`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub as_result: bool,
    /// An audit is done with any verdict. Older versions counted only an OK.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub audited: bool,
    /// A reflection that counts begins the close. Older versions waited for the end of the turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closes: bool,
    /// Left out where the agent was sent on or given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<AgentReport>,
    /// What was wrong with its report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// A plan that the critic had sent back is made again for the same task. Older versions went on with the one that was sent
    /// back, and so nowhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replans: bool,
    /// It goes on and will report again.
    pub sent_on: bool,
}

/// One run of a `[[check]]` of the user's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// `exit 1`, `signal 9`, `cut off`, or why it did not start.
    pub ending: String,
    pub id: String,
    pub ms: u64,
    pub on: Moment,
    /// One of the four: `PASS`, or what its failure means.
    pub outcome: String,
    /// The end of what it said, where it failed: redacted and clipped.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// The file it was asked about, before a save.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub run: String,
    pub timeout_ms: u64,
}

impl Checked {
    pub const PASS: &str = "PASS";
    /// How one ended that used up its time.
    pub const CUT_OFF: &str = "cut off";

    /// How one "ended" that is about other files, and was not run.
    pub const NOT_CONCERNED: &str = "not concerned";

    pub fn failed(&self) -> bool {
        self.outcome != Self::PASS
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Blocked {
    pub by: String,
    pub reason: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Unblocked {
    pub by: String,
}

/// A run's driver begins a step in this session, or ends it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Staged {
    pub run_id: String,
    /// Nothing: no step is under way any more.
    pub stage: Option<RunStep>,
    pub task: String,
}

/// The reason of a call whose end was never reported.
pub const NO_EFFECT: &str = "no_effect_observed";

/// Something that cannot happen while client and hook work.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Violation {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallKey>,
    pub event: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Said>,
    pub violation: String,
}

impl Violation {
    /// A call was asked for again after it had ended: it is refused, and what is recorded of it stays.
    pub const ENDED: &str = "a call that had ended was asked for again";
    /// The client keeps the transcript in another project's folder than the one that holds the session. Recorded once.
    pub const ELSEWHERE: &str = "project folder mismatch";
}

/// What was mended on the way in.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Recovered {
    /// Calls that were executing when the tear happened: listed, never run again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub executing: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_after: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torn_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torn_file: Option<String>,
    pub what: String,
}

/// A checkpoint was taken. One whose digest is another now was edited.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Taken {
    pub digest: String,
    pub id: String,
    /// What a task with a plan changes is measured against it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub measures: bool,
    pub trigger: String,
}

impl Taken {
    /// Its trigger where a task is about to make its first change.
    pub const START: &str = "start";
}

/// What the session came to so far, for the state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Concluded {
    /// Canonical and redacted; long lists are cut.
    pub insights: Box<RawValue>,
}

/// The whole fold, so that a lost state is rebuilt from here.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    pub memory: Box<Memory>,
    pub state: Box<State>,
}

impl Fact {
    /// Must survive a power loss: flushed to the disk before it is answered.
    pub fn must_sync(&self) -> bool {
        match self {
            Fact::Open(_)
            | Fact::Block(_)
            | Fact::Unblock(_)
            | Fact::Verdict(_)
            | Fact::Waive(_)
            | Fact::Run(_)
            | Fact::Recovery(_)
            | Fact::Checkpoint(_) => true,
            Fact::Rollback(undone) => undone.stage != RollbackState::Told,
            Fact::Event(seen) => seen.ends_turn(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
