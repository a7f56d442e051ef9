//! The repository as a plugin, and the tables its files are made from.

use aops_hook::asset::ASSETS;
use aops_hook::settings::plugin_hooks;
use std::fs;
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
    let named: Vec<_> = ASSETS.iter().map(|asset| PathBuf::from(asset.path)).collect();
    assert_eq!(named, there, "ASSETS in src/asset.rs names every file of agents/ and commands/, in order");
}
