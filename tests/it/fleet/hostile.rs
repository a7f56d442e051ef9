//! What a step leaves behind for the worker, and rows that no `run --enqueue` wrote.

use super::work::{Farm, work};
use crate::runs::jail::PLANT;

/// A worker describes the tree after each step: its git is held as the step was.
#[test]
fn a_filter_that_a_step_left_is_held_when_the_tree_is_shipped() {
    let farm = Farm::new(&[("plant", PLANT), ("two", "true")]);
    let (run, machine) = (farm.enqueue(&[]), farm.machine());
    let _ = work(&machine);
    assert_eq!(farm.state(&run), "done PASS");
    assert!(machine.home().join("ran").exists(), "no filter was run, so this shows nothing");
    assert!(!machine.home().join(".config/aops/planted").exists());
}
