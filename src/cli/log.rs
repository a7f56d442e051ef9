//! Shows a session's entries, one a line, and follows them as they come.
//!
//! Reads one ledger, writes nothing. Invariant: shows whole lines only; what is being written is shown when it is there.

use super::table::{Tone, clean};
use super::{Command, Io, Who, session, session_argument};
use crate::ledger::entry::Line;
use crate::ledger::recover::LEDGER_FILE;
use crate::model::call::CallState;
use crate::session::describe::describe_fact;
use crate::session::fact::Fact;
use crate::text::json::cut;
use clap::{Arg, ArgAction, ArgMatches};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::OpenOptionsExt;
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
    who: Who::Anyone,
    arguments: |command| {
        let follow = Arg::new("follow").short('f').long("follow").action(ArgAction::SetTrue);
        let lines = Arg::new("lines").short('n').long("lines").value_name("N").value_parser(clap::value_parser!(usize));
        session_argument(command)
            .arg(follow.help("Go on as entries come, until interrupted"))
            .arg(lines.help("Only the last N entries"))
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let found = session(given, io)?;
    let no_follow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
    let file = File::options().read(true).custom_flags(no_follow).open(found.path.join(LEDGER_FILE))?;
    let mut reader = BufReader::new(file);
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

fn count(path: &std::path::Path) -> anyhow::Result<usize> {
    let bytes = std::fs::read(path)?;
    Ok(memchr::memchr_iter(b'\n', &bytes).count())
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
    let time = entry.ts.get(11..19).unwrap_or(entry.ts).to_owned();
    let words = clean(&words).into_owned();
    let room = io.width.map_or(words.len(), |width| width.saturating_sub(28).max(20));
    let words = tone.paint(cut(&words, room), io).into_owned();
    Ok(writeln!(io.out, "{:>6}  {time}  {:9} {words}", entry.seq, entry.kind)?)
}

/// The colour of a fact.
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
        Fact::Block(_) | Fact::Violation(_) => Tone::Bad,
        Fact::Unblock(_) => Tone::Good,
        Fact::Verdict(_) => Tone::Strong,
        Fact::Recovery(_) | Fact::Waive(_) | Fact::Run(_) | Fact::Rollback(_) => Tone::Warn,
        Fact::Check(run) => {
            if run.failed() {
                Tone::Bad
            } else {
                Tone::Good
            }
        }
        Fact::Open(_) | Fact::Checkpoint(_) => Tone::Plain,
        Fact::Insights(_) | Fact::Snapshot(_) => Tone::Quiet,
    }
}
