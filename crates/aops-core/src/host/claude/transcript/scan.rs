//! Reads a whole transcript once: tokens and cost; also prompts and calls if there is no ledger.
//!
//! Reads the session's file and those of its subagents. Invariants: usage counts once per message ID, by the
//! last record of that message; memory grows by eight bytes per message and by the models of each agent, and
//! by nothing else.

use super::entry::{Lines, Message, Read, TranscriptEntry, Used, beside, text};
use crate::host::claude::usage::{Prices, Tokens, Usage};
use crate::model::agent::bare;
use crate::session::prompt::Prompt;
use crate::text::json::{self, cut};
use crate::text::redact::redact;
use crate::text::time;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io;
use std::path::Path;
use std::time::Instant;

const MOST_PROMPTS: usize = 1000;

pub const MAIN: &str = "main";

#[derive(Debug, Default)]
pub struct Lens<'a> {
    pub prices: Prices,
    /// When each phase began, oldest first.
    pub phases: &'a [(i64, &'static str)],
    /// Kinds of the known agents, by ID.
    pub agents: BTreeMap<String, String>,
    /// Also look at prompts and calls.
    pub deep: bool,
    /// When the scan must stop. It then says that it is incomplete.
    pub until: Option<Instant>,
    /// Only usage in this period counts, both ends included, in milliseconds since 1970.
    pub span: Option<(i64, i64)>,
}

impl Lens<'_> {
    /// Usage at this time counts.
    pub fn covers(&self, at_ms: Option<i64>) -> bool {
        self.span.is_none_or(|(from, to)| at_ms.is_some_and(|at| (from..=to).contains(&at)))
    }
}

#[derive(Debug, Default)]
pub struct Scan {
    pub tokens: Tokens,
    pub records: u64,
    pub unknown: u64,
    /// Time stamps of the first and the last record that have one.
    pub began: Option<String>,
    pub ended: Option<String>,
    pub cwd: String,
    /// The client's version, from the last record that counts.
    pub version: Option<String>,
    /// The tokens that each model wrote for each agent, by the agent's ID.
    pub wrote: BTreeMap<String, BTreeMap<String, u64>>,
    pub told: Told,
    /// The time was up before the end, or a line was endless.
    pub cut_short: bool,
    pub bytes: u64,
    seen: HashSet<u64>,
    last: Option<PendingMessage>,
    calls: BTreeMap<String, Option<String>>,
}

/// Without a ledger: what the transcript says about prompts and calls.
#[derive(Debug, Default)]
pub struct Told {
    pub prompts: Vec<String>,
    pub completed: u64,
    pub failed: u64,
    pub files: BTreeSet<String>,
    /// Kinds of subagents, in the order of their start.
    pub subagents: Vec<String>,
    pub subagent_count: u64,
}

/// A message for which another record may follow.
#[derive(Debug)]
struct PendingMessage {
    id: String,
    model: String,
    agent: String,
    agent_id: String,
    at_ms: Option<i64>,
    usage: Usage,
    region: String,
    fast: bool,
}

/// Scans the whole session. A missing file gives an empty scan: a session may end before its first record.
pub fn scan(transcript: &Path, lens: &Lens) -> io::Result<Scan> {
    let mut scan = Scan::default();
    if !transcript.is_absolute() {
        return Ok(scan);
    }
    match scan.file(transcript, MAIN, lens) {
        // No file can have a name that is too long.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename) => {}
        done => done?,
    }
    for other in beside(transcript) {
        if scan.cut_short {
            break;
        }
        let known = lens.agents.get(&other.agent_id).map(String::as_str);
        let kind = known.or(Some(other.kind.as_str())).filter(|kind| !kind.is_empty()).unwrap_or_default();
        scan.file(&other.path, kind, lens)?;
    }
    Ok(scan)
}

impl Scan {
    /// `agent` is empty if only the records say to which agent they belong.
    fn file(&mut self, path: &Path, agent: &str, lens: &Lens) -> io::Result<()> {
        let mut lines = Lines::open(path)?;
        lines.until = lens.until;
        while let Some(line) = lines.next_line()? {
            self.records += 1;
            match TranscriptEntry::read(line) {
                Read::Talk(record) => self.take(&record, agent, lens),
                Read::Other => {}
                Read::Unknown => self.unknown += 1,
            }
        }
        self.bytes += lines.bytes;
        if lines.gave_up {
            self.cut_short = true;
            return Ok(());
        }
        self.unknown += lines.too_long;
        self.settle(lens);
        Ok(())
    }

    fn take(&mut self, record: &TranscriptEntry, agent: &str, lens: &Lens) {
        let Some(message) = &record.message else { return };
        if !record.timestamp.is_empty() && agent == MAIN {
            if self.began.is_none() {
                self.began = Some(record.timestamp.to_string());
            }
            let last = self.ended.get_or_insert_default();
            record.timestamp.as_ref().clone_into(last);
        }
        if self.cwd.is_empty() {
            record.cwd.as_ref().clone_into(&mut self.cwd);
        }
        if !record.version.is_empty() && agent == MAIN && lens.covers(time::parse(&record.timestamp)) {
            record.version.as_ref().clone_into(self.version.get_or_insert_default());
        }
        if let Some(used) = message.usage.as_ref().filter(|_| record.kind == "assistant") {
            self.used(record, message, used, agent, lens);
        }
        if lens.deep {
            self.look(record, message, agent);
        }
    }

    fn used(&mut self, record: &TranscriptEntry, message: &Message, used: &Used, agent: &str, lens: &Lens) {
        // Text by the client itself, for which no model was asked.
        if message.model == "<synthetic>" {
            return;
        }
        let usage = Usage {
            input: used.input_tokens.unwrap_or(0),
            output: used.output_tokens.unwrap_or(0),
            cache_read: used.cache_read_input_tokens.unwrap_or(0),
            cache_write: used.cache_creation_input_tokens.unwrap_or(0),
            cache_write_1h: used
                .cache_creation
                .as_ref()
                .and_then(|w| w.ephemeral_1h_input_tokens)
                .unwrap_or(0),
            web_searches: used.server_tool_use.as_ref().and_then(|s| s.web_search_requests).unwrap_or(0),
        };
        if let Some(last) = self.last.as_mut().filter(|last| !last.id.is_empty() && last.id == message.id) {
            last.usage = usage;
            return;
        }
        self.settle(lens);
        if !message.id.is_empty() && !self.seen.insert(hash(&message.id)) {
            return;
        }
        let agent = match agent {
            MAIN if record.is_sidechain == Some(true) => by_record(record, lens),
            "" => by_record(record, lens),
            known => bare(known).to_owned(),
        };
        self.last = Some(PendingMessage {
            id: message.id.to_string(),
            model: message.model.to_string(),
            agent,
            agent_id: record.agent_id.to_string(),
            at_ms: time::parse(&record.timestamp),
            usage,
            region: used.inference_geo.as_deref().unwrap_or_default().to_owned(),
            fast: used.speed.as_deref() == Some("fast"),
        });
    }

    fn settle(&mut self, lens: &Lens) {
        let Some(last) = self.last.take() else { return };
        if !last.agent_id.is_empty() {
            let wrote = self.wrote.entry(last.agent_id).or_default().entry(last.model.clone()).or_default();
            *wrote = wrote.saturating_add(last.usage.output);
        }
        if !lens.covers(last.at_ms) {
            return;
        }
        let cost = lens.prices.cost(&last.model, &last.usage, &last.region, last.fast);
        let phase = last.at_ms.map_or("idle", |at| phase_at(lens.phases, at));
        self.tokens.add([&last.model, &last.agent, phase], &last.usage, cost);
    }

    fn look(&mut self, record: &TranscriptEntry, message: &Message, agent: &str) {
        let own = agent == MAIN && record.is_sidechain != Some(true);
        let spoken =
            record.kind == "user" && own && record.is_meta != Some(true) && record.is_summary != Some(true);
        if let Some(words) = message.plain() {
            if spoken {
                self.add_prompt(&words);
            }
            return;
        }
        for block in message.blocks() {
            match block.kind.as_ref() {
                "text" if spoken => {
                    if let Some(words) = block.text.and_then(text) {
                        self.add_prompt(&words);
                    }
                }
                "tool_use" => {
                    let input = block.input.and_then(|input| json::read(input.get()).ok());
                    let field = |name: &str| input.as_ref().and_then(|input| input.text_of(name));
                    if matches!(block.name.as_ref(), "Agent" | "Task") {
                        self.add_subagent(
                            &field("subagent_type").unwrap_or_else(|| "general-purpose".to_owned()),
                        );
                    }
                    let edits =
                        matches!(block.name.as_ref(), "Write" | "Edit" | "MultiEdit" | "NotebookEdit");
                    let path = field("file_path").or_else(|| field("notebook_path")).filter(|_| edits);
                    self.calls.insert(block.id.to_string(), path);
                }
                "tool_result" => {
                    let Some(path) = self.calls.remove(block.tool_use_id.as_ref()) else { continue };
                    if block.is_error == Some(true) {
                        self.told.failed += 1;
                    } else {
                        self.told.completed += 1;
                        self.told.files.extend(path);
                    }
                }
                _ => {}
            }
        }
    }

    fn add_prompt(&mut self, words: &str) {
        if Prompt::of(words) != Prompt::Machine && self.told.prompts.len() < MOST_PROMPTS {
            self.told.prompts.push(cut(&redact(words), 500).to_owned());
        }
    }

    fn add_subagent(&mut self, kind: &str) {
        let kind = bare(kind).to_owned();
        self.told.subagent_count += 1;
        if !self.told.subagents.contains(&kind) {
            self.told.subagents.push(kind);
        }
    }
}

fn by_record(record: &TranscriptEntry, lens: &Lens) -> String {
    let known = lens.agents.get(record.agent_id.as_ref()).map(String::as_str);
    let named = known.unwrap_or(record.agent.as_ref());
    bare(if named.is_empty() { "subagent" } else { named }).to_owned()
}

/// The phase at this time; before the first one, the loop is idle.
pub fn phase_at(phases: &[(i64, &'static str)], at_ms: i64) -> &'static str {
    let after = phases.partition_point(|(began, _)| *began <= at_ms);
    after.checked_sub(1).map_or("idle", |at| phases[at].1)
}

fn hash(id: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time is up before the first byte: at most one buffer of an endless line is read.
    #[test]
    fn the_deadline_holds_inside_a_single_long_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        std::fs::File::create(&path).unwrap().set_len(64 << 20).unwrap();
        let found = scan(&path, &Lens { until: Some(Instant::now()), ..Lens::default() }).unwrap();
        assert!(found.cut_short, "the whole file was read");
        assert!(found.bytes <= 1 << 20, "{} bytes were read", found.bytes);
        let all = scan(&path, &Lens::default()).unwrap();
        assert_eq!((all.cut_short, all.bytes, all.unknown), (false, 64 << 20, 1));
    }
}
