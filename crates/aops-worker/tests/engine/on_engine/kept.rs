//! What runs leave behind, and for how long.

use crate::world::{World, until};
use serde_json::{Value, json};
use std::fs;

#[test]
fn refs_go_when_their_branch_is_merged_or_after_90_days() {
    let world = World::new(&["echo one >> work"], &[]);
    let mut machine = world.machine("a", &[]);
    for run in ["r1", "r2"] {
        world.send(run, &[]);
        world.passed(run);
    }
    let has = |run: &str| {
        world.remote(&["for-each-ref", "--format=%(refname)"]).contains(&format!("refs/aops/runs/{run}"))
    };
    assert!(has("r1") && has("r2"));
    world.remote(&["update-ref", "refs/heads/main", "aops/r2"]);
    let mut again = |world: &World| {
        machine.worker.as_mut().unwrap().kill();
        world.start_worker(&mut machine, &[]);
    };
    again(&world);
    until("the merged one is gone", || !has("r2"));
    assert!(has("r1"), "its branch waits to be merged");
    let note = world.at("a/.local/state/aops/refs/r1.json");
    let mut old: Value = serde_json::from_slice(&fs::read(&note).unwrap()).unwrap();
    old["at_ms"] = json!(old["at_ms"].as_i64().unwrap() - 91 * 86_400_000);
    fs::write(&note, old.to_string()).unwrap();
    again(&world);
    until("the old one is gone", || !has("r1"));
    until("nothing is left to do", || !note.exists());
}

/// The server forgets a run 7 days after its end, with what its steps journaled.
#[test]
fn journals_are_kept_for_seven_days() {
    let world = World::new(&["true"], &[]);
    let _machine = world.machine("a", &[]);
    for service in ["Run", "Question", "machine-a"] {
        let said = world.ask("admin", "GET", &format!("/services/{service}"), None).1;
        assert_eq!(said["journal_retention"], "7d", "{service}: {said}");
    }
}
