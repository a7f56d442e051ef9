//! The facts that ledger entries hold, and their stored form.
//!
//! Reads nothing, writes nothing. Stored types: fields in sorted order (the plain serialisation is the canonical form)
//! and no name that sorts after `working_digest`, which a commit mark appends. Invariant: everything a fold needs is in
//! the fact; nothing is looked up or recomputed later.

mod checked;
mod kept;
mod opened;
mod seen;
mod reached;
mod recovered;
mod reported;
mod starts;
mod step;
mod task_chosen;
mod taken;
mod unasked;

pub use crate::session::quieted::{AnswerLevel, Harmless, Quieted};
pub use crate::session::said::Said;
pub use checked::Checked;
pub use kept::Kept;
pub use opened::{Opened, Previous};
pub use reached::{NetworkChange, NetworkChanged, Reached};
pub use recovered::Recovered;
pub use reported::Reported;
pub use starts::Starts;
pub use taken::Taken;
pub use task_chosen::{TaskChosen, TaskMove};
pub use unasked::Unasked;

use crate::config::policy::Policy;
use crate::model::call::{CallKey, CallState, Effect, ToolResult};
use crate::model::debt::DebtId;
use crate::model::gate_id::GateId;
use crate::model::named::Stored;
use crate::model::outcome::{PhaseOutcome, RunOutcome};
use crate::model::profile::{JailState, Profile, Proof};
use crate::session::agent_report::AgentReport;
use crate::session::growth::{ChangedFile, Growth};
use crate::session::memory::{
    BroughtBack, ClientProcess, Memory, ModeAsked, PlanShown, RollbackState, RunStep, Signed, Undone, Waiver,
};
use crate::session::observed::{Attested, Committed, Observed};
use crate::session::prompt::Prompt;
use crate::session::question::{Answered, Asked};
use crate::session::state::State;
use crate::session::timer::TimerMark;
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
        #[expect(clippy::large_enum_variant, reason = "most facts are calls, and each is made once")]
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
    "event": Event(Box<Seen>),
    "call": Call(Step),
    "question": Question(Asked),
    "answer": Answer(Answered),
    "block": Block(Blocked),
    "unblock": Unblock(Unblocked),
    "verdict": Verdict(Reported),
    "waiver": Waive(Waiver),
    "task": Task(TaskChosen),
    "check": Check(Checked),
    "mode": Mode(ModeAsked),
    "run": Run(Staged),
    "violation": Violation(Violation),
    "recovery": Recovery(Recovered),
    "checkpoint": Checkpoint(Taken),
    "rollback": Rollback(Undone),
    "undo": Undo(BroughtBack),
    "commit": Commit(Committed),
    "attest": Attest(Attested),
    "network": Network(NetworkChanged),
    "insights": Insights(Concluded),
    "snapshot": Snapshot(Box<Snapshot>),
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
    /// `SessionStart`, and a prompt after work that is over: what was uncommitted then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BTreeMap<String, String>>,
    /// With a prompt after a task that is done: the digest of that task's own, since the prompt may go on with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_before: Option<String>,
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
    /// `PermissionRequest` only: a person sits at the client and saw the prompt. Older versions did not record it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dialog: bool,
    /// Stop only, mode `loop`: the task is given up with everything committed. Older versions went on with it.
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
    /// With `parks`: these files, as far as they are listed. Older versions recorded none.
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
    /// `UserPromptSubmit` with an id: SHA-256 of the prompt. Older versions recorded none.
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
    /// Stop only: the task is done, and the sandbox shuts again. Older versions left it open.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shuts: bool,
    /// `SubagentStart` of an agent of ours: the client whose call started it. Older versions asked for no call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starter: Option<String>,
    /// `UserPromptSubmit` only: the place of the parked task that it goes on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes_up: Option<u64>,
    /// What timers will send, where it is new: as the end of a turn lists it, or as a call set it that we were not asked about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timers: Vec<TimerMark>,
    /// With `timers`: more than are remembered. Older versions dropped the oldest without a word.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timers_lost: bool,
    /// `SessionStart` only: the span of the client's own trace, as it handed it on (`00-trace-span-flags`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// `SubagentStop` of an agent of ours: no verdict is awaited from it. Older versions kept its words as the agent's result.
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
    /// With the end of a call: what came out. Older versions recorded none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
    /// With DENIED: the rule of the gate, where it has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// With PENDING: the prompt that a timer will send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedules: Option<TimerMark>,
    /// With PENDING: when a command is asked about whose changes are measured. Older versions recorded none.
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
    /// With the end of a command that would be evidence: it went on in the background, or was stopped. Older versions took it
    /// for one that succeeded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unended: bool,
    /// With PENDING: hosts that a person is asked about; a command that starts was allowed to reach them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wants: Vec<String>,
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
    /// The outcome of the step that was under way, as its driver judged it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Stored<PhaseOutcome>>,
    pub run_id: String,
    /// With the run's end, or where it pauses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_outcome: Option<Stored<RunOutcome>>,
    /// Nothing: no step is under way any more.
    pub stage: Option<RunStep>,
    pub task: String,
    /// Older versions did not name it here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
}

/// The reason of a call whose end was never reported.
pub const NO_EFFECT: &str = "no_effect_observed";
/// The reason of a call whose end was never reported, and whose file is as the call would leave it.
pub const UNREPORTED: &str = "its end was not reported, and its file is changed as it asked";

/// Something that cannot happen while client and hook work.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Violation {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallKey>,
    pub event: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Said>,
    /// What the call did that was never asked for. Older versions did not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unasked: Option<Unasked>,
    pub violation: String,
}

impl Violation {
    /// A command left no proof of the jail that it was to run in.
    pub const UNJAILED: &str = "a command ran without the jail that the session has";
    /// A call was asked for again after it had ended: it is refused, and what is recorded of it stays.
    pub const ENDED: &str = "a call that had ended was asked for again";
    /// A prompt, start or end of the session came, and the turn before it had no Stop.
    pub const NO_STOP: &str =
        "the turn before ended without its Stop: its hook was killed or did not run, or the client died";
    /// The client keeps the transcript in another project's folder than the one that holds the session. Recorded once.
    pub const ELSEWHERE: &str = "project folder mismatch";
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
            | Fact::Task(_)
            | Fact::Run(_)
            | Fact::Recovery(_)
            | Fact::Checkpoint(_) => true,
            Fact::Rollback(undone) => undone.stage != RollbackState::Told,
            Fact::Undo(brought) => !brought.told,
            Fact::Event(seen) => seen.ends_turn(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
