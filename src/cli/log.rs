//! `log`: what happened in a session: one line for each call with its outcome, prompts as text, refusals in
//! full.
//!
//! Reads one ledger, writes nothing. Invariants: with `--json` entries are printed exactly as in the ledger;
//! a call's line comes where it ended, or at the end of the log if it never did; a refusal is never cut.

pub(super) mod told;

use super::past::{open, tell_damage};
use super::range::{since, since_option};
use super::table::{Tone, clean, cut};
use super::{Command, Io, flag, option, session, session_arguments, text};
use aops_core::ledger::entry::Line;
use aops_core::ledger::sessions::{self, SessionOnDisk};
use aops_core::proof::health::Health;
use aops_core::session::fact::Fact;
use aops_core::system::env::east_of_utc;
use aops_core::text::time;
use clap::{ArgMatches, value_parser};
use std::collections::VecDeque;
use std::io::BufRead;
use std::time::Duration;
use told::{Teller, Told};

pub const COMMAND: Command = Command {
    name: "log",
    about: "Show what happened in a session, oldest first: prompts, calls with their outcome, refusals, \
        verdicts",
    examples: &[
        ("aops-hook log", "the newest session of this project"),
        ("aops-hook log -f", "the same, and follow new entries"),
        ("aops-hook log 3f2a -n 20", "the last twenty lines of the session whose id begins with 3f2a"),
        (
            "aops-hook log --refused",
            "only what was refused or needed approval, or would have been refused in mode `observe`",
        ),
        ("aops-hook log --tool Bash --since 2h", "the shell commands of the last two hours"),
        ("aops-hook log --json | jq -r .type", "for programs: an entry a line"),
    ],
    arguments: |row| {
        row.args(session_arguments())
            .arg(flag("follow", "Follow new entries until interrupted").short('f'))
            .arg(option("lines", "N", "Only the last N lines").short('n').value_parser(value_parser!(usize)))
            .arg(flag("refused", "Only refusals, and approval requests with their answers"))
            .arg(
                flag("verbose", "Also routine entries: batches, insights, notifications of tasks").short('v'),
            )
            .arg(option("tool", "NAME", "Only calls of this tool, or of this MCP server (`mcp__github`)"))
            .arg(
                since_option()
                    .help("Only what came after this: a length of time (30m, 12h, 7d) or a day (2026-01-13)"),
            )
            .arg(flag("utc", "Times in UTC instead of your own zone"))
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let found = session(given, io)?;
    let wanted = Wanted {
        refused: given.get_flag("refused"),
        verbose: given.get_flag("verbose") || io.json,
        tool: text(given, "tool").map(str::to_lowercase),
        since: since(given, io)?,
    };
    let most = given.get_one::<usize>("lines").copied();
    let root = sessions::session(&found).map(|session| session.memory.place.root).unwrap_or_default();
    let mut view = View { utc: given.get_flag("utc"), day: String::new(), root };
    let mut reader = open(&found)?;
    let mut teller = learned(&found)?;
    let mut line = Vec::new();
    let mut backlog = Backlog { most, ..Backlog::default() };
    loop {
        let got = reader.read_until(b'\n', &mut line)?;
        if line.ends_with(b"\n") {
            let one = teller.take(&line, &view.root, io.json).filter(|one| wanted.has(one));
            one.map_or(Ok(()), |one| backlog.add(io, &mut view, one))?;
            line.clear();
        } else if got == 0 {
            let follows = given.get_flag("follow");
            let open = if follows || io.json { Vec::new() } else { teller.still_open(&view.root) };
            for one in open.into_iter().filter(|one| wanted.has(one)) {
                backlog.add(io, &mut view, one)?;
            }
            backlog.print(io, &mut view)?;
            if !follows {
                let damage = Health::new(io.env, u64::MAX).damage(&found);
                return Ok(damage.map_or(0, |damage| tell_damage(&damage, &found.session_id)));
            }
            io.out.flush()?;
            std::thread::sleep(Duration::from_millis(250));
        }
    }
}

/// Reads ahead: who answered a question is known only at the end of the turn, after the line to print.
fn learned(found: &SessionOnDisk) -> anyhow::Result<Teller> {
    let mut reader = open(found)?;
    let mut teller = Teller::default();
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        teller.learn(&line);
        line.clear();
    }
    Ok(teller)
}

/// The last lines of the existing log; new lines are printed as they arrive.
#[derive(Default)]
struct Backlog {
    most: Option<usize>,
    held: VecDeque<Told>,
}

impl Backlog {
    fn add(&mut self, io: &mut Io, view: &mut View, one: Told) -> anyhow::Result<()> {
        let Some(most) = self.most else { return view.print(io, &one) };
        self.held.push_back(one);
        if self.held.len() > most {
            self.held.pop_front();
        }
        Ok(())
    }

    fn print(&mut self, io: &mut Io, view: &mut View) -> anyhow::Result<()> {
        self.most = None;
        self.held.drain(..).try_for_each(|one| view.print(io, &one))
    }
}

/// What a person wants to see.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    pub(super) refused: bool,
    /// Routine entries, too.
    pub(super) verbose: bool,
    /// In lower case.
    pub(super) tool: Option<String>,
    since: Option<i64>,
}

impl Wanted {
    pub(super) fn has(&self, one: &Told) -> bool {
        let of_tool = |wanted: &String| {
            let tool = one.tool.to_lowercase();
            tool == *wanted || tool.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.starts_with("__"))
        };
        (!self.refused || one.refused || one.asked)
            && (self.verbose || !one.no_news)
            && self.tool.as_ref().is_none_or(of_tool)
            && self.since.is_none_or(|since| time::parse(&one.ts).is_some_and(|at| at >= since))
    }
}

/// How lines look.
struct View {
    utc: bool,
    /// The day of the last line.
    day: String,
    root: String,
}

impl View {
    /// On a terminal, prints the time of day, under a line for each day; elsewhere every line has its full
    /// timestamp.
    fn print(&mut self, io: &mut Io, one: &Told) -> anyhow::Result<()> {
        if let Some(raw) = &one.raw {
            return Ok(io.out.write_all(raw)?);
        }
        let ms = time::parse(&one.ts).unwrap_or_default();
        let east = if self.utc { 0 } else { east_of_utc(ms) };
        let day = time::local_day(ms, east);
        if io.terminal && self.day != day {
            let words = format!("{day}, times are {}", time::zone(east));
            writeln!(io.out, "{}", Tone::Quiet.paint(&words, io))?;
            self.day = day;
        }
        let at = if io.terminal { time::local_clock(ms, east) } else { time::local_stamp(ms, east) };
        let head = format!("{:>6}  {at}  {:9} ", one.seq, one.word);
        let text = clean(&one.text);
        let more = one.reason.as_deref().unwrap_or_default();
        let Some(width) = io.width else {
            // A refusal and its way out are one line.
            let more = more.replace("\nhint: ", "; ");
            let more = clean(&more);
            let gap = if more.is_empty() { "" } else { "  " };
            return Ok(writeln!(io.out, "{head}{}", one.tone.paint(&format!("{text}{gap}{more}"), io))?);
        };
        let indent = head.chars().count();
        let room = width.saturating_sub(indent).max(20);
        writeln!(io.out, "{head}{}", one.tone.paint(&cut(&text, room), io))?;
        for line in more.lines().flat_map(|line| wrap(line, room)) {
            writeln!(io.out, "{:indent$}{}", "", one.tone.paint(&clean(&line), io))?;
        }
        Ok(())
    }
}

/// Wraps a line to this many characters, between words where possible.
pub(super) fn wrap(line: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        let last = lines.last_mut().map_or(0, |last| last.chars().count());
        if last > 0 && last + 1 + word.chars().count() > room {
            lines.push(String::new());
        }
        if let Some(last) = lines.last_mut() {
            let gap = if last.is_empty() { "" } else { " " };
            last.extend([gap, word]);
        }
    }
    lines
}
