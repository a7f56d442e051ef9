//! What a gate may know beside session and event.
//!
//! Filled by `observe` before any gate decides; plain data. What belongs to one kind of event alone is in
//! `Found`, what belongs to one gate alone in that gate's facts.

use super::guard::Protected;
use crate::model::agent::{AgentId, FILE_PREFIX};
use crate::model::call::Effect;
use crate::model::event::EventKind;
use crate::model::gate_id::GateId;
use crate::model::named::Stored;
use crate::model::worktree::Worktree;
use crate::session::agent_report::AgentReport;
use crate::session::fact::{CallEnded, Checked, Quieted, Reached, Step, Unasked};
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
    /// The variables that decide where our folders are, as they are now.
    pub folders: BTreeMap<String, String>,
    /// The client's process.
    pub client: String,
    pub agents: AgentNames,
    /// A person can answer.
    pub attended: bool,
    /// The client is at a terminal, and goes on by itself when an agent in the background has ended.
    pub interactive: bool,
    /// Why a prompt is no person's word, or why an agent's verdict does not count.
    pub unproven: Option<String>,
    /// The client's start of this session was not seen, and ought to be.
    pub unstarted: bool,
    /// A question is deferred: there is no person, and the environment says that a run's driver will ask one.
    pub defers: bool,
    /// The step of a run that its driver started the client for; nothing where that is not proven.
    pub stage: Option<RunStep>,
    /// The user's checks that were run for this event.
    pub checks: Vec<Checked>,
    pub earlier: Earlier,
    /// What the working tree still owes, where that is asked: at the end of a turn, and after one that had
    /// none.
    pub tree: Worktree,
    pub found: Found,
}

/// The names under which our agents can be started here.
#[derive(Debug, Default)]
pub struct AgentNames {
    /// Before each: empty, or our plugin's prefix.
    pub prefix: &'static str,
    /// Those of our agents that have another name here, since a foreign file has taken theirs.
    pub renamed: Vec<String>,
    /// Those of them that are not there under the other name either.
    pub missing: Vec<String>,
}

/// What came before this event and has had no end yet.
#[derive(Debug, Default)]
pub struct Earlier {
    /// A prompt, start or end of the session after a turn that had no Stop: how that ended, and what it owed.
    pub unstopped: Option<Unstopped>,
    /// Before and after a call: how a call of this key ended earlier.
    pub past: Option<Step>,
    /// Where an answer is not proven yet: what the client recorded about it.
    pub decisions: Vec<Decision>,
    /// Calls whose end no event reported, and whose file is as they would leave it.
    pub made: Vec<String>,
    /// Whether an audit is drawn for one of them.
    pub drawn: Option<bool>,
}

/// What was looked up for this kind of event alone.
#[derive(Debug, Default)]
pub enum Found {
    #[default]
    Nothing,
    /// A call is about to be made, or a person is asked about it.
    Call(Box<CallContext>),
    /// A call is over.
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
    /// What an event of this kind leads to where nothing was found.
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
    /// What the prompt means.
    pub meant: Prompt,
    /// Places of parked tasks of which nothing is left uncommitted.
    pub over: Vec<u64>,
}

/// An agent of ours that is waited for has stopped.
#[derive(Debug, Default)]
pub struct AgentStopContext {
    /// What it found, or what is wrong with its report.
    pub report: Option<Result<AgentReport, String>>,
    /// With VERIFIED: the digest of the tree.
    pub verified_tree: Option<String>,
    /// A question takes the place of an unfinished task: its files that are not committed, listed and
    /// counted.
    pub left: Option<(Vec<String>, u64)>,
}

#[derive(Debug, Default)]
pub struct StopContext {
    /// The turn ends with a question to the user.
    pub asks: bool,
    /// The last push since the prompt failed.
    pub push_failed: bool,
    /// The last refusal, where nothing was done after it.
    pub refused: Option<LastRefusal>,
}

#[derive(Debug, Default)]
pub struct SessionEndContext {
    /// In a session that nobody watches: the last refusal, where nothing was done after it.
    pub refused: Option<LastRefusal>,
    /// The hosts that the session reached, and those that it was refused.
    pub hosts: Vec<Reached>,
}

#[derive(Debug, Default)]
pub struct SettingsContext {
    /// The new text of the file.
    pub text: String,
    /// It is too large to be read.
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
    /// The answer in the person's place, where one may be given.
    pub quiet: Option<Box<QuietAnswer>>,
    pub rules: RuleFacts,
    pub checks: CheckFacts,
    pub lease: LeaseFacts,
    pub task: TaskFacts,
    /// The client shows a person its plan.
    pub plan: PlanQuestion,
}

/// What a call does.
#[derive(Debug, Default)]
pub struct CallEffect {
    pub effect: Effect,
    /// Why it is a write, in a few words.
    pub why: String,
    /// It writes into the working tree or changes the repository: more than running tests.
    pub touches_tree: bool,
    /// It changes temporary and generated files alone; looked for where changes wait for a plan, or each
    /// counts.
    pub scratch: bool,
    /// What the file of an edit will be, where the task is weighed.
    pub grows: Option<ChangedFile>,
}

/// What the guard must know of a call.
#[derive(Debug, Default)]
pub struct GuardFacts {
    /// What the call must not touch.
    pub protected: Protected,
    /// What an edit of one of the client's settings files leaves of us; nothing for any other call, and where
    /// that is not known.
    pub settings: Option<SettingsEdit>,
    /// What it adds to the programs that run without asking us, and whether no person can allow that here.
    pub executable: Option<(String, bool)>,
    /// What the skill or agent that it starts brings.
    pub brought: Option<String>,
    /// What in it shows our keys.
    pub keys: Option<Danger>,
}

/// Where shell commands are jailed.
#[derive(Debug, Default)]
pub struct JailFacts {
    /// It is not known to change anything, here or outside.
    pub unknown: bool,
    /// It only reads, and cannot without the network.
    pub online: bool,
    pub unheld: Unheld,
}

/// Where hosts are judged.
#[derive(Debug, Default)]
pub struct HostFacts {
    /// Those that the call names.
    pub named: Vec<Host>,
    /// Those that it names, or needed before, and that the session's list refuses.
    pub unlisted: Vec<Unlisted>,
    /// With those: the foreign text that came last.
    pub foreign: Option<String>,
}

#[derive(Debug, Default)]
pub struct DangerFacts {
    /// What the shipped danger rules found in the call.
    pub dangers: Vec<Danger>,
    /// What it would lose that is nowhere else, and whether that can be kept first.
    pub keeps: Keeps,
}

/// For the user's rules.
#[derive(Debug, Default)]
pub struct RuleFacts {
    /// Paths as the disk names them: those that the call changes, and those that it reads.
    pub paths: Vec<String>,
    pub read: Vec<String>,
    /// The words of each simple command.
    pub commands: Vec<Vec<String>>,
}

/// For the user's checks.
#[derive(Debug, Default)]
pub struct CheckFacts {
    /// The file an edit tool would save.
    pub saves: Option<String>,
    /// A line would commit.
    pub commits: bool,
}

#[derive(Debug, Default)]
pub struct LeaseFacts {
    /// Files that no session edited before this call.
    pub taken: Vec<String>,
    /// Another session that edits one of its files.
    pub held: Held,
}

/// What a call is to the task in hand.
#[derive(Debug, Default)]
pub struct TaskFacts {
    /// It is the command of `evidence.test`, and its success is evidence.
    pub tests: Evidence,
    /// It is the command of `close.format`.
    pub formats: bool,
    /// What it does to issues of the tracker.
    pub tracks: Vec<Tracks>,
}

#[derive(Debug, Default)]
pub struct PlanQuestion {
    /// What the person is shown.
    pub shown: Option<PlanShown>,
    /// A file with a hook that may answer in their place.
    pub hook: Option<String>,
}

/// An answer in the person's place.
#[derive(Clone, Debug)]
pub struct QuietAnswer {
    pub recorded: Quieted,
    /// What is kept first, where the line may change more than its text tells.
    pub keeps: Option<Keeps>,
}

/// Whether what a call would lose can be kept before it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Keeps {
    /// It loses nothing that its text tells; or more than its text tells, where a rule found something.
    #[default]
    Untold,
    /// All that these rules found is told, and nothing of it is the only copy.
    Nothing,
    /// All of it can be kept: so many files and bytes. With the rules that found it.
    All { rules: Vec<String>, files: u64, bytes: u64 },
    /// It cannot be kept: what it is, and why not.
    Not(String),
}

/// A refusal after which nothing was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastRefusal {
    pub gate: Stored<GateId>,
    /// The rule of the gate, where it has several.
    pub rule: Option<String>,
    pub why: String,
}

/// Who edits a file of the call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Held {
    #[default]
    Nobody,
    Another(Holder),
    /// It could not be looked at: why.
    Unknown(String),
}

/// A host that the session's list refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlisted {
    /// As a rule names it.
    pub rule: String,
    pub port: u16,
    pub why: String,
    /// A person said never.
    pub denied: bool,
    /// The line does not name it, but was refused it before.
    pub needed: bool,
    /// It was listed until a secret was read.
    pub after_secret: bool,
}

/// A program in a line that cannot run inside the jail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Unheld {
    /// There is none.
    #[default]
    Nothing,
    /// The rest of the line must run inside, or a shell would change its words.
    Within(String),
    /// The line is nothing else: it is started as the file that it is, with these words.
    Alone {
        program: String,
        /// What it is told to run, where that is not known.
        hands: Option<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingsEdit {
    /// Everything of ours is as it was.
    Keeps,
    /// Why our hooks would be off, or others than before.
    Loses(String),
}

/// A session that edits a file, relative to the tree, and when it last wrote it.
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
    /// It runs the command, and succeeds only if that does.
    Contains,
    /// It is the command and nothing else.
    Is,
}

#[derive(Debug, Default)]
pub struct EndContext {
    /// What was looked up of the end and is recorded with it.
    pub recorded: CallEnded,
    /// The call talked to the tracker.
    pub tracked: bool,
    /// How the write switched our hooks off.
    pub disarmed: Option<String>,
    /// Guarded files that the write changed otherwise.
    pub changed: Vec<String>,
    /// They changed before the call, while none ran.
    pub apart: bool,
    /// What the call changed, where it was never asked about.
    pub unasked: Option<Unasked>,
    /// After a command: there is no proof of how it was jailed.
    pub unproven: bool,
    /// Servers of commands that are opened at another port outside than inside.
    pub served: Vec<Served>,
}

/// A turn that had no Stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unstopped {
    /// The client's own record says that the person interrupted it.
    pub interrupted: bool,
    /// Files of its task that are changed and not committed, and the paths of those that are listed.
    pub files: u64,
    pub paths: Vec<String>,
}

#[derive(Debug, Default)]
pub struct StartContext {
    /// A foreign file that defines one of our agents' names.
    pub shadowed: Option<String>,
    /// The names that foreign files have taken.
    pub clashes: Vec<String>,
    /// Other sessions of this project that are blocked: id, reason.
    pub blocked_beside: Vec<(String, String)>,
    /// `SessionStart`: why this client cannot start agents.
    pub agentless: Option<String>,
    /// `SessionStart`: another client of this session is alive.
    pub beside: bool,
    /// `SessionStart`: timers of the session that the client had before; they live in the client.
    pub timers: Vec<TimerMark>,
    /// Some of them are not known.
    pub timers_lost: bool,
}

impl Context {
    /// The name under which one of our agents can be started here.
    pub fn agent(&self, agent: impl Into<Stored<AgentId>>) -> String {
        let agent = agent.into();
        let AgentNames { prefix, renamed, .. } = &self.agents;
        let is_renamed = prefix.is_empty() && renamed.iter().any(|renamed| renamed == agent.name());
        format!("{}{agent}", if is_renamed { FILE_PREFIX } else { prefix })
    }

    /// How long this agent of ours has been at work, started by another call than this one; nothing where it
    /// is not, or another client started it.
    pub fn at_work(&self, session: &Session, id: AgentId, call: &str) -> Option<String> {
        let same = |agent: &&AtWork| agent.name == id && agent.client == self.client && agent.call != call;
        let known = session.memory.agents.at_work.iter().find(same)?;
        Some(time::age(self.now_ms - time::parse(&known.since).unwrap_or(self.now_ms)))
    }

    /// What the call would do; nothing where no call is about to be made.
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

    /// What was looked up of a call's end and is recorded with it.
    pub fn recorded(&self) -> Option<&CallEnded> {
        self.end().map(|end| &end.recorded)
    }

    pub fn start(&self) -> Option<&StartContext> {
        if let Found::Start(start) = &self.found { Some(start) } else { None }
    }

    /// What the prompt means; for any other event that it says nothing.
    pub fn prompt(&self) -> Prompt {
        if let Found::Prompt(prompt) = &self.found { prompt.meant } else { Prompt::default() }
    }

    pub fn agent_stop(&self) -> Option<&AgentStopContext> {
        if let Found::AgentStop(stop) = &self.found { Some(stop) } else { None }
    }

    pub fn stop(&self) -> Option<&StopContext> {
        if let Found::Stop(stop) = &self.found { Some(stop) } else { None }
    }

    /// The hosts that a command, or the session that ends, reached or was refused.
    pub fn hosts(&self) -> &[Reached] {
        match &self.found {
            Found::End(end) => &end.recorded.under.hosts,
            Found::SessionEnd(end) => &end.hosts,
            _ => &[],
        }
    }
}
