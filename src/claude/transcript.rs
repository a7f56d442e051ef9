//! The client's own transcript: its records, a scan of all of it, the last turns, and the tokens used so far.
//!
//! Reads transcripts, writes nothing. Invariants: the last turns of a transcript of any length cost the same; a message
//! counts once, however many lines it has; unknown records are passed over; a missing file is an empty answer, since the
//! first prompt comes before it is there.

pub mod entry;
pub mod scan;

use crate::text::json::{self, Json, cut};
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::Path;

const TAIL: u64 = 128 << 10;

/// The last turns, oldest first, at most `most` bytes in all.
pub fn last_turns(path: &str, most: usize) -> String {
    let Some(text) = tail(path) else { return String::new() };
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

fn tail(path: &str) -> Option<String> {
    let file = entry::open_plain(Path::new(path)).ok()?;
    let long = file.metadata().ok()?.len();
    let from = long.saturating_sub(TAIL);
    let mut bytes = vec![0; usize::try_from(long - from).ok()?];
    file.read_exact_at(&mut bytes, from).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // The first line is cut unless we began at the beginning.
    Some(if from == 0 { text } else { text.split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap_or_default() })
}

fn turn(record: &Json) -> Option<String> {
    let who = record.text_of("type").filter(|kind| kind == "user" || kind == "assistant")?;
    let content = record.get("message")?.get("content")?;
    let said = match content {
        Json::Text(_) => content.text()?.into_owned(),
        Json::List(blocks) => blocks.iter().filter_map(|block| block.text_of("text")).collect::<Vec<_>>().join(" "),
        _ => return None,
    };
    let said = said.trim();
    (!said.is_empty()).then(|| format!("{who}: {}", cut(&said.replace('\n', " "), 400)))
}

/// Bytes of all transcripts together.
const MOST: u64 = 8 << 20;

/// By agent; the main one has no name. `transcript` is the session's own, `names` those of its agents by id.
pub fn used(transcript: &Path, names: &[(&str, &str)]) -> BTreeMap<String, u64> {
    let folder = transcript.with_extension("").join("subagents");
    let agents = names.iter().map(|(id, name)| (*name, folder.join(format!("agent-{id}.jsonl"))));
    let files: Vec<_> = [("", transcript.to_owned())].into_iter().chain(agents).collect();
    let long = |path: &Path| std::fs::metadata(path).map_or(0, |about| if about.is_file() { about.len() } else { 0 });
    if files.iter().map(|(_, path)| long(path)).sum::<u64>() > MOST {
        return BTreeMap::new();
    }
    let mut used: BTreeMap<String, u64> = BTreeMap::new();
    for (name, path) in files.iter().filter(|(_, path)| long(path) > 0) {
        let text = std::fs::read(path).unwrap_or_default();
        *used.entry((*name).to_owned()).or_default() += in_transcript(&String::from_utf8_lossy(&text));
    }
    used
}

/// Of each message its last line counts: while it is written, its usage grows.
fn in_transcript(text: &str) -> u64 {
    let counts = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];
    let mut messages: BTreeMap<String, u64> = BTreeMap::new();
    for line in text.lines().filter(|line| line.contains("\"usage\":")) {
        let Ok(record) = json::read(line) else { continue };
        let Some(message) = record.get("message") else { continue };
        if let (Some(id), Some(usage)) = (message.text_of("id"), message.get("usage")) {
            messages.insert(id, counts.iter().filter_map(|name| usage.number_of(name)).sum());
        }
    }
    messages.values().sum()
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
        assert_eq!(last_turns("/nowhere", 100), "");
    }

    #[test]
    fn a_message_counts_once() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/transcripts/main.jsonl");
        let used = used(Path::new(path), &[("nobody", "critic")]);
        assert_eq!(used, BTreeMap::from([(String::new(), 1500)]));
        assert_eq!(super::used(Path::new("/nowhere.jsonl"), &[]), BTreeMap::new());
    }
}
