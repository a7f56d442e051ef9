//! Mode `observe`: nothing is said or refused, and what another mode would have refused is on record.

use crate::support::{Sandbox, Session};
use serde_json::{Value, json};

fn observing(config: &str) -> Sandbox {
    let sandbox = Sandbox::repository("0.0");
    sandbox.configure(&format!("tracker.command = \"none\"\nmode.level = \"observe\"\n{config}"));
    sandbox
}

const AS_STRICT: &str = "mode.rehearse = \"strict\"\n";

/// Gate and ruling of everything that would have been refused, oldest first.
fn rehearsed(session: &Session) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let would = session.entries().into_iter().map(|entry| entry["with"]["rehearsed"].clone());
    would
        .filter(|would| !would.is_null())
        .map(|would| (text(&would["gate"]), text(&would["ruling"])))
        .collect()
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(gate, ruling)| ((*gate).to_owned(), (*ruling).to_owned())).collect()
}

#[test]
fn nothing_is_said_and_everything_is_recorded() {
    let sandbox = observing(AS_STRICT);
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("make hello.txt");
    session.ask_bash("ls").silent();
    session.write("hello.txt").silent();
    session.stop("Done.").silent();
    assert_eq!(rehearsed(&session), pairs(&[("sandbox", "deny"), ("qa", "deny")]));
    assert_eq!(session.state()["stop"], json!({"owed": [], "refusals": 0}));
    // What is ours, and a block, refuse as ever, and that is no rehearsal.
    let ledger =
        session.call("Write", json!({"file_path": session.folder().join("ledger.jsonl"), "content": "{}"}));
    session.pre(&ledger).refused(&["our record"]);
    sandbox.person(&["block", "--reason", "enough seen"]).said(&["blocked"]);
    session.ask_bash("ls").refused(&["enough seen"]);
    assert_eq!(rehearsed(&session).len(), 2);
    assert_eq!(sandbox.person(&["verify", "--json"]).json()["ok"], true);
}

#[test]
fn the_commands_show_what_would_have_been_refused() {
    let sandbox = observing(AS_STRICT);
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("make hello.txt");
    session.write("hello.txt").silent();
    let said = sandbox.person(&["why", "--json"]).json();
    assert_eq!(
        (&said["gate"], &said["ruling"], &said["rehearsed"]),
        (&json!("sandbox"), &json!("pass"), &json!("deny")),
        "{said:#}"
    );
    assert!(said["next"].as_str().unwrap().contains("prompt-hydrator"), "{said:#}");
    sandbox.person(&["why"]).said(&[
        "`sandbox` would refuse this, but mode `observe` let it pass",
        "no report of `prompt-hydrator`",
    ]);
    session.write("hello.txt").silent();
    session.stop("Done.").silent();
    sandbox.person(&["why"]).said(&["`qa` would refuse this", "the end of the turn", "1. `qa-verifier`"]);
    sandbox.person(&["log"]).said(&["`sandbox` would refuse this", "`qa` would refuse this"]);
    let by_gate = json!({"qa": 1, "sandbox": 2});
    let insights = sandbox.person(&["insights", "--json"]).json();
    assert_eq!((&insights["rehearsed"], &insights["gates"]), (&by_gate, &json!({})));
    sandbox.person(&["insights"]).said(&["rehearsed would refuse: qa 1, sandbox 2"]);
    let listed = sandbox.person(&["sessions", "--json"]).json();
    assert_eq!((&listed[0]["rehearsed"], &listed[0]["mode"]), (&by_gate, &json!("observe")));
    sandbox.person(&["sessions"]).said(&["observe", "\t3\t"]);
    let page = sandbox.tmp().join("report.html");
    let _ = sandbox.person(&["report", "-o", page.to_str().unwrap()]);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("In mode observe: what would have been refused, by gate"), "{page}");
    let table = sandbox.person(&["export", "--format", "csv"]).out;
    let mut lines = table.lines();
    assert!(
        lines.next().unwrap().ends_with(",would_refuse,client,person,waivers")
            && lines.next().unwrap().ends_with(",3,claude,,"),
        "{table}"
    );
    sandbox.person(&["export", "--format", "jsonl"]).said(&["\"rehearsed\":{\"gate\":\"sandbox\""]);
    sandbox.person(&["transcript"]).said(&["`sandbox` would refuse Write"]);
}

#[test]
fn rules_and_checks_are_rehearsed_too() {
    let sandbox = observing(
        "[[rule]]\nid = \"env\"\npath = \".env\"\naction = \"deny\"\nreason = \"secrets\"\n\
         [[check]]\nid = \"bad\"\non = \"commit\"\nrun = \"false\"\noutcome = \"HALT\"\n",
    );
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("look");
    let read = session.call("Read", json!({"file_path": sandbox.project().join(".env")}));
    session.pre(&read).silent();
    assert_eq!(rehearsed(&session), pairs(&[("rules", "deny")]));
    session.ask_bash("git commit -m x").silent();
    assert_eq!(rehearsed(&session).last(), Some(&("checks".to_owned(), "deny".to_owned())));
    assert_ne!(session.state()["phase"], "halted");
}

#[test]
fn a_gate_that_a_file_names_has_that_level_in_the_rehearsal_too() {
    let sandbox = observing(&format!(
        "{AS_STRICT}gates.sandbox = \"off\"\ngates.qa = \"off\"\ngates.push = \"enforce\"\n"
    ));
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("make hello.txt");
    session.write("hello.txt").silent();
    assert_eq!(rehearsed(&session), []);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "x"]);
    // What a file names is held in mode `observe` as well.
    session.stop("Done.").refused(&["1. `push`"]);
}

/// Nothing of the loop is asked for in mode `guard`; the user's rules hold.
#[test]
fn guard_refuses_what_a_rule_refuses_and_nothing_else() {
    let sandbox = Sandbox::repository("0.0");
    sandbox.configure(
        "tracker.command = \"none\"\nmode.level = \"guard\"\n\
         [[rule]]\nid = \"env\"\npath = \".env\"\naction = \"deny\"\nreason = \"secrets\"\n",
    );
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("make hello.txt");
    session.write("hello.txt").silent();
    session.write(".env").refused(&["secrets"]);
    session.stop("Done.").silent();
    assert_eq!(rehearsed(&session), [], "only mode `observe` rehearses");
    let _ = session.begin_agent("q1", "qa-verifier");
    session.stop_agent("q1", "qa-verifier", "no verdict").silent();
}

/// As mode `loop` would: a small edit is free, a large one would need a plan; what reaches outside is what
/// was asked for, unless it is dangerous.
#[test]
fn the_weight_of_a_task_is_rehearsed() {
    let sandbox = observing("");
    let session = sandbox.session();
    let _ = session.start("startup");
    session.prompt("make hello.txt").silent();
    session.write("hello.txt").silent();
    session.ask_bash("git push").silent();
    assert_eq!(rehearsed(&session), []);
    let lines = "a line\n".repeat(300);
    let large =
        session.call("Write", json!({"file_path": sandbox.project().join("large.txt"), "content": lines}));
    session.pre(&large).silent();
    sandbox.put("large.txt", &lines);
    session.post(&large).silent();
    assert_eq!(rehearsed(&session), pairs(&[("sandbox", "deny")]));
    sandbox.person(&["why"]).said(&["`sandbox` would refuse this", "small is up to 12 files and 240 lines"]);
    session.ask_bash("sed -i s/a/b/ hello.txt").silent();
    assert_eq!(rehearsed(&session).len(), 2, "it has outgrown a small edit");
    let session = sandbox.session();
    let _ = session.start("startup");
    session.prompt("publish it").silent();
    session.ask_bash("gh pr create --fill").silent();
    session.ask_bash("npm publish").silent();
    assert_eq!(rehearsed(&session), pairs(&[("danger", "deny")]));
}

/// A drawn audit is on record, and the end of the turn would have asked for it. Nothing is due, and the next
/// task begins anew.
#[test]
fn audits_are_drawn_and_rehearsed() {
    let sandbox = observing("audit.rate = 1.0\n");
    let session = sandbox.session();
    let _ = session.start("startup");
    session.prompt("make large.txt").silent();
    let lines = "a line\n".repeat(300);
    let large =
        session.call("Write", json!({"file_path": sandbox.project().join("large.txt"), "content": lines}));
    session.pre(&large).silent();
    sandbox.put("large.txt", &lines);
    session.post(&large).silent();
    // It is no small task any more: one of its further changes is drawn.
    session.write("hello.txt").silent();
    session.write("hello.txt").silent();
    let drawn = session.entries().into_iter().filter(|entry| entry["with"]["end"]["drawn"] == true).count();
    assert_eq!(drawn, 1);
    let audit = session.state()["audit"].clone();
    assert_eq!((&audit["drawn"], &audit["due"]), (&json!(1), &json!(false)), "once a task");
    session.stop("Done.").silent();
    sandbox.person(&["why"]).said(&["would refuse this", "`custodiet`"]);
    let status = sandbox.person(&["status"]).out;
    assert!(status.contains("1 drawn, 0 done") && !status.contains("due since"), "{status}");
    assert_eq!(sandbox.person(&["insights", "--json"]).json()["audits"], json!({"done": 0, "drawn": 1}));
    assert_eq!(sandbox.person(&["verify", "--json"]).json()["ok"], true);
    // A small task draws none.
    let small = sandbox.session();
    let _ = small.start("startup");
    small.prompt("make small.txt").silent();
    small.write("small.txt").silent();
    assert_eq!(small.state()["audit"]["drawn"], 0);
}
