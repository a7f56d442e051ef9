//! `runs gc`: what is old and settled goes, and nothing else.

use super::checks::{STOP, approve, assert_paused_for, built, configured};
use super::world::World;
use crate::model::{Model, Turn};
use crate::support::{Answer, BINARY};
use std::fs;

const STEPS: &str = "  - {id: one, name: One, description: o, run: 'test ! -e ../fail'}
  - {id: slow, name: Slow, description: s, run: 'test ! -e ../slow || sleep 600'}
";

/// `runs gc`, forty days from now.
fn later(world: &World, more: &[&str]) -> Answer {
    of(world, "runs", more)
}

fn of(world: &World, what: &str, more: &[&str]) -> Answer {
    let now = aops_core::system::env::now_ms();
    let mut command = world.sandbox.command(BINARY);
    let then = (now + 40 * 86_400_000).to_string();
    let line = command.args([what, "gc", "--older-than", "30d"]).args(more).env("AOPS_TEST_NOW_MS", then);
    Answer::of("", &line.output().unwrap())
}

#[test]
fn only_old_runs_that_passed_are_removed() {
    let world = World::new(&[("w", STEPS)]);
    let outside = |name: &str| world.sandbox.project().join("..").join(name);
    world.run("w").passed();
    fs::write(outside("fail"), "").unwrap();
    world.run("w").blocked("ended with 1");
    fs::remove_file(outside("fail")).unwrap();
    fs::write(outside("slow"), "").unwrap();
    let paused = world.person(&["run", "x", "--workflow", "w", "--step-timeout", "5s"]);
    assert_eq!(paused.code, Some(3), "{paused:?}");
    let ids: Vec<String> = world
        .runs()
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["run_id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), 3);

    let young = world.person(&["runs", "gc", "--older-than", "30d", "--yes", "--json"]).json();
    assert_eq!((young["removed"].as_array().unwrap().len(), &young["kept"]), (0, &3.into()), "{young}");
    world.person(&["runs", "gc", "--yes"]).failed(2, &["--older-than"]);
    later(&world, &[]).failed(2, &["terminal", "--yes"]);
    world.sandbox.inside(&["runs", "gc", "--older-than", "30d", "--yes"]).failed(2, &["person"]);
    let dry = later(&world, &["--dry-run", "--json"]).json();
    assert_eq!((&dry["removed"][0], &dry["files"]), (&ids[0].as_str().into(), &3.into()), "{dry}");
    assert_eq!((world.runs().as_array().unwrap().len(), world.artifacts("terminal").len()), (3, 2));

    later(&world, &["--yes"]).said(&["removed 1 of 3 runs, 3 files"]);
    let left = world.runs();
    let left: Vec<&str> =
        left.as_array().unwrap().iter().map(|run| run["run_id"].as_str().unwrap()).collect();
    assert_eq!(left, [&ids[1], &ids[2]], "the blocked and the paused one stay");
    let (terminal, packets) = (world.artifacts("terminal"), world.artifacts("checkpoints"));
    assert!(
        terminal.len() == 1 && packets.len() == 1 && world.artifacts("steps").len() == 3,
        "{terminal:?} {packets:?}"
    );
    // The attempt ledger lost no line, and its chain holds.
    let deeds = world.deeds();
    assert!(
        deeds.iter().any(|deed| deed["run_id"] == ids[0].as_str() && deed["kind"] == "INIT"),
        "{deeds:?}"
    );
    assert_eq!(deeds.last().unwrap()["kind"], "REMOVED");
    // The paused one is still continued.
    fs::remove_file(outside("slow")).unwrap();
    world.person(&["resolve", &world.checkpoint(), "--approve", "--yes"]).said(&["APPROVED"]);
    world.resume(&world.checkpoint()).passed();
}

/// What a person rejected waits for nobody: its packet goes too, whether the run was resumed to its end or
/// not.
#[test]
fn a_rejected_pause_is_removed() {
    let world = World::new(&[("w", STEPS)]);
    fs::write(world.sandbox.project().join("../slow"), "").unwrap();
    let mut packets = Vec::new();
    for resumes in [true, false] {
        let paused = world.person(&["run", "x", "--workflow", "w", "--step-timeout", "3s", "--json"]);
        assert_eq!(paused.code, Some(3), "{paused:?}");
        let run = world.runs().as_array().unwrap().last().unwrap()["run_id"].as_str().unwrap().to_owned();
        packets.push(format!("CP_{run}_slow.yaml"));
        later(&world, &["--dry-run"]).said(&["would remove 0 of"]);
        if resumes {
            world.person(&["resolve", &run, "--reject", "--yes"]).said(&["REJECTED"]);
            world.resume(&run).blocked("a person rejected step `slow`");
            later(&world, &["--yes"]).said(&["removed 1 of 1 run,"]);
        } else {
            world.person(&["resolve", &run, "--reject", "--yes"]).said(&["REJECTED"]);
            later(&world, &["--yes"]).said(&["removed 1 of 1 run,"]);
        }
    }
    let left: Vec<String> = world
        .artifacts("checkpoints")
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!((left, packets.len()), (Vec::new(), 2));
}

#[test]
fn the_session_of_a_paused_run_stays() {
    let model = Model::new([built(), Turn::text("Built.")]);
    let world = configured(World::with, &model, &format!("{STOP}outcome = \"ASK_USER\"\n"));
    let id = assert_paused_for(&world, "`suite`");
    let run = world.runs()[0]["run_id"].as_str().unwrap().to_owned();
    let said = of(&world, "sessions", &["--yes"]);
    said.said(&[&format!("run {run} is not settled"), "removed 0 of 1 session,"]);
    approve(&world, &id);
    of(&world, "sessions", &["--yes"]).said(&["removed 1 of 1 session,"]);
}

/// A clone that an engine's run left here goes by its own record; one that still waits stays.
#[test]
fn clones_of_an_engines_runs_go_when_their_runs_are_old() {
    let world = World::new(&[("w", STEPS)]);
    let outside = |name: &str| world.sandbox.project().join("..").join(name);
    fs::write(outside("fail"), "").unwrap();
    world.run("w").blocked("ended with 1");
    let ended = world.runs()[0]["run_id"].as_str().unwrap().to_owned();
    let trees = world.sandbox.home().join(".local/state/aops/runs");
    let put = |run: &str| {
        let tree = trees.join(run).join("tree/below");
        fs::create_dir_all(&tree).unwrap();
        let (from, to) = (world.sandbox.project(), tree.to_str().unwrap());
        world.sandbox.command("cp").args(["-r", from.to_str().unwrap(), to]).assert().success();
    };
    // The second one's record says nothing of a run with its name.
    put(&ended);
    put("20260101-00000000");
    let young = world.person(&["runs", "gc", "--older-than", "30d", "--yes", "--json"]).json();
    assert_eq!(young["trees"], serde_json::Value::Null, "{young}");
    let dry = later(&world, &["--dry-run", "--json"]).json();
    assert_eq!((&dry["trees"], trees.join(&ended).exists()), (&1.into(), true), "{dry}");
    later(&world, &["--yes"]).said(&["1 tree"]);
    assert!(!trees.join(&ended).exists() && trees.join("20260101-00000000").exists());
}
