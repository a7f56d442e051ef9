//! Drivers and clients killed at every step and in the middle of them: `resume` completes, each effect once.

use super::world::{World, bash, until};
use crate::model::{Model, Turn};
use rustix::process::{Pid, Signal, kill_process};
use std::process::Child;
use std::sync::Arc;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

const COMMANDS: &str = "  - {id: one, name: One, description: o, run: echo one >> effects; sleep 0.2}
  - {id: two, name: Two, description: t, run: sleep 0.2; echo two >> effects}
  - {id: three, name: Three, description: t, run: echo three >> effects}
";

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let _ = kill_process(pid, Signal::KILL);
}

/// Whatever became of it, it is TERMINATED once looked at, and one `resume` ends it well.
fn completed(world: &World, case: &str) {
    let runs = world.runs();
    let Some(run) = runs.as_array().unwrap().first() else { return };
    let id = run["run_id"].as_str().unwrap();
    if run["state"] == "TERMINAL" {
        return;
    }
    assert_eq!(run["state"], "TERMINATED", "{case}: {run}");
    world.resume(run["checkpoint_id"].as_str().unwrap_or(id)).passed();
}

/// From before the first step to after the last, every few milliseconds.
#[test]
fn a_driver_killed_at_any_moment() {
    let mut seen = std::collections::BTreeSet::new();
    for moment in (0..24).map(|n| n * 45) {
        let world = World::new(&[("commands", COMMANDS)]);
        let mut driver = world.start(&["run", "x", "--workflow", "commands"]);
        thread::sleep(Duration::from_millis(moment));
        driver.kill().unwrap();
        driver.wait().unwrap();
        seen.insert(world.deeds().len());
        let begun = !world.deeds().is_empty();
        completed(&world, &format!("after {moment} ms"));
        if begun {
            assert_eq!(world.effects(), ["one", "two", "three"], "after {moment} ms");
        }
    }
    assert!(seen.len() > 3, "killed at several places: {seen:?}");
}

/// A program that is killed is not taken for one that failed.
#[test]
fn a_command_killed_in_the_middle() {
    let steps = "  - {id: one, name: One, description: o, run: echo one >> effects}
  - {id: two, name: Two, description: t, run: '[ -e .git/again ] || { touch .git/again; sleep 30; }; echo two >> effects'}\n";
    let world = World::new(&[("commands", steps)]);
    let mut driver = world.start(&["run", "x", "--workflow", "commands"]);
    until("the second step", || world.there(".git/again"));
    kill(world.program().unwrap());
    assert_eq!(driver.wait().unwrap().code(), Some(3));
    assert!(world.packet().contains("trigger: KILLED"), "{}", world.packet());
    let key = |world: &World| {
        let deeds = world.deeds();
        let steps = deeds.iter().filter(|deed| deed["kind"] == "STEP" && deed["with"]["step"] == "two");
        steps.map(|deed| deed["with"]["call"].clone()).collect::<Vec<_>>()
    };
    world.resume(&world.checkpoint()).passed();
    assert_eq!(world.effects(), ["one", "two"]);
    let keys = key(&world);
    assert!(keys.len() == 2 && keys[0] == keys[1], "handed out again under its old id: {keys:?}");
}

const CLIENT: &str = "  - {id: first, name: First, description: f}
  - {id: second, name: Second, description: s}
";

type Deed = Box<dyn Fn() + Send>;

/// Two steps of the client; `who` is killed while the model thinks about its `turn`.
fn killed_while_thinking(turn: usize, who: fn(&World, &mut Child)) {
    let slot: Arc<Mutex<Option<Deed>>> = Arc::default();
    let hook = Arc::clone(&slot);
    let deed = move || {
        if let Some(deed) = hook.lock().unwrap().take() {
            deed();
        }
    };
    let turns = [
        bash("echo first >> effects"),
        Turn::text("First."),
        bash("echo second >> effects"),
        Turn::text("Second."),
    ];
    let turns = turns.into_iter().enumerate().map(|(n, t)| if n == turn { t.after(deed.clone()) } else { t });
    let model = Model::new(turns.collect::<Vec<_>>());
    let world = Arc::new(World::with(&model, &[("client", CLIENT)]));
    let driver = Arc::new(Mutex::new(None::<Child>));
    let (inside, killed) = (Arc::clone(&world), Arc::clone(&driver));
    *slot.lock().unwrap() = Some(Box::new(move || {
        until("the driver", || killed.lock().unwrap().is_some());
        who(&inside, killed.lock().unwrap().as_mut().unwrap());
    }));
    *driver.lock().unwrap() = Some(world.start(&["run", "x", "--workflow", "client"]));
    until("the kill", || slot.lock().unwrap().is_none());
    let mut driver = driver.lock().unwrap().take().unwrap();
    let code = driver.wait().unwrap().code();
    // The model's answer to a client that is gone was lost, and is not given again.
    let lost = code == Some(3);
    let runs = world.runs();
    world.resume(runs[0]["run_id"].as_str().unwrap()).passed();
    let expected: Vec<&str> = match (lost, turn) {
        (true, 0) => vec!["second"],
        (true, 2) => vec!["first"],
        _ => vec!["first", "second"],
    };
    assert_eq!(world.effects(), expected, "turn {turn}, ended with {code:?}");
    assert_eq!(world.person(&["verify", &world.session().id, "--json"]).json()["ok"], true);
}

#[test]
fn a_driver_killed_while_the_model_thinks() {
    for turn in 0..4 {
        killed_while_thinking(turn, |_, driver| {
            driver.kill().unwrap();
            driver.wait().unwrap();
        });
    }
}

#[test]
fn a_client_killed_while_the_model_thinks() {
    for turn in 0..4 {
        killed_while_thinking(turn, |world, _| kill(world.program().unwrap()));
    }
}

/// The client dies in the middle of a call that has done its work: what was done is done, and once.
#[test]
fn a_client_killed_in_the_middle_of_a_call() {
    let model = Model::new([
        bash("echo called >> effects; sleep 30"),
        bash("echo next >> effects"),
        Turn::text("Done so far."),
    ]);
    let world = World::with(&model, &[("client", "  - {id: only, name: Only, description: o}\n")]);
    let mut driver = world.start(&["run", "x", "--workflow", "client"]);
    until("the call", || world.effects() == ["called"]);
    kill(world.program().unwrap());
    assert_eq!(driver.wait().unwrap().code(), Some(3));
    world.resume(&world.checkpoint()).passed();
    assert_eq!(world.effects(), ["called", "next"]);
    let calls = world.session().calls();
    assert_eq!(calls["toolu_000100"].last().unwrap(), "FAILED", "nobody heard of its end: {calls:?}");
}

#[test]
fn a_new_run_marks_the_old_one_and_says_how_to_resume() {
    let world = World::new(&[("commands", COMMANDS)]);
    let mut driver = world.start(&["run", "x", "--workflow", "commands"]);
    until("a step", || !world.effects().is_empty());
    driver.kill().unwrap();
    driver.wait().unwrap();
    until("its end", || {
        world.program().is_none_or(|pid| {
            rustix::process::test_kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap()).is_err()
        })
    });
    world.commit();
    world.run("commands").passed();
    let runs = world.runs();
    assert_eq!((&runs[0]["state"], &runs[1]["state"]), (&"TERMINATED".into(), &"TERMINAL".into()), "{runs}");
    let list = world.person(&["runs"]);
    assert!(list.out.contains("aops-hook resume CP_"), "{list:?}");
}
