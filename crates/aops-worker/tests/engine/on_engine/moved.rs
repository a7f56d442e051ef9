//! Machines that are gone, cut off or frozen: a run goes on elsewhere, and never in two places.

use super::{BEGUN, WAIT};
use crate::world::{World, until};
use rustix::process::Signal;
use serde_json::json;

const SOON: [&str; 2] = ["--lost-after", "8"];

/// What had passed is not begun again; what was cut off is, under its key; the work of both machines is
/// delivered.
#[test]
fn a_run_goes_on_where_another_machine_was_lost() {
    let first = format!("{BEGUN}mkdir -p new; echo one >> new/work; echo out >> left.log");
    let world =
        World::new(&[&first, &format!("{BEGUN}echo half >> new/half; {WAIT}echo two >> new/work")], &SOON);
    let mut a = world.machine("a", &[]);
    world.send("r1", &[]);
    until("the second step runs", || world.effects("begun").len() == 2);
    let b = world.machine("b", &[]);
    a.worker.take().unwrap().kill();
    until("it goes on elsewhere", || world.effects("begun").len() == 3);
    assert_eq!(world.held(&a), 0, "never in two places");
    let begun = world.effects("begun");
    let words = |n: usize| begun[n].split(' ').collect::<Vec<_>>();
    assert_eq!((words(0)[0], words(0)[2], words(1)[2], words(2)[2]), ("s0", "a", "a", "b"), "{begun:?}");
    assert_eq!(words(1)[..2], words(2)[..2], "the same step under the same key");
    world.go("go");
    world.passed("r1");
    assert_eq!(world.remote(&["show", "aops/r1:new/work"]), "one\ntwo");
    assert_eq!(
        world.remote(&["show", "aops/r1:new/half"]),
        "half",
        "what the lost attempt left does not travel"
    );
    assert!(!world.clone_of(&b, "r1").exists());
    let machines = world.machines();
    assert_eq!((&machines["a"]["away"], &machines["b"]["away"]), (&json!(true), &json!(false)), "{machines}");
    // A machine that is back gets runs again.
    world.start_worker(&mut a, &[]);
}

/// What failed once is no reason to take a step that goes on.
#[test]
fn a_machine_that_is_back_keeps_its_run() {
    let world = World::new(&[&format!("{BEGUN}{WAIT}echo two >> work")], &SOON);
    let mut a = world.machine("a", &[]);
    world.send("r1", &[]);
    until("the step runs", || world.effects("begun").len() == 1);
    let _b = world.machine("b", &[]);
    a.worker.take().unwrap().kill();
    let waits = || world.status("r1")["waits_for"].is_string();
    until("its machine is away", waits);
    world.start_worker(&mut a, &[]);
    until("it is begun again", || world.effects("begun").len() == 2);
    until("its machine is back", || !waits());
    world.go("go");
    world.passed("r1");
    assert!(world.effects("begun").iter().all(|line| line.ends_with(" a")), "{:?}", world.effects("begun"));
}

/// A frozen machine is noticed by the engine alone. Thawed, it begins nothing.
#[test]
fn a_frozen_machine_loses_its_run() {
    let world = World::new(&[&format!("{BEGUN}{WAIT}echo two >> work")], &SOON);
    let a = world.machine("a", &[]);
    world.send("r1", &[]);
    until("the step runs", || world.effects("begun").len() == 1);
    let _b = world.machine("b", &[]);
    a.worker.as_ref().unwrap().signal(Signal::STOP);
    until("it goes on elsewhere", || world.effects("begun").len() == 2);
    assert_eq!(world.held(&a), 0, "its holder heard nothing of its worker, and has ended the step");
    a.worker.as_ref().unwrap().signal(Signal::CONT);
    world.go("go");
    world.passed("r1");
    assert_eq!(world.effects("begun").len(), 2);
}

/// A forge that takes no refs but branches gets a branch.
#[test]
fn a_remote_that_takes_branches_alone_carries_a_run() {
    let world = World::new(&[&format!("{BEGUN}echo one >> work"), &format!("{BEGUN}{WAIT}")], &SOON);
    let hook = world.at("remote.git/hooks/update");
    std::fs::write(&hook, "#!/bin/sh\ncase $1 in refs/heads/*) exit 0;; esac\nexit 1\n").unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut a = world.machine("a", &[]);
    world.send("r1", &[]);
    until("the second step runs", || world.effects("begun").len() == 2);
    assert!(world.remote(&["for-each-ref", "refs/aops"]).is_empty());
    let _b = world.machine("b", &[]);
    a.worker.take().unwrap().kill();
    world.go("go");
    world.passed("r1");
    let begun = world.effects("begun");
    assert_eq!((begun.len(), begun[2].ends_with(" b")), (3, true), "{begun:?}");
}

/// A person takes a run from a machine that does not let it go.
#[test]
fn a_person_releases_a_run() {
    let world = World::new(&[&format!("{BEGUN}echo one >> work"), &format!("{BEGUN}{WAIT}")], &[]);
    let a = world.machine("a", &[]);
    world.send("r1", &[]);
    until("the second step runs", || world.effects("begun").len() == 2);
    let _b = world.machine("b", &[]);
    assert_eq!(
        world.post("annann", "POST", "/v1/runs/r1/release", &json!(null)).0,
        403,
        "she may submit alone"
    );
    let (code, said) = world.act("r1", "release", &json!(null));
    assert_eq!(code, 200, "{said}");
    until("it is begun elsewhere", || world.effects("begun").len() == 3);
    until("nothing of it is left there", || world.held(&a) == 0);
    world.go("go");
    world.passed("r1");
    assert_eq!(world.act("r1", "release", &json!(null)).0, 409, "it is over");
}

/// A cancellation reaches no machine that is away: the words say so, and by when its copy has ended.
#[test]
fn a_run_whose_machine_is_away_is_blocked_at_once() {
    let world = World::new(&[&format!("{BEGUN}{WAIT}")], &[]);
    let mut a = world.machine("a", &[]);
    world.send("r1", &[]);
    until("the step runs", || world.effects("begun").len() == 1);
    a.worker.take().unwrap().kill();
    until("it is known that its machine is away", || {
        world.status("r1")["waits_for"].as_str().is_some_and(|words| words.starts_with("machine a since "))
    });
    let (code, said) = world.act("r1", "block", &json!(null));
    assert_eq!(code, 409, "{said}");
    let words = said["message"].as_str().unwrap();
    assert!(words.contains("machine a was away, its copy ends by 20"), "{words}");
    assert_eq!(world.status("r1")["state"], "over");
    world.start_worker(&mut a, &[]);
    world.send("r2", &[]);
    until("another run gets there", || world.effects("begun").len() == 2);
}
