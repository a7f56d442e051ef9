//! Runs every registered hook as the client would, with a harmless event, in a throwaway home.
//!
//! Starts processes; reads and writes only below a temporary folder. Invariant: the hook sees none of the
//! user's folders, so their ledger stays unchanged.

use super::registration::{Scene, several};
use super::{Report, bad, payload, program, report};
use crate::cli::world::World;
use aops_core::host::claude::settings::Registered;
use aops_core::model::event::EVENTS;
use aops_core::system::process::{Ending, Outcome};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::time::Duration;

/// A session id that does not exist.
const SESSION: &str = "00000000-d0c7-4d0c-8d0c-000000000000";

pub(super) fn hooks(scene: &Scene) -> Report {
    let world = match World::new("doctor", SESSION) {
        Ok(world) => world,
        Err(error) => {
            let what = format!("no temporary folder to try the hooks in: {error}");
            return bad(what, "free space in the folder that `TMPDIR` names, or in `/tmp`");
        }
    };
    let mut tried = 0;
    let mut failed: Vec<(String, Vec<&str>)> = Vec::new();
    for kind in EVENTS {
        let mut same = Vec::new();
        for (_, one) in scene.ours().filter(|(_, one)| one.event == kind.name) {
            // The client runs identical entries once; a program that cannot run is reported by another check.
            if same.contains(&(&one.command, &one.args)) || !program::executable(&program::path(scene, one)) {
                continue;
            }
            same.push((&one.command, &one.args));
            tried += 1;
            let Err(words) = play(&world, scene, one) else { continue };
            match failed.iter_mut().find(|(known, _)| *known == words) {
                Some((_, events)) => events.push(kind.name),
                None => failed.push((words, vec![kind.name])),
            }
        }
    }
    let fix = "rebuild and reinstall it with `./install.sh`; if that does not help, report it with this line";
    let wrong =
        failed.iter().map(|(words, events)| (format!("{}: {words}", several(events)), fix.to_owned()));
    report(wrong.collect(), format!("{tried} ran and answered"))
}

/// Sends one event to one hook. `Err` says what is wrong.
fn play(world: &World, scene: &Scene, one: &Registered) -> Result<(), String> {
    let payload = world.payload(&one.event, "doctor", "default", payload::of(&one.event, &world.project));
    let (program, args) = match &one.args {
        Some(args) => (program::path(scene, one), args.clone()),
        None => (PathBuf::from("/bin/sh"), vec!["-c".to_owned(), one.command.clone()]),
    };
    let timeout = one.timeout.filter(|s| (0.001..=600.0).contains(s));
    let timeout = timeout.map_or(Duration::from_mins(1), Duration::from_secs_f64);
    let outcome = world.run(scene.env, &program, &args, &scene.env.search_path(), Some(&payload), timeout);
    judge(&outcome.map_err(|error| format!("cannot be started: {error}"))?)
}

/// A new session's harmless event should never be blocked: anything but a neutral answer is a finding.
fn judge(outcome: &Outcome) -> Result<(), String> {
    let words = String::from_utf8_lossy(&outcome.stderr);
    let words = words.lines().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
    match outcome.ending {
        Ending::Exit(0) => {}
        Ending::Exit(2) => return Err(format!("refuses a harmless event: {words}")),
        Ending::Exit(code) => return Err(format!("exits with {code}: {words}")),
        Ending::Signal(signal) => return Err(format!("killed by signal {signal}: {words}")),
        Ending::TimedOut => return Err("does not answer in time".to_owned()),
    }
    let answer = String::from_utf8_lossy(&outcome.stdout);
    let answer = answer.trim();
    let object = serde_json::from_str::<Map<String, Value>>(answer);
    if answer.is_empty() || object.is_ok() {
        Ok(())
    } else {
        Err("its answer is not one JSON object".to_owned())
    }
}
