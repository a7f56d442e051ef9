//! `transcript`: a session as markdown: prompts, answers, calls, the gates' answers, subagents below their call.
//!
//! Reads ledger and transcript, prints as it reads. Invariants: secrets are redacted; a record of an unknown kind is
//! skipped and counted; memory grows with the number of calls, not with their output.

mod known;
mod write;

use super::range::{self, FoundSession};
use super::{Command, Io, flag, refused, session_operand, text};
use crate::insight::collect;
use clap::ArgMatches;
use known::{CallOutcomes, GateNotes};
use serde_json::json;
use std::io::Write;
use write::{Page, Writer};

pub const COMMAND: Command = Command {
    name: "transcript",
    about: "Print a session as markdown: prompts, answers, calls with their outcome, gates, subagents",
    examples: &[
        ("aops-hook transcript > session.md", "the newest session of this project, whole"),
        ("aops-hook transcript 3f2a --abridged", "prompts and answers, one line per call"),
    ],
    arguments: |row| row.args([session_operand(), flag("abridged", "One line per call, without its output")]),
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let found = range::pick(io.env, text(given, "session"))?;
    let short = given.get_flag("abridged");
    if io.json {
        let mut text = Vec::new();
        let unknown = write_session(&found, short, &mut text)?;
        let (id, markdown) = (&found.session_id, String::from_utf8_lossy(&text));
        return io.print(json!({"session_id": id, "markdown": markdown, "unknown_records": unknown}));
    }
    write_session(&found, short, io.out)?;
    Ok(0)
}

/// The abridged transcript as one string.
pub(super) fn abridged(found: &FoundSession) -> anyhow::Result<String> {
    let mut text = Vec::new();
    write_session(found, true, &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Writes the transcript. Returns how many records were of an unknown kind.
fn write_session(found: &FoundSession, short: bool, out: &mut dyn Write) -> anyhow::Result<u64> {
    let gates = found.shelved.as_ref().map(|shelved| GateNotes::of(&shelved.path)).transpose()?.unwrap_or_default();
    let there = found.transcript.is_file();
    if !there && found.shelved.is_none() {
        return refused(format!("no transcript of `{}`", found.session_id));
    }
    let mut page = Page::new(out);
    page.line(&format!("# Session {}", found.session_id))?;
    if let Some(shelved) = &found.shelved {
        let (insights, ..) = collect::tally(&shelved.path, &shelved.session_id)?.conclude();
        let began = insights.started_at.unwrap_or_default();
        let ended = insights.ended_at.map(|at| format!(", ended {at}")).unwrap_or_default();
        page.line(&format!("{} · began {began}{ended} · {}", insights.project, insights.outcome))?;
    }
    let outcomes = if there { CallOutcomes::of(&found.transcript)? } else { CallOutcomes::default() };
    let mut writer = Writer::new(page, &gates, &outcomes, short);
    if there {
        writer.session(&found.transcript)?;
    } else {
        writer.ledger_alone()?;
    }
    Ok(writer.unknown)
}
