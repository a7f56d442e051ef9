//! Which machine, how many at a time, and what nobody may do.

use super::{BEGUN, WAIT};
use crate::world::{World, until};
use serde_json::json;

#[test]
fn a_run_goes_to_a_machine_with_its_labels_or_waits_for_one() {
    let world = World::new(&[&format!("{BEGUN}echo one >> work")], &[]);
    let _a = world.machine("a", &["linux"]);
    world.send("r1", &["linux", "gpu"]);
    until("it waits", || world.status("r1")["waits_for"] == "a machine with linux, gpu");
    let _b = world.machine("b", &["gpu", "linux"]);
    world.passed("r1");
    assert!(world.effects("begun")[0].ends_with(" b"));
}

#[test]
fn so_many_runs_of_a_repository_at_a_time() {
    let world = World::new(&[&format!("{BEGUN}{WAIT}echo one >> work")], &["--per-repository", "1"]);
    let _machines = [world.machine("a", &[]), world.machine("b", &[])];
    for run in ["r1", "r2", "r3"] {
        world.send(run, &[]);
        let is_placed = |state: &str| world.status(run)["state"] == state;
        until("it is placed", || is_placed(if run == "r1" { "runs" } else { "waits" }));
    }
    until("the first runs", || world.effects("begun").len() == 1);
    // One that waits can be blocked, and takes no place with it.
    assert_eq!(world.act("r2", "block", &json!(null)).0, 409);
    assert_eq!(world.status("r3")["waits_for"], "other runs of this repository");
    world.go("go");
    world.passed("r1");
    world.passed("r3");
    assert_eq!(world.effects("begun").len(), 2);
    let list = world.post("annann", "POST", "/v1/list/runs", &json!(null)).1;
    let mut known: Vec<_> =
        list.as_array().unwrap().iter().map(|run| run["run_id"].as_str().unwrap()).collect();
    known.sort_unstable();
    assert_eq!(known, ["r1", "r2", "r3"]);
    assert_eq!(world.text("/metrics", "").0, 401);
    let (code, metrics) = world.text("/metrics", "annann");
    assert_eq!(code, 200, "{metrics}");
    for line in [
        "aops_runs{state=\"over\"} 3",
        "aops_runs_ended{outcome=\"PASS\"} 2",
        "aops_machines{state=\"here\"} 2",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line}: {metrics}");
    }
    assert!(metrics.contains("aops_acts_total{act=\"submit\"} 3\n"), "{metrics}");
}

/// An order that no person's program writes runs nothing.
#[test]
fn a_foreign_order_runs_nothing() {
    let world = World::new(&[BEGUN], &[]);
    let _a = world.machine("a", &[]);
    let mut order = world.order("r1", &[]);
    order["run"]["repository"] = json!("ext::sh -c 'touch /tmp/never'");
    assert_eq!(world.post("annann", "POST", "/v1/runs/r1", &order).0, 202);
    let (code, end) = world.end("r1");
    assert_eq!((code, &end["outcome"]), (200, &json!("BLOCKED")), "{end}");
    assert!(end["reason"].as_str().unwrap().contains("nothing was run"), "{end}");
    let mut order = world.order("r2", &[]);
    order["protocol"] = json!(7);
    assert_eq!(world.post("annann", "POST", "/v1/runs/r2", &order).0, 202);
    assert_eq!(world.end("r2").0, 400);
    assert_eq!(world.effects("begun"), [""; 0]);
}
