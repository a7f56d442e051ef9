//! Variables in a project's settings that would run the project's code before the jail, or outside of it.

use super::world::{Jailed, Ran};
use crate::support::{BINARY, NO_TRACKER, client_pid};
use serde_json::json;
use std::fs;

/// A world whose client has this variable, as a project's settings or as the person set it.
fn with(name: &str, value: &str, by_project: bool) -> Jailed {
    let mut world = Jailed::new();
    // A variable that the person set has the same value in the client itself.
    let sandbox = if by_project { world.sandbox.of_client(client_pid()) } else { world.sandbox };
    world.sandbox = sandbox.with(name, value);
    if by_project {
        world.sandbox.put(".claude/settings.json", &json!({"env": {name: value}}).to_string());
    }
    world
}

/// The client gives the `env` of a project's settings to its own shell, which starts us, and to the loader.
#[test]
fn what_a_projects_settings_run_before_the_jail_lets_no_command_run() {
    for (name, value) in [
        ("BASH_ENV", "/x/env.sh"),
        ("BASH_FUNC_pwd%%", "() { /x/y; }"),
        ("CLAUDE_CODE_SHELL", "/x/bash"),
        ("CLAUDE_CODE_SHELL_PREFIX", "/x/tools/aops-hook --shell"),
        ("GCONV_PATH", "/x/lib"),
        ("GIT_SSH_COMMAND", "/x/ssh"),
        ("LD_LIBRARY_PATH", "/x/lib"),
        ("PS4", "$(/x/env.sh)"),
        ("RIPGREP_CONFIG_PATH", "/x/rgrc"),
        ("SHELLOPTS", "xtrace"),
    ] {
        let world = with(name, value, true);
        world.sandbox.person(&["key", "init"]).said(&["made the key"]);
        let session = world.sandbox.session();
        let told = session.start("startup").out;
        assert!(told.contains(&format!("`{name}`, which `")), "{name}: {told}");
        let _ = session.prompt("look");
        session.ask_bash("ls").refused(&[name, "before the jail", "take it out"]);
        world.sandbox.person(&["status", &session.id]).said(&["before the jail"]);
        let verified = world.sandbox.person(&["verify", &session.id, "--json"]).json_of_any_exit();
        assert_eq!(verified["tier"], "intact", "{name}: {verified}");
    }
}

#[test]
fn what_only_reaches_commands_or_is_the_persons_lets_them_run() {
    for (name, value, by_project) in [
        ("BASH_ENV", "/x/env.sh", false),
        ("LD_LIBRARY_PATH", "/x/lib", false),
        ("BASH_MAX_TIMEOUT_MS", "600000", true),
        ("CLAUDE_CODE_SHELL_PREFIX", &format!("{BINARY} --shell"), true),
        ("GIT_EDITOR", "true", true),
        ("NODE_ENV", "test", true),
        ("PYTHONPATH", "src", true),
    ] {
        let world = with(name, value, by_project);
        let session = world.sandbox.session();
        let told = session.start("startup").out;
        assert!(!told.contains("before the jail"), "{name}: {told}");
        let _ = session.prompt("look");
        session.ask_bash("ls").silent();
    }
}

/// A script makes the file, and the client would give its `env` to the shell of the next command.
#[test]
fn a_script_that_writes_such_settings_blocks_its_session() {
    for (name, value, blocks) in [
        ("LD_LIBRARY_PATH", "/x/lib", true),
        ("SHELLOPTS", "xtrace", true),
        ("CLAUDE_CODE_SHELL_PREFIX", "/x/tools/aops-hook --shell", true),
        ("DATABASE_URL", "x://y/z", false),
    ] {
        let world = Jailed::with(&format!("mode.level = \"loop\"\n{NO_TRACKER}"));
        let text = json!({"env": {name: value}}).to_string();
        world.sandbox.put("text.json", &text);
        world.sandbox.put(
            "make.py",
            "import os, shutil\nfolder = '.cla' + 'ude'\nos.makedirs(folder, exist_ok=True)\n\
            shutil.copy('text.json', folder + '/sett' + 'ings.local.json')\n",
        );
        let session = world.prompted();
        session.inner.hydrate("minor-edit", "new");
        let call = session.inner.call("Bash", json!({"command": "python3 make.py"}));
        session.inner.pre(&call).silent();
        // Where the folder is, its settings are held.
        let _ = fs::remove_dir_all(world.project().join(".claude"));
        let _ = fs::remove_file(session.prepared());
        let ran = Ran::of(&session.line("python3 make.py").output().unwrap());
        assert_eq!(ran.code, Some(0), "{name}: {ran:?}");
        let file = world.project().join(".claude/settings.local.json");
        let change = json!({"source": "local_settings", "file_path": &file});
        let change = session.inner.event("ConfigChange", change);
        if blocks {
            change.refused(&["not applied to this session", name]);
        }
        let ended = session.inner.post(&call).out;
        assert!(file.exists(), "{name}");
        assert_eq!(ended.contains("the session is blocked"), blocks, "{name}: {ended}");
        if blocks {
            session.inner.ask_bash("ls").refused(&[name, "outside the jail"]);
        } else {
            session.inner.ask_bash("ls").silent();
        }
    }
}
