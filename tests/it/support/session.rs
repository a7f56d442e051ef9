//! One Claude Code session as its hooks see it: events in, answers and files out.

use super::{Answer, Sandbox};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) struct Session<'a> {
    pub(super) sandbox: &'a Sandbox,
    pub(crate) id: String,
    prompts: Cell<u32>,
    calls: Cell<u32>,
}

/// One tool call, from `PreToolUse` to `PostToolBatch`.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) input: Value,
    agent: Option<(String, String)>,
}

impl Call {
    /// The same call, made inside a subagent.
    pub(crate) fn by(self, agent_id: &str, agent_type: &str) -> Self {
        Self { agent: Some((agent_id.to_owned(), agent_type.to_owned())), ..self }
    }

    pub(crate) fn fields(&self) -> Value {
        let mut fields = json!({"tool_name": self.tool, "tool_input": self.input, "tool_use_id": self.id});
        if let Some((id, kind)) = &self.agent {
            fields["agent_id"] = json!(id);
            fields["agent_type"] = json!(kind);
        }
        fields
    }
}

impl<'a> Session<'a> {
    pub(crate) fn new(sandbox: &'a Sandbox, id: &str) -> Self {
        Self { sandbox, id: id.to_owned(), prompts: Cell::new(0), calls: Cell::new(0) }
    }

    pub(crate) fn start(&self, source: &str) -> Answer {
        self.event("SessionStart", json!({"source": source}))
    }

    pub(crate) fn prompt(&self, text: &str) -> Answer {
        self.prompts.set(self.prompts.get() + 1);
        self.event("UserPromptSubmit", json!({"prompt": text}))
    }

    /// A call with an id of its own; nothing is told yet.
    pub(crate) fn call(&self, tool: &str, input: Value) -> Call {
        self.calls.set(self.calls.get() + 1);
        let id = format!("toolu_{:04}{}", self.calls.get(), &self.id[..8]);
        Call { id, tool: tool.to_owned(), input, agent: None }
    }

    pub(crate) fn pre(&self, call: &Call) -> Answer {
        self.event("PreToolUse", call.fields())
    }

    pub(crate) fn post(&self, call: &Call) -> Answer {
        let done =
            json!({"tool_response": {"stdout": "", "stderr": "", "interrupted": false}, "duration_ms": 3});
        self.event("PostToolUse", join(call.fields(), done))
    }

    pub(crate) fn fail(&self, call: &Call, error: &str) -> Answer {
        let failed = json!({"error": error, "is_interrupt": false, "duration_ms": 3});
        self.event("PostToolUseFailure", join(call.fields(), failed))
    }

    pub(crate) fn batch(&self, calls: &[&Call]) -> Answer {
        let told = |call: &&Call| join(call.fields(), json!({"tool_response": "done"}));
        self.event("PostToolBatch", json!({"tool_calls": calls.iter().map(told).collect::<Vec<_>>()}))
    }

    pub(crate) fn stop(&self, last_words: &str) -> Answer {
        let fields = json!({"stop_hook_active": false, "last_assistant_message": last_words,
            "background_tasks": [], "session_crons": []});
        self.event("Stop", fields)
    }

    pub(crate) fn end(&self) -> Answer {
        self.event("SessionEnd", json!({"reason": "other"}))
    }

    /// Any event of this session.
    pub(crate) fn event(&self, name: &str, fields: Value) -> Answer {
        self.sandbox.hook(name, &self.payload(name, fields))
    }

    /// What the client would write to the hook's stdin.
    pub(crate) fn payload(&self, name: &str, fields: Value) -> Value {
        let mut payload = json!({
            "session_id": self.id, "cwd": self.sandbox.project(), "hook_event_name": name,
            "transcript_path": self.sandbox.sessions().join(format!("{}.jsonl", self.id)),
        });
        if self.prompts.get() > 0 {
            payload["prompt_id"] = json!(uuid(&format!("{}:{}", self.id, self.prompts.get())));
        }
        if !name.starts_with("Session") && !name.starts_with("SubagentStart") {
            payload["permission_mode"] = json!("acceptEdits");
        }
        join(payload, fields)
    }

    /// The one folder of this session, `{day}-{hash of the id}`.
    #[track_caller]
    pub(crate) fn folder(&self) -> PathBuf {
        let found = self.folders();
        assert_eq!(found.len(), 1, "folders of session {}: {found:?}", self.id);
        found[0].clone()
    }

    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let of_claude = self.sandbox.sessions();
        let project = of_claude.file_name().unwrap().to_owned();
        let others = fs::read_dir(self.sandbox.data().join("sessions")).into_iter().flatten().flatten();
        let others = others.map(|client| client.path().join(&project));
        let listings = std::iter::once(of_claude.clone())
            .chain(others)
            .filter_map(|folder| fs::read_dir(folder).ok())
            .flatten();
        listings.map(|entry| entry.unwrap().path()).filter(|path| self.owns(path)).collect()
    }

    /// Whether a folder of this name is this session's.
    pub(crate) fn owns(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.split_once('-')
            .is_some_and(|(day, hash)| day.len() == 8 && self.hashes().iter().any(|h| h == hash))
    }

    /// What stands for the id in the folder's name: the short form, and the one for when that is taken.
    pub(crate) fn hashes(&self) -> [String; 2] {
        let digest = hex(&self.id);
        [digest[..8].to_owned(), digest[..16].to_owned()]
    }

    /// Every entry of the ledger, oldest first.
    #[track_caller]
    pub(crate) fn entries(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder().join("ledger.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The number of the last entry like this.
    #[track_caller]
    pub(crate) fn sequence_number(&self, like: impl Fn(&Value) -> bool) -> Value {
        self.entries().iter().rfind(|entry| like(entry)).unwrap()["sequence_number"].clone()
    }

    /// Every call of the ledger with the states it went through.
    #[track_caller]
    pub(crate) fn calls(&self) -> BTreeMap<String, Vec<String>> {
        let mut calls: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for entry in self.entries().iter().filter(|entry| entry["type"] == "call") {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            calls.entry(text(&entry["with"]["call"]["id"])).or_default().push(text(&entry["with"]["to"]));
        }
        calls
    }

    /// So many prompts and calls were recorded, and nothing twice.
    #[track_caller]
    pub(crate) fn had(&self, prompts: usize, calls: usize) {
        let entries = self.entries();
        let count = |name: &str| entries.iter().filter(|entry| entry["with"]["event"] == name).count();
        let twice = entries.iter().filter(|entry| entry["type"] == "violation").count();
        let found = (count("UserPromptSubmit"), self.calls().len(), count("Stop"), twice);
        assert_eq!(found, (prompts, calls, 1, 0), "{entries:#?}");
    }

    #[track_caller]
    pub(crate) fn state(&self) -> Value {
        serde_json::from_slice(&fs::read(self.folder().join("session-state.json")).unwrap()).unwrap()
    }
}

/// A made-up id in the client's form, always the same for the same seed.
pub(super) fn uuid(seed: &str) -> String {
    let hex = hex(seed);
    format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
}

fn hex(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

fn join(mut fields: Value, more: Value) -> Value {
    if let (Some(fields), Value::Object(more)) = (fields.as_object_mut(), more) {
        fields.extend(more);
    }
    fields
}
