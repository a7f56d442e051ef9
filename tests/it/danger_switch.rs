//! `danger`: a person switches a rule, everywhere or in one folder, and sees what each did lately.

use crate::support::{Answer, Sandbox};
use serde_json::{Value, json};
use std::fs;

fn guarding() -> Sandbox {
    let sandbox = Sandbox::repository("0.0").with("CLAUDE_CODE_SESSION_ATTENDED", "1");
    sandbox.configure("# mine\ntracker.command = \"none\"\nmode.level = \"guard\"\n");
    sandbox
}

fn config(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.home().join(".config/aops/config.toml")).unwrap()
}

fn tries(sandbox: &Sandbox, line: &str) -> Answer {
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("go");
    session.ask_bash(line)
}

fn row(sandbox: &Sandbox, rule: &str) -> Value {
    let list = sandbox.person(&["danger", "list", "--json"]).json();
    list.as_array().unwrap().iter().find(|row| row["rule"] == rule).unwrap().clone()
}

#[test]
fn a_rule_is_switched_everywhere() {
    let sandbox = guarding();
    let before = config(&sandbox);
    let decided = |answer: Answer| answer.json()["hookSpecificOutput"]["permissionDecision"].clone();
    assert_eq!(decided(tries(&sandbox, "git push --force")), "ask");
    sandbox
        .person(&["danger", "off", "git-force-push", "--yes"])
        .said(&["`git-force-push`: `off` is set in", "config.toml"]);
    assert_eq!(config(&sandbox), format!("{before}\n[danger]\ngit-force-push = \"off\"\n"), "the rest stays");
    tries(&sandbox, "git push --force").silent();
    sandbox.person(&["danger", "off", "git-force-push", "--yes"]).said(&["was set already"]);
    sandbox.person(&["danger", "deny", "danger.git-force-push", "--yes"]).said(&["`deny` is set"]);
    tries(&sandbox, "git push --force").refused(&["git-force-push"]);
    sandbox.person(&["danger", "on", "git-force-push", "--yes"]).said(&["`ask` is set"]);
    assert_eq!(decided(tries(&sandbox, "git push --force")), "ask");
    // What is refused as shipped is refused again once it is on.
    sandbox.person(&["danger", "ask", "rm-system", "--yes"]).said(&["`ask` is set"]);
    let said = sandbox.person(&["danger", "on", "rm-system", "--yes", "--json"]).json();
    assert_eq!(
        (&said["level"], &said["changed"], &said["in_force"]),
        (&json!("deny"), &json!(true), &json!("deny"))
    );
    sandbox
        .person(&["danger", "off", "frob", "--yes"])
        .failed(2, &["no danger rule `frob`", "aops-hook danger"]);
    sandbox.person(&["danger", "frob"]).failed(2, &["no danger rule `frob`", "aops-hook danger"]);
}

#[test]
fn switching_a_rule_on_leaves_nothing_behind() {
    let sandbox = guarding();
    let before = config(&sandbox);
    for here in [&[][..], &["--here"]] {
        let switch =
            |verb: &str| sandbox.person(&[&["danger", verb, "git-force-push", "--yes"], here].concat());
        switch("off").said(&["`off` is set"]);
        switch("on").said(&["`ask` is set", "its default: its line was removed from", "config.toml"]);
        assert_eq!(config(&sandbox), before);
        switch("on").said(&["`ask` was set already"]);
        assert_eq!(config(&sandbox), before);
    }
    // What is off everywhere is on in this folder by a row of its own.
    sandbox.person(&["danger", "off", "git-force-push", "--yes"]).said(&["is set"]);
    sandbox.person(&["danger", "on", "git-force-push", "--here", "--yes"]).said(&["`ask` is set for"]);
    assert_eq!(row(&sandbox, "git-force-push")["level"], "ask");
}

#[test]
fn one_rule_is_shown() {
    let sandbox = guarding();
    sandbox.person(&["danger", "git-force-push"]).said(&[
        "rule      git-force-push (critical): overwrites the history of a remote",
        "setting   ask, shipped: needs your approval",
        "finds     `git push --force`, ",
        "passes    `git push --force-with-lease`, ",
        "change    `aops-hook danger off|on|keep|ask|deny git-force-push`",
    ]);
    sandbox.person(&["danger", "deny", "git-force-push", "--yes"]).said(&["is set"]);
    let said = sandbox.person(&["danger", "danger.git-force-push", "--json"]).json();
    assert_eq!((&said["level"], &said["examples"][0]), (&json!("deny"), &json!("git push --force")));
    assert_eq!(said["from"][0]["layer"], "user");
    assert!(sandbox.inside(&["danger", "git-force-push"]).out.contains("blocked"), "reading is free");
}

#[test]
fn a_rule_is_switched_for_one_folder() {
    let sandbox = guarding();
    let said = sandbox.person(&["danger", "off", "git-force-push", "--here", "--yes"]);
    said.said(&["`off` is set for `", "project` in"]);
    let text = config(&sandbox);
    assert!(
        text.contains("[[project]]\npath = \"") && text.contains("danger.git-force-push = \"off\"\n"),
        "{text}"
    );
    tries(&sandbox, "git push --force").silent();
    assert_eq!(row(&sandbox, "git-force-push")["level"], "off");
    // Elsewhere it is as before.
    let elsewhere = sandbox.home().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let mut there = sandbox.command(crate::support::BINARY);
    let list = there.args(["danger", "list", "--json"]).current_dir(&elsewhere).output().unwrap();
    let list: Value = serde_json::from_slice(&list.stdout).unwrap();
    let other = list.as_array().unwrap().iter().find(|row| row["rule"] == "git-force-push").unwrap();
    assert_eq!(other["level"], "ask");
    // The row counts over `[danger]`, and that is said.
    let said = sandbox.person(&["danger", "deny", "git-force-push", "--yes"]);
    said.said(&["`deny` is set in", "in this folder it stays `off`, by", "config.toml:"]);
    tries(&sandbox, "git push --force").silent();
    // A mode that is set for the folder is another row, and taking it out leaves the switch.
    sandbox.person(&["mode", "loop", "--project", "--yes"]).said(&["mode `loop`"]);
    sandbox.person(&["mode", "--project", "--unset", "--yes"]).said(&["was removed"]);
    assert_eq!(row(&sandbox, "git-force-push")["level"], "off");
    sandbox.person(&["danger", "deny", "git-force-push", "--here", "--yes"]).said(&["`deny` is set for"]);
    tries(&sandbox, "git push --force").refused(&["git-force-push"]);
    // What the project's own file holds stays.
    sandbox.put(".aops/config.toml", "danger.git-clean = \"deny\"\n");
    let said = sandbox.person(&["danger", "off", "git-clean", "--here", "--yes"]);
    said.failed(2, &["`git-clean`", ".aops/config.toml"]);
}

/// In a project's own file a switch for a folder has no place.
#[test]
fn only_the_users_own_file_has_rows() {
    let sandbox = guarding();
    sandbox.put(".aops/config.toml", "[[project]]\npath = \"/\"\ndanger.git-force-push = \"off\"\n");
    sandbox.person(&["danger"]).failed(2, &["only the user's own file may choose"]);
}

#[test]
fn it_is_a_persons_to_switch() {
    let sandbox = guarding();
    let before = config(&sandbox);
    for verb in ["off", "on", "keep", "ask", "deny"] {
        sandbox
            .person(&["danger", verb, "git-force-push"])
            .failed(2, &["needs a person at a terminal", "--yes"]);
        let line = format!("aops-hook danger {verb} git-force-push --yes");
        let arguments: Vec<&str> = line.split(' ').skip(1).collect();
        sandbox.inside(&arguments).failed(2, &["inside a tool call", "hint: "]);
        tries(&sandbox, &line).refused(&["person"]);
        tries(&sandbox, &format!("aops-hook danger --color never {verb} git-force-push --yes"))
            .refused(&["person"]);
    }
    assert_eq!(config(&sandbox), before);
    assert!(sandbox.inside(&["danger"]).out.contains("git-force-push"), "reading is free");
    tries(&sandbox, "aops-hook danger list").silent();
}

#[test]
fn the_list_says_where_from_and_what_it_did_lately() {
    let sandbox = guarding();
    sandbox.person(&["danger", "off", "git-clean", "--yes"]).said(&["is set"]);
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("go");
    session.ask_bash("rm -rf /usr").refused(&["rm-system"]);
    for answer in [true, false] {
        let call = session.call("Bash", json!({"command": "git push --force"}));
        let _ = session.pre(&call);
        if answer {
            session.post(&call).silent();
        }
    }
    session.stop("done").silent();
    let discard = row(&sandbox, "git-force-push");
    assert_eq!(discard["lately"], json!({"asked": 2, "allowed": 1, "refused": 1}));
    assert_eq!((&discard["from"], &discard["shipped"]), (&json!([]), &json!("ask")));
    assert_eq!(row(&sandbox, "git-clean")["from"][0]["layer"], "user");
    let list = sandbox.person(&["danger"]).out;
    let line =
        |rule: &str| list.lines().find(|line| line.starts_with(&format!("{rule}\t"))).unwrap().to_owned();
    assert!(
        line("git-force-push").contains("\task\tshipped\t2 asked, 1 stopped\t"),
        "{}",
        line("git-force-push")
    );
    assert!(line("git-clean").contains("\toff\t") && line("git-clean").contains("config.toml:"), "{list}");
    assert!(line("rm-system").contains("1 stopped"), "{list}");
    assert_eq!(list.lines().count(), aops_shell::danger::RULES.len(), "every rule");
    assert_eq!(sandbox.person(&["danger", "list"]).out, list);
}

/// `git clean -fdx` would take the checkpoints along; with `-e .claude` it is asked about as any that
/// discards.
#[test]
fn a_clean_that_keeps_our_folder_is_a_question_of_danger_alone() {
    let sandbox = Sandbox::repository("0.0");
    sandbox.configure("[audit]\nrate = 0.0\n[mode]\nlevel = \"loop\"\n[danger]\ngit-clean = \"ask\"\n");
    let session = sandbox.begun("clean up");
    session.write("a.txt").silent();
    assert!(sandbox.project().join(".claude/checkpoints").is_dir());
    session
        .ask_bash("git clean -fdx")
        .refused(&["holds `.claude`, where checkpoints are kept", "add `-e .claude` to `git clean`"]);
    let asked = session.ask_bash("git clean -fdx -e .claude");
    asked.refused(&["git-clean"]);
    assert!(!asked.reason().contains("checkpoints are kept"), "{}", asked.reason());
}

/// What git tracks or ignores it leaves alone, so the client's settings in a project are in nobody's way.
#[test]
fn a_clean_that_leaves_the_settings_alone_is_let_go() {
    let sandbox = Sandbox::repository("0.0");
    sandbox.configure("[mode]\nlevel = \"guard\"\n");
    sandbox.put(".claude/settings.json", "{}\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "settings"]);
    let session = sandbox.begun("clean up");
    let refused = |line: &str| session.ask_bash(line).refused(&["holds `.claude`"]);
    session.ask_bash("git clean -fd").silent();
    session.ask_bash("git status -s && git clean -fdq").silent();
    sandbox.put(".claude/settings.local.json", "{}\n");
    refused("git clean -fd");
    sandbox.put(".gitignore", "*.local.json\n");
    session.ask_bash("git clean -fd").silent();
    for line in [
        "git clean -fdx",
        "git -c core.excludesFile=/dev/null clean -fd",
        "GIT_CONFIG_COUNT=0 git clean -fd",
        "export GIT_DIR=x; git clean -fd",
        "rm .gitignore && git clean -fd",
        "git rm -q --cached .claude/settings.json; git clean -fd",
    ] {
        refused(line);
    }
}
