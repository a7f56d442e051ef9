//! In the client's auto mode the model reads an agent's report before the event of its end comes.
//!
//! Reads session and prompt; writes nothing. Invariant: what the report says counts only with that event;
//! until then it only decides what the model reads next.

use crate::config::texts::{Library, Reading};
use crate::model::agent::{AgentId, ours};
use crate::model::event::Event;
use crate::session::agent_report;
use crate::session::fact::{Fact, Reported};
use crate::session::fold::Session;
use crate::text::time::timestamp;

/// How the client begins a prompt that brings the words of an agent.
const MESSAGE: &str = "<agent-message from=\"";
const END: &str = "</agent-message>";

/// The session as it will be when the end of this agent is recorded, if the prompt hands over its report.
pub(super) fn with_report(env: &Reading, session: &Session, event: &Event, of: AgentId) -> Option<Session> {
    let (id, words) = event.prompt().strip_prefix(MESSAGE)?.split_once('"')?;
    let agent = ours(of.name())?;
    session.awaited(id, agent.name)?;
    // The client indents every line of the report.
    let report = words.rsplit_once(END)?.0.replace("\n  ", "\n");
    let finding = agent_report::read(agent, &report, &Library::workflow_gates(env)).ok()?;
    let report =
        Reported { agent: of.into(), agent_id: id.to_owned(), finding: Some(finding), ..Reported::default() };
    let mut session = session.clone();
    let trace = session.state.session_id.clone();
    session.apply(&trace, &timestamp(env.now_ms), &Fact::Verdict(report)).ok()?;
    Some(session)
}
