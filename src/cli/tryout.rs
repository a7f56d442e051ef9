//! `tryout`: what we would have said to the calls of a person's agents, from their clients' own records.
//!
//! Reads transcripts of Claude Code, Codex and Copilot and the configuration, and counts the files of other
//! clients, whose format is not documented. Sends nothing, and writes only the user's own file, after a yes
//! at the terminal. Invariants: a transcript is data, and nothing in it is obeyed; the newest files are read
//! first, for a minute at most, and the output says how far that went; what is shown is redacted and holds no
//! control character.

mod judge;
mod tally;
mod print;
mod offer;

use super::range::since;
use super::{Command, Io, one_of, option, text};
use aops_core::host;
use aops_core::host::past::{PastCall, PastFile, PastPrompt, PastRecord};
use aops_core::model::client::{Ability, Client};
use aops_core::model::named::Stored;
use aops_core::model::permission_mode::PermissionMode;
use aops_core::system::{signal, threads};
use clap::ArgMatches;
use judge::{Judge, Judged};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use tally::Tally;

pub const COMMAND: Command = Command {
    name: "tryout",
    about: "Show what would have been stopped, asked and answered in your own past sessions",
    examples: &[
        (
            "aops-hook tryout",
            "the last 30 days of Claude Code, Codex CLI and Copilot CLI, before or after `install`",
        ),
        ("aops-hook tryout --since 7d --client codex", "the last week of Codex CLI"),
        ("aops-hook tryout --json | jq .rules", "for a program"),
    ],
    arguments: |row| {
        let since = "How far back: a length of time (30m, 12h, 7d) or a day (2026-01-13)";
        let names: Vec<&str> = Client::ALL.map(Client::name).to_vec();
        let client = option("client", "NAME", "").help(format!(
            "One client alone: {}; for the last three, records are only counted",
            one_of(&names)
        ));
        row.arg(option("since", "WHEN", since).default_value("30d"))
            .arg(client.value_parser(names).hide_possible_values(true))
    },
    run,
};

/// The whole result, and how far back it goes.
pub(super) struct Tried {
    since_ms: i64,
    tally: Tally,
    /// Files of an unknown format, by client.
    unknown: Vec<(&'static str, u64)>,
    links: u64,
    /// The number of files in that time.
    all: u64,
    /// The time of the oldest file that was read.
    back_ms: Option<i64>,
}

impl Tried {
    /// Whether everything was read.
    fn is_whole(&self) -> bool {
        !self.tally.counts.is_cut && self.tally.files + self.tally.unreadable >= self.all
    }
}

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let since_ms = since(given, io)?.unwrap_or_default();
    let tried = look(io, since_ms, text(given, "client").and_then(Client::of));
    if io.json {
        return io.print(print::to_json(&tried));
    }
    print::words(io, &tried)?;
    if io.terminal && io::stdin().is_terminal() {
        offer::offer(io, &tried)?;
    }
    Ok(0)
}

/// A tryout at the end of an installation: a person is there, and Ctrl-C skips it. Without past sessions it
/// only offers the quiet level, for clients that support it.
pub(super) fn at_install(io: &mut Io, client: Client) -> anyhow::Result<()> {
    const DAYS_MS: i64 = 30 * 86_400_000;
    let has_past = |client: &Client| host::past_files(io.env, *client).files.iter().any(|file| file.is_known);
    let offer_quiet =
        |io: &mut Io| if client.can(Ability::AsksPersons) { offer::offer_quiet_alone(io) } else { Ok(()) };
    if !Client::ALL.iter().any(has_past) {
        return offer_quiet(io);
    }
    writeln!(io.out, "\nlooking at your own sessions of the last 30 days; Ctrl-C skips this")?;
    io.out.flush()?;
    signal::note_interrupts();
    let tried = look(io, io.env.now_ms - DAYS_MS, None);
    signal::obey_interrupts();
    if signal::interrupted() {
        writeln!(io.out, "skipped; `aops-hook tryout` shows it")?;
        return Ok(());
    }
    if tried.tally.calls == 0 {
        return offer_quiet(io);
    }
    print::words(io, &tried)?;
    offer::offer(io, &tried)
}

/// Reads and judges, newest first.
fn look(io: &Io, since_ms: i64, only: Option<Client>) -> Tried {
    let clients = Client::ALL.into_iter().filter(|client| only.is_none_or(|only| only == *client));
    let mut files: Vec<PastFile> = Vec::new();
    let mut unknown: Vec<_> = Vec::new();
    let mut links: u64 = 0;
    for client in clients {
        let found = host::past_files(io.env, client);
        links += found.links;
        let recent = found.files.into_iter().filter(|file| file.at_ms >= since_ms);
        let (known, strange): (Vec<_>, Vec<_>) = recent.partition(|file| file.is_known);
        files.extend(known);
        if !strange.is_empty() {
            unknown.push((client.name(), strange.len() as u64));
        }
    }
    files.sort_by_key(|file| (Reverse(file.at_ms), file.path.clone()));
    let judge = Judge::new(io.env);
    let until = Instant::now() + io.env.tryout_budget();
    let reader = Reader { judge: &judge, since_ms, until, seen: Mutex::default() };
    let mut tally = Tally::default();
    let mut back_ms = None;
    for (at_ms, part) in threads::map(&files, |file| reader.read(file).map(|part| (file.at_ms, part))) {
        back_ms = Some(back_ms.map_or(at_ms, |known: i64| known.min(at_ms)));
        tally.add(part);
    }
    Tried { since_ms, tally, unknown, links, all: files.len() as u64, back_ms }
}

struct Reader<'a> {
    judge: &'a Judge<'a>,
    since_ms: i64,
    until: Instant,
    /// Calls by id: a resumed or forked session repeats the earlier ones.
    seen: Mutex<HashSet<String>>,
}

/// A call without a result yet.
struct Open {
    judged: Option<Judged>,
    session: String,
    at_ms: i64,
    /// Whether the client asks about some calls in this permission mode.
    asks: bool,
}

impl Reader<'_> {
    /// `None` if the time is up.
    fn read(&self, file: &PastFile) -> Option<Tally> {
        if Instant::now() > self.until || signal::interrupted() {
            return None;
        }
        let mut tally = Tally::default();
        let mut open = HashMap::<String, Open>::new();
        // Answered calls of a record that may not say who was asked; a single such record shows that it does.
        let mut untold = Vec::<Judged>::new();
        let mut tells = false;
        let mut last_ms = None;
        let read = host::read_past(file, self.until, &mut |record| match record {
            _ if signal::interrupted() => {}
            PastRecord::Call(call) => {
                last_ms = call.at_ms.or(last_ms);
                let at_ms = last_ms.unwrap_or(file.at_ms);
                if at_ms < self.since_ms || !self.is_new(file.client, &call) {
                    return;
                }
                let judged = self.judge.judge(file.client, &call);
                tally.add_call(file.client, &call.session, at_ms, judged.as_ref());
                let mode = call.mode.as_ref().and_then(Stored::known);
                let asks = mode.is_none_or(PermissionMode::draws_dialogs);
                open.insert(call.id, Open { judged, session: call.session, at_ms, asks });
            }
            PastRecord::Ended { id, failed, prompt } => {
                tells |= prompt != PastPrompt::Untold;
                let Some(call) = open.remove(&id) else { return };
                if !failed && call.judged.as_ref().is_some_and(|judged| judged.checks) {
                    tally.add_check(&call.session, call.at_ms);
                }
                match prompt {
                    PastPrompt::Untold => untold.extend(call.judged.filter(|_| call.asks)),
                    told => tally.add_prompt(told, call.judged.as_ref()),
                }
            }
        });
        if !tells && file.client.can(Ability::AsksPersons) {
            for judged in &untold {
                tally.add_prompt(PastPrompt::Untold, Some(judged));
            }
        }
        match read {
            Ok(counts) => (tally.counts, tally.files) = (counts, 1),
            Err(_) => tally.unreadable = 1,
        }
        Some(tally)
    }

    /// Ids of Claude Code are unique forever; those of other clients are unique within their session.
    fn is_new(&self, client: Client, call: &PastCall) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let session = if client.is_registered_by_name() { call.session.as_str() } else { "" };
        seen.insert(format!("{session}/{}", call.id))
    }
}
