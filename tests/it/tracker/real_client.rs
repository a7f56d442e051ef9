//! The whole loop in the real client with a tracker and a memory server, and what the next session knows of
//! it.

use super::world::World;
use crate::client::Client;
use crate::memory::server::{Habit, Server};
use crate::model::{Model, Request, Turn};
use crate::real_client::agents::start;
use crate::support::Session;
use serde_json::{Value, json};
use std::sync::Arc;

fn bash(line: &str) -> Turn {
    Turn::call("Bash", json!({"command": line}))
}

/// A plan made of the steps of `minor-edit`, for an issue of the tracker.
fn plan() -> Value {
    json!({"workflow": "minor-edit", "intent": "the wombat is fed at dusk", "task": "new", "issue": "demo-1",
        "kind": "domain", "acceptance_criteria": ["bowl.txt says when"],
        "steps": ["Locate: nothing else names the bowl", "Edit: write bowl.txt", "Check: read it", "Verify", "Close"]})
}

fn reflection() -> Value {
    json!({"reflection": {"request": "feed the wombat", "guidance_received": "minor-edit", "followed": "Yes",
        "outcome": "success", "accomplishment": "bowl.txt: the wombat is fed at dusk", "root_cause": "nobody knew when",
        "proposed_change": "docs/wombat.md: say when it is fed"}})
}

/// What the last agent of this kind read.
fn read_by(model: &Model, mark: &str) -> String {
    let agents: Vec<Request> =
        model.requests().into_iter().filter(|request| request.agent.is_some()).collect();
    let last = agents.iter().rfind(|request| request.system().contains(mark));
    last.unwrap_or_else(|| panic!("no agent has `{mark}`")).pieces().join("\n")
}

const HYDRATOR: &str = "You decide what the task is, before work on it begins.";

#[test]
fn an_issue_is_claimed_and_closed_and_the_next_session_knows_what_was_learnt() {
    let server = Server::start(Habit::Json).remembering();
    let world = Arc::new(World::repository(&format!("[memory]\nserver = \"{}\"\n", server.url())));
    world.mb(&["create", "Feed the wombat"]);
    let (sandbox, mb) = (&world.sandbox, &world.command);
    for arguments in [&["add", "-A"][..], &["commit", "-q", "-m", "tracker"], &["push", "-q"]] {
        sandbox.git(arguments);
    }
    world.refresh();
    let tracked = Arc::clone(&world);
    let written = move || {
        let all = || tracked.waiting() == 0 && !tracked.runs(" __refresh");
        tracked.wait_until("the reflection is in the tracker", all);
    };
    let model = Model::new([
        start("prompt-hydrator"),
        bash(&format!("{mb} update demo-1 --claim")),
        Turn::call("Write", json!({"file_path": sandbox.project().join("bowl.txt"), "content": "at dusk\n"})),
        start("qa-verifier"),
        start("framework"),
        Turn::text("Done."),
        bash(&format!("{mb} close demo-1")),
        bash("git add -A && git commit -q -m fed"),
        // `mb` keeps in the repository what we write in the tracker ourselves.
        bash(&format!("{mb} sync && git add -A && git commit -q -m sync")).after(written),
        bash("git push -q"),
        Turn::text("All done."),
        start("prompt-hydrator"),
        Turn::text("At dusk."),
    ])
    .reporting("prompt-hydrator", &plan())
    .reporting("qa-verifier", &json!({"verdict": "VERIFIED"}))
    .reporting("framework", &reflection());
    let client = Client::guarded(sandbox, &model);
    let run = client.run("feed the wombat");
    run.ended("All done.");

    let session = Session::new(sandbox, run.session_id());
    let state = session.state();
    assert_eq!(
        (&state["phase"], &state["main_agent"]["current_task"]),
        (&json!("done"), &json!("demo-1")),
        "{state:#}"
    );
    assert_eq!(world.mb(&["show", "demo-1"])[0]["status"], "closed");
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s", "origin/main"]), "sync\n");
    // The plan came from the workflow's steps, and the main agent was told them and the issue.
    let hydrator = read_by(&model, HYDRATOR);
    assert!(hydrator.contains("demo-1 Feed the wombat") && hydrator.contains("### minor-edit"), "{hydrator}");
    let main =
        model.requests().into_iter().rfind(|request| request.agent.is_none()).unwrap().pieces().join("\n");
    let told = [
        "follows workflow `minor-edit`: ",
        "this task is issue `demo-1`",
        "`tracker`: run `",
        "close demo-1` for what is done",
    ];
    for words in told {
        assert!(main.contains(words), "no `{words}` in {main}");
    }
    let learnt = [
        "In `project`: bowl.txt: the wombat is fed at dusk",
        "Learnt: docs/wombat.md: say when it is fed",
        "Cause: nobody knew when",
    ];
    assert_eq!(server.stored(), [learnt.join("\n")]);

    client.run("when is the wombat fed?").ended("At dusk.");
    let hydrator = read_by(&model, HYDRATOR);
    assert!(learnt.iter().all(|words| hydrator.contains(words)), "{hydrator}");
    assert!(hydrator.contains("closed demo-1 Feed the wombat"), "{hydrator}");
    world.wait_until("the tracker is up to date", || world.waiting() == 0 && world.alive().is_empty());
}
