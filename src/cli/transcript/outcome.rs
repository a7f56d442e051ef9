//! First pass over the transcripts: how each call ended, and which call started which subagent.
//!
//! Reads the session's file and those of its subagents. Invariant: keeps a few words per call and none of its output.

use crate::claude::transcript::entry::{Beside, Lines, Read, TranscriptEntry, beside};
use crate::text::time;
use serde::Deserialize;
use std::collections::HashMap;
use std::io;
use std::path::Path;

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
        for block in record.message.iter().flat_map(crate::claude::transcript::entry::Message::blocks) {
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
