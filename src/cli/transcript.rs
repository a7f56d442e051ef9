//! `transcript`: a session as markdown: prompts, answers, calls, the gates' answers, subagents below their
//! call.
//!
//! Reads ledger and transcript, prints as it reads. Invariants: secrets are redacted; a record of an unknown
//! kind is skipped and counted; memory use grows with the number of calls, not with their output.

mod write;

use super::range::{self, FoundSession};
use super::{Command, Io, flag, named_session, refused, session_arguments};
use aops_core::host::claude::transcript::entry::{Beside, Lines, Message, Read, TranscriptEntry, beside};
use aops_core::insight::collect;
use aops_core::ledger::recover::LEDGER_FILE;
use aops_core::model::call::CallState;
use aops_core::model::verdict::Ruling;
use aops_core::session::fact::{Fact, Seen, Step};
use aops_core::session::reflection::{self, to_markdown};
use aops_core::text::time;
use clap::ArgMatches;
use serde::Deserialize;
use serde_json::json;
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;
use write::{Page, Writer};

pub const COMMAND: Command = Command {
    name: "transcript",
    about: "Print a session as markdown: prompts, answers, calls with their outcome, gates, subagents",
    examples: &[
        ("aops-hook transcript > session.md", "the newest session of this project, whole"),
        ("aops-hook transcript 3f2a --abridged", "prompts and answers, one line per call"),
    ],
    arguments: |row| {
        row.args(session_arguments()).arg(flag("abridged", "One line per call, without its output"))
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let found = range::pick(io.env, named_session(given))?;
    let short = given.get_flag("abridged");
    if io.json {
        let mut text = Vec::new();
        let unknown = write_session(&found, short, &mut text)?;
        let id = &found.session_id;
        let markdown = String::from_utf8_lossy(&text);
        return io.print(json!({"session_id": id, "markdown": markdown, "unknown_records": unknown}));
    }
    write_session(&found, short, io.out)?;
    Ok(0)
}

pub(super) fn abridged(found: &FoundSession) -> anyhow::Result<String> {
    let mut text = Vec::new();
    write_session(found, true, &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Writes the transcript. Returns how many records were of an unknown kind.
fn write_session(found: &FoundSession, short: bool, out: &mut dyn Write) -> anyhow::Result<u64> {
    let gates =
        found.shelved.as_ref().map(|shelved| GateNotes::of(&shelved.path)).transpose()?.unwrap_or_default();
    let there = found.transcript.is_file();
    if !there && found.shelved.is_none() {
        return refused(format!("no transcript of `{}`", found.session_id));
    }
    let mut page = Page::new(out);
    page.line(&format!("# Session {}", found.session_id))?;
    if let Some(shelved) = &found.shelved {
        let (insights, ..) = collect::tally(&shelved.path, &shelved.session_id)?.conclude();
        let began = insights.started_at.unwrap_or_default();
        let ended = insights.ended_at.map(|at| format!(", ended {at}")).unwrap_or_default();
        page.line(&format!("{} · began {began}{ended} · {}", insights.project, insights.outcome))?;
    }
    let outcomes = if there { CallOutcomes::of(&found.transcript)? } else { CallOutcomes::default() };
    let mut writer = Writer::new(page, &gates, &outcomes, short);
    if there {
        writer.session(&found.transcript)?;
    } else {
        writer.ledger_alone()?;
    }
    Ok(writer.unknown)
}

/// An answer of a gate, or another event that the transcript shows.
#[derive(Debug)]
struct GateNote {
    at_ms: i64,
    text: String,
    /// Shown only if there is no transcript.
    alone: bool,
}

impl GateNote {
    /// Whether it is a section of its own instead of a line.
    fn is_reflection(&self) -> bool {
        self.text.starts_with(reflection::TITLE)
    }
}

#[derive(Debug, Default)]
struct GateNotes {
    notes: Vec<GateNote>,
    /// The end of each call.
    calls: HashMap<String, Step>,
}

impl GateNotes {
    fn of(folder: &Path) -> io::Result<Self> {
        let mut gates = Self::default();
        collect::entries(&folder.join(LEDGER_FILE), |line, fact| {
            gates.add(time::parse(line.ts).unwrap_or(0), fact);
        })?;
        Ok(gates)
    }

    fn add(&mut self, at_ms: i64, fact: &Fact) {
        let mut say = |text: String, alone: bool| self.notes.push(GateNote { at_ms, text, alone });
        match fact {
            Fact::Event(seen) => tell_event(seen, &mut say),
            Fact::Call(step) if step.to == CallState::Pending => {
                let input = step.input().map_or("{}", |input| input.get());
                say(format!("**{}** {input}", step.call.tool), true);
                if let Some(would) = &step.rehearsed {
                    let gate = &would.gate;
                    let verb = would.verb();
                    let tool = &step.call.tool;
                    say(format!("`{gate}` would {verb} {tool}: {}", would.reason), false);
                }
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
            Fact::Task(chosen) => say(format!("{} {}", chosen.by, chosen.how.words()), false),
            Fact::Waive(waiver) => say(format!("`{}` waived: {}", waiver.gate, waiver.reason), false),
            Fact::Verdict(report) => {
                if let Some(finding) = &report.finding {
                    if let Some(verdict) = &finding.verdict {
                        say(format!("verdict of `{}`: {verdict}", report.agent), false);
                    }
                    if !finding.reflection.is_empty() {
                        say(to_markdown(&finding.reflection), false);
                    }
                }
            }
            _ => {}
        }
    }
}

fn tell_event(seen: &Seen, say: &mut dyn FnMut(String, bool)) {
    if let Some(said) = seen.said.as_ref().filter(|said| !said.reason.is_empty()) {
        say(
            format!("`{}` {} {}: {}", said.gate, past_tense(said.ruling.known()), seen.event, said.reason),
            false,
        );
    }
    if let Some(would) = &seen.rehearsed {
        say(format!("`{}` would {} {}: {}", would.gate, would.verb(), seen.event, would.reason), false);
    }
    if let Some(reflection) = seen.turn_end().and_then(|end| end.reflection.as_ref()) {
        say(to_markdown(reflection), false);
    }
    if let Some(prompt) = seen.words("prompt").filter(|_| seen.is_persons_prompt()) {
        say(format!("**Prompt.** {prompt}"), true);
    }
}

fn past_tense(ruling: Option<Ruling>) -> &'static str {
    match ruling {
        Some(Ruling::Deny) => "refused",
        Some(Ruling::Ask) => "asked about",
        _ => "spoke at",
    }
}

#[derive(Debug, Default)]
struct CallOutcome {
    is_error: Option<bool>,
    called_ms: Option<i64>,
    ended_ms: Option<i64>,
}

impl CallOutcome {
    /// From the call to its result, including the time a person took to approve it.
    fn took_ms(&self) -> Option<u64> {
        u64::try_from(self.ended_ms? - self.called_ms?).ok()
    }
}

#[derive(Debug, Default)]
struct CallOutcomes {
    calls: HashMap<String, CallOutcome>,
    /// Subagents, and the calls that started them.
    agents: Vec<Beside>,
}

#[derive(Deserialize)]
struct Started {
    #[serde(default, rename = "agentId")]
    agent_id: Option<String>,
}

impl CallOutcomes {
    fn of(transcript: &Path) -> io::Result<Self> {
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
                    outcome.is_error = Some(block.is_error == Some(true));
                    outcome.ended_ms = at;
                    let started =
                        record.result.and_then(|raw| serde_json::from_str::<Started>(raw.get()).ok());
                    let agent_id = started.and_then(|started| started.agent_id);
                    let found =
                        self.agents.iter_mut().find(|agent| Some(&agent.agent_id) == agent_id.as_ref());
                    if let Some(agent) = found.filter(|agent| agent.call.is_empty()) {
                        agent.call = id;
                    }
                }
                _ => {}
            }
        }
    }
}
