//! What a run asks a person: after the critic sent the plan back too often or halted, and where a step ends
//! with a question.

use super::world::{World, agent, bash, proceed, verdict};
use crate::client::fake;
use crate::model::{Model, Turn};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const STEPS: &str = "  - {id: plan, name: Plan, description: look around, phase: hydrate}
  - {id: note, name: Note, description: n, run: 'true', phase: hydrate}
  - {id: design, name: Design, description: have it reviewed, agent: critic, phase: review}
  - {id: build, name: Build, description: make it, phase: execute}
";
const CRITIC: &str = "You review a plan";

fn says(word: &str, problem: &str) -> Turn {
    verdict(&json!({"verdict": word, "acceptance_criteria": [], "problems": [problem]}))
}

fn plan_and_review() -> [Turn; 3] {
    [Turn::text("Planned."), agent("critic"), Turn::text("It has spoken.")]
}

fn built() -> [Turn; 2] {
    [bash("echo built >> effects"), Turn::text("Built.")]
}

fn deeds(world: &World, kind: &str, key: &str) -> Vec<Value> {
    world.deeds().iter().filter(|deed| deed["kind"] == kind).map(|deed| deed["with"][key].clone()).collect()
}

/// What the main agent was told in its steps, oldest first.
fn prompts(model: &Model) -> Vec<String> {
    let last = model.requests().iter().rfind(|request| request.agent.is_none()).unwrap().clone();
    last.said_by("user").into_iter().filter(|said| said.contains("of an unattended run")).collect()
}

/// What the critic was given to read, oldest first.
fn critics_contexts(world: &World) -> Vec<String> {
    let listing = fs::read_dir(world.session().folder().join("context")).unwrap().map(|item| item.unwrap());
    let number = |name: &str| name.strip_prefix("review-")?.strip_suffix(".md")?.parse::<u64>().ok();
    let numbered = listing.filter_map(|item| Some((number(item.file_name().to_str()?)?, item.path())));
    let files: BTreeMap<u64, PathBuf> = numbered.collect();
    files.values().map(|path| fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn a_revision_goes_back_to_the_plan() {
    let turns = [plan_and_review().to_vec(), plan_and_review().to_vec(), built().to_vec()].concat();
    let model = Model::new(turns).agent(CRITIC, [says("REVISE", "too vague")]).agent(CRITIC, [proceed()]);
    let world = World::with(&model, &[("w", STEPS)]);
    world.run("w").passed();
    assert_eq!(world.effects(), ["built"]);
    let ended: Vec<(Value, Value)> =
        deeds(&world, "DONE", "step").into_iter().zip(deeds(&world, "DONE", "outcome")).collect();
    let wanted = [
        ("plan", "PASS"),
        ("note", "PASS"),
        ("design", "INTERVENTION_REQUIRED"),
        ("plan", "PASS"),
        ("note", "PASS"),
        ("design", "PASS"),
        ("build", "PASS"),
    ];
    assert_eq!(ended, wanted.map(|(step, outcome)| (json!(step), json!(outcome))));
    assert_eq!(deeds(&world, "REVISED", "again"), [json!(["plan", "note", "design"])]);
    let told = prompts(&model);
    assert!(!told[0].contains("sent the plan back"), "{told:?}");
    assert!(told[2].contains("sent the plan back") && told[2].contains("> too vague"), "{told:?}");
    // Another execution of the plan has another key, and the first one's summary keeps its content.
    let keys: Vec<Value> = deeds(&world, "STEP", "call").into_iter().map(|call| call["id"].clone()).collect();
    assert!(keys[0] != keys[3] && keys[2] != keys[5], "{keys:?}");
    let kept: Vec<String> = world
        .artifacts("steps")
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    let of_design: Vec<&String> = kept.iter().filter(|name| name.contains("_design")).collect();
    assert!(of_design.len() == 2 && of_design[1].ends_with("_design_v1.json"), "{kept:?}");
}

#[test]
fn after_three_revisions_a_person_is_asked_and_the_answer_reaches_all() {
    let mut turns = Vec::new();
    (0..5).for_each(|_| turns.extend(plan_and_review()));
    turns.extend(built());
    let said = ["one", "two", "three", "four"].map(|problem| says("REVISE", problem));
    let model = said
        .into_iter()
        .chain([proceed()])
        .fold(Model::new(turns), |model, said| model.agent(CRITIC, [said]));
    let world = World::with(&model, &[("w", STEPS)]);
    let told = world.run("w");
    told.paused("ESCALATION_REQUESTED");
    assert!(
        told.last["reason"].as_str().unwrap().contains("still says REVISE after 3 revisions: four"),
        "{told:?}"
    );
    assert!(told.err.contains("--answer TEXT"), "{told:?}");
    assert!(world.packet().contains("trigger: CRITIC_REVISE\n"), "{}", world.packet());
    let id = world.checkpoint();
    world.resume(&id).refused(3, "waits for a decision");
    world.person(&["resolve", &id, "--answer", "take the small one", "--yes"]).said(&["APPROVED"]);
    world.resume(&id).passed();
    assert_eq!(deeds(&world, "REVISED", "again").len(), 4);
    let told = prompts(&model);
    assert!(told.iter().rev().take(3).all(|prompt| prompt.contains("> take the small one")), "{told:?}");
    let contexts = critics_contexts(&world);
    assert!(
        !contexts[3].contains("take the small one") && contexts[4].contains("take the small one"),
        "{contexts:?}"
    );
}

#[test]
fn a_halt_asks_a_person_and_no_means_no() {
    for answers in [true, false] {
        let turns = [plan_and_review().to_vec(), plan_and_review().to_vec(), built().to_vec()].concat();
        let model =
            Model::new(turns).agent(CRITIC, [says("HALT", "which of the two?")]).agent(CRITIC, [proceed()]);
        let world = World::with(&model, &[("w", STEPS)]);
        let told = world.run("w");
        told.paused("ESCALATION_REQUESTED");
        assert!(told.last["reason"].as_str().unwrap().contains("says HALT: which of the two?"), "{told:?}");
        assert!(world.packet().contains("trigger: CRITIC_HALT\n"), "{}", world.packet());
        let id = world.checkpoint();
        world.resume(&id).refused(3, "waits for a decision");
        let decision: &[&str] = if answers { &["--answer", "the first"] } else { &["--reject"] };
        world.person(&[&["resolve", &id, "--yes"], decision].concat()).said(&["continue with"]);
        let ended = world.resume(&id);
        if answers {
            ended.passed();
            assert_eq!(world.effects(), ["built"]);
            assert!(critics_contexts(&world)[1].contains("the first"));
        } else {
            ended.blocked("a person rejected step `design`");
            assert_eq!(world.effects(), [""; 0]);
        }
    }
}

/// There is no plan to go back to: the review is done again once somebody has answered, and then asks again.
#[test]
fn a_review_without_a_plan_asks_at_once() {
    let steps = "  - {id: design, name: Design, description: d, agent: critic}\n  - {id: after, name: After, description: a, run: echo after >> effects}\n";
    let review = [agent("critic"), Turn::text("It has spoken.")];
    let model = Model::new([review.clone(), review.clone(), review].concat())
        .agent(CRITIC, [says("REVISE", "too vague")])
        .agent(CRITIC, [says("REVISE", "still vague")])
        .agent(CRITIC, [proceed()]);
    let world = World::with(&model, &[("w", steps)]);
    let run = || world.runs()[0]["run_id"].as_str().unwrap().to_owned();
    for problem in ["too vague", "still vague"] {
        let told = if problem == "too vague" { world.run("w") } else { world.resume(&run()) };
        told.paused("ESCALATION_REQUESTED");
        assert!(
            told.last["reason"].as_str().unwrap().contains(&format!("still says REVISE: {problem}")),
            "{told:?}"
        );
        world.person(&["resolve", &run(), "--answer", "look again", "--yes"]).said(&["APPROVED"]);
    }
    world.resume(&run()).passed();
    assert_eq!(world.effects(), ["after"]);
    assert_eq!(world.artifacts("checkpoints").len(), 2, "the packet of each question is kept");
}

#[test]
fn a_step_that_ends_with_a_question_is_answered_and_goes_on() {
    let model = Model::new(
        [
            vec![bash("echo half >> effects"), Turn::text("I looked.\n\nShall it be **tabs or spaces?**")],
            vec![bash("echo whole >> effects"), Turn::text("Done with spaces.")],
        ]
        .concat(),
    );
    let steps = "  - {id: build, name: Build, description: make it, phase: execute}\n  - {id: after, name: After, description: a, run: echo after >> effects}\n";
    let world = World::with(&model, &[("w", steps)]);
    let told = world.run("w");
    told.paused("ESCALATION_REQUESTED");
    assert_eq!(told.last["reason"], "step `build` asks: Shall it be **tabs or spaces?", "{told:?}");
    assert!(world.packet().contains("trigger: QUESTION\n"), "{}", world.packet());
    assert_eq!(world.effects(), ["half"], "nothing after it is done");
    let id = world.checkpoint();
    world.resume(&id).refused(3, "waits for a decision");
    world.person(&["resolve", &id, "--answer", "spaces, two of them", "--yes"]).said(&["APPROVED"]);
    world.resume(&id).passed();
    assert_eq!(world.effects(), ["half", "whole", "after"]);
    let last = prompts(&model).pop().unwrap();
    assert!(last.contains("a person answered it") && last.contains("> spaces, two of them"), "{last}");
    assert_eq!(deeds(&world, "DONE", "step"), ["build", "after"]);
}

/// What cannot be understood is asked, not guessed.
#[test]
fn a_plan_that_is_only_a_question_is_one() {
    let plan = |step: &str| {
        verdict(&json!({"workflow": "simple-question", "intent": "to know", "task": "new",
            "acceptance_criteria": ["it is known"], "steps": [step]}))
    };
    let steps = "  - {id: hydrate, name: Hydrate, description: h, agent: prompt-hydrator, phase: hydrate}\n";
    let hydrate = [agent("prompt-hydrator"), Turn::text("There is a plan.")];
    let model = Model::new([hydrate.clone(), hydrate].concat())
        .agent("You decide what the task is", [plan("which of the two services is meant?")])
        .agent("You decide what the task is", [plan("look at the service of accounts")]);
    let world = World::with(&model, &[("w", steps)]);
    let told = world.run("w");
    told.paused("ESCALATION_REQUESTED");
    assert_eq!(told.last["reason"], "step `hydrate` asks: which of the two services is meant?");
    world.person(&["resolve", &world.checkpoint(), "--answer", "accounts", "--yes"]).said(&["APPROVED"]);
    world.resume(&world.checkpoint()).passed();
}

/// The client's last record need not name the call that it left undone: the ledger knows it.
#[test]
fn a_deferred_call_that_the_client_does_not_name_is_asked_about() {
    let folder = tempfile::tempdir().unwrap();
    let client = folder.path().join("client");
    for record in ["record.pop('deferred_tool_use', 0)", "record.get('deferred_tool_use', {}).clear()"] {
        let script = format!(
            "#!/usr/bin/env python3\nimport json, subprocess, sys\n\
             real = subprocess.Popen([{:?}, *sys.argv[1:]], stdout=subprocess.PIPE, text=True)\n\
             for line in real.stdout:\n    record = json.loads(line)\n    {record}\n    print(json.dumps(record), flush=True)\n\
             sys.exit(real.wait())\n",
            fake::program()
        );
        fs::write(&client, script).unwrap();
        fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
        let model = Model::new([bash("touch danger && echo danger >> effects"), Turn::text("Built.")]);
        let world = World::driving(&client, &model, &[("w", "  - {id: build, name: B, description: b}\n")]);
        world.run("w").paused("WAIVER_REQUESTED");
        assert!(world.packet().contains("tool_use_id: \"toolu_000100\""), "{}", world.packet());
        assert_eq!(world.effects(), [""; 0]);
        world.person(&["resolve", &world.checkpoint(), "--approve", "--yes"]).said(&["APPROVED"]);
        world.resume(&world.checkpoint()).passed();
        assert_eq!(world.effects(), ["danger"]);
    }
}
