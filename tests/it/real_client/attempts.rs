//! What an agent in the real client tries against rules, locks and a person's commands: each fails, the
//! advice reaches the model, and the record says what was tried.

use super::checks::verifies;
use super::whole_loop::bash;
use crate::client::{Client, Run};
use crate::model::{Model, Turn};
use crate::support::{BINARY, Sandbox, Session};
use serde_json::{Value, json};
use std::fs;
use std::thread;
use std::time::Duration;

/// Headless there is nobody to ask, so a danger rule refuses, and says what to do instead.
#[test]
fn a_danger_rule_refuses_with_its_advice() {
    let sandbox = Sandbox::repository("0");
    sandbox.put("README.md", "# changed, not committed\n");
    let model = Model::new([
        bash("git push --force"),
        bash("git push -f origin main"),
        bash("git stash list"),
        Turn::text("Kept."),
    ]);
    let run = Client::guarded(&sandbox, &model).run(". clean up");
    run.ended("Kept.");
    let results = model.tool_results();
    for result in &results[..2] {
        assert!(
            result.is_error && result.text.contains("git-force-push") && result.text.contains("hint:"),
            "{results:#?}"
        );
    }
    assert!(!results[2].is_error, "{results:#?}");
    assert_eq!(
        fs::read_to_string(sandbox.project().join("README.md")).unwrap(),
        "# changed, not committed\n"
    );
    let session = Session::new(&sandbox, run.session_id());
    let denied = |entry: &&Value| entry["with"]["to"] == "DENIED" && entry["with"]["gate"] == "danger";
    assert_eq!(session.entries().iter().filter(denied).count(), 2);
    sandbox.person(&["why", "--session", &session.id]).said(&["git-force-push"]);
    verifies(&sandbox, &session);
    // Its hooks had the key in their environment.
    let ours = sandbox.files().into_iter().filter(|(path, _)| !path.ends_with(".claude.json"));
    let held = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("sk-ant-made-up");
    let told: Vec<_> = ours.filter(|(_, bytes)| held(bytes)).map(|(path, _)| path).collect();
    assert!(told.is_empty(), "{told:?}");
}

#[test]
fn a_refused_call_is_not_made_in_any_permission_mode() {
    // A superuser's client takes `bypassPermissions` only in a sandbox.
    let sandbox = Sandbox::repository("0").with("IS_SANDBOX", "1");
    for mode in ["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"] {
        let write = json!({"file_path": sandbox.project().join("a.txt"), "content": "x"});
        let model = Model::new([Turn::call("Write", write), bash("touch b.txt"), Turn::text("I may not.")]);
        let run = Client::guarded(&sandbox, &model).start("make them", &["--permission-mode", mode]);
        assert!(model.tool_results().iter().all(|result| result.is_error), "{mode}: {run:?}");
        let made = ["a.txt", "b.txt"].map(|name| sandbox.project().join(name).exists());
        assert_eq!(made, [false; 2], "{mode}: {run:?}");
        let session = Session::new(&sandbox, run.session_id());
        let denied = |entry: &&Value| entry["with"]["to"] == "DENIED" && entry["with"]["gate"] == "sandbox";
        assert_eq!(session.entries().iter().filter(denied).count(), 2, "{mode}: {run:?}");
    }
}

/// A command that takes the session's lock when it is told to, and keeps it. Without the jail: there it may
/// not open the file.
const HOLD: &str = "until test -e go; do sleep 0.05; done
exec 9>> \"$(ls -d \"$HOME\"/.claude/projects/*/2*-*/.lock)\"
flock 9 && touch held
while test -e go; do sleep 0.05; done
";

/// A session whose agent starts that command; the lock is taken just before this turn of the model.
fn held_up(sandbox: &Sandbox, turn: Turn) -> (Model, Run) {
    sandbox.configure("jail.level = \"off\"\n");
    sandbox.put("hold.sh", HOLD);
    let project = sandbox.project();
    let take = move || {
        fs::write(project.join("go"), "").unwrap();
        while !project.join("held").exists() {
            thread::sleep(Duration::from_millis(20));
        }
    };
    let model =
        Model::new([bash("sh ./hold.sh > /dev/null 2>&1 &"), turn.after(take), Turn::text("On we go.")]);
    let run = Client::guarded(sandbox, &model).run(". hold it");
    (model, run)
}

/// What guards is refused meanwhile.
#[test]
fn whoever_holds_the_lock_lets_nothing_pass() {
    let sandbox = Sandbox::repository("0");
    let write = json!({"file_path": sandbox.project().join("a.txt"), "content": "x"});
    let (model, run) = held_up(&sandbox, Turn::call("Write", write));
    let told = format!("{run:?} {:?}", model.tool_results());
    assert!(told.contains("STATE_LOCK_ACQUIRE_FAILED"), "{told}");
    assert!(!sandbox.project().join("a.txt").exists(), "{told}");
    verifies(&sandbox, &Session::new(&sandbox, run.session_id()));
}

/// The end of the turn is kept, and the next event records it first.
#[test]
fn whoever_holds_the_lock_hides_no_stop() {
    let sandbox = Sandbox::repository("0");
    let (model, run) = held_up(&sandbox, Turn::text("I am done."));
    run.ended("I am done.");
    let session = Session::new(&sandbox, run.session_id());
    let is_stop = |entry: &&Value| entry["type"] == "event" && entry["with"]["event"] == "Stop";
    let stops = || session.entries().iter().filter(is_stop).count();
    assert_eq!(stops(), 0, "nobody else could write: {run:?}");
    fs::remove_file(sandbox.project().join("go")).unwrap();
    Client::guarded(&sandbox, &model).resume(&session.id, ". go on").ended("On we go.");
    let late =
        |entry: &&Value| entry["with"]["violation"].as_str().is_some_and(|why| why.contains("recorded late"));
    assert_eq!(session.entries().iter().filter(late).count(), 1, "{:#?}", session.entries());
    assert_eq!(stops(), 2);
    verifies(&sandbox, &session);
}

/// A script in the jail that runs a person's command, with nothing of the client in its environment.
#[test]
fn a_persons_command_in_the_jail_is_inside() {
    let sandbox = Sandbox::repository("0");
    let clean = "env -i HOME=\"$HOME\" PATH=\"$PATH\"";
    sandbox.put(
        "lift.sh",
        &format!(
            "{clean} {BINARY} mode observe --yes\n{clean} {BINARY} waive qa --for 1h --reason x --yes\n"
        ),
    );
    let model = Model::new([bash("sh ./lift.sh 2>&1"), Turn::text("I may not.")]);
    let run = Client::guarded(&sandbox, &model).run(". lift it");
    let results = model.tool_results();
    let said = &results[0].text;
    assert_eq!(said.matches("inside").count(), 2, "{said} {run:?}");
    let session = Session::new(&sandbox, run.session_id());
    assert!(
        session.entries().iter().any(|entry| entry["with"]["end"]["under"]["jailed"]["profile"] == "work"),
        "{:?}",
        session.entries()
    );
    assert!(!session.entries().iter().any(|entry| entry["with"]["gate"] == "qa"), "{:?}", session.entries());
    sandbox.person(&["mode"]).said(&["strict"]);
    verifies(&sandbox, &session);
}

/// A timer that fires in a living session says what it was told to say, and that waives nothing.
#[test]
fn a_timer_that_fires_waives_nothing() {
    let sandbox = Sandbox::repository("0");
    let timer = json!({"cron": "* * * * *", "prompt": ". go", "recurring": false});
    let write = json!({"file_path": sandbox.project().join("a.txt"), "content": "x"});
    let model = Model::new([
        Turn::call("ToolSearch", json!({"query": "select:CronCreate"})),
        Turn::call("CronCreate", timer),
        Turn::text("The timer is set."),
        Turn::call("Write", write),
        Turn::text("The timer may not."),
        Turn::text("The timer may not."),
    ]);
    let client = Client::guarded(&sandbox, &model);
    let terminal =
        client.sit_down(&["--permission-mode", "acceptEdits", "--allowedTools", "CronCreate,ToolSearch"]);
    terminal.type_prompt(". remind me");
    terminal.wait_for("the timer", |screen| screen.contains("The timer is set."));
    terminal.wait_for("its prompt", |screen| screen.contains("The timer may not."));
    let found = sandbox.person(&["sessions", "--json"]).json();
    let session = Session::new(&sandbox, found[0]["session_id"].as_str().unwrap());
    let prompts: Vec<Value> =
        session.entries().into_iter().filter(|entry| entry["with"]["event"] == "UserPromptSubmit").collect();
    let why = prompts[1]["with"]["unproven"].as_str().unwrap_or_default();
    assert!(prompts.len() == 2 && why.contains("a timer of this session"), "{prompts:#?}");
    assert_eq!(session.entries().iter().filter(|entry| entry["type"] == "waiver").count(), 1);
    assert!(!sandbox.project().join("a.txt").exists());
    verifies(&sandbox, &session);
}
