//! What holds in Codex, and how it fails: one small run each.

use super::{Codex, bash, events, home, id, last_words, results, session, verifies};
use crate::model::{Model, Turn};
use crate::support::{BINARY, Sandbox};
use serde_json::{Value, json};
use std::sync::Arc;

/// A write before the plan is refused, in the words of the gate, and nothing is written.
#[test]
fn a_write_before_the_plan_is_refused() {
    let sandbox = Sandbox::repository("0");
    let model = Model::new([bash("echo x > hello.txt"), bash("touch other.txt"), Turn::text("I may not.")]);
    let run = Codex::guarded(&sandbox, &model).run("make hello.txt");
    assert_eq!((run.code, last_words(&run)), (Some(0), "I may not."), "{run:?}");
    assert!(!sandbox.project().join("hello.txt").exists() && !sandbox.project().join("other.txt").exists());
    let refused = results(&model);
    for text in &refused {
        assert!(
            text.contains("has no plan yet") && text.contains("hint: start the agent `prompt-hydrator`"),
            "{text}"
        );
    }
    assert_eq!(refused.len(), 2, "{refused:?}");
    let session = session(&sandbox, &run);
    assert!(session.folder().starts_with(sandbox.data().join("sessions/codex")), "{:?}", session.folder());
    assert!(session.calls().values().all(|steps| *steps == ["PENDING", "DENIED"]), "{:?}", session.calls());
    let seen = events(&session);
    for event in ["SessionStart", "UserPromptSubmit", "PostModelRequest", "Stop", "SessionEnd"] {
        assert!(seen.iter().any(|name| name == event), "{event}: {seen:?}");
    }
    verifies(&sandbox, &session);
}

/// Reading, and work under a waived prompt, go on as ever; calls that are made together are recorded each.
#[test]
fn calls_made_together_are_recorded_each() {
    let sandbox = Sandbox::new();
    let both = bash("echo one").and("exec_command", json!({"cmd": "echo two > two.txt"}));
    let model = Model::new([both.and("exec_command", json!({"cmd": "touch a.txt"})), Turn::text("Done.")]);
    let run = Codex::guarded(&sandbox, &model).run(". do three things");
    assert_eq!(last_words(&run), "Done.", "{run:?}");
    let session = session(&sandbox, &run);
    let calls = session.calls();
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert!(
        calls.values().all(|steps| *steps == ["PENDING", "AUTHORIZED", "EXECUTING", "COMPLETED"]),
        "{calls:?}"
    );
    assert!(sandbox.project().join("a.txt").exists() && sandbox.project().join("two.txt").exists());
    let state = session.state();
    assert_eq!(state["task"]["writes"], 2, "{state:#}");
    let insights = crate::insights::insights(&sandbox, &session);
    assert_eq!(insights["tokens"]["by_agent"]["main"]["messages"], 2, "{insights:#}");
    verifies(&sandbox, &session);
}

/// Without a rollout file the events say what the model used.
#[test]
fn tokens_are_counted_where_codex_keeps_no_file() {
    let sandbox = Sandbox::new();
    let model = Model::new([bash("echo one"), Turn::text("Done.")]);
    let run = Codex::guarded(&sandbox, &model).start(&["exec", "--ephemeral"], "look");
    let session = session(&sandbox, &run);
    assert!(!home(&sandbox).join("sessions").exists(), "Codex kept a file");
    let insights = crate::insights::insights(&sandbox, &session);
    let used = &insights["tokens"]["by_agent"]["main"];
    assert_eq!(used["messages"], 2, "{insights:#}");
    assert!(used["input"].as_u64() > Some(0) && used["output"].as_u64() > Some(0), "{insights:#}");
    assert_eq!(insights["tokens"]["by_model"]["gpt-5"], *used, "{insights:#}");
}

/// What is typed into a running command is asked about nowhere, so no command may wait for it.
#[test]
fn a_bare_shell_is_refused() {
    let sandbox = Sandbox::new();
    let tty = |line: &str| Turn::call("exec_command", json!({"cmd": line, "tty": true}));
    let model = Model::new([
        tty("bash"),
        tty("python3 -i"),
        bash("apply_patch <<'E'\n*** Begin Patch\nE"),
        Turn::text("No."),
    ]);
    let run = Codex::guarded(&sandbox, &model).run(". open a shell");
    assert_eq!(last_words(&run), "No.", "{run:?}");
    let refused = results(&model);
    assert!(
        refused[0].contains("waits for what is typed into it") && refused[0].contains("bash -c"),
        "{refused:?}"
    );
    assert!(refused[1].contains("waits for what is typed into it"), "{refused:?}");
    assert!(refused[2].contains("use the tool `apply_patch` itself"), "{refused:?}");
}

/// What guards the session is written by no call: hooks, trust, agents, the record.
#[test]
fn what_guards_is_not_written() {
    let sandbox = Sandbox::new();
    let agent = home(&sandbox).join("agents/critic.toml");
    let ledgers = sandbox.data().join("sessions/codex/x");
    let model = Model::new([
        bash("cp /dev/null $CODEX_HOME/hooks.json"),
        bash("echo >> ~/.codex/config.toml"),
        bash(&format!("rm {}; touch {}", agent.display(), ledgers.display())),
        Turn::text("No."),
    ]);
    let run = Codex::guarded(&sandbox, &model).run(". switch it off");
    assert_eq!(last_words(&run), "No.", "{run:?}");
    let refused = results(&model);
    assert_eq!(refused.len(), 3, "{refused:?}");
    assert!(refused.iter().all(|text| text.contains("no tool call may")), "{refused:?}");
    assert!(agent.is_file() && !ledgers.exists());
}

/// A block holds in the next call and the next prompt, until a person lifts it.
#[test]
fn a_blocked_session_goes_on_once_a_person_clears_it() {
    let sandbox = Arc::new(Sandbox::new());
    let outside = Arc::clone(&sandbox);
    let block = move || outside.person(&["block", "--reason", "the plan was dropped"]).said(&["blocked"]);
    let model = Model::new([
        bash("touch before"),
        bash("touch meanwhile").after(block),
        Turn::text("Blocked."),
        bash("touch afterwards"),
        Turn::text("Back at work."),
    ]);
    let codex = Codex::guarded(&sandbox, &model);
    let there = |name: &str| sandbox.project().join(name).exists();
    let first = codex.run(". make two files");
    assert!(there("before") && !there("meanwhile"), "{first:?}");
    let asked = model.requests().len();
    let again = codex.resume(&id(&first), ". go on");
    assert_eq!(model.requests().len(), asked, "a blocked prompt does not reach the model: {again:?}");
    sandbox.person(&["clear-block", &id(&first), "--yes"]).said(&["no longer blocked"]);
    assert_eq!(last_words(&codex.resume(&id(&first), ". now go on")), "Back at work.");
    assert!(there("afterwards") && !there("meanwhile"));
    verifies(&sandbox, &session(&sandbox, &first));
}

/// A guard that is broken refuses, with the reason.
#[test]
fn a_broken_guard_refuses() {
    let sandbox = Sandbox::new().with("AOPS_TEST_PANIC", "1");
    let model = Model::new([bash("touch unseen"), Turn::text("I could not.")]);
    let run = Codex::guarded(&sandbox, &model).run(". make a file");
    assert!(!sandbox.project().join("unseen").exists() && model.requests().is_empty(), "{run:?}");
    let broken =
        sandbox.command(BINARY).args(["PreToolUse", "--client", "codex"]).write_stdin("{").output().unwrap();
    assert_eq!((broken.status.code(), broken.stdout.len()), (Some(2), 0));
    assert!(String::from_utf8_lossy(&broken.stderr).contains("aops-hook is broken"));
}

/// The name in the registration decides: without it an event of Codex is foreign, with an unknown one too.
#[test]
fn only_a_registration_by_name_counts() {
    let sandbox = Sandbox::new();
    let payload = json!({"session_id": "s", "transcript_path": null, "cwd": sandbox.project(), "hook_event_name": "PreToolUse",
        "model": "gpt-5", "permission_mode": "default", "turn_id": "t", "tool_name": "Bash", "tool_use_id": "c",
        "tool_input": {"command": "touch x"}});
    let run = |arguments: &[&str]| {
        let mut command = sandbox.command(BINARY);
        command.args(arguments).write_stdin(payload.to_string()).output().unwrap()
    };
    for arguments in [&["PreToolUse"][..], &["PreToolUse", "--client", "stranger"]] {
        let output = run(arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.success() && output.stdout.is_empty() && told.lines().count() == 1,
            "{arguments:?}: {told}"
        );
    }
    let output = run(&["PreToolUse", "--client", "codex"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{output:?}");
    let _: Value = payload;
}
