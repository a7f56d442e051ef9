//! The shipped build loop, from the task to the push, by the real client.

use super::chain::reflection;
use super::world::{World, agent, bash, proceed, verdict};
use crate::model::{Model, Turn};
use serde_json::json;

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
        // Commit and push are owed: it is sent on.
        Turn::text("Reflected."),
        bash("git add -A && git commit -qm 'say hello'"),
        bash("git push -q"),
        Turn::text("Committed and pushed."),
    ])
    .agent("You decide what the task is", [verdict(&plan)])
    .agent("You review a plan", [proceed()])
    .agent("You find out whether the work does", [verdict(&json!({"verdict": "VERIFIED", "issues": []}))])
    .agent("You write down what this task teaches", [verdict(&reflection())]);
    let world = World::with(&model, &[]);
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
    let packet = std::fs::read_to_string(&world.artifacts("terminal")[0]).unwrap();
    assert!(packet.contains(head.trim()) && packet.contains("workflow: \"build-loop\""), "{packet}");
    let steps = ["hydrate", "policy", "design", "build", "review", "steward"];
    let listed: Vec<String> = steps.iter().map(|step| format!("  - \"{step}\"\n")).collect();
    assert!(packet.contains(&listed.concat()), "{packet}");
}
