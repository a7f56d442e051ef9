//! What a task can owe at the end of a turn. Stored by name.

use crate::model::agent::AgentId;
use crate::model::gate_id::GateId;
use crate::model::named::{Stored, named};
use crate::text::template::Phrase;

named! {
    pub enum DebtId {
        Hydrator = "prompt-hydrator",
        Critic = "critic",
        Custodiet = "custodiet",
        QaVerifier = "qa-verifier",
        Framework = "framework",
        Format = "format",
        Checks = "checks",
        Evidence = "evidence",
        Tracker = "tracker",
        Commit = "commit",
        Pull = "pull",
        Sync = "sync",
        Push = "push",
    }
}

/// One thing that a task owes, and the shipped line that says how to pay it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Debt {
    pub id: DebtId,
    pub line: Phrase,
}

impl DebtId {
    /// The gate that requires it: a refused stop is counted for this gate.
    pub fn gate(self) -> GateId {
        match self {
            Self::Hydrator => GateId::Sandbox,
            Self::Critic => GateId::Critic,
            Self::Custodiet => GateId::Audit,
            Self::QaVerifier => GateId::Qa,
            Self::Framework => GateId::Reflect,
            Self::Format => GateId::Format,
            Self::Checks | Self::Evidence => GateId::Checks,
            Self::Tracker | Self::Commit => GateId::Commit,
            Self::Pull | Self::Sync | Self::Push => GateId::Push,
        }
    }

    /// It is the report of one of our agents.
    pub fn is_report(self) -> bool {
        AgentId::ALL.into_iter().any(|agent| Self::from(agent) == self)
    }

    /// The name of the gate that requires it; a debt of another version is counted under its own name.
    pub fn gate_name(owed: &Stored<Self>) -> &str {
        owed.known().map_or(owed.name(), |debt| debt.gate().name())
    }
}

impl From<AgentId> for DebtId {
    fn from(agent: AgentId) -> Self {
        match agent {
            AgentId::Hydrator => Self::Hydrator,
            AgentId::Critic => Self::Critic,
            AgentId::Custodiet => Self::Custodiet,
            AgentId::QaVerifier => Self::QaVerifier,
            AgentId::Framework => Self::Framework,
        }
    }
}
