//! Translates the ledger's words into those of a statement.
//!
//! Pure.

use aops_attest::statement::{By, Hold, Verdict};
use aops_core::model::agent::AgentId;
use aops_core::model::outcome::AgentVerdict;
use aops_core::model::profile;

pub(super) fn hold(hold: profile::Hold) -> Hold {
    match hold {
        profile::Hold::Namespaces => Hold::Namespaces,
        profile::Hold::Landlock => Hold::Landlock,
        profile::Hold::Seatbelt => Hold::Seatbelt,
        profile::Hold::Words => Hold::Words,
    }
}

pub(super) fn by_agent(agent: AgentId) -> By {
    match agent {
        AgentId::Hydrator => By::PromptHydrator,
        AgentId::Critic => By::Critic,
        AgentId::Custodiet => By::Custodiet,
        AgentId::QaVerifier => By::QaVerifier,
        AgentId::Framework => By::Framework,
    }
}

pub(super) fn verdict_of(verdict: AgentVerdict) -> Verdict {
    match verdict {
        AgentVerdict::Proceed => Verdict::Proceed,
        AgentVerdict::Revise => Verdict::Revise,
        AgentVerdict::Halt => Verdict::Halt,
        AgentVerdict::Ok => Verdict::Ok,
        AgentVerdict::Block => Verdict::Block,
        AgentVerdict::Verified => Verdict::Verified,
        AgentVerdict::Issues => Verdict::Issues,
    }
}
