//! The words of a run: its states, how it and its steps end, and why it pauses.
//!
//! Reads nothing, writes nothing. A run is a chain of steps that a driver walks without a person; everything it did is in
//! the attempt ledger, and what is here is folded from that. Invariant: every state but the last has a way on.

use serde::{Deserialize, Serialize};

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum RunStatus {
    #[default]
    Init,
    Running,
    /// Paused; a packet says for what.
    Checkpoint,
    Resumed,
    Terminal,
    /// Its driver died. Nothing goes on by itself.
    Terminated,
}

/// How a run or one of its steps ended, or what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Outcome {
    Pass,
    Blocked,
    /// A gate wants a person's word: on one call, or on a check that fails.
    WaiverRequested,
    /// A person has to look: money or time ran out, or somebody was killed.
    EscalationRequested,
}

/// Why a run paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Trigger {
    AskUser,
    BudgetExhausted,
    /// A check of the user failed, and the step ended so.
    CheckFailed,
    StepTimeout,
    /// The step's program was killed.
    Killed,
    /// Ctrl-C, or a polite signal.
    Interrupted,
    /// The driver itself was killed.
    Terminated,
}

/// What a person said about a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Decision {
    Approved,
    Rejected,
}

/// The reason of a run that was ended since the rules changed under it.
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

    /// A driver should be at work.
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

    /// A person must decide before it goes on; for the rest an explicit `resume` is decision enough.
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
