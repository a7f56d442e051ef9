//! What people see of the loop: `status`, `statusline`, `waive`, `why`, `simulate`, `replay`.

use crate::support::{Answer, Sandbox, Session};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

const PLAN: &str = r#"{"workflow": "feature-dev", "intent": "add a greeting", "task": "new",
    "acceptance_criteria": ["it greets"], "steps": ["write it"]}"#;
const EDIT: &str = r#"{"workflow": "minor-edit", "intent": "add a greeting", "task": "new",
    "acceptance_criteria": ["it greets"], "steps": ["write it"]}"#;

/// One of our agents from start to verdict.
fn agent(session: &Session, id: &str, name: &str, block: &str) -> Answer {
    let _ = session.event("SubagentStart", json!({"agent_id": id, "agent_type": name}));
    let report = format!("My report.\n\n```aops\n{block}\n```\n");
    session
        .event("SubagentStop", json!({"agent_id": id, "agent_type": name, "last_assistant_message": report}))
}

fn write(session: &Session, sandbox: &Sandbox, name: &str) -> Answer {
    let input = json!({"file_path": sandbox.project().join(name), "content": "x"});
    let call = session.call("Write", input);
    let answer = session.pre(&call);
    if answer.code == Some(0) {
        let _ = session.post(&call);
    }
    answer
}

/// Started, prompted, with a plan that needs no review.
fn ready(sandbox: &Sandbox) -> Session<'_> {
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    agent(&session, "a1", "prompt-hydrator", EDIT).silent();
    session
}

/// Every file below home, project and data, with its bytes.
fn files(sandbox: &Sandbox) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![sandbox.home(), sandbox.project(), sandbox.data(), sandbox.tmp()];
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(&folder).unwrap().flatten() {
            if item.path().is_dir() {
                found.insert(item.path(), Vec::new());
                folders.push(item.path());
            } else {
                found.insert(item.path(), fs::read(item.path()).unwrap());
            }
        }
    }
    found
}

fn status(sandbox: &Sandbox) -> Value {
    sandbox.person(&["status", "--json"]).json()
}

// -- status

#[test]
fn status_follows_the_loop() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    sandbox.person(&["status"]).said(&["phase     hydrate", "sandbox   shut", "waits for `prompt-hydrator`"]);
    agent(&session, "a1", "prompt-hydrator", PLAN).silent();
    sandbox.person(&["status"]).said(&[
        "phase     review",
        "waits for `critic`",
        "task      1: add a greeting (0 changes)",
        "workflow  feature-dev (wants critic, qa)",
        "agents    prompt-hydrator feature-dev",
    ]);
    agent(&session, "a2", "critic", r#"{"verdict": "PROCEED", "acceptance_criteria": [], "problems": []}"#)
        .silent();
    assert_eq!(write(&session, &sandbox, "a.txt").code, Some(0));
    session.stop("Done.").refused(&["qa-verifier"]);
    let words = ["sandbox   open", "owed      qa-verifier, framework (stop refused once)", "audit     "];
    sandbox.person(&["status"]).said(&words);
    agent(&session, "a3", "qa-verifier", r#"{"verdict": "VERIFIED", "issues": []}"#).silent();
    assert_eq!(status(&sandbox)["owed"], json!(["framework"]), "what is owed now, not at the last stop");
}

#[test]
fn status_has_the_contracts_keys() {
    let sandbox = Sandbox::new();
    let session = ready(&sandbox);
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

// -- waive

#[test]
fn a_waiver_lifts_one_gate_and_ends_by_itself() {
    let sandbox = Sandbox::new().with("AOPS_TEST_NOW_MS", "1768298400000");
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    write(&session, &sandbox, "a.txt").refused(&["sandbox"]);
    let waive = ["waive", "sandbox", "--for", "10m", "--reason", "I watch", "--yes"];
    sandbox.person(&waive).said(&["`sandbox` is waived for 10 min", &session.id]);
    let wanted = json!([{"gate": "sandbox", "reason": "I watch", "until": "2026-01-13T10:10:00.000Z"}]);
    assert_eq!(status(&sandbox)["waivers"], wanted);
    sandbox.person(&["status"]).said(&["waived    sandbox for 10 min more: I watch"]);
    assert_eq!(write(&session, &sandbox, "b.txt").code, Some(0));
    let later = sandbox.with("AOPS_TEST_NOW_MS", "1768299000000");
    assert_eq!(status(&later)["waivers"], json!([]));
    let again = Session::new(&later, status(&later)["session_id"].as_str().unwrap());
    let call = json!({"tool_name": "Write", "tool_use_id": "late", "tool_input": {"file_path": "c.txt", "content": ""}});
    again.event("PreToolUse", call).refused(&["sandbox"]);
}

#[test]
fn a_waiver_is_a_persons_and_not_for_every_gate() {
    let sandbox = Sandbox::new();
    let session = ready(&sandbox);
    let before = session.entries().len();
    let with = |gate: &'static str| ["waive", gate, "--for", "10m", "--reason", "x"];
    sandbox.person(&with("qa")).failed(2, &["needs a person at a terminal", "--yes"]);
    sandbox.inside(&[&with("qa")[..], &["--yes"]].concat()).failed(2, &["inside a tool call"]);
    for gate in ["block", "guard", "rules"] {
        let said = sandbox.person(&[&with(gate)[..], &["--yes"]].concat());
        said.failed(2, &[gate, "cannot be waived", "hint: "]);
    }
    sandbox.person(&[&with("everything")[..], &["--yes"]].concat()).failed(2, &["no gate", "sandbox, audit"]);
    for odd in ["10", "soon", "0m", "-5m"] {
        sandbox
            .person(&["waive", "qa", "--for", odd, "--reason", "x", "--yes"])
            .failed(2, &["not a duration", "10m"]);
    }
    sandbox.person(&["waive", "qa", "--for", "1m", "--reason", " ", "--yes"]).failed(2, &["needs a reason"]);
    assert_eq!(session.entries().len(), before, "nothing of this was recorded");
    for gate in ["sandbox", "audit", "checks", "qa", "reflect", "close"] {
        let id = session.id.as_str();
        let said = sandbox.person(&[&with(gate)[..], &["--yes", "--json", "--session", id]].concat()).json();
        assert_eq!((&said["gate"], &said["session_id"]), (&json!(gate), &json!(id)));
    }
    assert_eq!(session.entries().last().unwrap()["type"], "waive");
}

/// Whatever the task owes can be waived, one by one.
#[test]
fn waived_debts_are_not_owed() {
    let sandbox = Sandbox::new();
    let session = ready(&sandbox);
    assert_eq!(write(&session, &sandbox, "a.txt").code, Some(0));
    session.stop("Done.").refused(&["qa-verifier", "framework"]);
    for gate in ["qa", "reflect"] {
        sandbox.person(&["waive", gate, "--for", "1h", "--reason", "x", "--yes"]).said(&[gate]);
    }
    assert_eq!(status(&sandbox)["owed"], json!([]));
    session.stop("Done.").silent();
}

// -- statusline

fn statusline(sandbox: &Sandbox, input: impl Into<Vec<u8>>) -> Answer {
    let output = sandbox.command(crate::support::BINARY).arg("statusline").write_stdin(input).output();
    Answer::of("", &output.unwrap())
}

#[test]
fn the_status_line_is_one_line() {
    let sandbox = Sandbox::new();
    let session = ready(&sandbox);
    let asked = |cwd: PathBuf| {
        json!({"session_id": session.id, "transcript_path": sandbox.sessions().join(format!("{}.jsonl", session.id)),
            "cwd": cwd, "workspace": {"current_dir": cwd, "project_dir": sandbox.project()}})
        .to_string()
    };
    let line = || statusline(&sandbox, asked(sandbox.project()));
    assert_eq!(line().out, "aops: execute · sandbox open\n");
    assert_eq!(write(&session, &sandbox, "a.txt").code, Some(0));
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
    let session = ready(&sandbox);
    for odd in ["", "not json", "[]", "{}", r#"{"session_id": 3}"#, r#"{"session_id": "nobody", "cwd": "/"}"#]
    {
        statusline(&sandbox, odd).silent();
    }
    statusline(&sandbox, vec![0xff, 0xfe]).silent();
    fs::write(session.folder().join("session-state.json"), "{").unwrap();
    let asked = json!({"session_id": session.id, "cwd": sandbox.project()}).to_string();
    statusline(&sandbox, asked).silent();
}

// -- why

#[test]
fn why_explains_the_last_refusal() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let _ = session.start("startup");
    sandbox.person(&["why"]).said(&["nothing was refused"]);
    let _ = session.prompt("add a greeting");
    write(&session, &sandbox, "a.txt").refused(&["sandbox"]);
    let prompt = number(&session, |entry| entry["with"]["event"] == "UserPromptSubmit");
    let refusal = number(&session, |entry| entry["with"]["to"] == "DENIED");
    let said = sandbox.person(&["why", "--json"]).json();
    assert_eq!((&said["seq"], &said["gate"], &said["ruling"]), (&refusal, &json!("sandbox"), &json!("deny")));
    let evidence = json!([{"seq": prompt, "what": "the prompt: add a greeting"},
        {"seq": null, "what": "no report of `prompt-hydrator`"}]);
    assert_eq!(said["evidence"], evidence);
    assert!(said["next"].as_str().unwrap().starts_with("start the agent `prompt-hydrator`"), "{said:#}");
    sandbox.person(&["why"]).said(&[
        &format!("entry {refusal} at"),
        "`sandbox` refused",
        "asked    PreToolUse by the main agent: Write: ",
        "stood    phase hydrate, sandbox shut",
        &format!("because  entry {prompt}: the prompt: add a greeting"),
        "since: no report of `prompt-hydrator`",
        "next     start the agent `prompt-hydrator`",
    ]);
    // The reviewed plan is the next thing missing.
    agent(&session, "a1", "prompt-hydrator", PLAN).silent();
    write(&session, &sandbox, "a.txt").refused(&["critic"]);
    sandbox
        .person(&["why"])
        .said(&["verdict  prompt-hydrator: feature-dev", "since: no verdict of `critic`"]);
    sandbox.person(&["why", &refusal.to_string()]).said(&["no report of `prompt-hydrator`"]);
}

#[test]
fn why_knows_every_gate_of_the_loop() {
    let sandbox = Sandbox::new();
    let session = ready(&sandbox);
    let why = |words: &[&str]| sandbox.person(&["why"]).said(words);
    let settings = json!({"file_path": sandbox.home().join(".claude/settings.json"), "content": "{}"});
    session.pre(&session.call("Write", settings)).refused(&["settings"]);
    why(&["`guard` refused", "said     `", "next     ask the user"]);
    assert_eq!(write(&session, &sandbox, "a.txt").code, Some(0));
    session.stop("Done.").refused(&["qa-verifier"]);
    why(&[
        "`owed` refused",
        "asked    Stop by the main agent: the end of the turn",
        "the last of 1 changes: Write",
        "no report of `qa-verifier`",
        "no report of `framework`",
        "1. `qa-verifier`",
    ]);
    let _ = session.event("SubagentStart", json!({"agent_id": "q1", "agent_type": "qa-verifier"}));
    let bad = json!({"agent_id": "q1", "agent_type": "qa-verifier", "last_assistant_message": "fine!"});
    session.event("SubagentStop", bad.clone()).refused(&["aops"]);
    session.event("SubagentStop", bad).refused(&["aops"]);
    why(&[
        "`report` refused",
        "by the agent `qa-verifier`",
        "SubagentStart (qa-verifier)",
        "it was sent on before",
    ]);
    let call = session.call("Bash", json!({"command": "ls"})).by("q1", "qa-verifier");
    session.pre(&call).silent();
    session.post(&call).silent();
    session.pre(&call).refused(&["already ended"]);
    why(&["`repeat` refused", "call  COMPLETED Bash"]);
    sandbox.person(&["block", "--reason", "let me look"]).said(&["blocked"]);
    session.pre(&session.call("Bash", json!({"command": "ls"}))).refused(&["let me look"]);
    why(&["`block` refused", "block  by a person: let me look"]);
}

#[test]
fn why_of_any_entry() {
    let sandbox = Sandbox::new();
    let session = ready(&sandbox);
    assert_eq!(write(&session, &sandbox, "a.txt").code, Some(0));
    let passed = number(&session, |entry| entry["with"]["to"] == "AUTHORIZED").to_string();
    sandbox.person(&["why", &passed]).said(&["no gate objected, so it passed", "Write: "]);
    sandbox.person(&["why", "1"]).said(&["entry 1 answers nobody: open"]);
    sandbox.person(&["why", "9999"]).failed(2, &["no entry 9999", "hint: `aops-hook log`"]);
    sandbox.person(&["why", "--session", "nobody"]).failed(2, &["no session `nobody`"]);
}

fn number(session: &Session, like: impl Fn(&Value) -> bool) -> Value {
    session.entries().iter().rfind(|entry| like(entry)).unwrap()["sequence_number"].clone()
}

// -- simulate

/// Whatever is asked, no byte of the world changes, and the answer is the one the hook then gives.
#[test]
fn simulate_says_what_the_hook_would_and_writes_nothing() {
    let sandbox = Sandbox::new().with("AOPS_TEST_NOW_MS", "1768298400000");
    without_tracker(&sandbox);
    let session = sandbox.session();
    let _ = session.start("startup");
    let file = sandbox.project().join("a.txt");
    let call = |id: &str| json!({"tool_name": "Write", "tool_use_id": id, "tool_input": {"file_path": file, "content": "x"}});
    let finding = format!("```aops\n{EDIT}\n```");
    let report =
        json!({"agent_id": "a1", "agent_type": "prompt-hydrator", "last_assistant_message": finding});
    let stop = json!({"last_assistant_message": "Done.", "background_tasks": []});
    let spawn = json!({"tool_name": "Agent", "tool_use_id": "t2", "tool_input": {"subagent_type": "critic", "prompt": "be kind"}});
    let steps = [
        ("UserPromptSubmit", json!({"prompt": "add a greeting"})),
        ("PreToolUse", call("t1")),
        ("PreToolUse", call("t1")), // ended: refused by another gate now
        ("PreToolUse", spawn),
        ("SubagentStart", json!({"agent_id": "a1", "agent_type": "prompt-hydrator"})),
        ("SubagentStop", report),
        ("PreToolUse", call("t3")),
        ("PreToolUse", call("t3")), // in flight: the same answer again
        ("Stop", stop),
        (
            "ConfigChange",
            json!({"source": "user_settings", "file_path": sandbox.home().join(".claude/settings.json")}),
        ),
        ("SessionEnd", json!({"reason": "other"})),
        ("SessionStart", json!({"source": "resume"})),
    ];
    for (event, fields) in steps {
        let payload = session.payload(event, fields);
        let before = files(&sandbox);
        let simulated = simulate(&sandbox, &payload);
        assert_eq!(files(&sandbox), before, "{event}: a file changed");
        let real = sandbox.hook(event, &payload);
        let said = &simulated["answer"];
        assert_eq!(
            said["exit"].as_i64().map(|code| i32::try_from(code).unwrap()),
            real.code,
            "{event}: {simulated:#}"
        );
        assert_eq!(
            (said["stdout"].as_str().unwrap(), said["stderr"].as_str().unwrap()),
            (&*real.out, &*real.err),
            "{event}"
        );
        assert_eq!(simulated["known"], true);
    }
}

/// Nobody writes in the background while a test looks.
fn without_tracker(sandbox: &Sandbox) {
    let folder = sandbox.home().join(".config/aops");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), "tracker.command = \"none\"\n").unwrap();
}

fn simulate(sandbox: &Sandbox, payload: &Value) -> Value {
    let output = sandbox
        .command(crate::support::BINARY)
        .args(["simulate", "-", "--json"])
        .write_stdin(payload.to_string())
        .output()
        .unwrap();
    Answer::of("", &output).json()
}

#[test]
fn simulate_in_a_session_nobody_knows() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let call =
        json!({"tool_name": "Write", "tool_use_id": "t", "tool_input": {"file_path": "a", "content": ""}});
    let payload = session.payload("PreToolUse", call);
    let before = files(&sandbox);
    let said = simulate(&sandbox, &payload);
    assert_eq!(files(&sandbox), before, "not even a folder is made");
    assert_eq!(
        (&said["known"], &said["gate"], &said["ruling"]),
        (&json!(false), &json!("sandbox"), &json!("deny"))
    );
    // A real start would send somebody to look for a tracker.
    let _ = simulate(&sandbox, &session.payload("SessionStart", json!({"source": "startup"})));
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(files(&sandbox), before, "nor in the background");
    let path = sandbox.put("payload.json", &payload.to_string());
    let before = files(&sandbox);
    sandbox.person(&["simulate", path.to_str().unwrap()]).said(&[
        "PreToolUse in a new session",
        "refused by `sandbox`",
        "hint: start the agent `prompt-hydrator`",
        "the hook would exit with 2",
        "permissionDecision",
    ]);
    assert_eq!(files(&sandbox), before);
}

/// A torn tail and an edited state are mended in mind only.
#[test]
fn simulate_repairs_nothing() {
    let sandbox = Sandbox::new();
    without_tracker(&sandbox);
    let session = ready(&sandbox);
    let ledger = session.folder().join("ledger.jsonl");
    let torn = [fs::read(&ledger).unwrap(), b"{\"_digest\":\"0123".to_vec()].concat();
    fs::write(&ledger, torn).unwrap();
    let state = session.folder().join("session-state.json");
    let edited = fs::read_to_string(&state)
        .unwrap()
        .replace("\"custodiet_blocked\": false", "\"custodiet_blocked\": true");
    fs::write(&state, edited).unwrap();
    let before = files(&sandbox);
    let payload = session.payload(
        "PreToolUse",
        json!({"tool_name": "Read", "tool_use_id": "t", "tool_input": {"file_path": "a"}}),
    );
    let said = simulate(&sandbox, &payload);
    assert_eq!(files(&sandbox), before);
    assert_eq!((&said["gate"], &said["ends_turn"]), (&json!("block"), &json!(true)), "{said:#}");
}

#[test]
fn simulate_of_what_is_no_event() {
    let sandbox = Sandbox::new();
    let odd = |text: &str| {
        let path = sandbox.put("odd.json", text);
        sandbox.person(&["simulate", path.to_str().unwrap()])
    };
    odd("not json").failed(2, &["not JSON", "hint: "]);
    odd("{}").failed(2, &["names no event"]);
    sandbox.person(&["simulate", "missing.json"]).failed(1, &["missing.json"]);
    odd(r#"{"hook_event_name": "PreToolUse"}"#).said(&[
        "cannot be judged",
        "`session_id` is missing",
        "exit with 2",
    ]);
}

// -- replay

#[test]
fn replay_of_an_unchanged_world_changes_nothing() {
    let sandbox = Sandbox::new();
    without_tracker(&sandbox);
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    write(&session, &sandbox, "a.txt").refused(&["sandbox"]);
    agent(&session, "a1", "prompt-hydrator", EDIT).silent();
    assert_eq!(write(&session, &sandbox, "a.txt").code, Some(0));
    let call = session.call("Bash", json!({"command": "ls"}));
    session.pre(&call).silent();
    session.post(&call).silent();
    session.pre(&call).refused(&["already ended"]);
    session.stop("Done.").refused(&["qa-verifier"]);
    agent(&session, "q1", "qa-verifier", r#"{"verdict": "VERIFIED", "issues": []}"#).silent();
    agent(&session, "c1", "custodiet", r#"{"verdict": "BLOCK", "violation": "scope"}"#).silent();
    session.pre(&session.call("Read", json!({"file_path": "a"}))).refused(&["scope"]);
    let before = files(&sandbox);
    let said = sandbox.person(&["replay", &session.id, "--json"]).json();
    assert_eq!(files(&sandbox), before);
    assert_eq!((&said["changed"], &said["left_out"]), (&json!([]), &json!({})), "{said:#}");
    assert!(said["judged"].as_u64().unwrap() >= 10, "{said:#}");
    sandbox.person(&["replay"]).said(&["verdicts judged again, none would change"]);
}

/// A plain file then; today the client's settings are there, and no tool call may write them.
#[test]
fn replay_shows_each_changed_verdict() {
    let sandbox = Sandbox::new();
    let session = ready(&sandbox);
    let settings = json!({"file_path": sandbox.project().join("other/settings.json"), "content": "{}"});
    session.pre(&session.call("Write", settings.clone())).silent();
    let passed = number(&session, |entry| entry["with"]["to"] == "AUTHORIZED");
    let config = sandbox.project().join("other");
    fs::rename(sandbox.home().join(".claude"), &config).unwrap();
    let moved = sandbox.with("CLAUDE_CONFIG_DIR", config);
    let said = moved.person(&["replay", "--json"]).json();
    let changed = said["changed"].as_array().unwrap();
    assert_eq!(changed.len(), 1, "{said:#}");
    assert_eq!((&changed[0]["seq"], &changed[0]["was"]["ruling"]), (&passed, &json!("pass")));
    assert_eq!((&changed[0]["now"]["ruling"], &changed[0]["now"]["gate"]), (&json!("deny"), &json!("guard")));
    moved.person(&["replay"]).said(&["1 would change", "pass → deny by `guard`", "Write: "]);
}

/// A rule that came later: what it says about then, and that a rule is not asked of what it does not match.
#[test]
fn replay_goes_by_todays_policy() {
    let sandbox = Sandbox::new();
    let session = ready(&sandbox);
    assert_eq!(write(&session, &sandbox, "db/1.sql").code, Some(0));
    assert_eq!(write(&session, &sandbox, "a.txt").code, Some(0));
    sandbox.person(&["replay"]).said(&["none would change"]);
    let rule = "[[rule]]\nid = \"db\"\npath = \"db\"\naction = \"deny\"\nreason = \"ask the DBA\"\n";
    sandbox.put(".aops/config.toml", rule);
    let said = sandbox.person(&["replay", "--json"]).json();
    let changed = said["changed"].as_array().unwrap();
    assert_eq!(changed.len(), 1, "{said:#}");
    assert!(changed[0]["asked"].as_str().unwrap().ends_with("db/1.sql"), "{said:#}");
    assert_eq!(changed[0]["now"]["gate"], "rules");
    sandbox.put(".aops/config.toml", "gates = 3");
    sandbox.person(&["replay"]).failed(2, &[".aops/config.toml"]);
}

#[test]
fn replay_counts_what_it_cannot_judge() {
    let sandbox = Sandbox::new();
    let session = ready(&sandbox);
    let long = session.call("Write", json!({"file_path": "a.txt", "content": "x".repeat(20_000)}));
    session.pre(&long).silent();
    let second = session.payload(
        "PreToolUse",
        json!({"tool_name": "Write", "tool_use_id": long.id, "tool_input": {"file_path": "b.txt", "content": ""}}),
    );
    sandbox.hook("PreToolUse", &second).refused(&["still running"]);
    let said = sandbox.person(&["replay", "--json"]).json();
    assert_eq!(said["changed"], json!([]));
    let counts: Vec<u64> =
        said["left_out"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).collect();
    assert_eq!(counts, [1, 1], "{said:#}");
    sandbox.person(&["replay"]).said(&["1 left out: the ledger keeps only the beginning of a long input"]);
}

#[test]
fn replay_of_a_damaged_ledger_is_an_integrity_failure() {
    let sandbox = Sandbox::new();
    let session = ready(&sandbox);
    let ledger = session.folder().join("ledger.jsonl");
    let text = fs::read_to_string(&ledger).unwrap().replacen("add a greeting", "add a GREETING", 1);
    fs::write(&ledger, text).unwrap();
    sandbox.person(&["replay"]).failed(4, &["STATE_"]);
}

/// A refusal of the user's own rule or check is traced to its line in the configuration.
#[test]
fn why_names_the_rule_and_the_check_by_file_and_line() {
    let sandbox = Sandbox::new();
    let file = sandbox.home().join(".config/aops/config.toml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let config = "[[rule]]\nid = \"no-force\"\ncommand = \"git push --force*\"\neffect = \"write\"\naction = \"deny\"\nreason = \"shared\"\n[[check]]\nid = \"lint\"\non = \"commit\"\nrun = \"echo bad; exit 7\"\n";
    fs::write(&file, config).unwrap();
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("go");
    let _ = sandbox.person(&["waive", "sandbox", "--for", "1h", "--reason", "r", "--yes"]);
    let line = |line: &str| session.pre(&session.call("Bash", json!({"command": line})));
    line("cd . && git push origin --force").refused(&["no-force"]);
    let why = sandbox.person(&["why", "--json"]).json();
    assert_eq!(why["gate"], "rules");
    let what = why["evidence"][0]["what"].as_str().unwrap();
    let wanted = "rule `no-force` (deny), [sandbox]/home/.config/aops/config.toml:2: command `git push --force*` met `git push origin --force`, effect `write`";
    assert_eq!(sandbox.scrub(what), wanted);
    let opened = why["evidence"][0]["seq"].as_u64().unwrap();
    assert_eq!(session.entries()[usize::try_from(opened).unwrap() - 1]["type"], "open");
    line("git commit -m x").refused(&["lint"]);
    let why = sandbox.person(&["why", "--json"]).json();
    assert_eq!(why["gate"], "checks");
    let what = sandbox.scrub(why["evidence"][0]["what"].as_str().unwrap());
    assert!(what.starts_with("check `lint`, [sandbox]/home/.config/aops/config.toml:8: `echo bad; exit 7` ended with exit 7 after "), "{what}");
    let seq = usize::try_from(why["evidence"][0]["seq"].as_u64().unwrap()).unwrap();
    assert_eq!(session.entries()[seq - 1]["type"], "check");
    // The line is today's; where the entry is no longer what it was, none is claimed.
    fs::write(&file, config.replace("exit 7", "exit 0")).unwrap();
    let why = sandbox.person(&["why", "--json"]).json();
    assert!(
        why["evidence"][0]["what"].as_str().unwrap().contains("no longer in the configuration"),
        "{why:#}"
    );
}
