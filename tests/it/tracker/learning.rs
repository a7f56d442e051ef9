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
    let wanted = ["Improvement: write the test first", "Reflection: greets the world"];
    assert_eq!(titles(&world), wanted);
    let all: Value = world.mb(&["list"]);
    let reflection =
        all.as_array().unwrap().iter().find(|i| i["title"].as_str().unwrap().starts_with("Refl")).unwrap();
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

/// As the document has it: patterns are tasks, what would improve the framework is a feature.
#[test]
fn patterns_become_tasks_and_improvements_features() {
    let world = World::real();
    world.sandbox.configure(&format!("[tracker]\ncommand = \"{}\"\n", world.command));
    let session = whole_loop(&world.sandbox);
    let mut block: Value = serde_json::from_str(crate::insights::REFLECTION).unwrap();
    block["patterns"] = serde_json::json!(["tests come late (2026-11-02, 2026-11-05)", "none"]);
    session.agent("framework", block).silent();
    session.stop("Done.").silent();
    world.wait_until("the queue is empty", || world.waiting() == 0 && world.alive().is_empty());
    let all: Value = world.mb(&["list"]);
    let text = |issue: &Value, name: &str| issue[name].as_str().unwrap().to_owned();
    let mut found: Vec<(String, String)> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|issue| (text(issue, "title"), text(issue, "issue_type")))
        .collect();
    found.sort();
    let wanted = [
        ("Improvement: write the test first", "feature"),
        ("Learning: tests come late (2026-11-02, 2026-11-05)", "task"),
        ("Reflection: greets the world", "task"),
    ];
    assert_eq!(found, wanted.map(|(title, kind)| (title.to_owned(), kind.to_owned())));
}
