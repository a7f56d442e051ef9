//! The verb itself: who may use it, what it lists and shows, and who is told.

use super::hand::Hand;
use super::{brought, repository, undo};
use crate::support::Sandbox;
use serde_json::{Value, json};
use std::fs;

fn kept(sandbox: &Sandbox) -> u64 {
    let file = sandbox.put("notes.log", "first\nsecond\n");
    let number = Hand::of(sandbox).overwriting("rm notes.log", &[&file]);
    fs::remove_file(file).unwrap();
    number
}

#[test]
fn an_undo_is_a_persons() {
    let sandbox = repository();
    kept(&sandbox);
    for arguments in [
        &["undo"][..],
        &["undo", "list"],
        &["undo", "show", "1"],
        &["undo", "1", "--yes"],
        &["undo", "--dry-run"],
    ] {
        sandbox.inside(arguments).failed(2, &["person", "hint:"]);
    }
    sandbox.person(&["undo"]).failed(2, &["terminal", "--yes"]);
    assert!(!sandbox.project().join("notes.log").exists());
    // The guard refuses the line before it runs.
    let session = sandbox.begun("bring it back");
    for line in
        ["aops-hook undo", "aops-hook undo list", "aops-hook undo 1 --yes", "aops-hook undo show 1 --diff"]
    {
        let asked = session.ask_bash(line);
        assert!(asked.out.contains("\"deny\"") || asked.code == Some(2), "{line}: {asked:?}");
    }
}

#[test]
fn the_newest_is_meant_and_a_typo_is_seen() {
    let sandbox = repository();
    undo(&sandbox, &[]).failed(2, &["nothing", "hint:"]);
    let (first, second) = (kept(&sandbox), kept(&sandbox));
    let list = |sandbox: &Sandbox| -> Vec<Value> {
        serde_json::from_str(&sandbox.person(&["undo", "list", "--json"]).out).unwrap()
    };
    assert_eq!(list(&sandbox).len(), 2);
    undo(&sandbox, &[]).said(&["brought back 2: 1 file", "run `aops-hook undo 3`"]);
    let states: Vec<Value> = list(&sandbox).iter().map(|row| row["state"].clone()).collect();
    assert_eq!(states, ["kept", "undone", "kept"]);
    undo(&sandbox, &[]).said(&["everything is as it was kept as 1"]);
    undo(&sandbox, &[]).failed(2, &["nothing to bring back"]);
    // The undo undone is no undo any more.
    brought(&sandbox, 3);
    assert!(!sandbox.project().join("notes.log").exists());
    assert_eq!(list(&sandbox)[usize::try_from(second).unwrap() - 1]["state"], "kept");
    undo(&sandbox, &["lsit"]).failed(2, &["`lsit` is not a number; did you mean `list`?"]);
    undo(&sandbox, &["99"]).failed(2, &["nothing is kept as 99"]);
    assert_eq!(first, 1);
}

#[test]
fn a_keeping_is_shown_and_written_elsewhere() {
    let sandbox = repository();
    let number = kept(&sandbox);
    sandbox.put("notes.log", "first\nother\n");
    sandbox.person(&["undo", "list"]).said(&["1\t", "rm notes.log", "1 file", "13 bytes", "kept"]);
    sandbox.person(&["undo", "show", "1"]).said(&["rm notes.log", "20260113-0a1b2c3d", "1 file, 13 bytes"]);
    sandbox.person(&["undo", "show", "1", "--files"]).said(&["notes.log"]);
    sandbox.person(&["undo", "show", "1", "--diff"]).said(&["-other", "+second"]);
    let shown: Value = serde_json::from_str(&sandbox.person(&["undo", "show", "1", "--json"]).out).unwrap();
    assert_eq!(shown["number"], number);
    sandbox.person(&["undo", "1", "--to", "../before"]).said(&["1 file of 1"]);
    assert_eq!(fs::read_to_string(sandbox.project().join("../before/notes.log")).unwrap(), "first\nsecond\n");
    assert_eq!(
        fs::read_to_string(sandbox.project().join("notes.log")).unwrap(),
        "first\nother\n",
        "nothing else"
    );
    sandbox.person(&["undo", "1", "--to", "../before"]).failed(2, &["exists already"]);
}

#[test]
fn a_running_session_is_told_once() {
    let sandbox = repository();
    let session = sandbox.begun("work");
    let number = kept(&sandbox);
    brought(&sandbox, number);
    let read = |n: u8| session.pre(&session.call("Read", json!({"file_path": format!("{n}.txt")})));
    let said = read(1);
    assert!(
        said.out.contains("the user restored what was saved as 1: 1 file is no longer as you last saw it"),
        "{said:?}"
    );
    assert!(!read(2).out.contains("restored what was saved"), "once");
    sandbox.person(&["log"]).said(&["undo"]);
    assert_eq!(sandbox.person(&["verify"]).code, Some(0));
}
