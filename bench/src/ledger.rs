//! A session of the hook under test, grown by real events.

use crate::child::{Cost, command, run};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub(crate) struct Session<'a> {
    hook: &'a Path,
    home: PathBuf,
    id: String,
    calls: Cell<u64>,
}

/// A call that passes leaves three entries when it begins and one when it ends.
const ENTRIES_PER_CALL: u64 = 4;

impl<'a> Session<'a> {
    pub(crate) fn new(hook: &'a Path, home: &Path, id: &str) -> Self {
        let session = Self { hook, home: home.to_path_buf(), id: format!("bench-{id}"), calls: Cell::new(0) };
        session.event("SessionStart", &session.payload("SessionStart", r#""source":"startup""#));
        session
    }

    /// More calls, until about so many entries are there.
    pub(crate) fn grow(&self, entries: u64) {
        while self.calls.get() * ENTRIES_PER_CALL + 2 < entries {
            self.pre_tool_use();
        }
    }

    /// What one call costs when it begins; its end is not counted.
    pub(crate) fn pre_tool_use(&self) -> Cost {
        let id = format!("toolu_{:024}", self.calls.get());
        self.calls.set(self.calls.get() + 1);
        let cost = self.event("PreToolUse", &self.call("PreToolUse", &id));
        self.event("PostToolUse", &self.call("PostToolUse", &id));
        cost
    }

    fn event(&self, name: &str, payload: &str) -> Cost {
        run(command(self.hook, &[name], &self.home), payload.as_bytes())
    }

    /// A call as the client tells it.
    pub(crate) fn call(&self, event: &str, id: &str) -> String {
        self.payload(
            event,
            &format!(
                r#""permission_mode":"acceptEdits","tool_name":"Read","tool_input":{{"file_path":"{}/src/main.rs","limit":200}},"tool_use_id":"{id}","tool_response":{{"type":"text"}}"#,
                self.home.display()
            ),
        )
    }

    fn payload(&self, event: &str, fields: &str) -> String {
        let (id, home) = (&self.id, self.home.display());
        format!(
            r#"{{"session_id":"{id}","transcript_path":"{home}/.claude/projects/-bench/{id}.jsonl","cwd":"{home}","prompt_id":"7a3c0f52-9f4f-4a53-8d41-2d7a7a4f0c11","hook_event_name":"{event}",{fields}}}"#
        )
    }

    /// The chain holds; a number taken on a broken ledger is worth nothing.
    pub(crate) fn verify(&self) {
        run(command(self.hook, &["verify", &self.id], &self.home), b"");
    }

    /// How fast the whole chain is checked, best of five: the machine is shared.
    pub(crate) fn verified(&self) {
        // A turn's end exports the head, as in every session that is not cut off.
        self.event("Stop", &self.payload("Stop", r#""stop_hook_active":false,"last_assistant_message":"done""#));
        let began = Instant::now();
        let best = (0..5).map(|_| run(command(self.hook, &["verify", &self.id], &self.home), b"").wall).min();
        let best = best.unwrap_or_else(|| began.elapsed());
        let (entries, bytes) = self.size();
        println!(
            "full verify: {entries} entries, {:.0} MB in {:.0} ms: {:.0} entries/s, {:.0} MB/s (targets 300,000 and 300)",
            bytes as f64 / 1e6,
            best.as_secs_f64() * 1e3,
            entries as f64 / best.as_secs_f64(),
            bytes as f64 / 1e6 / best.as_secs_f64(),
        );
    }

    fn size(&self) -> (usize, usize) {
        let project = self.home.join(".claude/projects/-bench");
        let folders = std::fs::read_dir(&project).expect("the sessions' folder");
        let ledgers = folders.flatten().map(|folder| folder.path().join("ledger.jsonl"));
        let texts = ledgers.filter_map(|path| std::fs::read(path).ok());
        let longest = texts.max_by_key(Vec::len).unwrap_or_default();
        (longest.iter().filter(|byte| **byte == b'\n').count(), longest.len())
    }
}
