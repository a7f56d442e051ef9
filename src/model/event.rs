//! What Claude Code told us once: the kinds of event, and one event as we understand it.
//!
//! Reads nothing, writes nothing. `EVENTS` is the one table of kinds: `hooks.json`, the wire forms, the installer and the
//! docs follow from it. Invariant: an unknown name is an event too, never an error.

use crate::model::call::ToolCall;

/// How a kind of event spells a refusal. The spelling itself is the wire's business.
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
}

/// One kind of event, as a row.
#[derive(Debug, PartialEq, Eq)]
pub struct EventKind {
    pub name: &'static str,
    /// A guard that is itself broken refuses here.
    pub guarding: bool,
    pub refusal: Refusal,
    /// Takes text for the model.
    pub context: bool,
    /// Seconds the host waits for us; 0: we do not register for it.
    pub timeout: u32,
}

const fn kind(
    name: &'static str,
    guarding: bool,
    refusal: Refusal,
    context: bool,
    timeout: u32,
) -> EventKind {
    EventKind { name, guarding, refusal, context, timeout }
}

use Refusal::{Block, Dialog, None as Cannot, Permission};

/// Every event of Claude Code 2.1.325, in the order of a session.
pub static EVENTS: &[EventKind] = &[
    kind("Setup", false, Cannot, false, 10),
    kind("SessionStart", false, Cannot, true, 15),
    kind("InstructionsLoaded", false, Cannot, false, 10),
    kind("UserPromptSubmit", true, Block, true, 15),
    kind("UserPromptExpansion", false, Cannot, true, 10),
    // These two wait for the user's checks; `policy::check::BUDGET_MS` stays below.
    kind("PreToolUse", true, Permission, true, 600),
    kind("PermissionRequest", true, Dialog, false, 10),
    kind("PermissionDenied", false, Cannot, false, 10),
    kind("PostToolUse", false, Cannot, true, 10),
    kind("PostToolUseFailure", false, Cannot, true, 10),
    kind("PostToolBatch", true, Block, true, 10),
    kind("SubagentStart", false, Cannot, true, 10),
    kind("SubagentStop", false, Block, false, 15),
    kind("TaskCreated", true, Block, false, 10),
    kind("TaskCompleted", true, Block, false, 10),
    kind("TeammateIdle", false, Cannot, false, 10),
    kind("Notification", false, Cannot, false, 10),
    kind("Elicitation", false, Cannot, false, 10),
    kind("ElicitationResult", false, Cannot, false, 10),
    kind("ConfigChange", true, Block, false, 10),
    kind("CwdChanged", false, Cannot, false, 10),
    kind("DirectoryAdded", false, Cannot, false, 10),
    kind("FileChanged", false, Cannot, false, 10),
    // The host waits for the worktree we would have to make: registering would replace git's own.
    kind("WorktreeCreate", false, Cannot, false, 0),
    kind("WorktreeRemove", false, Cannot, false, 0),
    // Fires for every piece of text shown; the transcript has it all.
    kind("MessageDisplay", false, Cannot, false, 0),
    kind("PreModelSwitch", false, Cannot, false, 10),
    kind("PostModelSwitch", false, Cannot, false, 10),
    kind("PreCompact", false, Cannot, false, 10),
    kind("PostCompact", false, Cannot, false, 10),
    kind("Stop", false, Block, false, 600),
    kind("StopFailure", false, Cannot, false, 10),
    kind("SessionEnd", false, Cannot, false, 10),
];

/// A kind nobody knows yet: recorded and passed.
static UNKNOWN: EventKind = kind("", false, Cannot, false, 0);

impl EventKind {
    /// The row of this name, or the row for names we do not know.
    pub fn of(name: &str) -> &'static EventKind {
        EVENTS.iter().find(|k| k.name == name).unwrap_or(&UNKNOWN)
    }

    /// A host's name for an event begins with a capital letter; anything else is a command.
    pub fn is_event_name(word: &str) -> bool {
        word.starts_with(|c: char| c.is_ascii_uppercase())
    }

    /// The host refuses by itself when we crash or hang. It ignores that wish where it never refuses.
    pub fn blocks_on_failure(&self) -> bool {
        self.guarding
    }
}

/// One event: the common fields, and what this kind adds. Texts are whole; clipping is for the ledger.
#[derive(Clone, Debug, Default)]
pub struct Event {
    pub name: String,
    pub session_id: String,
    pub transcript_path: String,
    pub cwd: String,
    pub prompt_id: Option<String>,
    pub permission_mode: Option<String>,
    pub agent_id: Option<String>,
    pub agent_type: Option<String>,
    /// `PreToolUse`, `PostToolUse`, `PostToolUseFailure`, `PermissionRequest`, `PermissionDenied`.
    pub call: Option<ToolCall>,
    /// `UserPromptSubmit`.
    pub prompt: String,
    /// `SubagentStop`, `Stop`: the last thing the agent said.
    pub report: String,
    /// `Stop`: other agents are still at work.
    pub busy: bool,
    /// `SessionStart`, `SessionEnd`, `ConfigChange`: `source` or `reason`.
    pub source: String,
    /// `ConfigChange`, `InstructionsLoaded`, `FileChanged`.
    pub file_path: String,
    /// Everything else the event carried: canonical, clipped, redacted JSON.
    pub about: String,
}

impl Event {
    pub fn kind(&self) -> &'static EventKind {
        EventKind::of(&self.name)
    }
}
