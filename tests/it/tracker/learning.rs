//! Reflections and learnings: written in a real tracker by us, once.

use super::World;
use crate::insights::whole_loop;
use crate::support::Session;
use serde_json::Value;

fn titles(world: &World) -> Vec<String> {
    let all = world.mb(&["list"]);
    let mut titles: Vec<String> =
        all.as_array().unwrap().iter().map(|issue| issue["title"].as_str().unwrap().to_owned()).collect();
    titles.sort();
    titles
}

#[test]
fn a_reflection_is_in_the_tracker_once() {
    let world = World::real();
    world.sandbox.configure(&format!("[tracker]\ncommand = \"{}\"\n", world.command));
    let session: Session = whole_loop(&world.sandbox);
    session.stop("Done.").silent();
    world.wait_until("the queue is empty", || world.waiting() == 0 && world.alive().is_empty());
    let wanted = ["Learning: write the test first", "Reflection: greets the world"];
    assert_eq!(titles(&world), wanted);
    let all: Value = world.mb(&["list"]);
    let reflection = all.as_array().unwrap().iter().find(|i| i["title"].as_str().unwrap().starts_with("Refl")).unwrap();
    let shown = world.mb(&["show", reflection["id"].as_str().unwrap()]).to_string();
    for words in [
        session.id.as_str(),
        "## Framework Reflection",
        "**Followed**: Partial - the test came late",
        "aops-reflection",
    ] {
        assert!(shown.contains(words), "{words} in {shown}");
    }
    // The same words again, of the same session: the agent was asked twice.
    session.agent("framework", crate::insights::REFLECTION).silent();
    session.stop("Done.").silent();
    world.wait_until("the queue is empty", || world.waiting() == 0 && world.alive().is_empty());
    assert_eq!(titles(&world), wanted);
}
