//! Steps that pass, are killed, cancelled and asked about.

use super::{BEGUN, DAEMON, WAIT};
use crate::world::{World, until};
use serde_json::json;

#[test]
fn three_steps_are_delivered_as_a_branch_at_the_remote() {
    let steps = ["echo one >> work", "echo two >> work", "echo three >> work"];
    let world = World::new(&steps, &[]);
    let a = world.machine("a", &[]);
    world.send("r1", &[]);
    world.passed("r1");
    assert_eq!(world.remote(&["show", "aops/r1:work"]), "one\ntwo\nthree");
    assert!(!world.clone_of(&a, "r1").exists(), "the clone of a run that passed is removed");
    assert_eq!(world.held(&a), 0);
    // The same run once more is the same run.
    let (code, said) = world.post("annann", "POST", "/v1/runs/r1", &world.order("r1", &[]));
    assert_eq!((code, &said["status"]), (202, &json!("PreviouslyAccepted")), "{said}");
}

#[test]
fn a_run_that_changed_nothing_passes_and_says_so() {
    let world = World::new(&["true"], &[]);
    let _a = world.machine("a", &[]);
    world.send("r1", &[]);
    let (code, end) = world.end("r1");
    assert_eq!((code, &end["outcome"]), (200, &json!("PASS")), "{end}");
    assert!(end["reason"].as_str().unwrap().contains("nothing changed"), "{end}");
    assert_eq!(world.remote(&["branch", "--list", "aops/*"]), "");
}

/// No PASS without the work at the remote: the work stays where the reason says.
#[test]
fn what_the_remote_refuses_is_undelivered() {
    let world = World::new(&["echo one >> work"], &[]);
    let hook = world.at("remote.git/hooks/pre-receive");
    std::fs::write(&hook, "#!/bin/sh\necho 'not today' >&2\nexit 1\n").unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let a = world.machine("a", &[]);
    world.send("r1", &[]);
    let (code, end) = world.end("r1");
    assert_eq!((code, &end["outcome"]), (200, &json!("BLOCKED")), "{end}");
    let reason = end["reason"].as_str().unwrap();
    let bundle = reason.split('`').find(|word| word.ends_with("work.bundle")).unwrap();
    assert!(reason.contains("UNDELIVERED") && std::path::Path::new(bundle).exists(), "{reason}");
    assert!(world.clone_of(&a, "r1").join("tree/work").exists());
}

/// The worker is killed in a step: its processes end, and the step is begun again under its key.
#[test]
fn a_killed_worker_leaves_no_process_and_its_step_is_begun_again() {
    let world = World::new(&["echo done >> first", &format!("{DAEMON}{BEGUN}{WAIT}echo two >> work")], &[]);
    let mut a = world.machine("a", &[]);
    world.send("r1", &[]);
    until("the step runs", || world.effects("begun").len() == 1 && world.at("effects/daemon").exists());
    assert!(world.held(&a) > 0);
    a.worker.take().unwrap().kill();
    until("nothing of it is left", || world.held(&a) == 0);
    world.start_worker(&mut a, &[]);
    until("it is begun again", || world.effects("begun").len() == 2);
    let begun = world.effects("begun");
    assert_eq!(begun[0], begun[1], "under its key");
    world.go("go");
    world.passed("r1");
    assert_eq!(world.remote(&["show", "aops/r1:first"]), "done", "what had passed is not begun again");
    assert_eq!(world.held(&a), 0);
}

/// The server is killed in a step: the step goes on, and is begun once.
#[test]
fn a_killed_server_costs_no_step() {
    let mut world = World::new(&[&format!("{BEGUN}{WAIT}echo one >> work")], &[]);
    let a = world.machine("a", &[]);
    world.send("r1", &[]);
    until("the step runs", || world.effects("begun").len() == 1);
    world.kill_server();
    assert!(world.held(&a) > 0, "it goes on without the server");
    world.start_server();
    world.go("go");
    world.passed("r1");
    assert_eq!(world.effects("begun").len(), 1, "begun once");
}

/// The gateway serves the runs: killed, it takes none of them with it.
#[test]
fn a_killed_gateway_costs_no_step() {
    let mut world = World::new(&[&format!("{BEGUN}{WAIT}echo one >> work"), BEGUN], &[]);
    let _a = world.machine("a", &[]);
    world.send("r1", &[]);
    until("the step runs", || world.effects("begun").len() == 1);
    world.kill_gateway();
    world.start_gateway();
    world.go("go");
    world.passed("r1");
    let begun = world.effects("begun");
    assert_eq!(begun.len(), 2, "each step once: {begun:?}");
}

/// "Over" is said when it is over, also of a tree that hears no polite signal.
#[test]
fn a_blocked_run_has_no_process_left_when_it_says_so() {
    let world = World::new(&[&format!("{DAEMON}{BEGUN}{WAIT}")], &[]);
    let a = world.machine("a", &[]);
    world.send("r1", &[]);
    until("the step runs", || world.effects("begun").len() == 1 && world.at("effects/daemon").exists());
    let (code, said) = world.act("r1", "block", &json!(null));
    assert_eq!((code, world.held(&a)), (409, 0), "{said}");
    assert!(said.to_string().contains("nothing of the step is left"), "{said}");
    let standing = world.status("r1");
    assert_eq!((&standing["state"], &standing["outcome"]), (&json!("over"), &json!("BLOCKED")), "{standing}");
    until("the machine is free again", || world.machines()["a"]["runs"] == 0);
}

/// An answer counts for the question it names, and once, whoever is killed meanwhile.
#[test]
fn a_question_outlives_all_and_is_answered_once() {
    let mut world = World::new(&["echo one >> work"], &[]);
    let mut a = world.machine("a", &[]);
    let away = world.at("remote.git");
    std::fs::rename(&away, world.at("elsewhere")).unwrap();
    world.send("r1", &[]);
    until("a person is asked", || world.status("r1")["state"] == "asks");
    a.worker.take().unwrap().kill();
    world.kill_gateway();
    world.kill_server();
    std::fs::rename(world.at("elsewhere"), &away).unwrap();
    world.start_server();
    world.start_gateway();
    world.start_worker(&mut a, &[]);
    let asked = world.status("r1");
    assert!(asked["question"].as_str().unwrap().contains("may it be tried again?"), "{asked}");
    assert_eq!((&asked["machine"], &asked["who"]), (&json!("a"), &json!("ann")));
    let answer = |about: &str| world.act("r1", "answer", &json!({"about": about, "approve": true})).0;
    let about = asked["about"].as_str().unwrap();
    assert_eq!(answer(&"0".repeat(64)), 409, "for another question");
    assert_eq!((answer(about), answer(about)), (200, 409));
    world.passed("r1");
}
