//! Everything that knows Gemini CLI and its fork Qwen Code: their events, answers and settings.
//!
//! Both have the same tools; Qwen has Claude's events and answers, Gemini its own. Invariant: measured with
//! the releases that the rows name.

pub mod row;
pub mod read;
pub mod answer;
pub mod hooks;
pub mod usage;

use super::claude::settings::{Grammar, Hook, Unreadable, unregister_in};
use super::claude::transcript::scan::{Lens, Scan};
use super::claude::wire::answer::{self as claudes, Answer};
use super::contract::{ForEverybody, Hindrance, Host, HostRow, command_in, register_rows};
use super::past::{Down, PastFiles};
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind};
use crate::model::verdict::Verdict;
use crate::system::env::Env;
use crate::system::files;
use row::{GEMINI, QWEN};
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct Gemini;

/// A fork of Gemini CLI with Claude's events and answers.
#[derive(Debug)]
pub struct Qwen;

impl Host for Gemini {
    fn row(&self) -> &'static HostRow {
        &GEMINI
    }

    fn read(&self, name: &str, input: &[u8]) -> Result<Event, Failure> {
        read::read(name, input)
    }

    fn spell(&self, kind: EventKind, verdict: &Verdict, _: &[u8]) -> Answer {
        answer::spell(kind, verdict)
    }

    fn register(&self, text: &str, program: &str) -> Result<String, Unreadable> {
        register(&GEMINI, text, program)
    }

    fn unregister(&self, text: &str, original: Option<&str>) -> Result<String, Unreadable> {
        unregister_in(text, Grammar::Commented, original)
    }

    fn command(&self, text: &str) -> Option<String> {
        command_in(text, Grammar::Commented)
    }

    fn hindrance(&self, folder: &Path, _: bool) -> Option<Hindrance> {
        hindrance(&GEMINI, folder)
    }

    fn for_everybody(&self) -> ForEverybody {
        ForEverybody::Shared
    }

    fn transcript(&self, env: &Env, session_id: &str) -> Option<PathBuf> {
        usage::find(env.folder_of(GEMINI.client), session_id)
    }

    fn is_transcript(&self, path: &Path) -> bool {
        usage::is_chat(path)
    }

    fn scan(&self, transcript: &Path, lens: &Lens) -> io::Result<Scan> {
        usage::scan(transcript, lens)
    }

    fn past_files(&self, env: &Env, found: &mut PastFiles) {
        past_files(&GEMINI, env, found);
    }
}

impl Host for Qwen {
    fn row(&self) -> &'static HostRow {
        &QWEN
    }

    fn read(&self, name: &str, input: &[u8]) -> Result<Event, Failure> {
        read::read(name, input)
    }

    fn spell(&self, kind: EventKind, verdict: &Verdict, _: &[u8]) -> Answer {
        claudes::spell(kind, verdict)
    }

    fn fail(&self, kind: EventKind, failure: &Failure) -> Answer {
        claudes::fail(kind, failure)
    }

    fn register(&self, text: &str, program: &str) -> Result<String, Unreadable> {
        register(&QWEN, text, program)
    }

    fn unregister(&self, text: &str, original: Option<&str>) -> Result<String, Unreadable> {
        unregister_in(text, Grammar::Commented, original)
    }

    fn command(&self, text: &str) -> Option<String> {
        command_in(text, Grammar::Commented)
    }

    fn hindrance(&self, folder: &Path, _: bool) -> Option<Hindrance> {
        hindrance(&QWEN, folder)
    }

    fn transcript(&self, env: &Env, session_id: &str) -> Option<PathBuf> {
        usage::find(env.folder_of(QWEN.client), session_id)
    }

    fn is_transcript(&self, path: &Path) -> bool {
        usage::is_chat(path)
    }

    fn scan(&self, transcript: &Path, lens: &Lens) -> io::Result<Scan> {
        usage::scan(transcript, lens)
    }

    fn past_files(&self, env: &Env, found: &mut PastFiles) {
        past_files(&QWEN, env, found);
    }
}

/// Both allow comments in their settings, and people write some; both count milliseconds.
fn register(row: &HostRow, text: &str, program: &str) -> Result<String, Unreadable> {
    register_rows(row, text, program, Grammar::Commented, &|event, hook| Hook {
        timeout: event.timeout * 1000,
        ..hook
    })
}

fn hindrance(row: &HostRow, folder: &Path) -> Option<Hindrance> {
    let own = files::read_text(folder.join(row.registration)).unwrap_or_default();
    hooks::switches_off(&own).then_some(Hindrance::Switch { key: "hooksConfig", file: row.registration })
}

/// Their chats, whose prompts and calls we cannot read.
fn past_files(row: &HostRow, env: &Env, found: &mut PastFiles) {
    let is_chat = |name: &str| Path::new(name).extension().is_some_and(|end| end == "json" || end == "jsonl");
    for place in ["tmp", "projects"] {
        let down = [Down::Named(place), Down::Any, Down::Named("chats")];
        found.find(row.client, env.folder_of(row.client), &down, false, &is_chat);
    }
}
