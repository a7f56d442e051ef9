//! A run's freedoms are the run's alone: a variable proves nothing.

use super::world::World;
use serde_json::json;

#[test]
fn a_forged_variable_loosens_nothing() {
    let world = World::new(&[("one", "  - {id: one, name: One, description: o, run: 'true'}\n")]);
    world.run("one").passed();
    let run = world.runs()[0]["run_id"].as_str().unwrap().to_owned();
    let sandbox = crate::support::Sandbox::new().with("AOPS_RUN", run).with("AOPS_RUN_KEY", "guessed");
    let session = sandbox.session();
    let _ = session.start("startup");
    let asked = session.prompt("change everything");
    assert!(asked.out.contains("prompt-hydrator"), "an ordinary prompt asks for the loop: {asked:?}");
    let write = session.call("Bash", json!({"command": "touch x"}));
    session.pre(&write).refused(&["prompt-hydrator", "hint:"]);
    assert_eq!(session.state()["sandbox"], "shut");
}
