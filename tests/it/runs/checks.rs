//! The user's checks inside a run: a check that fails and is not repaired pauses the run, and a person can
//! waive it.

use super::killed::MakeWorld;
use super::world::{CONFIG, World, bash};
use crate::model::{Model, Turn};
use serde_json::json;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

const STEPS: &str = "  - {id: build, name: Build, description: make it}
  - {id: after, name: After, description: last, run: echo after >> effects}
";

pub(super) fn configured(make: MakeWorld, model: &Model, check: &str) -> World {
    let world = make(model, &[("checked", STEPS)]);
    world.configure(&format!("{CONFIG}\n[[check]]\n{check}"));
    world
}

fn world(model: &Model, check: &str) -> World {
    configured(World::with, model, check)
}

pub(super) fn built() -> Turn {
    bash("echo built >> effects")
}

/// The run paused for the check; the packet and one line say what to decide and how.
#[track_caller]
pub(super) fn assert_paused_for(world: &World, check: &str) -> String {
    let told = world.run("checked");
    told.paused("WAIVER_REQUESTED");
    let (id, packet) = (world.checkpoint(), world.packet());
    assert!(packet.contains("trigger: CHECK_FAILED") && packet.contains(check), "{packet}");
    assert_eq!(told.err.lines().count(), 1, "{told:?}");
    assert!(
        told.err.contains(check) && told.err.contains(&format!("aops-hook resolve {id} --approve")),
        "{told:?}"
    );
    assert!(!world.effects().contains(&"after".to_owned()), "nothing after it was done");
    world.resume(&id).refused(3, "waits for a decision");
    id
}

#[track_caller]
pub(super) fn approve(world: &World, id: &str) {
    world.person(&["resolve", id, "--approve", "--note", "this once", "--yes"]).said(&["APPROVED"]);
    world.resume(id).passed();
}

pub(super) const STOP: &str =
    "id = \"suite\"\non = \"stop\"\nrun = \"echo two tests fail; test -e repaired\"\n";

#[test]
fn a_check_before_a_stop_that_is_repaired() {
    let model = Model::new([built(), Turn::text("Built."), bash("touch repaired"), Turn::text("Repaired.")]);
    let world = world(&model, STOP);
    world.run("checked").passed();
    assert_eq!(world.effects(), ["built", "after"]);
}

#[test]
fn a_failed_check_that_a_person_does_not_forgive() {
    let model = Model::new([built(), Turn::text("Built.")]);
    let world = world(&model, STOP);
    let id = assert_paused_for(&world, "`suite`");
    world.person(&["resolve", &id, "--reject", "--note", "not so", "--yes"]).said(&["REJECTED"]);
    world.resume(&id).blocked("a person rejected step `build`: not so");
    assert_eq!(world.effects(), ["built"]);
}

/// A person is asked at once, and the agent is not.
#[test]
fn a_check_before_a_stop_that_asks() {
    let model = Model::new([built(), Turn::text("Built.")]);
    let world = world(&model, &format!("{STOP}outcome = \"ASK_USER\"\n"));
    let id = assert_paused_for(&world, "`suite`");
    assert_eq!(model.requests().len(), 2, "its turn ended");
    approve(&world, &id);
    assert_eq!(world.effects(), ["built", "after"]);
}

/// Before a model runs: nothing was asked of it yet.
#[test]
fn a_check_before_a_prompt_that_asks() {
    let model = Model::new([built(), Turn::text("Built.")]);
    let world = world(&model, &format!("{}outcome = \"ASK_USER\"\n", STOP.replace("stop", "prompt")));
    let id = assert_paused_for(&world, "`suite`");
    assert_eq!(model.requests().len(), 0, "no model ran");
    approve(&world, &id);
    assert_eq!(world.effects(), ["built", "after"]);
}

/// Before the sandbox is left: the step's first change waits.
#[test]
fn a_check_before_the_first_change_that_stays_red() {
    let model = Model::new([built(), Turn::text("Refused."), built(), Turn::text("Built.")]);
    let world = world(&model, &STOP.replace("stop", "sandbox"));
    let id = assert_paused_for(&world, "`suite`");
    assert_eq!(world.effects(), [""; 0]);
    approve(&world, &id);
    assert_eq!(world.effects(), ["built", "after"]);
}

#[test]
fn a_check_that_halts() {
    let model = Model::new([built(), Turn::text("Built.")]);
    let world = world(&model, &format!("{STOP}outcome = \"HALT\"\n"));
    world.run("checked").blocked("step `build` was halted: check `suite` failed");
    assert_eq!(world.effects(), ["built"]);
}

fn commit() -> Turn {
    bash("date > made && git add -A && git commit -qm mine && echo committed >> effects")
}

const COMMIT: &str = "id = \"lint\"\non = \"commit\"\nrun = \"echo it is ugly; false\"\n";

#[test]
fn a_check_before_a_commit_that_stays_red() {
    let model = Model::new([built(), commit(), Turn::text("Refused."), commit(), Turn::text("Committed.")]);
    let world = world(&model, COMMIT);
    let id = assert_paused_for(&world, "`lint`");
    assert_eq!(world.effects(), ["built"], "the commit was not made");
    approve(&world, &id);
    assert_eq!(world.effects(), ["built", "committed", "after"]);
    // What was changed after it is committed as the run is delivered.
    assert_eq!(world.git(&["log", "-2", "--format=%s"]), "make it so\nmine\n");
}

/// The very call waits, and is made under its own id.
#[test]
fn a_check_before_a_commit_that_asks() {
    let model = Model::new([commit(), Turn::text("Committed.")]);
    let world = world(&model, &format!("{COMMIT}outcome = \"ASK_USER\"\n"));
    world.run("checked").paused("WAIVER_REQUESTED");
    let packet = world.packet();
    assert!(
        packet.contains("trigger: ASK_USER") && packet.contains("tool_use_id: \"toolu_000100\""),
        "{packet}"
    );
    assert!(packet.contains("lint") && packet.contains("it is ugly"), "{packet}");
    assert_eq!(world.effects(), [""; 0]);
    approve(&world, &world.checkpoint());
    assert_eq!(world.effects(), ["committed", "after"]);
    let calls = world.session().calls();
    assert_eq!(calls["toolu_000100"], ["PENDING", "AUTHORIZED", "EXECUTING", "COMPLETED"], "{calls:?}");
}

#[test]
fn a_check_before_a_save_that_stays_red() {
    // The path is known only once there is a project.
    let project = Arc::new(OnceLock::<PathBuf>::new());
    let known = Arc::clone(&project);
    let mut n = 0;
    let model = Model::minded(move |_| {
        n += 1;
        match n {
            1 | 3 => {
                let path = known.get().unwrap().join("notes.md");
                Turn::call("Write", json!({"file_path": path, "content": "bad words\n"}))
            }
            _ => Turn::text("So much."),
        }
    });
    let world = world(&model, "id = \"words\"\non = \"save\"\nrun = \"! grep bad\"\n");
    project.set(world.sandbox.project()).unwrap();
    let id = assert_paused_for(&world, "`words`");
    assert!(!world.there("notes.md"));
    approve(&world, &id);
    assert!(world.there("notes.md"));
    assert_eq!(world.effects(), ["after"]);
}
