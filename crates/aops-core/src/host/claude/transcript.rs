//! The client's own transcript: its records, a full scan, the last turns, and the tokens used so far.
//!
//! Reads transcripts, writes nothing. Invariants: reading the last turns costs the same for a transcript of
//! any length; a message counts once, however many lines it has; unknown records are skipped; a missing file
//! gives an empty answer, since the first prompt comes before the file exists.

pub mod entry;
pub mod scan;

use crate::host::claude::usage::Sum;
use crate::host::claude::wire::answer::DECISION;
use crate::session::question::{Answerer, Decision};
use crate::system::files;
use crate::text::json::{self, Json, cut};
use crate::text::redact::redact;
use crate::text::sha256::sha256;
use crate::text::template::one_line;
use crate::text::time;
use memchr::memmem;
use scan::{Lens, MAIN, scan};
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const TAIL: u64 = 128 << 10;
/// The client's key for the way in which a call was refused.
const DENIAL: &str = "toolDenialKind";
/// How far back we search for decisions about calls.
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

/// The main agent's last message; `None` if the end of its transcript contains none.
pub fn last_words(transcript: &Path) -> Option<String> {
    let said = |line: &str| {
        let record = json::read(line).ok()?;
        let own = record.text_of("type").as_deref() == Some("assistant")
            && !matches!(record.get("isSidechain"), Some(Json::Bool(true)));
        let Some(Json::List(blocks)) = record.get("message").filter(|_| own)?.get("content") else {
            return None;
        };
        let texts: Vec<String> = blocks.iter().filter_map(|block| block.text_of("text")).collect();
        Some(texts.join("\n")).filter(|words| !words.trim().is_empty())
    };
    tail(transcript, TAIL)?.lines().rev().find_map(said)
}

fn tail(path: &Path, most: u64) -> Option<String> {
    let file = files::open(path).ok()?;
    let long = file.metadata().ok()?.len();
    let from = long.saturating_sub(most);
    let mut bytes = vec![0; usize::try_from(long - from).ok()?];
    file.read_exact_at(&mut bytes, from).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // The first line is incomplete unless we began at the beginning.
    Some(if from == 0 {
        text
    } else {
        text.split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap_or_default()
    })
}

/// What the client writes if the person stopped a turn.
const INTERRUPTED: [&str; 2] =
    ["[Request interrupted by user]", "[Request interrupted by user for tool use]"];

/// The client's own record says that the person interrupted the turn of this prompt: after that note the
/// conversation contains only what belongs to the prompt `next`. If the prompt itself consists of these
/// words, the record proves nothing.
pub fn is_interrupted(path: &str, prompt_id: &str, prompt_sha256: &str, next: Option<&str>) -> bool {
    if INTERRUPTED.iter().any(|words| sha256(&[words.as_bytes()]) == prompt_sha256) {
        return false;
    }
    let Some(text) = tail(Path::new(path), TAIL) else { return false };
    let records = text.lines().rev().filter_map(|line| json::read(line).ok());
    let is = |record: &Json, name: &str| matches!(record.get(name), Some(Json::Bool(true)));
    let spoken =
        |record: &Json| record.text_of("type").is_some_and(|kind| kind == "user" || kind == "assistant");
    let of_next = |record: &Json| next.is_some() && record.text_of("promptId").as_deref() == next;
    // An agent's end that waited for the turn is written down behind the interruption; nobody answered it.
    let is_notice = |record: &Json| {
        let origin = record.get("origin").and_then(|origin| origin.text_of("kind"));
        origin.as_deref() == Some("task-notification")
    };
    let passes = |record: &Json| is(record, "isSidechain") || of_next(record) || is_notice(record);
    let mut told = records.filter(|record| spoken(record) && !passes(record));
    told.next().is_some_and(|last| {
        let by_person = !is(&last, "isMeta") && !is(&last, "interruptedByShutdown");
        by_person && last.text_of("promptId").as_deref() == Some(prompt_id) && says_interrupted(&last)
    })
}

fn says_interrupted(record: &Json) -> bool {
    let content = record.get("message").and_then(|message| message.get("content"));
    let Some(Json::List(blocks)) = content.filter(|_| record.text_of("type").as_deref() == Some("user"))
    else {
        return false;
    };
    let [block] = blocks.as_slice() else { return false };
    let text = block.text_of("text").filter(|_| block.text_of("type").as_deref() == Some("text"));
    text.is_some_and(|text| INTERRUPTED.contains(&text.as_str()))
}

pub fn of_agent(transcript: &Path, agent_id: &str) -> PathBuf {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let id: String = agent_id.chars().filter(|c| plain(*c)).collect();
    transcript.with_extension("").join("subagents").join(format!("agent-{id}.jsonl"))
}

/// The client's tool by which an agent reports in auto mode. The call ends the agent.
pub const HANDBACK: &str = "SubagentHandback";

/// What this agent last reported by the client's tool for that.
pub fn handed_back(transcript: &Path, agent_id: &str) -> Option<String> {
    let reported = |block: &Json| {
        let input = block.get("input").filter(|_| block.text_of("name").as_deref() == Some(HANDBACK))?;
        input.text_of("message")
    };
    let in_line = |line: &str| {
        let record = json::read(line).ok()?;
        let Some(Json::List(blocks)) = record.get("message")?.get("content") else { return None };
        blocks.iter().rev().find_map(reported)
    };
    let text = tail(&of_agent(transcript, agent_id), LONG_TAIL)?;
    text.lines().rev().filter(|line| line.contains(HANDBACK)).find_map(in_line)
}

/// Who approved or refused these calls, as the client recorded it with their results.
pub fn decisions(transcript: &Path, calls: &[&str]) -> Vec<Decision> {
    let text = tail(transcript, LONG_TAIL).unwrap_or_default();
    let fields = [DECISION, DENIAL].map(memmem::Finder::new);
    let mut found = Vec::<Decision>::new();
    let decides = |line: &&str| fields.iter().any(|field| field.find(line.as_bytes()).is_some());
    for line in text.lines().rev().filter(decides) {
        let Some(record) =
            json::read(line).ok().filter(|record| record.text_of("type").as_deref() == Some("user"))
        else {
            continue;
        };
        let Some(Json::List(blocks)) = record.get("message").and_then(|message| message.get("content"))
        else {
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

/// A decision from an unknown kind of source is attributed to nobody.
fn decision(record: &Json, call: String) -> Option<Decision> {
    let at_ms = record.text_of("timestamp").as_deref().and_then(time::parse);
    let Some(said) = record.get(DECISION) else {
        let by = denied_by(record)?;
        return Some(Decision { call, allowed: false, by, at_ms });
    };
    let source = said.text_of("source").unwrap_or_default();
    let by = match source.as_str() {
        "hook" => Answerer::Hook,
        "config" => Answerer::Config,
        source if source.starts_with("user_") => Answerer::Person,
        "classifier" => Answerer::Client,
        _ => Answerer::Unknown,
    };
    let allowed = said.text_of("decision").as_deref() == Some("accept") && source != "user_reject";
    Some(Decision { call, allowed, by, at_ms })
}

/// Who refused a call without a recorded decision: rejecting it in the client's dialog at a terminal leaves
/// only this key.
fn denied_by(record: &Json) -> Option<Answerer> {
    let is_shutdown = matches!(record.get("interruptedByShutdown"), Some(Json::Bool(true)));
    match record.text_of(DENIAL)?.as_str() {
        "user-rejected" if !is_shutdown => Some(Answerer::Person),
        "permission-rule" => Some(Answerer::Config),
        kind if kind.starts_with("automode-") => Some(Answerer::Client),
        _ => None,
    }
}

/// A record's text, the calls that it makes and the results that it brings, one line each.
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

/// What a `! command` of the person printed is left out: it may be what no agent should read.
fn said(who: &str, text: &str) -> Option<String> {
    let text = text.trim();
    let is_output = ["<bash-stdout>", "<bash-stderr>"].iter().any(|begin| text.starts_with(begin));
    (!text.is_empty() && !is_output).then(|| format!("{who}: {}", one_line(&redact(text), 400)))
}

/// The fields of a call's input that best say what it does.
const DEEDS: [&str; 8] =
    ["command", "file_path", "notebook_path", "pattern", "url", "query", "subagent_type", "skill"];

fn piece(who: &str, block: &Json) -> Option<String> {
    match block.text_of("type")?.as_str() {
        "text" => said(who, &block.text_of("text")?),
        "tool_use" => {
            let tool = block.text_of("name")?;
            let input = block.get("input")?;
            let deed =
                DEEDS.iter().find_map(|name| input.text_of(name)).unwrap_or_else(|| json::canonical(input));
            Some(format!("call {}: {}", cut(&tool, 64), one_line(&redact(&deed), 120)))
        }
        "tool_result" => {
            let failed = matches!(block.get("is_error"), Some(Json::Bool(true)));
            let text = match block.get("content")? {
                Json::List(parts) => {
                    parts.iter().filter_map(|part| part.text_of("text")).collect::<Vec<_>>().join(" ")
                }
                text => text.text()?.into_owned(),
            };
            let name = if failed { "failed" } else { "result" };
            (!text.trim().is_empty()).then(|| format!("{name}: {}", one_line(&redact(text.trim()), 120)))
        }
        _ => None,
    }
}

/// How many bytes of all transcripts together are read.
const MOST: u64 = 8 << 20;

/// By agent; the main agent's name is empty. `transcript` is the session's own, `names` the agents' names by
/// ID.
pub fn used(transcript: &Path, names: &[(&str, &str)]) -> BTreeMap<String, Sum> {
    let long = |path: &Path| std::fs::metadata(path).map_or(0, |about| about.len());
    if long(transcript) + entry::beside(transcript).iter().map(|agent| long(&agent.path)).sum::<u64>() > MOST
    {
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
    fn only_the_clients_own_word_is_an_interrupt() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        let record = |words: &str, more: &str| {
            format!(
                r#"{{"type":"user","promptId":"p1",{more}"message":{{"role":"user","content":[{{"type":"text","text":"{words}"}}]}}}}"#
            )
        };
        let stopped = record(INTERRUPTED[0], "");
        let assistant =
            r#"{"type":"assistant","promptId":"p1","message":{"content":[{"type":"text","text":"x"}]}}"#
                .to_owned();
        let note = r#"{"type":"system","subtype":"informational"}"#.to_owned();
        let next = stopped.replace("p1", "p2").replace(INTERRUPTED[0], "go on");
        let result = format!(
            r#"{{"type":"user","promptId":"p1","message":{{"content":[{{"type":"tool_result","content":"{}"}}]}}}}"#,
            INTERRUPTED[0]
        );
        let plain =
            format!(r#"{{"type":"user","promptId":"p1","message":{{"content":"{}"}}}}"#, INTERRUPTED[0]);
        let notice = r#"{"type":"user","promptId":"p3","origin":{"kind":"task-notification"},"message":{"content":"<task-notification>"}}"#
            .to_owned();
        let rows: [(&str, Vec<&String>, bool); 11] = [
            ("by the person", vec![&assistant, &stopped], true),
            ("an agent's end had waited", vec![&stopped, &notice, &next], true),
            ("and was answered", vec![&stopped, &notice, &assistant], false),
            ("and more that is no conversation", vec![&stopped, &note], true),
            ("the next prompt is there", vec![&stopped, &next], true),
            ("the turn went on", vec![&stopped, &assistant], false),
            ("a result of a tool", vec![&assistant, &result], false),
            ("a text that was typed", vec![&assistant, &plain], false),
            ("nothing of it", vec![&assistant], false),
            ("an empty file", vec![], false),
            ("of another prompt", vec![&next], false),
        ];
        for (what, lines, wanted) in rows {
            let text: String = lines.into_iter().flat_map(|line| [line.as_str(), "\n"]).collect();
            std::fs::write(path, text).unwrap();
            assert_eq!(is_interrupted(path, "p1", "", Some("p2")), wanted, "{what}");
        }
        for (more, wanted) in [
            ("", true),
            (r#""isMeta":true,"#, false),
            (r#""interruptedByShutdown":true,"#, false),
            (r#""isSidechain":true,"#, false),
        ] {
            std::fs::write(path, record(INTERRUPTED[1], more)).unwrap();
            assert_eq!(is_interrupted(path, "p1", "", None), wanted, "{more}");
        }
        std::fs::write(path, &stopped).unwrap();
        assert!(
            !is_interrupted(path, "p1", &sha256(&[INTERRUPTED[0].as_bytes()]), None),
            "a timer's own words"
        );
        assert!(!is_interrupted("/nowhere", "p1", "", None));
    }

    #[test]
    fn the_recorded_transcript_is_told() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/transcripts/main.jsonl");
        let turns = last_turns(path, 2000);
        assert!(turns.contains("user: ") && turns.contains("assistant: "), "{turns}");
        assert!(turns.len() <= 2000);
        let calls = turns.lines().filter(|line| line.starts_with("call ")).count();
        let results =
            turns.lines().filter(|line| line.starts_with("result: ") || line.starts_with("failed: ")).count();
        assert!(calls > 0 && results > 0, "calls and results in one line each: {turns}");
        assert_eq!(last_turns("/nowhere", 100), "");
    }

    #[test]
    fn what_the_persons_shell_printed_is_left_out() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let line = |text: &str| format!("{{\"type\":\"user\",\"message\":{{\"content\":\"{text}\"}}}}\n");
        let text = line("go on") + &line("<bash-stdout>TOKEN=abc</bash-stdout><bash-stderr></bash-stderr>");
        std::fs::write(file.path(), text).unwrap();
        assert_eq!(last_turns(file.path().to_str().unwrap(), 2000).trim(), "user: go on");
    }

    #[test]
    fn a_message_counts_once() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/transcripts/main.jsonl");
        let used = used(Path::new(path), &[("nobody", "critic")]);
        assert_eq!(
            used.iter().map(|(agent, sum)| (agent.as_str(), sum.tokens())).collect::<Vec<_>>(),
            [("", 1500)]
        );
        assert!(super::used(Path::new("/nowhere.jsonl"), &[]).is_empty());
    }
}
