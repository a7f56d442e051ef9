//! `demo`: the whole loop, in a world that leaves no trace.

use crate::install::Home;
use crate::support::Sandbox;
use serde_json::Value;
use std::collections::BTreeSet;

/// Every gate of the loop refuses at least once, and every act ends well.
#[test]
fn plays_through_every_gate() {
    let sandbox = Sandbox::new();
    let said = sandbox.person(&["demo", "--json"]).json();
    assert_eq!((&said["ok"], &said["error"]), (&Value::Bool(true), &Value::Null), "{said:#}");
    let beats = said["beats"].as_array().unwrap();
    let refused = beats.iter().filter(|beat| beat["ruling"] == "deny");
    let gates: BTreeSet<&str> = refused.map(|beat| beat["gate"].as_str().unwrap()).collect();
    assert_eq!(
        gates,
        BTreeSet::from(["audit", "block", "checks", "guard", "owed", "report", "rules", "sandbox"])
    );
    let last_of = |act: u64| beats.iter().rfind(|beat| beat["act"] == act).unwrap();
    assert_eq!((&last_of(1)["event"], &last_of(1)["phase"]), (&"Stop".into(), &"done".into()));
    assert_eq!(last_of(2)["ruling"], "pass");
    for beat in beats.iter().filter(|beat| beat["ruling"] == "deny") {
        assert!(beat["said"].as_str().unwrap().contains("hint: "), "a refusal without a way out: {beat:#}");
    }
}

/// The loop's phases, in the order of the contract.
#[test]
fn walks_the_phases() {
    let said = Sandbox::new().person(&["demo", "--json"]).json();
    let beats = said["beats"].as_array().unwrap().iter().filter(|beat| beat["act"] == 1);
    let mut phases: Vec<&str> = beats.map(|beat| beat["phase"].as_str().unwrap()).collect();
    phases.dedup();
    let loop_ = "hydrate review hydrate review execute intervene verify intervene reflect close done";
    assert_eq!(phases.join(" "), loop_);
}

#[test]
fn leaves_nothing_behind() {
    let sandbox = Sandbox::new();
    let before = sandbox.files();
    let answer = sandbox.person(&["demo"]);
    answer.said(&["act 1", "act 2", "✗ sandbox:", "✗ owed:", "hint: start the agent `prompt-hydrator`"]);
    assert!(!answer.out.contains('\x1b'), "colours without a terminal");
    assert!(!sandbox.scrub(&answer.out).contains("[sandbox]"), "a path of the temporary folder is shown");
    assert_eq!(sandbox.files(), before);
}

/// It ends with what a person can do next, and that is so.
#[test]
fn ends_with_the_next_step() {
    let home = Home::new();
    let before = home.tree();
    let ending = || {
        let said = home.done(&["demo"]);
        let lines: Vec<&str> = said.trim_end().rsplit('\n').collect();
        assert!(lines[1].contains(" steps, ") && lines[1].contains(" refused and put right, in "), "{said}");
        lines[0].to_owned()
    };
    assert_eq!(
        ending(),
        "hint: `aops-hook install` registers the hooks; `aops-hook uninstall` removes them again"
    );
    assert_eq!(home.tree(), before);
    home.done(&["install"]);
    assert!(ending().starts_with("hint: the hooks are registered; start `claude` in a project"));
    home.done(&["uninstall", "--yes"]);
    assert!(ending().starts_with("hint: `aops-hook install`"));
}

/// Without git there is nothing to commit, and the loop still ends.
#[test]
fn works_without_git() {
    let sandbox = Sandbox::new().with("PATH", "/nowhere");
    let said = sandbox.person(&["demo", "--json"]).json();
    assert_eq!(said["ok"], true, "{said:#}");
    let beats = said["beats"].as_array().unwrap();
    assert!(!beats.iter().any(|beat| beat["does"].as_str().unwrap().contains("git")), "{said:#}");
}
