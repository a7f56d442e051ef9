//! Second pass: writes record after record, the gates' answers between them, and subagents below their call.
//!
//! Reads transcripts, writes the page. Invariant: each record and each subagent is written once; subagents whose call is
//! unknown come last.

use super::gates::GateNotes;
use super::outcome::CallOutcomes;
use super::page::{Page, safe};
use crate::claude::transcript::entry::{Block, Lines, Read, TranscriptEntry, text};
use crate::gate::sandbox;
use crate::model::call::{CallKey, CallState, ToolCall};
use crate::text::json;
use crate::text::template::one_line;
use crate::text::time;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Nested agents that are written below their call.
const DEEPEST: usize = 6;

pub(super) struct Writer<'a> {
    page: Page<'a>,
    gates: &'a GateNotes,
    outcomes: &'a CallOutcomes,
    short: bool,
    /// Index of the next gate note.
    next: usize,
    written: BTreeSet<String>,
    last_spoke: String,
    pub(super) unknown: u64,
}

impl<'a> Writer<'a> {
    pub(super) fn new(page: Page<'a>, gates: &'a GateNotes, outcomes: &'a CallOutcomes, short: bool) -> Self {
        Self { page, gates, outcomes, short, next: 0, written: BTreeSet::new(), last_spoke: String::new(), unknown: 0 }
    }

    pub(super) fn session(&mut self, transcript: &Path) -> io::Result<()> {
        self.file(transcript)?;
        self.write_notes_until(i64::MAX)?;
        for agent in &self.outcomes.agents {
            if !self.written.contains(&agent.agent_id) {
                self.subagent(&agent.agent_id)?;
            }
        }
        if self.unknown > 0 {
            self.page.line(&format!("_{} records of an unknown kind were passed over._", self.unknown))?;
        }
        Ok(())
    }

    /// A session without a transcript: what the ledger has.
    pub(super) fn ledger_alone(&mut self) -> io::Result<()> {
        self.page.line("_No transcript; this is what the ledger kept._")?;
        for note in &self.gates.notes {
            self.page.text(&format!("{} {}", clock(note.at_ms), note.text))?;
        }
        Ok(())
    }

    fn file(&mut self, path: &Path) -> io::Result<()> {
        let mut lines = Lines::open(path)?;
        while let Some(line) = lines.next_line()? {
            match TranscriptEntry::read(line) {
                Read::Talk(record) => self.record(&record)?,
                Read::Other => {}
                Read::Unknown => self.unknown += 1,
            }
        }
        self.unknown += lines.too_long;
        Ok(())
    }

    fn record(&mut self, record: &TranscriptEntry) -> io::Result<()> {
        let Some(message) = &record.message else { return Ok(()) };
        let at = time::parse(&record.timestamp);
        if let Some(at) = at.filter(|_| self.page.depth == 0) {
            self.write_notes_until(at)?;
        }
        let who = if record.kind == "user" { "Prompt" } else { "Answer" };
        let when = at.map(clock).unwrap_or_default();
        if record.is_meta == Some(true) {
            return Ok(());
        }
        if let Some(words) = message.plain() {
            return self.said(who, &when, &message.id, &words);
        }
        for block in message.blocks() {
            match block.kind.as_ref() {
                "text" => {
                    let words = block.text.and_then(text).unwrap_or_default();
                    self.said(who, &when, &message.id, &words)?;
                }
                "thinking" if !self.short => {
                    let words = block.thinking.and_then(text).unwrap_or_default();
                    if !words.trim().is_empty() {
                        self.page.line(&format!("_Thinking:_ {}", one_line(&safe(&words, 4000), 2000)))?;
                    }
                }
                "tool_use" => self.call(&block)?,
                "tool_result" if !self.short => self.result(&block)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn said(&mut self, who: &str, when: &str, id: &str, words: &str) -> io::Result<()> {
        if words.trim().is_empty() {
            return Ok(());
        }
        // Several records of one message have one heading.
        if id.is_empty() || self.last_spoke != id {
            self.page.line(format!("## {who} {when}").trim_end())?;
        }
        id.clone_into(&mut self.last_spoke);
        self.page.text(words)
    }

    fn call(&mut self, block: &Block) -> io::Result<()> {
        let input = block.input.map_or("{}", |input| input.get());
        let call =
            ToolCall { key: CallKey::of(&block.name, &block.id), input: input.to_owned(), ..ToolCall::default() };
        let shown = safe(&sandbox::shown(&call), 300).replace(['`', '\n'], " ");
        self.page.line(&format!("**Call** `{shown}`: {}", self.ended(&block.id)))?;
        if let Some(ended) = self.gates.calls.get(block.id.as_ref())
            && let Some(gate) = &ended.gate
        {
            let reason = ended.reason.as_deref().unwrap_or_default();
            self.page.line(&format!("- gate `{gate}` refused it: {}", one_line(&safe(reason, 2000), 600)))?;
        }
        if !self.short
            && let Ok(json) = json::read(input)
        {
            self.page.fenced("json", &crate::text::json::canonical(&json))?;
        }
        let started = self.outcomes.agents.iter().filter(|agent| agent.call == block.id);
        for agent in started.map(|agent| agent.agent_id.clone()).collect::<Vec<_>>() {
            self.subagent(&agent)?;
        }
        Ok(())
    }

    /// `completed in 12 ms`, from ledger and transcript.
    fn ended(&self, id: &str) -> String {
        let (known, outcome) = (self.gates.calls.get(id), self.outcomes.calls.get(id));
        let state = match (known.and_then(|known| known.state), outcome.and_then(|o| o.is_error)) {
            (Some(CallState::Denied), _) => "denied",
            (Some(CallState::Failed), _) | (None, Some(true)) => "failed",
            (Some(CallState::Completed), _) | (None, Some(false)) => "completed",
            _ => "never ended",
        };
        let took = known
            .and_then(|known| known.duration_ms)
            .or_else(|| outcome.and_then(super::outcome::CallOutcome::took_ms));
        took.map_or_else(|| state.to_owned(), |ms| format!("{state} in {ms} ms"))
    }

    fn result(&mut self, block: &Block) -> io::Result<()> {
        let Some(content) = block.content else { return Ok(()) };
        let words = text(content).unwrap_or_else(|| {
            let blocks: Vec<Block> = serde_json::from_str(content.get()).unwrap_or_default();
            blocks.iter().filter_map(|block| block.text.and_then(text)).collect::<Vec<_>>().join("\n")
        });
        if words.trim().is_empty() {
            return Ok(());
        }
        self.page.line(if block.is_error == Some(true) { "Error:" } else { "Result:" })?;
        self.page.fenced("", &words)
    }

    fn subagent(&mut self, agent_id: &str) -> io::Result<()> {
        let Some(agent) = self.outcomes.agents.iter().find(|agent| agent.agent_id == agent_id) else {
            return Ok(());
        };
        if self.page.depth >= DEEPEST || !self.written.insert(agent_id.to_owned()) {
            return Ok(());
        }
        self.page.depth += 1;
        let kind = if agent.kind.is_empty() { "subagent" } else { &agent.kind };
        self.page.line(&format!("**Subagent** `{}` ({agent_id})", safe(kind, 100)))?;
        let written = self.file(&agent.path);
        self.page.depth -= 1;
        written
    }

    fn write_notes_until(&mut self, at_ms: i64) -> io::Result<()> {
        while let Some(note) = self.gates.notes.get(self.next).filter(|note| note.at_ms <= at_ms) {
            self.next += 1;
            if !note.alone {
                let words = one_line(&safe(&note.text, 3000), 1000);
                self.page.line(&format!("- {} gate: {words}", clock(note.at_ms)))?;
            }
        }
        Ok(())
    }
}

fn clock(ms: i64) -> String {
    let stamp = time::timestamp(ms);
    stamp.get(11..19).unwrap_or_default().to_owned()
}
