//! Plays a whole session through every gate, in a temporary folder, and shows each step and its answer.
//!
//! Starts the hook as the client does, in a throwaway home with a throwaway project; reads and writes nothing else.
//! Invariants: nothing is installed and nothing is left behind; every step names the answer it expects, so a demo that
//! succeeds proves that the gates work on this machine.

mod stage;
mod story;

use super::table::{Tone, clean};
use super::{Command, Io, Who};
use anyhow::Context;
use clap::ArgMatches;
use serde_json::json;
use stage::Stage;
use std::time::Instant;
use story::{Beat, Player};

pub const COMMAND: Command = Command {
    name: "demo",
    about: "Play a whole session through every gate, in a temporary folder",
    examples: &[
        ("aops-hook demo", "each step, what the gates said, and the way on; nothing is installed"),
        ("aops-hook demo --json", "the same, for a program"),
    ],
    who: Who::Anyone,
    arguments: |row| row,
    run,
};

fn run(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let began = Instant::now();
    let stage = Stage::set(io.env).context("the temporary folder could not be filled")?;
    if !io.json {
        let words = "a session with every gate, in a folder of its own; nothing is installed, nothing is left behind";
        writeln!(io.out, "{}", Tone::Quiet.paint(words, io))?;
    }
    let mut shown = |step: Result<&Beat, &str>| if io.json { Ok(()) } else { show(io, step) };
    let mut player = Player::new(stage, &mut shown);
    let outcome = player.play();
    let (beats, ms) = (player.beats, began.elapsed().as_millis());
    if io.json {
        let error = outcome.as_ref().err().map(|error| format!("{error:#}"));
        writeln!(io.out, "{}", json!({"ok": outcome.is_ok(), "error": error, "ms": ms, "beats": beats}))?;
        return Ok(u8::from(outcome.is_err()));
    }
    outcome?;
    let refused = beats.iter().filter(|beat| beat.gate.is_some()).count();
    writeln!(io.out, "\n{} steps, {refused} refused and put right, in {ms} ms", beats.len())?;
    writeln!(io.out, "hint: `aops-hook install` registers the hooks; `aops-hook uninstall` removes them again")?;
    Ok(0)
}

fn show(io: &mut Io, step: Result<&Beat, &str>) -> anyhow::Result<()> {
    let beat = match step {
        Ok(beat) => beat,
        Err(title) => return Ok(writeln!(io.out, "\n{}", Tone::Strong.paint(title, io))?),
    };
    let (mark, tone) = match (&beat.gate, beat.said.as_str()) {
        (Some(_), _) => ("✗", Tone::Bad),
        (None, "passes") => ("✓", Tone::Good),
        (None, _) => ("→", Tone::Plain),
    };
    let stood = format!("{} · {}", beat.phase, beat.sandbox);
    let stood = Tone::Quiet.paint(&format!("{stood:16}"), io).into_owned();
    writeln!(io.out, "  {stood} {:15} {}", beat.who, clean(&beat.does))?;
    let mark = tone.paint(mark, io).into_owned();
    let gate = beat.gate.as_ref().map(|gate| format!("{gate}: ")).unwrap_or_default();
    let room = io.width.map_or(usize::MAX, |width| width.saturating_sub(21).max(40));
    let said = format!("{gate}{}", beat.said);
    let lines = said.lines().flat_map(|line| wrapped(&clean(line), room));
    for (n, line) in lines.enumerate() {
        writeln!(io.out, "  {:16} {} {line}", "", if n == 0 { &mark } else { " " })?;
    }
    io.out.flush()?;
    Ok(())
}

/// A line cut between words where it is too long.
fn wrapped(line: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        let last = lines.last().map_or(0, |last| last.chars().count());
        match lines.last_mut() {
            Some(last_line) if last == 0 => last_line.push_str(word),
            Some(last_line) if last + 1 + word.chars().count() <= room => {
                last_line.push(' ');
                last_line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
