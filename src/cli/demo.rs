//! Plays a whole session through every gate, in a folder of its own, and shows what was said.
//!
//! Runs the hook for real, as the client does, in a throwaway home with a throwaway project; reads and writes nothing
//! else. Invariants: nothing is installed and nothing is left behind; every step says what it expects of the gates, so a
//! demo that ends well is a proof that they work here.

mod beat;
mod stage;
mod player;
mod story;

use super::table::{Tone, clean};
use super::{Command, Io, Who};
use anyhow::Context;
use beat::{Beat, Word};
use clap::ArgMatches;
use serde_json::{Value, json};
use stage::Stage;
use std::time::Instant;

pub const COMMAND: Command = Command {
    name: "demo",
    about: "Play a whole session through every gate, in a temporary folder",
    examples: &[
        (
            "aops-hook demo",
            "who did what, what the gates said, which way out was taken; nothing is installed",
        ),
        ("aops-hook demo --json", "the same, for a program"),
    ],
    who: Who::Anyone,
    arguments: |row| row,
    run,
};

fn run(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let began = Instant::now();
    let mut stage = Stage::set(io.env).context("the stage could not be set")?;
    if !io.json {
        let words =
            "a session with every gate, in a folder of its own; nothing is installed, nothing is left behind";
        writeln!(io.out, "{}", Tone::Quiet.paint(words, io))?;
    }
    let played = story::play(&mut stage, &mut |scene| if io.json { Ok(()) } else { show(io, scene) });
    let (beats, ms) = (stage.beats(), began.elapsed().as_millis());
    if io.json {
        let beats: Vec<Value> = beats.iter().map(value).collect();
        let error = played.as_ref().err().map(|error| format!("{error:#}"));
        writeln!(io.out, "{}", json!({"ok": played.is_ok(), "error": error, "ms": ms, "beats": beats}))?;
        return Ok(u8::from(played.is_err()));
    }
    played?;
    let refused = beats.iter().filter(|beat| beat.word == Word::Refused).count();
    writeln!(io.out, "\n{} steps, {refused} refused and put right, in {ms} ms", beats.len())?;
    writeln!(
        io.out,
        "hint: `aops-hook install` registers the hooks; `aops-hook uninstall` takes them out again"
    )?;
    Ok(0)
}

/// What `story` tells as it goes.
#[derive(Clone, Copy)]
enum Scene<'a> {
    Act(&'a str),
    Beat(&'a Beat),
}

fn show(io: &mut Io, scene: Scene) -> anyhow::Result<()> {
    let beat = match scene {
        Scene::Act(title) => return Ok(writeln!(io.out, "\n{}", Tone::Strong.paint(title, io))?),
        Scene::Beat(beat) => beat,
    };
    let (mark, tone) = match beat.word {
        Word::Refused => ("✗", Tone::Bad),
        Word::Passed => ("✓", Tone::Good),
        Word::Told => ("→", Tone::Plain),
    };
    let stood = format!("{} · {}", beat.phase, beat.sandbox);
    let stood = Tone::Quiet.paint(&format!("{stood:16}"), io).into_owned();
    writeln!(io.out, "  {stood} {:15} {}", beat.who, clean(&beat.does))?;
    let mark = tone.paint(mark, io).into_owned();
    let gate = if beat.gate.is_empty() { String::new() } else { format!("{}: ", beat.gate) };
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

fn value(beat: &Beat) -> Value {
    json!({
        "act": beat.act,
        "who": beat.who,
        "does": beat.does,
        "event": beat.event,
        "ruling": if beat.word == Word::Refused { "deny" } else { "pass" },
        "gate": Some(beat.gate.as_str()).filter(|gate| !gate.is_empty()),
        "said": beat.said,
        "phase": beat.phase,
        "sandbox": beat.sandbox,
    })
}
