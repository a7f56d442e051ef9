//! `report`: writes one page about many sessions.
//!
//! Reads ledgers, insights and transcripts; writes the page to the given path. Invariant: an unreadable
//! session is counted, and the others are reported.

use super::range::{self, FoundSession, since_option};
use super::table::Tone;
use super::{Command, Io, operand, option, text};
use anyhow::Context;
use aops_core::insight::collect;
use aops_core::insight::document::{Insights, describe_counts};
use aops_core::insight::report::{Card, Heading, Sums, page};
use aops_core::ledger::sessions::SessionOnDisk;
use aops_core::model::outcome::SessionOutcome;
use aops_core::proof::health::Health;
use aops_core::system::env::{Env, east_of_utc};
use aops_core::system::{files, threads};
use aops_core::text::json::cut;
use aops_core::text::plain::count;
use clap::ArgMatches;
use std::path::{Path, PathBuf};

pub const COMMAND: Command = Command {
    name: "report",
    about: "Write one self-contained HTML page about many sessions, or about one",
    examples: &[
        ("aops-hook report -o report.html", "every session on this machine; open the file in a browser"),
        ("aops-hook report --since 7d -o week.html", "the sessions of the last week"),
        (
            "aops-hook report > page.html",
            "the page too, because of the file's name; any other file or a pipe gets text",
        ),
        ("aops-hook report --since 30d --json", "the same sums, for a program"),
    ],
    arguments: |row| {
        row.arg(operand("session", "SESSION", "A session's id or the beginning of one; nothing for all"))
            .arg(
                option(
                    "output",
                    "FILE",
                    "Where to write the page, `-` to print it; without it, a summary is printed",
                )
                .short('o'),
            )
            .arg(since_option())
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let output = text(given, "output").or_else(|| goes_to_page().then_some("-"));
    let found = range::choose(given, io)?;
    let mut cards = threads::map(&found, |found| card(io.env, found));
    let unreadable = found.len() - cards.len();
    let key = |card: &Card| (card.insights.started_at.clone(), card.insights.session_id.clone());
    cards.sort_by_key(|card| std::cmp::Reverse(key(card)));
    if io.json {
        return io.print(serde_json::to_value(Sums::of(&cards, io.env.now_ms))?);
    }
    let Some(output) = output else { return say(io, &cards, unreadable) };
    let heading = Heading {
        made_ms: io.env.now_ms,
        since_ms: range::since(given, io)?,
        prices: collect::prices(io.env)?.date,
        unreadable,
        east: east_of_utc,
    };
    let html = page(&cards, &heading);
    if output == "-" {
        io.out.write_all(html.as_bytes())?;
        return Ok(0);
    }
    let path = io.env.from_here(Path::new(output));
    let written = files::find(&path).and_then(|found| found.replace(html.as_bytes(), 0o600));
    written.with_context(|| format!("`{}`", path.display()))?;
    io.print(format!("wrote {} ({})", path.display(), count(cards.len(), "session")))
}

/// Whether standard output goes to a file named like a page. Any other file, such as the log of a script,
/// gets plain text.
fn goes_to_page() -> bool {
    let about = rustix::fs::fstat(std::io::stdout());
    let is_file = about.is_ok_and(|about| {
        rustix::fs::FileType::from_raw_mode(about.st_mode) == rustix::fs::FileType::RegularFile
    });
    let name = std::fs::read_link("/proc/self/fd/1");
    let is_page = |name: PathBuf| name.extension().is_some_and(|kind| kind == "html" || kind == "htm");
    // Without `/proc` the name is unknown.
    is_file && name.map_or(true, is_page)
}

/// Prints the sums as text: HTML is of no use on a terminal or in a pipe.
fn say(io: &mut Io, cards: &[Card], unreadable: usize) -> anyhow::Result<u8> {
    let sums = Sums::of(cards, io.env.now_ms);
    let damaged = if sums.damaged > 0 { count(sums.damaged, "damaged ledger") } else { String::new() };
    let unread = if unreadable > 0 { format!("{unreadable} could not be read") } else { String::new() };
    io.facts([
        ("this week", sums.week.describe().unwrap_or_default(), Tone::Strong),
        ("sessions", sums.sessions.to_string(), Tone::Strong),
        ("", unread, Tone::Bad),
        ("outcomes", describe_counts(&sums.outcomes), Tone::Plain),
        ("halted", describe_halted(cards), Tone::Bad),
        ("verdicts", describe_counts(&sums.verdicts), Tone::Plain),
        ("refusals", describe_counts(&sums.refusals), Tone::Plain),
        ("questions", sums.questions.describe(), Tone::Plain),
        ("rehearsed", describe_counts(&sums.rehearsed), Tone::Plain),
        ("blocks", describe_counts(&sums.blocks_by), Tone::Bad),
        ("integrity", damaged, Tone::Bad),
        ("audits", format!("{} drawn, {} done", sums.drawn, sums.done), Tone::Plain),
        ("calls", sums.calls.describe(), Tone::Plain),
        ("tokens", sums.tokens.to_string(), Tone::Plain),
        ("cost", sums.cost_usd.map(|cost| format!("${cost:.2}")).unwrap_or_default(), Tone::Plain),
    ])?;
    io.print("hint: `aops-hook report -o report.html` writes the page with all of it")
}

/// How many are named.
const FEW: usize = 5;

/// Sessions that were halted or blocked and did not finish, the newest first.
fn describe_halted(cards: &[Card]) -> String {
    let halted = || cards.iter().filter(|card| card.insights.outcome == SessionOutcome::Failure);
    let named: Vec<&str> = halted().take(FEW).map(|card| cut(&card.insights.session_id, 8)).collect();
    match halted().count() {
        0 => String::new(),
        n if n > FEW => format!("{}: {} and {} more", count(n, "session"), named.join(", "), n - FEW),
        n => format!("{}: {} (`aops-hook status ID` says why)", count(n, "session"), named.join(", ")),
    }
}

fn card(env: &Env, found: &FoundSession) -> Option<Card> {
    let Some(shelved) = &found.shelved else {
        let insights = collect::of_transcript(env, &found.transcript, &found.session_id).ok()?;
        return Some(Card { insights, ..Card::default() });
    };
    let tally = collect::tally(&shelved.path, &shelved.session_id).ok()?;
    if tally.session.is_new() {
        return None;
    }
    let state = &tally.session.state;
    let head = tally.session.head.clone();
    let kept = collect::kept(&collect::file(env, &state.date, &state.session_id));
    let kept = kept.and_then(|kept| serde_json::from_value::<Insights>(kept).ok());
    let kept = kept.filter(|kept| kept.ledger_head.as_ref() == Some(&head));
    let story = tally.story.clone();
    let insights = match kept {
        // Nothing has happened since these insights were made, so the transcript is not read again.
        Some(kept) => kept,
        None => collect::finish(env, tally, &found.transcript, None).ok()?,
    };
    Some(Card { insights, story, damage: Some(damage(env, shelved)) })
}

/// What is wrong with a ledger; empty if it is intact.
fn damage(env: &Env, shelved: &SessionOnDisk) -> String {
    Health::new(env, u64::MAX).damage(shelved).unwrap_or_default()
}
