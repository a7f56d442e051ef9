//! Where the kernel offers less: each fallback says so, and lets nothing pass that would not pass otherwise.

use super::world::Jailed;
use crate::proof::{key_arguments, log, second, verify};
use crate::support::{Answer, BINARY, NO_TRACKER, Sandbox, Session};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Runs this in a user namespace in which no further one can be made, as in a container that forbids them.
fn without_namespaces(world: &Jailed, arguments: &[&str], input: &str, variables: &[(&str, &str)]) -> Answer {
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
    under(
        world,
        &["unshare", "--user", "--map-root-user", "sh", "-ec", script, BINARY],
        arguments,
        input,
        variables,
    )
}

/// Runs our program by these words before its arguments.
fn under(
    world: &Jailed,
    words: &[&str],
    arguments: &[&str],
    input: &str,
    variables: &[(&str, &str)],
) -> Answer {
    let mut command = world.sandbox.command(words[0]);
    command.args(&words[1..]).args(arguments).write_stdin(input).envs(variables.iter().copied());
    let ran =
        command.output().unwrap_or_else(|error| panic!("`{}` is needed, install it: {error}", words[0]));
    Answer::of(arguments[0], &ran)
}

/// A step of a run in this profile, where Landlock alone holds.
pub(super) fn stepped_by_landlock(world: &Jailed, profile: &str, line: &str) -> Answer {
    without_namespaces(world, &["__line", profile, line], "", &[])
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
    assert!(started.out.contains("Landlock confines shell commands"), "{started:?}");
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
    let places =
        [env!("CARGO_TARGET_TMPDIR"), "/srv", "/opt"].into_iter().filter(|place| !place.contains("/tmp/"));
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
    assert_eq!(
        (&status["jail"]["hold"], status["jail"]["why"].as_str().is_some()),
        (&json!("landlock"), true)
    );
}

/// It is offered to note the hosts where the kernel holds a network, and not where Landlock alone holds.
#[test]
fn hosts_are_offered_to_be_noted_where_namespaces_hold() {
    let bare = "unshare --user --map-root-user sh -ec \
                'echo 0 > /proc/sys/user/max_user_namespaces; exec \"$0\" \"$@\"'";
    for (before, offered) in [("", true), (bare, false)] {
        let sandbox = Sandbox::unchosen();
        let line = format!("stty cols 80 rows 24; exec {before} {BINARY} install");
        let mut command = sandbox.command("script");
        command.args(["-q", "-e", "-c", &line, "/dev/null"]).env("TERM", "xterm").write_stdin("\n\n\n\n");
        let output = command.output().expect("`script` is needed: install util-linux");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("how much of the loop do you want?"), "{said}");
        assert_eq!(said.contains("note which hosts your commands reach"), offered, "{said}");
    }
}

/// Only namespaces hold a network: who requires a jail and wants a list runs nothing without them.
#[test]
fn without_namespaces_nothing_runs_where_a_list_is_required() {
    for (level, mode, runs) in [
        ("require", "list", false),
        ("require", "ask", false),
        ("require", "observe", true),
        ("auto", "list", true),
    ] {
        let world = Jailed::with(&format!("jail.level = \"{level}\"\nnetwork.mode = \"{mode}\"\n"));
        world.sandbox.put("work.sh", "echo ran\n");
        let session = world.sandbox.session();
        let _ = hook(&world, &session, "SessionStart", json!({"source": "startup"}));
        let _ = hook(&world, &session, "UserPromptSubmit", json!({"prompt": ". go on"}));
        let call = session.call("Bash", json!({"command": "sh work.sh"}));
        let asked = json!({"tool_name": "Bash", "tool_input": call.input, "tool_use_id": call.id});
        let _ = hook(&world, &session, "PreToolUse", asked);
        let id = [("CLAUDE_CODE_SESSION_ID", session.id.as_str()), ("AI_AGENT", "claude-code_agent")];
        let ran = without_namespaces(&world, &["shell", "sh work.sh"], "", &id);
        assert_eq!(ran.out == "ran\n", runs, "{level} {mode}: {ran:?}");
        let words = format!("`[network] mode` is `{mode}`, and only namespaces can confine a network");
        assert_eq!(ran.err.contains(&words), !runs, "{level} {mode}: {ran:?}");
    }
}

/// Reads the key by each way that leads to it, then what lies beside it and what it made itself.
const READ_KEYS: &str = "\
for path in ~/.claude/aops/keys/note.key /proc/self/root$HOME/.claude/aops/keys/note.key ../home/.claude/aops/keys/note.key link/note.key; do
  cat $path && echo KEY
done
ln ~/.claude/aops/keys/note.key hard && cat hard && echo KEY
mv ~/.claude/aops/keys ../tmp/keys && cat ../tmp/keys/note.key && echo KEY
cat ~/.claude/aops/log/x ~/.bashrc /etc/hostname /proc/self/comm > /dev/null || echo MISSED
ls / ~ ~/.claude ~/.claude/aops > /dev/null || echo MISSED
mkdir -p made/deep && echo y > made/deep/y && cat made/deep/y > /dev/null || echo MISSED
echo z > $TMPDIR/z && cat $TMPDIR/z > /dev/null || echo MISSED
echo end
";

#[test]
fn landlock_alone_keeps_the_keys_out_of_reach() {
    let world = Jailed::new();
    let (home, aops) = (world.sandbox.home(), world.sandbox.config().join("aops"));
    for (file, text) in [("keys/note.key", "secret\n"), ("log/x", "x\n")] {
        fs::create_dir_all(aops.join(file).parent().unwrap()).unwrap();
        fs::write(aops.join(file), text).unwrap();
    }
    fs::write(home.join(".bashrc"), "true\n").unwrap();
    std::os::unix::fs::symlink(aops.join("keys"), world.project().join("link")).unwrap();
    let script = world.sandbox.put("read.sh", READ_KEYS);
    let harness = [("AI_AGENT", "claude-code_harness")];
    let ran = without_namespaces(&world, &["shell", "sh read.sh"], "", &harness);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "end\n"), "{ran:?}");
    assert!(
        aops.join("keys/note.key").exists() && !world.sandbox.tmp().join("keys/note.key").exists(),
        "{ran:?}"
    );
    // What a hook starts on an agent's files, such as git with its filters, does not read them either.
    let held = |program: &str, file: &Path| {
        let words = ["__confined", "--", program, file.to_str().unwrap()];
        without_namespaces(&world, &words, "", &[("CLAUDECODE", "1")]).code
    };
    assert_eq!(held("/bin/cat", &aops.join("keys/note.key")), Some(1));
    assert_eq!(held("/bin/cat", &aops.join("log/x")), Some(0));
    assert_eq!(held("/usr/bin/touch", &world.sandbox.tmp().join("touched")), Some(0));
    // No hook was asked, so it is the strictest profile that holds: `read`.
    let agent = [("AI_AGENT", "claude-code_agent")];
    let ran = without_namespaces(&world, &["shell", &format!("sh {}", script.display())], "", &agent);
    assert!(ran.out.ends_with("end\n") && !ran.out.contains("KEY"), "{ran:?}");
}

/// Holds the lock of each session until somebody writes into the FIFO.
const HOLD: &str = "\
import fcntl, glob, os
held = [open(path) for path in glob.glob(os.path.expanduser('~/.claude/projects/*/*/.lock'))]
for file in held: fcntl.flock(file, fcntl.LOCK_EX)
os.mkfifo('release')
open('held', 'w').write(str(len(held)))
open('release').read()
";

/// Landlock allows folders and cannot take a file out of them, and a lock needs no right to write: a command
/// may hold the session's. Then what guards is refused, and the record loses nothing.
#[test]
fn who_holds_the_lock_where_landlock_alone_holds_hides_nothing() {
    let world = Jailed::new();
    world.sandbox.put("hold.py", HOLD);
    let session = world.sandbox.session();
    let _ = hook(&world, &session, "SessionStart", json!({"source": "startup"}));
    let _ = hook(&world, &session, "UserPromptSubmit", json!({"prompt": ". go on"}));
    let harness = [("AI_AGENT", "claude-code_harness")];
    let asked = json!({"tool_name": "Read", "tool_input": {"file_path": "/x"}, "tool_use_id": "r"});
    let ends = json!({"stop_hook_active": false, "last_assistant_message": "done", "background_tasks": []});
    let asked = session.payload("PreToolUse", asked).to_string();
    let client = [("CLAUDECODE", "1")];
    std::thread::scope(|scope| {
        let holds = || without_namespaces(&world, &["shell", "python3 hold.py"], "", &harness);
        let holder = scope.spawn(holds);
        let file = world.project().join("held");
        world
            .sandbox
            .wait_until("it holds the lock", || fs::read_to_string(&file).is_ok_and(|held| held == "1"));
        let call = scope.spawn(|| without_namespaces(&world, &["PreToolUse"], &asked, &client));
        hook(&world, &session, "Stop", ends).warned(&["STATE_LOCK_ACQUIRE_FAILED", "it is kept"]);
        call.join().unwrap().refused(&["STATE_LOCK_ACQUIRE_FAILED"]);
        fs::write(world.project().join("release"), "now").unwrap();
        assert_eq!(holder.join().unwrap().code, Some(0));
    });
    let _ = hook(&world, &session, "UserPromptSubmit", json!({"prompt": "go on"}));
    let stops = session
        .entries()
        .into_iter()
        .filter(|entry| entry["type"] == "event" && entry["with"]["event"] == "Stop");
    assert_eq!(stops.count(), 1, "{:#?}", session.entries());
    world.sandbox.person(&["verify", &session.id]).said(&["intact"]);
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

/// Where the kernel offers neither, words alone hold, the person is told, and nothing passes that would not
/// otherwise.
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
            event(
                "PreToolUse",
                json!({"tool_name": "Bash", "tool_input": call.input, "tool_use_id": call.id}),
            )
        };
        let started = event("SessionStart", json!({"source": "startup"}));
        assert!(started.out.contains("judged only by their text"), "{started:?}");
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

/// What was decided stands in the session's record. Where that proves nothing, no command runs, in any
/// profile; what needs no decision does: our own commands, which find the damage, and programs of the
/// harness.
#[test]
fn without_a_record_that_can_be_read_no_command_runs() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 5] = [
        ("the last entry was changed", |folder| {
            let ledger = folder.join("ledger.jsonl");
            let mut bytes = fs::read(&ledger).unwrap();
            let at = bytes.len() - 40;
            bytes[at] ^= 1;
            fs::write(ledger, bytes).unwrap();
        }),
        ("the tail was cut", |folder| {
            let ledger = fs::OpenOptions::new().write(true).open(folder.join("ledger.jsonl")).unwrap();
            ledger.set_len(ledger.metadata().unwrap().len() / 2).unwrap();
        }),
        ("the ledger is gone", |folder| fs::remove_file(folder.join("ledger.jsonl")).unwrap()),
        ("the ledger is not a file", |folder| {
            fs::remove_file(folder.join("ledger.jsonl")).unwrap();
            fs::create_dir(folder.join("ledger.jsonl")).unwrap();
        }),
        ("the state was edited", |folder| {
            let state = folder.join("session-state.json");
            let text = fs::read_to_string(&state).unwrap();
            fs::write(state, text.replacen("open", "shut", 1)).unwrap();
        }),
    ];
    for (name, damage) in damages {
        let world = Jailed::new();
        let session = world.prompted();
        session.inner.hydrate("minor-edit", "new");
        let call = session.inner.call("Bash", json!({"command": "touch x"}));
        session.inner.pre(&call).silent();
        damage(&session.inner.folder());
        let ran = session.line("touch x").output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!((ran.status.code(), ran.stdout.is_empty()), (Some(126), true), "{name}: {said}");
        let clear = said
            .starts_with("aops-hook did not run this command: what was decided about it cannot be read: ");
        assert!(clear && said.contains("hint: `aops-hook doctor`"), "{name}: {said}");
        assert!(!world.project().join("x").exists(), "{name}");
        let id = ("CLAUDE_CODE_SESSION_ID", session.inner.id.as_str());
        let ours = world.shell(&format!("{BINARY} sessions"), &[id]);
        assert_eq!(ours.code, Some(0), "{name}: {ours:?}");
        let server = world.shell("touch y", &[id, ("AI_AGENT", "claude-code_harness")]);
        assert!(server.code == Some(0) && world.project().join("y").exists(), "{name}: {server:?}");
        world.sandbox.configure("[jail]\nlevel = \"off\"\n");
        assert_eq!(world.shell("touch z", &[id]).code, Some(0), "{name}: a person has switched it off");
    }
}

/// The three levels, each made for real: `doctor` tries each means and says why one does not hold, `status`
/// says what a session has.
#[test]
fn doctor_and_status_name_each_level() {
    type Run = fn(&Jailed, &[&str], &str) -> Answer;
    let bare: Run = |world, arguments, input| under(world, &[BINARY], arguments, input, &[]);
    let landlock: Run = |world, arguments, input| without_namespaces(world, arguments, input, &[]);
    let words: Run =
        |world, arguments, input| under(world, &["python3", "-c", NEITHER, BINARY], arguments, input, &[]);
    let held = "namespaces: holds; throwaway layers: holds; Landlock: holds";
    let levels: [(Run, &str, &[&str], &str); 3] = [
        (bare, "ok", &[held], "namespaces: unknown commands run in a throwaway layer"),
        (
            landlock,
            "ok",
            &[
                "namespaces: does not work (user namespace: ",
                "throwaway layers: does not work (",
                "Landlock: holds",
            ],
            "Landlock, without throwaway layers (user namespace: ",
        ),
        (
            words,
            "note",
            &["namespaces: does not work (", "Landlock: does not work (", "judged only by their text"],
            "none: shell commands are judged only by their text (",
        ),
    ];
    for (run, level, found, told) in levels {
        let world = Jailed::new();
        assert_eq!(world.sandbox.person(&["install"]).code, Some(0));
        let session = world.sandbox.session();
        let payload = session.payload("SessionStart", json!({"source": "startup"})).to_string();
        assert_eq!(run(&world, &["SessionStart"], &payload).code, Some(0));
        let doctor = run(&world, &["doctor", "--json"], "").json_of_any_exit();
        let row = doctor.as_array().unwrap().iter().find(|row| row["check"] == "jail").unwrap();
        let said =
            format!("{} {}", row["finding"].as_str().unwrap(), row["fix"].as_str().unwrap_or_default());
        assert!(row["level"] == level && found.iter().all(|words| said.contains(words)), "{row}");
        let status = world.sandbox.person(&["status", &session.id]);
        assert!(status.out.contains(told), "{told}: {status:?}");
    }
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

/// How far each session is proven, as both verifiers say.
fn tiers(world: &Jailed, sessions: &[&Session]) -> [Vec<Value>; 2] {
    let ours =
        sessions.iter().map(|session| verify(&world.sandbox, &[&session.id])["tier"].clone()).collect();
    let keys = key_arguments(&world.sandbox);
    let folders: Vec<String> =
        sessions.iter().map(|session| session.folder().display().to_string()).collect();
    let log = log(&world.sandbox).display().to_string();
    let words = ["--log", &log].into_iter().chain(folders.iter().map(String::as_str));
    let words: Vec<&str> = words.chain(keys.iter().map(String::as_str)).collect();
    let said = second(&words);
    let theirs = said["sessions"].as_array().unwrap_or_else(|| panic!("{said}"));
    [ours, theirs.iter().map(|session| session["tier"].clone()).collect()]
}

fn turned(session: &Session, start: &dyn Fn()) {
    start();
    let _ = session.prompt("go on");
    assert_eq!(session.stop("done").code, Some(0));
}

/// A script may have read the key there, so no session of that log is more than intact, for `verify`,
/// `doctor`, a proof and the second verifier. What new keys sign is proven again.
#[test]
fn where_words_alone_hold_no_session_is_more_than_intact() {
    let guard = format!("mode.level = \"guard\"\n{NO_TRACKER}");
    for level in ["auto", "off"] {
        let world = Jailed::with(&guard);
        world.sandbox.person(&["key", "init"]).said(&["made the key"]);
        let [held, unheld, later] = [(); 3].map(|()| world.sandbox.session());
        turned(&held, &|| drop(held.start("startup")));
        assert_eq!(tiers(&world, &[&held]), [["sealed"], ["sealed"]], "{level}");
        world.sandbox.configure(&format!("{guard}[jail]\nlevel = \"{level}\"\n"));
        let payload = unheld.payload("SessionStart", json!({"source": "startup"})).to_string();
        let neither = ["python3", "-c", NEITHER, BINARY];
        let program = if level == "off" { &neither[3..] } else { &neither[..] };
        let begun = under(&world, program, &["SessionStart"], &payload, &[("CLAUDECODE", "1")]);
        assert_eq!(begun.code, Some(0), "{begun:?}");
        // Before its first command.
        assert_eq!(tiers(&world, &[&held, &unheld]), [["intact", "intact"], ["intact", "intact"]], "{level}");
        let why = verify(&world.sandbox, &[&held.id])["why_not_next"].to_string();
        assert!(why.contains("were judged only by their text") && why.contains(&unheld.id), "{why}");
        let doctor = world.sandbox.person(&["doctor", "--json"]).json_of_any_exit();
        let row = doctor.as_array().unwrap().iter().find(|row| row["check"] == "key").unwrap().to_string();
        assert!(
            row.contains("commands were judged only by their text") && row.contains("key rotate"),
            "{row}"
        );
        let proof = world.sandbox.person(&["prove", &format!("{}:1", held.id), "--json"]).json();
        assert_eq!(proof["tier"], "intact");
        // New keys are no cure while such a session goes on.
        world.sandbox.person(&["key", "rotate", "--yes"]).said(&["key"]);
        turned(&unheld, &|| ());
        assert_eq!(tiers(&world, &[&held, &unheld]), [["intact", "intact"], ["intact", "intact"]], "{level}");
        world.sandbox.configure(&guard);
        world.sandbox.person(&["key", "rotate", "--yes"]).said(&["key"]);
        turned(&later, &|| drop(later.start("startup")));
        let all = [&held, &unheld, &later];
        assert_eq!(
            tiers(&world, &all),
            [["intact", "intact", "sealed"], ["intact", "intact", "sealed"]],
            "{level}"
        );
        world.sandbox.person(&["verify", "--all"]).said(&["0 witnessed, 1 sealed, 2 intact, 0 damaged"]);
    }
}

/// A foreign program in the variable is told, and nothing is claimed. So is our own by a value that takes no
/// lines.
#[test]
fn another_program_in_the_variable_is_told() {
    for (value, told) in [
        ("/opt/logger.sh".to_owned(), "names another program"),
        (BINARY.to_owned(), "not as the program that starts commands"),
        (format!("{BINARY} --verbose"), "not as the program that starts commands"),
    ] {
        let sandbox = crate::support::Sandbox::new().with("CLAUDE_CODE_SHELL_PREFIX", &value);
        let session = sandbox.session();
        let started = session.start("startup");
        assert!(started.out.contains(told) && started.out.contains("aops-hook install"), "{started:?}");
        let jail = &sandbox.person(&["status", "--json"]).json()["jail"];
        assert!(jail.is_null(), "{value}: {jail}");
    }
}
