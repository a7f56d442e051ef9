//! Claude Code as one of the clients, using what its folder knows.
//!
//! Its events are `EVENTS`, and it runs us because of entries in its own settings. Invariant: measured with
//! the release that the row names.

use super::claude::settings::{self, Grammar, Unreadable};
use super::claude::transcript::scan::{self, Lens, Scan};
use super::claude::wire::answer::{self, Answer};
use super::claude::wire::read;
use super::claude::{disarm, past};
use super::contract::{Host, HostRow, IN_MARKDOWN, command_in};
use super::past::{PastCounts, PastFile, PastFiles, PastRecord};
use crate::model::client::Client;
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind};
use crate::model::verdict::Verdict;
use crate::system::env::Env;
use std::io;
use std::path::Path;
use std::time::Instant;

#[rustfmt::skip]
static ROW: HostRow = HostRow {
    client: Client::Claude, title: "Claude Code", measured: ("2.1.325", "2026-11"), events: &[],
    registration: "settings.json", managed: "", guards: &[], in_project: &[], agents: IN_MARKDOWN,
    variables: &["CLAUDE_CONFIG_DIR"], bypass: &[], verbs: &[], drops: &[],
    answers: [
        "`CLAUDECODE`, `CLAUDE_CODE_SESSION_ID`, or its payload", "JSON and exit 2", "nothing",
        "blocked (`onFailure`)", "blocked (`onFailure`)", "asks; blocked without a person", "yes", "`agent_id`",
        "SubagentStop", "yes", "the client stops after 8", "transcript", "`/etc/claude-code/managed-settings.json`",
        "`projects/…/*.jsonl`, agents' too",
    ],
};

#[derive(Debug)]
pub struct ClaudeCode;

impl Host for ClaudeCode {
    fn row(&self) -> &'static HostRow {
        &ROW
    }

    fn read(&self, name: &str, input: &[u8]) -> Result<Event, Failure> {
        read::read(name, input)
    }

    fn spell(&self, kind: EventKind, verdict: &Verdict, _: &[u8]) -> Answer {
        answer::spell(kind, verdict)
    }

    fn fail(&self, kind: EventKind, failure: &Failure) -> Answer {
        answer::fail(kind, failure)
    }

    fn shortened(&self, input: &[u8], most: usize) -> Option<String> {
        read::shortened(input, most)
    }

    fn register(&self, text: &str, program: &str) -> Result<String, Unreadable> {
        settings::register(text, program)
    }

    fn unregister(&self, text: &str, original: Option<&str>) -> Result<String, Unreadable> {
        settings::unregister(text, original)
    }

    fn command(&self, text: &str) -> Option<String> {
        command_in(text, Grammar::Json)
    }

    fn has_hooks(&self, folder: &Path) -> bool {
        disarm::is_whole(&folder.join(ROW.registration))
    }

    fn scan(&self, transcript: &Path, lens: &Lens) -> io::Result<Scan> {
        scan::scan(transcript, lens)
    }

    fn past_files(&self, env: &Env, found: &mut PastFiles) {
        past::files(env.folder_of(ROW.client), found);
    }

    fn read_past(
        &self,
        file: &PastFile,
        until: Instant,
        take: &mut dyn FnMut(PastRecord),
    ) -> io::Result<PastCounts> {
        past::read(&file.path, until, take)
    }
}
