//! Tells a whole session as markdown: what was said and done, what the gates said to it, subagents in their place.
//!
//! Reads ledger and transcript, prints as it reads. Invariants: no secret comes out; a record of an unknown kind is
//! passed over and counted; memory grows with the number of calls, not with what they said.

mod gates;
mod outcome;
mod page;
mod tell;

use super::range::{self, Found};
use super::{Command, Io, Who, refused, session_argument};
use crate::insight::collect;
use clap::{Arg, ArgAction, ArgMatches};
use gates::Gates;
use outcome::Outcomes;
use page::Page;
use serde_json::json;
use std::io::Write;
use tell::Teller;

pub const COMMAND: Command = Command {
    name: "transcript",
    about: "Tell a session as markdown: prompts, answers, calls with their outcome, gates, subagents",
    examples: &[
        ("aops-hook transcript > session.md", "the newest session of this project, whole"),
        ("aops-hook transcript 3f2a --abridged", "what was asked and answered, one line for each call"),
    ],
    who: Who::Anyone,
    arguments: |command| {
        let abridged = Arg::new("abridged").long("abridged").action(ArgAction::SetTrue);
        session_argument(command).arg(abridged.help("One line for each call, without what it said"))
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let name = given.get_one::<String>("session").map(String::as_str);
    let found = range::pick(io.env, name)?;
    let short = given.get_flag("abridged");
    if io.json {
        let mut text = Vec::new();
        let unknown = told(&found, short, &mut text)?;
        let said = json!({"session_id": found.session_id, "markdown": String::from_utf8_lossy(&text), "unknown_records": unknown});
        writeln!(io.out, "{said}")?;
        return Ok(0);
    }
    told(&found, short, io.out)?;
    Ok(0)
}

/// For whoever wants the gist in one piece.
pub(super) fn abridged(found: &Found) -> anyhow::Result<String> {
    let mut text = Vec::new();
    told(found, true, &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// How many records nobody knew.
fn told(found: &Found, short: bool, out: &mut dyn Write) -> anyhow::Result<u64> {
    let gates = match &found.shelved {
        Some(shelved) => Gates::of(&shelved.path)?,
        None => Gates::default(),
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
    let outcomes = if there { Outcomes::of(&found.transcript)? } else { Outcomes::default() };
    let mut teller = Teller::new(page, &gates, &outcomes, short);
    if there {
        teller.session(&found.transcript)?;
    } else {
        teller.ledger_alone()?;
    }
    Ok(teller.unknown)
}
