//! The clients that run us: one folder each, and the table of what each can do. No other folder knows their JSON or their
//! files.
//!
//! Here is the one way in and out: an event of any client is read into the same [`Event`], and a verdict is spelled as the
//! client wants to hear it. Invariant: a caller that was registered by name is that client; every other caller is judged by what
//! it says, and is foreign unless it is Claude Code.

pub mod table;
pub mod places;
pub mod claude;
pub mod codex;

use crate::model::client::Client;
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind};
use crate::model::verdict::Verdict;
use crate::system::env::Env;
use claude::transcript::scan::{Lens, Scan};
use claude::wire::answer::{self, Answer};
use claude::wire::read as claudes;
use places::places;
use std::fs;
use std::io;
use std::path::Path;

/// The event called `name` in these bytes.
pub fn read(client: Client, name: &str, input: &[u8]) -> Result<Event, Failure> {
    match client {
        Client::Codex => codex::read::read(name, input),
        _ => claudes::read(name, input),
    }
}

/// `payload`: the event that is answered.
pub fn spell(client: Client, kind: EventKind, verdict: &Verdict, payload: &[u8]) -> Answer {
    match client {
        Client::Codex => codex::answer::spell(kind, verdict, payload),
        _ => answer::spell(kind, verdict),
    }
}

/// The answer to an event that aops-hook itself failed on.
pub fn fail(client: Client, kind: EventKind, failure: &Failure) -> Answer {
    match client {
        Client::Codex => codex::answer::fail(kind, failure),
        _ => answer::fail(kind, failure),
    }
}

/// What a session used, as the file that its client keeps of it says.
pub fn scan(transcript: &Path, lens: &Lens) -> io::Result<Scan> {
    if codex::rollout::is_rollout(transcript) {
        return codex::rollout::scan(transcript, lens);
    }
    claude::transcript::scan::scan(transcript, lens)
}

/// We are registered in this client, in whatever state.
pub fn is_registered(env: &Env, client: Client) -> bool {
    let file = places(client).map(|places| env.folder_of(client).join(places.registration));
    file.and_then(|file| fs::read(file).ok()).is_some_and(|text| contains(&text, claude::settings::PROGRAM.as_bytes()))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Our registration in this client is there and whole: its sessions are seen by our hooks.
pub fn is_hooked(env: &Env, client: Client) -> bool {
    match client {
        Client::Claude => claude::disarm::is_whole(&env.config.join("settings.json")),
        Client::Codex => codex::hooks::is_whole(env.folder_of(client)),
        _ => false,
    }
}

/// We know how to answer it: the others are told that they pass.
pub fn is_answered(client: Client) -> bool {
    matches!(client, Client::Claude | Client::Codex)
}
