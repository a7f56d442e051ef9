//! Runs with the real client: what the fake one cannot prove. The other files of this folder use the fake
//! one.

use super::chain::{ASKING, asking, reflection};
use super::checks::{STOP, approve, assert_paused_for, built, configured};
use super::killed::{DRIVER, PROGRAM, SLOW, Victim, kill, killed_at_an_answer, killed_during_a_call, parent};
use super::terminal::{self, on_a_terminal, shown};
use super::world::{World, agent, bash, is_gone, proceed, until, verdict};
use crate::model::{Model, Turn};
use serde_json::json;
use std::fs;
use std::io::Write;

#[test]
fn the_build_loop_ends_committed_and_pushed() {
    let plan = json!({"workflow": "feature-dev", "intent": "say hello", "task": "new", "acceptance_criteria": ["it says hello"], "steps": ["write it"]});
    let model = Model::new([
        agent("prompt-hydrator"),
        Turn::text("Hydrated."),
        agent("critic"),
        Turn::text("PROCEED."),
        bash("echo hello > hello.txt"),
        Turn::text("Built."),
        agent("qa-verifier"),
        Turn::text("VERIFIED."),
        agent("framework"),
        // Commit and push are owed: the Stop is refused.
        Turn::text("Reflected."),
        bash("git add -A && git commit -qm 'say hello'"),
        bash("git push -q"),
        Turn::text("Committed and pushed."),
    ])
    .agent("You decide what the task is", [verdict(&plan)])
    .agent("You review a plan", [proceed()])
    .agent("You find out whether the work does", [verdict(&json!({"verdict": "VERIFIED", "issues": []}))])
    .agent("You write down what this task teaches", [verdict(&reflection())]);
    let world = World::real(&model, &[]);
    world.sandbox.put("AGENTS.md", "Greet in lower case.\n");
    world.commit();
    let remote = world.sandbox.tmp().join("remote.git");
    let remote = remote.to_str().unwrap();
    world.git(&["init", "-q", "--bare", "-b", "main", remote]);
    world.git(&["remote", "add", "origin", remote]);
    world.git(&["push", "-q", "-u", "origin", "main"]);
    let told = world.run("build-loop");
    told.passed();
    assert_eq!(model.astray(), [""; 0]);
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    let head = world.git(&["rev-parse", "HEAD"]);
    assert_eq!(world.git(&["--git-dir", remote, "rev-parse", "main"]), head, "pushed");
    let packet = fs::read_to_string(&world.artifacts("terminal")[0]).unwrap();
    assert!(packet.contains(head.trim()) && packet.contains("workflow: \"build-loop\""), "{packet}");
    let steps = ["hydrate", "policy", "design", "build", "review", "steward"];
    let listed: Vec<String> = steps.iter().map(|step| format!("  - \"{step}\"\n")).collect();
    assert!(packet.contains(&listed.concat()), "{packet}");
    // One session from the first step to the last: it is told once how work goes here.
    let main =
        model.requests().into_iter().rfind(|request| request.agent.is_none()).unwrap().pieces().join("\n");
    assert_eq!(main.matches("Greet in lower case.").count(), 1, "{main}");
    // The insights of the session are those of its run.
    let run =
        packet.lines().find_map(|line| line.strip_prefix("run_id: ")).unwrap().trim_matches('"').to_owned();
    let found = world.sandbox.person(&["insights", "--json"]).json();
    assert_eq!((&found["run_id"], &found["run_outcome"]), (&json!(run), &json!("PASS")), "{found:#}");
    assert_eq!((&found["outcome"], &found["workflows_used"][0]), (&json!("success"), &json!("build-loop")));
}

#[test]
fn an_approved_call_is_made_under_its_own_id() {
    let model = asking();
    let world = World::real(&model, &[("asking", ASKING)]);
    world.run("asking").paused("WAIVER_REQUESTED");
    assert_eq!(world.effects(), ["before"]);
    let (id, packet) = (world.checkpoint(), world.packet());
    let keys: Vec<&str> =
        packet.lines().filter(|l| !l.starts_with(' ')).map(|l| l.split(':').next().unwrap()).collect();
    let wanted = [
        "checkpoint_id", "digest", "policy_hash", "question", "resolution_decision", "resolved", "run_id",
        "session_id", "step_index", "task_spec", "timestamp", "tool_use_id", "trigger",
    ];
    assert_eq!(keys, wanted);
    for line in [
        "resolved: false",
        "resolution_decision: null",
        "step_index: 1",
        "task_spec:\n  context_refs: []\n  task: \"make it so\"\n",
        "trigger: ASK_USER",
        "tool_use_id: \"toolu_000100\"",
    ] {
        assert!(packet.contains(line), "{line} in {packet}");
    }
    assert!(packet.contains("touch danger") && packet.contains("not to be touched lightly"), "{packet}");

    world.resume(&id).refused(3, "waits for a decision");
    assert_eq!(world.packet(), packet, "nothing was touched");
    world.person(&["resolve", &id, "--approve"]).failed(2, &["terminal", "--yes"]);
    world.sandbox.inside(&["resolve", &id, "--approve", "--yes"]).failed(2, &["person"]);
    world
        .person(&["resolve", &id, "--approve", "--note", "just this once", "--yes"])
        .said(&["APPROVED", "aops-hook resume"]);
    let told = world.resume(&id);
    told.passed();
    assert_eq!(
        world.effects(),
        ["before", "danger", "after"],
        "each once, and what was done before not again"
    );
    let calls = world.session().calls();
    assert_eq!(calls["toolu_000100"], ["PENDING", "AUTHORIZED", "EXECUTING", "COMPLETED"]);
    assert_eq!(calls.len(), 1, "{calls:?}");
    let heard = model.requests().last().unwrap().said_by("system").join("\n");
    assert!(heard.contains("just this once"), "{heard}");
    world.resume(&id).refused(2, "PASS");
}

#[test]
fn money_that_is_used_up_pauses() {
    let steps = "  - {id: one, name: One, description: o}\n  - {id: two, name: Two, description: t}\n";
    let model = Model::new([
        bash("echo one >> effects"),
        Turn::text("One."),
        bash("echo two >> effects"),
        Turn::text("Two."),
    ]);
    let world = World::real(&model, &[("dear", steps)]);
    let answer = world.person(&["run", "x", "--workflow", "dear", "--budget-usd", "0.0021", "--json"]);
    assert_eq!(answer.code, Some(3), "{answer:?}");
    let id = world.checkpoint();
    assert!(world.packet().contains("trigger: BUDGET_EXHAUSTED"), "{}", world.packet());
    world.resume(&id).refused(3, "waits for a decision");
    world.person(&["resolve", &id, "--approve", "--yes"]).said(&["APPROVED"]);
    let answer = world.person(&["resume", &id, "--budget-usd", "1"]);
    assert_eq!(
        (answer.code, world.effects()),
        (Some(0), vec!["one".to_owned(), "two".to_owned()]),
        "{answer:?}"
    );
}

/// A project can switch off all hooks: then the step was not guarded, whatever the client says.
#[test]
fn a_client_without_our_hooks_is_not_believed() {
    let model = Model::new([bash("touch unseen"), Turn::text("All is well.")]);
    let steps = "  - {id: one, name: One, description: o}\n  - {id: two, name: Two, description: t, run: touch after}\n";
    let world = World::real(&model, &[("one", steps)]);
    world.sandbox.put(".claude/settings.json", "{\"disableAllHooks\": true}\n");
    world.commit();
    world.run("one").blocked("our hooks did not run");
    assert!(!world.there("after"));
}

#[test]
fn a_check_before_a_stop_that_stays_red() {
    let model = Model::new([built(), Turn::text("Built.")]);
    let world = configured(World::real, &model, STOP);
    let id = assert_paused_for(&world, "`suite`");
    let heard = model.requests().last().unwrap().pieces().join("\n");
    assert!(heard.contains("two tests fail"), "the agent was asked to repair it first: {heard}");
    approve(&world, &id);
    assert_eq!(world.effects(), ["built", "after"]);
    let heard = model.requests().last().unwrap().pieces().join("\n");
    assert!(heard.contains("this once"), "{heard}");
}

/// The terminal's own signal, during a call of the client.
#[test]
fn ctrl_c_pauses_and_ends_the_call() {
    let model = Model::new([
        bash("echo $$ > begun; sleep 600; echo built >> effects"),
        bash("echo again >> effects"),
        Turn::text("Built."),
    ]);
    let world = World::real(&model, &[("shown", terminal::STEPS)]);
    let mut driver = on_a_terminal(&world, "run 'make it so' --workflow shown");
    let pid = || fs::read_to_string(world.sandbox.project().join("begun")).ok()?.trim().parse().ok();
    until("the call", || pid().is_some());
    let call = pid().unwrap();
    driver.stdin.as_mut().unwrap().write_all(b"\x03").unwrap();
    assert_eq!(driver.wait().unwrap().code(), Some(3), "{}", shown(&world));
    assert!(is_gone(call), "the call {call} still runs");
    let (text, id) = (shown(&world), world.checkpoint());
    assert!(text.contains("step `build` was interrupted"), "{text:?}");
    assert!(text.contains(&format!("continue with `aops-hook resume {id}`")), "{text:?}");
    assert!(world.packet().contains("trigger: INTERRUPTED"), "{}", world.packet());
    assert_eq!(world.runs()[0]["state"], "CHECKPOINT");
    world.resume(&id).passed();
    assert_eq!(world.effects(), ["again", "counted"]);
}

/// `killed` has the other combinations, with the fake client.
#[test]
fn a_driver_killed_at_two_answers() {
    killed_at_an_answer(World::real, 0, false, DRIVER);
    killed_at_an_answer(World::real, 3, true, DRIVER);
}

#[test]
fn a_client_killed_at_two_answers() {
    killed_at_an_answer(World::real, 1, true, PROGRAM);
    killed_at_an_answer(World::real, 2, false, PROGRAM);
}

/// The call has had its effect: the model looks, and does not repeat it.
#[test]
fn a_client_killed_after_a_calls_effect() {
    let line =
        |step: &str| format!("[ -e begun ] || {{ echo {step} >> effects; echo $$ > begun; sleep 600; }}");
    let (world, call) = killed_during_a_call(World::real, line, PROGRAM);
    assert!(is_gone(call), "the call {call} still runs");
    assert_eq!(world.effects(), ["only"]);
    let calls = world.session().calls();
    assert_eq!(calls["toolu_000100"].last().unwrap(), "FAILED", "its end was not seen: {calls:?}");
    assert_eq!(calls.len(), 2, "it looked, and did nothing more: {calls:?}");
}

/// The driver, the watcher and the client are gone, and only the call is left: `resume` ends it first.
#[test]
fn all_killed_but_the_call() {
    let all: Victim = |world, driver| {
        DRIVER(world, driver);
        let client = world.program().unwrap();
        kill(parent(client));
        kill(client);
    };
    let (world, call) = killed_during_a_call(World::real, SLOW, all);
    assert!(is_gone(call), "the call {call} still runs");
    assert_eq!(world.effects(), ["only"]);
}
