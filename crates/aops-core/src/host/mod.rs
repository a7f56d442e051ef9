//! The clients that run us: one folder each, which implements `contract::Host`, and the list of them. No
//! other folder knows their JSON or their files.
//!
//! This is the only way in and out: an event of any client becomes the same [`Event`], and a verdict is
//! written in the form that the client expects. Invariant: a caller that was registered with a client's name
//! is that client; every other caller is judged by what it sends, and is foreign unless it is Claude Code.

pub mod words;
pub mod recorded;
pub mod past;
pub mod claude;
pub mod contract;
pub mod claude_code;
pub mod codex;
pub mod copilot;
pub mod opencode;
pub mod gemini;
pub mod table;
pub mod shown;
pub mod agents;

use crate::model::client::Client;
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind};
use crate::model::verdict::Verdict;
use crate::system::env::{Env, below_root, system_root};
use crate::system::files;
use crate::text::json;
use claude::settings::PROGRAM;
use claude::transcript::scan::{Lens, Scan};
use claude::usage::Usage;
use claude::wire::answer::Answer;
use contract::{ForEverybody, runs_as_wanted};
use memchr::memmem;
use past::{PastCall, PastCounts, PastFile, PastFiles, PastRecord};
use std::io;
use std::path::Path;
use std::time::Instant;
use table::{HOSTS, adapter, host};

/// The event called `name` in these bytes.
pub fn read(client: Client, name: &str, input: &[u8]) -> Result<Event, Failure> {
    adapter(client).read(name, input)
}

/// The verdict in the form that the client expects. `payload`: the event that is answered.
pub fn spell(client: Client, kind: EventKind, verdict: &Verdict, payload: &[u8]) -> Answer {
    adapter(client).spell(kind, verdict, payload)
}

/// The answer to an event in which aops-hook itself failed.
pub fn fail(client: Client, kind: EventKind, failure: &Failure) -> Answer {
    adapter(client).fail(kind, failure)
}

/// What a session used, according to the file that its client keeps about it.
pub fn scan(transcript: &Path, lens: &Lens) -> io::Result<Scan> {
    let keeper = HOSTS.into_iter().find(|host| host.is_transcript(transcript));
    keeper.unwrap_or(adapter(Client::default())).scan(transcript, lens)
}

/// The model and tokens of one request, if an event contains them in these fields.
pub fn request(event: &str, about: &str) -> Option<(String, Usage)> {
    HOSTS.into_iter().find_map(|host| host.request(event, about))
}

/// The files in which a client keeps its sessions, even those with an unknown format.
pub fn past_files(env: &Env, client: Client) -> PastFiles {
    let mut found = PastFiles::default();
    adapter(client).past_files(env, &mut found);
    found
}

/// Reads such a file, and passes on its records one after another.
pub fn read_past(
    file: &PastFile,
    until: Instant,
    take: &mut dyn FnMut(PastRecord),
) -> io::Result<PastCounts> {
    adapter(file.client).read_past(file, until, take)
}

/// The event that a hook would have received before such a call.
pub fn before_call(client: Client, call: &PastCall) -> Result<Event, Failure> {
    let quoted = |text: &str| json::quoted(text);
    let mode = call
        .mode
        .as_ref()
        .map(|mode| format!(",\"permission_mode\":{}", quoted(mode.name())))
        .unwrap_or_default();
    let payload = format!(
        r#"{{"hook_event_name":"PreToolUse","session_id":{},"transcript_path":"","cwd":{},"tool_name":{},"tool_use_id":{},"tool_input":{}{mode}}}"#,
        quoted(&call.session),
        quoted(&call.cwd),
        quoted(&call.tool),
        quoted(&call.id),
        call.input,
    );
    read(client, "PreToolUse", payload.as_bytes())
}

/// We are registered in this client, intact or not.
pub fn is_registered(env: &Env, client: Client) -> bool {
    let file = env.folder_of(client).join(host(client).registration);
    files::read(file).is_ok_and(|text| memmem::find(&text, PROGRAM.as_bytes()).is_some())
}

/// The file is what we would write today for its program, and the program exists.
pub fn is_current(client: Client, text: &str) -> bool {
    let host = adapter(client);
    runs_as_wanted(Path::new("/"), host.command(text), text, &|program| host.register(text, program))
}

/// We are completely registered in this client, by a person or an administrator, so our hooks see its
/// sessions.
pub fn is_hooked(env: &Env, client: Client) -> bool {
    adapter(client).has_hooks(env.folder_of(client)) || is_managed(env, client)
}

/// An administrator registered us in this client for everybody, and the person's own settings do not disable
/// that.
fn is_managed(env: &Env, client: Client) -> bool {
    let row = host(client);
    let host = adapter(client);
    if row.managed.is_empty() || !env.variables(|name| row.bypass.contains(&name)).is_empty() {
        return false;
    }
    let root = system_root();
    let Ok(text) = files::read_text(below_root(&root, Path::new(row.managed))) else { return false };
    let is_whole = |text: &str| {
        let wanted = |program: &str| host.register_for_everybody(text, program);
        runs_as_wanted(&root, host.command(text), text, &wanted)
    };
    let is_there = match host.for_everybody() {
        ForEverybody::No => false,
        ForEverybody::Own | ForEverybody::Shared => is_whole(&text),
        ForEverybody::Listed { name, .. } => {
            let own = files::read_text(env.administered.join(name)).unwrap_or_default();
            text.contains(name) && is_whole(&own)
        }
    };
    is_there && host.hindrance(env.folder_of(client), true).is_none()
}

/// The name below the administrator's folder under which clients other than Claude Code run us for everybody.
pub const MANAGED_LINK: &str = "aops-hook";

/// This is a person's own hook, although an administrator's hook gets the same events: these clients run
/// both. Claude Code runs equal hooks only once.
pub fn is_told_twice(env: &Env) -> bool {
    let called = || std::env::args_os().next().unwrap_or_default();
    env.host.is_registered_by_name()
        && Path::new(&called()) != env.administered.join(MANAGED_LINK)
        && is_managed(env, env.host)
}
