//! `install --client codex` and back.

use super::{Codex, bash, home, last_words, results, session};
use crate::bundle::administered;
use crate::model::{Model, Turn};
use crate::support::Sandbox;
use serde_json::{Value, json};
use std::fs;

/// Foreign hooks, settings and comments stay; installing twice changes nothing; what was there comes back to
/// the byte.
#[test]
fn what_was_there_stays_and_comes_back() {
    let sandbox = Sandbox::new();
    let (hooks, config) = (home(&sandbox).join("hooks.json"), home(&sandbox).join("config.toml"));
    fs::create_dir_all(home(&sandbox)).unwrap();
    let foreign = "{\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}]\n  }\n}\n";
    let settings =
        "# mine\nmodel = \"x\"\n\n[hooks.state.\"/other:stop:0:0\"]\ntrusted_hash = \"sha256:00\"\n";
    fs::write(&hooks, foreign).unwrap();
    fs::write(&config, settings).unwrap();
    let before = sandbox.files();
    let dry = sandbox.person(&["install", "--client", "codex", "--dry-run"]);
    assert!(dry.out.contains('+') && dry.out.contains("PreToolUse --client codex"), "{dry:?}");
    assert_eq!(sandbox.files(), before, "nothing is written");
    sandbox.person(&["install", "--client", "codex"]).said(&["registered for Codex", "wrote 5 agents"]);
    let all: Value = serde_json::from_str(&fs::read_to_string(&hooks).unwrap()).unwrap();
    assert_eq!(all["hooks"]["Stop"][0]["hooks"][0]["command"], "true");
    assert!(
        all["hooks"]["Stop"][1]["hooks"][0]["command"]
            .as_str()
            .unwrap()
            .ends_with("aops-hook Stop --client codex")
    );
    let trusting = fs::read_to_string(&config).unwrap();
    assert!(trusting.starts_with(settings) && trusting.contains(":stop:1:0\"]"), "{trusting}");
    let installed = (fs::read(&hooks).unwrap(), fs::read(&config).unwrap());
    sandbox.person(&["install", "--client", "codex"]).said(&["already registered"]);
    assert_eq!((fs::read(&hooks).unwrap(), fs::read(&config).unwrap()), installed);
    sandbox.person(&["uninstall", "--client", "codex", "--yes"]).said(&["removed", "5 agents"]);
    assert_eq!(
        (fs::read_to_string(&hooks).unwrap(), fs::read_to_string(&config).unwrap()),
        (foreign.to_owned(), settings.to_owned())
    );
    assert!(!home(&sandbox).join("agents").exists());
}

/// After edits of others only ours goes; a foreign agent of our name is not written over.
#[test]
fn edits_since_stay() {
    let sandbox = Sandbox::new();
    let model = Model::new([]);
    let _ = Codex::guarded(&sandbox, &model);
    let config = home(&sandbox).join("config.toml");
    let edited = fs::read_to_string(&config).unwrap() + "\n[features]\nx = true\n";
    fs::write(&config, &edited).unwrap();
    fs::write(home(&sandbox).join("agents/critic.toml"), "name = \"critic\"\n").unwrap();
    sandbox
        .person(&["uninstall", "--client", "codex", "--yes"])
        .said(&["removed", "4 agents", "it was edited"]);
    let left = fs::read_to_string(&config).unwrap();
    assert!(left.ends_with("[features]\nx = true\n") && !left.contains("trusted_hash"), "{left}");
    assert!(!home(&sandbox).join("hooks.json").exists(), "the installation made it");
    sandbox.person(&["install", "--client", "codex"]).failed(1, &["critic.toml", "hint: "]);
}

/// Trust is computed as Codex does it: without a word about trust on its command line our hooks run.
#[test]
fn codex_trusts_what_was_installed() {
    let sandbox = Sandbox::new();
    let model = Model::new([bash("aops-hook clear-block"), Turn::text("No.")]);
    let run = Codex::guarded(&sandbox, &model).run(". lift it");
    assert_eq!(last_words(&run), "No.", "{run:?}");
    assert!(results(&model)[0].contains("is for a person"), "{:?}", results(&model));
    let doctor = sandbox.person(&["doctor", "--json"]);
    let rows: Value = doctor.json_of_any_exit();
    let row = rows.as_array().unwrap().iter().find(|row| row["check"] == "codex").unwrap();
    assert_eq!((&row["ok"], &row["level"]), (&json!(true), &json!("ok")), "{row}");
}

/// Registered by an administrator's bundle alone.
#[test]
fn codex_obeys_an_administrator() {
    let sandbox = administered();
    let model = Model::new([bash("deploy now"), bash("echo $((6 * 7))"), Turn::text("Then not.")]);
    let run = Codex::unguarded(&sandbox, &model).run("deploy it");
    assert_eq!(last_words(&run), "Then not.", "{run:?}");
    let results = results(&model);
    assert!(results[0].contains("held by the house") && results[1].contains("42"), "{results:?}");
}

/// Where a person registered us too (for our agents), each call is still one.
#[test]
fn an_administrators_and_a_persons_hooks_are_one() {
    let sandbox = administered();
    let model = Model::new([bash("deploy now"), bash("echo one"), Turn::text("Then not.")]);
    let run = Codex::guarded(&sandbox, &model).run("deploy it");
    assert_eq!(last_words(&run), "Then not.", "{run:?}");
    session(&sandbox, &run).had(1, 2);
}
