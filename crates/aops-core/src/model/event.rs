//! The kinds of events of Claude Code, and the form in which we represent one event.
//!
//! Reads nothing, writes nothing. `EVENTS` is the only table of kinds: `hooks.json`, the wire forms, the
//! installer and the docs are derived from it. Invariant: an unknown name is an event too, never an error.

use crate::model::agent::{self, Agent};
use crate::model::call::ToolCall;
use crate::model::named::{Named, Stored};
use crate::model::permission_mode::PermissionMode;
use std::time::Duration;

/// How a kind of event expresses a refusal. The exact format is the wire's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Cannot be refused: a `Deny` becomes a warning.
    None,
    /// The tool call's own permission decision.
    Permission,
    /// The answer to a permission dialog.
    Dialog,
    /// A top-level block with its reason.
    Block,
    /// The reason only on stderr: otherwise the client would show it to the model twice.
    Words,
}

/// The fixed properties of one kind of event.
#[derive(Debug, PartialEq, Eq)]
pub struct EventRow {
    pub kind: EventKind,
    pub name: &'static str,
    /// If aops-hook itself is broken, this event is refused.
    pub guarding: bool,
    pub refusal: Refusal,
    /// Accepts text for the model.
    pub context: bool,
    /// How many seconds the client waits for the hook; 0 if it is not registered.
    pub timeout: u32,
}

/// Generates the enum and its table from the same rows, so that `EVENTS[kind as usize]` is the row of `kind`.
macro_rules! events {
    ($($name:ident: $guarding:literal, $refusal:ident, $context:literal, $timeout:literal;)*) => {
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum EventKind {
            $($name,)*
            /// A name that this version does not know. `Event::name` contains it.
            #[default]
            Other,
        }

        /// Every event of Claude Code 2.1.325, in the order of a session.
        pub static EVENTS: &[EventRow] = &[$(EventRow {
            kind: EventKind::$name,
            name: stringify!($name),
            guarding: $guarding,
            refusal: Refusal::$refusal,
            context: $context,
            timeout: $timeout,
        },)*];
    };
}

events! {
    // name: guarding, refusal, context, timeout
    Setup: false, None, false, 10;
    SessionStart: false, None, true, 15;
    InstructionsLoaded: false, None, false, 10;
    // At a prompt, PreToolUse and Stop we run the user's checks; `policy::check::BUDGET_MS` is below their
    // timeouts.
    UserPromptSubmit: true, Block, true, 600;
    UserPromptExpansion: false, None, true, 10;
    PreToolUse: true, Permission, true, 600;
    PermissionRequest: true, Dialog, false, 10;
    PermissionDenied: false, None, false, 10;
    PostToolUse: false, None, true, 10;
    PostToolUseFailure: false, None, true, 10;
    PostToolBatch: true, Block, true, 10;
    SubagentStart: false, None, true, 10;
    SubagentStop: false, Words, false, 15;
    TaskCreated: true, Block, false, 10;
    TaskCompleted: true, Block, false, 10;
    TeammateIdle: false, None, false, 10;
    Notification: false, None, false, 10;
    Elicitation: false, None, false, 10;
    ElicitationResult: false, None, false, 10;
    ConfigChange: true, Block, false, 10;
    CwdChanged: false, None, false, 10;
    DirectoryAdded: false, None, false, 10;
    FileChanged: false, None, false, 10;
    // A registered hook would have to create the worktree instead of git.
    WorktreeCreate: false, None, false, 0;
    WorktreeRemove: false, None, false, 0;
    // Sent for every piece of displayed text; the transcript contains all of it.
    MessageDisplay: false, None, false, 0;
    PreModelSwitch: false, None, false, 10;
    PostModelSwitch: false, None, false, 10;
    PreCompact: false, None, false, 10;
    PostCompact: false, None, false, 10;
    Stop: false, Words, false, 600;
    StopFailure: false, None, false, 10;
    SessionEnd: false, None, false, 10;
}

/// An unknown event is recorded and passes.
static UNKNOWN: EventRow = EventRow {
    kind: EventKind::Other,
    name: "",
    guarding: false,
    refusal: Refusal::None,
    context: false,
    timeout: 0,
};

/// The session is never locked longer than this for one event: other hooks of the session wait six seconds
/// for it.
const LONGEST_LOCKED: Duration = Duration::from_secs(3);
/// The client allows all hooks at a session's end 1.5 s in total, whatever their registered timeouts.
const SESSION_END: Duration = Duration::from_millis(1400);

impl Named for EventKind {
    fn name(self) -> &'static str {
        self.row().name
    }

    fn of(name: &str) -> Option<Self> {
        EVENTS.iter().find(|row| row.name == name).map(|row| row.kind)
    }
}

impl EventKind {
    pub fn of(name: &str) -> Self {
        Named::of(name).unwrap_or_default()
    }

    pub fn row(self) -> &'static EventRow {
        EVENTS.get(self as usize).unwrap_or(&UNKNOWN)
    }

    /// Event names begin with a capital letter; anything else on the command line is a command.
    pub fn is_event_name(word: &str) -> bool {
        word.starts_with(|c: char| c.is_ascii_uppercase())
    }

    /// Whether the client describes a call in it.
    pub fn is_about_call(self) -> bool {
        matches!(
            self,
            Self::PreToolUse
                | Self::PermissionRequest
                | Self::PermissionDenied
                | Self::PostToolUse
                | Self::PostToolUseFailure
        )
    }

    /// How long the hook may keep the session locked: a third of the registered timeout, at most
    /// `LONGEST_LOCKED`.
    pub fn time_locked(self) -> Duration {
        match (self, self.row().timeout) {
            (Self::SessionEnd, _) => SESSION_END,
            (_, 0) => LONGEST_LOCKED,
            (_, timeout) => (Duration::from_secs(timeout.into()) / 3).min(LONGEST_LOCKED),
        }
    }
}

/// One event: what every kind contains, and what this kind adds. Texts are complete; clipping is for the
/// ledger.
#[derive(Clone, Debug, Default)]
pub struct Event {
    /// The client's own name for it, even if the kind is `Other`.
    pub name: String,
    pub session_id: String,
    pub transcript_path: String,
    pub cwd: String,
    pub prompt_id: Option<String>,
    pub permission_mode: Option<Stored<PermissionMode>>,
    pub agent_id: Option<String>,
    pub agent_type: Option<String>,
    pub what: What,
    /// Everything else in the event: canonical, clipped, redacted JSON.
    pub about: String,
}

/// What happened. A kind without fields that we read is `Plain`, and so is a call's event without its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// `SessionStart`
    Started(SessionStart),
    /// `UserPromptSubmit`
    Prompted(PromptSent),
    /// `PreToolUse`: the call is about to be made.
    Asked(ToolCall),
    /// `PermissionRequest`: the client shows a person its question about the call.
    Shown(ToolCall),
    /// `PermissionDenied`
    Refused(ToolCall),
    /// `PostToolUse`, `PostToolUseFailure`
    Ended(EndedCall),
    /// `PostToolBatch`
    Batched(EndedBatch),
    /// `SubagentStop`
    AgentStopped(AgentStopped),
    /// `Stop`
    Stopped(TurnStopped),
    /// `ConfigChange`
    Configured(SettingsChanged),
    Plain(EventKind),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionStart {
    /// `startup`, `resume`, `clear`, `compact`, `fork`; empty if the client leaves it out.
    pub source: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptSent {
    pub text: String,
    /// Ended calls of agents, if this prompt is the client's own and reports them.
    pub ends: Vec<AgentEnd>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedCall {
    pub call: ToolCall,
    pub failed: bool,
    /// The agent's call that has ended with it.
    pub ends: Vec<AgentEnd>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedBatch {
    /// Agents' calls that have ended.
    pub ends: Vec<AgentEnd>,
    /// IDs of calls whose agents continue in the background.
    pub launched: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentStopped {
    /// The agent's last message.
    pub report: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnStopped {
    /// The agent's last message.
    pub report: String,
    /// Other agents that are still at work and will report; an empty text for one without an ID.
    pub busy_with: Vec<String>,
    /// What the client lists as still running; `None` if it lists no background work at all.
    pub running: Option<Vec<String>>,
    /// The prompts that timers of the session will send.
    pub timers: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsChanged {
    pub file_path: String,
}

/// An agent's call has ended, according to an event other than the agent's own `SubagentStop`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentEnd {
    /// The ID of the call that started it.
    pub call: String,
    pub agent_id: Option<String>,
    pub how: AgentEndKind,
    /// The agent's last message, if the call's result contains it.
    pub report: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentEndKind {
    #[default]
    Completed,
    /// The call failed, and the agent may never have begun.
    Failed,
    /// Somebody stopped the agent before its end.
    Stopped,
}

impl Default for What {
    fn default() -> Self {
        Self::Plain(EventKind::Other)
    }
}

impl What {
    /// An event of this kind without any details.
    fn of(kind: EventKind) -> Self {
        match kind {
            EventKind::SessionStart => Self::Started(SessionStart::default()),
            EventKind::UserPromptSubmit => Self::Prompted(PromptSent::default()),
            EventKind::PostToolBatch => Self::Batched(EndedBatch::default()),
            EventKind::SubagentStop => Self::AgentStopped(AgentStopped::default()),
            EventKind::Stop => Self::Stopped(TurnStopped::default()),
            EventKind::ConfigChange => Self::Configured(SettingsChanged::default()),
            kind => Self::Plain(kind),
        }
    }

    /// An event of this kind about a call.
    pub fn of_call(kind: EventKind, call: ToolCall, ends: Vec<AgentEnd>) -> Self {
        match kind {
            EventKind::PreToolUse => Self::Asked(call),
            EventKind::PermissionRequest => Self::Shown(call),
            EventKind::PermissionDenied => Self::Refused(call),
            EventKind::PostToolUse => Self::Ended(EndedCall { call, failed: false, ends }),
            EventKind::PostToolUseFailure => Self::Ended(EndedCall { call, failed: true, ends }),
            kind => Self::of(kind),
        }
    }
}

impl Event {
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), what: What::of(EventKind::of(name)), ..Self::default() }
    }

    /// The same event about this call, if its kind is about calls.
    #[must_use]
    pub fn with_call(self, call: ToolCall) -> Self {
        Self { what: What::of_call(self.kind(), call, Vec::new()), ..self }
    }

    /// The same event as if we knew only this name.
    #[must_use]
    pub fn known_as(self, name: &str) -> Self {
        Self { name: name.to_owned(), what: What::Plain(EventKind::Other), ..self }
    }

    pub fn kind(&self) -> EventKind {
        match &self.what {
            What::Started(_) => EventKind::SessionStart,
            What::Prompted(_) => EventKind::UserPromptSubmit,
            What::Asked(_) => EventKind::PreToolUse,
            What::Shown(_) => EventKind::PermissionRequest,
            What::Refused(_) => EventKind::PermissionDenied,
            What::Ended(end) if end.failed => EventKind::PostToolUseFailure,
            What::Ended(_) => EventKind::PostToolUse,
            What::Batched(_) => EventKind::PostToolBatch,
            What::AgentStopped(_) => EventKind::SubagentStop,
            What::Stopped(_) => EventKind::Stop,
            What::Configured(_) => EventKind::ConfigChange,
            What::Plain(kind) => *kind,
        }
    }

    pub fn call(&self) -> Option<&ToolCall> {
        match &self.what {
            What::Asked(call) | What::Shown(call) | What::Refused(call) => Some(call),
            What::Ended(end) => Some(&end.call),
            _ => None,
        }
    }

    pub fn call_mut(&mut self) -> Option<&mut ToolCall> {
        match &mut self.what {
            What::Asked(call) | What::Shown(call) | What::Refused(call) => Some(call),
            What::Ended(end) => Some(&mut end.call),
            _ => None,
        }
    }

    /// The call that is about to be made; `None` for any other kind of event.
    pub fn asked_call(&self) -> Option<&ToolCall> {
        if let What::Asked(call) = &self.what { Some(call) } else { None }
    }

    /// The text of a prompt; empty for any other event.
    pub fn prompt(&self) -> &str {
        if let What::Prompted(said) = &self.what { &said.text } else { "" }
    }

    /// Why the session starts, if it starts and the client says so.
    pub fn source(&self) -> &str {
        if let What::Started(start) = &self.what { &start.source } else { "" }
    }

    /// The agent's last message, if its turn or its work ends.
    pub fn report(&self) -> &str {
        match &self.what {
            What::AgentStopped(stop) => &stop.report,
            What::Stopped(stop) => &stop.report,
            _ => "",
        }
    }

    pub fn stopped(&self) -> Option<&TurnStopped> {
        if let What::Stopped(stop) = &self.what { Some(stop) } else { None }
    }

    /// Agents' calls that have ended according to this event.
    pub fn ends(&self) -> &[AgentEnd] {
        match &self.what {
            What::Prompted(said) => &said.ends,
            What::Ended(end) => &end.ends,
            What::Batched(batch) => &batch.ends,
            _ => &[],
        }
    }

    /// `None` also for a mode that only another version of the client knows.
    pub fn permission_mode(&self) -> Option<PermissionMode> {
        self.permission_mode.as_ref().and_then(Stored::known)
    }

    /// The client is in plan mode: it makes the plan, and a person approves it.
    pub fn is_planning(&self) -> bool {
        self.permission_mode() == Some(PermissionMode::Plan)
    }

    /// The agent of ours that sent this, by its name; the main agent has no ID.
    pub fn by_our_agent(&self) -> Option<&'static Agent> {
        self.agent_id.as_ref().and(self.agent_type.as_deref()).and_then(agent::ours)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_finds_its_row_and_an_unknown_name_is_an_event() {
        for row in EVENTS {
            assert_eq!((row.kind.row(), EventKind::of(row.name)), (row, row.kind));
            assert_eq!(Event::named(row.name).kind(), row.kind);
            assert_eq!(Event::named(row.name).with_call(ToolCall::default()).kind(), row.kind);
        }
        let odd = Event::named("SomethingNew");
        assert_eq!(
            (odd.kind(), odd.kind().row(), odd.name.as_str()),
            (EventKind::Other, &UNKNOWN, "SomethingNew")
        );
    }

    #[test]
    fn no_event_locks_the_session_for_long() {
        for row in EVENTS.iter().filter(|row| row.timeout > 0) {
            let locked = row.kind.time_locked();
            assert!(
                locked <= LONGEST_LOCKED && locked * 3 <= Duration::from_secs(row.timeout.into()),
                "{row:?}"
            );
        }
        assert!(EventKind::SessionEnd.time_locked() < Duration::from_millis(1500));
    }
}
