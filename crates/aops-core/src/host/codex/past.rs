//! Reads the calls in a rollout file of Codex, in the terms that its hooks use.
//!
//! Reads one file from its beginning, one line at a time. It does not record who answered a question.
//! Invariant: a call with an unknown tool is counted, never guessed; so is a script that calls tools itself.

use crate::host::claude::past::each_line;
use crate::host::past::{Down, PastCall, PastCounts, PastFiles, PastPrompt, PastRecord};
use crate::model::client::Client;
use crate::text::json::{self, Json};
use crate::text::time;
use serde_json::json;
use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::time::Instant;

use super::rollout::is_rollout;

/// `sessions/2026/01/13/rollout-….jsonl`
pub fn files(folder: &Path, found: &mut PastFiles) {
    let is_rollout = |name: &str| is_rollout(Path::new(name));
    let down = [Down::Named("sessions"), Down::Any, Down::Any, Down::Any];
    found.find(Client::Codex, folder, &down, true, &is_rollout);
}

/// Kinds of records without calls.
const PASSED_OVER: &str = "session_meta turn_context event_msg world_state token_usage_record compacted";
/// Kinds of response items that are not calls.
const NO_CALL: &str = "message reasoning web_search_call ghost_snapshot compaction other";
/// Tools without effects.
const HARMLESS: &str =
    "update_plan view_image list_mcp_resources read_mcp_resource wait_agent close_agent write_stdin";

/// What the records before a call say about it.
#[derive(Default)]
struct Around {
    session: String,
    cwd: String,
}

pub fn read(path: &Path, until: Instant, take: &mut dyn FnMut(PastRecord)) -> io::Result<PastCounts> {
    let mut around = Around::default();
    each_line(path, until, &mut |line| {
        let record = std::str::from_utf8(line).ok().and_then(|text| json::read(text).ok());
        record.map_or(1, |record| around.tell(&record, take))
    })
}

fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

impl Around {
    fn tell(&mut self, record: &Json, take: &mut dyn FnMut(PastRecord)) -> u64 {
        let (Some(kind), Some(payload)) = (record.text_of("type"), record.get("payload")) else { return 1 };
        if matches!(kind.as_str(), "session_meta" | "turn_context") {
            self.cwd = payload.text_of("cwd").unwrap_or_else(|| std::mem::take(&mut self.cwd));
            let session = payload.text_of("session_id").or_else(|| payload.text_of("id"));
            self.session = session
                .filter(|_| kind == "session_meta")
                .unwrap_or_else(|| std::mem::take(&mut self.session));
        }
        if kind != "response_item" {
            return u64::from(!is_in(PASSED_OVER, &kind));
        }
        let item = payload.text_of("type").unwrap_or_default();
        match item.as_str() {
            "function_call" | "custom_tool_call" | "local_shell_call" => self.call(record, payload, take),
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                let id = payload.text_of("call_id").unwrap_or_default();
                let said = payload.text_of("output").unwrap_or_default();
                let failed = said.contains("Process exited with code ")
                    && !said.contains("Process exited with code 0");
                take(PastRecord::Ended { id, failed, prompt: PastPrompt::Untold });
                0
            }
            item => u64::from(!is_in(NO_CALL, item)),
        }
    }

    fn call(&self, record: &Json, payload: &Json, take: &mut dyn FnMut(PastRecord)) -> u64 {
        let name = payload.text_of("name").unwrap_or_default();
        let id = payload.text_of("call_id");
        let Some((tool, input, folder)) = translated(&name, payload).filter(|_| id.is_some()) else {
            return u64::from(!is_in(HARMLESS, &name));
        };
        take(PastRecord::Call(PastCall {
            id: id.unwrap_or_default(),
            session: self.session.clone(),
            tool: tool.to_owned(),
            input,
            cwd: folder.unwrap_or_else(|| self.cwd.clone()),
            at_ms: record.text_of("timestamp").as_deref().and_then(time::parse),
            mode: None,
        }));
        0
    }
}

/// The tool as hooks see it, its input, and the folder if the call names one.
fn translated(name: &str, payload: &Json) -> Option<(&'static str, String, Option<String>)> {
    if name == "apply_patch" {
        let patch =
            payload.text_of("input").or_else(|| json::text_in(&payload.text_of("arguments")?, "input"))?;
        return Some(("apply_patch", json!({ "command": patch }).to_string(), None));
    }
    let given = payload.text_of("arguments")?;
    let given = json::read(&given).ok()?;
    let line = match name {
        "exec_command" => given.text_of("cmd"),
        "shell_command" => given.text_of("command"),
        "shell" | "local_shell" => shell_line(given.get("command")?),
        _ => None,
    }?;
    let folder = given.text_of("workdir").filter(|folder| folder.starts_with('/'));
    Some(("Bash", json!({ "command": line }).to_string(), folder))
}

/// `["bash", "-lc", "line"]`; any other list of words starts a program without a shell.
fn shell_line(words: &Json) -> Option<String> {
    let Json::List(words) = words else { return None };
    let words: Option<Vec<_>> = words.iter().map(|word| word.text().map(Cow::into_owned)).collect();
    match words?.as_slice() {
        [shell, option, line]
            if shell.ends_with("sh") && option.starts_with('-') && option.ends_with('c') =>
        {
            Some(line.clone())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> (Vec<PastRecord>, u64) {
        let mut all = Vec::new();
        let mut around = Around { session: "s".to_owned(), cwd: "/p".to_owned() };
        let unknown = around.tell(&json::read(line).unwrap(), &mut |record| all.push(record));
        (all, unknown)
    }

    #[test]
    fn calls_are_told_in_the_words_of_its_hooks() {
        let item = |name: &str, arguments: &str| {
            let arguments = serde_json::Value::from(arguments);
            format!(
                r#"{{"timestamp":"2026-11-18T05:45:40.930Z","type":"response_item","payload":{{"type":"function_call","name":"{name}","arguments":{arguments},"call_id":"c"}}}}"#
            )
        };
        for (name, arguments, cwd) in [
            ("exec_command", r#"{"cmd":"ls"}"#, "/p"),
            ("exec_command", r#"{"cmd":"ls","workdir":"/q"}"#, "/q"),
            ("shell", r#"{"command":["bash","-lc","ls"]}"#, "/p"),
        ] {
            let (all, unknown) = told(&item(name, arguments));
            let [PastRecord::Call(call)] = all.as_slice() else { panic!("{name}: {all:?}") };
            assert_eq!((call.tool.as_str(), call.input.as_str()), ("Bash", r#"{"command":"ls"}"#));
            assert_eq!((call.cwd.as_str(), call.session.as_str(), unknown), (cwd, "s", 0));
        }
        for (name, arguments, unknown) in [
            ("shell", r#"{"command":["ls"]}"#, 1),
            ("frob", "{}", 1),
            ("exec_command", "{not json", 1),
            ("update_plan", "{}", 0),
        ] {
            assert_eq!(told(&item(name, arguments)), (Vec::new(), unknown), "{name} {arguments}");
        }
        let script = r#"{"type":"response_item","payload":{"type":"custom_tool_call","name":"exec","input":"tools.x()","call_id":"c"}}"#;
        assert_eq!(told(script).1, 1, "a script calls tools itself");
        assert_eq!(told(r#"{"type":"brand_new","payload":{}}"#).1, 1);
        assert_eq!(told(r#"{"type":"event_msg","payload":{"type":"task_started"}}"#), (Vec::new(), 0));
    }
}
