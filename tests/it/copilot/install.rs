//! `install --client copilot` and back, and what `doctor` says of it.

use super::{Copilot, bash, home, last_words, results, session, verifies};
use crate::bundle::administered;
use crate::model::{Model, Turn};
use crate::support::Sandbox;
use serde_json::{Value, json};
use std::fs;

fn row(sandbox: &Sandbox) -> Value {
    let rows: Value = sandbox.person(&["doctor", "--json"]).json_of_any_exit();
    rows.as_array().unwrap().iter().find(|row| row["check"] == "copilot").unwrap().clone()
}

#[test]
fn what_was_there_stays_and_comes_back() {
    let sandbox = Sandbox::new();
    let (hooks, settings) = (home(&sandbox).join("hooks"), home(&sandbox).join("settings.json"));
    fs::create_dir_all(&hooks).unwrap();
    fs::write(hooks.join("mine.json"), "{\"version\": 1}\n").unwrap();
    fs::write(&settings, "{}").unwrap();
    let before = sandbox.files();
    let dry = sandbox.person(&["install", "--client", "copilot", "--dry-run"]);
    assert!(dry.out.contains("PreToolUse --client copilot"), "{dry:?}");
    assert_eq!(sandbox.files(), before, "nothing is written");
    sandbox
        .person(&["install", "--client", "copilot"])
        .said(&["registered for Copilot CLI", "wrote 5 agents"]);
    let all: Value =
        serde_json::from_str(&fs::read_to_string(hooks.join("aops-hook.json")).unwrap()).unwrap();
    assert_eq!(
        (&all["version"], &all["hooks"]["Stop"][0]["timeoutSec"]),
        (&json!(1), &json!(600)),
        "{all:#}"
    );
    sandbox.person(&["install", "--client", "copilot"]).said(&["already registered"]);
    assert_eq!(row(&sandbox)["ok"], true, "{}", row(&sandbox));
    fs::write(&settings, "{\"disableAllHooks\": true}").unwrap();
    assert!(row(&sandbox).to_string().contains("switches every hook off"), "{}", row(&sandbox));
    fs::write(&settings, "{}").unwrap();
    let whole = fs::read_to_string(hooks.join("aops-hook.json")).unwrap();
    fs::write(hooks.join("aops-hook.json"), whole.replace("\"Stop\"", "\"Stopp\"")).unwrap();
    assert!(
        row(&sandbox).to_string().contains("not registered in Copilot CLI for every event"),
        "{}",
        row(&sandbox)
    );
    sandbox.person(&["install", "--client", "copilot"]).said(&["registered for"]);
    sandbox.person(&["uninstall", "--client", "copilot", "--yes"]).said(&["removed", "5 agents"]);
    assert!(!hooks.join("aops-hook.json").exists() && hooks.join("mine.json").is_file());
    assert!(!home(&sandbox).join("agents").exists());
}

/// Where a person registered us too (for our agents), each call is still one.
#[test]
fn an_administrators_and_a_persons_hooks_are_one() {
    let sandbox = administered();
    let model = Model::new([bash("deploy now"), bash("echo one"), Turn::text("Then not.")]);
    let run = Copilot::guarded(&sandbox, &model).run("deploy it");
    assert_eq!(last_words(&run), "Then not.", "{run:?}");
    session(&sandbox, &run).had(1, 2);
}

/// Registered by an administrator's bundle alone, under names and in words of its own; no setting of a person
/// switches it off.
#[test]
fn copilot_obeys_an_administrator() {
    let sandbox = administered();
    fs::create_dir_all(home(&sandbox)).unwrap();
    fs::write(home(&sandbox).join("settings.json"), "{\"disableAllHooks\": true}").unwrap();
    let file = sandbox.project().join("x.txt");
    let model = Model::new([
        bash("deploy now"),
        bash("echo $((6 * 7))"),
        Turn::call("create", json!({"path": file, "file_text": "x"})),
        Turn::call("view", json!({"path": file})),
        Turn::text("Then not."),
    ]);
    let copilot = Copilot { sandbox: &sandbox, model: &model };
    let run = copilot.run("deploy it");
    assert_eq!(last_words(&run), "Then not.", "{run:?}");
    let results = results(&model);
    assert!(results[0].contains("held by the house") && results[1].contains("42"), "{results:?}");
    let session = session(&sandbox, &run);
    let mut ends: Vec<String> =
        session.calls().into_values().map(|steps| steps.last().unwrap().clone()).collect();
    ends.sort();
    assert_eq!(ends, ["COMPLETED", "COMPLETED", "COMPLETED", "DENIED"]);
    assert_eq!(
        session.state()["task"]["writes"],
        1,
        "the prompt and the file were seen: {:#}",
        session.state()
    );
    let seen: Vec<Value> = session.entries().iter().map(|entry| entry["with"]["event"].clone()).collect();
    assert!(seen.contains(&json!("SessionStart")) && seen.contains(&json!("Stop")), "{seen:?}");
    verifies(&sandbox, &session);
}
