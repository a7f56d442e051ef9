//! `why`: the evidence behind a refusal.

use crate::support::Sandbox;
use serde_json::json;
use std::fs;

#[test]
fn why_explains_the_last_refusal() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let _ = session.start("startup");
    sandbox.person(&["why"]).said(&["nothing was refused"]);
    let _ = session.prompt("add a greeting");
    session.write("a.txt").refused(&["plan"]);
    let prompt = session.sequence_number(|entry| entry["with"]["event"] == "UserPromptSubmit");
    let refusal = session.sequence_number(|entry| entry["with"]["to"] == "DENIED");
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
    session.hydrate("feature-dev", "new");
    session.write("a.txt").refused(&["critic"]);
    sandbox
        .person(&["why"])
        .said(&["verdict  prompt-hydrator: feature-dev", "since: no verdict of `critic`"]);
    sandbox.person(&["why", &refusal.to_string()]).said(&["no report of `prompt-hydrator`"]);
}

#[test]
fn why_knows_every_gate_of_the_loop() {
    let sandbox = Sandbox::new();
    let session = sandbox.working();
    let why = |words: &[&str]| sandbox.person(&["why"]).said(words);
    let settings = json!({"file_path": sandbox.home().join(".claude/settings.json"), "content": "{}"});
    session.pre(&session.call("Write", settings)).refused(&["settings"]);
    why(&["`guard` refused", "said     this changes the client's own settings", "next     ask the user"]);
    assert_eq!(session.write("a.txt").code, Some(0));
    session.stop("Done.").refused(&["qa-verifier"]);
    why(&[
        "`owed` refused",
        "asked    Stop by the main agent: the end of the turn",
        "the change: Write a.txt",
        "no report of `qa-verifier`",
        "no report of `framework`",
        "1. `qa-verifier`",
    ]);
    let _ = session.begin_agent("q1", "qa-verifier");
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
    let session = sandbox.working();
    assert_eq!(session.write("a.txt").code, Some(0));
    let passed = session.sequence_number(|entry| entry["with"]["to"] == "AUTHORIZED").to_string();
    sandbox.person(&["why", &passed]).said(&["no gate objected, so it passed", "Write: "]);
    sandbox.person(&["why", "1"]).said(&["entry 1 answers no event: open"]);
    sandbox.person(&["why", "9999"]).failed(2, &["no entry 9999", "hint: `aops-hook log`"]);
    sandbox.person(&["why", "--session", "nobody"]).failed(2, &["no session `nobody`"]);
    sandbox.person(&["why", "nobody"]).failed(2, &["no session `nobody`"]);
    session.stop("Done.").refused(&["qa-verifier"]);
    sandbox.person(&["why", &session.id]).said(&["`owed` refused", &session.id]);
    sandbox.person(&["why", &passed, "--session", &session.id]).said(&["no gate objected"]);
    sandbox.person(&["why", &session.id, "--session", &session.id]).failed(2, &["named twice"]);
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
    assert!(
        what.starts_with(
            "check `lint`, [sandbox]/home/.config/aops/config.toml:8: `echo bad; exit 7` ended with exit 7 after "
        ),
        "{what}"
    );
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

/// Without an argument it is the last refusal that a person saw, in whichever session of the project; a
/// rehearsal is none.
#[test]
fn why_finds_the_last_refusal_of_the_project() {
    let sandbox = Sandbox::new();
    let refused = sandbox.session();
    let _ = refused.start("startup");
    let _ = refused.prompt("add a greeting");
    refused.write("a.txt").refused(&["plan"]);
    let newer = sandbox.session();
    let _ = newer.start("startup");
    let _ = newer.prompt("what is this?");
    let said = sandbox.person(&["why", "--json"]).json();
    assert_eq!((&said["session_id"], &said["gate"]), (&json!(refused.id), &json!("sandbox")));
    let other = format!("another session than `aops-hook status` shows: in {} nothing was refused", newer.id);
    sandbox.person(&["why"]).said(&[&format!("session  {}", refused.id), "`sandbox` refused", &other]);
    sandbox.person(&["why", "--session", &newer.id]).said(&["nothing was refused"]);

    let observed = Sandbox::new();
    observed.configure("tracker.command = \"none\"\nmode.level = \"observe\"\nmode.rehearse = \"strict\"\n");
    let session = observed.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    let record =
        json!({"file_path": observed.sessions().join("20260101-00000000/ledger.jsonl"), "content": "{}"});
    session.pre(&session.call("Write", record)).refused(&["our record"]);
    session.write("a.txt").silent();
    observed.person(&["why"]).said(&["`guard` refused"]);
}

/// Both mean the session that runs, though another one was refused something later.
#[test]
fn why_and_status_mean_the_same_session() {
    let sandbox = Sandbox::new();
    let [running, ended] = [sandbox.session(), sandbox.session()];
    for session in [&running, &ended] {
        let _ = session.start("startup");
        let _ = session.prompt("add a greeting");
        session.write("a.txt").refused(&["plan"]);
    }
    let _ = ended.end();
    for verb in ["status", "why"] {
        assert_eq!(sandbox.person(&[verb, "--json"]).json()["session_id"], json!(running.id), "{verb}");
    }
    assert!(!sandbox.person(&["why"]).out.contains("another session"));
}

/// The end of a call is explained by what let it pass, and nowhere is there raw JSON.
#[test]
fn why_of_an_end_is_why_it_was_let_pass() {
    let sandbox = Sandbox::new();
    let session = sandbox.working();
    assert_eq!(session.write("a.txt").code, Some(0));
    let done = session.sequence_number(|entry| {
        entry["with"]["to"] == "COMPLETED" && entry["with"]["call"]["tool"] == "Write"
    });
    sandbox.person(&["why", &done.to_string()]).said(&["no gate objected, so it passed", "Write: "]);
    session.stop("Done.").refused(&["qa-verifier"]);
    let said = sandbox.person(&["why"]).out;
    assert!(!said.contains("{\""), "{said}");
}

/// A rule that only warns stops nothing; it is in the record all the same.
#[test]
fn a_warning_of_your_rule_is_recorded_and_shown() {
    let sandbox = Sandbox::new();
    sandbox.configure(
        "tracker.command = \"none\"\nmode.level = \"guard\"\n[[rule]]\nid = \"ci\"\ncommand = \"make deploy\"\naction = \"warn\"\nreason = \"deployments are made by CI\"\n",
    );
    let session = sandbox.begun("build it");
    let calls = ["make", "make deploy"].map(|line| session.call("Bash", json!({"command": line})));
    for (call, said) in calls.iter().zip([false, true]) {
        let answer = session.pre(call);
        assert_eq!(answer.out.contains("Your rule `ci` warns about this"), said, "{answer:?}");
        let _ = session.post(call);
    }
    let entry = session.sequence_number(|entry| entry["with"]["asks"]["warned"] == json!(["ci"]));
    let log = sandbox.person(&["log"]).out;
    assert_eq!(log.matches("warned by your rule `ci`").count(), 1, "{log}");
    assert!(!sandbox.person(&["log", "--refused"]).out.contains("make"), "nothing was refused");
    for said in [sandbox.person(&["why"]), sandbox.person(&["why", &entry.to_string()])] {
        said.said(&["`rules` warned about this, and it passed", "make deploy", "warned by your rule `ci`"]);
    }
    assert_eq!(sandbox.person(&["why", "--json"]).json()["warned"], json!(["ci"]));
    let rules = sandbox.person(&["insights", "--json"]).json()["rules"].clone();
    assert_eq!(rules, json!({"rules:ci": {"allowed": 0, "asked": 0, "refused": 0, "warned": 1}}));
    sandbox.person(&["insights"]).said(&["rules:ci 1 warned"]);
    // What is refused is no warning.
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

/// A command that left the tree as it was is not the change that has to be verified.
#[test]
fn why_names_the_last_change_and_no_test_run() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.working();
    session.write("a.txt").silent();
    let call = session.call("Bash", json!({"command": "make test"}));
    session.pre(&call).silent();
    session.post(&call).silent();
    session.stop("Done.").refused(&["qa-verifier"]);
    let said = sandbox.person(&["why"]).out;
    assert!(said.contains("the change: Write a.txt") && !said.contains("make test"), "{said}");
}
