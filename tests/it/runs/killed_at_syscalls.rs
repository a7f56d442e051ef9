//! A driver killed at each of its writes: before and after each ledger line, packet and program. `strace`
//! injects the signal, so that no case depends on the speed of the machine.

use super::world::{World, bash};
use crate::model::{Model, Turn};
use crate::support::BINARY;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

const COMMANDS: &str = "  - {id: one, name: One, description: o, run: echo one >> effects}
  - {id: two, name: Two, description: t, run: echo two >> effects}
";

/// Our binary with these arguments, killed at its nth call of this name; false if it came to its end before.
fn killed(world: &World, call: &str, nth: usize, arguments: &[&str]) -> bool {
    let inject = format!("inject={call}:signal=KILL:when={nth}");
    let mut strace = world.sandbox.command("strace");
    strace.args(["-o", "/dev/null", "-e", &inject, BINARY]).args(arguments).timeout(Duration::from_mins(2));
    let output = strace
        .output()
        .unwrap_or_else(|error| panic!("`strace` is needed: install the package of that name ({error})"));
    let end = output.status;
    assert!(end.signal() == Some(9) || end.code() == Some(0), "{call} {nth}: {output:?}");
    end.code().is_none()
}

/// How often it could be killed.
fn killed_at_every(call: &str) -> usize {
    for nth in 1.. {
        let world = World::new(&[("commands", COMMANDS)]);
        if !killed(&world, call, nth, &["run", "x", "--workflow", "commands"]) {
            assert_eq!(world.effects(), ["one", "two"]);
            return nth - 1;
        }
        let case = format!("killed at {call} number {nth}");
        match world.runs().as_array().unwrap().first() {
            // It never began, so there is nothing to go on with, and nothing in the way.
            None => {
                assert!(world.effects().is_empty(), "{case}");
                world.run("commands").passed();
            }
            Some(run) if run["state"] == "TERMINAL" => assert_eq!(run["outcome"], "PASS", "{case}"),
            Some(run) => {
                assert_eq!(run["state"], "TERMINATED", "{case}: {run}");
                world.resume(run["checkpoint_id"].as_str().unwrap()).passed();
            }
        }
        assert_eq!(world.effects(), ["one", "two"], "{case}");
        assert_eq!(world.artifacts("terminal").len(), 1, "{case}");
        assert_eq!(world.artifacts("steps").len(), 2, "{case}");
    }
    unreachable!()
}

/// Every line of the attempt ledger and every checkpoint is one: it is written, and nobody was told yet.
#[test]
fn a_driver_killed_at_every_line_it_writes() {
    assert!(killed_at_every("fdatasync") >= 6, "init, two steps begun and ended, the end");
}

/// Every packet, summary and program that is handed out is one: it is about to be there.
#[test]
fn a_driver_killed_at_every_file_it_puts_in_place() {
    assert!(killed_at_every("rename") >= 5, "two programs, two summaries, the end");
}

/// One run, resumed and killed again and again, each time a little later: an approved call is made once,
/// under its id.
#[test]
fn an_approved_call_outlives_its_drivers() {
    let model = Model::new([bash("touch danger && echo danger >> effects"), Turn::text("Built.")]);
    let world = World::with(&model, &[("asking", "  - {id: build, name: Build, description: make it}\n")]);
    world.run("asking").paused("WAIVER_REQUESTED");
    let id = world.checkpoint();
    world.person(&["resolve", &id, "--approve", "--yes"]).said(&["APPROVED"]);
    let run = world.runs()[0]["run_id"].as_str().unwrap().to_owned();
    let mut kills = 0;
    while world.deeds().last().unwrap()["kind"] != "TERMINAL" {
        kills += usize::from(killed(&world, "fdatasync", kills + 1, &["resume", &run]));
        assert!(kills < 60, "it never comes to its end");
    }
    assert!(kills > 3, "killed {kills} times");
    assert_eq!(world.runs()[0]["outcome"], "PASS");
    assert_eq!(world.effects(), ["danger"]);
    let calls = world.session().calls();
    assert_eq!(calls["toolu_000100"], ["PENDING", "AUTHORIZED", "EXECUTING", "COMPLETED"], "{calls:?}");
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!(model.requests().len(), 2, "asked once, and told the result once");
}
