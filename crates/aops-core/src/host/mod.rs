//! The clients that run us: one folder each, and the table of what each can do. No other folder knows their JSON or their
//! files.
//!
//! Here is the one way in and out: an event of any client is read into the same [`Event`], and a verdict is spelled as the
//! client wants to hear it. Invariant: a caller that was registered by name is that client; every other caller is judged by what
//! it says, and is foreign unless it is Claude Code.

pub mod table;
pub mod shown;
pub mod words;
pub mod agents;
pub mod recorded;
pub mod past;
pub mod claude;
pub mod codex;
pub mod copilot;
pub mod opencode;
pub mod gemini;

use crate::model::client::Client;
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind};
use crate::model::verdict::{Ruling, Verdict};
use crate::system::env::{Env, below_root, system_root};
use crate::system::files;
use crate::text::json;
use claude::settings::{self, Grammar, Group, Hook, Unreadable, quoted};
use claude::transcript::scan::{Lens, Scan};
use claude::wire::answer::{self, Answer};
use claude::wire::read as claudes;
use memchr::memmem;
use past::{Down, PastCall, PastCounts, PastFile, PastFiles, PastRecord};
use std::io;
use std::path::Path;
use std::time::Instant;
use table::{host, registered};

/// The event called `name` in these bytes.
pub fn read(client: Client, name: &str, input: &[u8]) -> Result<Event, Failure> {
    match client {
        Client::Codex => codex::read::read(name, input),
        Client::Copilot => copilot::read::read(name, input),
        Client::Opencode => opencode::read::read(name, input),
        Client::Gemini | Client::Qwen => gemini::read::read(name, input),
        Client::Claude => claudes::read(name, input),
    }
}

/// `payload`: the event that is answered.
pub fn spell(client: Client, kind: EventKind, verdict: &Verdict, payload: &[u8]) -> Answer {
    match client {
        Client::Codex => codex::answer::spell(kind, verdict, payload),
        Client::Copilot => copilot::answer::spell(kind, verdict, payload),
        Client::Opencode => opencode::answer::spell(kind, verdict),
        Client::Gemini => gemini::answer::spell(kind, verdict),
        _ => answer::spell(kind, verdict),
    }
}

/// The answer to an event that aops-hook itself failed on.
pub fn fail(client: Client, kind: EventKind, failure: &Failure) -> Answer {
    if matches!(client, Client::Claude | Client::Qwen) {
        return answer::fail(kind, failure);
    }
    let verdict = answer::broken(kind, failure);
    let mut said = spell(client, kind, &verdict, b"");
    if client == Client::Codex && verdict.ruling != Ruling::Deny {
        // The others put a notice there by themselves; Codex puts it on stdout, if anywhere.
        said.stderr = format!("{}\n", answer::clean(&verdict.notice));
    }
    said
}

/// What a session used, as the file that its client keeps of it says.
pub fn scan(transcript: &Path, lens: &Lens) -> io::Result<Scan> {
    if codex::rollout::is_rollout(transcript) {
        return codex::rollout::scan(transcript, lens);
    }
    if copilot::usage::is_events(transcript) {
        return copilot::usage::scan(transcript, lens);
    }
    claude::transcript::scan::scan(transcript, lens)
}

/// The files in which a client keeps its sessions. One whose format is not known is named all the same.
pub fn past_files(env: &Env, client: Client) -> PastFiles {
    let mut found = PastFiles::default();
    let folder = env.folder_of(client);
    let is_json = |name: &str| Path::new(name).extension().is_some_and(|ending| ending == "json" || ending == "jsonl");
    match client {
        Client::Claude => claude::past::files(folder, &mut found),
        Client::Codex => codex::past::files(folder, &mut found),
        Client::Copilot => copilot::past::files(folder, &mut found),
        // A database, which no reader of ours opens.
        Client::Opencode => {
            let is_database = |name: &str| name == "opencode.db";
            let moved = env.folders.iter().find(|(name, _)| name == "XDG_DATA_HOME");
            let data = moved.map_or_else(|| env.home.join(".local/share"), |(_, path)| path.into());
            found.find(client, &data, &[Down::Named("opencode")], false, &is_database);
        }
        Client::Gemini | Client::Qwen => {
            for place in ["tmp", "projects"] {
                let down = [Down::Named(place), Down::Any, Down::Named("chats")];
                found.find(client, folder, &down, false, &is_json);
            }
        }
    }
    found
}

/// Reads such a file, and hands on what it says one after another.
pub fn read_past(file: &PastFile, until: Instant, take: &mut dyn FnMut(PastRecord)) -> io::Result<PastCounts> {
    match file.client {
        Client::Claude => claude::past::read(&file.path, until, take),
        Client::Codex => codex::past::read(&file.path, until, take),
        Client::Copilot => copilot::past::read(&file.path, until, take),
        Client::Opencode | Client::Gemini | Client::Qwen => Ok(PastCounts::default()),
    }
}

/// The event that a hook would have been sent before such a call.
pub fn before_call(client: Client, call: &PastCall) -> Result<Event, Failure> {
    let quoted = |text: &str| json::quoted(text);
    let mode = call.mode.as_ref().map(|mode| format!(",\"permission_mode\":{}", quoted(mode))).unwrap_or_default();
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

/// We are registered in this client, in whatever state.
pub fn is_registered(env: &Env, client: Client) -> bool {
    let file = env.folder_of(client).join(host(client).registration);
    files::read(file).is_ok_and(|text| memmem::find(&text, settings::PROGRAM.as_bytes()).is_some())
}

/// What registers us in this client: the text of its file with our entries, which run this program.
pub fn register(client: Client, text: &str, program: &str) -> Result<String, Unreadable> {
    match client {
        Client::Copilot => Ok(copilot::hooks::file(program)),
        Client::Opencode => Ok(opencode::plugin::file(program)),
        Client::Codex | Client::Gemini | Client::Qwen => register_by_table(client, text, program),
        Client::Claude => settings::register(text, program),
    }
}

/// The text with an entry for each event of this client in the table.
fn register_by_table(client: Client, text: &str, program: &str) -> Result<String, Unreadable> {
    /// Tokens of context that Codex lets the model read: what we inject is shorter than this.
    const CONTEXT: u32 = 6_000;
    let is_codex = client == Client::Codex;
    let group = |event: &str| {
        let row = registered(client).find(|row| row.name == event)?;
        let hook = Hook {
            r#type: "command",
            command: format!("{} {} {} {}", quoted(program), row.ours, Client::OPTION, client.name()),
            // The others count milliseconds.
            timeout: if is_codex { row.timeout } else { row.timeout * 1000 },
            additional_context_limit: (is_codex && row.context).then_some(CONTEXT),
            ..Hook::default()
        };
        Some(Group { hooks: [hook] })
    };
    settings::register_all(text, grammar(client), registered(client).map(|row| row.name), &group)
}

/// The same text without us; a file that is ours alone becomes empty. `original`: what it was before.
pub fn unregister(client: Client, text: &str, original: Option<&str>) -> Result<String, Unreadable> {
    match client {
        Client::Copilot | Client::Opencode => Ok(String::new()),
        _ => settings::unregister_in(text, grammar(client), original),
    }
}

/// These two take comments in their settings, and people write some.
fn grammar(client: Client) -> Grammar {
    if matches!(client, Client::Gemini | Client::Qwen) { Grammar::Commented } else { Grammar::Json }
}

/// The line that this client runs before a call, as its file says.
pub fn command(client: Client, text: &str) -> Option<String> {
    match client {
        Client::Copilot => copilot::hooks::command(text),
        Client::Opencode => opencode::plugin::command(text),
        _ => settings::survey_in(text, grammar(client))
            .ok()?
            .ours
            .into_iter()
            .find(|one| matches!(one.event.as_str(), "PreToolUse" | "BeforeTool"))
            .map(|one| one.command),
    }
}

/// The file says what we would write today for its program, which is there.
pub fn is_current(client: Client, text: &str) -> bool {
    is_current_below(Path::new("/"), client, text)
}

/// The same with programs below this root.
fn is_current_below(root: &Path, client: Client, text: &str) -> bool {
    let Some(command) = command(client, text) else { return false };
    let program = settings::program(&command, false);
    below_root(root, Path::new(program)).is_file() && register(client, text, program).is_ok_and(|wanted| wanted == text)
}

/// Our registration in this client is there and whole, a person's own or an administrator's: its sessions are seen by our hooks.
pub fn is_hooked(env: &Env, client: Client) -> bool {
    has_hooks(env, client) || is_managed(env, client)
}

/// An administrator registered us in this client for everybody, and the person's own settings leave it at that.
fn is_managed(env: &Env, client: Client) -> bool {
    let row = host(client);
    if row.managed.is_empty() {
        return false;
    }
    // Gemini reads another file then, and OpenCode no plugin.
    let bypass = ["GEMINI_CLI_SYSTEM_SETTINGS_PATH", "OPENCODE_PURE"];
    if !env.variables(|name| bypass.contains(&name) && row.variables.contains(&name)).is_empty() {
        return false;
    }
    let root = system_root();
    let Ok(text) = files::read_text(below_root(&root, Path::new(row.managed))) else { return false };
    let is_current = |client, text: &str| is_current_below(&root, client, text);
    let own = |name: &str| files::read_text(env.folder_of(client).join(name)).unwrap_or_default();
    match client {
        Client::Codex => is_current(client, &text) && !codex::trust::switches_off(&own("config.toml")),
        Client::Copilot => {
            // Its own settings cannot switch an administrator's hooks off.
            let line = copilot::hooks::command(&text).unwrap_or_default();
            let program = settings::program(&line, false);
            below_root(&root, Path::new(program)).is_file() && copilot::hooks::managed(program) == text
        }
        Client::Opencode => {
            let plugin = env.administered.join(opencode::plugin::MANAGED);
            let plugin = files::read_text(plugin).unwrap_or_default();
            text.contains(opencode::plugin::MANAGED) && is_current(client, &plugin)
        }
        _ => is_current(client, &text) && !gemini::hooks::switches_off(&own(row.registration)),
    }
}

/// The name below the administrator's folder by which other clients than Claude Code run us for everybody.
pub const MANAGED_LINK: &str = "aops-hook";

/// This is a person's own hook, and an administrator's tells the same: these clients run both. Claude Code runs equal ones once.
pub fn is_told_twice(env: &Env) -> bool {
    let called = || std::env::args_os().next().unwrap_or_default();
    env.host != Client::Claude
        && Path::new(&called()) != env.administered.join(MANAGED_LINK)
        && is_managed(env, env.host)
}

/// A person registered us, and nothing takes it away.
fn has_hooks(env: &Env, client: Client) -> bool {
    let (folder, registration) = (env.folder_of(client), host(client).registration);
    let read = |name: &str| files::read_text(folder.join(name)).unwrap_or_default();
    let text = read(registration);
    match client {
        Client::Claude => claude::disarm::is_whole(&folder.join(registration)),
        Client::Codex => {
            is_current(client, &text)
                && codex::hooks::is_trusted(folder, &text)
                && !codex::trust::switches_off(&read("config.toml"))
        }
        Client::Copilot => is_current(client, &text) && !copilot::hooks::switches_off(&read("settings.json")),
        Client::Opencode => is_current(client, &text),
        Client::Gemini | Client::Qwen => is_current(client, &text) && !gemini::hooks::switches_off(&text),
    }
}
