//! Unattended runs that drive Codex: the thread that a run makes, a question and its answer, a step that may
//! change nothing.

use super::whole_loop::{start, wait};
use super::{Codex, bash, patch, results};
use crate::client::install as clients;
use crate::model::{Model, Turn};
use crate::real_client::agents::{plan, reflection, review};
use crate::runs::world::{DriverOutput, World};
use crate::support::Sandbox;
use serde_json::{Value, json};

fn world(model: &Model, workflows: &[(&str, &str)]) -> World {
    let sandbox = Sandbox::new().with("AOPS_CODEX", clients::codex()).with("MODEL_KEY", "made-up");
    let world = World::of(sandbox, workflows);
    Codex::guarded(&world.sandbox, model).with_model("gpt-6.1-sol");
    world
}

fn drive(world: &World, workflow: &str, more: &[&str]) -> DriverOutput {
    let given = ["run", "make it so", "--workflow", workflow, "--client", "codex", "--json"];
    DriverOutput::of(world.person(&[given.as_slice(), more].concat()))
}

const BUILD: &str = "  - {id: build, name: Build, description: Make it.}\n  - {id: more, name: More, description: Make more of it.}\n  - {id: count, name: Count, description: Count it., run: 'wc -l < made >> effects'}\n";

#[test]
fn its_steps_are_turns_of_one_thread() {
    let model = Model::new([
        patch("made", "one"),
        Turn::text("Made."),
        bash("echo two >> made; test -z \"$AOPS_RUN_KEY\" && echo run=$AOPS_RUN"),
        Turn::text("More."),
    ]);
    let world = world(&model, &[("build", BUILD)]);
    let told = drive(&world, "build", &[]);
    told.passed();
    let by: Vec<&Value> = told.lines.iter().map(|line| &line["by"]).filter(|by| !by.is_null()).collect();
    assert_eq!(by, ["codex", "codex", "$ wc -l < made >> effects"]);
    assert_eq!(model.astray(), [""; 0]);
    assert_eq!(world.effects(), ["2"]);
    let results = results(&model);
    let (last, run) = (results.last().unwrap(), world.runs()[0]["run_id"].as_str().unwrap().to_owned());
    assert!(last.contains(&format!("run={run}")), "its commands have the run's name and not its key: {last}");
    let session = world.session();
    let entries = session.entries();
    let steps = entries.iter().filter_map(|entry| entry["with"]["stage"]["step"].as_str());
    assert_eq!(steps.collect::<Vec<_>>(), ["build", "more"], "one ledger");
    super::verifies(&world.sandbox, &session);
    assert!(world.runs()[0]["tokens"].as_u64().unwrap() > 0, "{}", world.runs());
}

#[test]
fn the_build_loop_ends_committed() {
    let agent = |name: &str| [start(name), wait(), Turn::text("It has reported.")];
    let model = Model::new(
        [
            agent("prompt-hydrator").to_vec(),
            agent("critic").to_vec(),
            vec![bash("echo hello > hello.txt"), Turn::text("Built.")],
            agent("qa-verifier").to_vec(),
            vec![
                start("framework"),
                wait(),
                bash("git add -A && git commit -qm hello"),
                Turn::text("Committed."),
            ],
        ]
        .concat(),
    )
    .reporting("prompt-hydrator", &plan("feature-dev"))
    .reporting("critic", &review("PROCEED"))
    .reporting("qa-verifier", &json!({"verdict": "VERIFIED"}))
    .reporting("framework", &reflection());
    let world = world(&model, &[]);
    drive(&world, "build-loop", &[]).passed();
    assert_eq!(world.git(&["log", "-1", "--format=%s"]), "hello\n");
    let prompts = model
        .requests()
        .into_iter()
        .flat_map(|request| request.said_by("user"))
        .collect::<Vec<_>>()
        .join("\n");
    assert!(prompts.contains("`critic`") && !prompts.contains("aops:critic"), "{prompts}");
}

const ASKING: &str = "  - {id: build, name: Build, description: Make it.}\n";

#[test]
fn an_approved_call_is_made_once() {
    let call = || bash("touch danger; echo once >> effects");
    let model = Model::new([
        call(),
        // It tries again, and is asked about once.
        call(),
        Turn::text("A person is asked."),
        call(),
        call(),
        Turn::text("Done."),
    ]);
    let world = world(&model, &[("asking", ASKING)]);
    drive(&world, "asking", &[]).paused("WAIVER_REQUESTED");
    assert_eq!(world.effects(), [""; 0]);
    let packet = world.packet();
    assert!(packet.contains("touch danger") && packet.contains("not to be touched lightly"), "{packet}");
    assert!(
        results(&model)[0].contains("a person is asked about this call now; end your turn"),
        "{:?}",
        results(&model)
    );
    let id = world.checkpoint();
    world.person(&["resolve", &id, "--approve", "--yes"]).said(&["APPROVED"]);
    // The second call is the same again, and a person approved one.
    world.resume(&id).paused("WAIVER_REQUESTED");
    assert_eq!(world.effects(), ["once"]);
    world.person(&["resolve", &id, "--reject", "--yes"]).said(&["REJECTED"]);
    world.resume(&id).blocked("a person rejected step `build`");
}

const LOOK: &str = "  - {id: review, name: Review, description: Look at it., phase: review}\n";

#[test]
fn a_step_that_may_change_nothing_changes_nothing() {
    let model = Model::new([
        bash("cat README.md"),
        Turn::text("Looked."),
        bash("echo x > made"),
        Turn::text("Tried."),
    ]);
    let world = world(&model, &[("look", LOOK)]);
    drive(&world, "look", &[]).passed();
    assert!(results(&model)[0].contains("# a project"), "{:?}", results(&model));
    let told = drive(&world, "look", &[]);
    told.blocked("review");
    assert!(!world.there("made"));
}

#[test]
fn without_our_hooks_nothing_is_driven() {
    let world = World::of(Sandbox::new().with("AOPS_CODEX", clients::codex()), &[("build", BUILD)]);
    drive(&world, "build", &[]).refused(2, "our hooks and agents are not in Codex");
    world.person(&["run", "x", "--client", "gemini"]).failed(2, &["claude", "codex"]);
    assert_eq!(world.runs(), json!([]));
}
