//! Reads a chat of Gemini CLI or Qwen Code: the tokens that a session used, by model, agent and phase.
//!
//! Reads the session's file and those of its subagents. Invariants: each answer of the model counts once, by
//! its last record; a line that cannot be read is counted as unknown.

use crate::host::claude::transcript::entry::Lines;
use crate::host::claude::transcript::scan::{Lens, MAIN, Scan, phase_at};
use crate::host::claude::usage::Usage;
use crate::text::json::{self, Json};
use crate::text::time;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// At most this many files of one folder are looked at.
const MOST: usize = 500;
/// What a subagent is called, whose file does not name it.
const AGENT: &str = "agent";

/// This is a chat of either of them.
pub fn is_chat(path: &Path) -> bool {
    let is_in = |path: &Path, name: &str| path.parent().is_some_and(|folder| folder.ends_with(name));
    path.extension().is_some_and(|end| end == "jsonl") && is_in(path, "chats")
}

fn below(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|item| item.path()).take(MOST)
}

/// The chat of this session, in the folder of whichever project. Gemini's file has the session's first
/// letters in its name, and the whole id in its first line.
pub fn find(home: &Path, session_id: &str) -> Option<PathBuf> {
    let chats = ["tmp", "projects"].into_iter().flat_map(|place| below(&home.join(place)));
    let mut files = chats.flat_map(|project| below(&project.join("chats"))).filter(|path| is_chat(path));
    files.find(|path| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let begin = session_id.get(..8).unwrap_or(session_id);
        stem == session_id
            || stem.ends_with(&format!("-{begin}")) && id_in(path).as_deref() == Some(session_id)
    })
}

fn id_in(path: &Path) -> Option<String> {
    let mut lines = Lines::open(path).ok()?;
    let line = lines.next_line().ok()??;
    json::read(std::str::from_utf8(line).ok()?).ok()?.text_of("sessionId")
}

/// Scans the whole session. A missing file gives an empty scan.
pub fn scan(transcript: &Path, lens: &Lens) -> io::Result<Scan> {
    let mut scan = Scan::default();
    match add(&mut scan, transcript, MAIN, lens) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(scan),
        done => done?,
    }
    let id = id_in(transcript).unwrap_or_default();
    let chats = transcript.parent().unwrap_or(transcript);
    let agents = [chats.join(&id), chats.with_file_name("subagents").join(&id)];
    if !id.is_empty() {
        for path in agents.iter().flat_map(|folder| below(folder)) {
            if !scan.cut_short && path.extension().is_some_and(|end| end == "jsonl") {
                add(&mut scan, &path, AGENT, lens)?;
            }
        }
    }
    Ok(scan)
}

/// An answer of the model, for which another record may follow.
struct Answer {
    id: String,
    model: String,
    at: Option<i64>,
    usage: Usage,
}

fn add(scan: &mut Scan, path: &Path, agent: &str, lens: &Lens) -> io::Result<()> {
    let mut lines = Lines::open(path)?;
    lines.until = lens.until;
    let mut last: Option<Answer> = None;
    while let Some(line) = lines.next_line()? {
        let Some(record) = std::str::from_utf8(line).ok().and_then(|text| json::read(text).ok()) else {
            scan.unknown += 1;
            continue;
        };
        let at = record.text_of("timestamp").or_else(|| record.text_of("startTime"));
        if agent == MAIN {
            scan.cwd = record.text_of("cwd").unwrap_or_else(|| std::mem::take(&mut scan.cwd));
            scan.version = record.text_of("version").or(scan.version.take());
            scan.began = scan.began.take().or_else(|| at.clone());
            scan.ended = at.clone().or(scan.ended.take());
        }
        if let Some(usage) = usage(&record) {
            let id = record.text_of("id").or_else(|| record.text_of("uuid")).unwrap_or_default();
            let model = record.text_of("model").unwrap_or_default();
            let answer = Answer { id, model, at: at.as_deref().and_then(time::parse), usage };
            if let Some(before) = last.replace(answer)
                && last.as_ref().is_some_and(|now| now.id != before.id)
            {
                count(scan, &before, agent, lens);
            }
        }
        scan.records += 1;
    }
    if let Some(last) = last {
        count(scan, &last, agent, lens);
    }
    scan.bytes += lines.bytes;
    scan.cut_short |= lines.gave_up;
    Ok(())
}

fn count(scan: &mut Scan, answer: &Answer, agent: &str, lens: &Lens) {
    let cost = lens.prices.cost(&answer.model, &answer.usage, "", false);
    if lens.covers(answer.at) {
        let phase = phase_at(lens.phases, answer.at.unwrap_or_default());
        scan.tokens.add([&answer.model, agent, phase], &answer.usage, cost);
    }
}

/// Gemini writes `tokens`, Qwen what its model told. Thoughts are output: whatever is not input.
fn usage(record: &Json) -> Option<Usage> {
    let (told, [input, tool, cached, output, thoughts, total]) = match record.get("tokens") {
        Some(told) => (told, ["input", "tool", "cached", "output", "thoughts", "total"]),
        None => (
            record.get("usageMetadata")?,
            [
                "promptTokenCount",
                "toolUsePromptTokenCount",
                "cachedContentTokenCount",
                "candidatesTokenCount",
                "thoughtsTokenCount",
                "totalTokenCount",
            ],
        ),
    };
    let of = |name: &str| told.number_of(name);
    let input = of(input)? + of(tool).unwrap_or(0);
    let parts = of(output).unwrap_or(0) + of(thoughts).unwrap_or(0);
    let output =
        of(total).and_then(|total| total.checked_sub(input)).filter(|rest| *rest > 0).unwrap_or(parts);
    Some(Usage::of_whole_input(input, output, [of(cached).unwrap_or(0), 0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(text: &str, more: &[(&str, &str)]) -> (u64, u64, u64, u64) {
        let folder = tempfile::tempdir().unwrap();
        let chats = folder.path().join("p/chats");
        fs::create_dir_all(&chats).unwrap();
        let file = chats.join("session-2026-01-13T10-00-abcdefgh.jsonl");
        fs::write(&file, text).unwrap();
        for (name, text) in more {
            let path = chats.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let scan = scan(&file, &Lens::default()).unwrap();
        let sum = scan.tokens.by_model.values().next().cloned().unwrap_or_default();
        (sum.messages, sum.input, sum.output, sum.cache_read)
    }

    #[test]
    fn an_answer_counts_once_by_its_last_record() {
        let head = r#"{"sessionId":"abcdefgh-1","projectHash":"h","startTime":"2026-01-13T10:00:00.000Z"}"#;
        let one = r#"{"id":"1","timestamp":"2026-01-13T10:00:01.000Z","type":"gemini","model":"g","tokens":{"input":100,"output":10,"cached":40,"thoughts":5,"tool":0,"total":115}}"#;
        let set = r#"{"$set":{"lastUpdated":"x"}}"#;
        let two = one.replace("\"id\":\"1\"", "\"id\":\"2\"");
        let early = r#"{"id":"1","type":"gemini","model":"g","tokens":null}"#;
        let text = [head, early, set, one, set, one, &two].join("\n");
        assert_eq!(sums(&text, &[]), (2, 120, 30, 80));
        assert_eq!(sums(&text, &[("abcdefgh-1/x.jsonl", one)]), (3, 180, 45, 120), "with its subagent");
    }

    #[test]
    fn thoughts_count_once_whoever_tells_them() {
        let line = |usage: &str| {
            format!(
                r#"{{"uuid":"1","sessionId":"s","type":"assistant","model":"q","usageMetadata":{{{usage}}}}}"#
            )
        };
        let within = line(
            r#""promptTokenCount":50,"candidatesTokenCount":20,"thoughtsTokenCount":8,"totalTokenCount":70"#,
        );
        assert_eq!(sums(&within, &[]), (1, 50, 20, 0));
        assert_eq!(sums(&line(r#""promptTokenCount":50,"candidatesTokenCount":20"#), &[]), (1, 50, 20, 0));
        assert_eq!(sums(&line(""), &[]), (0, 0, 0, 0));
    }
}
