//! The client's own transcript: its records, a scan of all of it, the last turns, and the tokens used so far.
//!
//! Reads transcripts, writes nothing. Invariants: the last turns of a transcript of any length cost the same; a message
//! counts once, however many lines it has; unknown records are passed over; a missing file is an empty answer, since the
//! first prompt comes before it is there.

pub mod entry;
pub mod scan;

use crate::host::claude::usage::Sum;
use crate::host::claude::wire::answer::DECISION;
use crate::session::question::{Answerer, Decision};
use crate::text::json::{self, Json, cut};
use crate::text::redact::redact;
use crate::text::template::one_line;
use crate::text::time;
use memchr::memmem;
use scan::{Lens, MAIN, scan};
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const TAIL: u64 = 128 << 10;
/// How far back decisions about calls are looked for.
const LONG_TAIL: u64 = 4 << 20;

/// The last turns, oldest first, at most `most` bytes in all.
pub fn last_turns(path: &str, most: usize) -> String {
    let Some(text) = tail(Path::new(path), TAIL) else { return String::new() };
    let mut turns: Vec<String> = Vec::new();
    let mut long = 0;
    for line in text.lines().rev() {
        let Some(turn) = json::read(line).ok().as_ref().and_then(turn) else { continue };
        long += turn.len() + 1;
        if long > most {
            break;
        }
        turns.push(turn);
    }
    turns.reverse();
    turns.join("\n")
}

fn tail(path: &Path, most: u64) -> Option<String> {
    let file = entry::open_plain(path).ok()?;
    let long = file.metadata().ok()?.len();
    let from = long.saturating_sub(most);
    let mut bytes = vec![0; usize::try_from(long - from).ok()?];
    file.read_exact_at(&mut bytes, from).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // The first line is cut unless we began at the beginning.
    Some(if from == 0 { text } else { text.split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap_or_default() })
}

/// The transcript of an agent of this session.
pub fn of_agent(transcript: &Path, agent_id: &str) -> PathBuf {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let id: String = agent_id.chars().filter(|c| plain(*c)).collect();
    transcript.with_extension("").join("subagents").join(format!("agent-{id}.jsonl"))
}

/// Who let these calls be made, or refused them, as the client recorded it with their results.
pub fn decisions(transcript: &Path, calls: &[&str]) -> Vec<Decision> {
    let text = tail(transcript, LONG_TAIL).unwrap_or_default();
    let (field, mut found) = (memmem::Finder::new(DECISION), Vec::<Decision>::new());
    for line in text.lines().rev().filter(|line| field.find(line.as_bytes()).is_some()) {
        let Some(record) = json::read(line).ok().filter(|record| record.text_of("type").as_deref() == Some("user"))
        else {
            continue;
        };
        let Some(Json::List(blocks)) = record.get("message").and_then(|message| message.get("content")) else {
            continue;
        };
        let ids = blocks.iter().filter_map(|block| block.text_of("tool_use_id"));
        for call in ids.filter(|id| calls.contains(&id.as_str())) {
            if !found.iter().any(|known| known.call == call) {
                found.extend(decision(&record, call));
            }
        }
    }
    found
}

/// A kind of source that this version does not know is nobody's.
fn decision(record: &Json, call: String) -> Option<Decision> {
    let said = record.get(DECISION)?;
    let source = said.text_of("source").unwrap_or_default();
    let by = match source.as_str() {
        "hook" => Answerer::Hook,
        "config" => Answerer::Config,
        source if source.starts_with("user_") => Answerer::Person,
        "classifier" => Answerer::Client,
        _ => Answerer::Unknown,
    };
    let allowed = said.text_of("decision").as_deref() == Some("accept") && source != "user_reject";
    let at_ms = record.text_of("timestamp").as_deref().and_then(time::parse);
    Some(Decision { call, allowed, by, at_ms })
}

/// What a record says, the calls it makes and the results it brings, a line each.
fn turn(record: &Json) -> Option<String> {
    let who = record.text_of("type").filter(|kind| kind == "user" || kind == "assistant")?;
    let content = record.get("message")?.get("content")?;
    let lines: Vec<String> = match content {
        Json::Text(_) => said(&who, &content.text()?).into_iter().collect(),
        Json::List(blocks) => blocks.iter().filter_map(|block| piece(&who, block)).collect(),
        _ => return None,
    };
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn said(who: &str, text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| format!("{who}: {}", one_line(&redact(text), 400)))
}

/// What of a call's input says best what it does.
const DEEDS: [&str; 8] = ["command", "file_path", "notebook_path", "pattern", "url", "query", "subagent_type", "skill"];

fn piece(who: &str, block: &Json) -> Option<String> {
    match block.text_of("type")?.as_str() {
        "text" => said(who, &block.text_of("text")?),
        "tool_use" => {
            let (tool, input) = (block.text_of("name")?, block.get("input")?);
            let deed = DEEDS.iter().find_map(|name| input.text_of(name)).unwrap_or_else(|| json::canonical(input));
            Some(format!("call {}: {}", cut(&tool, 64), one_line(&redact(&deed), 120)))
        }
        "tool_result" => {
            let failed = matches!(block.get("is_error"), Some(Json::Bool(true)));
            let text = match block.get("content")? {
                Json::List(parts) => parts.iter().filter_map(|part| part.text_of("text")).collect::<Vec<_>>().join(" "),
                text => text.text()?.into_owned(),
            };
            let name = if failed { "failed" } else { "result" };
            (!text.trim().is_empty()).then(|| format!("{name}: {}", one_line(&redact(text.trim()), 120)))
        }
        _ => None,
    }
}

/// Bytes of all transcripts together.
const MOST: u64 = 8 << 20;

/// By agent; the main one has no name. `transcript` is the session's own, `names` those of its agents by id.
pub fn used(transcript: &Path, names: &[(&str, &str)]) -> BTreeMap<String, Sum> {
    let long = |path: &Path| std::fs::metadata(path).map_or(0, |about| about.len());
    if long(transcript) + entry::beside(transcript).iter().map(|agent| long(&agent.path)).sum::<u64>() > MOST {
        return BTreeMap::new();
    }
    let agents = names.iter().map(|(id, name)| ((*id).to_owned(), (*name).to_owned())).collect();
    let scanned = scan(transcript, &Lens { agents, ..Lens::default() }).unwrap_or_default();
    let name = |agent: String| if agent == MAIN { String::new() } else { agent };
    scanned.tokens.by_agent.into_iter().map(|(agent, sum)| (name(agent), sum)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorded_transcript_is_told() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/transcripts/main.jsonl");
        let turns = last_turns(path, 2000);
        assert!(turns.contains("user: ") && turns.contains("assistant: "), "{turns}");
        assert!(turns.len() <= 2000);
        let calls = turns.lines().filter(|line| line.starts_with("call ")).count();
        let results = turns.lines().filter(|line| line.starts_with("result: ") || line.starts_with("failed: ")).count();
        assert!(calls > 0 && results > 0, "calls and results in one line each: {turns}");
        assert_eq!(last_turns("/nowhere", 100), "");
    }

    #[test]
    fn a_message_counts_once() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/transcripts/main.jsonl");
        let used = used(Path::new(path), &[("nobody", "critic")]);
        assert_eq!(used.iter().map(|(agent, sum)| (agent.as_str(), sum.tokens())).collect::<Vec<_>>(), [("", 1500)]);
        assert!(super::used(Path::new("/nowhere.jsonl"), &[]).is_empty());
    }
}
