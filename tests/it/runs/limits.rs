//! Time limits, interrupts, queues and notices.

use super::world::{World, until};
use crate::support::{Answer, BINARY};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;

#[test]
fn time_that_is_used_up_pauses_and_can_be_given_again() {
    let slow = "  - {id: slow, name: Slow, description: s, run: '[ -e .git/quick ] || sleep 600; echo slow >> effects'}\n";
    let world = World::new(&[("slow", slow)]);
    let answer = world.person(&["run", "x", "--workflow", "slow", "--step-timeout", "1s", "--json"]);
    assert_eq!(answer.code, Some(3), "{answer:?}");
    let id = world.checkpoint();
    assert!(world.packet().contains("trigger: STEP_TIMEOUT"), "{}", world.packet());
    world.person(&["resolve", &id, "--approve", "--yes"]).said(&["APPROVED"]);
    let told = world.resume(&id);
    told.paused("ESCALATION_REQUESTED");
    assert!(world.packet().contains("resolved: false"), "a new question: {}", world.packet());
    world.person(&["resolve", &id, "--approve", "--yes"]).said(&["APPROVED"]);
    fs::write(world.sandbox.project().join(".git/quick"), "").unwrap();
    let answer = world.person(&["resume", &id, "--step-timeout", "2m"]);
    assert_eq!((answer.code, world.effects()), (Some(0), vec!["slow".to_owned()]), "{answer:?}");
}

#[test]
fn an_interrupt_pauses_and_needs_no_decision() {
    let steps = "  - {id: one, name: One, description: o, run: echo one >> effects}
  - {id: slow, name: Slow, description: s, run: '[ -e .git/quick ] || sleep 600; echo slow >> effects'}\n";
    let world = World::new(&[("slow", steps)]);
    let mut driver = world.start(&["run", "x", "--workflow", "slow"]);
    until("the second step", || {
        world.effects() == ["one"] && world.deeds().last().unwrap()["with"]["step"] == "slow"
    });
    until("its program", || world.program().is_some());
    kill_process(Pid::from_child(&driver), Signal::INT).unwrap();
    assert_eq!(driver.wait().unwrap().code(), Some(3));
    assert!(world.packet().contains("trigger: INTERRUPTED"), "{}", world.packet());
    assert_eq!(world.runs()[0]["state"], "CHECKPOINT");
    fs::write(world.sandbox.project().join(".git/quick"), "").unwrap();
    world.resume(&world.checkpoint()).passed();
    assert_eq!(world.effects(), ["one", "slow"]);
}

/// A step that does its work to the end all the same is finished, and is not done again.
#[test]
fn an_interrupt_that_comes_too_late_repeats_nothing() {
    let steps = "  - {id: stubborn, name: S, description: s, run: 'trap : TERM; touch .git/begun; sleep 1; echo stubborn >> effects; exit 0'}
  - {id: next, name: Next, description: n, run: echo next >> effects}\n";
    let world = World::new(&[("late", steps)]);
    let mut driver = world.start(&["run", "x", "--workflow", "late"]);
    until("the first step", || world.there(".git/begun"));
    kill_process(Pid::from_child(&driver), Signal::INT).unwrap();
    assert_eq!(driver.wait().unwrap().code(), Some(3));
    assert!(world.packet().contains("between two steps"), "{}", world.packet());
    assert_eq!(world.effects(), ["stubborn"]);
    world.resume(&world.checkpoint()).passed();
    assert_eq!(world.effects(), ["stubborn", "next"]);
}

#[test]
fn a_queue_goes_one_by_one_and_stops_or_goes_on() {
    let steps = "  - {id: do, name: Do, description: d, run: 'echo done >> effects; git add -A; git commit -qm x; test ! -e .git/fail'}\n";
    let world = World::new(&[("do", steps)]);
    world.configure(
        "[tracker]\ncommand = \"none\"\n\n[run]\nnotify = 'echo \"$AOPS_OUTCOME\" >> \"$HOME/notices\"'\n",
    );
    let mut piped = world.sandbox.command(BINARY);
    piped.args(["run", "--queue", "-", "--workflow", "do", "--json"]).write_stdin("zeroth\n");
    let piped = Answer::of("", &piped.output().unwrap());
    assert_eq!(piped.code, Some(0), "{piped:?}");
    assert_eq!(world.runs()[0]["task"], "zeroth");
    fs::remove_dir_all(world.sandbox.project().join("artifacts")).unwrap();
    fs::remove_file(world.sandbox.home().join("notices")).unwrap();
    let tasks = world.sandbox.tmp().join("tasks");
    fs::write(&tasks, "first\n\n# not this one\nsecond\n").unwrap();
    let queue = ["run", "--queue", tasks.to_str().unwrap(), "--workflow", "do"];
    assert_eq!(world.person(&queue).code, Some(0));
    let runs = world.runs();
    let of = |runs: &serde_json::Value, key: &str| -> Vec<String> {
        runs.as_array().unwrap().iter().map(|run| run[key].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        (of(&runs, "task"), of(&runs, "outcome")),
        (vec!["first".to_owned(), "second".to_owned()], vec!["PASS".to_owned(); 2])
    );
    fs::write(world.sandbox.project().join(".git/fail"), "").unwrap();
    assert_eq!(world.person(&queue).code, Some(1));
    assert_eq!(world.runs().as_array().unwrap().len(), 3, "it stops at the first that does not pass");
    world.configure("[tracker]\ncommand = \"none\"\n\n[run]\non_pause = \"continue\"\n");
    assert_eq!(world.person(&queue).code, Some(1));
    assert_eq!(world.runs().as_array().unwrap().len(), 5, "or goes on, as configured");
    let notices = fs::read_to_string(world.sandbox.home().join("notices")).unwrap();
    assert_eq!(notices, "PASS\nPASS\nBLOCKED\n");
    world.person(&["run", "--from-tracker", "ready", "--workflow", "do"]).failed(2, &["tracker", "hint:"]);
}

#[test]
fn a_dry_run_shows_the_steps_of_every_workflow_and_does_nothing() {
    let world = World::new(&[]);
    world.sandbox.put("stray", "not clean");
    world
        .person(&["run", "x", "--dry-run"])
        .said(&["hydrate", "steward", "aops-hook policy show", "qa-verifier"]);
    let plan = world.person(&["run", "x", "--project-type", "webapp", "--dry-run", "--json"]).json();
    let steps: Vec<&str> =
        plan["steps"].as_array().unwrap().iter().map(|step| step["id"].as_str().unwrap()).collect();
    assert!(steps.contains(&"security") && !steps.contains(&"data"), "{steps:?}");
    for asset in aops_core::config::texts::ASSETS
        .iter()
        .filter(|asset| asset.kind() == aops_core::config::texts::Kind::Workflow)
    {
        let answer = world.person(&["run", "x", "--workflow", asset.id(), "--dry-run"]);
        assert_eq!(
            answer.code,
            Some(0),
            "every shipped workflow has a step for each of its gates: {answer:?}"
        );
    }
    assert!(!world.there("artifacts"));
    world.person(&["run"]).failed(2, &["TASK"]);
    world.person(&["run", "x", "--workflow", "build-lop", "--dry-run"]).failed(2, &["build-loop", "hint:"]);
}
