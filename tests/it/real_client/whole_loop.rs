//! The loop enforced in the real client, from the first refusal to the stop that passes.

use super::added::{added, main_requests};
use super::agents::{FORGED_PROMPT, plan, reflection, review, start};
use super::checks::verifies;
use crate::client::Client;
use crate::model::{Model, Turn};
use crate::support::{Sandbox, Session};
use serde_json::json;
use std::fs;

pub(super) fn write(sandbox: &Sandbox, content: &str) -> Turn {
    Turn::call("Write", json!({"file_path": sandbox.project().join("hello.txt"), "content": content}))
}

pub(super) fn bash(line: &str) -> Turn {
    Turn::call("Bash", json!({"command": line}))
}

/// The whole loop as an obedient agent walks it, and what each step may add to its conversation.
fn steps(sandbox: &Sandbox) -> Vec<(Turn, Adds)> {
    vec![
        (write(sandbox, "hello\n"), Adds::Words),
        (start("prompt-hydrator"), Adds::Words), // who reviews the plan
        (start("critic"), Adds::Nothing),
        (write(sandbox, "hello\n"), Adds::Words),
        (start("prompt-hydrator"), Adds::Words), // who reviews the plan
        (start("critic"), Adds::Nothing),
        (write(sandbox, "hello\n"), Adds::Words), // an audit is drawn
        (start("custodiet"), Adds::Nothing),
        (bash("cat hello.txt"), Adds::Nothing),
        (Turn::text("Done."), Adds::Words),
        (start("qa-verifier"), Adds::Nothing),
        (write(sandbox, "hello, reader\n"), Adds::Words), // and again
        (start("custodiet"), Adds::Nothing),
        (start("qa-verifier"), Adds::Nothing),
        (start("framework"), Adds::Nothing),
        (bash("git add hello.txt && git commit -q -m hello"), Adds::Nothing),
        (bash("git push -q"), Adds::Nothing),
        (Turn::text("All done."), Adds::Nothing),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Adds {
    Nothing,
    Words,
}

#[test]
fn from_the_first_refusal_to_the_stop_that_passes() {
    // Every change is drawn, so that an audit comes by policy and not by luck.
    let sandbox = Sandbox::repository("1.0");
    let (turns, wanted): (Vec<_>, Vec<_>) = steps(&sandbox).into_iter().unzip();
    let model = Model::new(turns)
        .reporting("prompt-hydrator", &plan("feature-dev"))
        .reporting("prompt-hydrator", &plan("feature-dev"))
        .reporting("critic", &review("REVISE"))
        .reporting("critic", &review("PROCEED"))
        .reporting("custodiet", &json!({"verdict": "OK"}))
        .reporting("qa-verifier", &json!({"verdict": "ISSUES", "issues": ["it does not name the reader"]}))
        .reporting("qa-verifier", &json!({"verdict": "VERIFIED"}))
        .reporting("framework", &reflection());
    let run = Client::guarded(&sandbox, &model).run("make hello.txt");
    run.ended("All done.");
    assert_eq!(fs::read_to_string(sandbox.project().join("hello.txt")).unwrap(), "hello, reader\n");
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s", "origin/main"]), "hello\n");

    let session = Session::new(&sandbox, run.session_id());
    let state = session.state();
    assert_eq!((&state["phase"], &state["task"]["writes"]), (&json!("done"), &json!(4)), "{state:#}");
    let said = |agent: &str, key: &str| state["subagents"][agent][key].clone();
    assert_eq!(said("critic", "verdict"), "PROCEED");
    assert_eq!(["custodiet", "qa-verifier"].map(|agent| said(agent, "result")), ["OK", "VERIFIED"]);
    assert_eq!(state["hydration"]["acceptance_criteria"], json!(["hello.txt says hello to the reader"]));
    verifies(&sandbox, &session);
    the_model_was_told(&model);
    reviewers_were_briefed_by_us(&model);

    let added = added(&main_requests(&model), "make hello.txt");
    let seen: Vec<_> = added[1..].iter().map(|n| if *n == 0 { Adds::Nothing } else { Adds::Words }).collect();
    assert_eq!(seen, wanted[..wanted.len() - 1], "{added:?}");
    let whole: usize = added.iter().sum();
    assert!((2_000..8_000).contains(&whole), "the loop added {whole} bytes: {added:?}");
}

/// Each refusal reached the model, in this order, with its next step.
fn the_model_was_told(model: &Model) {
    let refused: Vec<_> = model.tool_results().into_iter().filter(|result| result.is_error).collect();
    let words = ["this task has no plan yet", "the critic asked for a revision"];
    assert_eq!(refused.len(), words.len(), "{refused:#?}");
    for (result, words) in refused.iter().zip(words) {
        assert!(result.text.contains(words) && result.text.contains("hint: start the agent"), "{result:?}");
    }
    let last = main_requests(model).pop().unwrap();
    let stop = last.said_by("user").into_iter().find(|text| text.starts_with("Stop hook feedback:")).unwrap();
    let at = |name: &str| stop.find(name).unwrap_or_else(|| panic!("`{name}` is not owed: {stop}"));
    let order = ["1. `qa-verifier`", "2. `framework`", "3. `commit`", "4. `push`"].map(at);
    assert!(order.is_sorted(), "{stop}");
    let drawn = last.said_by("system").iter().filter(|text| text.contains("an audit was drawn")).count();
    assert_eq!(drawn, 2, "once for each draw, and none for a commit");
}

/// Each of our agents read our context, and not a word of the agent that started it.
fn reviewers_were_briefed_by_us(model: &Model) {
    let theirs: Vec<_> = model.requests().into_iter().filter(|request| request.agent.is_some()).collect();
    assert_eq!(theirs.len(), 9);
    for request in theirs {
        let read = request.pieces().join("\n");
        assert!(read.contains("# Context for ") && read.contains("hello.txt"), "{read}");
        // The call that started it is an event like any other, and quoted; it is no instruction.
        let told = read.lines().any(|line| line.contains(FORGED_PROMPT) && !line.starts_with("> "));
        assert!(!told, "{read}");
    }
}
