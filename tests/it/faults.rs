//! Fault injection: a session driven in this process, session files put back, system calls that fail or kill.
//!
//! Invariant: all of it happens below a throwaway folder; nothing reads the real environment.

mod left_out;
pub(crate) mod namespace;
pub(crate) mod python_verifier;
pub(crate) mod strace;

use crate::support::Answer;
use aops_core::gate::facts;
use aops_core::gate::{self, Context};
use aops_core::host::claude::wire::read;
use aops_core::ledger::chain::{Damage, Walk};
use aops_core::ledger::open::Ledger;
use aops_core::ledger::session_folder::SessionKey;
use aops_core::model::error::Failure;
use aops_core::session::fact::{FORMAT, Fact, Happened, Opened};
use aops_core::session::fold::Session;
use aops_core::system::env::{Env, boot_id};
use aops_core::text::sha256::NO_DIGEST;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub(crate) const ID: &str = "5f0c1f3a-0000-4000-8000-00000000cafe";
pub(crate) const LEDGER: &str = "ledger.jsonl";
pub(crate) const STATE: &str = "session-state.json";

/// One session, its events walked in this process by the library: fast enough for every byte and every bit.
pub(crate) struct Workshop {
    root: TempDir,
    pub(crate) env: Env,
}

/// All files of a folder with what is in them.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

impl Workshop {
    pub(crate) fn new() -> Self {
        // In memory where that can be had: thousands of cases, each of which would wait for the disk.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
        let root = tempfile::Builder::new().prefix("aops-").tempdir_in(folder).unwrap();
        let home = root.path().to_path_buf();
        let env = Env {
            config: home.join(".claude"),
            user_config: home.join(".config/aops"),
            data: home.join("data"),
            cwd: home.clone(),
            now_ms: 1_768_298_400_000,
            home,
            ..Env::default()
        };
        Self { root, env }
    }

    /// One event, read, judged and recorded as the hook does it.
    pub(crate) fn event(&self, name: &str, fields: &Value) -> Result<(), Failure> {
        let event = read::read(name, self.payload(name, fields).to_string().as_bytes())?;
        let mut ledger =
            Ledger::lock(&self.env, whose(&event.transcript_path, &event.cwd), name == "SessionStart")?;
        let context = Context::default();
        if ledger.session().is_new() {
            let opened = Opened {
                binary: env!("CARGO_PKG_VERSION").to_owned(),
                boot: boot_id(),
                format: FORMAT,
                policy_hash: NO_DIGEST.to_owned(),
                project: ledger.project(),
                ..Opened::default()
            };
            ledger.append(&self.env, vec![Fact::Open(opened)])?;
        }
        let verdict = gate::judge(ledger.session(), &event, &context);
        let mut facts = facts::facts(ledger.session(), &event, &verdict, &context);
        if let Some(Fact::Event(seen)) = facts.last_mut()
            && let Happened::SessionStarted(start) = &mut seen.what
        {
            start.boot = boot_id();
            start.watched.folders.clone_from(&context.folders);
        }
        ledger.append(&self.env, facts)
    }

    /// A fact that no event brings.
    pub(crate) fn say(&self, fact: Fact) -> Result<(), Failure> {
        Ledger::lock(&self.env, whose(&self.transcript(), ""), false)?.append(&self.env, vec![fact])
    }

    pub(crate) fn pre(&self, call: &str) -> Result<(), Failure> {
        self.event("PreToolUse", &tool(call))
    }

    pub(crate) fn post(&self, call: &str) -> Result<(), Failure> {
        self.event("PostToolUse", &tool(call))
    }

    /// The session as a next event would find it; appends nothing.
    pub(crate) fn found(&self) -> Result<Session, Failure> {
        let transcript = self.transcript();
        let ledger = Ledger::lock(&self.env, whose(&transcript, ""), false)?;
        Ok(ledger.session().clone())
    }

    pub(crate) fn folder(&self) -> PathBuf {
        let items = fs::read_dir(self.env.projects().join("-p")).unwrap();
        let items = items.map(|item| item.unwrap().path());
        // The list of a project's sessions is beside them.
        let folders: Vec<PathBuf> = items.filter(|path| path.is_dir()).collect();
        let [folder] = folders.as_slice() else { panic!("not one folder: {folders:?}") };
        folder.clone()
    }

    pub(crate) fn file(&self, name: &str) -> Vec<u8> {
        fs::read(self.folder().join(name)).unwrap()
    }

    pub(crate) fn files(&self) -> Files {
        files(&self.folder())
    }

    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }

    fn transcript(&self) -> String {
        self.env.projects().join(format!("-p/{ID}.jsonl")).to_str().unwrap().to_owned()
    }

    pub(crate) fn payload(&self, name: &str, fields: &Value) -> Value {
        let mut payload = json!({"session_id": ID, "cwd": self.env.home, "hook_event_name": name,
            "prompt_id": "p1", "transcript_path": self.transcript()});
        payload.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        payload
    }
}

fn whose<'a>(transcript_path: &'a str, cwd: &'a str) -> SessionKey<'a> {
    SessionKey { session_id: ID, transcript_path, cwd }
}

/// Not refused, no complaint; what it told the model is another test's business.
#[track_caller]
pub(crate) fn passed(answer: &Answer) {
    assert!(answer.code == Some(0) && answer.err.is_empty(), "not passed: {answer:#?}");
}

pub(crate) fn tool(call: &str) -> Value {
    json!({"tool_name": "Read", "tool_input": {"file_path": format!("/x/{call}")}, "tool_use_id": call})
}

/// The same object with more members.
pub(crate) fn with(mut object: Value, more: &Value) -> Value {
    object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    object
}

/// What is in a folder; folders in it are left out.
pub(crate) fn files(folder: &Path) -> Files {
    let items = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let plain = items.filter(|item| item.file_type().unwrap().is_file());
    let named = |item: fs::DirEntry| item.file_name().into_string().unwrap();
    plain.map(|item| (item.path(), named(item))).map(|(path, name)| (name, fs::read(path).unwrap())).collect()
}

/// Makes the folder hold exactly these files, but for the lock.
pub(crate) fn put_back(folder: &Path, wanted: &Files) {
    for name in files(folder).keys().filter(|name| *name != ".lock" && !wanted.contains_key(*name)) {
        fs::remove_file(folder.join(name)).unwrap();
    }
    for (name, bytes) in wanted.iter().filter(|(name, _)| *name != ".lock") {
        fs::write(folder.join(name), bytes).unwrap();
    }
}

/// A full walk over these bytes: where it ends, and how many bytes are left after the last mark.
pub(crate) fn walk(trace: &str, bytes: &[u8]) -> Result<(Walk, usize), Damage> {
    let mut walk = Walk::new(Session::default(), trace, 0);
    let done = walk.feed(bytes)?;
    Ok((walk, bytes.len() - done))
}

/// Every whole line as JSON.
pub(crate) fn entries(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// The steps each call went through, in order.
pub(crate) fn steps(bytes: &[u8]) -> BTreeMap<String, Vec<String>> {
    let mut calls: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    for entry in entries(bytes).iter().filter(|entry| entry["type"] == "call") {
        calls.entry(text(&entry["with"]["call"]["id"])).or_default().push(text(&entry["with"]["to"]));
    }
    calls
}

/// The ledger holds to its last byte, and the state beside it is the one it commits to.
#[track_caller]
pub(crate) fn sound(trace: &str, folder: &Path) -> Vec<u8> {
    let bytes = fs::read(folder.join(LEDGER)).unwrap();
    let (walk, rest) = walk(trace, &bytes).unwrap_or_else(|damage| panic!("{damage:?}"));
    assert_eq!(rest, 0, "bytes after the last mark");
    let state: Value = serde_json::from_slice(&fs::read(folder.join(STATE)).unwrap()).unwrap();
    assert_eq!(state["ledger"]["seq"], walk.folded.seq, "the state is of another entry");
    assert_eq!(state["ledger"]["head"], walk.folded.head.as_str());
    let mut told = state;
    for ours in ["ledger", "digest"] {
        told.as_object_mut().unwrap().remove(ours);
    }
    assert_eq!(told, serde_json::to_value(&walk.folded.state).unwrap(), "the state is not the fold");
    for (call, steps) in steps(&bytes) {
        let whole = ["PENDING", "AUTHORIZED", "EXECUTING", "COMPLETED"];
        assert!(
            whole.starts_with(&steps.iter().map(String::as_str).collect::<Vec<_>>())
                || steps.contains(&"FAILED".to_owned())
                || steps.contains(&"DENIED".to_owned()),
            "{call}: {steps:?}"
        );
    }
    bytes
}
