//! A run goes back to a checkpoint and on from there; and what its checkpoints say.

use super::world::{World, agent, bash, proceed, verdict};
use crate::model::{Model, Turn};
use serde_json::{Value, json};
use std::fs;

const GRAPH: &str = "  - {id: planning, name: Planning, description: p, run: echo planned | tee -a effects}
  - {id: development, name: Development, description: d, run: echo developed >> effects}
  - {id: qa, name: QA, description: q, run: 'test ! -e ../fail && echo checked >> effects'}
";

fn shown(world: &World, id: &str) -> Value {
    world.person(&["checkpoint", "show", id, "--json"]).json()
}

fn names(world: &World, run: &str) -> Vec<String> {
    let list = world.person(&["checkpoint", "list", "--run", run, "--json"]).json();
    let name = |row: &Value| row["id"].as_str().unwrap().split('/').nth(1).unwrap().to_owned();
    list.as_array().unwrap().iter().map(name).collect()
}

/// The files of the run's record in a folder, without the run's id.
fn left_in(world: &World, kind: &str) -> Vec<String> {
    let run = run_id(world);
    let name = |path: &std::path::PathBuf| path.file_name().unwrap().to_str().unwrap().replace(&run, "R");
    world.artifacts(kind).iter().map(name).collect()
}

fn run_id(world: &World) -> String {
    world.runs()[0]["run_id"].as_str().unwrap().to_owned()
}

#[test]
fn an_ended_run_is_taken_back_and_goes_on() {
    let world = World::new(&[("graph", GRAPH)]);
    fs::write(world.sandbox.project().join("../fail"), "").unwrap();
    world.run("graph").blocked("ended with 1");
    let run = run_id(&world);
    assert_eq!(world.effects(), ["planned", "developed"]);
    fs::remove_file(world.sandbox.project().join("../fail")).unwrap();

    let target = format!("{run}/POST_planning_v1");
    world.sandbox.inside(&["checkpoint", "rollback", &target, "--yes"]).failed(2, &["person"]);
    let back = world.person(&["checkpoint", "rollback", &target, "--yes", "--json"]).json();
    assert_eq!(world.effects(), ["planned"]);
    assert_eq!(back["archive"], format!("{run}/POST_qa_v2"), "named for where the run stood");
    let next = back["next"].as_str().unwrap();
    assert!(next.contains("waits at step `development`") && next.contains("aops-hook resume CP_"), "{next}");
    let runs = world.runs();
    assert_eq!(
        (&runs[0]["state"], &runs[0]["outcome"]),
        (&json!("CHECKPOINT"), &json!("ESCALATION_REQUESTED"))
    );
    let deeds = world.deeds();
    let said = deeds.iter().find(|deed| deed["kind"] == "ROLLBACK").unwrap();
    assert_eq!(said["with"]["checkpoint"], target.as_str());
    assert_eq!(said["with"]["completed"], json!(["planning"]));
    assert_eq!(said["with"]["incomplete"], json!(["development", "qa"]));
    assert!(world.packet().contains("trigger: ROLLED_BACK\n"), "{}", world.packet());
    // What no longer holds is kept under another name.
    let kept: Vec<String> = world
        .artifacts("terminal")
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(kept, [format!("TP_{run}_v1.yaml")]);

    let told = world.resume(&run);
    told.passed();
    assert_eq!(
        (world.effects(), &told.last["resumed"]),
        (vec!["planned".to_owned(), "developed".to_owned(), "checked".to_owned()], &json!(true))
    );
    let names = names(&world, &run);
    for wanted in
        ["POST_planning_v1", "PRE_development_v1", "PRE_development_v2", "POST_development_v2", "POST_qa_v2"]
    {
        assert!(names.iter().any(|name| name == wanted), "{wanted}: {names:?}");
    }
    // Another execution has another key, and its attempts count on.
    let begun = |step: &str| -> Vec<Value> {
        let of_step = |deed: &&Value| deed["kind"] == "STEP" && deed["with"]["step"] == step;
        world.deeds().iter().filter(of_step).map(|deed| deed["with"].clone()).collect()
    };
    let twice = begun("development");
    assert_eq!((twice[0]["attempt"].as_u64(), twice[1]["attempt"].as_u64()), (Some(1), Some(2)));
    assert_ne!(twice[0]["call"]["id"], twice[1]["call"]["id"]);
    assert_eq!(begun("planning").len(), 1, "what was completed is not done again");
    assert_eq!(world.person(&["checkpoint", "verify", "--json"]).json()["ok"], true);
}

#[test]
fn a_way_back_is_undone_by_its_archive() {
    let world = World::new(&[("graph", GRAPH)]);
    world.run("graph").passed();
    let run = run_id(&world);
    let back = world
        .person(&["checkpoint", "rollback", &format!("{run}/PRE_development_v1"), "--yes", "--json"])
        .json();
    assert_eq!(world.effects(), ["planned"]);
    world
        .person(&["checkpoint", "rollback", back["archive"].as_str().unwrap(), "--yes"])
        .said(&["aops-hook resume"]);
    assert_eq!(world.effects(), ["planned", "developed", "checked"]);
    world.resume(&run).passed();
    assert_eq!(world.effects(), ["planned", "developed", "checked"], "all steps were completed there");
}

#[test]
fn checkpoints_say_what_is_completed_and_what_passed() {
    let steps = "  - {id: planning, name: Planning, description: p, phase: hydrate}
  - {id: consensus, name: Consensus, description: c, agent: critic, phase: review}
  - {id: development, name: Development, description: d, phase: execute}
";
    let model = Model::new([
        bash("ls"),
        Turn::text("Planned."),
        agent("critic"),
        Turn::text("PROCEED."),
        bash("echo built >> effects"),
        Turn::text("Built."),
    ])
    .agent("You review a plan", [proceed()]);
    let world = World::with(&model, &[("w", steps)]);
    world.run("w").passed();
    let run = run_id(&world);
    let all = names(&world, &run);
    assert_eq!(all.len(), 6);
    for name in &all {
        let one = shown(&world, &format!("{run}/{name}"));
        assert_eq!(one["governance"]["passed"], true, "{name}: {:#}", one["governance"]);
        assert_eq!(one["orchestrator"]["intake_summary"]["prompt"], "make it so");
        assert_eq!(one["orchestrator"]["intake_summary"]["workflow"], "w");
    }
    let one = shown(&world, &format!("{run}/POST_development_v1"));
    assert_eq!(one["orchestrator"]["completed"], json!(["planning", "consensus", "development"]));
    assert_eq!(
        (&one["orchestrator"]["incomplete"], &one["orchestrator"]["current_phase"]),
        (&json!([]), &json!("development"))
    );
    let main = &one["agents"][0];
    assert_eq!((&main["name"], &main["status"]), (&json!("main"), &json!("complete")));
    // What was said at the end of the step, and the step's own time.
    assert_eq!((&main["summary"], &one["metadata"]["output"]), (&json!("Built."), &json!("Built.")));
    let deeds = world.deeds();
    let begun = |step: &str| {
        deeds.iter().find(|deed| deed["kind"] == "STEP" && deed["with"]["step"] == step).unwrap()
    };
    for step in ["planning", "development"] {
        let timing = &shown(&world, &format!("{run}/POST_{step}_v1"))["timing"];
        assert_eq!(timing["started_at"], begun(step)["ts"], "{step}");
        let ms = |key: &str| aops_core::text::time::parse(timing[key].as_str().unwrap()).unwrap();
        assert_eq!(timing["duration_ms"].as_i64(), Some(ms("created_at") - ms("started_at")), "{timing}");
    }
    let timing = &shown(&world, &format!("{run}/PRE_development_v1"))["timing"];
    assert_eq!(
        (&timing["started_at"], &timing["duration_ms"]),
        (&timing["created_at"], &json!(0)),
        "it begins there"
    );
    assert!(
        main["token_usage"]["input"].as_u64().unwrap() > 0
            && main["token_usage"]["output"].as_u64().unwrap() > 0,
        "{main}"
    );
    let bash =
        main["tool_invocations"].as_array().unwrap().iter().find(|call| call["tool"] == "Bash").unwrap();
    assert_eq!((&bash["outcome"], bash["id"].is_string()), (&json!("COMPLETED"), true));
    let critic = one["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == "critic").unwrap();
    assert_eq!((&critic["status"], &critic["summary"]), (&json!("complete"), &json!("PROCEED")));
    let before = shown(&world, &format!("{run}/PRE_development_v1"));
    assert_eq!(before["orchestrator"]["completed"], json!(["planning", "consensus"]));
    let approved = shown(&world, &format!("{run}/POST_consensus_v1"));
    let about = &approved["metadata"];
    assert_eq!(
        (&about["trigger"], &about["approved_by"], &about["approved"]),
        (&json!("approval"), &json!("critic"), &json!("Consensus"))
    );
}

#[test]
fn what_undone_steps_left_is_not_overwritten() {
    let steps = "  - {id: build, name: Build, description: make it, phase: execute}
  - {id: review, name: Review, description: look, agent: qa-verifier, phase: verify}
";
    let say = |words: &str| vec![Turn::text(words)];
    let review = || vec![agent("qa-verifier"), Turn::text("It has spoken.")];
    let build = || vec![bash("echo built >> effects"), Turn::text("Built.")];
    let once = || [build(), review(), say("Mended."), review()].concat();
    let verdicts =
        [json!({"verdict": "ISSUES", "issues": ["stale"]}), json!({"verdict": "VERIFIED", "issues": []})];
    let asks = [vec![bash("ls"), Turn::text("Shall it be tabs?")], once(), once()].concat();
    let model = verdicts.iter().chain(&verdicts).fold(Model::new(asks), |model, said| {
        model.agent("You find out whether the work does", [verdict(said)])
    });
    let world = World::with(&model, &[("w", steps)]);
    world.run("w").paused("ESCALATION_REQUESTED");
    world.person(&["resolve", &world.checkpoint(), "--answer", "tabs", "--yes"]).said(&["APPROVED"]);
    world.resume(&world.checkpoint()).passed();
    let summaries = ["R_build.json", "R_review-intervene-1.json", "R_review.json"];
    assert_eq!(
        (left_in(&world, "steps"), left_in(&world, "checkpoints")),
        (summaries.map(str::to_owned).to_vec(), vec!["CP_R_build.yaml".to_owned()])
    );
    let back = world.person(&[
        "checkpoint",
        "rollback",
        &format!("{}/PRE_build_v1", run_id(&world)),
        "--yes",
        "--json",
    ]);
    assert!(back.json()["archive"].as_str().unwrap().ends_with("/POST_review_v3"), "{back:?}");
    let aside = ["R_build_v1.json", "R_review-intervene-1_v1.json", "R_review_v1.json"];
    assert_eq!(left_in(&world, "steps"), aside);
    assert_eq!(left_in(&world, "checkpoints"), ["CP_R_build.yaml", "CP_R_build_v1.yaml"]);
    let held = fs::read_to_string(&world.artifacts("checkpoints")[1]).unwrap();
    assert!(held.contains("trigger: QUESTION\n") && held.contains("resolved: true\n"), "{held}");
    world.resume(&run_id(&world)).passed();
    let mut both = [aside, summaries].concat();
    both.sort_unstable();
    assert_eq!(left_in(&world, "steps"), both);
    // The intervention of the second time is told what was found, not that it was interrupted.
    let last = model.requests().iter().rfind(|request| request.agent.is_none()).unwrap().clone();
    let said = last.said_by("user");
    let mends: Vec<&String> = said.iter().filter(|said| said.contains("Intervention 1 of 3")).collect();
    assert!(mends.len() == 2 && !mends[1].contains("interrupted"), "{mends:?}");
}

#[test]
fn a_failure_carries_its_error_and_an_approval_its_person() {
    let world = World::new(&[("graph", GRAPH)]);
    fs::write(world.sandbox.project().join("../fail"), "").unwrap();
    world.run("graph").blocked("ended with 1");
    let run = run_id(&world);
    let failed = shown(&world, &format!("{run}/POST_qa_v1"));
    assert_eq!(
        (&failed["metadata"]["trigger"], &failed["governance"]["passed"]),
        (&json!("failure"), &json!(false))
    );
    assert!(failed["metadata"]["error"].as_str().unwrap().contains("ended with 1"), "{failed:#}");
    let planned = shown(&world, &format!("{run}/POST_planning_v1"));
    assert_eq!(planned["metadata"]["output"], "planned", "what its command printed");
    let gates = failed["governance"]["gates"].as_array().unwrap();
    let qa = gates.iter().find(|gate| gate["name"] == "qa").unwrap();
    assert_eq!(qa["outcome"], "HALT", "{qa}");

    let slow = "  - {id: slow, name: Slow, description: s, run: 'test -e ../faster || sleep 600'}\n";
    let world = World::new(&[("slow", slow)]);
    let paused = world.person(&["run", "x", "--workflow", "slow", "--step-timeout", "5s"]);
    assert_eq!(paused.code, Some(3), "{paused:?}");
    fs::write(world.sandbox.project().join("../faster"), "").unwrap();
    world
        .person(&["resolve", &world.checkpoint(), "--approve", "--note", "go on", "--yes"])
        .said(&["APPROVED"]);
    world.resume(&world.checkpoint()).passed();
    let approved = shown(&world, &format!("{}/PRE_slow_v2", run_id(&world)));
    let about = &approved["metadata"];
    assert_eq!(
        (&about["trigger"], &about["approved_by"], &about["note"]),
        (&json!("approval"), &json!("a person"), &json!("go on"))
    );
    assert!(about["approved"].as_str().unwrap().contains("time limit"), "{about}");
}
