//! The facts that follow from a report of one of our agents.
//!
//! Reads session, event and report; writes nothing. Invariants: only an agent that we wait for changes the
//! loop's state; a BLOCK always counts.

use super::{Context, parked};
use crate::model::agent::{Agent, AgentId, ours};
use crate::model::event::Event;
use crate::model::outcome::AgentVerdict;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::agent_report::AgentReport;
use crate::session::fact::{Blocked, Fact, Reported};
use crate::session::fold::Session;
use crate::text::json::cut;

/// Why a verification does not count.
const UNREVIEWED: &str = "the plan of this task is not in force yet, so nothing is verified";

/// The verdict of one of our agents, or that its report contained none. A BLOCK blocks the session
/// immediately, in the same batch.
pub(super) fn reported(session: &Session, event: &Event, verdict: &Verdict, context: &Context) -> Vec<Fact> {
    let (Some(stop), Some(id)) = (context.agent_stop(), event.agent_id.as_deref()) else { return Vec::new() };
    let Some(report) = &stop.report else { return Vec::new() };
    let Some(agent) = event.agent_type.as_deref().and_then(ours) else { return Vec::new() };
    if session.awaited(id, agent.name).is_none() || context.unproven.is_some() {
        return unawaited_block(session, agent, report, context);
    }
    let (finding, problem) = found(session, agent, report);
    let blocks = finding.as_ref().filter(|finding| finding.says(AgentVerdict::Block));
    let block = blocks.map(|finding| {
        Fact::Block(Blocked { by: agent.name.to_owned(), reason: finding.problems.join("; ") })
    });
    let sent_on = verdict.ruling == Ruling::Deny;
    let agent = agent.id;
    let agent_id = id.to_owned();
    let sent_back = session.state.hydration.critic_said(AgentVerdict::Revise);
    let replans =
        sent_back && agent == AgentId::Hydrator && finding.as_ref().is_some_and(AgentReport::continues);
    let tree = stop.verified_tree.clone();
    let takes_up = finding.as_ref().filter(|_| agent == AgentId::Hydrator && !replans);
    let takes_up = takes_up.and_then(|finding| parked::planned(session, finding));
    let todos = finding.as_ref().and_then(|finding| session.planned_todos(agent, finding));
    let left = stop.left.clone().filter(|_| takes_up.is_none() && !replans && !sent_on);
    let (parked_paths, parks) = left.map_or_else(<_>::default, |(paths, files)| (paths, Some(files)));
    let fact = Reported {
        agent: agent.into(),
        agent_id,
        finding,
        parked_paths,
        parks,
        problem,
        replans,
        sent_on,
        takes_up,
        todos,
        tree,
    };
    [Fact::Verdict(fact)].into_iter().chain(block).collect()
}

/// What a report says, or why it does not count.
fn found(
    session: &Session,
    agent: &Agent,
    report: &Result<AgentReport, String>,
) -> (Option<AgentReport>, Option<String>) {
    match report {
        Ok(_) if agent.id == AgentId::QaVerifier && session.awaits_plan_of().is_some() => {
            (None, Some(UNREVIEWED.to_owned()))
        }
        Ok(finding) => (Some(finding.clone()), None),
        Err(problem) => (None, Some(cut(problem, 600).to_owned())),
    }
}

/// The verdict of an agent whose start we did not see changes nothing, but its BLOCK counts: the session's
/// lock may have been held at the start, and a needless block only costs a person's answer.
fn unawaited_block(
    session: &Session,
    agent: &Agent,
    report: &Result<AgentReport, String>,
    context: &Context,
) -> Vec<Fact> {
    let foreign = context.agents.renamed.iter().any(|name| name == agent.name);
    let found = report
        .as_ref()
        .ok()
        .filter(|_| agent.id == AgentId::Custodiet && !foreign && session.blocked().is_none());
    let blocks = found.filter(|finding| finding.says(AgentVerdict::Block));
    let block =
        blocks.map(|finding| Blocked { by: agent.name.to_owned(), reason: finding.problems.join("; ") });
    block.map(Fact::Block).into_iter().collect()
}
