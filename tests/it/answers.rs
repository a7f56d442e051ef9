//! A question to a person and its answer are facts: who asked about which line, what was answered, by whom,
//! after how long.

use crate::danger::begun;
use crate::support::{Answer, BINARY, Sandbox, Session};
use serde_json::{Value, json};
use std::fs;

const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

/// Mode `guard` with a person at the client.
fn attended() -> Sandbox {
    let sandbox = Sandbox::repository("0.0").with("CLAUDE_CODE_SESSION_ATTENDED", "1");
    sandbox.configure("tracker.command = \"none\"\nmode.level = \"guard\"\ndanger.git-discard = \"ask\"\n");
    sandbox
}

#[track_caller]
fn asked(answer: &Answer) {
    assert_eq!(answer.json()["hookSpecificOutput"]["permissionDecision"], "ask", "{answer:?}");
}

/// The facts of one kind.
fn facts(session: &Session, kind: &str) -> Vec<Value> {
    let entries = session.entries().into_iter().filter(|entry| entry["type"] == kind);
    entries.map(|entry| entry["with"].clone()).collect()
}

/// What the client adds to its transcript with a call's result.
fn decide(sandbox: &Sandbox, session: &Session, call: &str, decision: &str, source: &str, at: &str) {
    let fields = json!({"permissionDecision": {"decision": decision, "source": source}});
    add_result(sandbox, session, call, at, &fields);
}

fn add_result(sandbox: &Sandbox, session: &Session, call: &str, at: &str, fields: &Value) {
    let mut record = json!({
        "type": "user", "timestamp": at,
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": "x"}]},
    });
    record.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let path = sandbox.sessions().join(format!("{}.jsonl", session.id));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let old = fs::read_to_string(&path).unwrap_or_default();
    fs::write(&path, format!("{old}{record}\n")).unwrap();
}

/// A time so many milliseconds after an entry of this kind.
fn after(session: &Session, kind: &str, ms: i64) -> String {
    let entry = session.entries().into_iter().rfind(|entry| entry["type"] == kind).unwrap();
    let at = aops_core::text::time::parse(entry["ts"].as_str().unwrap()).unwrap();
    aops_core::text::time::timestamp(at + ms)
}

#[test]
fn a_yes_is_recorded_and_shown_everywhere() {
    let sandbox = attended();
    let session = begun(&sandbox);
    let call = session.call("Bash", json!({"command": format!("TOKEN={SECRET} git reset --hard HEAD~1")}));
    asked(&session.pre(&call));
    let question = &facts(&session, "question")[0];
    assert_eq!((&question["gate"], &question["rule"]), (&json!("danger"), &json!("git-discard")));
    let line = question["line"].as_str().unwrap();
    assert!(line.contains("git reset --hard HEAD~1") && !line.contains(SECRET), "{line}");
    sandbox.person(&["status"]).said(&["asks you", "git reset --hard HEAD~1"]);
    let _ = session.event(
        "PermissionRequest",
        json!({"tool_name": "Bash", "tool_input": call.input, "permission_suggestions": []}),
    );
    session.post(&call).silent();
    let answer = &facts(&session, "answer")[0];
    assert_eq!(
        (&answer["allowed"], &answer["by"]),
        (&json!(true), &json!("unknown")),
        "nothing proves it yet"
    );
    assert!(answer["ms"].is_u64(), "{answer}");
    decide(&sandbox, &session, &call.id, "accept", "user_temporary", &after(&session, "answer", 0));
    session.stop("done").silent();
    let answers = facts(&session, "answer");
    assert_eq!(
        (answers.len(), &answers[1]["by"], &answers[1]["ms"]),
        (2, &json!("person"), &answers[0]["ms"])
    );
    let _ = session.prompt("more");
    session.stop("done").silent();
    assert_eq!(facts(&session, "answer").len(), 2, "it is proven once");
    let shown = ["git reset --hard HEAD~1", "danger rule git-discard: approved by a person after"];
    sandbox.person(&["log"]).said(&shown);
    sandbox.person(&["log", "--refused"]).said(&shown);
    sandbox.person(&["why"]).said(&[
        "`danger` asked a person about",
        "git-discard",
        "approved by a person after",
    ]);
    assert_eq!(sandbox.person(&["why", "--json"]).json()["answer"]["by"], "person");
    sandbox.person(&["status"]).said(&["1 asked, 1 approved, 0 rejected", "git reset --hard HEAD~1"]);
    assert_eq!(sandbox.person(&["status", "--json"]).json()["questions"]["allowed"], 1);
    let insights = sandbox.person(&["insights", "--json"]).json();
    let counts = &insights["questions"];
    assert_eq!([&counts["asked"], &counts["allowed"], &counts["refused"], &counts["dialogs"]], [1, 1, 0, 1]);
    assert_eq!(insights["rules"]["danger:git-discard"], json!({"asked": 1, "allowed": 1, "refused": 0}));
    sandbox.person(&["insights"]).said(&["1 asked, 1 approved, 0 rejected"]);
    let report = sandbox.person(&["report", "--json"]).json();
    assert_eq!((&report["questions"]["asked"], &report["week"]["stopped"]), (&json!(1), &json!(0)));
    sandbox.person(&["report"]).said(&["questions", "1 asked, 1 approved"]);
    let page = sandbox.person(&["report", "-o", "-"]).out;
    assert!(page.contains("danger:git-discard") && page.contains("approved by a person"), "{page}");
    assert!(!page.contains("id=\"week\""), "nothing was stopped");
    sandbox.person(&["verify"]).said(&["intact"]);
    assert!(!session.entries().iter().any(|entry| entry.to_string().contains(SECRET)));
}

/// No with the transcript's own time, by whichever event comes next.
#[test]
fn a_no_is_recorded_with_the_next_event() {
    for ends in ["prompt", "stop", "batch", "end"] {
        let sandbox = attended();
        let session = begun(&sandbox);
        let call = session.call("Bash", json!({"command": "git reset --hard HEAD~1"}));
        asked(&session.pre(&call));
        decide(&sandbox, &session, &call.id, "reject", "user_reject", &after(&session, "question", 4_000));
        let _ = match ends {
            "prompt" => session.prompt("do something else"),
            "stop" => session.stop("as you wish"),
            "batch" => session.batch(&[&call]),
            _ => session.end(),
        };
        let answers = facts(&session, "answer");
        assert_eq!(answers.len(), 1, "{ends}: {answers:?}");
        let answer = &answers[0];
        assert_eq!(
            [&answer["allowed"], &answer["by"], &answer["ms"]],
            [&json!(false), &json!("person"), &json!(4000)]
        );
        assert_eq!(session.calls()[&call.id].last().unwrap(), "DENIED", "{ends}");
        let _ = session.stop("done");
        let shown = [
            "git reset --hard HEAD~1",
            "danger rule git-discard: rejected by a person after 4 s",
            "throws away",
        ];
        sandbox.person(&["log", "--refused"]).said(&shown);
        sandbox.person(&["why"]).said(&["asked a person about", "rejected by a person after 4 s"]);
        sandbox.person(&["status"]).said(&["1 asked, 0 approved, 1 rejected"]);
        let insights = sandbox.person(&["insights", "--json"]).json();
        assert_eq!(
            insights["rules"]["danger:git-discard"],
            json!({"asked": 1, "allowed": 0, "refused": 1}),
            "{ends}"
        );
        sandbox.person(&["verify"]).said(&["intact"]);
    }
}

/// Whatever the record lacks is nobody's; what comes later corrects it, and counts once.
#[test]
fn an_answer_that_nothing_proves_is_nobodys() {
    let sandbox = attended();
    let session = begun(&sandbox);
    let call = session.call("Bash", json!({"command": "git reset --hard HEAD~1"}));
    asked(&session.pre(&call));
    let _ = session.batch(&[&call]);
    let first = &facts(&session, "answer")[0];
    assert_eq!((&first["allowed"], &first["by"]), (&json!(false), &json!("unknown")));
    sandbox.person(&["log", "--refused"]).said(&["rejected or left unanswered"]);
    decide(&sandbox, &session, &call.id, "reject", "user_reject", &after(&session, "question", 2_000));
    let _ = session.stop("done");
    assert_eq!(facts(&session, "answer")[1]["by"], "person");
    sandbox.person(&["log", "--refused"]).said(&["rejected by a person after 2 s"]);
    let counts = sandbox.person(&["insights", "--json"]).json()["questions"].clone();
    assert_eq!([&counts["asked"], &counts["refused"], &counts["waited_ms"]], [1, 1, 2000]);
    // A source that this version does not know proves nothing.
    let odd = session.call("Bash", json!({"command": "git push --force"}));
    asked(&session.pre(&odd));
    decide(&sandbox, &session, &odd.id, "accept", "oracle", &after(&session, "question", 1));
    let _ = session.prompt("next");
    assert_eq!(facts(&session, "answer")[2]["by"], "unknown");
}

/// At a terminal a No leaves another word in the client's record than elsewhere; a call that was made was not
/// refused.
#[test]
fn every_word_for_a_no_is_understood() {
    let words = [
        (json!("user-rejected"), json!(false), "person"),
        (json!("user-rejected"), json!(true), "unknown"),
        (json!("permission-rule"), json!(false), "config"),
        (json!("automode-blocked"), json!(false), "client"),
        (json!("interrupted"), json!(false), "unknown"),
    ];
    for (kind, shutdown, by) in words {
        let sandbox = attended();
        let session = begun(&sandbox);
        let denied = |call: &str| {
            let at = after(&session, "question", 1_000);
            let fields = json!({"toolDenialKind": kind, "interruptedByShutdown": shutdown});
            add_result(&sandbox, &session, call, &at, &fields);
        };
        let call = session.call("Bash", json!({"command": "git reset --hard HEAD~1"}));
        asked(&session.pre(&call));
        denied(&call.id);
        let _ = session.prompt("next");
        let answer = &facts(&session, "answer")[0];
        assert_eq!((&answer["allowed"], &answer["by"]), (&json!(false), &json!(by)), "{kind}");
        let made = session.call("Bash", json!({"command": "git reset --hard HEAD~1"}));
        asked(&session.pre(&made));
        let _ = session.post(&made);
        denied(&made.id);
        let _ = session.stop("done");
        let answers = facts(&session, "answer");
        assert_eq!(
            (answers.len(), &answers[1]["allowed"], &answers[1]["by"]),
            (2, &json!(true), &json!("unknown"))
        );
    }
}

/// The end of an approved call was lost: the client's record says that it was made, and its file that it
/// counts.
#[test]
fn an_approved_call_without_its_end_was_made() {
    let sandbox = attended();
    sandbox.configure("tracker.command = \"none\"\naudit.rate = 0\nmode.level = \"loop\"\n");
    let session = begun(&sandbox);
    let path = sandbox.project().join(".mcp.json");
    let call = session.call("Write", json!({"file_path": path, "content": "{}\n"}));
    asked(&session.pre(&call));
    fs::write(&path, "{}\n").unwrap();
    decide(&sandbox, &session, &call.id, "accept", "user_temporary", &after(&session, "question", 1_000));
    let _ = session.batch(&[&call]);
    assert_eq!(session.calls()[&call.id], ["PENDING", "AUTHORIZED", "EXECUTING", "COMPLETED"]);
    let answer = &facts(&session, "answer")[0];
    assert_eq!((&answer["allowed"], &answer["by"]), (&json!(true), &json!("person")));
    sandbox.person(&["verify"]).said(&["intact"]);
}

#[test]
fn the_client_itself_says_no() {
    let sandbox = attended();
    let session = begun(&sandbox);
    let call = session.call("Bash", json!({"command": "git reset --hard HEAD~1"}));
    asked(&session.pre(&call));
    let mut fields = call.fields();
    fields["reason"] = json!("the classifier refused it");
    let _ = session.event("PermissionDenied", fields);
    let answer = &facts(&session, "answer")[0];
    assert_eq!((&answer["allowed"], &answer["by"]), (&json!(false), &json!("client")));
    assert_eq!(session.calls()[&call.id].last().unwrap(), "DENIED");
}

/// The first answer to a dialog wins, so another hook's `allow` makes our question void: that is a violation,
/// and told.
#[test]
fn another_hooks_yes_is_a_violation_and_told() {
    for agent in [None, Some("agent7")] {
        let sandbox = attended();
        let session = begun(&sandbox);
        let call = session.call("Bash", json!({"command": "git push --force"}));
        let call = if let Some(id) = agent { call.by(id, "general-purpose") } else { call };
        asked(&session.pre(&call));
        session.post(&call).silent();
        let at = after(&session, "answer", 0);
        match agent {
            None => decide(&sandbox, &session, &call.id, "accept", "hook", &at),
            Some(id) => {
                // An agent's results stand in a transcript of its own.
                decide(&sandbox, &session, &call.id, "accept", "hook", &at);
                let main = sandbox.sessions().join(format!("{}.jsonl", session.id));
                let folder = sandbox.sessions().join(&session.id).join("subagents");
                fs::create_dir_all(&folder).unwrap();
                fs::rename(main, folder.join(format!("agent-{id}.jsonl"))).unwrap();
            }
        }
        let told = session.stop("pushed").json()["systemMessage"].as_str().unwrap().to_owned();
        let words = ["another hook approved", "git push --force", "git-force-push", "PermissionRequest"];
        assert!(words.iter().all(|word| told.contains(word)), "{told}");
        assert_eq!(facts(&session, "answer")[1]["by"], "hook");
        let violation = &facts(&session, "violation")[0]["violation"];
        assert!(violation.as_str().unwrap().contains("another hook approved a call that needed a person"));
        sandbox.person(&["log"]).said(&["approved by another hook", "violation"]);
        let counts = sandbox.person(&["insights", "--json"]).json()["questions"].clone();
        assert_eq!([&counts["allowed"], &counts["overridden"]], [1, 1]);
        let _ = session.prompt("more");
        session.stop("done").silent();
        assert_eq!(facts(&session, "violation").len(), 1, "it is told once");
    }
}

/// Each permission prompt that a person saw is counted, whatever opened it; one that nobody can have seen is
/// not.
#[test]
fn prompts_seen_are_counted() {
    let sandbox = attended();
    let session = begun(&sandbox);
    for line in ["npm test", "cargo build"] {
        let asked =
            json!({"tool_name": "Bash", "tool_input": {"command": line}, "permission_suggestions": []});
        session.event("PermissionRequest", asked).silent();
    }
    sandbox.person(&["status"]).said(&["prompts", " 2 seen"]);
    assert_eq!(sandbox.person(&["status", "--json"]).json()["questions"]["prompts_seen"], 2);
    sandbox.person(&["insights"]).said(&["2 prompts seen"]);
    sandbox.person(&["verify"]).said(&["intact"]);
    let alone = Sandbox::repository("0.0");
    let session = begun(&alone);
    let asked =
        json!({"tool_name": "Bash", "tool_input": {"command": "npm test"}, "permission_suggestions": []});
    let _ = session.event("PermissionRequest", asked);
    assert_eq!(alone.person(&["status", "--json"]).json()["questions"]["prompts_seen"], 0);
}

/// More answers in one turn than wait for proof: each is looked up all the same.
#[test]
fn no_number_of_questions_hides_another_hook() {
    let sandbox = attended();
    let session = begun(&sandbox);
    for n in 0..40 {
        let call = session.call("Bash", json!({"command": "git push --force"}));
        asked(&session.pre(&call));
        let _ = session.post(&call);
        let source = if n == 0 { "hook" } else { "user_temporary" };
        decide(&sandbox, &session, &call.id, "accept", source, &after(&session, "answer", 0));
    }
    let answers = facts(&session, "answer");
    assert!(answers.iter().any(|answer| answer["by"] == "hook"), "{answers:?}");
    assert_eq!(facts(&session, "violation").len(), 1);
}

/// Another hook's no is stricter than ours: nobody is told.
#[test]
fn another_hooks_no_is_only_recorded() {
    let sandbox = attended();
    let session = begun(&sandbox);
    let call = session.call("Bash", json!({"command": "git push --force"}));
    asked(&session.pre(&call));
    decide(&sandbox, &session, &call.id, "reject", "hook", &after(&session, "question", 10));
    session.stop("not pushed").silent();
    assert_eq!(facts(&session, "answer")[0]["by"], "hook");
    assert!(facts(&session, "violation").is_empty());
}

/// The user's rules and the guard ask as well.
#[test]
fn every_gate_that_asks_is_named() {
    let sandbox = attended();
    sandbox.configure(
        "tracker.command = \"none\"\nmode.level = \"guard\"\n[[rule]]\nid = \"no-make\"\ntool = \"Bash\"\ncommand = \"make *\"\naction = \"ask\"\nreason = \"it is slow\"\n",
    );
    let session = begun(&sandbox);
    let make = session.call("Bash", json!({"command": "make all"}));
    asked(&session.pre(&make));
    let hook = session
        .call("Write", json!({"file_path": sandbox.project().join(".husky/pre-commit"), "content": "x"}));
    asked(&session.pre(&hook));
    let named: Vec<_> =
        facts(&session, "question").iter().map(|q| (q["gate"].clone(), q["rule"].clone())).collect();
    assert_eq!(named, [(json!("rules"), json!("no-make")), (json!("guard"), Value::Null)]);
    let _ = session.prompt("no");
    let rules = sandbox.person(&["insights", "--json"]).json()["rules"].clone();
    assert_eq!(rules["rules:no-make"]["refused"], 1, "{rules}");
    assert_eq!(rules["guard"]["refused"], 1, "{rules}");
}

/// A call costs no look into the transcript, whatever was asked before it.
#[test]
fn a_call_reads_no_transcript() {
    let sandbox = attended();
    let session = begun(&sandbox);
    let call = session.call("Bash", json!({"command": "git reset --hard HEAD~1"}));
    asked(&session.pre(&call));
    session.post(&call).silent();
    decide(&sandbox, &session, &call.id, "accept", "user_temporary", &after(&session, "answer", 0));
    let next = session.call("Bash", json!({"command": "git reset --hard HEAD~1"}));
    let files = opened(&sandbox, "PreToolUse", &session.payload("PreToolUse", next.fields()));
    let name = format!("{}.jsonl", session.id);
    assert!(files.contains("ledger.jsonl") && !files.contains(&name), "{files}");
    let stop = json!({"stop_hook_active": false, "last_assistant_message": "done"});
    let files = opened(&sandbox, "Stop", &session.payload("Stop", stop));
    assert!(files.contains(&name), "the end of the turn does: {files}");
}

/// The files that the hook itself opened.
fn opened(sandbox: &Sandbox, event: &str, payload: &Value) -> String {
    let trace = sandbox.tmp().join("trace");
    let mut strace = sandbox.command("strace");
    strace.args(["-e", "trace=openat,openat2,open", "-o", trace.to_str().unwrap(), BINARY, event]);
    let output = strace.write_stdin(payload.to_string()).output().expect("`strace` is needed");
    assert!(output.status.success(), "{output:?}");
    fs::read_to_string(&trace).unwrap()
}

/// Once a week the person reads what was stopped; the model never does.
#[test]
fn the_week_is_told_once_and_to_the_person() {
    let sandbox = attended();
    let first = begun(&sandbox);
    first.ask_bash("rm -rf /usr").refused(&["rm-system"]);
    let no = first.call("Bash", json!({"command": "git reset --hard HEAD~1"}));
    asked(&first.pre(&no));
    first.stop("done").silent();
    // Counted once, however often the insights are made.
    let _ = first.prompt("again");
    first.stop("done").silent();
    sandbox.person(&["insights"]).said(&["outcome"]);
    let text = "this week: 2 dangerous commands stopped";
    let nobody = attended();
    let unattended = {
        let payload = sandbox.session().payload("SessionStart", json!({"source": "startup"}));
        let mut command = sandbox.command(BINARY);
        command.env("CLAUDE_CODE_SESSION_ATTENDED", "0").arg("SessionStart").write_stdin(payload.to_string());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert!(!unattended.contains("this week"), "nobody is there: {unattended}");
    let told = sandbox.session().start("startup").json();
    assert_eq!(
        told["systemMessage"].as_str().unwrap().lines().filter(|line| *line == text).count(),
        1,
        "{told}"
    );
    assert!(!told["hookSpecificOutput"].to_string().contains("this week"), "not to the model: {told}");
    let again = sandbox.session().start("startup").out;
    assert!(!again.contains("this week"), "{again}");
    assert!(
        !nobody.session().start("startup").out.contains("this week"),
        "where nothing was done, nothing is said"
    );
    sandbox.person(&["report"]).said(&["this week", "2 dangerous commands stopped"]);
    let page = sandbox.person(&["report", "-o", "-"]).out;
    assert!(page.contains(&format!("<p id=\"week\">{text}</p>")), "{page}");
}

/// A start looks into no session but its own.
#[test]
fn the_week_costs_a_start_one_file() {
    let sandbox = attended();
    let first = begun(&sandbox);
    first.ask_bash("rm -rf /usr").refused(&["rm-system"]);
    first.stop("done").silent();
    let payload = sandbox.session().payload("SessionStart", json!({"source": "startup"}));
    let files = opened(&sandbox, "SessionStart", &payload);
    assert_eq!(files.matches("week.jsonl\"").count(), 1, "{files}");
    assert!(!files.contains("sessions/insights") && !files.contains(&first.id), "{files}");
}
