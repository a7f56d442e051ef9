//! Reads the calls in `events.jsonl` of a Copilot session.
//!
//! Reads one file from its beginning, one line at a time. It does not record who answered a question.
//! Invariant: an event of an unknown group is counted, never guessed.

use crate::host::claude::past::each_line;
use crate::host::past::{Down, PastCall, PastCounts, PastFiles, PastPrompt, PastRecord};
use crate::model::client::Client;
use crate::text::json::{self, Json};
use crate::text::time;
use std::io;
use std::path::Path;
use std::time::Instant;

use super::usage::is_events;

/// `session-state/<id>/events.jsonl`
pub fn files(folder: &Path, found: &mut PastFiles) {
    let is_events = |name: &str| is_events(Path::new(name));
    found.find(Client::Copilot, folder, &[Down::Named("session-state"), Down::Any], true, &is_events);
}

/// Event groups that carry no tool calls.
const PASSED_OVER: &str = "session hook user system assistant subagent skill abort";

pub fn read(path: &Path, until: Instant, take: &mut dyn FnMut(PastRecord)) -> io::Result<PastCounts> {
    let mut cwd = String::new();
    let mut session = String::new();
    each_line(path, until, &mut |line| {
        let Some(record) = std::str::from_utf8(line).ok().and_then(|text| json::read(text).ok()) else {
            return 1;
        };
        let (Some(kind), Some(data)) = (record.text_of("type"), record.get("data")) else { return 1 };
        match kind.as_str() {
            "session.start" | "session.resume" => {
                let context = data.get("context").and_then(|context| context.text_of("cwd"));
                cwd = context.unwrap_or_else(|| std::mem::take(&mut cwd));
                session = data.text_of("sessionId").unwrap_or_else(|| std::mem::take(&mut session));
                0
            }
            "tool.execution_start" => match call(&record, data, &cwd, &session) {
                Some(call) => {
                    take(PastRecord::Call(call));
                    0
                }
                None => 1,
            },
            "tool.execution_complete" => {
                let id = data.text_of("toolCallId").unwrap_or_default();
                let exit = data.get("shellExecution").and_then(|ended| ended.number_of("exitCode"));
                let failed = matches!(data.get("success"), Some(Json::Bool(false)))
                    || exit.is_some_and(|code| code != 0);
                take(PastRecord::Ended { id, failed, prompt: PastPrompt::Untold });
                0
            }
            "tool.execution_partial_result" | "tool.execution_progress" | "tool.user_requested" => 0,
            kind => {
                let group = kind.split('.').next().unwrap_or_default();
                u64::from(!PASSED_OVER.split(' ').any(|known| known == group))
            }
        }
    })
}

fn call(record: &Json, data: &Json, cwd: &str, session: &str) -> Option<PastCall> {
    // We do not know the name under which hooks see a server's tool.
    let is_own = data.get("mcpServerName").is_none_or(|server| matches!(server, Json::Null));
    let input = data.get("arguments").filter(|input| matches!(input, Json::Object(_)) && is_own)?;
    Some(PastCall {
        id: data.text_of("toolCallId")?,
        session: session.to_owned(),
        tool: data.text_of("toolName")?,
        input: input.canonical(aops_ledger::json::unchanged),
        cwd: cwd.to_owned(),
        at_ms: record.text_of("timestamp").as_deref().and_then(time::parse),
        mode: None,
    })
}
