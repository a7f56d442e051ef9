//! A person types ahead: a prompt that waits while a turn runs, at a terminal. The client tells of it at
//! once, under the id of the prompt that is being answered, so no turn seems to have lost its Stop.

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
