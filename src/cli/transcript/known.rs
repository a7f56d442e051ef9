//! First pass: how each call ended, which call started which subagent, and what the gates answered.
//!
//! Reads the session's transcript, those of its subagents, and its ledger. Calls are found by their id, everything else by
//! its time. Invariant: keeps a few words per call and none of its output.

use crate::claude::transcript::entry::{Beside, Lines, Message, Read, TranscriptEntry, beside};
use crate::insight::collect;
use crate::insight::timeline::words;
use crate::ledger::recover::LEDGER_FILE;
use crate::model::call::CallState;
use crate::model::event::EventKind;
use crate::session::fact::{Fact, Step};
use crate::text::time;
use serde::Deserialize;
use std::collections::HashMap;
use std::io;
use std::path::Path;

/// An answer of a gate, or another event that the transcript shows.
#[derive(Debug)]
pub(super) struct GateNote {
    pub(super) at_ms: i64,
    pub(super) text: String,
    /// Shown only if there is no transcript.
    pub(super) alone: bool,
}

#[derive(Debug, Default)]
pub(super) struct GateNotes {
    pub(super) notes: Vec<GateNote>,
    /// The end of each call.
    pub(super) calls: HashMap<String, Step>,
}

impl GateNotes {
    pub(super) fn of(folder: &Path) -> io::Result<Self> {
        let mut gates = Self::default();
        collect::entries(&folder.join(LEDGER_FILE), |line, fact| {
            gates.add(time::parse(line.ts).unwrap_or(0), fact);
        })?;
        Ok(gates)
    }

    fn add(&mut self, at_ms: i64, fact: &Fact) {
        let mut say = |text: String, alone: bool| self.notes.push(GateNote { at_ms, text, alone });
        match fact {
            Fact::Event(seen) => {
                if let Some(said) = seen.said.as_ref().filter(|said| !said.reason.is_empty()) {
                    say(format!("`{}` {} {}: {}", said.gate, past_tense(&said.ruling), seen.event, said.reason), false);
                }
                let is_prompt = EventKind::of(&seen.event) == EventKind::UserPromptSubmit;
                if let Some(prompt) = words(seen, "prompt").filter(|_| is_prompt) {
                    say(format!("**Prompt.** {prompt}"), true);
                }
            }
            Fact::Call(step) if step.to == CallState::Pending => {
                let input = step.input.as_ref().map_or("{}", |input| input.get());
                say(format!("**{}** {input}", step.call.tool), true);
            }
            Fact::Call(step) if step.to.is_terminal() => {
                if let Some(gate) = step.gate.as_ref().filter(|_| step.to == CallState::Denied) {
                    let reason = step.reason.as_deref().unwrap_or_default();
                    say(format!("`{gate}` refused {}: {reason}", step.call.tool), true);
                }
                self.calls.insert(step.call.id.clone(), step.clone());
            }
            Fact::Block(block) => say(format!("blocked by {}: {}", block.by, block.reason), false),
            Fact::Unblock(lifted) => say(format!("block lifted by {}", lifted.by), false),
            Fact::Waive(waiver) => say(format!("`{}` waived: {}", waiver.gate, waiver.reason), false),
            Fact::Verdict(report) => {
                if let Some(verdict) = report.finding.as_ref().and_then(|finding| finding.verdict.as_ref()) {
                    say(format!("verdict of `{}`: {verdict}", report.agent), false);
                }
            }
            _ => {}
        }
    }
}

fn past_tense(ruling: &str) -> &'static str {
    match ruling {
        "deny" => "refused",
        "ask" => "asked about",
        _ => "spoke at",
    }
}

#[derive(Debug, Default)]
pub(super) struct CallOutcome {
    pub(super) is_error: Option<bool>,
    called_ms: Option<i64>,
    ended_ms: Option<i64>,
}

impl CallOutcome {
    /// From the call to its result, with the time a person took to allow it.
    pub(super) fn took_ms(&self) -> Option<u64> {
        u64::try_from(self.ended_ms? - self.called_ms?).ok()
    }
}

#[derive(Debug, Default)]
pub(super) struct CallOutcomes {
    pub(super) calls: HashMap<String, CallOutcome>,
    /// Subagents, and the calls that started them.
    pub(super) agents: Vec<Beside>,
}

#[derive(Deserialize)]
struct Started {
    #[serde(default, rename = "agentId")]
    agent_id: Option<String>,
}

impl CallOutcomes {
    pub(super) fn of(transcript: &Path) -> io::Result<Self> {
        let mut outcomes = Self { agents: beside(transcript), ..Self::default() };
        outcomes.read(transcript)?;
        for path in outcomes.agents.iter().map(|agent| agent.path.clone()).collect::<Vec<_>>() {
            outcomes.read(&path)?;
        }
        Ok(outcomes)
    }

    fn read(&mut self, path: &Path) -> io::Result<()> {
        let mut lines = Lines::open(path)?;
        while let Some(line) = lines.next_line()? {
            if let Read::Talk(record) = TranscriptEntry::read(line) {
                self.add(&record);
            }
        }
        Ok(())
    }

    fn add(&mut self, record: &TranscriptEntry) {
        let at = time::parse(&record.timestamp);
        for block in record.message.iter().flat_map(Message::blocks) {
            match block.kind.as_ref() {
                "tool_use" => self.calls.entry(block.id.to_string()).or_default().called_ms = at,
                "tool_result" => {
                    let id = block.tool_use_id.to_string();
                    let outcome = self.calls.entry(id.clone()).or_default();
                    (outcome.is_error, outcome.ended_ms) = (Some(block.is_error == Some(true)), at);
                    let started = record.result.and_then(|raw| serde_json::from_str::<Started>(raw.get()).ok());
                    let agent_id = started.and_then(|started| started.agent_id);
                    let found = self.agents.iter_mut().find(|agent| Some(&agent.agent_id) == agent_id.as_ref());
                    if let Some(agent) = found.filter(|agent| agent.call.is_empty()) {
                        agent.call = id;
                    }
                }
                _ => {}
            }
        }
    }
}
