//! What keys change in a session: the same entries that the commands make.

use super::{WIDE, cockpit, prompted};
use crate::support::{NO_TRACKER, Sandbox};
use serde_json::json;
use std::fs;

#[test]
fn a_session_is_blocked_and_cleared_with_the_reason_read() {
    let sandbox = Sandbox::new();
    sandbox.configure(NO_TRACKER);
    let session = prompted(&sandbox, "add a greeting");
    let screen = cockpit(&sandbox, WIDE, "aops-hook watch");
    screen.shows(&["> live"]);
    screen.enter("bthe wrong branch");
    screen.shows(&["block", "because", "> the wrong branch"]);
    screen.press("Enter");
    let order = format!("$ aops-hook block {} --reason 'the wrong branch'", session.id);
    screen.shows(&["are you sure?", &order]);
    screen.press("n");
    screen.shows(&["nothing was done"]);
    assert_eq!(session.state()["state"]["custodiet_blocked"], json!(false));
    screen.enter("bthe wrong branch");
    screen.press("Enter");
    screen.shows(&["are you sure?"]);
    screen.press("y");
    screen.shows(&["1 waits for you", "you: blocked", "blocked: the wrong branch"]);
    assert_eq!(session.state()["state"]["custodiet_block_reason"], json!("the wrong branch"));
    session.ask_bash("ls").refused(&["the wrong branch"]);
    screen.press("u");
    screen.shows(&["$ aops-hook clear-block", "it is blocked: the wrong branch", "y does it"]);
    screen.press("y");
    screen.shows(&["is no longer blocked", "0 wait for you"]);
    let last = session.entries();
    let by: Vec<_> =
        last.iter().filter(|entry| entry["type"] == "unblock").map(|entry| &entry["with"]["by"]).collect();
    assert_eq!(by, [&json!("a person")]);
    screen.press("u");
    screen.shows(&["this session is not blocked"]);
}

#[test]
fn a_gate_is_waived_by_the_rules_of_the_command() {
    let sandbox = Sandbox::new();
    sandbox.configure(NO_TRACKER);
    let session = prompted(&sandbox, "add a greeting");
    let screen = cockpit(&sandbox, WIDE, "aops-hook watch");
    screen.shows(&["> live"]);
    screen.press("Enter");
    screen.shows(&["waits for `prompt-hydrator`"]);
    screen.enter("vguard 10m because");
    screen.press("Enter");
    screen.shows(&["$ aops-hook waive guard --for 10m --reason because"]);
    screen.press("y");
    screen.shows(&["refused: aops-hook waive guard", "`guard` cannot be waived"]);
    screen.leave("`guard` cannot be waived");
    screen.enter("vsandbox 10m a small thing");
    screen.press("Enter");
    screen.shows(&["are you sure?"]);
    screen.press("y");
    screen.shows(&["`sandbox` is waived for 10 min", "waiver    sandbox: a small thing"]);
    session.write("hello.txt").silent();
}

#[test]
fn checkpoints_are_compared_and_rolled_back_to() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.working();
    sandbox.put("page.txt", "one\n");
    sandbox.person(&["checkpoint", "create", "-m", "mine"]).said(&["mine"]);
    let file = sandbox.put("page.txt", "two\n");
    let screen = cockpit(&sandbox, WIDE, "aops-hook watch");
    screen.shows(&["> live", &session.id]);
    screen.press("c");
    screen.shows(&["checkpoints of", "> manual/POST_execute_v1", "mine", "by hand"]);
    screen.press("Enter");
    screen.shows(&["~ page.txt", "-one", "+two"]);
    screen.leave("+two");
    screen.press("R");
    screen.shows(&[
        "$ aops-hook checkpoint rollback manual/POST_execute_v1",
        "changed back  page.txt",
        "y does it",
    ]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "two\n");
    screen.press("y");
    sandbox.wait_until("it is rolled back", || fs::read_to_string(&file).is_ok_and(|text| text == "one\n"));
    screen.press("Escape");
    screen.shows(&["1 session, 1 live"]);
}
