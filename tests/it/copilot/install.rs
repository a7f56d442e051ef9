//! `install --client copilot` and back, and what `doctor` says of it.

use super::home;
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
    sandbox.person(&["install", "--client", "copilot"]).said(&["registered for Copilot CLI", "wrote 5 agents"]);
    let all: Value = serde_json::from_str(&fs::read_to_string(hooks.join("aops-hook.json")).unwrap()).unwrap();
    assert_eq!((&all["version"], &all["hooks"]["Stop"][0]["timeoutSec"]), (&json!(1), &json!(600)), "{all:#}");
    sandbox.person(&["install", "--client", "copilot"]).said(&["already registered"]);
    assert_eq!(row(&sandbox)["ok"], true, "{}", row(&sandbox));
    fs::write(&settings, "{\"disableAllHooks\": true}").unwrap();
    assert!(row(&sandbox).to_string().contains("switches every hook off"), "{}", row(&sandbox));
    fs::write(&settings, "{}").unwrap();
    let whole = fs::read_to_string(hooks.join("aops-hook.json")).unwrap();
    fs::write(hooks.join("aops-hook.json"), whole.replace("\"Stop\"", "\"Stopp\"")).unwrap();
    assert!(row(&sandbox).to_string().contains("not registered in Copilot CLI for every event"), "{}", row(&sandbox));
    sandbox.person(&["install", "--client", "copilot"]).said(&["registered for"]);
    sandbox.person(&["uninstall", "--client", "copilot", "--yes"]).said(&["removed", "5 agents"]);
    assert!(!hooks.join("aops-hook.json").exists() && hooks.join("mine.json").is_file());
    assert!(!home(&sandbox).join("agents").exists());
}
