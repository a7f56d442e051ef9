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
    for key in
        ["session_id", "phase", "sandbox", "blocked", "block_reason", "owed", "audit", "task", "waivers"]
    {
        assert!(said.get(key).is_some(), "{key} in {said:#}");
    }
    assert_eq!((&said["session_id"], &said["phase"]), (&json!(session.id), &json!("execute")));
    assert_eq!(said["task"], json!({"n": 1, "intent": "add a greeting", "waiver": null, "writes": 0}));
    assert_eq!((&said["waivers"], &said["blocked"]), (&json!([]), &json!(false)));
    sandbox.person(&["block", "--reason", "let me look"]).said(&["blocked"]);
    assert_eq!(status(&sandbox)["block_reason"], "let me look");
    sandbox.person(&["status"]).said(&["blocked   let me look", "clear-block"]);
}

/// A run that has ended is not what a person means while another client is open.
#[test]
#[expect(clippy::disallowed_methods, reason = "a client that dies")]
fn a_running_session_comes_before_one_that_ended() {
    let mut client = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
    let sandbox = Sandbox::new().of_client(client.id());
    let (open, ended) = (sandbox.session(), sandbox.session());
    for session in [&open, &ended] {
        let _ = session.start("startup");
        let _ = session.prompt("add a greeting");
    }
    assert_eq!(status(&sandbox)["session_id"], ended.id.as_str(), "both run: the newest");
    let _ = ended.end();
    assert_eq!(status(&sandbox)["session_id"], open.id.as_str());
    // One whose client died is no longer open.
    client.kill().unwrap();
    client.wait().unwrap();
    assert_eq!(status(&sandbox)["session_id"], ended.id.as_str());
}

#[test]
fn a_session_is_named_by_an_option_too() {
    // The same moment for both calls: `status` says how long ago the session began.
    let sandbox = Sandbox::new().with("AOPS_TEST_NOW_MS", "1768298400000");
    let first = sandbox.working();
    let _ = sandbox.working();
    let short = &first.id[..8];
    for verb in ["status", "log", "transcript", "verify", "replay"] {
        let named = sandbox.person(&[verb, "--session", short]);
        assert_eq!((named.code, &named.out), (Some(0), &sandbox.person(&[verb, short]).out), "{verb}");
        sandbox.person(&[verb, short, "--session", short]).failed(2, &["cannot be used with"]);
    }
    sandbox.person(&["block", "--session", short, "--reason", "x"]).said(&[&first.id]);
    sandbox.person(&["clear-block", "--session", short, "--yes"]).said(&[&first.id, "no longer blocked"]);
}

/// The answer to a question ends the turn in silence; what it left is told where a person looks.
#[test]
fn a_task_that_a_question_left_is_shown() {
    let sandbox = Sandbox::repository("0");
    sandbox.configure("tracker.command = \"none\"\n");
    let session = sandbox.working();
    session.write("a.txt").silent();
    let asked = json!({"session_id": session.id, "cwd": sandbox.project()}).to_string();
    let line = || statusline(&sandbox, asked.clone()).out;
    assert!(!line().contains("unfinished") && !sandbox.person(&["status"]).out.contains("unfinished"));
    let _ = session.prompt("what does it do?");
    session.stop("It greets.").silent();
    sandbox.person(&["status"]).said(&["unfinished 1: add a greeting (1 change); `aops-hook task` shows it"]);
    assert!(line().contains(" · unfinished: add a greeting (`aops-hook task`)"), "{}", line());
    sandbox.person(&["task"]).said(&["in hand"]);
    sandbox.person(&["task", "drop", "--yes"]).said(&["owes nothing more"]);
    assert!(!sandbox.person(&["status"]).out.contains("unfinished"));
}

/// The same where the question has a plan of its own: the task is parked, and goes on when the person does.
#[test]
fn a_task_whose_place_a_question_took_is_parked() {
    for sandbox in [Sandbox::repository("0"), Sandbox::new()] {
        let in_git = sandbox.project().join(".git").exists();
        sandbox.configure("tracker.command = \"none\"\n");
        let session = sandbox.working();
        session.write("a.txt").silent();
        let _ = session.prompt("what does it do?");
        session.hydrate("simple-question", "new");
        session.stop("It greets.").silent();
        let changed = if in_git { "1 file changed, not committed" } else { "something changed" };
        let words = format!("parked:   {changed} (add a greeting); `aops-hook task resume` takes it up");
        sandbox.person(&["status"]).said(&[&words]);
        let asked = json!({"session_id": session.id, "cwd": sandbox.project()}).to_string();
        statusline(&sandbox, asked).said(&["unfinished: add a greeting (`aops-hook task`)"]);
        let _ = session.prompt("now greet in French too");
        session.hydrate("minor-edit", "continue");
        let task = session.state()["task"].clone();
        assert_eq!(
            (&task["intent"], &task["writes"]),
            (&json!("add a greeting"), &json!(1)),
            "in git: {in_git}"
        );
        session.write("b.txt").silent();
        session.stop("Done.").refused(&["qa-verifier"]);
        sandbox.person(&["verify", &session.id]).said(&["intact"]);
    }
    // What is committed is not left.
    let sandbox = Sandbox::repository("0");
    sandbox.configure("tracker.command = \"none\"\n");
    let session = sandbox.working();
    session.write("a.txt").silent();
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "a"]);
    let _ = session.prompt("what does it do?");
    session.hydrate("simple-question", "new");
    assert!(!sandbox.person(&["status"]).out.contains("parked"));
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
    for odd in ["", "not json", "[]", "{}", r#"{"session_id": 3}"#, r#"{"session_id": "nobody", "cwd": "/"}"#]
    {
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
            "mode      observe: blocks only changes to aops-hook itself; what `loop` would",
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
    session
        .pre(&session.call("Write", json!({"file_path": sandbox.project().join("x"), "content": "x"})))
        .silent();
}

/// What is owed and what an agent said of an earlier state do not contradict each other.
#[test]
fn a_verdict_about_an_earlier_state_is_outdated() {
    for mode in ["loop", "strict"] {
        let sandbox = Sandbox::repository("0");
        sandbox.configure(&format!("{}mode.level = \"{mode}\"\n", crate::support::NO_TRACKER));
        let session = sandbox.begun("add a greeting");
        session.hydrate("feature-dev", "new");
        session.critic("PROCEED").silent();
        session.write("a.txt").silent();
        session.qa("VERIFIED").silent();
        let shown = || sandbox.person(&["status"]).out;
        assert!(shown().contains("qa-verifier VERIFIED\n"), "{}", shown());
        session.write("b.txt").silent();
        let now = shown();
        assert!(
            now.contains("owed      qa-verifier") && now.contains("qa-verifier VERIFIED (outdated)"),
            "{now}"
        );
        assert!(now.contains("critic PROCEED,"), "the plan still holds: {now}");
        session.qa("VERIFIED").silent();
        assert!(shown().contains("qa-verifier VERIFIED\n"), "{}", shown());
        session.hydrate("feature-dev", "new");
        let next = shown();
        assert!(next.contains("critic PROCEED (outdated)"), "{next}");
    }
}

/// Mode `strict`: until a prompt has its plan, the task before it is not shown as the current one.
#[test]
fn a_prompt_without_a_plan_is_shown_in_place_of_the_finished_task() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.working();
    session.write("a.txt").silent();
    session.qa("VERIFIED").silent();
    session.reflect().silent();
    session.bash("git add -A && git commit -q -m a && git push -q");
    session.stop("Done.").silent();
    sandbox.person(&["status"]).said(&["task ", "add a greeting", "workflow  minor-edit"]);
    let _ = session.prompt("write the manual");
    let said = sandbox.person(&["status"]).out;
    assert!(said.contains("write the manual (no plan yet)"), "{said}");
    assert!(!said.contains("add a greeting") && !said.contains("workflow "), "{said}");
    session.hydrate("feature-dev", "new");
    let said = sandbox.person(&["status"]).out;
    assert!(said.contains("feature-dev") && !said.contains("no plan yet"), "{said}");
}
