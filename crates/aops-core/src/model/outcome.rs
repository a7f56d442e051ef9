//! How things end: verdicts of our agents, outcomes of a phase, a check, a session and a run. Stored by name.

use crate::model::named::named;
use serde::{Deserialize, Serialize};
use std::fmt;

named! {
    /// The verdict in a reviewer's report.
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
        /// A person must decide what comes next.
        AskUser = "ASK_USER",
        /// It is repaired, and tried again.
        InterventionRequired = "INTERVENTION_REQUIRED",
        Halt = "HALT",
    }
}

named! {
    /// The result of a session. A report draws them in this order.
    pub enum SessionOutcome {
        Success = "success",
        Partial = "partial",
        Failure = "failure",
        /// No loop was enforced, so nothing had to be verified.
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
        /// For a step: the verifier found issues, and an intervention follows.
        InterventionRequired = "INTERVENTION_REQUIRED",
        /// A person must look: budget or time ran out, or a process was killed.
        EscalationRequested = "ESCALATION_REQUESTED",
    }
}

impl RunOutcome {
    /// The outcome of the step's phase.
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

/// How one of the user's checks ended. Stored as one text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum CheckEnding {
    Exit(i32),
    Signal(i32),
    /// It exceeded its timeout.
    CutOff,
    /// It concerns other files, and was not run.
    NotConcerned,
    /// Why it did not start.
    NotStarted(String),
}

impl Default for CheckEnding {
    fn default() -> Self {
        Self::NotStarted(String::new())
    }
}

impl fmt::Display for CheckEnding {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "exit {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::CutOff => f.write_str("cut off"),
            Self::NotConcerned => f.write_str("not concerned"),
            Self::NotStarted(why) => f.write_str(why),
        }
    }
}

impl From<String> for CheckEnding {
    fn from(stored: String) -> Self {
        let number = stored.split_once(' ').and_then(|(_, number)| number.parse().ok());
        let exit = number.map(Self::Exit).into_iter().chain(number.map(Self::Signal));
        let mut all = exit.chain([Self::CutOff, Self::NotConcerned]);
        all.find(|ending| ending.to_string() == stored).unwrap_or(Self::NotStarted(stored))
    }
}

impl From<CheckEnding> for String {
    fn from(ending: CheckEnding) -> Self {
        ending.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::CheckEnding;

    #[test]
    fn an_ending_is_stored_as_it_is_said() {
        for (text, ending) in [
            ("exit 1", CheckEnding::Exit(1)),
            ("signal 9", CheckEnding::Signal(9)),
            ("cut off", CheckEnding::CutOff),
            ("not concerned", CheckEnding::NotConcerned),
            ("exit +1", CheckEnding::NotStarted("exit +1".to_owned())),
            ("did not start: no shell", CheckEnding::NotStarted("did not start: no shell".to_owned())),
            ("", CheckEnding::default()),
        ] {
            assert_eq!(CheckEnding::from(text.to_owned()), ending);
            assert_eq!(String::from(ending), text);
        }
    }
}
