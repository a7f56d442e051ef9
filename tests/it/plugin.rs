//! The repository as a plugin, and the tables its files are made from.

use crate::client::{Client, install};
use crate::model::{Model, Turn};
use crate::support::{BINARY, Sandbox, Session};
use aops_hook::claude::settings::plugin_hooks;
use aops_hook::config::texts;
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how a person asks a test to write")]
fn hooks_json_is_current() {
    let path = root().join("hooks/hooks.json");
    if std::env::var_os("AOPS_REGENERATE").is_some() {
        fs::write(&path, plugin_hooks()).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == plugin_hooks(),
        "hooks/hooks.json does not follow from EVENTS\n\
         hint: run `AOPS_REGENERATE=1 cargo nextest run hooks_json_is_current`"
    );
}

#[test]
fn plugin_json_has_the_version_of_the_program() {
    let text = fs::read_to_string(root().join(".claude-plugin/plugin.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(manifest["name"], "aops");
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn every_agent_and_command_is_an_asset() {
    let mut there: Vec<PathBuf> = ["agents", "commands"]
        .iter()
        .flat_map(|folder| fs::read_dir(root().join(folder)).unwrap())
        .map(|entry| entry.unwrap().path().strip_prefix(root()).unwrap().to_owned())
        .collect();
    there.sort();
    let named: Vec<_> = texts::placed().map(|asset| PathBuf::from(asset.path)).collect();
    assert_eq!(named, there, "`placed` in src/asset.rs names every file of agents/ and commands/, in order");
}

#[test]
fn the_client_finds_the_plugin_valid() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(install::program().to_str().unwrap());
    let output = command.args(["plugin", "validate"]).arg(root()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("Validation passed"), "{said}");
}

/// As after `install.sh --plugin`: nothing in any settings, the program in the plugin's `bin/`.
fn lay_out(sandbox: &Sandbox) -> PathBuf {
    let plugin = sandbox.tmp().join("plugin");
    fs::create_dir_all(plugin.join("bin")).unwrap();
    for part in [".claude-plugin", "hooks", "agents", "commands"] {
        symlink(root().join(part), plugin.join(part)).unwrap();
    }
    symlink(BINARY, plugin.join("bin/aops-hook")).unwrap();
    plugin
}

#[test]
fn as_a_plugin_it_records_a_session() {
    let sandbox = Sandbox::new();
    let plugin = lay_out(&sandbox);
    let model = Model::new([Turn::call("Bash", json!({"command": "echo hello"})), Turn::text("Done.")]);
    let client = Client::unguarded(&sandbox, &model);
    let run = client.start(". try it", &["--plugin-dir", plugin.to_str().unwrap()]);
    run.ended("Done.");
    let calls = Session::new(&sandbox, run.session_id()).calls();
    let calls: Vec<_> = calls.into_values().collect();
    assert_eq!(calls, [["PENDING", "AUTHORIZED", "EXECUTING", "COMPLETED"]]);
}

#[test]
fn a_plugins_command_runs_the_plugins_program() {
    let sandbox = Sandbox::new();
    let plugin = lay_out(&sandbox);
    let model = Model::new([Turn::text("It stands well.")]);
    let client = Client::unguarded(&sandbox, &model);
    let run = client.start("/aops:aops-status", &["--plugin-dir", plugin.to_str().unwrap()]);
    run.ended("It stands well.");
    let heard = model.requests()[0].said_by("user").join("\n");
    assert!(heard.contains(run.session_id()) && heard.contains("phase"), "{heard}");
}
