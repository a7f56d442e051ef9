//! Everything that knows Copilot CLI: its events and answers, its registration, and the file of a session's
//! events.
//!
//! Its events have Claude's names if they are registered by those names, and it understands Claude's answers
//! at `PreToolUse`. Invariant: measured with the release that the row names.

pub mod row;
pub mod read;
pub mod answer;
pub mod hooks;
pub mod usage;
pub mod past;

use super::claude::settings::Unreadable;
use super::claude::transcript::scan::{Lens, Scan};
use super::claude::wire::answer::Answer;
use super::contract::{ForEverybody, Hindrance, Host, HostRow, without_ours};
use super::past::{PastCounts, PastFile, PastFiles, PastRecord};
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind};
use crate::model::verdict::Verdict;
use crate::system::env::Env;
use crate::system::files;
use row::ROW;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(Debug)]
pub struct Copilot;

impl Host for Copilot {
    fn row(&self) -> &'static HostRow {
        &ROW
    }

    fn read(&self, name: &str, input: &[u8]) -> Result<Event, Failure> {
        read::read(name, input)
    }

    fn spell(&self, kind: EventKind, verdict: &Verdict, payload: &[u8]) -> Answer {
        answer::spell(kind, verdict, payload)
    }

    fn register(&self, _: &str, program: &str) -> Result<String, Unreadable> {
        Ok(hooks::file(program))
    }

    fn unregister(&self, text: &str, _: Option<&str>) -> Result<String, Unreadable> {
        Ok(without_ours(text))
    }

    fn command(&self, text: &str) -> Option<String> {
        hooks::command(text)
    }

    fn hindrance(&self, folder: &Path, managed: bool) -> Option<Hindrance> {
        const FILE: &str = "settings.json";
        let own = || files::read_text(folder.join(FILE)).unwrap_or_default();
        // Its own settings cannot switch off an administrator's hooks.
        let is_off = !managed && hooks::switches_off(&own());
        is_off.then_some(Hindrance::Switch { key: "disableAllHooks", file: FILE })
    }

    fn for_everybody(&self) -> ForEverybody {
        ForEverybody::Own
    }

    fn register_for_everybody(&self, _: &str, program: &str) -> Result<String, Unreadable> {
        Ok(hooks::managed(program))
    }

    fn transcript(&self, env: &Env, session_id: &str) -> Option<PathBuf> {
        Some(env.folder_of(ROW.client).join("session-state").join(session_id).join("events.jsonl"))
    }

    fn is_transcript(&self, path: &Path) -> bool {
        usage::is_events(path)
    }

    fn scan(&self, transcript: &Path, lens: &Lens) -> io::Result<Scan> {
        usage::scan(transcript, lens)
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
