//! Tracker and memory server in the context of a prompt: what they know, and one line each where they say
//! nothing.

use super::world::World;
use crate::memory::server::{Habit, Server};
use crate::support::Session;
use aops_core::briefing::tracker;
use serde_json::json;
use std::fs;

/// Both configured, with all else as shipped: a prompt waits 400 ms at most.
fn configured(world: &World, server: &Server) {
    let (command, url) = (&world.command, server.url());
    let text = format!("[tracker]\ncommand = \"{command}\"\n[memory]\nserver = \"{url}\"\n");
    world.sandbox.configure(&text);
}

/// The context file of a prompt.
fn context(session: &Session, prompt: &str) -> String {
    let said = session.prompt(prompt);
    said.said(&["prompt-hydrator"]);
    let words = said.json()["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned();
    let file = words.split([' ', ')']).find(|word| word.contains("/context/hydration-")).unwrap();
    fs::read_to_string(file).unwrap()
}

#[test]
fn what_both_know_is_in_the_context() {
    let (world, server) = (World::real(), Server::start(Habit::Json));
    world.mb(&["create", "Feed the wombat", "--description", "twice a day"]);
    configured(&world, &server);
    let session = world.sandbox.session();
    let _ = session.start("startup");
    let taken = || tracker::snapshot(&world.env(), &world.sandbox.project()).taken_ms.is_some();
    world.wait_until("the tracker was asked", taken);
    let file = context(&session, "where does the wombat sleep?");
    for words in ["Feed the wombat", "1 ready", "> - the wombat sleeps"] {
        assert!(file.contains(words), "no `{words}` in {file}");
    }
}

#[test]
fn both_hang_and_the_prompt_passes_within_its_deadline() {
    let world = World::scripted("sleep 601 & sleep 600").with("AOPS_TEST_REFRESH_MS", "3000");
    let server = Server::start(Habit::Silent);
    configured(&world, &server);
    let session = world.sandbox.session();
    let _ = session.start("startup");
    world.wait_until("the tracker hangs", || world.runs("sleep 601"));
    let file = context(&session, "where does the wombat sleep?");
    let part =
        |title: &str| file.split(&format!("\n## {title}\n")).nth(1).unwrap().split("\n## ").next().unwrap();
    let lines = |title: &str| {
        part(title).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lines("Memory"), ["> the memory server did not answer in time"]);
    assert_eq!(lines("Tracked work")[0], "Tracker: not asked yet");
    // The hydrator is handed the same, under the same deadline.
    session.begin_agent("a1", "prompt-hydrator").said(&["in time"]);
    world.wait_until("no child outlives its purpose", || world.alive().is_empty());
    let file = context(&session, "and where does it eat?");
    assert!(file.contains("Tracker: the tracker did not answer in time"), "{file}");
    world.wait_until("no child outlives its purpose", || world.alive().is_empty());
    assert!(!world.sandbox.home().join("late").exists());
}

#[test]
fn a_reflection_that_counts_proposes_work_in_the_tracker() {
    let (world, server) = (World::real(), Server::start(Habit::Json));
    configured(&world, &server);
    let session = world.sandbox.session();
    let _ = session.start("startup");
    let taken = || tracker::snapshot(&world.env(), &world.sandbox.project()).taken_ms.is_some();
    world.wait_until("the tracker was asked", taken);
    world.wait_until("the refresher ended", || world.alive().is_empty());
    let _ = session.prompt("feed the wombat");
    session.hydrate("minor-edit", "new");
    let reflection = |change: &str| {
        json!({"reflection": {"request": "feed the wombat", "guidance_received": "g", "followed": "Yes", "outcome": "success",
            "accomplishment": "a", "root_cause": "nobody said when", "proposed_change": change}})
    };
    let said = |kind: &str, block: &serde_json::Value| session.agent(kind, block).silent();
    said("framework", &reflection("too early to count"));
    assert_eq!(world.waiting(), 0, "before the work is verified it teaches nothing");
    said("qa-verifier", &json!({"verdict": "VERIFIED"}));
    said("framework", &reflection("None."));
    assert_eq!(world.waiting(), 1, "the reflection itself; nothing was proposed");
    said("framework", &reflection("docs/wombat.md: say when it is fed"));
    assert_eq!(world.waiting(), 3);
    session.stop("Done.").silent();
    world.wait_until("it was written", || world.waiting() == 0 && world.alive().is_empty());
    let listed = world.mb(&["list"]);
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), 3, "{listed:?}");
    let proposed =
        listed.iter().find(|issue| issue["labels"] == json!(["aops", "aops-improvement"])).unwrap();
    assert_eq!(proposed["title"], "Improvement: docs/wombat.md: say when it is fed");
    let body = proposed["description"].as_str().unwrap();
    assert!(body.contains("Root cause: nobody said when") && body.contains(&session.id), "{body}");
}

/// A hydrator that reads our own reports as open work would plan to work on them.
#[test]
fn what_we_filed_ourselves_is_no_work_in_the_context() {
    let (world, server) = (World::real(), Server::start(Habit::Json));
    world.mb(&["create", "Feed the wombat"]);
    configured(&world, &server);
    let first = crate::insights::whole_loop(&world.sandbox);
    first.stop("Done.").silent();
    world.wait_until("the reflection is in the tracker", || world.waiting() == 0 && world.alive().is_empty());
    let listed = world.mb(&["list"]).to_string();
    assert!(listed.contains("Reflection: greets the world") && listed.contains("Improvement: "), "{listed}");
    let session = world.sandbox.session();
    let _ = session.start("startup");
    world.wait_until("the tracker was asked", || world.alive().is_empty());
    let file = context(&session, "greet the world as the reflection says");
    let tracked = file.split("\n## Tracked work\n").nth(1).unwrap().split("\n## ").next().unwrap();
    assert!(tracked.contains("1 ready") && tracked.contains("; 2 filed by aops-hook left out"), "{tracked}");
    assert!(!tracked.contains("Reflection:") && !tracked.contains("Improvement:"), "{tracked}");
}
