//! Codex CLI: the events it sends, the answers it expects, and the files it keeps.
//!
//! It uses Claude's format with other tools, and lets calls pass at anything but exit 2 with a reason on
//! stderr.

pub mod row;
pub mod read;
pub mod answer;
pub mod trust;
pub mod hooks;
pub mod rollout;
pub mod past;

use super::claude::settings::{Grammar, Hook, Unreadable, unregister};
use super::claude::transcript::scan::{Lens, Scan};
use super::claude::usage::Usage;
use super::claude::wire::answer::{self as claudes, Answer, clean};
use super::contract::{Companion, ForEverybody, Hindrance, Host, HostRow, command_in, register_rows};
use super::past::{PastCounts, PastFile, PastFiles, PastRecord};
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind};
use crate::model::verdict::{Ruling, Verdict};
use crate::system::env::Env;
use crate::system::files;
use row::ROW;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;
use toml::de::DeTable;

/// Its configuration, which says which hooks it trusts.
const CONFIG: &str = "config.toml";

/// Tokens of context that the model may read: the text that we inject is shorter.
const CONTEXT: u32 = 6_000;

#[derive(Debug)]
pub struct Codex;

impl Host for Codex {
    fn row(&self) -> &'static HostRow {
        &ROW
    }

    fn read(&self, name: &str, input: &[u8]) -> Result<Event, Failure> {
        read::read(name, input)
    }

    fn spell(&self, kind: EventKind, verdict: &Verdict, payload: &[u8]) -> Answer {
        answer::spell(kind, verdict, payload)
    }

    fn fail(&self, kind: EventKind, failure: &Failure) -> Answer {
        let verdict = claudes::broken(kind, failure);
        let mut said = self.spell(kind, &verdict, b"");
        if verdict.ruling != Ruling::Deny {
            // Other clients' answers have the notice on stderr already; Codex's have it on stdout, if at all.
            said.stderr = format!("{}\n", clean(&verdict.notice));
        }
        said
    }

    fn register(&self, text: &str, program: &str) -> Result<String, Unreadable> {
        register_rows(&ROW, text, program, Grammar::Json, &|event, hook| Hook {
            additional_context_limit: event.context.then_some(CONTEXT),
            ..hook
        })
    }

    fn unregister(&self, text: &str, original: Option<&str>) -> Result<String, Unreadable> {
        unregister(text, original)
    }

    fn command(&self, text: &str) -> Option<String> {
        command_in(text, Grammar::Json)
    }

    fn companion(&self) -> Option<Companion> {
        Some(Companion { file: CONFIG, said: ", trusted in its `config.toml`" })
    }

    fn accompany(&self, text: &str, path: &str, old: &str, new: &str) -> Result<String, String> {
        DeTable::parse(text).map_err(|error| error.to_string())?;
        let stale = hooks::trusts(old, path).unwrap_or_default();
        let trusts = hooks::trusts(new, path).unwrap_or_default();
        let text = trust::without(text, &stale);
        Ok(if trusts.is_empty() { text } else { trust::with(&text, &trusts) })
    }

    fn hindrance(&self, folder: &Path, managed: bool) -> Option<Hindrance> {
        if trust::switches_off(&files::read_text(folder.join(CONFIG)).unwrap_or_default()) {
            return Some(Hindrance::Switch { key: "features.hooks", file: CONFIG });
        }
        let text = || files::read_text(folder.join(ROW.registration)).unwrap_or_default();
        let is_skipped = !managed && !hooks::is_trusted(folder, &text());
        is_skipped
            .then_some(Hindrance::Installation("Codex does not trust our hooks, and silently skips them"))
    }

    fn for_everybody(&self) -> ForEverybody {
        ForEverybody::Shared
    }

    fn transcript(&self, env: &Env, session_id: &str) -> Option<PathBuf> {
        rollout::find(&env.folder_of(ROW.client).join("sessions"), session_id)
    }

    fn is_transcript(&self, path: &Path) -> bool {
        rollout::is_rollout(path)
    }

    fn scan(&self, transcript: &Path, lens: &Lens) -> io::Result<Scan> {
        rollout::scan(transcript, lens)
    }

    fn request(&self, event: &str, about: &str) -> Option<(String, Usage)> {
        rollout::request(event, about)
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
