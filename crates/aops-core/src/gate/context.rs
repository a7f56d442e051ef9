//! What a gate may know apart from session and event.
//!
//! Filled by `observe` before any gate decides; plain data. Facts about only one kind of event are in
//! `Found`, facts for only one gate in that gate's struct.

use super::guard::Protected;
use crate::model::agent::{AgentId, FILE_PREFIX};
use crate::model::call::Effect;
use crate::model::event::{Event, EventKind};
use crate::model::gate_id::GateId;
use crate::model::named::Stored;
use crate::model::worktree::Worktree;
use crate::session::agent_report::AgentReport;
use crate::session::fact::{CallEnded, Checked, Quieted, Reached, Step, TaskMove, Unasked};
use crate::session::fold::Session;
use crate::session::growth::ChangedFile;
use crate::session::memory::{AtWork, PlanShown, RunStep};
use crate::session::prompt::Prompt;
use crate::session::question::Decision;
use crate::session::timer::TimerMark;
use crate::text::time;
use crate::tool::danger::Danger;
use crate::tool::targets::Targets;
use crate::tool::tracking::Tracks;
use aops_network::counts::Served;
use aops_shell::hosts::Host;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub struct Context {
    pub now_ms: i64,
    /// The present values of the variables that decide where our folders are.
    pub folders: BTreeMap<String, String>,
    /// The client's process ID.
    pub client: String,
    pub agents: AgentNames,
    /// A person can answer.
    pub attended: bool,
    /// The client is at a terminal, and continues by itself when a background agent has ended.
    pub interactive: bool,
    /// Why a prompt does not count as a person's, or why an agent's verdict does not count.
    pub unproven: Option<String>,
    /// We did not see the client start this session, although we should have.
    pub unstarted: bool,
    /// Questions are deferred: no person is here, and the environment says that a run's driver will ask one.
    pub defers: bool,
    /// The step of the run for which its driver started the client; `None` if that is not proven.
    pub stage: Option<RunStep>,
    /// The user's checks that were run for this event.
    pub checks: Vec<Checked>,
    pub earlier: Earlier,
    /// What the working tree still owes. Only known at the end of a turn, and after a turn without an end.
    pub tree: Worktree,
    pub found: Found,
}

#[derive(Debug, Default)]
pub struct AgentNames {
    /// Prefix of every name: empty, or our plugin's prefix.
    pub prefix: &'static str,
    /// Those of our agents that have another name here because a foreign file uses theirs.
    pub renamed: Vec<String>,
    /// Those of them that do not exist under the other name either.
    pub missing: Vec<String>,
}

/// What happened before this event and is still unsettled.
#[derive(Debug, Default)]
pub struct Earlier {
    /// Set at a prompt, start or end of the session after a turn without a Stop: how that turn ended, and
    /// what it owed.
    pub unstopped: Option<Unstopped>,
    /// Before and after a call: how a call with this key ended earlier.
    pub past: Option<Step>,
    /// What the client recorded about answers that are not proven yet.
    pub decisions: Vec<Decision>,
    /// Calls whose end no event reported, although their file is as they would leave it.
    pub made: Vec<String>,
    /// Whether one of these calls draws an audit.
    pub drawn: Option<bool>,
}

/// What was observed for this kind of event.
#[derive(Debug, Default)]
pub enum Found {
    #[default]
    Nothing,
    /// A call is about to be made, or a person is asked about it.
    Call(Box<CallContext>),
    /// A call has ended.
    End(Box<EndContext>),
    /// A session or an agent starts.
    Start(Box<StartContext>),
    Prompt(PromptContext),
    AgentStop(Box<AgentStopContext>),
    Stop(StopContext),
    SessionEnd(SessionEndContext),
    /// A settings file was changed.
    Settings(SettingsContext),
}

impl Found {
    /// What we know about an event of this kind if nothing was observed.
    pub fn nothing_of(kind: EventKind) -> Self {
        match kind {
            EventKind::PostToolUse | EventKind::PostToolUseFailure => Self::End(Box::default()),
            EventKind::SessionStart | EventKind::SubagentStart => Self::Start(Box::default()),
            EventKind::UserPromptSubmit => Self::Prompt(PromptContext::default()),
            EventKind::SubagentStop => Self::AgentStop(Box::default()),
            EventKind::Stop => Self::Stop(StopContext::default()),
            EventKind::SessionEnd => Self::SessionEnd(SessionEndContext::default()),
            _ => Self::Nothing,
        }
    }
}

#[derive(Debug, Default)]
pub struct PromptContext {
    pub meant: Prompt,
    /// Positions of parked tasks that have nothing uncommitted left.
    pub over: Vec<u64>,
    /// A person's slash command drops or resumes a task: which of the list, the newest first.
    pub task: Option<(TaskMove, Option<u64>)>,
}

/// One of our agents that we wait for has stopped.
#[derive(Debug, Default)]
pub struct AgentStopContext {
    /// Its findings, or what is wrong with its report.
    pub report: Option<Result<AgentReport, String>>,
    /// With VERIFIED: the digest of the tree.
    pub verified_tree: Option<String>,
    /// If a question replaces an unfinished task: that task's uncommitted files (a limited list), and their
    /// number.
    pub left: Option<(Vec<String>, u64)>,
}

#[derive(Debug, Default)]
pub struct StopContext {
    /// The turn ends with a question to the user.
    pub asks: bool,
    /// A command that was still running after VERIFIED changed the tree.
    pub outdated: bool,
    /// The last push since the prompt failed.
    pub push_failed: bool,
    /// The last refusal, if nothing was done after it.
    pub refused: Option<LastRefusal>,
}

#[derive(Debug, Default)]
pub struct SessionEndContext {
    /// In an unattended session: the last refusal, if nothing was done after it.
    pub refused: Option<LastRefusal>,
    /// The hosts that the session reached, and those it was refused.
    pub hosts: Vec<Reached>,
}

#[derive(Debug, Default)]
pub struct SettingsContext {
    pub text: String,
    /// The file is too large to be read.
    pub unread: bool,
}

#[derive(Debug, Default)]
pub struct CallContext {
    pub reach: Targets,
    pub does: CallEffect,
    pub guard: GuardFacts,
    pub jail: JailFacts,
    pub hosts: HostFacts,
    pub danger: DangerFacts,
    /// The answer in the person's place, if one may be given.
    pub quiet: Option<Box<QuietAnswer>>,
    pub rules: RuleFacts,
    pub checks: CheckFacts,
    pub lease: LeaseFacts,
    pub task: TaskFacts,
    /// The client shows a plan to the person.
    pub plan: PlanQuestion,
    /// One of our agents hands a report back that cannot be taken.
    pub handed_back: Option<Box<AgentStopContext>>,
}

#[derive(Debug, Default)]
pub struct CallEffect {
    pub effect: Effect,
    /// Why it is a write, in a few words.
    pub why: String,
    /// It writes into the working tree or changes the repository: more than running tests.
    pub touches_tree: bool,
    /// It changes only temporary and generated files. Only computed if changes wait for a plan or each one
    /// counts.
    pub scratch: bool,
    /// The file as this edit will leave it, if the task is weighed.
    pub grows: Option<ChangedFile>,
    /// The task is weighed, and this edits a file that does not count: ignored, generated or scratch.
    pub weightless: bool,
}

#[derive(Debug, Default)]
pub struct GuardFacts {
    pub protected: Protected,
    /// What an edit of one of the client's settings files does to our hooks; `None` for any other call, and
    /// if we cannot predict it.
    pub settings: Option<SettingsEdit>,
    /// What it adds to the programs that run without asking us, and whether no person can approve that here.
    pub executable: Option<(String, bool)>,
    /// What the skill or agent that it starts brings along.
    pub brought: Option<String>,
    /// The part of the call that shows our keys.
    pub keys: Option<Danger>,
}

/// Filled where shell commands are jailed.
#[derive(Debug, Default)]
pub struct JailFacts {
    /// We do not know whether it changes anything, here or outside.
    pub unknown: bool,
    /// It only reads, but needs the network for that.
    pub online: bool,
    pub unheld: Unheld,
}

/// Filled where hosts are judged.
#[derive(Debug, Default)]
pub struct HostFacts {
    pub named: Vec<Host>,
    /// Hosts that the session's list refuses: the call names them, or was refused them before.
    pub unlisted: Vec<Unlisted>,
    /// The source of the latest foreign text, to show with those hosts.
    pub foreign: Option<String>,
}

#[derive(Debug, Default)]
pub struct DangerFacts {
    pub dangers: Vec<Danger>,
    /// The only copies that it would lose, and whether they can be kept first.
    pub keeps: Keeps,
}

/// Input of the user's rules.
#[derive(Debug, Default)]
pub struct RuleFacts {
    /// Real paths: those that the call changes, and those that it reads.
    pub paths: Vec<String>,
    pub read: Vec<String>,
    /// The words of each simple command.
    pub commands: Vec<Vec<String>>,
}

/// Input of the user's checks.
#[derive(Debug, Default)]
pub struct CheckFacts {
    /// The file an edit tool would save.
    pub saves: Option<String>,
    /// The line would create a commit.
    pub commits: bool,
}

#[derive(Debug, Default)]
pub struct LeaseFacts {
    /// Files that no session was editing before this call.
    pub taken: Vec<String>,
    /// Another session that is editing one of its files.
    pub held: Held,
}

/// What a call means for the current task.
#[derive(Debug, Default)]
pub struct TaskFacts {
    /// Whether it runs the command of `evidence.test`, so that its success is evidence.
    pub tests: Evidence,
    /// It is the command of `close.format`.
    pub formats: bool,
    /// What it does to issues in the tracker.
    pub tracks: Vec<Tracks>,
    /// Of the tracker it only shows something.
    pub looks: bool,
}

#[derive(Debug, Default)]
pub struct PlanQuestion {
    /// What the person is shown.
    pub shown: Option<PlanShown>,
    /// A file with a hook that may answer in the person's place.
    pub hook: Option<String>,
}

/// An answer in the person's place.
#[derive(Clone, Debug)]
pub struct QuietAnswer {
    pub recorded: Quieted,
    /// What is kept first, if the line may change more than its text shows.
    pub keeps: Option<Keeps>,
}

/// Whether what a call would lose can be kept before it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Keeps {
    /// Its text shows no loss; or a rule found something, and the text does not show everything that may be
    /// lost.
    #[default]
    Untold,
    /// The text shows everything that these rules found, and none of it is the only copy.
    Nothing,
    /// All of it can be kept: this many files and bytes, found by these rules.
    All { rules: Vec<String>, files: u64, bytes: u64 },
    /// It cannot be kept: what it is, and why not.
    Not(String),
}

/// A refusal after which nothing was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastRefusal {
    pub gate: Stored<GateId>,
    /// The rule, if the gate has several.
    pub rule: Option<String>,
    pub why: String,
}

/// Who is editing a file of the call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Held {
    #[default]
    Nobody,
    Another(Holder),
    /// We could not find out, for this reason.
    Unknown(String),
}

/// A host that the session's list refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlisted {
    /// The host in the form of a rule.
    pub rule: String,
    pub port: u16,
    pub why: String,
    /// A person denied it for good.
    pub denied: bool,
    /// The line does not name it, but was refused it before.
    pub needed: bool,
    /// It was on the list until a secret was read.
    pub after_secret: bool,
}

/// A program in a line that cannot run inside the jail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Unheld {
    #[default]
    Nothing,
    /// This program; it cannot be started directly, because the rest of the line must run inside the jail or
    /// a shell would change its words.
    Within(String),
    /// The line consists only of this program, so we start its file directly, with these words.
    Alone {
        program: String,
        /// The program that it is told to run, if we do not know that one.
        hands: Option<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingsEdit {
    /// Nothing of ours is changed.
    Keeps,
    /// Why our hooks would be off, or differ from before.
    Loses(String),
}

/// A session that is editing a file (path relative to the tree), and when it last wrote to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub path: String,
    pub session_id: String,
    pub since_ms: i64,
}

/// Whether a call is the command of `evidence.test`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Evidence {
    #[default]
    Other,
    /// It runs the command, and succeeds only if the command does.
    Contains,
    /// It is the command and nothing else.
    Is,
}

#[derive(Debug, Default)]
pub struct EndContext {
    /// What was observed at the end and is recorded with it.
    pub recorded: CallEnded,
    /// The call talked to the tracker.
    pub tracked: bool,
    /// How the write switched our hooks off.
    pub disarmed: Option<String>,
    /// Guarded files that the write changed in another way.
    pub changed: Vec<String>,
    /// They changed before the call, while no call was running.
    pub apart: bool,
    /// What the call changed, if it was never asked about.
    pub unasked: Option<Unasked>,
    /// After a command: there is no proof of how it was jailed.
    pub unproven: bool,
    /// Servers of commands that are open at another port outside than inside.
    pub served: Vec<Served>,
}

/// A turn without a Stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unstopped {
    /// The client's own record says that the person interrupted it.
    pub interrupted: bool,
    /// How many files of its task are changed and uncommitted, and the paths of those that are listed.
    pub files: u64,
    pub paths: Vec<String>,
}

#[derive(Debug, Default)]
pub struct StartContext {
    /// A foreign file that defines one of our agents' names.
    pub shadowed: Option<String>,
    /// Names of our agents that foreign files use.
    pub clashes: Vec<String>,
    /// Other blocked sessions of this project: ID and reason.
    pub blocked_beside: Vec<(String, String)>,
    /// `SessionStart`: why this client cannot start agents.
    pub agentless: Option<String>,
    /// `SessionStart`: another client of this session is alive.
    pub beside: bool,
    /// `SessionStart`: timers of the session that the client had before; they survive in the client.
    pub timers: Vec<TimerMark>,
    /// Some of these timers are unknown.
    pub timers_lost: bool,
}

impl Context {
    pub fn agent(&self, agent: impl Into<Stored<AgentId>>) -> String {
        let agent = agent.into();
        let AgentNames { prefix, renamed, .. } = &self.agents;
        let is_renamed = prefix.is_empty() && renamed.iter().any(|renamed| renamed == agent.name());
        format!("{}{agent}", if is_renamed { FILE_PREFIX } else { prefix })
    }

    /// In a permission mode that leaves a person at the terminal no questions: how they are asked anyway, to
    /// end a hint with.
    pub fn way_to_be_asked(&self, event: &Event) -> Option<String> {
        let sits = self.interactive && !self.attended && !self.defers;
        let mode = event.permission_mode().filter(|mode| sits && !mode.leaves_questions())?;
        Some(format!(
            "; mode `{}` asks nobody: the user leaves it with Shift+Tab and is asked then",
            mode.name()
        ))
    }

    /// How long this agent of ours has been at work for another call than this one; `None` if it is not at
    /// work, or was started by another client.
    pub fn at_work(&self, session: &Session, id: AgentId, call: &str) -> Option<String> {
        let same = |agent: &&AtWork| agent.name == id && agent.client == self.client && agent.call != call;
        let known = session.memory.agents.at_work.iter().find(same)?;
        Some(time::age(self.now_ms - time::parse(&known.since).unwrap_or(self.now_ms)))
    }

    /// What the call would do; `None` if no call is about to be made.
    pub fn effect(&self) -> Option<Effect> {
        self.call().map(|call| call.does.effect)
    }

    pub fn call(&self) -> Option<&CallContext> {
        if let Found::Call(call) = &self.found { Some(call) } else { None }
    }

    pub fn call_mut(&mut self) -> Option<&mut CallContext> {
        if let Found::Call(call) = &mut self.found { Some(call) } else { None }
    }

    pub fn end(&self) -> Option<&EndContext> {
        if let Found::End(end) = &self.found { Some(end) } else { None }
    }

    pub fn recorded(&self) -> Option<&CallEnded> {
        self.end().map(|end| &end.recorded)
    }

    pub fn start(&self) -> Option<&StartContext> {
        if let Found::Start(start) = &self.found { Some(start) } else { None }
    }

    /// What the prompt means; the default for any other event.
    pub fn prompt(&self) -> Prompt {
        if let Found::Prompt(prompt) = &self.found { prompt.meant } else { Prompt::default() }
    }

    /// What one of our agents reported at its end; before that, only a report that cannot be taken.
    pub fn agent_stop(&self) -> Option<&AgentStopContext> {
        match &self.found {
            Found::AgentStop(stop) => Some(stop),
            Found::Call(call) => call.handed_back.as_deref(),
            _ => None,
        }
    }

    pub fn stop(&self) -> Option<&StopContext> {
        if let Found::Stop(stop) = &self.found { Some(stop) } else { None }
    }

    /// The hosts that a command, or the ending session, reached or was refused.
    pub fn hosts(&self) -> &[Reached] {
        match &self.found {
            Found::End(end) => &end.recorded.under.hosts,
            Found::SessionEnd(end) => &end.hosts,
            _ => &[],
        }
    }
}
