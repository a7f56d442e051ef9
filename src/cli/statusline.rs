//! Shows the state of a session in one line, for Claude Code's status line.
//!
//! Reads the client's JSON from stdin and one state file; writes nothing. Invariant: it prints no error
//! and always exits with 0, since the client shows the output in its prompt; an unknown state prints nothing.

use super::{Command, Io, Who, standing, table};
use crate::ledger::session_folder::SessionKey;
use crate::ledger::sessions;
use crate::session::fold::Session;
use crate::system::env::Env;
use crate::text::json::{self, Json};
use crate::text::template::one_line;
use clap::ArgMatches;
use std::io::Read;

pub const COMMAND: Command = Command {
    name: "statusline",
    about: "Show the state of a session in one line, for Claude Code's status line",
    examples: &[
        (
            "aops-hook statusline < status.json",
            "what the client shows when its settings have `\"statusLine\": {\"type\": \"command\", \"command\": \"aops-hook statusline\"}`",
        ),
        ("aops-hook statusline --json < status.json", "the same for a status line of your own"),
    ],
    who: Who::Anyone,
    arguments: |row| row,
    run,
};

/// More than the client ever sends.
const LARGEST_INPUT: u64 = 1 << 20;

fn run(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let mut input = String::new();
    let read = std::io::stdin().lock().take(LARGEST_INPUT).read_to_string(&mut input);
    let Some(session) = read.ok().and_then(|_| asked(io.env, &input)) else { return Ok(0) };
    // No look at the working tree: the client asks several times a second, and a tree can be large.
    let owed = standing::owed(io.env, &session, None);
    if io.json {
        writeln!(io.out, "{}", standing::value(io.env, &session, &owed))?;
    } else {
        writeln!(io.out, "{}", table::clean(&line(io.env, &session, &owed)))?;
    }
    Ok(0)
}

/// The session the client asks about.
fn asked(env: &Env, input: &str) -> Option<Session> {
    let json = json::read(input).ok()?;
    let session_id = json.text_of("session_id").filter(|id| !id.is_empty())?;
    let transcript = json.text_of("transcript_path").unwrap_or_default();
    // The folder a session began in names its project; the one it is in now may be another.
    let workspace = json.get("workspace");
    let folder = |name: &str| workspace.and_then(|at: &Json| at.text_of(name));
    let folders = [folder("project_dir"), json.text_of("cwd"), folder("current_dir")].into_iter().flatten();
    let find =
        |cwd: &str| sessions::find(env, SessionKey { session_id: &session_id, transcript_path: &transcript, cwd });
    folders.chain([String::new()]).find_map(|cwd| find(&cwd))
}

fn line(env: &Env, session: &Session, owed: &[String]) -> String {
    if let Some(reason) = session.blocked() {
        return format!("aops: blocked: {} · clear it with `aops-hook clear-block`", one_line(reason, 80));
    }
    let state = &session.state;
    let mut parts = vec![
        format!("aops: {}", standing::phase(state.phase)),
        format!("sandbox {}", standing::sandbox(state.sandbox)),
    ];
    if !owed.is_empty() {
        parts.push(format!("owes {}", owed.join(", ")));
    }
    match (state.audit.due, session.memory.progress.auditing) {
        (true, true) => parts.push("audit under way".to_owned()),
        (true, false) => parts.push("audit due".to_owned()),
        _ => {}
    }
    let by_person = standing::waivers(env, session);
    let mut waived: Vec<String> = by_person.iter().map(|w| format!("{} {}", w.gate, standing::left(env, w))).collect();
    if state.task.as_ref().is_some_and(|task| task.waiver.is_some()) && !state.state.hydration_pending {
        waived.insert(0, "loop".to_owned());
    }
    if !waived.is_empty() {
        parts.push(format!("waived {}", waived.join(", ")));
    }
    parts.join(" · ")
}
