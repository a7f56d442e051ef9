//! A typed view of one tool call, and the state machine of calls.
//!
//! Reads nothing, writes nothing. Invariant: `CallState::may_become` is the whole state machine; a transition
//! that it does not list is invalid.

pub use aops_shell::effect::Effect;

use crate::model::named::named;
use serde::{Deserialize, Serialize};

named! {
    /// The state of a call. A Moore machine: the state alone determines what the client was told.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "UPPERCASE")]
    pub enum CallState {
        #[default]
        Pending = "PENDING",
        Authorized = "AUTHORIZED",
        Denied = "DENIED",
        Executing = "EXECUTING",
        Completed = "COMPLETED",
        Failed = "FAILED",
    }
}

impl CallState {
    pub fn may_become(self, next: CallState) -> bool {
        use CallState::{Authorized, Completed, Denied, Executing, Failed, Pending};
        matches!(
            (self, next),
            (Pending, Authorized | Denied) | (Authorized, Executing) | (Executing, Completed | Failed)
        )
    }

    pub fn is_terminal(self) -> bool {
        matches!(self, CallState::Denied | CallState::Completed | CallState::Failed)
    }
}

/// Two calls with the same key are the same call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallKey {
    pub id: String,
    pub server: String,
    pub tool: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCall {
    pub key: CallKey,
    /// The tool's whole input, canonical and redacted.
    pub input: String,
    /// The input for the ledger: canonical, redacted, clipped.
    pub clipped: String,
    /// SHA-256 of the canonical, redacted, whole input.
    pub input_sha256: String,
    pub duration_ms: Option<u64>,
    /// `PostToolUseFailure`: what went wrong, clipped.
    pub error: String,
    /// `PostToolUse` of a call that started an agent: the agent continues in the background.
    pub launched: bool,
    /// `PostToolUse` of a command: the client put it into the background, or stopped it.
    pub unended: bool,
    /// A todo list in the input: how many are done, and how many there are.
    pub todos: Option<(u64, u64)>,
    /// `PostToolUse` of `ExitPlanMode`: the resulting plan.
    pub plan: Option<PlanMade>,
    /// `PostToolUse`, `PostToolUseFailure`: the result.
    pub result: Option<ToolResult>,
}

/// The part of a tool's result that we keep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Size of the result as the client sent it.
    pub bytes: u64,
    /// Its first lines, redacted; empty if it is not a string.
    pub head: String,
    /// SHA-256 of the result as the client sent it.
    pub sha256: String,
    /// Its last lines, redacted, if the first ones are not the whole text.
    pub tail: String,
}

impl ToolResult {
    /// The kept lines, joined into one.
    pub fn lines(&self) -> String {
        let ends = [&self.head, &self.tail].into_iter().filter(|text| !text.is_empty());
        ends.map(|text| text.lines().map(str::trim).collect::<Vec<_>>().join(" | "))
            .collect::<Vec<_>>()
            .join(" … ")
    }
}

/// The plan with which plan mode ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanMade {
    pub file: String,
    pub text: String,
}

impl CallKey {
    /// `mcp__server__tool` belongs to its server, every other tool to the client.
    pub fn of(tool_name: &str, id: &str) -> Self {
        let server = tool_name.strip_prefix("mcp__").and_then(|rest| rest.split("__").next());
        Self { id: id.to_owned(), server: server.unwrap_or("builtin").to_owned(), tool: tool_name.to_owned() }
    }
}
