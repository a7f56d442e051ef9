//! The calls and agents of a session with their times, from its ledger.
//!
//! Reads one ledger. What has no end in the ledger ends with the session.

use crate::insight::collect;
use crate::insight::tally::Tally;
use crate::ledger::recover::LEDGER_FILE;
use crate::model::call::CallState;
use crate::session::fact::{Fact, Seen, Step};
use crate::text::time;
use std::io;
use std::path::Path;

#[derive(Debug)]
pub(super) struct CallSpan {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) agent_id: Option<String>,
    pub(super) from_ms: i64,
    pub(super) to_ms: Option<i64>,
    pub(super) state: CallState,
    pub(super) gate: Option<String>,
    pub(super) reason: Option<String>,
}

#[derive(Debug)]
pub(super) struct AgentSpan {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) from_ms: i64,
    pub(super) to_ms: Option<i64>,
}

#[derive(Debug, Default)]
pub(super) struct Trace {
    pub(super) tally: Tally,
    pub(super) calls: Vec<CallSpan>,
    pub(super) agents: Vec<AgentSpan>,
}

impl Trace {
    pub(super) fn of(folder: &Path, session_id: &str) -> io::Result<Self> {
        let mut trace = Self { tally: Tally::new(), ..Self::default() };
        collect::entries(&folder.join(LEDGER_FILE), |line, fact| {
            let at_ms = time::parse(line.ts).unwrap_or(0);
            match fact {
                Fact::Call(step) => trace.add_call(at_ms, step),
                Fact::Event(seen) => trace.add_agent(at_ms, seen),
                _ => {}
            }
            trace.tally.add(session_id, line, fact);
        })?;
        Ok(trace)
    }

    fn add_call(&mut self, at_ms: i64, step: &Step) {
        if step.to == CallState::Pending {
            self.calls.push(CallSpan {
                id: step.call.id.clone(),
                tool: step.call.tool.clone(),
                agent_id: step.agent_id.clone(),
                from_ms: at_ms,
                to_ms: None,
                state: step.to,
                gate: None,
                reason: None,
            });
            return;
        }
        let open = |call: &&mut CallSpan| call.to_ms.is_none() && call.id == step.call.id;
        if let Some(call) = self.calls.iter_mut().rev().find(open) {
            call.state = step.to;
            if step.to.is_terminal() {
                call.to_ms = Some(at_ms);
                (call.gate, call.reason) = (step.gate.clone(), step.reason.clone());
            }
        }
    }

    fn add_agent(&mut self, at_ms: i64, seen: &Seen) {
        let Some(id) = &seen.agent_id else { return };
        match seen.event.as_str() {
            "SubagentStart" => {
                let kind = seen.agent_type.as_deref().unwrap_or("subagent");
                let kind = kind.strip_prefix("aops:").unwrap_or(kind).to_owned();
                self.agents.push(AgentSpan { id: id.clone(), kind, from_ms: at_ms, to_ms: None });
            }
            "SubagentStop" => {
                if let Some(agent) = self.agents.iter_mut().rev().find(|agent| agent.id == *id) {
                    agent.to_ms = Some(at_ms);
                }
            }
            _ => {}
        }
    }
}
