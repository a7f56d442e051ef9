//! Everything that knows OpenCode: the plugin that asks us, its events in our terms, and its answers.
//!
//! OpenCode has no hooks that run commands, so our plugin starts our program for each event and throws an
//! error if we refuse. Invariant: measured with the release that the row names.

pub mod row;
pub mod read;
pub mod answer;
pub mod plugin;

use super::claude::settings::Unreadable;
use super::claude::usage::Usage;
use super::claude::wire::answer::Answer;
use super::codex::rollout;
use super::contract::{ForEverybody, Host, HostRow, without_ours};
use super::past::{Down, PastFiles};
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind};
use crate::model::verdict::Verdict;
use crate::system::env::Env;
use row::ROW;

#[derive(Debug)]
pub struct Opencode;

impl Host for Opencode {
    fn row(&self) -> &'static HostRow {
        &ROW
    }

    fn read(&self, name: &str, input: &[u8]) -> Result<Event, Failure> {
        read::read(name, input)
    }

    fn spell(&self, kind: EventKind, verdict: &Verdict, _: &[u8]) -> Answer {
        answer::spell(kind, verdict)
    }

    fn register(&self, _: &str, program: &str) -> Result<String, Unreadable> {
        Ok(plugin::file(program))
    }

    fn unregister(&self, text: &str, _: Option<&str>) -> Result<String, Unreadable> {
        Ok(without_ours(text))
    }

    fn command(&self, text: &str) -> Option<String> {
        plugin::command(text)
    }

    fn for_everybody(&self) -> ForEverybody {
        ForEverybody::Listed { name: plugin::MANAGED, list: plugin::list, has: plugin::lists }
    }

    fn request(&self, event: &str, about: &str) -> Option<(String, Usage)> {
        rollout::request(event, about)
    }

    fn past_files(&self, env: &Env, found: &mut PastFiles) {
        // A database, which we cannot read.
        let is_database = |name: &str| name == "opencode.db";
        let moved = env.folders.iter().find(|(name, _)| name == "XDG_DATA_HOME");
        let data = moved.map_or_else(|| env.home.join(".local/share"), |(_, path)| path.into());
        found.find(ROW.client, &data, &[Down::Named("opencode")], false, &is_database);
    }
}
