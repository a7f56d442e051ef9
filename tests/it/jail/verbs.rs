//! What our own verbs, and hooks, start: no program that an agent can have planted runs outside of the jail.
//!
//! Every folder of `PATH` that the agent can write is full of programs that report where they run.

use super::world::{Jailed, JailedSession};
use crate::support::BINARY;
use aops_core::model::event::EVENTS;
use aops_shell::verbs::{VERBS, Who};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// What people have in `~/.local/bin`, and what a program of ours could want to start.
const PLANTED: [&str; 26] = [
    "bash", "bd", "bwrap", "claude", "codex", "copilot", "curl", "env", "gemini", "getent", "git", "gpg",
    "less", "mb", "node", "notify-send", "npm", "opencode", "ps", "python3", "qwen", "setpriv", "sh", "ssh",
    "unshare", "xdg-open",
];

/// Verbs that do more with these words than without.
const MORE: [&str; 9] = [
    "checkpoint create before",
    "doctor --json",
    "insights --analyse",
    "insights batch --analyze",
    "insights batch",
    "report --since 7d",
    "verify --all",
    "verify --git",
    "verify --all --git",
];

/// A world in which the agent has planted them, our hooks are registered, and a key signs.
fn planted(configuration: &str) -> Jailed {
    let mut world = Jailed::with(configuration);
    let path = world.sandbox.environment().into_iter().find(|(name, _)| name == "PATH").unwrap().1;
    let path = path.to_str().unwrap().to_owned();
    let home = world.sandbox.home();
    fs::create_dir_all(home.join(".claude")).unwrap();
    world.sandbox.git(&["init", "-q"]);
    world.sandbox.put("README.md", "# a project\n");
    world.sandbox.git(&["add", "-A"]);
    world.sandbox.git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "begin"]);
    let installed = world.sandbox.person(&["install", "--yes"]);
    assert_eq!(installed.code, Some(0), "{installed:?}");
    let key = world.sandbox.person(&["key", "init"]);
    assert!(home.join(".claude/aops/keys/note.key").exists(), "{key:?}");
    let real = |name: &str| {
        let found = path.split(':').map(|folder| format!("{folder}/{name}"));
        found.into_iter().find(|file| fs::exists(file).is_ok_and(|is| is))
    };
    fs::create_dir_all(world.sandbox.tmp().join("reports")).unwrap();
    for (folder, name) in
        [home.join(".local/bin"), world.project().join("bin")].iter().flat_map(|f| PLANTED.map(|n| (f, n)))
    {
        let then = match (name, real(name)) {
            ("claude", _) => "echo '2.1.325 (Claude Code)'".to_owned(),
            ("git" | "sh" | "bash" | "env", Some(real)) => format!("exec {real} \"$@\""),
            _ => "exit 0".to_owned(),
        };
        let report = format!(
            "#!/bin/bash\nns=$(/usr/bin/readlink /proc/self/ns/mnt)\n\
             {{ : < {home}/.claude/aops/keys/note.key; }} 2>/dev/null && key=READABLE || key=hidden\n\
             {{ : >> {home}/.claude/settings.json; }} 2>/dev/null && settings=WRITABLE || settings=held\n\
             echo \"{name} $ns $key $settings\" >> {reports}/$$ 2>/dev/null\n{then}\n",
            home = home.display(),
            reports = world.sandbox.tmp().join("reports").display(),
        );
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join(name), report).unwrap();
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let first =
        format!("{}:{}:{path}", home.join(".local/bin").display(), world.project().join("bin").display());
    world.sandbox = world.sandbox.with("PATH", first);
    world
}

/// What ran since the last look. Each ran inside, with the keys out of sight and the settings held.
#[track_caller]
fn all_inside(world: &Jailed, what: &str) -> Vec<String> {
    world.sandbox.wait_until("nothing runs any more", || world.sandbox.alive().is_empty());
    let outer = fs::read_link("/proc/self/ns/mnt").unwrap();
    let mut names = Vec::new();
    for file in fs::read_dir(world.sandbox.tmp().join("reports")).unwrap().map(|item| item.unwrap().path()) {
        for report in fs::read_to_string(&file).unwrap().lines() {
            let words: Vec<&str> = report.split(' ').collect();
            assert_ne!(words[1], outer.to_str().unwrap(), "{what}: {report}");
            assert_eq!(words[2..], ["hidden", "held"], "{what}: {report}");
            names.push(words[0].to_owned());
        }
        fs::remove_file(file).unwrap();
    }
    names
}

/// A call of ours as the model makes it, whatever the gates say to it.
fn call(world: &Jailed, session: &JailedSession, line: &str) -> Vec<String> {
    let call = session.inner.call("Bash", json!({"command": line}));
    let refused = session.inner.pre(&call).code == Some(2);
    let ran = session.line(line).output().unwrap();
    if !refused {
        let _ = session.inner.post(&call);
    }
    all_inside(world, &format!("{line} ({ran:?})"))
}

const CONFIGURED: &str = "tracker.command = \"bd\"\naudit.rate = 0\n";

#[test]
fn no_verb_that_an_agent_may_call_starts_a_planted_program_outside() {
    let world = planted(CONFIGURED);
    let session = world.prompted();
    let verbs = VERBS.iter().filter(|verb| verb.who == Who::Anyone).map(|verb| verb.name);
    let mut started: Vec<String> = Vec::new();
    for words in verbs.chain(MORE) {
        // What is not a call of ours is looked up by the shell, which does not find us.
        let program = if words == "demo" { BINARY } else { "aops-hook" };
        started.extend(call(&world, &session, &format!("{program} {words}")));
    }
    for name in ["git", "claude", "bd"] {
        assert!(
            started.iter().any(|known| known == name),
            "`{name}` was never started, so this shows nothing"
        );
    }
    session.inner.hydrate("minor-edit", "new");
    for words in ["doctor", "checkpoint create after", "verify --git"] {
        call(&world, &session, &format!("aops-hook {words}"));
    }
    // From a folder below the project, the project is guarded all the same.
    fs::create_dir(world.project().join("below")).unwrap();
    fs::create_dir_all(world.project().join(".claude")).unwrap();
    let settings = world.sandbox.put(".claude/settings.json", "{}");
    let write = format!("#!/bin/bash\necho x >> {}\n", settings.display());
    fs::write(world.sandbox.home().join(".local/bin/claude"), write).unwrap();
    let mut doctor = session.line("aops-hook doctor");
    doctor.current_dir(world.project().join("below")).output().unwrap();
    assert_eq!(fs::read_to_string(settings).unwrap(), "{}");
}

/// Fields that each event has, as far as what we start hangs on them.
fn fields(event: &str) -> Value {
    match event {
        "SessionStart" => json!({"source": "startup"}),
        "UserPromptSubmit" => json!({"prompt": "go on"}),
        "SessionEnd" => json!({"reason": "other"}),
        "Stop" => json!({"stop_hook_active": false, "last_assistant_message": "done"}),
        "ConfigChange" => json!({"source": "project_settings", "file_path": ".claude/settings.json"}),
        _ => json!({"tool_name": "Bash", "tool_input": {"command": "git commit -m x"}, "tool_use_id": "t"}),
    }
}

#[test]
fn no_event_starts_a_planted_program_outside() {
    let checks = "[[check]]\nid = \"a\"\non = \"stop\"\nrun = \"curl x; claude\"\n\
        [[check]]\nid = \"b\"\non = \"commit\"\nrun = \"ssh x\"\n";
    let world = planted(&format!("{CONFIGURED}{checks}"));
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    session.ran("echo more >> README.md");
    let mut started = all_inside(&world, "a session");
    for event in EVENTS {
        let _ = session.inner.event(event.name, fields(event.name));
        started.extend(all_inside(&world, event.name));
    }
    for name in ["git", "bd", "curl"] {
        assert!(
            started.iter().any(|known| known == name),
            "`{name}` was never started, so this shows nothing"
        );
    }
}

#[test]
fn what_a_person_alone_may_start_says_so_inside() {
    let world = planted(CONFIGURED);
    let session = world.prompted();
    let answer = session.inner.ask_bash("aops-hook insights --analyse");
    answer.refused(&["insights --analyse", "terminal"]);
    let inside = world.sandbox.inside(&["insights", "--analyse"]);
    assert_eq!(inside.code, Some(2), "{inside:?}");
    assert!(inside.err.contains("in their own terminal"), "{inside:?}");
    // Playing a session changes nothing, so it is a command like any other.
    let ran = session.ran(&format!("{BINARY} demo --json"));
    assert_eq!((ran.code, ran.profile().as_str()), (Some(0), "trial"), "{ran:?}");
    all_inside(&world, "demo");
}
