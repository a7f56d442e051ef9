//! Shows a session's entries, one a line, and follows them as they come.
//!
//! Reads one ledger, writes nothing. Invariant: shows whole lines only; what is being written is shown when it is there.

use super::table::{Tone, clean};
use super::{Command, Desk, Who, session, session_argument};
use crate::entry::Line;
use crate::fact::{Fact, Said, Step};
use crate::json::cut;
use crate::ledger::recover::LEDGER_FILE;
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
        let lines = Arg::new("lines")
            .short('n')
            .long("lines")
            .value_name("N")
            .value_parser(clap::value_parser!(usize));
        session_argument(command)
            .arg(follow.help("Go on as entries come, until interrupted"))
            .arg(lines.help("Only the last N entries"))
    },
    run,
};

fn run(given: &ArgMatches, desk: &mut Desk) -> anyhow::Result<u8> {
    let shelved = session(given, desk)?;
    let no_follow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
    let file = File::options().read(true).custom_flags(no_follow).open(shelved.path.join(LEDGER_FILE))?;
    let mut reader = BufReader::new(file);
    let skip = match given.get_one::<usize>("lines") {
        Some(wanted) => count(&shelved.path.join(LEDGER_FILE))?.saturating_sub(*wanted),
        None => 0,
    };
    let (mut line, mut n) = (Vec::new(), 0_usize);
    loop {
        let got = reader.read_until(b'\n', &mut line)?;
        if line.ends_with(b"\n") {
            if n >= skip {
                show(desk, &line)?;
            }
            n += 1;
            line.clear();
        } else if got == 0 {
            if !given.get_flag("follow") {
                return Ok(0);
            }
            desk.out.flush()?;
            std::thread::sleep(Duration::from_millis(250));
        }
    }
}

fn count(path: &std::path::Path) -> anyhow::Result<usize> {
    let bytes = std::fs::read(path)?;
    Ok(memchr::memchr_iter(b'\n', &bytes).count())
}

fn show(desk: &mut Desk, line: &[u8]) -> anyhow::Result<()> {
    if desk.json {
        return Ok(desk.out.write_all(line)?);
    }
    let Some(entry) = line.strip_suffix(b"\n").and_then(Line::read) else {
        return Ok(writeln!(
            desk.out,
            "{}",
            Tone::Bad.paint("(not an entry: `aops-hook verify` says more)", desk)
        )?);
    };
    let (tone, words) =
        Fact::read(entry.kind, entry.with).map_or((Tone::Bad, String::new()), |fact| told(&fact));
    let time = entry.ts.get(11..19).unwrap_or(entry.ts).to_owned();
    let words = clean(&words).into_owned();
    let room = desk.width.map_or(words.len(), |width| width.saturating_sub(28).max(20));
    let words = tone.paint(cut(&words, room), desk).into_owned();
    Ok(writeln!(desk.out, "{:>6}  {time}  {:9} {words}", entry.seq, entry.kind)?)
}

/// One fact in a few words.
fn told(fact: &Fact) -> (Tone, String) {
    match fact {
        Fact::Open(open) => (Tone::Plain, format!("aops-hook {}, project {}", open.binary, open.project)),
        Fact::Event(seen) => {
            let who = seen.agent_type.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
            let (tone, said) = seen.said.as_ref().map_or((Tone::Plain, String::new()), spoken);
            (tone, format!("{}{who}{said}", seen.event))
        }
        Fact::Call(step) => stepped(step),
        Fact::Block(block) => (Tone::Bad, format!("by {}: {}", block.by, block.reason)),
        Fact::Unblock(unblock) => (Tone::Good, format!("by {}", unblock.by)),
        Fact::Violation(violation) => (Tone::Bad, format!("{}: {}", violation.event, violation.violation)),
        Fact::Recovery(recovery) => (Tone::Warn, recovery.what.clone()),
        Fact::Snapshot(_) => (Tone::Quiet, "the whole state, to recover from".to_owned()),
    }
}

fn spoken(said: &Said) -> (Tone, String) {
    let tone = if said.ruling == "deny" { Tone::Bad } else { Tone::Warn };
    (tone, format!("  {} {}: {}", said.gate, said.ruling, said.reason))
}

fn stepped(step: &Step) -> (Tone, String) {
    let tone = match step.to.name() {
        "DENIED" | "FAILED" => Tone::Bad,
        "COMPLETED" => Tone::Good,
        _ => Tone::Quiet,
    };
    let who = step.agent_type.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
    let input = step.input.as_ref().map(|input| format!("  {}", cut(input.get(), 200))).unwrap_or_default();
    let why = step.reason.as_ref().map(|why| format!("  {why}")).unwrap_or_default();
    (tone, format!("{} {} {}{who}{input}{why}", step.to.name(), step.call.tool, step.call.id))
}
