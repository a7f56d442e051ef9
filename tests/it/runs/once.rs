//! `run --idempotency-key`: however often a durable engine calls, the run is done once, and each call tells
//! the truth.

use super::world::{DriverOutput, World, until};
use crate::support::BINARY;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Waits for the file `go`, then ends itself once, then has its effect.
const STEPS: &str = "  - {id: one, name: One, description: first, run: 'echo began >> began; while ! test -e go; do sleep 0.02; done'}
  - {id: two, name: Two, description: second, run: 'test -e .git/killed || { : > .git/killed; kill -9 $$; }; echo two >> effects'}
";

fn world() -> World {
    World::new(&[("w", STEPS)])
}

const CALL: [&str; 7] = ["run", "make it so", "--workflow", "w", "--json", "--idempotency-key", "job-17"];

fn call(world: &World) -> DriverOutput {
    DriverOutput::of(world.person(&CALL))
}

fn approve(world: &World, told: &DriverOutput) {
    let run = told.last["run_id"].as_str().unwrap();
    world.person(&["resolve", run, "--approve", "--yes"]).said(&["APPROVED"]);
}

fn let_go(world: &World) {
    fs::write(world.sandbox.project().join("go"), "").unwrap();
}

#[test]
fn a_run_under_a_key_is_begun_gone_on_with_and_told_again() {
    let world = world();
    let first = world.start(&CALL);
    until("the first step runs", || world.there("began"));
    // Another call, as an engine makes it that saw no end: it waits for the driver that is at work.
    let second = world.start(&CALL);
    let_go(&world);
    let ends = [first, second].map(|mut child| child.wait().unwrap().code());
    // The second step was killed, which a person decides about; both are told so.
    assert_eq!(ends, [Some(3), Some(3)]);
    let told = call(&world);
    told.paused("ESCALATION_REQUESTED");
    approve(&world, &told);
    let told = call(&world);
    told.passed();
    assert_eq!(world.effects(), ["two"]);
    let again = call(&world);
    assert_eq!((&again.last["run_id"], again.code), (&told.last["run_id"], Some(0)));
    assert_eq!(again.last["reason"], told.last["reason"]);
    assert!(fs::metadata(again.last["packet"].as_str().unwrap()).is_ok(), "{again:?}");
    assert_eq!(
        (world.effects().len(), world.runs().as_array().unwrap().len()),
        (1, 1),
        "nothing was done again"
    );
}

#[test]
fn a_killed_driver_is_followed_by_the_next_call() {
    let world = world();
    let mut first = world.start(&CALL);
    until("the first step runs", || world.there("began"));
    first.kill().unwrap();
    first.wait().unwrap();
    let_go(&world);
    let told = call(&world);
    // The second step ends itself once.
    told.paused("ESCALATION_REQUESTED");
    approve(&world, &told);
    call(&world).passed();
    assert_eq!(world.effects(), ["two"]);
    let began = fs::read_to_string(world.sandbox.project().join("began")).unwrap();
    assert_eq!(began.lines().count(), 1, "the first step was taken over where it stood");
}

#[test]
fn a_key_belongs_to_one_task() {
    let world = world();
    let_go(&world);
    world.commit();
    let _ = call(&world);
    let other = ["run", "another", "--workflow", "w", "--json", "--idempotency-key", "job-17"];
    DriverOutput::of(world.person(&other)).refused(2, "belongs to run key-");
    // Its own key works, as the hint says.
    let own = ["run", "make it so", "--workflow", "w", "--json", "--idempotency-key", "job-18"];
    fs::remove_file(world.sandbox.project().join("began")).unwrap();
    world.commit();
    DriverOutput::of(world.person(&own)).passed();
}

#[test]
#[expect(clippy::disallowed_methods, reason = "its lines are read while it runs")]
fn a_program_hears_that_a_step_is_at_work() {
    let wait = "  - {id: one, name: One, description: d, run: 'while ! test -e go; do sleep 0.02; done'}\n";
    let world = World::new(&[("w", wait)]);
    let mut driver = Command::new(BINARY)
        .args(["run", "wait", "--workflow", "w", "--json", "--heartbeat", "1s"])
        .env_clear()
        .envs(world.sandbox.environment())
        .current_dir(world.sandbox.project())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut beats = 0;
    for line in BufReader::new(driver.stdout.take().unwrap()).lines() {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if line["event"] == "heartbeat" {
            assert_eq!(line, json!({"event": "heartbeat", "step": "one"}));
            beats += 1;
        }
        // The step goes on once it was heard of twice.
        if beats == 2 {
            let_go(&world);
        }
    }
    assert_eq!((driver.wait().unwrap().code(), beats >= 2), (Some(0), true));
}
