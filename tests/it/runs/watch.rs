//! A run that waits for a decision, seen and decided in the cockpit.

use super::world::{World, bash};
use crate::model::{Model, Turn};
use crate::watch::{WIDE, cockpit};

const STEPS: &str = "  - {id: build, name: Build, description: make it}\n";

fn paused(model: &Model) -> World {
    let world = World::with(model, &[("seen", STEPS)]);
    world.run("seen").paused("WAIVER_REQUESTED");
    world
}

#[test]
fn a_waiting_run_is_approved() {
    let model = Model::new([bash("touch danger"), Turn::text("Built.")]);
    let world = paused(&model);
    let id = world.checkpoint();
    let screen = cockpit(&world.sandbox, WIDE, "aops-hook watch");
    screen.shows(&["1 waits for you", "touch danger"]);
    screen.press("a");
    screen.shows(&["approve what the run of", "a note, or nothing"]);
    screen.enter("go on");
    screen.press("Enter");
    screen.shows(&[&format!("$ aops-hook resolve {id} --approve --note 'go on'"), "touch danger"]);
    screen.press("y");
    screen.shows(&[&format!("{id} is APPROVED"), "0 wait for you", &format!("aops-hook resume {id}")]);
    drop(screen);
    world.resume(&id).passed();
    assert!(world.there("danger"));
}

#[test]
fn a_waiting_run_is_rejected_by_typed_words() {
    let model = Model::new([bash("touch danger"), Turn::text("Built.")]);
    let world = paused(&model);
    let id = world.checkpoint();
    let screen = cockpit(&world.sandbox, WIDE, "aops-hook watch --plain");
    screen.shows(&["1 waits for you", "touch danger"]);
    screen.enter("reject 1 not on a Friday");
    screen.press("Enter");
    screen.shows(&["type `yes` to do it"]);
    screen.enter("yes");
    screen.press("Enter");
    screen.shows(&[&format!("{id} is REJECTED")]);
    drop(screen);
    assert!(world.packet().contains("resolution_decision: REJECTED"), "{}", world.packet());
    assert!(!world.there("danger"));
}
