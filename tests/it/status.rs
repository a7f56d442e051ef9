//! `status` and `statusline`: where a session stands, for people and in one line.

use crate::support::{Answer, BINARY, Sandbox};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

pub(crate) fn status(sandbox: &Sandbox) -> Value {
    sandbox.person(&["status", "--json"]).json()
}

#[test]
fn status_follows_the_loop() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    sandbox.person(&["status"]).said(&["phase     hydrate", "sandbox   shut", "waits for `prompt-hydrator`"]);
    session.hydrate("feature-dev", "new");
    sandbox.person(&["status"]).said(&[
        "phase     review",
        "waits for `critic`",
        "task      1: add a greeting (0 changes)",
        "workflow  feature-dev (wants critic, qa)",
        "agents    prompt-hydrator feature-dev",
    ]);
    session.agent("critic", r#"{"verdict": "PROCEED", "acceptance_criteria": [], "problems": []}"#).silent();
    assert_eq!(session.write("a.txt").code, Some(0));
    session.stop("Done.").refused(&["qa-verifier"]);
    let words = ["sandbox   open", "owed      qa-verifier, framework (stop refused once)", "audit     "];
    sandbox.person(&["status"]).said(&words);
    session.qa("VERIFIED").silent();
    assert_eq!(status(&sandbox)["owed"], json!(["framework"]), "what is owed now, not at the last stop");
}

#[test]
fn status_has_the_contracts_keys() {
    let sandbox = Sandbox::new();
    let session = sandbox.working();
    let said = status(&sandbox);
    for key in ["session_id", "phase", "sandbox", "blocked", "block_reason", "owed", "audit", "task", "waivers"] {
        assert!(said.get(key).is_some(), "{key} in {said:#}");
    }
    assert_eq!((&said["session_id"], &said["phase"]), (&json!(session.id), &json!("execute")));
    assert_eq!(said["task"], json!({"n": 1, "intent": "add a greeting", "waiver": null, "writes": 0}));
    assert_eq!((&said["waivers"], &said["blocked"]), (&json!([]), &json!(false)));
    sandbox.person(&["block", "--reason", "let me look"]).said(&["blocked"]);
    assert_eq!(status(&sandbox)["block_reason"], "let me look");
    sandbox.person(&["status"]).said(&["blocked   let me look", "clear-block"]);
}

fn statusline(sandbox: &Sandbox, input: impl Into<Vec<u8>>) -> Answer {
    let output = sandbox.command(BINARY).arg("statusline").write_stdin(input).output();
    Answer::of("", &output.unwrap())
}

#[test]
fn the_status_line_is_one_line() {
    let sandbox = Sandbox::new();
    let session = sandbox.working();
    let asked = |cwd: PathBuf| {
        json!({"session_id": session.id, "transcript_path": sandbox.sessions().join(format!("{}.jsonl", session.id)),
            "cwd": cwd, "workspace": {"current_dir": cwd, "project_dir": sandbox.project()}})
        .to_string()
    };
    let line = || statusline(&sandbox, asked(sandbox.project()));
    assert_eq!(line().out, "aops: execute · sandbox open · mode strict\n");
    assert_eq!(session.write("a.txt").code, Some(0));
    line().said(&["owes qa-verifier, framework"]);
    sandbox.person(&["waive", "qa", "--for", "2h", "--reason", "x", "--yes"]).said(&["qa"]);
    line().said(&["owes framework · ", "waived qa 1"]);
    statusline(&sandbox, asked(sandbox.home())).said(&["aops: execute"]);
    sandbox.person(&["block", "--reason", "two\nlines"]).said(&["blocked"]);
    line().said(&["aops: blocked: two lines"]);
    assert_eq!(line().out.lines().count(), 1);
}

#[test]
fn the_status_line_never_complains() {
    let sandbox = Sandbox::new();
    let session = sandbox.working();
    for odd in ["", "not json", "[]", "{}", r#"{"session_id": 3}"#, r#"{"session_id": "nobody", "cwd": "/"}"#] {
        statusline(&sandbox, odd).silent();
    }
    statusline(&sandbox, vec![0xff, 0xfe]).silent();
    fs::write(session.folder().join("session-state.json"), "{").unwrap();
    let asked = json!({"session_id": session.id, "cwd": sandbox.project()}).to_string();
    statusline(&sandbox, asked).silent();
}

/// `shut` is said of what really refuses, and the mode is named.
#[test]
fn nothing_is_called_shut_where_nothing_is() {
    for (config, words, line) in [
        (
            "mode.level = \"observe\"\n",
            "mode      observe: only the guard and a block refuse; what `loop` would",
            "aops: mode observe\n",
        ),
        ("mode.level = \"guard\"\n", "mode      guard: ", "aops: mode guard\n"),
        ("gates.sandbox = \"off\"\n", "sandbox   off: changes pass", " · mode strict\n"),
        ("gates.sandbox = \"warn\"\n", "sandbox   warns: changes pass", " · sandbox warns · mode strict\n"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.configure(&format!("tracker.command = \"none\"\n{config}"));
        let session = sandbox.session();
        let _ = session.start("startup");
        let _ = session.prompt("add a greeting");
        let said = sandbox.person(&["status"]);
        said.said(&[words]);
        let asked = json!({"session_id": session.id, "cwd": sandbox.project()}).to_string();
        let shown = statusline(&sandbox, asked).out;
        assert!(shown.ends_with(line), "{config}: {shown}");
        for text in [said.out, shown] {
            assert!(!text.contains("shut") && !text.contains("waits for"), "{config}: {text}");
        }
        assert_eq!(status(&sandbox)["sandbox"], "open", "{config}");
    }
    let sandbox = Sandbox::new();
    sandbox.configure("mode.level = \"observe\"\n");
    let _ = sandbox.session().start("startup");
    assert_eq!(status(&sandbox)["mode"], "observe");
    sandbox.person(&["block", "--reason", "x"]).said(&["blocked"]);
    sandbox.person(&["status"]).said(&["sandbox   shut: nothing passes"]);
}

/// A halted session names its report and the way out, whoever halted it.
#[test]
fn a_halted_session_says_what_lets_it_go_on() {
    let sandbox = Sandbox::new();
    let session = sandbox.working();
    let _ = session.agent("custodiet", json!({"verdict": "BLOCK", "violation": "out of scope"}));
    let report = session.folder().join("halt-report.md");
    sandbox.person(&["status"]).said(&[
        "blocked   out of scope",
        &format!("report    {}", report.display()),
        &format!("way out   look at it, then run `aops-hook clear-block {}`", session.id),
    ]);
    let halted = sandbox.session();
    let _ = halted.start("startup");
    let _ = halted.prompt("add a greeting");
    halted.hydrate("feature-dev", "new");
    let _ = halted.critic("HALT");
    let said = sandbox.person(&["status"]);
    said.said(&["halted    the plan has no test", "way out   your next prompt begins anew"]);
    assert_eq!(said.out.matches("way out").count(), 1, "{}", said.out);
}

/// In mode `loop` there is nothing to wait for before the first prompt, and nobody says that there is.
#[test]
fn nothing_is_called_shut_before_the_first_prompt() {
    let sandbox = Sandbox::new();
    sandbox.configure("[mode]\nlevel = \"loop\"\n");
    let session = sandbox.session();
    let _ = session.start("startup");
    let told = sandbox.person(&["status", "--json"]).json();
    assert_eq!(told["sandbox"], "open", "{told:#}");
    let words = sandbox.person(&["status"]);
    assert!(!words.out.contains("shut"), "{words:?}");
    session.pre(&session.call("Write", json!({"file_path": sandbox.project().join("x"), "content": "x"}))).silent();
}
