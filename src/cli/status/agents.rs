//! What each of our agents said last.

use crate::cli::table::{NamedFact, Tone};
use aops_core::model::agent::AgentId;
use aops_core::model::outcome::AgentVerdict;
use aops_core::session::fold::Session;
use aops_core::session::state::Subagent;

pub(super) fn describe_agents(session: &Session) -> NamedFact {
    let state = &session.state;
    let works = |name: &String| session.memory.agents.at_work.iter().any(|agent| agent.name.name() == name);
    let said = |(name, agent): (&String, &Subagent)| match agent.said() {
        // Its verdict was about an earlier state of the work.
        _ if works(name) => format!("{name} (at work)"),
        Some(verdict) if is_outdated(session, name, verdict) => format!("{name} {verdict} (outdated)"),
        Some(verdict) => format!("{name} {verdict}"),
        None => name.clone(),
    };
    ("agents", state.subagents.iter().map(said).collect::<Vec<_>>().join(", "), Tone::Plain)
}

/// The verdict let the work go on and does not hold any more: something was changed, or a new task began.
fn is_outdated(session: &Session, name: &str, verdict: &str) -> bool {
    match AgentVerdict::of(verdict) {
        Some(AgentVerdict::Verified) => !session.memory.progress.proven.verified,
        Some(AgentVerdict::Proceed) => {
            name == AgentId::Critic.name() && !session.state.hydration.critic_said(AgentVerdict::Proceed)
        }
        _ => false,
    }
}
