//! `transcript`: a session as markdown: prompts, answers, calls, the gates' answers, subagents below their call.
//!
//! Reads ledger and transcript, prints as it reads. Invariants: secrets are redacted; a record of an unknown kind is
//! skipped and counted; memory grows with the number of calls, not with their output.

mod gates;
mod outcome;
mod page;
mod write;

use super::range::{self, Found};
use super::{Command, Io, Who, refused, session_argument};
use crate::insight::collect;
use clap::{Arg, ArgAction, ArgMatches};
use gates::GateNotes;
use outcome::CallOutcomes;
use page::Page;
use serde_json::json;
use std::io::Write;
use write::Writer;

pub const COMMAND: Command = Command {
    name: "transcript",
    about: "Print a session as markdown: prompts, answers, calls with their outcome, gates, subagents",
    examples: &[
        ("aops-hook transcript > session.md", "the newest session of this project, whole"),
        ("aops-hook transcript 3f2a --abridged", "prompts and answers, one line per call"),
    ],
    who: Who::Anyone,
    arguments: |command| {
        let abridged = Arg::new("abridged").long("abridged").action(ArgAction::SetTrue);
        session_argument(command).arg(abridged.help("One line per call, without its output"))
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let name = given.get_one::<String>("session").map(String::as_str);
    let found = range::pick(io.env, name)?;
    let short = given.get_flag("abridged");
    if io.json {
        let mut text = Vec::new();
        let unknown = write_session(&found, short, &mut text)?;
        let said = json!({"session_id": found.session_id, "markdown": String::from_utf8_lossy(&text), "unknown_records": unknown});
        writeln!(io.out, "{said}")?;
        return Ok(0);
    }
    write_session(&found, short, io.out)?;
    Ok(0)
}

/// The abridged transcript as one string.
pub(super) fn abridged(found: &Found) -> anyhow::Result<String> {
    let mut text = Vec::new();
    write_session(found, true, &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Writes the transcript. Returns how many records were of an unknown kind.
fn write_session(found: &Found, short: bool, out: &mut dyn Write) -> anyhow::Result<u64> {
    let gates = match &found.shelved {
        Some(shelved) => GateNotes::of(&shelved.path)?,
        None => GateNotes::default(),
    };
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
