//! How things end: what our agents say, how a phase, a check, a session and a run come out. Stored by name.

use crate::model::named::named;
use serde::{Deserialize, Serialize};

named! {
    /// The word of a reviewer's report.
    pub enum AgentVerdict {
        Proceed = "PROCEED",
        Revise = "REVISE",
        Halt = "HALT",
        Ok = "OK",
        Block = "BLOCK",
        Verified = "VERIFIED",
        Issues = "ISSUES",
    }
}

impl AgentVerdict {
    /// It sends the work back, or ends it.
    pub fn refuses(self) -> bool {
        matches!(self, Self::Revise | Self::Halt | Self::Block | Self::Issues)
    }
}

named! {
    /// How a phase of the loop, a step of a run, a gate or a check ends. Only `Pass` is success.
    pub enum PhaseOutcome {
        Pass = "PASS",
        /// What comes next is for a person to say.
        AskUser = "ASK_USER",
        /// It is mended, and tried again.
        InterventionRequired = "INTERVENTION_REQUIRED",
        Halt = "HALT",
    }
}

named! {
    /// What a session came to. A report draws them in this order.
    pub enum SessionOutcome {
        Success = "success",
        Partial = "partial",
        Failure = "failure",
        /// No loop was enforced, so nothing was to be verified.
        Completed = "completed",
    }
}

named! {
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    pub enum RunOutcome {
        Pass = "PASS",
        Blocked = "BLOCKED",
        /// A person must allow a call, or waive a failed check.
        WaiverRequested = "WAIVER_REQUESTED",
        /// Of a step: the verifier found issues, and an intervention follows.
        InterventionRequired = "INTERVENTION_REQUIRED",
        /// A person must look: budget or time ran out, or a process was killed.
        EscalationRequested = "ESCALATION_REQUESTED",
    }
}

impl RunOutcome {
    /// How the phase of the step ends.
    pub fn of_phase(self) -> PhaseOutcome {
        match self {
            Self::Pass => PhaseOutcome::Pass,
            Self::Blocked => PhaseOutcome::Halt,
            Self::InterventionRequired => PhaseOutcome::InterventionRequired,
            Self::WaiverRequested | Self::EscalationRequested => PhaseOutcome::AskUser,
        }
    }

    pub fn exit(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Blocked | Self::InterventionRequired => 1,
            Self::WaiverRequested | Self::EscalationRequested => 3,
        }
    }
}
