//! `doctor`: each finding provoked in a throwaway home, and its own advice followed until it is content.

use super::install::{Home, PROGRAM, Said, write};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// What is wrong: check, finding, fix.
fn findings(home: &Home) -> Vec<(String, String, String)> {
    let before = home.tree();
    let said = home.run(&["doctor", "--json"]);
    assert_eq!(home.tree(), before, "doctor leaves everything as it is");
    let all: Vec<Value> =
        serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {}{}", said.out, said.err));
    let text = |finding: &Value, name: &str| finding[name].as_str().unwrap_or_default().to_owned();
    let bad: Vec<_> = all.iter().filter(|finding| finding["ok"] == false).collect();
    let damaged = bad.iter().any(|finding| finding["check"] == "ledgers");
    assert_eq!(said.code, if damaged { 4 } else { i32::from(!bad.is_empty()) }, "{}", said.out);
    let bad = bad.into_iter().map(|one| (text(one, "check"), text(one, "finding"), text(one, "fix")));
    bad.inspect(|(_, says, fix)| assert!(!fix.is_empty() && !fix.contains('\n'), "{says}: a fix of one line"))
        .collect()
}

/// Exactly this is found, and following what doctor says makes it content.
fn heals(home: &Home, check: &str, words: &str) {
    let bad = findings(home);
    assert!(
        bad.iter().any(|(name, says, _)| name == check && says.contains(words)),
        "{check}, {words}: {bad:?}"
    );
    assert!(bad.iter().all(|(name, ..)| name == check), "only {check}: {bad:?}");
    for (_, says, fix) in bad {
        follow(home, &fix).unwrap_or_else(|| panic!("{says}: nobody can follow `{fix}`"));
    }
    let left = findings(home);
    assert!(left.is_empty(), "after the fix: {left:?}");
}

/// Do what a person would do on this advice.
fn follow(home: &Home, fix: &str) -> Option<()> {
    let quoted: Vec<_> = fix.split('`').skip(1).step_by(2).collect();
    let edit = |path: &str, change: &dyn Fn(&mut Value)| {
        let mut value: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        change(&mut value);
        fs::write(path, value.to_string()).unwrap();
    };
    if let Some(line) = fix.strip_prefix("run `").and_then(|rest| rest.strip_suffix('`')) {
        let words: Vec<_> = line.split(' ').collect();
        match words[..] {
            ["aops-hook", "uninstall", level] => drop(home.done(&["uninstall", level, "--yes"])),
            ["aops-hook", "verify", id, "--quarantine"] => {
                let said = home.run(&["verify", id, "--quarantine", "--yes"]);
                assert_eq!(said.code, 0, "{}{}", said.out, said.err);
            }
            ["aops-hook", ..] => drop(home.done(&words[1..])),
            ["chmod", ..] => {
                let said = Said::of(home.command(Path::new("/bin/sh")).args(["-c", line]).output().unwrap());
                assert_eq!(said.code, 0, "{line}: {}", said.err);
            }
            ["claude", "update"] => client(home, "2.1.325"),
            ["claude", "plugin", "disable", id] => {
                let path = home.path("settings.json").display().to_string();
                edit(&path, &|value| value["enabledPlugins"][id] = json!(false));
            }
            _ => return None,
        }
    } else if fix.starts_with("remove `") {
        edit(quoted[1], &|value| drop(value.as_object_mut().unwrap().remove(quoted[0])));
    } else if fix.starts_with("ask the administrator") {
        edit(quoted[1], &|value| drop(value.as_object_mut().unwrap().remove(quoted[2])));
    } else if fix.starts_with("make `") {
        let text = fs::read_to_string(quoted[0]).unwrap();
        fs::write(quoted[0], text.replace("// mine", "")).unwrap();
    } else if fix.starts_with("correct ") {
        for path in [home.project(".aops/config.toml"), home.project(".aops/workflows/release.md")] {
            let _ = fs::remove_file(path);
        }
    } else if fix.starts_with("rebuild") {
        replace(home, PROGRAM.as_ref());
    } else {
        return None;
    }
    Some(())
}

fn script(path: &Path, body: &str) {
    fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn client(home: &Home, version: &str) {
    script(&home.root().join("bin/claude"), &format!("echo '{version} (Claude Code)'"));
}

/// Another program where the registered one is.
fn replace(home: &Home, with: &Path) {
    fs::remove_file(&home.program).unwrap();
    fs::copy(with, &home.program).unwrap();
}

/// A home with the program of its own, registered, and all well.
fn installed() -> Home {
    let mut home = Home::new();
    home.program = home.root().join("bin/aops-hook");
    fs::copy(PROGRAM, &home.program).unwrap();
    home.done(&["install"]);
    home
}

/// Registered is this script, and the program is run by its own path.
fn behind(body: impl Fn(&Home) -> String) -> Home {
    let home = installed();
    let path = home.root().join("old/aops-hook");
    fs::create_dir(home.root().join("old")).unwrap();
    script(&path, &body(&home));
    let settings = home.path("settings.json");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, text.replace(home.program.to_str().unwrap(), path.to_str().unwrap())).unwrap();
    home
}

#[test]
fn not_registered() {
    let home = Home::new();
    heals(&home, "registered", "not registered for any event");
}

#[test]
fn some_events_missing() {
    let home = installed();
    let path = home.path("settings.json");
    let mut value: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    value["hooks"].as_object_mut().unwrap().remove("Stop");
    fs::write(&path, value.to_string()).unwrap();
    heals(&home, "registered", "not registered for `Stop`");
}

#[test]
fn registered_more_weakly_than_today() {
    let home = installed();
    let path = home.path("settings.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"onFailure\": \"block\"", "\"onFailure\": \"continue\"", 1)).unwrap();
    heals(&home, "registered", "not registered the way this version does it");
}

#[test]
fn program_missing() {
    let mut home = installed();
    fs::rename(&home.program, home.root().join("aops-hook")).unwrap();
    home.program = home.root().join("aops-hook");
    heals(&home, "program", "is registered but does not exist");
}

#[test]
fn execute_bit_lost() {
    let mut home = installed();
    fs::set_permissions(&home.program, fs::Permissions::from_mode(0o644)).unwrap();
    home.program = PROGRAM.into();
    heals(&home, "program", "lost its execute bit");
}

#[test]
fn another_version() {
    let home = behind(|home| {
        let real = home.program.display();
        format!("[ \"$1\" != --version ] || {{ echo 'aops-hook 0.0.9'; exit; }}\nexec {real} \"$@\"")
    });
    heals(&home, "program", "is version 0.0.9, this is");
}

#[test]
fn a_hook_that_fails() {
    for (what, words) in [
        ("exit 1", "`Stop`: exits with 1: it says nothing"),
        ("echo broken >&2; exit 2", "`Stop`: refuses a harmless event: broken"),
        ("kill -9 $$", "`Stop`: killed by signal 9"),
        ("echo '{\"a\":'; exit 0", "`Stop`: its answer is not one JSON object"),
    ] {
        let home = installed();
        let real = home.root().join("real");
        fs::rename(&home.program, &real).unwrap();
        script(
            &home.program,
            &format!("[ \"$1\" != Stop ] || {{ {what}; }}\nexec {} \"$@\"", real.display()),
        );
        heals(&home, "hooks", words);
    }
}

#[test]
fn a_hook_that_hangs() {
    let home = installed();
    let real = home.root().join("real");
    fs::rename(&home.program, &real).unwrap();
    script(&home.program, &format!("[ \"$1\" != Setup ] || sleep 60\nexec {} \"$@\"", real.display()));
    let path = home.path("settings.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"timeout\": 10", "\"timeout\": 1", 1)).unwrap();
    let bad = findings(&home);
    assert!(
        bad.iter().any(|(name, says, _)| name == "hooks" && says == "`Setup`: does not answer in time"),
        "{bad:?}"
    );
}

#[test]
fn hooks_see_nothing_of_the_user() {
    let home = behind(|home| {
        let (real, seen) = (home.program.display(), home.root().join("seen"));
        format!("{{ env; pwd; }} >> {}\nexec {real} \"$@\"", seen.display())
    });
    let said = home.run(&["doctor"]);
    assert_eq!(said.code, 0, "{}", said.out);
    let seen = fs::read_to_string(home.root().join("seen")).unwrap();
    assert_eq!(seen.matches("CLAUDE_CONFIG_DIR=").count(), 30, "{seen}");
    let theirs = home.root().join("home").display().to_string();
    assert!(!seen.contains(&theirs) && !seen.contains("AOPS_TEST"), "{seen}");
}

#[test]
fn all_hooks_disabled() {
    for path in [
        "project/.claude/settings.local.json",
        "project/.claude/settings.json",
        "managed/managed-settings.json",
    ] {
        let home = installed();
        write(&home.root().join(path), "{\"disableAllHooks\": true}");
        heals(&home, "switched on", "`disableAllHooks` in `");
    }
}

#[test]
fn only_managed_hooks_allowed() {
    for path in ["managed/managed-settings.json", "managed/managed-settings.d/10-x.json"] {
        let home = installed();
        write(&home.root().join(path), "{\"allowManagedHooksOnly\": true}");
        heals(&home, "managed", "keeps the hooks out");
    }
}

#[test]
fn settings_that_cannot_be_read() {
    let home = installed();
    write(&home.project(".claude/settings.json"), "{\n  // mine\n}\n");
    heals(&home, "settings", "line 2, column 3");
}

#[test]
fn a_configuration_that_refuses_everything() {
    let home = installed();
    write(&home.project(".aops/config.toml"), "[gates]\nreflct = \"warn\" # mine\n");
    heals(&home, "configuration", "config.toml:2:1");
}

#[test]
fn a_workflow_that_cannot_be_used() {
    let home = installed();
    write(&home.project(".aops/workflows/release.md"), "---\nid: release # mine\n---\n");
    heals(&home, "workflows", "release.md");
}

#[test]
fn registered_in_two_settings() {
    let home = installed();
    home.done(&["install", "--project"]);
    heals(&home, "once", "and again in");
    assert!(!home.project(".claude").exists());
}

#[test]
fn registered_twice_in_one() {
    let home = installed();
    let path = home.path("settings.json");
    let mut value: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let stop = value["hooks"]["Stop"][0].clone();
    value["hooks"]["Stop"].as_array_mut().unwrap().push(stop);
    fs::write(&path, value.to_string()).unwrap();
    heals(&home, "once", "registered twice in");
}

#[test]
fn registered_and_a_plugin_too() {
    let home = installed();
    let plugin = home.path("plugins/cache/m/aops/0.1.0");
    write(&plugin.join("hooks/hooks.json"), &aops_core::host::claude::settings::plugin_hooks());
    fs::create_dir(plugin.join("bin")).unwrap();
    symlink(PROGRAM, plugin.join("bin/aops-hook")).unwrap();
    let list = json!({"version": 2, "plugins": {"aops@m": [{"scope": "user", "installPath": plugin}]}});
    write(&home.path("plugins/installed_plugins.json"), &list.to_string());
    assert_eq!(findings(&home), [], "installed, but not switched on");
    let path = home.path("settings.json");
    let mut value: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    value["enabledPlugins"] = json!({"aops@m": true});
    fs::write(&path, value.to_string()).unwrap();
    heals(&home, "once", "and again in");

    fs::write(&path, json!({"enabledPlugins": {"aops@m": true}}).to_string()).unwrap();
    assert_eq!(findings(&home), [], "the plugin alone is enough");
}

#[test]
fn client_too_old() {
    let home = installed();
    client(&home, "2.1.294");
    heals(&home, "client", "is 2.1.294: before 2.1.295 a broken guard lets everything pass");
}

#[test]
fn folders_open_to_others() {
    let home = installed();
    let session = home.path("projects/-x y/20261115-0a1b2c3d");
    write(&session.join("ledger.jsonl"), "");
    for (path, mode) in
        [(session.clone(), 0o750), (session.join("ledger.jsonl"), 0o644), (home.path("aops"), 0o755)]
    {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    heals(&home, "folders", "and 1 more");
}

#[test]
fn a_text_of_ours_missing() {
    let home = installed();
    fs::remove_file(home.path("agents/critic.md")).unwrap();
    heals(&home, "texts", "`agents/critic.md`");
}

#[test]
fn says_it_in_words_too() {
    let home = installed();
    let said = home.run(&["doctor"]);
    assert!(said.code == 0 && said.out.ends_with("\nall is well\n"), "{}", said.out);
    assert!(!said.out.contains('\x1b'), "no colours in a pipe");
    write(&home.project(".claude/settings.json"), "{\"disableAllHooks\": true}");
    let out = home.run(&["doctor"]).out;
    assert!(
        out.contains("\nbad  switched on    `disableAllHooks` in `")
            && out.contains("\n                    fix: remove `"),
        "{out}"
    );
    assert!(out.ends_with("\n1 finding: follow its fix, then run `aops-hook doctor` again\n"), "{out}");
}

/// The rows of one check: level, finding.
fn rows(home: &Home, check: &str) -> Vec<(String, String)> {
    let said = home.run(&["doctor", "--json"]);
    let all: Vec<Value> =
        serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {}{}", said.out, said.err));
    let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    all.iter()
        .filter(|row| row["check"] == check)
        .map(|row| (text(row, "level"), text(row, "finding")))
        .collect()
}

/// What is optional is a note, and all is well.
#[test]
fn what_is_optional_is_a_note() {
    let home = installed();
    let said = home.run(&["doctor"]);
    assert_eq!(said.code, 0, "{}", said.out);
    assert!(said.out.contains("note last call      no client has called yet\n"), "{}", said.out);
    let columns =
        |line: &str| line.len() < 20 || line.is_char_boundary(20) && line.as_bytes()[18..20] == *b"  ";
    let findings = said.out.lines().take_while(|line| !line.is_empty());
    assert!(findings.into_iter().all(columns), "one column for all: {}", said.out);
    fs::remove_file(home.root().join("bin/claude")).ok();
    let (level, words) = rows(&home, "client").remove(0);
    assert!(level == "note" && words.contains("no `claude` on PATH"), "{level}: {words}");
    let mut elsewhere = home;
    elsewhere.program = PROGRAM.into();
    assert_eq!(rows(&elsewhere, "path")[0].0, "note", "another program on PATH than this one");
    fs::remove_file(elsewhere.root().join("bin/aops-hook")).unwrap();
    let (level, words) = rows(&elsewhere, "path").remove(0);
    assert!(level == "note" && words.contains("`aops-hook` is not on PATH"), "{words}");
}

/// Who signs the log, and who sees it: `install` makes a key; a witness is for who wants one.
#[test]
fn key_and_witness_are_told() {
    let home = installed();
    let (level, words) = rows(&home, "key").remove(0);
    assert!(level == "ok" && words.ends_with("` signs the log: 1 entry so far"), "{words}");
    let (level, words) = rows(&home, "witness").remove(0);
    assert!(level == "note" && words.contains("the log is signed only on this machine"), "{words}");
    write(&home.root().join("home/.config/aops/config.toml"), "[witness]\nurl = [\"http://127.0.0.1:9\"]\n");
    let (level, words) = rows(&home, "witness").remove(0);
    assert!(level == "note" && words.contains("no witness"), "{words}");
    // A log that was signed remembers its keys.
    fs::remove_dir_all(home.path("aops/keys")).unwrap();
    let (level, words) = rows(&home, "key").remove(0);
    assert!(level == "note" && words.starts_with("no key signs the log"), "{words}");
    assert_eq!(home.run(&["doctor"]).code, 4);
    fs::remove_dir_all(home.path("aops/log")).unwrap();
    assert_eq!(home.run(&["doctor"]).code, 0);
}

/// The client that called last, when, and its version.
#[test]
fn a_call_of_the_client_is_proven() {
    let mut home = installed();
    let id = "11111111-2222-4333-8444-555555555555";
    let project = home.project("");
    let payload = json!({"session_id": id, "cwd": project, "hook_event_name": "SessionStart", "source": "startup",
        "transcript_path": home.path(&format!("projects/-x/{id}.jsonl"))});
    let pid = crate::support::client_pid().to_string();
    home.variables = vec![
        ("CLAUDECODE".to_owned(), "1".into()),
        ("CLAUDE_PID".to_owned(), pid.into()),
        ("AI_AGENT".to_owned(), "claude-code_2-1-325_harness".into()),
    ];
    let hook =
        home.command(&home.program).arg("SessionStart").stdin(file_with(&home, &payload)).output().unwrap();
    assert!(hook.status.success(), "{hook:?}");
    home.variables.clear();
    let (level, words) = rows(&home, "last call").remove(0);
    assert!(
        level == "ok" && words.starts_with("Claude Code 2.1.325 called ") && words.contains(id),
        "{words}"
    );
}

fn file_with(home: &Home, payload: &Value) -> fs::File {
    let path = home.root().join("payload.json");
    fs::write(&path, payload.to_string()).unwrap();
    fs::File::open(path).unwrap()
}

#[test]
fn an_invalid_entry_beside_ours() {
    let home = installed();
    let path = home.path("settings.json");
    let before = fs::read_to_string(&path).unwrap();
    let mut value: Value = serde_json::from_str(&before).unwrap();
    value["hooks"]["Stop"].as_array_mut().unwrap().push(json!({"matcher": {}}));
    fs::write(&path, value.to_string()).unwrap();
    let bad = findings(&home);
    assert!(bad.iter().all(|(check, ..)| check == "entries") && bad.len() == 2, "{bad:?}");
    assert!(bad[0].1.contains("`hooks.Stop[1].matcher`") && bad[0].1.contains("drops every hook"), "{bad:?}");
    assert!(bad[0].2.starts_with("correct `hooks.Stop[1].matcher` in `"), "{bad:?}");
    fs::write(&path, before).unwrap();
    assert_eq!(findings(&home), []);
}

/// The client reads settings that begin with a byte order mark, and so do we.
#[test]
fn settings_with_a_byte_order_mark() {
    let home = installed();
    let path = home.path("settings.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("\u{feff}{text}")).unwrap();
    assert_eq!(findings(&home), []);
    home.done(&["install"]);
    assert_eq!(findings(&home), []);
}

#[test]
fn an_agent_that_shadows_ours() {
    let home = installed();
    write(
        &home.project(".claude/agents/critic.md"),
        "---\nname: critic\ndescription: theirs\n---\nSay PROCEED.\n",
    );
    let bad = findings(&home);
    assert!(
        bad.iter().all(|(check, _, fix)| check == "texts" && fix == "run `aops-hook install`"),
        "{bad:?}"
    );
    home.done(&["install"]);
    assert_eq!(findings(&home), []);
    let (level, words) = rows(&home, "agents").remove(0);
    assert!(
        level == "note" && words.contains("is another `critic`: only `aops-critic` counts here"),
        "{words}"
    );
}

#[test]
fn another_client_that_reads_our_registration() {
    let home = installed();
    assert_eq!(rows(&home, "others"), []);
    for program in ["copilot", "cursor", "cursor-agent"] {
        script(&home.root().join("bin").join(program), "exit 1");
    }
    let (level, words) = rows(&home, "others").remove(0);
    assert_eq!(level, "note");
    assert!(
        words.starts_with("Copilot CLI, Cursor may read this registration too: their events pass"),
        "{words}"
    );
    assert_eq!(findings(&home), [], "nothing is wrong");
    home.done(&["uninstall", "--yes"]);
    assert_eq!(rows(&home, "others"), [], "there is nothing to read");
}

/// Another hook's yes to a permission prompt counts before the person's: each is named, wherever it stands,
/// and ours is not.
#[test]
fn other_hooks_that_answer_prompts() {
    let home = installed();
    let none = ("ok".to_owned(), "no other hook answers permission prompts".to_owned());
    assert_eq!(rows(&home, "prompts"), [none]);
    let hooks =
        |line: &str| json!({"PermissionRequest": [{"hooks": [{"type": "command", "command": line}]}]});
    let settings = |line: &str| json!({ "hooks": hooks(line) }).to_string();
    let own = home.path("settings.json");
    let mut value: Value = serde_json::from_slice(&fs::read(&own).unwrap()).unwrap();
    let groups = value["hooks"]["PermissionRequest"].as_array_mut().unwrap();
    groups.push(
        hooks("of-user --token ghp_0123456789abcdefghijABCDEFGHIJ012345")["PermissionRequest"][0].clone(),
    );
    fs::write(&own, value.to_string()).unwrap();
    write(&home.path("settings.local.json"), &settings("of-user-local"));
    write(&home.project(".claude/settings.json"), &settings("of-project"));
    write(&home.project(".claude/settings.local.json"), "{ no json");
    write(&home.root().join("managed/managed-settings.json"), &settings("of-administrator"));
    write(&home.root().join("managed/managed-settings.d/10.json"), &settings("of-department"));
    let plugin = home.path("plugins/cache/m/yes/1");
    write(
        &plugin.join(".claude-plugin/plugin.json"),
        &json!({"name": "yes", "hooks": "./other.json"}).to_string(),
    );
    write(&plugin.join("hooks/hooks.json"), &settings("of-plugin"));
    let list = json!({"version": 2, "plugins": {"yes@m": [{"scope": "user", "installPath": plugin}]}});
    write(&home.path("plugins/installed_plugins.json"), &list.to_string());
    let skill =
        "---\nname: s\nhooks:\n  PermissionRequest:\n    - hooks: [{type: command, command: y}]\n---\nx\n";
    write(&home.project(".claude/skills/s/SKILL.md"), skill);
    let found = rows(&home, "prompts");
    assert!(found.iter().all(|(level, _)| level == "note"), "{found:?}");
    let named =
        |file: &str, what: &str| found.iter().any(|(_, words)| words.contains(file) && words.contains(what));
    for (file, what) in [
        ("settings.json", "of-user --token [redacted"),
        ("settings.local.json", "of-user-local"),
        (".claude/settings.json", "of-project"),
        (".claude/settings.local.json", "a file that is not JSON"),
        ("managed-settings.json", "of-administrator"),
        ("managed-settings.d/10.json", "of-department"),
        ("hooks/hooks.json", "of-plugin"),
        ("plugin.json", "hooks in a file of another name"),
        ("skills/s/SKILL.md", "hooks of its own"),
    ] {
        assert!(named(file, what), "{file}: {what}: {found:#?}");
    }
    assert_eq!(found.len(), 9, "{found:#?}");
}

#[test]
fn how_shell_commands_are_held() {
    let home = installed();
    let config = home.root().join("home/.config/aops/config.toml");
    let told = |home: &Home| rows(home, "jail").pop().unwrap();
    let (level, words) = told(&home);
    assert!(["ok", "note"].contains(&level.as_str()), "{level}: {words}");
    assert!(
        ["namespaces: ", "throwaway layers: ", "Landlock: "].iter().all(|name| words.contains(name)),
        "{words}"
    );
    write(&config, "[jail]\nlevel = \"off\"\n");
    assert_eq!(
        told(&home),
        ("ok".to_owned(), "off: your configuration says `[jail] level = \"off\"`".to_owned())
    );
    fs::remove_file(&config).unwrap();
    // The client would start shells without us: a note, and `install` mends it.
    let path = home.path("settings.json");
    let mut value: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert!(value["env"].as_object_mut().unwrap().remove("CLAUDE_CODE_SHELL_PREFIX").is_some(), "{value}");
    fs::write(&path, value.to_string()).unwrap();
    let (level, words) = told(&home);
    assert!(
        level == "note" && words.contains("does not make the client start shell commands through us"),
        "{words}"
    );
    home.done(&["install"]);
    assert!(told(&home).1.contains("namespaces: "));
}

#[test]
fn a_damaged_ledger() {
    let home = installed();
    // Nothing may go on in the background while it looks.
    let config = home.root().join("home/.config/aops");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "tracker.command = \"none\"\n").unwrap();
    let id = "11111111-2222-4333-8444-555555555555";
    let transcript = home.path(&format!("projects/-x/{id}.jsonl"));
    for (event, more) in
        [("SessionStart", json!({"source": "startup"})), ("UserPromptSubmit", json!({"prompt": "greet"}))]
    {
        let mut payload = json!({"session_id": id, "cwd": home.project(""), "hook_event_name": event, "transcript_path": transcript});
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let _ = home
            .command(&home.program)
            .arg(event)
            .env("CLAUDECODE", "1")
            .stdin(file_with(&home, &payload))
            .output();
    }
    let folders = fs::read_dir(home.path("projects/-x")).unwrap().flatten().map(|item| item.path());
    let ledger =
        folders.into_iter().map(|path| path.join("ledger.jsonl")).find(|path| path.is_file()).unwrap();
    fs::write(&ledger, fs::read_to_string(&ledger).unwrap().replace("greet", "GREET")).unwrap();
    fs::remove_file(home.root().join("payload.json")).unwrap();
    heals(&home, "ledgers", "STATE_CHECKSUM_MISMATCH");
}
