//! `simulate`: judges an event as the hook would, and records nothing.
//!
//! Reads a payload and the session it names; writes nothing. Invariant: the answer comes from the hook's own
//! code in a dry run, so the two cannot differ.

use super::table::{Tone, clean};
use super::{Command, Io, flag, operand, refused, text};
use anyhow::Context;
use aops_core::hook;
use aops_core::host::claude::wire::answer::{self, Answer};
use aops_core::ledger::session_folder::SessionKey;
use aops_core::ledger::sessions;
use aops_core::model::error::Failure;
use aops_core::model::event::EventKind;
use aops_core::model::gate_id::GateId;
use aops_core::model::named::Stored;
use aops_core::model::verdict::{KeptFirst, Ruling, Verdict};
use aops_core::system::env::{ClientEnv, Env};
use aops_core::text::json;
use aops_core::undo::words::{count_files, size};
use clap::ArgMatches;
use serde_json::{Value, json};
use std::io::Read;
use std::path::Path;

pub const COMMAND: Command = Command {
    name: "simulate",
    about: "Judge an event without recording anything",
    examples: &[
        ("aops-hook simulate payload.json", "what the hook would answer to this event, and why"),
        ("aops-hook simulate - --json < payload.json", "the same from stdin, for a program"),
    ],
    arguments: |row| {
        let help = "A file with the event's JSON, as the client sends it; `-` for stdin";
        row.arg(operand("payload", "PAYLOAD", help).required(true))
            .arg(flag("attended", "Judge as if a person sat at the client and could be asked"))
    },
    run,
};

/// The hook's own limit.
const LARGEST_INPUT: u64 = 64 << 20;

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let payload = read_payload(io.env, text(given, "payload").unwrap_or_default())?;
    let event = read_head(&payload).or_else(refused)?;
    let (mut env, known) = environment_of(io.env, &event);
    env.client.attended |= given.get_flag("attended");
    let kind = EventKind::of(&event.name);
    let said = hook::walk(&event.name, payload.as_bytes(), &env);
    let answer = match &said {
        Ok(verdict) => answer::spell(kind, verdict),
        Err(failure) => answer::fail(kind, failure),
    };
    let kept = env.told.kept.get();
    if io.json {
        return io.print(to_json(&event, known, &said, &answer, kept));
    }
    print(io, &event, known, &said, &answer, kept)
}

/// `3 files, 12 kB are kept first`
pub(super) fn kept_first(kept: &KeptFirst) -> String {
    match kept.files {
        0 => "what it would lose is kept first".to_owned(),
        files => {
            let verb = if files == 1 { "is" } else { "are" };
            let files = count_files(usize::try_from(files).unwrap_or(usize::MAX));
            format!("{files}, {}, {verb} kept first", size(kept.bytes))
        }
    }
}

/// The fields of the payload that are needed before the hook reads it.
struct PayloadHead {
    name: String,
    session_id: String,
    transcript_path: String,
    cwd: String,
}

fn read_payload(env: &Env, name: &str) -> anyhow::Result<String> {
    let mut text = String::new();
    let read = if name == "-" {
        std::io::stdin().lock().take(LARGEST_INPUT).read_to_string(&mut text)
    } else {
        let file = std::fs::File::open(env.from_here(Path::new(name)));
        file.and_then(|file| file.take(LARGEST_INPUT).read_to_string(&mut text))
    };
    read.with_context(|| format!("`{name}` could not be read"))?;
    Ok(text)
}

fn read_head(payload: &str) -> Result<PayloadHead, String> {
    let hint = "hint: `aops-hook doctor` shows that hooks run; a payload is the JSON they get on stdin";
    let json = json::read(payload).map_err(|e| format!("the payload is not JSON: {e}\n{hint}"))?;
    let text = |name: &str| json.text_of(name).unwrap_or_default();
    let name = text("hook_event_name");
    if !EventKind::is_event_name(&name) {
        return Err(format!("the payload names no event in `hook_event_name`\n{hint}"));
    }
    let session_id = text("session_id");
    let cwd = text("cwd");
    Ok(PayloadHead { name, session_id, transcript_path: text("transcript_path"), cwd })
}

/// The environment of that session's hooks, with its own folders; and whether the session is known.
fn environment_of(env: &Env, event: &PayloadHead) -> (Env, bool) {
    let key = SessionKey {
        session_id: &event.session_id,
        transcript_path: &event.transcript_path,
        cwd: &event.cwd,
    };
    let session = sessions::find(env, key);
    let known = session.is_some();
    let memory = session.map(|session| session.memory).unwrap_or_default();
    let folders = if known { memory.watched.folders.into_iter().collect() } else { env.folders.clone() };
    let pid = memory.client.process.map_or_else(|| env.client.pid.clone(), |client| client.pid.to_string());
    let tried = env.trying(env.client.attended);
    let client = ClientEnv { pid, ..tried.client };
    (Env { folders, client, ..tried }, known)
}

fn to_json(
    event: &PayloadHead,
    known: bool,
    said: &Result<Verdict, Failure>,
    answer: &Answer,
    kept: Option<&KeptFirst>,
) -> Value {
    let verdict = said.as_ref().ok();
    let text = |of: fn(&Verdict) -> &str| verdict.map(of).filter(|text| !text.is_empty());
    json!({
        "session_id": event.session_id, "known": known, "event": event.name,
        "ruling": verdict.map(|verdict| verdict.ruling.name()),
        "gate": verdict.and_then(|verdict| verdict.gate).map(GateId::name),
        "reason": text(|verdict| &verdict.reason),
        "context": text(|verdict| &verdict.context),
        "notice": text(|verdict| &verdict.notice),
        "rehearsed": verdict.and_then(|verdict| verdict.rehearsed.as_ref()).map(|would| {
            json!({"ruling": would.ruling.name(), "gate": Stored::from(would.gate), "reason": would.reason})
        }),
        "kept": kept.map(|kept| {
            json!({"rule": kept.rule, "files": kept.files, "bytes": kept.bytes})
        }),
        "ends_turn": verdict.is_some_and(|verdict| verdict.halt),
        "failure": said.as_ref().err().map(ToString::to_string),
        "answer": {"exit": answer.exit, "stdout": answer.stdout, "stderr": answer.stderr},
    })
}

fn print(
    io: &mut Io,
    event: &PayloadHead,
    known: bool,
    said: &Result<Verdict, Failure>,
    answer: &Answer,
    kept: Option<&KeptFirst>,
) -> anyhow::Result<u8> {
    let ruling = said.as_ref().map(|verdict| verdict.ruling);
    let (word, tone) = match ruling {
        Ok(Ruling::Deny) => ("refused", Tone::Bad),
        Ok(Ruling::Ask) => ("a person is asked", Tone::Warn),
        Ok(Ruling::Defer) => ("the run pauses for a person", Tone::Warn),
        Ok(Ruling::Pass | Ruling::Allow) => ("passes", Tone::Good),
        Err(_) => ("cannot be judged", Tone::Bad),
    };
    let by =
        said.as_ref().ok().filter(|verdict| verdict.ruling != Ruling::Pass).and_then(|verdict| verdict.gate);
    let by = by.map(|gate| format!(" by `{gate}`")).unwrap_or_default();
    let whose = if known { "session" } else { "a new session" };
    let word = tone.paint(word, io);
    writeln!(io.out, "{} in {whose} {}: {word}{by}", clean(&event.name), clean(&event.session_id))?;
    let failure = said.as_ref().err().map(ToString::to_string).unwrap_or_default();
    let text = |of: fn(&Verdict) -> &str| said.as_ref().map_or("", of);
    let would = said.as_ref().ok().and_then(|verdict| verdict.rehearsed.as_ref());
    let would = would
        .map(|would| {
            format!(
                "in the mode that is rehearsed `{}` would say: {}",
                Stored::from(would.gate),
                would.reason
            )
        })
        .unwrap_or_default();
    io.beside("would", would.lines())?;
    io.beside("reason", text(|verdict| &verdict.reason).lines())?;
    io.beside("kept", kept.map(kept_first))?;
    io.beside("context", text(|verdict| &verdict.context).lines())?;
    io.beside("notice", text(|verdict| &verdict.notice).lines())?;
    io.beside("failure", failure.lines())?;
    writeln!(io.out, "the hook would exit with {} and say", answer.exit)?;
    for (name, text) in [("stdout", &answer.stdout), ("stderr", &answer.stderr)] {
        io.beside(name, [if text.is_empty() { "(nothing)" } else { text.trim_end() }])?;
    }
    Ok(0)
}
