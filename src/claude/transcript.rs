//! The client's own transcript: its records, a scan of all of it, and the last turns of the conversation.
//!
//! Reads transcripts, writes nothing. Invariants: the last turns of a transcript of any length cost the same; unknown
//! records are passed over; a missing file is an empty answer, since the first prompt comes before it is there.

pub mod entry;
pub mod scan;

pub mod tokens;

use crate::text::json::{self, Json, cut};
use rustix::fs::OFlags;
use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

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
    // Do not block on a pipe.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    let meta = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let from = meta.len().saturating_sub(TAIL);
    let mut bytes = vec![0; usize::try_from(meta.len() - from).ok()?];
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
}
