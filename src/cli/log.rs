//! Shows a session's entries, one a line, and follows them as they come.
//!
//! Reads one ledger, writes nothing. Invariant: shows whole lines only; what is being written is shown when it is there.

use super::table::{Tone, clean};
use super::{Command, Io, flag, option, past, session, session_operand};
use crate::ledger::entry::Line;
use crate::ledger::recover::LEDGER_FILE;
use crate::model::call::CallState;
use crate::session::describe::describe_fact;
use crate::session::fact::Fact;
use crate::text::json::cut;
use clap::{ArgMatches, value_parser};
use std::io::BufRead;
use std::path::Path;
use std::time::Duration;

pub const COMMAND: Command = Command {
    name: "log",
    about: "Show a session's entries, oldest first",
    examples: &[
        ("aops-hook log", "all entries of the newest session of this project"),
        ("aops-hook log -f", "the same, and go on as entries come"),
        ("aops-hook log 3f2a -n 20", "the last twenty of the session whose id begins with 3f2a"),
        ("aops-hook log --json | jq -r .type", "for programs: an entry a line"),
    ],
    arguments: |row| {
        row.arg(session_operand())
            .arg(flag("follow", "Go on as entries come, until interrupted").short('f'))
            .arg(option("lines", "N", "Only the last N entries").short('n').value_parser(value_parser!(usize)))
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let found = session(given, io)?;
    let mut reader = past::open(&found)?;
    let skip = match given.get_one::<usize>("lines") {
        Some(wanted) => count(&found.path.join(LEDGER_FILE))?.saturating_sub(*wanted),
        None => 0,
    };
    let (mut line, mut n) = (Vec::new(), 0_usize);
    loop {
        let got = reader.read_until(b'\n', &mut line)?;
        if line.ends_with(b"\n") {
            if n >= skip {
                show(io, &line)?;
            }
            n += 1;
            line.clear();
        } else if got == 0 {
            if !given.get_flag("follow") {
                return Ok(0);
            }
            io.out.flush()?;
            std::thread::sleep(Duration::from_millis(250));
        }
    }
}

fn count(path: &Path) -> anyhow::Result<usize> {
    Ok(memchr::memchr_iter(b'\n', &std::fs::read(path)?).count())
}

fn show(io: &mut Io, line: &[u8]) -> anyhow::Result<()> {
    if io.json {
        return Ok(io.out.write_all(line)?);
    }
    let Some(entry) = line.strip_suffix(b"\n").and_then(Line::read) else {
        return Ok(writeln!(io.out, "{}", Tone::Bad.paint("(not an entry: `aops-hook verify` says more)", io))?);
    };
    let fact = Fact::read(entry.kind, entry.with);
    let (tone, words) = fact.map_or((Tone::Bad, String::new()), |fact| (tone(&fact), describe_fact(&fact, 500)));
    let time = entry.ts.get(11..19).unwrap_or(entry.ts);
    let words = clean(&words);
    let room = io.width.map_or(words.len(), |width| width.saturating_sub(28).max(20));
    let words = tone.paint(cut(&words, room), io);
    Ok(writeln!(io.out, "{:>6}  {time}  {:9} {words}", entry.seq, entry.kind)?)
}

fn tone(fact: &Fact) -> Tone {
    match fact {
        Fact::Event(seen) => match seen.said.as_ref().map(|said| said.ruling.as_str()) {
            None => Tone::Plain,
            Some("deny") => Tone::Bad,
            Some(_) => Tone::Warn,
        },
        Fact::Call(step) => match step.to {
            CallState::Denied | CallState::Failed => Tone::Bad,
            CallState::Completed => Tone::Good,
            _ => Tone::Quiet,
        },
        Fact::Check(run) if run.failed() => Tone::Bad,
        Fact::Block(_) | Fact::Violation(_) => Tone::Bad,
        Fact::Unblock(_) | Fact::Check(_) => Tone::Good,
        Fact::Verdict(_) => Tone::Strong,
        Fact::Recovery(_) | Fact::Waive(_) | Fact::Run(_) | Fact::Rollback(_) => Tone::Warn,
        Fact::Open(_) | Fact::Checkpoint(_) => Tone::Plain,
        Fact::Insights(_) | Fact::Snapshot(_) => Tone::Quiet,
    }
}
