//! The client's auto mode: the server judges the calls of a message with it, and agents hand their reports
//! back with a tool.

use super::agents::{plan, start};
use super::whole_loop::bash;
use crate::client::Client;
use crate::model::{Model, Turn};
use crate::support::{NO_TRACKER, Sandbox, Session, fenced};
use serde_json::Value;
use std::fs;

/// A report without its form is not handed back: the call would end the agent, and no word of ours would
/// reach it any more.
#[test]
fn an_agent_is_sent_back_for_its_report() {
    let sandbox = Sandbox::repository("0");
    sandbox.configure(&format!("{NO_TRACKER}mode.level = \"loop\"\n"));
    let said = [Turn::text("I have looked at it."), Turn::text(&fenced(plan("feature-dev")))];
    let model = Model::new([start("prompt-hydrator"), Turn::text("I wait.")]).saying("prompt-hydrator", said);
    let client = Client::guarded(&sandbox, &model);
    let terminal = client.sit_down(&["--permission-mode", "auto"]);
    terminal.type_prompt("greet the reader");
    let entries = || {
        let found = sandbox.person(&["sessions", "--json"]).json();
        Session::new(&sandbox, found[0]["session_id"].as_str().unwrap()).entries()
    };
    let reports = || entries().into_iter().filter(|entry| entry["type"] == "verdict").collect::<Vec<_>>();
    terminal.wait_for("the second report", |_| reports().len() == 2);
    let found: Vec<Value> =
        reports().into_iter().map(|report| report["with"]["finding"]["workflow"].clone()).collect();
    assert_eq!(found, [Value::Null, "feature-dev".into()], "{:#?}", entries());
    assert!(!entries().iter().any(|entry| entry["type"] == "violation"), "{:#?}", entries());
}

/// Nobody is asked there. The way that a refusal names leads to the question.
#[test]
fn the_way_out_of_a_refusal_leads_to_the_question() {
    let sandbox = Sandbox::repository("0");
    sandbox.configure(&format!("{NO_TRACKER}mode.level = \"guard\"\ndanger.git-discard = \"ask\"\n"));
    sandbox.put("README.md", "changed\n");
    let reset = || bash("git reset --hard");
    let model = Model::new([reset(), Turn::text("It is refused."), reset(), Turn::text("It is reset.")]);
    let client = Client::guarded(&sandbox, &model);
    let terminal = client.sit_down(&["--permission-mode", "auto"]);
    let readme = || fs::read_to_string(sandbox.project().join("README.md")).unwrap();
    terminal.shows(&["auto mode on"]);
    terminal.type_prompt("reset it");
    terminal.shows(&["● It is refused."]);
    let heard = model.tool_results().last().unwrap().text.clone();
    assert!(heard.contains("mode `auto` asks nobody: the user leaves it with Shift+Tab"), "{heard}");
    assert_eq!(readme(), "changed\n");
    terminal.press("BTab");
    terminal.wait_for("another mode", |screen| !screen.contains("auto mode on"));
    terminal.type_prompt("try it again");
    terminal.answer("Do you want to", "1");
    terminal.shows(&["● It is reset."]);
    assert_eq!(readme(), "# a project\n");
}
