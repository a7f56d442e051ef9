//! A chain of steps to its end, good or bad; pauses and decisions.

use super::world::{CONFIG, World, agent, bash, proceed, verdict};
use crate::model::{Model, Turn};
use serde_json::json;
use std::fs;

const CHAIN: &str = "  - {id: plan, name: Plan, description: look around, phase: hydrate}
  - {id: design, name: Design, description: have it reviewed, agent: critic, phase: review}
  - {id: build, name: Build, description: make it, phase: execute}
  - {id: count, name: Count, description: count, run: echo counted >> effects}
";

#[test]
fn a_chain_comes_to_its_end_and_leaves_its_artifacts() {
    let model = Model::new([
        bash("ls"),
        Turn::text("Looked."),
        agent("critic"),
        Turn::text("PROCEED."),
        bash("echo built >> effects"),
        Turn::text("Built."),
    ])
    .agent("You review a plan", [proceed()]);
    let world = World::with(&model, &[("chain", CHAIN)]);
    let told = world.run("chain");
    told.passed();
    assert_eq!(world.effects(), ["built", "counted"]);
    assert_eq!(model.astray(), [""; 0]);

    let run = told.last["run_id"].as_str().unwrap();
    let names = |kind: &str| -> Vec<String> {
        world
            .artifacts(kind)
            .iter()
            .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names("terminal"), [format!("TP_{run}.yaml")]);
    let steps = ["build", "count", "design", "plan"].map(|step| format!("{run}_{step}.json"));
    assert_eq!(names("steps"), steps);
    assert_eq!(names("checkpoints"), [""; 0]);
    let packet = fs::read_to_string(&world.artifacts("terminal")[0]).unwrap();
    let keys: Vec<&str> =
        packet.lines().filter(|l| !l.starts_with(' ')).map(|l| l.split(':').next().unwrap()).collect();
    let wanted = [
        "commit_hash", "ledger_head", "outcome", "policy_hash", "reason", "run_id", "steps_executed",
        "timestamp", "workflow",
    ];
    assert_eq!(keys, wanted);
    let head = world.git(&["rev-parse", "HEAD"]);
    assert!(
        packet.contains(&format!("commit_hash: \"{}\"", head.trim()))
            && packet.contains("outcome: PASS\npolicy_hash:")
            && packet.contains("reason: \"pass\"\n"),
        "{packet}"
    );
    assert!(
        packet.contains("steps_executed:\n  - \"plan\"\n  - \"design\"\n  - \"build\"\n  - \"count\"\n"),
        "{packet}"
    );
    let summary: serde_json::Value =
        serde_json::from_slice(&fs::read(&world.artifacts("steps")[0]).unwrap()).unwrap();
    assert_eq!(
        (&summary["step_name"], &summary["outcome"], &summary["artifacts"]),
        (&json!("build"), &json!("success"), &json!(["effects"]))
    );
    assert!(summary["duration_ms"].is_u64() && summary.as_object().unwrap().len() == 4, "{summary}");

    // What a step brought is kept under server, tool and key, the same it was handed out under.
    let deeds = world.deeds();
    let calls = |kind: &str| -> Vec<serde_json::Value> {
        deeds.iter().filter(|deed| deed["kind"] == kind).map(|deed| deed["with"]["call"].clone()).collect()
    };
    let (begun, done) = (calls("STEP"), calls("DONE"));
    assert!(begun.len() == 4 && begun == done, "{begun:?} {done:?}");
    assert_eq!((&done[0]["server"], &done[0]["tool"]), (&json!("aops-hook"), &json!("claude")));
    assert_eq!((&done[3]["server"], &done[3]["tool"]), (&json!("aops-hook"), &json!("run")));
    let ids: std::collections::BTreeSet<_> = done.iter().map(|call| call["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 4, "each its own key");

    // One session for all of it, in which no prompt began a task; and git sees none of the artifacts.
    let session = world.session();
    let state = session.state();
    assert_eq!((&state["task"], &state["sandbox"]), (&json!(null), &json!("shut")), "{state:#}");
    assert_eq!(state["hydration"]["critic_verdict"], "PROCEED");
    assert!(packet.contains(state["ledger"]["head"].as_str().unwrap()), "the ledger's head: {packet}");
    assert_eq!(world.person(&["verify", &session.id, "--json"]).json()["ok"], true);
    assert_eq!(world.git(&["status", "--porcelain"]), "", "committed on a branch of its own");
    let runs = world.runs();
    assert_eq!(
        (&runs[0]["run_id"], &runs[0]["state"], &runs[0]["outcome"]),
        (&json!(run), &json!("TERMINAL"), &json!("PASS"))
    );
    assert!(runs[0]["age_s"].is_i64() && runs[0]["cost_usd"].as_f64().unwrap() > 0.0, "{runs}");
    world.resume(run).refused(2, "PASS");
    kept_trees(&world, run);
}

/// Before and after every step the tree was kept, and can be put back.
fn kept_trees(world: &World, run: &str) {
    let list = world.person(&["checkpoint", "list", "--json"]).json();
    let mut ids: Vec<_> =
        list.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    let mut wanted: Vec<_> = ["plan_v1", "design_v1", "build_v1", "count_v1"]
        .iter()
        .flat_map(|phase| ["PRE", "POST"].map(|kind| format!("{run}/{kind}_{phase}")))
        .collect();
    wanted.sort();
    assert_eq!(ids, wanted);
    let only = world.person(&["checkpoint", "list", "--run", run, "--json"]).json();
    assert_eq!(only, list);
    assert_eq!(world.person(&["checkpoint", "list", "--run", "another", "--json"]).json(), json!([]));
    let back = world.person(&["checkpoint", "rollback", &format!("{run}/PRE_count_v1"), "--yes"]);
    assert_eq!((back.code, world.effects()), (Some(0), vec!["built".to_owned()]), "{back:?}");
}

#[test]
fn what_does_not_pass_blocks_the_chain() {
    let after = "  - {id: after, name: After, description: later, run: echo after >> effects}\n";
    let step = |more: &str| format!("  - {{id: first, name: First, description: do it{more}}}\n{after}");
    let model = Model::new([
        // Starts nobody, however often it is asked.
        Turn::text("No."),
        Turn::text("No."),
        Turn::text("No."),
        Turn::text("No."),
        // A step that may only read tries to write, and gives up.
        bash("touch forbidden"),
        Turn::text("I could not."),
    ]);
    let [silent, reads] = [", agent: qa-verifier", ", phase: hydrate"].map(step);
    let fails = step(", run: echo no >&2; exit 7");
    let world = World::with(&model, &[("silent", &silent), ("reads", &reads), ("fails", &fails)]);
    world.run("silent").blocked("owes the verdict of `qa-verifier`");
    world.run("reads").blocked("ended on a blocked call");
    world.run("fails").blocked("ended with 7: no");
    assert_eq!(world.effects(), [""; 0], "nothing after it was done");
    assert!(!world.there("forbidden"));
    assert_eq!(world.artifacts("terminal").len(), 3);
}

/// What is changed after the verification is verified again, before it is closed.
#[test]
fn later_changes_are_verified_where_they_are_closed() {
    let steps = "  - {id: edit, name: Edit, description: e, phase: execute}
  - {id: verify, name: Verify, description: v, agent: qa-verifier, phase: verify}
  - {id: docs, name: Docs, description: d, phase: execute}
  - {id: complete, name: Complete, description: c, agent: framework, phase: reflect}
";
    let model = Model::new([
        bash("echo edited >> effects"),
        Turn::text("Edited."),
        agent("qa-verifier"),
        Turn::text("VERIFIED."),
        bash("echo documented >> effects"),
        Turn::text("Documented."),
        bash("git add -A && git commit -qm all"),
        agent("framework"),
        Turn::text("Reflected."),
        // Not so fast: its own words are in the next request.
        agent("qa-verifier"),
        Turn::text("VERIFIED."),
    ])
    .agent("You find out whether the work does", [verdict(&json!({"verdict": "VERIFIED", "issues": []}))])
    .agent("You write down what this task teaches", [verdict(&reflection())]);
    let world = World::with(&model, &[("minor-edit", steps)]);
    world.run("minor-edit").passed();
    assert_eq!(world.effects(), ["edited", "documented"]);
    let last = model.requests().iter().rfind(|request| request.agent.is_none()).unwrap().clone();
    let refused = last.said_by("user").into_iter().filter(|words| words.contains("Stop hook feedback"));
    let refused: Vec<String> = refused.collect();
    assert!(refused.len() == 1 && refused[0].contains("aops:qa-verifier"), "{refused:?}");
    assert_eq!(
        model.requests().iter().filter(|r| r.system().contains("You find out whether the work does")).count(),
        2
    );
}

pub(super) fn reflection() -> serde_json::Value {
    let fields = ["request", "guidance_received", "root_cause", "accomplishment", "proposed_change"];
    let mut all = json!({"followed": "Yes", "outcome": "success"});
    for field in fields {
        all[field] = json!("x");
    }
    json!({"reflection": all})
}

pub(super) const ASKING: &str =
    "  - {id: before, name: Before, description: first, run: echo before >> effects}
  - {id: build, name: Build, description: make it}
  - {id: after, name: After, description: last, run: echo after >> effects}
";

pub(super) fn asking() -> Model {
    Model::new([bash("touch danger && echo danger >> effects"), Turn::text("Built.")])
}

#[test]
fn a_rejected_call_is_never_made() {
    let model = asking();
    let world = World::with(&model, &[("asking", ASKING)]);
    world.run("asking").paused("WAIVER_REQUESTED");
    // By hand, as somebody with an editor would.
    let file = &world.artifacts("checkpoints")[0];
    let edited = world
        .packet()
        .replace("resolved: false", "resolved: true")
        .replace("resolution_decision: null", "resolution_decision: REJECTED");
    fs::write(file, edited).unwrap();
    world.resume(&world.checkpoint()).blocked("a person rejected step `build`");
    assert_eq!((world.effects(), world.there("danger")), (vec!["before".to_owned()], false));
    assert_eq!(world.session().calls()["toolu_000100"], ["PENDING", "DENIED"]);
    assert_eq!(model.requests().len(), 1, "the client was not started again");
}

#[test]
fn a_changed_policy_ends_the_run() {
    let change = "  - {id: change, name: Change, description: c, run: 'echo \"# more\" >> \"$HOME/.config/aops/AXIOMS.md\"; echo change >> effects'}\n  - {id: later, name: Later, description: l, run: echo later >> effects}\n";
    let model = asking();
    let world = World::with(&model, &[("change", change), ("asking", ASKING)]);
    // In the jail the command could not write there.
    world.configure(&format!("{CONFIG}[jail]\nlevel = \"off\"\n"));
    world.run("change").blocked("POLICY_CHANGED_MID_RUN");
    assert_eq!(world.effects(), ["change"]);
    world.commit();
    world.run("asking").paused("WAIVER_REQUESTED");
    let id = world.checkpoint();
    world.person(&["resolve", &id, "--approve", "--yes"]).said(&["APPROVED"]);
    world.configure("[tracker]\ncommand = \"none\"\n");
    world.resume(&id).blocked("POLICY_CHANGED_MID_RUN");
    assert!(!world.there("danger"));
}

/// Where people are told and what is kept decides nothing: a run that waited goes on.
#[test]
fn what_only_says_where_may_change_while_a_run_waits() {
    let model = asking();
    let world = World::with(&model, &[("asking", ASKING)]);
    world.run("asking").paused("WAIVER_REQUESTED");
    let id = world.checkpoint();
    world.person(&["resolve", &id, "--approve", "--yes"]).said(&["APPROVED"]);
    let where_ = "fleet.page = \"https://approve.example\"\nfleet.announce = \"true\"\nundo.keep_days = 3\n";
    world.configure(&format!("{where_}{CONFIG}"));
    let said = world.resume(&id);
    assert!(world.there("danger"), "{said:?}");
}

/// A project with an `artifacts/` of its own keeps it in git's sight.
#[test]
fn a_projects_own_artifacts_are_not_hidden() {
    let world = World::new(&[(
        "count",
        "  - {id: count, name: Count, description: count, run: echo counted >> effects}\n",
    )]);
    world.sandbox.put("artifacts/model.bin", "theirs");
    world.commit();
    let ended = world.run("count");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let packet = ended.last["packet"].as_str().unwrap();
    assert!(packet.contains(".aops/runs/terminal/TP_") && world.there(".aops/runs/loop_state"), "{packet}");
    assert!(!world.there("artifacts/terminal"));
    world.sandbox.put("artifacts/new.bin", "theirs too");
    assert_eq!(world.git(&["status", "--porcelain"]), "?? artifacts/new.bin\n");
    assert_eq!(world.runs()[0]["outcome"], "PASS");
    // The place is kept: a project whose runs are in `artifacts/` finds them there.
    let world = World::new(&[("count", "  - {id: count, name: Count, description: count, run: 'true'}\n")]);
    assert_eq!(world.run("count").code, Some(0));
    assert_eq!(world.run("count").code, Some(0));
    assert_eq!((world.artifacts("terminal").len(), world.runs().as_array().unwrap().len()), (2, 2));
}
