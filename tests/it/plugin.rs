//! The repository as a plugin, and the tables its files are made from.

use crate::client::{Client, install};
use crate::model::{Model, Turn};
use crate::support::{BINARY, Sandbox, Session};
use aops_core::config::texts;
use aops_core::host::claude::settings::plugin_hooks;
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
    let text = fs::read_to_string(root().join(".claude-plugin/marketplace.json")).unwrap();
    let market: serde_json::Value = serde_json::from_str(&text).unwrap();
    let plugin = &market["plugins"][0];
    assert_eq!(
        (&market["name"], &plugin["name"], &plugin["source"]),
        (&"aops".into(), &"aops".into(), &"./".into())
    );
    for version in [&market["metadata"]["version"], &plugin["version"]] {
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
    }
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

/// As the core loop names them: planning and auditing cheap, judging large.
#[test]
fn five_agents_have_their_models() {
    let wanted = [
        ("critic", "opus"),
        ("custodiet", "haiku"),
        ("framework", "sonnet"),
        ("prompt-hydrator", "haiku"),
        ("qa-verifier", "opus"),
    ];
    for (name, model) in wanted {
        let text = fs::read_to_string(root().join(format!("agents/{name}.md"))).unwrap();
        assert!(
            text.contains(&format!("\nname: {name}\n")) && text.contains(&format!("\nmodel: {model}\n")),
            "{text}"
        );
    }
    assert_eq!(fs::read_dir(root().join("agents")).unwrap().count(), wanted.len());
}

#[test]
fn the_client_finds_the_plugin_valid() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(install::program().to_str().unwrap());
    let output = command.args(["plugin", "validate"]).arg(root()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("Validation passed"), "{said}");
}

/// The repository as a clone has it, as far as the client reads it. With a program: as after `install.sh
/// --plugin`.
fn lay_out(sandbox: &Sandbox, has_program: bool) -> PathBuf {
    let plugin = sandbox.tmp().join("plugin");
    for part in [".claude-plugin", "hooks", "agents", "commands", "bin"] {
        fs::create_dir_all(plugin.join(part)).unwrap();
        for file in fs::read_dir(root().join(part))
            .unwrap()
            .map(|item| item.unwrap().path())
            .filter(|path| path.is_file())
        {
            fs::copy(&file, plugin.join(part).join(file.file_name().unwrap())).unwrap();
        }
    }
    if has_program {
        fs::create_dir(plugin.join("bin/here")).unwrap();
        symlink(BINARY, plugin.join("bin/here/aops-hook")).unwrap();
    }
    plugin
}

/// One line on how to get the program, and no client is locked out.
#[test]
fn without_its_program_the_plugin_says_so_and_passes() {
    let sandbox = Sandbox::new();
    let plugin = lay_out(&sandbox, false);
    let script = plugin.join("bin/aops-hook");
    for event in ["SessionStart", "PreToolUse", "Stop"] {
        let mut hook = sandbox.command(script.to_str().unwrap());
        let said = hook.arg(event).env("PATH", "/usr/bin:/bin").write_stdin("{}").output().unwrap();
        let [out, err] = [said.stdout, said.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!((said.status.code(), err.lines().count()), (Some(0), 1), "{event}: {err}");
        assert!(err.contains(&format!("run {}/install.sh --plugin, or install", plugin.display())), "{err}");
        let told = serde_json::from_str::<serde_json::Value>(&out).ok();
        assert_eq!(told.is_some(), event == "SessionStart", "{out}");
        assert!(told.is_none_or(|told| err.contains(told["systemMessage"].as_str().unwrap())), "{out}");
    }
    let model = Model::new([Turn::call("Bash", json!({"command": "echo free"})), Turn::text("Done.")]);
    let run =
        Client::unguarded(&sandbox, &model).start("try it", &["--plugin-dir", plugin.to_str().unwrap()]);
    run.ended("Done.");
    assert_eq!(model.tool_results()[0].text, "free");
    assert!(!sandbox.config().join("aops").exists(), "nothing was recorded");
}

/// From a marketplace, by the client's own commands; then with a program that was installed by any package.
#[test]
fn from_a_marketplace_it_guards_as_soon_as_there_is_a_program() {
    let sandbox = Sandbox::new();
    let market = lay_out(&sandbox, false);
    let claude = |arguments: &[&str]| {
        let output = sandbox.command(install::program().to_str().unwrap()).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{arguments:?}: {said}");
    };
    claude(&["plugin", "validate", market.to_str().unwrap()]);
    claude(&["plugin", "marketplace", "add", market.to_str().unwrap()]);
    claude(&["plugin", "install", "aops@aops"]);
    let play = |text: &str| {
        let model = Model::new([Turn::call("Bash", json!({"command": "touch it"})), Turn::text(text)]);
        let run = Client::unguarded(&sandbox, &model).run("make it so");
        run.ended(text);
        model.tool_results()[0].clone()
    };
    assert!(!play("Free.").is_error, "without a program nothing is guarded");
    fs::create_dir_all(sandbox.home().join(".local/bin")).unwrap();
    symlink(BINARY, sandbox.home().join(".local/bin/aops-hook")).unwrap();
    let refused = play("Then not.");
    assert!(refused.is_error && refused.text.contains("aops:prompt-hydrator"), "{refused:?}");
    sandbox.person(&["doctor"]).said(&["all is well"]);
}

/// Who could write the script would be the guard.
#[test]
fn the_plugins_script_is_guarded() {
    let sandbox = Sandbox::new();
    let plugin = lay_out(&sandbox, true);
    let sandbox = sandbox.with("CLAUDE_PLUGIN_ROOT", &plugin);
    sandbox.configure("[mode]\nlevel = \"guard\"\n");
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("help me");
    let write = json!({"file_path": plugin.join("bin/aops-hook"), "content": "#!/bin/sh\n"});
    session.pre(&session.call("Write", write)).refused(&["bin/aops-hook"]);
}

#[test]
fn as_a_plugin_it_records_a_session() {
    let sandbox = Sandbox::new();
    let plugin = lay_out(&sandbox, true);
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
    let plugin = lay_out(&sandbox, true);
    let model = Model::new([Turn::text("It stands well.")]);
    let client = Client::unguarded(&sandbox, &model);
    let run = client.start("/aops:aops-status", &["--plugin-dir", plugin.to_str().unwrap()]);
    run.ended("It stands well.");
    let heard = model.requests()[0].said_by("user").join("\n");
    assert!(heard.contains(run.session_id()) && heard.contains("phase"), "{heard}");
}
