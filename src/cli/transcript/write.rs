//! Second pass: writes record after record, the gates' answers between them, and subagents below their call.
//!
//! Reads transcripts, writes the page. Invariants: each record and each subagent is written once, and
//! subagents whose call is unknown come last; every text of the session is redacted and without control
//! characters, and cannot end the fence around it.

use super::{CallOutcome, CallOutcomes, GateNotes};
use aops_core::gate::sandbox;
use aops_core::host::claude::transcript::entry::{Block, Lines, Read, TranscriptEntry, text};
use aops_core::model::call::{CallKey, CallState, ToolCall};
use aops_core::session::prompt::Prompt;
use aops_core::text::json::{self, cut};
use aops_core::text::plain::plain;
use aops_core::text::redact::redact;
use aops_core::text::template::one_line;
use aops_core::text::time;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

/// How deep nested agents are written below their call.
const DEEPEST: usize = 6;
/// The maximum length of one text in bytes; the rest is cut.
const LONGEST: usize = 64 << 10;

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
        Self {
            page,
            gates,
            outcomes,
            short,
            next: 0,
            written: BTreeSet::new(),
            last_spoke: String::new(),
            unknown: 0,
        }
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

    /// A session without a transcript: writes what the ledger has.
    pub(super) fn ledger_alone(&mut self) -> io::Result<()> {
        self.page.line("_No transcript; this is what the ledger kept._")?;
        for note in &self.gates.notes {
            let when = if note.is_reflection() { String::new() } else { clock(note.at_ms) + " " };
            self.page.text(&(when + &note.text))?;
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
            return self.write_words(who, &when, &message.id, &words);
        }
        for block in message.blocks() {
            match block.kind.as_ref() {
                "text" => {
                    let words = block.text.and_then(text).unwrap_or_default();
                    self.write_words(who, &when, &message.id, &words)?;
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

    fn write_words(&mut self, who: &str, when: &str, id: &str, words: &str) -> io::Result<()> {
        if words.trim().is_empty() {
            return Ok(());
        }
        // The client sends the model a prompt when an agent has ended.
        let who = if who == "Prompt" && Prompt::of(words) == Prompt::Machine { "Notification" } else { who };
        // Several records of one message share a heading.
        if id.is_empty() || self.last_spoke != id {
            self.page.line(format!("## {who} {when}").trim_end())?;
        }
        id.clone_into(&mut self.last_spoke);
        self.page.text(words)
    }

    fn call(&mut self, block: &Block) -> io::Result<()> {
        let input = block.input.map_or("{}", |input| input.get());
        let call = ToolCall {
            key: CallKey::of(&block.name, &block.id),
            input: input.to_owned(),
            ..ToolCall::default()
        };
        let shown = safe(&sandbox::shown(&call), 300).replace(['`', '\n'], " ");
        self.page.line(&format!("**Call** `{shown}`: {}", self.describe_end(&block.id)))?;
        if let Some(ended) = self.gates.calls.get(block.id.as_ref())
            && let Some(gate) = ended.gate.as_ref().filter(|_| ended.to == CallState::Denied)
        {
            let reason = ended.reason.as_deref().unwrap_or_default();
            self.page.line(&format!("- gate `{gate}` refused it: {}", one_line(&safe(reason, 2000), 600)))?;
        }
        if !self.short
            && let Ok(json) = json::read(input)
        {
            self.page.fenced("json", &json::canonical(&json))?;
        }
        let started = self.outcomes.agents.iter().filter(|agent| agent.call == block.id);
        for agent in started.map(|agent| agent.agent_id.clone()).collect::<Vec<_>>() {
            self.subagent(&agent)?;
        }
        Ok(())
    }

    /// `completed in 12 ms`, from ledger and transcript.
    fn describe_end(&self, id: &str) -> String {
        let known = self.gates.calls.get(id);
        let outcome = self.outcomes.calls.get(id);
        let state = match (known.map(|known| known.to), outcome.and_then(|o| o.is_error)) {
            (Some(CallState::Denied), _) => "denied",
            (Some(CallState::Failed), _) | (None, Some(true)) => "failed",
            (Some(CallState::Completed), _) | (None, Some(false)) => "completed",
            _ => "never ended",
        };
        let took = known
            .and_then(|known| known.ended().duration_ms)
            .or_else(|| outcome.and_then(CallOutcome::took_ms));
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
            if note.is_reflection() {
                self.page.text(&note.text)?;
            } else if !note.alone {
                let words = one_line(&safe(&note.text, 3000), 1000);
                self.page.line(&format!("- {} gate: {words}", clock(note.at_ms)))?;
            }
        }
        Ok(())
    }
}

fn clock(ms: i64) -> String {
    time::timestamp(ms).get(11..19).unwrap_or_default().to_owned()
}

/// Paragraphs of markdown, quoted as deep as the subagent they come from.
pub(super) struct Page<'a> {
    out: &'a mut dyn Write,
    depth: usize,
}

impl<'a> Page<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, depth: 0 }
    }

    /// Writes a paragraph of our own.
    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        self.put(text)?;
        self.put("")
    }

    /// Writes a text of the session, as markdown.
    fn text(&mut self, text: &str) -> io::Result<()> {
        self.line(safe(text, LONGEST).trim_end())
    }

    /// Writes a text of the session, verbatim.
    fn fenced(&mut self, kind: &str, text: &str) -> io::Result<()> {
        let text = safe(text, LONGEST);
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0).max(2);
        let fence = "`".repeat(longest + 1);
        self.put(&format!("{fence}{kind}"))?;
        self.put(text.trim_end_matches('\n'))?;
        self.line(&fence)
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        let mark = "> ".repeat(self.depth);
        if text.is_empty() {
            return writeln!(self.out, "{}", mark.trim_end());
        }
        text.lines().try_for_each(|line| writeln!(self.out, "{}", format!("{mark}{line}").trim_end()))
    }
}

/// The text redacted, cut, and without control characters.
fn safe(text: &str, longest: usize) -> String {
    let clean = redact(text);
    let mut out = plain(cut(&clean, longest)).into_owned();
    if clean.len() > longest {
        let _ = write!(out, "\n[{} bytes more]", clean.len() - longest);
    }
    out
}
