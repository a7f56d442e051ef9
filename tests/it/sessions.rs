//! `sessions` and `log`: which session is which, and what happened in it.

use crate::support::{NO_TRACKER, Sandbox};
use serde_json::{Value, json};
use std::fs;

fn rows(sandbox: &Sandbox, arguments: &[&str]) -> Vec<Vec<String>> {
    let said = sandbox.person(&[&["sessions"], arguments].concat());
    said.said(&[]);
    said.out.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

#[test]
fn each_session_is_told_by_what_people_know_of_it() {
    let sandbox = Sandbox::new();
    sandbox.configure(NO_TRACKER);
    let first = sandbox.session();
    let _ = first.start("startup");
    let _ = first.prompt("add a greeting\nto the page");
    let second = sandbox.session();
    let _ = second.start("startup");
    let _ = second.prompt("fix the typo");
    let _ = second.end();
    let all = rows(&sandbox, &[]);
    let [newest, oldest] = &all[..] else { panic!("{all:?}") };
    assert_eq!((newest[0].as_str(), oldest[0].as_str()), (&second.id[..8], &first.id[..8]));
    assert_eq!((newest[2].as_str(), oldest[2].as_str()), ("ended", "live"));
    assert_eq!((oldest[3].as_str(), oldest[4].as_str()), ("strict", "hydrate"));
    assert_eq!(
        (oldest[6].as_str(), oldest[7].as_str()),
        (sandbox.project().to_str().unwrap(), "add a greeting to the page")
    );
    let json = sandbox.person(&["sessions", "--json"]).json();
    assert_eq!((&json[1]["live"], &json[1]["short"]), (&json!(true), &json!(first.id[..8])));
    assert_eq!(json[1]["project"], json!(sandbox.project()));
    // The short id is enough for every other command.
    sandbox.person(&["status", &oldest[0]]).said(&[&first.id]);
    assert_eq!(rows(&sandbox, &["--project"]).len(), 2);
    assert_eq!(rows(&sandbox, &["--project", sandbox.home().to_str().unwrap()]).len(), 0);
    assert_eq!(
        (rows(&sandbox, &["--since", "1h"]).len(), rows(&sandbox, &["--since", "2099-01-01"]).len()),
        (2, 0)
    );
    sandbox.person(&["block", &first.id, "--reason", "wait"]).said(&["blocked"]);
    let blocked = rows(&sandbox, &["--blocked"]);
    assert_eq!((blocked.len(), blocked[0][2].as_str()), (1, "live, blocked"));
}

#[test]
fn a_list_fits_on_a_terminal() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt(&"many words ".repeat(40));
    let shown = sandbox.on_terminal("sessions --color=never", "").out;
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert!(shown.contains("many") && !shown.contains("would refuse"), "no empty column: {shown}");
}

/// A client that is gone without a word left its session, and ids that begin alike get more digits.
#[test]
fn a_session_whose_client_is_gone_was_left() {
    let sandbox = Sandbox::new().of_client(2_147_483_646);
    let _ = sandbox.session().start("startup");
    assert_eq!(rows(&sandbox, &[])[0][2], "left");
    for id in ["aaaaaaaa-1", "aaaaaaaa-2"] {
        let payload = json!({"session_id": id, "cwd": sandbox.project(), "hook_event_name": "SessionStart",
            "source": "startup", "transcript_path": sandbox.sessions().join(format!("{id}.jsonl"))});
        let _ = sandbox.hook("SessionStart", &payload);
    }
    let ids: Vec<String> = rows(&sandbox, &[]).into_iter().map(|row| row[0].clone()).collect();
    assert!(ids.contains(&"aaaaaaaa-1".to_owned()) && ids.contains(&"aaaaaaaa-2".to_owned()), "{ids:?}");
}

/// What a person does to an old session makes it no newer: the newest is the one whose client worked last.
#[test]
fn lifting_an_old_block_makes_a_session_no_newer() {
    let sandbox = Sandbox::new();
    let old = sandbox.session();
    let _ = old.start("startup");
    sandbox.person(&["block", "--reason", "wait"]).said(&[&old.id]);
    let new = sandbox.session();
    let _ = new.start("startup");
    sandbox.person(&["clear-block", &old.id, "--yes"]).said(&[&old.id]);
    sandbox.person(&["waive", "qa", "--for", "1m", "--reason", "x", "--yes"]).said(&[&new.id]);
    let _ = old.prompt("go on");
    sandbox.person(&["status"]).said(&[&old.id]);
}

#[test]
fn a_call_is_one_line_with_its_outcome() {
    let sandbox = Sandbox::new().with("TZ", "AAA-5:30");
    sandbox.configure(NO_TRACKER);
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a \"greeting\"");
    let refusal = session.write("hello.txt").reason();
    session.hydrate("minor-edit", "new");
    assert_eq!(session.write("hello.txt").code, Some(0));
    let failing = session.call("Bash", json!({"command": "cargo test --all"}));
    session.pre(&failing).silent();
    let _ = session.fail(&failing, "exit code 101");
    let open = session.call("Read", json!({"file_path": sandbox.project().join("a.md")}));
    session.pre(&open).silent();
    session.stop("Done.").refused(&["qa-verifier"]);
    let log = sandbox.person(&["log"]).out;
    let has = |words: &str| assert_eq!(log.matches(words).count(), 1, "{words}: {log}");
    has("prompt    add a \"greeting\"\n");
    has("refused   Write hello.txt  [sandbox]");
    has("done      Write hello.txt\n");
    has("failed    Bash cargo test --all  exit code 101\n");
    has("no end    Read a.md\n");
    has("done      Agent prompt-hydrator\n");
    has("refused   stop: the turn ends, and owes ");
    has("2. `framework`: start the agent `framework`");
    has(&refusal.replace("\nhint: ", "; "));
    assert!(!log.contains("{\"") && !log.contains("PENDING"), "no raw JSON, no inner state: {log}");
    assert!(log.lines().all(|line| line.contains(" +05:30  ")), "local times with their zone: {log}");
    assert!(sandbox.person(&["log", "--utc"]).out.lines().all(|line| line.contains(" +00:00  ")));
    let entries: Vec<Value> = session.entries();
    let raw = sandbox.person(&["log", "--json"]).out;
    assert_eq!(raw, fs::read_to_string(session.folder().join("ledger.jsonl")).unwrap());
    let of = |arguments: &[&str]| sandbox.person(&[&["log"], arguments].concat()).out.lines().count();
    assert_eq!(
        (of(&["--refused"]), of(&["--tool", "write"]), of(&["--tool", "Bash", "--refused"])),
        (2, 2, 0)
    );
    assert_eq!((of(&["--since", "1h"]), of(&["--since", "2099-01-01"])), (log.lines().count(), 0));
    assert_eq!((of(&["-n", "3"]), of(&["-n", "3", "--json"])), (3, 3));
    assert_eq!(of(&["--refused", "--json"]), 2);
    assert!(entries.len() > log.lines().count());
}

#[test]
fn a_refusal_is_whole_on_a_narrow_terminal_too() {
    let sandbox = Sandbox::new();
    sandbox.configure(NO_TRACKER);
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    let refusal = session.write("hello.txt").reason();
    let shown = sandbox.on_terminal("log --refused --color=never", "").out;
    assert!(shown.lines().all(|line| line.chars().count() <= 80 || !line.contains(' ')), "{shown}");
    let words: Vec<&str> = shown.split_whitespace().collect();
    assert!(words.join(" ").contains(&refusal.split_whitespace().collect::<Vec<_>>().join(" ")), "{shown}");
}
