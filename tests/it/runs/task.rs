//! What a run is given: the task with its files, the model, the workflow; and what its result says.

use super::world::{World, bash};
use crate::model::{Model, Turn};
use serde_json::{Value, json};
use std::fs;

const TIMED: &str = "  - {id: one, name: One, description: first, run: echo one >> effects}
  - {id: slow, name: Slow, description: second, run: echo slow >> effects; test -e ../faster || sleep 600}
";

fn last(answer: &crate::support::Answer) -> Value {
    serde_json::from_str(answer.out.lines().last().unwrap()).unwrap()
}

#[test]
fn files_of_a_task_are_named_to_its_agent_and_recorded() {
    let steps = "  - {id: build, name: Build, description: make it, phase: execute}\n";
    let model = Model::new([bash("echo built >> effects"), Turn::text("Built.")]);
    let world = World::with(&model, &[("w", steps)]);
    world.sandbox.put("docs/spec.md", "the spec\n");
    world.commit();
    let missing = world.person(&["run", "make it", "--workflow", "w", "--context", "docs/none.md"]);
    missing.failed_with_line(2, "--context docs/none.md");
    assert!(!world.there("artifacts"), "nothing is written for a task that is refused");
    let answer = world.person(&["run", "make it", "--workflow", "w", "--context", "docs/spec.md", "--json"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let digest = aops_core::text::sha256::sha256(&[b"the spec\n"]);
    let context = &world.deeds()[0]["with"]["context"];
    assert_eq!(context, &json!([{"path": "docs/spec.md", "sha256": digest}]));
    let said = model.requests()[0].said_by("user").join("\n");
    assert!(
        said.contains("> make it\n\nFiles that belong to the task; read them first:\n- `docs/spec.md`\n"),
        "{said}"
    );
}

#[test]
fn the_packet_has_the_whole_task_and_the_result_says_resumed() {
    let world = World::new(&[("timed", TIMED)]);
    world.sandbox.put("docs/spec.md", "the spec\n");
    world.commit();
    let line = [
        "run", "make it", "--workflow", "timed", "--step-timeout", "5s", "--context", "docs/spec.md",
        "--json",
    ];
    let paused = world.person(&line);
    assert_eq!((paused.code, &last(&paused)["resumed"]), (Some(3), &json!(false)), "{paused:?}");
    let packet = world.packet();
    let wanted = "task_spec:\n  context_refs:\n    - \"docs/spec.md\"\n  task: \"make it\"\n";
    assert!(packet.contains(wanted), "{packet}");
    let id = world.checkpoint();
    world.person(&["resolve", &id, "--approve", "--yes"]).said(&["APPROVED"]);
    fs::write(world.sandbox.project().join("../faster"), "").unwrap();
    let told = world.resume(&id);
    told.passed();
    assert_eq!(told.last["resumed"], true);
}

#[test]
fn steps_that_did_not_pass_are_not_told_as_executed() {
    let steps = "  - {id: one, name: One, description: o, run: echo one >> effects}
  - {id: two, name: Two, description: t, run: exit 3}
";
    let world = World::new(&[("fails", steps)]);
    world.run("fails").blocked("ended with 3");
    let packet = fs::read_to_string(&world.artifacts("terminal")[0]).unwrap();
    assert!(packet.contains("steps_executed:\n  - \"one\"\ntimestamp"), "{packet}");
}

/// The step's own model, else that of the run.
#[test]
fn a_step_is_done_with_the_model_it_names() {
    let steps = "  - {id: small, name: Small, description: s, model: haiku}
  - {id: usual, name: Usual, description: u}
";
    let model = Model::new([bash("ls"), Turn::text("Done."), bash("ls"), Turn::text("Done.")]);
    let world = World::with(&model, &[("w", steps)]);
    let shown = world.person(&["run", "x", "--workflow", "w", "--dry-run", "--json"]).json();
    assert_eq!(shown["steps"][0]["model"], "haiku", "{shown}");
    let answer = world.person(&["run", "make it", "--workflow", "w", "--model", "opus", "--json"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let models: Vec<String> = model
        .requests()
        .iter()
        .map(|request| request.body["model"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(models, ["haiku", "haiku", "opus", "opus"]);
}

#[test]
fn a_broken_workflow_is_told_as_broken() {
    let world = World::new(&[("w", "  - {id: one, name: One, description: o, run: 'true'}\n")]);
    world.sandbox.put(
        ".aops/workflows/odd.md",
        "---\nid: odd\ntitle: Odd\ntype: workflow\ncategory: test\n---\n# Odd\n",
    );
    world.commit();
    let told = world.run("odd");
    told.refused(2, "the workflow `odd` is broken");
    assert!(told.err.contains("odd.md:2: `steps` is missing or empty\nhint: repair it"), "{told:?}");
    assert!(!told.err.contains("there is no workflow"), "{told:?}");
}
