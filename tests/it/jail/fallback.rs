//! Where the kernel offers less: each fallback says so, and lets nothing pass that would not pass otherwise.

use super::world::Jailed;
use crate::support::{Answer, BINARY, Session};
use serde_json::{Value, json};

/// Runs this in a user namespace in which no further one can be made, as in a container that forbids them.
fn without_namespaces(world: &Jailed, arguments: &[&str], input: &str, variables: &[(&str, &str)]) -> Answer {
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
    let mut command = world.sandbox.command("unshare");
    command.args(["--user", "--map-root-user", "sh", "-ec", script, BINARY]).args(arguments).write_stdin(input);
    command.envs(variables.iter().copied());
    Answer::of(arguments[0], &command.output().expect("`unshare` is needed: install util-linux"))
}

fn hook(world: &Jailed, session: &Session, event: &str, fields: Value) -> Answer {
    without_namespaces(world, &[event], &session.payload(event, fields).to_string(), &[("CLAUDECODE", "1")])
}

#[test]
fn without_namespaces_landlock_holds_and_says_so() {
    let world = Jailed::new();
    world.sandbox.put("work.sh", "echo x > x; echo y > $OUT/y; echo z > $TMPDIR/z\n");
    let session = world.sandbox.session();
    let started = hook(&world, &session, "SessionStart", json!({"source": "startup"}));
    assert!(started.out.contains("held by Landlock"), "{started:?}");
    let _ = hook(&world, &session, "UserPromptSubmit", json!({"prompt": "add a greeting"}));
    // There is nothing to throw away: it waits for the plan, as ever.
    let call = session.call("Bash", json!({"command": "sh work.sh"}));
    let asked = json!({"tool_name": "Bash", "tool_input": call.input, "tool_use_id": call.id});
    hook(&world, &session, "PreToolUse", asked).refused(&["plan"]);

    let _ = hook(&world, &session, "UserPromptSubmit", json!({"prompt": ". go on"}));
    let call = session.call("Bash", json!({"command": "sh work.sh"}));
    let asked = json!({"tool_name": "Bash", "tool_input": call.input, "tool_use_id": call.id});
    hook(&world, &session, "PreToolUse", asked).silent();
    // A temporary folder may be written: the home of a test is one, and so is a checkout below `/tmp`.
    let places = [env!("CARGO_TARGET_TMPDIR"), "/srv", "/opt"].into_iter().filter(|place| !place.contains("/tmp/"));
    let out = places.into_iter().find_map(|place| tempfile::tempdir_in(place).ok());
    let out = out.as_ref().map_or(std::path::Path::new("/"), |folder| folder.path());
    let id = [
        ("CLAUDE_CODE_SESSION_ID", session.id.as_str()),
        ("AI_AGENT", "claude-code_agent"),
        ("OUT", out.to_str().unwrap()),
    ];
    let ran = without_namespaces(&world, &["shell", "sh work.sh"], "", &id);
    assert!(ran.err.contains("Permission denied"), "{ran:?}");
    let there = |path: std::path::PathBuf| path.exists();
    assert!(there(world.project().join("x")) && there(world.sandbox.tmp().join("z")), "{ran:?}");
    assert!(!there(out.join("y")), "{ran:?}");
    let status = world.sandbox.person(&["status", &session.id, "--json"]).json();
    assert_eq!((&status["jail"]["hold"], status["jail"]["why"].as_str().is_some()), (&json!("landlock"), true));
}

/// Forbids namespaces and Landlock to itself, then becomes the program that its arguments name.
const NEITHER: &str = r#"
import ctypes, os, platform, struct, sys
unshare = 97 if platform.machine() == "aarch64" else 272
steps = [(0x20, 0, 0, 0), (0x15, 2, 0, unshare), (0x15, 2, 0, 444), (6, 0, 0, 0x7fff0000), (6, 0, 0, 0x50001), (6, 0, 0, 0x50026)]
filter = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(filter))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"#;

/// Where the kernel offers neither, words alone hold, the person is told, and nothing passes that would not otherwise.
#[test]
fn without_namespaces_and_landlock_words_hold_and_say_so() {
    for level in ["auto", "require"] {
        let world = Jailed::with(&format!("[jail]\nlevel = \"{level}\"\n"));
        let session = world.sandbox.session();
        let run = |arguments: &[&str], input: &str| {
            let mut command = world.sandbox.command("python3");
            command.args(["-c", NEITHER, BINARY]).args(arguments).write_stdin(input).env("CLAUDECODE", "1");
            command.env("AI_AGENT", "claude-code_agent").env("CLAUDE_CODE_SESSION_ID", &session.id);
            Answer::of(arguments[0], &command.output().expect("`python3` is needed: install it"))
        };
        let event = |name: &str, fields: Value| run(&[name], &session.payload(name, fields).to_string());
        let asked = |line: &str| {
            let call = session.call("Bash", json!({"command": line}));
            event("PreToolUse", json!({"tool_name": "Bash", "tool_input": call.input, "tool_use_id": call.id}))
        };
        let started = event("SessionStart", json!({"source": "startup"}));
        assert!(started.out.contains("judged by their words alone"), "{started:?}");
        let _ = event("UserPromptSubmit", json!({"prompt": "add a greeting"}));
        let words = if level == "require" { "the jail is required here" } else { "plan" };
        asked("sh work.sh").refused(&[words]);
        world.sandbox.put("work.sh", "echo x > x\n");
        let _ = event("UserPromptSubmit", json!({"prompt": ". go on"}));
        let answer = asked("sh work.sh");
        assert_eq!(answer.code == Some(0) && answer.out.is_empty(), level == "auto", "{answer:?}");
        let ran = run(&["shell", "sh work.sh"], "");
        let ends = if level == "auto" { Some(0) } else { Some(126) };
        assert_eq!((ran.code, world.project().join("x").exists()), (ends, level == "auto"), "{ran:?}");
        let status = world.sandbox.person(&["status", &session.id, "--json"]).json();
        assert_eq!(status["jail"]["hold"], json!("words"));
    }
}

/// What was found at the start does not hold any more, or nothing is known: no command runs bare.
#[test]
fn a_command_that_cannot_be_held_does_not_run() {
    let world = Jailed::new();
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    let call = session.inner.call("Bash", json!({"command": "touch x"}));
    session.inner.pre(&call).silent();
    let id = [("CLAUDE_CODE_SESSION_ID", session.inner.id.as_str()), ("AI_AGENT", "claude-code_agent")];
    let ran = without_namespaces(&world, &["shell", "touch x"], "", &id);
    assert!(ran.code == Some(126) && ran.err.contains("did not run this command"), "{ran:?}");

    world.sandbox.configure("[jail\n");
    let ran = world.shell("touch x", &[("CLAUDE_CODE_SESSION_ID", "unheard-of")]);
    assert!(ran.code == Some(126) && ran.err.contains("CONFIG_INVALID"), "{ran:?}");
    assert!(!world.project().join("x").exists());
}

/// The variable is set, and the configuration asks for no jail, or for one that cannot be.
#[test]
fn the_configuration_decides() {
    let off = Jailed::with("[jail]\nlevel = \"off\"\n");
    let session = off.prompted();
    session.inner.ask_bash("make").refused(&["plan"]);
    let ran = off.shell("echo x > x", &[("CLAUDE_CODE_SESSION_ID", &session.inner.id)]);
    assert!(ran.code == Some(0) && off.project().join("x").exists(), "{ran:?}");

    let sandbox = crate::support::Sandbox::new();
    sandbox.configure("[jail]\nlevel = \"require\"\n");
    let session = sandbox.session();
    let started = session.start("startup");
    assert!(started.out.contains("the jail is required"), "{started:?}");
    let _ = session.prompt(". go");
    session.ask_bash("ls").refused(&["the jail is required here", "aops-hook doctor"]);
    session.pre(&session.call("Read", json!({"file_path": "/x"}))).silent();
}

/// A foreign program in the variable is told, and nothing is claimed.
#[test]
fn another_program_in_the_variable_is_told() {
    let sandbox = crate::support::Sandbox::new().with("CLAUDE_CODE_SHELL_PREFIX", "/opt/logger.sh");
    let started = sandbox.session().start("startup");
    assert!(started.out.contains("names another program"), "{started:?}");
}
