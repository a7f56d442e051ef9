//! The enums of a run: its status, how it and its steps end, and why it pauses.
//!
//! Reads nothing, writes nothing. Invariant: every status but the last can be continued.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum RunStatus {
    #[default]
    Init,
    Running,
    /// Paused; a packet says why.
    Checkpoint,
    Resumed,
    Terminal,
    /// Its driver died. A person must resume it.
    Terminated,
}

/// How a run or a step ended, or what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Outcome {
    Pass,
    Blocked,
    /// A person must allow a call, or waive a failed check.
    WaiverRequested,
    /// A person must look: budget or time ran out, or a process was killed.
    EscalationRequested,
}

/// Why a run paused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Trigger {
    #[default]
    AskUser,
    BudgetExhausted,
    /// A step ended with a failed check of the user.
    CheckFailed,
    StepTimeout,
    /// The step's program was killed.
    Killed,
    /// Ctrl-C or SIGTERM.
    Interrupted,
    /// The driver itself was killed.
    Terminated,
}

/// A person's decision on a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Decision {
    Approved,
    Rejected,
}

/// The reason of a run that ended because the policy changed.
pub const POLICY_CHANGED: &str = "POLICY_CHANGED_MID_RUN";

impl RunStatus {
    pub fn name(self) -> &'static str {
        match self {
            RunStatus::Init => "INIT",
            RunStatus::Running => "RUNNING",
            RunStatus::Checkpoint => "CHECKPOINT",
            RunStatus::Resumed => "RESUMED",
            RunStatus::Terminal => "TERMINAL",
            RunStatus::Terminated => "TERMINATED",
        }
    }

    /// A driver should be working on it.
    pub fn is_driven(self) -> bool {
        matches!(self, RunStatus::Init | RunStatus::Running | RunStatus::Resumed)
    }
}

impl Outcome {
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Pass => "PASS",
            Outcome::Blocked => "BLOCKED",
            Outcome::WaiverRequested => "WAIVER_REQUESTED",
            Outcome::EscalationRequested => "ESCALATION_REQUESTED",
        }
    }

    pub fn exit(self) -> u8 {
        match self {
            Outcome::Pass => 0,
            Outcome::Blocked => 1,
            Outcome::WaiverRequested | Outcome::EscalationRequested => 3,
        }
    }
}

impl Trigger {
    pub fn outcome(self) -> Outcome {
        match self {
            Trigger::AskUser | Trigger::CheckFailed => Outcome::WaiverRequested,
            _ => Outcome::EscalationRequested,
        }
    }

    /// A person must decide before `resume`; for the others `resume` itself is the decision.
    pub fn wants_decision(self) -> bool {
        use Trigger::{AskUser, BudgetExhausted, CheckFailed, StepTimeout};
        matches!(self, AskUser | BudgetExhausted | CheckFailed | StepTimeout)
    }
}

impl Decision {
    pub fn name(self) -> &'static str {
        match self {
            Decision::Approved => "APPROVED",
            Decision::Rejected => "REJECTED",
        }
    }
}
