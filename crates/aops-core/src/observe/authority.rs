//! Who is speaking: whether a client is a person's own, a prompt was given by a person, and an agent was
//! started by a call that we saw.
//!
//! Reads the parent processes of the client, the record of clients and the timers that a project keeps;
//! writes nothing. Invariants: a client that a session's client started is inside that session; a prompt
//! counts as a person's unless there is evidence against it, even one of `claude -p` in a script; no
//! process's environment is read.

use crate::config::texts;
use crate::ledger::clients;
use crate::model::agent::{AgentId, ours};
use crate::model::client::Ability;
use crate::model::event::{Event, EventKind};
use crate::model::phase::Phase;
use crate::observe::lasting_timers;
use crate::session::fact::Violation;
use crate::session::fold::Session;
use crate::session::memory::{AtWork, RunStep, Started};
use crate::session::prompt::Prompt;
use crate::session::timer::{SpokenPrompt, TimerMark};
use crate::system::env::Env;
use crate::system::process::kin;
use crate::text::json::{self, Json};
use crate::text::sha256::sha256;
use std::path::Path;

/// The current step, if the client was started for it: only the driver and the client that it started know
/// the key.
pub fn stage(env: &Env, session: &Session) -> Option<RunStep> {
    let stage = session.memory.run.as_ref()?;
    let (run, key) = env.run.proof.as_ref()?;
    (stage.run_id == *run && stage.key_sha256 == sha256(&[key.as_bytes()])).then(|| stage.clone())
}

/// This event comes from a second client, while the session's own is alive.
pub fn is_beside(env: &Env, session: &Session) -> bool {
    let Some(known) = &session.memory.client.process else { return false };
    !env.client.pid.is_empty() && env.client.pid != known.pid.to_string() && clients::is_alive(known)
}

/// This client runs inside a session, as far as we know from its start.
pub fn is_inside(env: &Env, session: &Session) -> bool {
    session.memory.client.unproven.is_some() || is_beside(env, session)
}

/// Why what this client says does not count as a person's: it is the session's second client, or was started
/// inside a session.
pub fn of_client(env: &Env, session: &Session, event: &Event) -> Option<String> {
    let known = session.memory.client.process.as_ref();
    if is_beside(env, session) {
        let pid = known.map(|known| known.pid).unwrap_or_default();
        return Some(format!("this session is alive in another client, process {pid}"));
    }
    match event.kind() {
        EventKind::SessionStart | EventKind::UserPromptSubmit => above(env),
        _ => None,
    }
    .or_else(|| session.memory.client.unproven.clone().filter(|_| event.kind() != EventKind::SessionStart))
}

/// The client sends `SessionStart` before anything else, but we saw none from it: its hook was killed, or we
/// were not installed yet. So we do not know what that event would have shown: timers of the session before,
/// hooks that send the first prompt, which session was forked.
pub fn is_unstarted(env: &Env, session: &Session, event: &Event) -> bool {
    let kind = event.kind();
    if kind == EventKind::SessionStart {
        return false;
    }
    session.memory.client.unstarted
        || env.host.can(Ability::SendsStarts)
            && is_of_turn(kind)
            && stage(env, session).is_none()
            && lacks_start(env, session, event)
}

/// These events never come before `SessionStart`; a `Notification` or loaded instructions may.
fn is_of_turn(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::PermissionRequest
            | EventKind::PostToolBatch
            | EventKind::PostToolUse
            | EventKind::PostToolUseFailure
            | EventKind::PreToolUse
            | EventKind::Stop
            | EventKind::SubagentStart
            | EventKind::SubagentStop
            | EventKind::UserPromptSubmit
    )
}

/// Only if the client's process ID is known. For an ordinary call this only compares numbers.
fn lacks_start(env: &Env, session: &Session, event: &Event) -> bool {
    let Ok(pid) = env.client.pid.parse() else { return false };
    let memory = &session.memory;
    match &memory.client.process {
        None => memory.place.root.is_empty() && kin::started(pid).is_some(),
        Some(known) if known.pid == pid => false,
        // A second client that sent its own start becomes the session's client when the first has ended.
        Some(known) => {
            let started_it = || clients::session_of(env, pid).is_some_and(|id| id == event.session_id);
            !clients::is_alive(known) && kin::started(pid).is_some() && !started_it()
        }
    }
}

fn of_missing_start(env: &Env, session: &Session, event: &Event) -> Option<String> {
    let words =
        || format!("{}; continue with `claude --resume`, or start the client again", Violation::UNSTARTED);
    is_unstarted(env, session, event).then(words)
}

fn above(env: &Env) -> Option<String> {
    let outer = clients::session_above(env, env.client.pid.parse().ok()?)?;
    Some(format!("this client was started inside session `{outer}`"))
}

/// What the prompt means. If only a person may say that and we cannot attribute it to one: what it means
/// without authority, and the reason.
pub fn of_prompt(env: &Env, session: &Session, event: &Event) -> (Prompt, Option<String>) {
    let is_file = |name: &str| Path::new(&event.cwd).join(name).symlink_metadata().is_ok();
    let prompt = Prompt::read(event.prompt(), is_file);
    let halted = session.state.phase == Phase::Halted;
    if !prompt.claims_authority(halted) {
        return (prompt, None);
    }
    let why = doubt(env, session, event);
    (if why.is_some() { prompt.without_authority(halted) } else { prompt }, why)
}

/// Why we cannot attribute a prompt to a person.
pub fn doubt(env: &Env, session: &Session, event: &Event) -> Option<String> {
    let inside = event.agent_id.is_some() || event.agent_type.is_some();
    let why = inside.then(|| "it was sent inside an agent".to_owned());
    let why = why.or_else(|| of_client(env, session, event)).or_else(|| of_hook(env, session, event));
    why.or_else(|| of_missing_start(env, session, event)).or_else(|| of_timer(env, session, event))
}

/// A hook of the project may have sent the first prompt, unless the prompt was given on the client's command
/// line.
fn of_hook(env: &Env, session: &Session, event: &Event) -> Option<String> {
    let file = session.memory.client.greets.as_ref()?;
    let line = env.client.pid.parse().map(kin::command_line).unwrap_or_default();
    let is_it = |at: &usize| line[*at].trim() == event.prompt().trim() && is_operand(&line, *at);
    let given = (1..line.len()).any(|at| is_it(&at));
    (!given).then(|| format!("a hook in `{file}` may have sent it, as the first prompt after a start"))
}

/// This word of the client's command line is its prompt, and not the value of an option that we do not know.
fn is_operand(line: &[String], at: usize) -> bool {
    const BARE: [&str; 8] =
        ["-c", "-p", "--", "--continue", "--dangerously-skip-permissions", "--ide", "--print", "--verbose"];
    const VALUED: [&str; 14] = [
        "-r", "--agent", "--agents", "--append-system-prompt", "--fallback-model", "--input-format",
        "--max-turns", "--model", "--output-format", "--permission-mode", "--resume", "--session-id",
        "--settings", "--system-prompt",
    ];
    let Some(option) = (1..at).rev().find(|before| line[*before].starts_with('-')) else { return true };
    let name = line[option].as_str();
    BARE.contains(&name)
        || at > option + 1 && VALUED.contains(&name)
        || at == option + 1 && name.contains('=')
}

/// A known timer of the session or of the project sends the same text.
fn of_timer(env: &Env, session: &Session, event: &Event) -> Option<String> {
    let prompt = SpokenPrompt::of(event.prompt());
    let memory = &session.memory;
    if memory.timers.known.iter().any(|timer| timer.is_said_by(&prompt)) {
        return Some("a timer of this session sends the same words".to_owned());
    }
    if memory.timers.lost {
        let why = "more timers were set in this session than we remember; start the client again (`claude --resume`)";
        return Some(why.to_owned());
    }
    if prompt.is_cut && !memory.timers.known.is_empty() {
        return Some("its text is cut the way the client cuts a timer's text".to_owned());
    }
    if let Some(why) = lasting_timers::sends(env, event, &prompt) {
        return Some(why);
    }
    let root = texts::project(env, Path::new(&event.cwd));
    let folders = Path::new(&event.cwd).ancestors().take_while(|folder| folder.starts_with(&root));
    let folders = folders.chain([root.as_path(), env.client.project.as_path()]);
    folders
        .into_iter()
        .find_map(|folder| of_kept_timers(&folder.join(".claude/scheduled_tasks.json"), &prompt))
}

/// A timer in this file sends the same text; or the file exists and cannot be read.
fn of_kept_timers(file: &Path, prompt: &SpokenPrompt) -> Option<String> {
    file.symlink_metadata().ok()?;
    let text = super::tampering::settings(&file.to_string_lossy());
    let kept = json::read(&text).map(|kept| is_said_by_any(&kept, prompt));
    match kept {
        Ok(false) => None,
        Ok(true) => Some("a timer of this project sends the same words".to_owned()),
        Err(_) => Some(format!("a timer in `{}`, which cannot be read, may send it", file.display())),
    }
}

/// Some `prompt` in this list of timers has the same text. A value nested too deep to be read counts as one.
fn is_said_by_any(kept: &Json, prompt: &SpokenPrompt) -> bool {
    match kept {
        Json::Object(members) => members.iter().any(|(name, value)| {
            let text = value.text().filter(|_| name == "prompt");
            text.is_some_and(|text| TimerMark::of(&text).is_said_by(prompt)) || is_said_by_any(value, prompt)
        }),
        Json::List(items) => items.iter().any(|item| is_said_by_any(item, prompt)),
        Json::Deep(_) => true,
        _ => false,
    }
}

/// This client has an open call that starts this agent, and we did not see the agent start yet.
fn is_called(env: &Env, session: &Session, id: AgentId) -> bool {
    let called = |at: &AtWork| at.name == id && at.agent_id.is_none() && at.client == env.client.pid;
    session.memory.agents.at_work.iter().any(called)
}

/// Why the verdict of one of our agents, which begins or ends now, does not count.
pub fn of_agent(env: &Env, session: &Session, event: &Event) -> Option<String> {
    let agent = event.agent_type.as_deref().and_then(ours)?;
    if is_beside(env, session) {
        return of_client(env, session, event);
    }
    let known = |started: &&Started| Some(&started.agent_id) == event.agent_id.as_ref();
    let unseen = || Some("no `Agent` call that we saw started it".to_owned());
    if event.kind() == EventKind::SubagentStart {
        return if is_called(env, session, agent.id) { None } else { unseen() };
    }
    match session.memory.progress.agents.iter().find(known) {
        None => unseen(),
        Some(started) if !started.client.is_empty() && started.client != env.client.pid => {
            Some("another client started it".to_owned())
        }
        Some(_) => None,
    }
}
