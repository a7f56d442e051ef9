//! How many tokens the agents of a session have used so far, from the client's transcripts.
//!
//! Reads the session's transcript and those of its subagents. Invariants: a message counts once, however many lines it
//! has; more than `MOST` bytes are not read, since a hook is waiting, and then there is no count.

use crate::text::json::{self, Json};
use std::collections::BTreeMap;
use std::path::Path;

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
    let mut messages: BTreeMap<String, u64> = BTreeMap::new();
    for line in text.lines().filter(|line| line.contains("\"usage\":")) {
        let Ok(record) = json::read(line) else { continue };
        let Some(message) = record.get("message") else { continue };
        if let (Some(id), Some(usage)) = (message.text_of("id"), message.get("usage")) {
            messages.insert(id, sum(usage));
        }
    }
    messages.values().sum()
}

fn sum(usage: &Json) -> u64 {
    let parts = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];
    parts.iter().filter_map(|name| usage.number_of(name)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_counts_once() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/transcripts/main.jsonl");
        let used = used(Path::new(path), &[("nobody", "critic")]);
        assert_eq!(used, BTreeMap::from([(String::new(), 1500)]));
        assert_eq!(super::used(Path::new("/nowhere.jsonl"), &[]), BTreeMap::new());
    }
}
