//! Which of our agents are at work: from the call that starts one until we know that it has ended.
//!
//! Changes a session and nothing else. Invariant: however an agent is interrupted, some later event ends it
//! here: its own stop, the end of its call, a person's prompt, a turn that ends without it, a new start of
//! the client.

use crate::model::agent::ours;
use crate::model::event::EventKind;
use crate::session::fact::{Fact, Seen, Step};
use crate::session::fold::Session;
use crate::session::memory::AtWork;
use crate::text::json::{self, Json};

/// At most this many are remembered; the oldest is dropped first.
const MOST: usize = 16;

impl Session {
    pub(super) fn follow_agents(&mut self, ts: &str, fact: &Fact) {
        match fact {
            Fact::Call(step) => self.follow_call(ts, step),
            Fact::Event(seen) if !self.memory.agents.at_work.is_empty() => self.follow_event(seen),
            Fact::Verdict(report) if !report.sent_on => {
                self.memory.agents.at_work.retain(|agent| agent.agent_id.as_ref() != Some(&report.agent_id));
            }
            _ => {}
        }
    }

    fn follow_call(&mut self, ts: &str, step: &Step) {
        let at_work = &mut self.memory.agents.at_work;
        if let Some(starts) =
            step.asks.as_ref().and_then(|asks| asks.starts.as_ref()).filter(|_| step.from.is_none())
        {
            if at_work.len() >= MOST {
                at_work.remove(0);
            }
            at_work.push(AtWork {
                agent_id: None,
                call: step.call.id.clone(),
                client: starts.client.clone(),
                name: starts.name.clone(),
                since: ts.to_owned(),
            });
        } else if step.to.is_terminal() && !step.ended().launched {
            at_work.retain(|agent| agent.call != step.call.id);
        }
    }

    fn follow_event(&mut self, seen: &Seen) {
        let refused = seen.is_refused();
        let name = seen.agent_type.as_deref().and_then(ours).map(|agent| agent.id);
        let is_named = |at_work: &AtWork| name.is_some_and(|id| at_work.name == id);
        let at_work = &mut self.memory.agents.at_work;
        match seen.kind() {
            EventKind::SubagentStart => {
                let started = at_work.iter_mut().find(|agent| agent.agent_id.is_none() && is_named(agent));
                if let Some(agent) = started {
                    agent.agent_id.clone_from(&seen.agent_id);
                }
            }
            EventKind::SubagentStop if !refused => {
                let same = |agent: &AtWork| {
                    agent.agent_id.as_ref().or(seen.agent_id.as_ref()) == seen.agent_id.as_ref()
                };
                at_work.retain(|agent| !is_named(agent) || !same(agent));
            }
            EventKind::UserPromptSubmit if seen.is_persons_prompt() => at_work.clear(),
            EventKind::Stop => {
                let running = list_running(seen);
                at_work.retain(|agent| agent.agent_id.as_ref().is_some_and(|id| running.contains(id)));
            }
            EventKind::SessionStart | EventKind::SessionEnd => at_work.clear(),
            _ => {}
        }
    }
}

/// The agents that the client lists as still running.
fn list_running(seen: &Seen) -> Vec<String> {
    let about = json::read(seen.about.get()).unwrap_or(Json::Null);
    let Some(Json::List(tasks)) = about.get("background_tasks") else { return Vec::new() };
    let runs = |task: &&Json| task.text_of("status").is_none_or(|status| status == "running");
    tasks.iter().filter(runs).filter_map(|task| task.text_of("id")).collect()
}
