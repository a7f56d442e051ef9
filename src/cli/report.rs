//! Writes one page about many sessions.
//!
//! Reads ledgers, insights and transcripts; writes the page to the given path. Invariant: an unreadable session is
//! counted, and the others are reported.

use super::range::{self, FoundSession, since_option};
use super::{Command, Io, operand, option, refused, text};
use crate::insight::collect;
use crate::insight::document::Insights;
use crate::insight::report::{Card, Heading, Sums, page};
use crate::proof::health::{Health, QUICK};
use crate::system::env::Env;
use crate::system::{files, threads};
use crate::text::time;
use anyhow::Context;
use clap::ArgMatches;
use std::path::Path;

pub const COMMAND: Command = Command {
    name: "report",
    about: "Write one self-contained HTML page about many sessions, or about one",
    examples: &[
        ("aops-hook report -o report.html", "every session on this machine; open the file in a browser"),
        ("aops-hook report --since 7d -o week.html", "the sessions of the last week"),
        ("aops-hook report --since 30d --json", "the same sums, for a program"),
    ],
    arguments: |row| {
        row.arg(operand("session", "SESSION", "A session's id or the beginning of one; nothing for all"))
            .arg(option("output", "FILE", "Where to write the page; without it, it is printed").short('o'))
            .arg(since_option())
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let output = text(given, "output");
    if output.is_none() && !io.json && io.terminal {
        return refused("the report is an HTML page; write it to a file\nhint: `aops-hook report -o report.html`");
    }
    let found = range::choose(given, io)?;
    let mut cards = threads::map(&found, |found| card(io.env, found));
    let unreadable = found.len() - cards.len();
    let mut health = Health::new(io.env, QUICK);
    let damaged = found.iter().filter_map(|found| health.damage(found.shelved.as_ref()?)).count();
    let key = |card: &Card| (card.insights.started_at.clone(), card.insights.session_id.clone());
    cards.sort_by_key(|card| std::cmp::Reverse(key(card)));
    if io.json {
        let mut sums = serde_json::to_value(Sums::of(&cards))?;
        (sums["damaged"], sums["unreadable"]) = (damaged.into(), unreadable.into());
        return io.print(sums);
    }
    let heading = Heading {
        made_at: time::timestamp(io.env.now_ms),
        since: range::since(given, io)?.map(time::timestamp),
        prices: collect::prices(io.env)?.date,
        unreadable,
        damaged,
    };
    let html = page(&cards, &heading);
    let Some(output) = output else {
        io.out.write_all(html.as_bytes())?;
        return Ok(0);
    };
    let path = io.env.from_here(Path::new(output));
    let written = files::find(&path).and_then(|found| found.replace(html.as_bytes(), 0o600));
    written.with_context(|| format!("`{}`", path.display()))?;
    let sessions = if cards.len() == 1 { "1 session".to_owned() } else { format!("{} sessions", cards.len()) };
    let damaged =
        if damaged == 0 { String::new() } else { format!(", {damaged} of them damaged: `aops-hook verify --all`") };
    io.print(format!("wrote {} ({sessions}{damaged})", path.display()))
}

fn card(env: &Env, found: &FoundSession) -> Option<Card> {
    let Some(shelved) = &found.shelved else {
        let insights = collect::of_transcript(env, &found.transcript, &found.session_id).ok()?;
        return Some(Card { insights, ..Card::default() });
    };
    let mut tally = collect::tally(&shelved.path, &shelved.session_id).ok()?;
    if tally.session.is_new() {
        return None;
    }
    let state = &tally.session.state;
    let head = tally.session.head.clone();
    let kept = collect::kept(&collect::file(env, &state.date, &state.session_id));
    let kept = kept.and_then(|kept| serde_json::from_value::<Insights>(kept).ok());
    let kept = kept.filter(|kept| kept.ledger_head.as_ref() == Some(&head));
    let mut card = Card {
        moments: std::mem::take(&mut tally.moments),
        left_out: tally.moments_left_out,
        phases: tally.phases.clone(),
        last_ms: tally.last_ms,
        tools: std::mem::take(&mut tally.tools),
        followed: std::mem::take(&mut tally.followed),
        ..Card::default()
    };
    card.insights = match kept {
        // Nothing has happened since: the transcript was read then.
        Some(kept) => kept,
        None => collect::finish(env, tally, &found.transcript, None).ok()?,
    };
    Some(card)
}
