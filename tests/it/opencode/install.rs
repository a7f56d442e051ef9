//! `install --client opencode` and back, and what `doctor` says of it.

use super::{Opencode, bash, home, last_words, results, session};
use crate::bundle::administered;
use crate::model::{Model, Turn};
use crate::support::Sandbox;
use serde_json::Value;
use std::fs;

fn row(sandbox: &Sandbox) -> Value {
    let rows: Value = sandbox.person(&["doctor", "--json"]).json_of_any_exit();
    rows.as_array().unwrap().iter().find(|row| row["check"] == "opencode").unwrap().clone()
}

/// Plugins of others stay, and one of ours that lets pass what it should refuse is told.
#[test]
fn a_plugin_that_was_changed_is_told() {
    let sandbox = Sandbox::new();
    let plugins = home(&sandbox).join("plugins");
    fs::create_dir_all(&plugins).unwrap();
    fs::write(plugins.join("mine.js"), "export const Mine = async () => ({});\n").unwrap();
    sandbox.person(&["install", "--client", "opencode"]).said(&["registered for OpenCode", "wrote 5 agents"]);
    let plugin = plugins.join("aops-hook.js");
    let whole = fs::read_to_string(&plugin).unwrap();
    fs::write(&plugin, whole.replace("throw new Error", "new Error")).unwrap();
    assert!(
        row(&sandbox).to_string().contains("not registered in OpenCode for every event"),
        "{}",
        row(&sandbox)
    );
    sandbox.person(&["install", "--client", "opencode"]).said(&["registered for"]);
    sandbox.person(&["uninstall", "--client", "opencode", "--yes"]).said(&["removed", "5 agents"]);
    assert!(!plugin.exists() && plugins.join("mine.js").is_file());
}

/// Registered by an administrator's bundle alone.
#[test]
fn opencode_obeys_an_administrator() {
    let sandbox = administered();
    let model = Model::new([bash("deploy now"), bash("echo $((6 * 7))"), Turn::text("Then not.")]);
    let run = Opencode::unguarded(&sandbox, &model).run("deploy it");
    assert_eq!(last_words(&run), "Then not.", "{run:?}");
    let results = results(&model);
    assert!(results[0].contains("held by the house") && results[1].contains("42"), "{results:?}");
}

/// Where a person registered us too (for our agents), each call is still one.
#[test]
fn an_administrators_and_a_persons_hooks_are_one() {
    let sandbox = administered();
    let model = Model::new([bash("deploy now"), bash("echo one"), Turn::text("Then not.")]);
    let run = Opencode::guarded(&sandbox, &model).run("deploy it");
    assert_eq!(last_words(&run), "Then not.", "{run:?}");
    session(&sandbox, &run).had(1, 2);
}
