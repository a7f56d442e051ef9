//! Issues that the verifier of a run finds: mended in a step of its own, verified again, and at last told to
//! a person.

use super::world::{World, agent, bash, verdict};
use crate::model::{Model, Turn};
use serde_json::{Value, json};

const STEPS: &str = "  - {id: build, name: Build, description: make it, phase: execute}
  - {id: review, name: Review, description: look, agent: qa-verifier, phase: verify}
  - {id: after, name: After, description: later, run: echo after >> effects}
";
const VERIFIER: &str = "You find out whether the work does";

fn issues(what: &str) -> Turn {
    verdict(&json!({"verdict": "ISSUES", "issues": [what]}))
}

fn verified() -> Turn {
    verdict(&json!({"verdict": "VERIFIED", "issues": []}))
}

fn review(word: &str) -> [Turn; 2] {
    [agent("qa-verifier"), Turn::text(word)]
}

fn mend(word: &str) -> [Turn; 2] {
    [bash(&format!("echo {word} >> effects")), Turn::text("Mended.")]
}

fn done(world: &World) -> Vec<(String, String)> {
    let of = |deed: &Value, key: &str| deed["with"][key].as_str().unwrap().to_owned();
    let deeds = world.deeds();
    let ended = deeds.iter().filter(|deed| deed["kind"] == "DONE");
    ended.map(|deed| (of(deed, "step"), of(deed, "outcome"))).collect()
}

#[test]
fn issues_are_mended_and_verified_again() {
    let turns = [mend("built"), review("ISSUES."), mend("mended"), review("VERIFIED.")];
    let model = Model::new(turns.concat())
        .agent(VERIFIER, [issues("the readme is stale")])
        .agent(VERIFIER, [verified()]);
    let world = World::with(&model, &[("w", STEPS)]);
    world.run("w").passed();
    assert_eq!(world.effects(), ["built", "mended", "after"]);
    let wanted = [
        ("build", "PASS"),
        ("review", "INTERVENTION_REQUIRED"),
        ("review-intervene-1", "PASS"),
        ("review", "PASS"),
        ("after", "PASS"),
    ];
    assert_eq!(done(&world), wanted.map(|(step, outcome)| (step.to_owned(), outcome.to_owned())));
    let told = model
        .requests()
        .iter()
        .flat_map(|request| request.said_by("user"))
        .any(|said| said.contains("Intervention 1 of 3") && said.contains("> the readme is stale"));
    assert!(told, "the one that repairs is told what was found");
    // Another verification is another execution.
    let begun = world.deeds();
    let keys: Vec<&Value> = begun
        .iter()
        .filter(|deed| deed["kind"] == "STEP" && deed["with"]["step"] == "review")
        .map(|deed| &deed["with"]["call"]["id"])
        .collect();
    assert!(keys.len() == 2 && keys[0] != keys[1], "{keys:?}");
}

#[test]
fn after_three_rounds_a_person_is_asked() {
    let mut turns = mend("built").to_vec();
    for round in 1..=3 {
        turns.extend(review("ISSUES."));
        turns.extend(mend(&format!("mended{round}")));
    }
    turns.extend(review("ISSUES."));
    turns.extend(mend("mended4"));
    turns.extend(review("VERIFIED."));
    let found = [issues("one"), issues("two"), issues("three"), issues("four"), verified()];
    let model = found.into_iter().fold(Model::new(turns), |model, said| model.agent(VERIFIER, [said]));
    let world = World::with(&model, &[("w", STEPS)]);
    let told = world.run("w");
    told.paused("ESCALATION_REQUESTED");
    assert!(told.last["reason"].as_str().unwrap().contains("after 3 interventions: four"), "{told:?}");
    assert_eq!(world.effects(), ["built", "mended1", "mended2", "mended3"]);
    assert!(world.packet().contains("trigger: VERIFICATION_FAILED\n"), "{}", world.packet());
    let id = world.checkpoint();
    world.resume(&id).refused(3, "waits for a decision");
    world.person(&["resolve", &id, "--approve", "--yes"]).said(&["APPROVED"]);
    world.resume(&id).passed();
    assert_eq!(world.effects(), ["built", "mended1", "mended2", "mended3", "mended4", "after"]);
}
