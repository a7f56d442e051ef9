//! Reads the calls in a transcript of Claude Code, and who answered the client's questions about them.
//!
//! Reads one file from its beginning, one line at a time. A call is part of a model's message; the answer to
//! its question is recorded with the result.

use super::transcript::entry::{Block, Lines, Read, TranscriptEntry};
use super::wire::answer::DECISION;
use crate::host::past::{Down, PastCall, PastCounts, PastFiles, PastPrompt, PastRecord, open};
use crate::model::client::Client;
use crate::model::named::Stored;
use crate::model::permission_mode::PermissionMode;
use crate::text::json;
use crate::text::time;
use memchr::memmem;
use std::io;
use std::path::Path;
use std::time::Instant;

/// The transcripts of sessions and of their agents.
pub fn files(folder: &Path, found: &mut PastFiles) {
    let is_transcript = |name: &str| Path::new(name).extension().is_some_and(|ending| ending == "jsonl");
    let is_agents = |name: &str| name.starts_with("agent-") && is_transcript(name);
    let projects = [Down::Named("projects"), Down::Any];
    found.find(Client::Claude, folder, &projects, true, &is_transcript);
    let agents = [&projects[..], &[Down::Any, Down::Named("subagents")]].concat();
    found.find(Client::Claude, folder, &agents, true, &is_agents);
}

pub fn read(path: &Path, until: Instant, take: &mut dyn FnMut(PastRecord)) -> io::Result<PastCounts> {
    let mut mode = None;
    each_line(path, until, &mut |line| match TranscriptEntry::read(line) {
        Read::Talk(record) => {
            if !record.permission_mode.is_empty() {
                mode = Some(Stored::of(&record.permission_mode));
            }
            tell(line, &record, mode.as_ref(), take)
        }
        Read::Other => {
            mode = changed_mode(line).or_else(|| mode.take());
            0
        }
        Read::Unknown => 1,
    })
}

/// The person changed the permission mode.
fn changed_mode(line: &[u8]) -> Option<Stored<PermissionMode>> {
    memmem::find(line, b"\"permission-mode\"")?;
    let line = std::str::from_utf8(line).ok()?;
    let is_change = json::text_in(line, "type").as_deref() == Some("permission-mode");
    json::text_in(line, "permissionMode").filter(|_| is_change).map(|mode| Stored::of(&mode))
}

/// Reads a file line by line. `take` returns how many parts of a line are unknown.
pub fn each_line(path: &Path, until: Instant, take: &mut dyn FnMut(&[u8]) -> u64) -> io::Result<PastCounts> {
    let mut lines = Lines::of(open(path)?);
    lines.until = Some(until);
    let mut counts = PastCounts::default();
    while let Some(line) = lines.next_line()? {
        counts.records += 1;
        counts.unknown += take(line);
    }
    counts.too_long = lines.too_long;
    if lines.gave_up {
        // Either the time was up, or the line was endless.
        counts.is_cut = Instant::now() > until;
        counts.too_long += u64::from(!counts.is_cut);
    }
    Ok(counts)
}

/// Passes on the calls and results of one record. Returns how many of them have an unknown form.
fn tell(
    line: &[u8],
    record: &TranscriptEntry,
    mode: Option<&Stored<PermissionMode>>,
    take: &mut dyn FnMut(PastRecord),
) -> u64 {
    let Some(message) = &record.message else { return 0 };
    let at_ms = time::parse(&record.timestamp);
    let mut unknown = 0;
    for block in message.blocks() {
        match (record.kind.as_ref(), block.kind.as_ref()) {
            ("assistant", "tool_use") => match call(record, &block, mode, at_ms) {
                Some(call) => take(PastRecord::Call(call)),
                None => unknown += 1,
            },
            ("user", "tool_result") => take(PastRecord::Ended {
                id: block.tool_use_id.to_string(),
                failed: block.is_error == Some(true),
                prompt: prompt(line, record),
            }),
            _ => {}
        }
    }
    unknown
}

fn call(
    record: &TranscriptEntry,
    block: &Block,
    mode: Option<&Stored<PermissionMode>>,
    at_ms: Option<i64>,
) -> Option<PastCall> {
    let input = block.input.filter(|input| input.get().starts_with('{'))?;
    let whole = !block.name.is_empty() && !block.id.is_empty();
    whole.then(|| PastCall {
        id: block.id.to_string(),
        session: record.session_id.to_string(),
        tool: block.name.to_string(),
        input: input.get().to_owned(),
        cwd: record.cwd.to_string(),
        at_ms,
        mode: mode.cloned(),
    })
}

/// If a person rejects a call in the client's dialog at a terminal, the record contains no decision, only
/// this word.
const REJECTED: &str = "user-rejected";

fn prompt(line: &[u8], record: &TranscriptEntry) -> PastPrompt {
    let decision = std::str::from_utf8(line).ok().and_then(|line| json::member(line, DECISION));
    let source = decision.and_then(|said| json::text_in(said, "source"));
    match source.as_deref() {
        Some("user_reject") => PastPrompt::Rejected,
        Some(source) if source.starts_with("user_") => PastPrompt::Approved,
        Some(_) => PastPrompt::Unasked,
        None if record.denial == REJECTED && record.by_shutdown != Some(true) => PastPrompt::Rejected,
        None if !record.denial.is_empty() => PastPrompt::Unasked,
        None => PastPrompt::Untold,
    }
}
