//! A person types ahead: a prompt that waits while a turn runs, at a terminal. The client tells of it at
//! once, under the id of the prompt that is being answered, so no turn seems to have lost its Stop.

use super::agents::{plan, start};
use super::checks::events;
use crate::client::Client;
use crate::model::{Model, Turn};
use crate::support::{NO_TRACKER, Sandbox, Session};
use serde_json::{Value, json};
use std::fs;

const ALLOWED: [&str; 4] = ["--permission-mode", "acceptEdits", "--allowedTools", "Bash,Read"];

#[test]
fn a_prompt_that_waits_for_a_running_turn_is_no_lost_stop() {
    let sandbox = Sandbox::repository("0");
    sandbox.configure(&format!("{NO_TRACKER}mode.level = \"loop\"\n"));
    let go = sandbox.tmp().join("go");
    let line = format!("while [ ! -e {} ]; do sleep 0.1; done", go.display());
    let model = Model::new([Turn::call("Bash", json!({ "command": line })), Turn::text("Both are greeted.")]);
    let client = Client::guarded(&sandbox, &model);
    let terminal = client.sit_down(&ALLOWED);
    terminal.type_prompt("greet the reader");
    sandbox.wait_until("the turn runs", || !model.requests().is_empty());
    terminal.enter("and the writer");
    terminal.shows(&["and the writer"]);
    terminal.press("Enter");
    let session = || {
        let found = sandbox.person(&["sessions", "--json"]).json();
        Session::new(&sandbox, found[0]["session_id"].as_str().unwrap_or_default())
    };
    let prompts = || events(&session()).iter().filter(|event| *event == "UserPromptSubmit").count();
    sandbox.wait_until("the second prompt is told", || prompts() == 2);
    fs::write(&go, "").unwrap();
    terminal.shows(&["● Both are greeted."]);
    sandbox.wait_until("the turn ends", || events(&session()).iter().any(|event| event == "Stop"));
    let entries = session().entries();
    let violations: Vec<&Value> = entries.iter().filter(|entry| entry["type"] == "violation").collect();
    assert!(violations.is_empty(), "{violations:#?}");
}

/// Mode `strict`: the agent that plans works in the background, and the person adds something meanwhile. It
/// is planned with the prompt before it, and done with it.
#[test]
fn a_prompt_while_the_plan_is_made_is_planned_too() {
    let sandbox = Sandbox::repository("0");
    sandbox.configure(&format!("{NO_TRACKER}mode.level = \"strict\"\n"));
    let wait = format!("while [ ! -e {} ]; do sleep 0.1; done", sandbox.tmp().join("never").display());
    let both = ["hello.txt", "bye.txt"].map(|name| {
        Turn::call("Write", json!({"file_path": sandbox.project().join(name), "content": "hello\n"}))
    });
    let main = [start("prompt-hydrator"), start("prompt-hydrator")];
    let model = Model::new(main.into_iter().chain(both))
        .saying("prompt-hydrator", [Turn::call("Bash", json!({ "command": wait }))])
        .reporting("prompt-hydrator", &plan("minor-edit"));
    let client = Client::guarded(&sandbox, &model);
    let terminal =
        client.sit_down(&["--permission-mode", "acceptEdits", "--allowedTools", "Bash,Write,Agent"]);
    terminal.type_prompt("greet the reader");
    terminal.shows(&["Waiting for 1 background agent"]);
    terminal.type_prompt("and the writer");
    let made = || ["hello.txt", "bye.txt"].iter().all(|name| sandbox.project().join(name).exists());
    terminal.wait_for("both are done", |_| made());
    let mut agents = model.requests().into_iter().filter(|request| request.agent.is_some());
    let last = agents.next_back().unwrap().pieces().join("\n");
    assert!(last.contains("> greet the reader") && last.contains("> and the writer"), "{last}");
}
