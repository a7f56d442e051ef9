//! Refusal, ledger and rollback in both, each in one run.

use super::{Kind, results, session};
use crate::model::{Model, Turn};
use crate::support::Sandbox;
use serde_json::{Value, json};

pub(super) fn shell(line: &str) -> Turn {
    Turn::call(
        "run_shell_command",
        json!({"command": line, "description": "a command", "is_background": false}),
    )
}

fn verifies(sandbox: &Sandbox, id: &str) {
    let told: Value = sandbox.person(&["verify", id, "--json"]).json();
    assert_eq!(told["ok"], true, "{told}");
}

/// What guards is not written, in the words of the guard; what passes is recorded, and taken back by a
/// person.
fn refuses_records_and_rolls_back(kind: Kind) {
    let sandbox = Sandbox::repository("0");
    let write = json!({"file_path": sandbox.project().join("hello.txt"), "content": "hello\n"});
    let same = shell("echo same >> same.txt").and(
        "run_shell_command",
        json!({"command": "echo same >> same.txt", "description": "a command", "is_background": false}),
    );
    let model = Model::new([
        shell(&format!("rm ~/.{}/settings.json", kind.name())),
        shell("aops-hook clear-block"),
        Turn::call("write_file", write),
        same,
        Turn::text("Done."),
    ]);
    let run = kind.run(&sandbox, &model, ". make hello.txt");
    assert_eq!(run.code, Some(0), "{run:?}");
    let told = results(&model);
    assert!(told[0].contains("no tool call may") && told[1].contains("is for a person"), "{told:?}");
    assert!(kind.home(&sandbox).join("settings.json").is_file());
    assert!(sandbox.project().join("hello.txt").is_file(), "{told:?}");
    let session = session(&sandbox, &run);
    assert!(
        session.folder().starts_with(sandbox.data().join("sessions").join(kind.name())),
        "{}",
        session.folder().display()
    );
    let calls = session.calls();
    let ended =
        |state: &str| calls.values().filter(|steps| steps.last().is_some_and(|last| last == state)).count();
    assert_eq!((calls.len(), ended("DENIED"), ended("COMPLETED")), (5, 2, 3), "{calls:?}");
    verifies(&sandbox, &session.id);
    // What it used: tokens by model, and no cost where we know no price.
    let used = crate::insights::insights(&sandbox, &session);
    let of = &used["tokens"]["by_model"][kind.model()];
    assert!(of["input"].as_u64() > Some(0) && of["output"].as_u64() > Some(0), "{used:#}");
    assert!(of["cost_usd"].is_null(), "{of}");

    let listed = sandbox.person(&["checkpoint", "list", "--json"]).json();
    let first = listed.as_array().unwrap().iter().rfind(|kept| kept["id"].as_str().unwrap().contains("PRE_"));
    let first = first.unwrap_or_else(|| panic!("{listed:#}"))["id"].as_str().unwrap().to_owned();
    let _ = sandbox.person(&["checkpoint", "rollback", &first, "--yes"]);
    assert!(!sandbox.project().join("hello.txt").exists(), "{listed:#}");
    verifies(&sandbox, &session.id);
}

#[test]
fn gemini_refuses_records_and_rolls_back() {
    refuses_records_and_rolls_back(Kind::Gemini);
}

#[test]
fn qwen_refuses_records_and_rolls_back() {
    refuses_records_and_rolls_back(Kind::Qwen);
}

/// The loop's agents are not ours there, so a task without a plan is told the way out, and following it
/// works.
#[test]
fn the_refusal_names_a_way_out_that_works() {
    let sandbox = Sandbox::repository("0");
    let model = Model::new([
        shell("touch before.txt"),
        Turn::text("I may not."),
        shell("touch after.txt"),
        Turn::text("Done."),
    ]);
    let run = Kind::Qwen.run(&sandbox, &model, "make a file");
    let told = results(&model);
    assert!(
        told[0].contains("cannot start the agent") && told[0].contains("begins with `.`"),
        "{told:?} {run:?}"
    );
    let _ = Kind::Qwen.run(&sandbox, &model, ". make a file");
    assert!(!sandbox.project().join("before.txt").exists() && sandbox.project().join("after.txt").exists());
}
