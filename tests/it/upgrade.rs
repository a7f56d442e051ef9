//! Upgrade and downgrade (`docs/upgrade.md`): what 0.1.0 installed is renewed; what another version recorded
//! in another format, or what a newer one recorded, is a clear error.

use crate::support::{BINARY, Sandbox, Session};
use aops_core::config::texts;
use aops_core::ledger::entry::{Frame, Mark};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The session that the fixture holds: a task with a plan, one change done, one call in flight.
const ID: &str = "0a1b2c3d-0000-4000-8000-000000000010";
/// Where it was recorded.
const THERE: &str = "/home/ada";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/upgrade/0.1.0").join(name)
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    // As the program makes them; git keeps no such modes.
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).unwrap();
    for item in fs::read_dir(from).unwrap().map(|item| item.unwrap().path()) {
        let to = to.join(item.file_name().unwrap());
        if item.is_dir() {
            copy_all(&item, &to);
        } else {
            fs::copy(&item, &to).unwrap();
            fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).unwrap();
        }
    }
}

/// A home as 0.1.0 left it, with its session in this project.
fn left_by_0_1_0() -> Sandbox {
    let sandbox = Sandbox::new();
    copy_all(&fixture("claude"), &sandbox.config());
    let session = fs::read_dir(fixture("sessions")).unwrap().next().unwrap().unwrap().path();
    copy_all(&session, &sandbox.sessions().join(session.file_name().unwrap()));
    for name in ["settings.json", "aops/installed.json"] {
        let path = sandbox.config().join(name);
        let text = fs::read_to_string(&path).unwrap().replace(THERE, sandbox.home().to_str().unwrap());
        fs::write(&path, text).unwrap();
    }
    sandbox
}

/// A ledger of another format is no ledger of ours: every command says so, nothing is written, and the way
/// out works.
#[test]
fn an_older_ledger_is_a_clear_error_and_is_kept() {
    let sandbox = left_by_0_1_0();
    let session = Session::new(&sandbox, ID);
    let files =
        || ["ledger.jsonl", "session-state.json"].map(|name| fs::read(session.folder().join(name)).unwrap());
    let before = files();
    assert_eq!(session.entries()[0]["with"]["binary"], "0.1.0");
    let words = format!(
        "STATE_WRITTEN_BY_OLDER: aops-hook 0.1.0 recorded this session, in format 1, and this is {}, which reads format 2",
        env!("CARGO_PKG_VERSION")
    );
    let said = sandbox.person(&["verify", ID]);
    assert!(said.code == Some(4) && said.out.starts_with(&format!("older: {words}")), "{said:?}");
    assert!(
        said.out.contains("hint: a person can begin a new session") && !said.out.contains("--quarantine"),
        "{said:?}"
    );
    sandbox.person(&["verify", ID, "--quarantine", "--yes"]).said(&["not set aside"]);
    assert_eq!(files(), before, "looking changes nothing");
    // What guards refuses; what cannot be refused is let go with a word.
    session.prompt("go on").refused(&[&words, "begin a new session"]);
    session.write("more.txt").refused(&[&words, "begin a new session"]);
    assert_eq!(session.stop("Done.").code, Some(0), "a client is never trapped");
    assert_eq!(files(), before, "it is kept as it is");
    // Without its state it is no other one, and no damage.
    fs::remove_file(session.folder().join("session-state.json")).unwrap();
    session.write("more.txt").refused(&[&words]);
    assert_eq!(fs::read(session.folder().join("ledger.jsonl")).unwrap(), before[0]);
    // The way out works: another session is free.
    let next = sandbox.session();
    let _ = next.start("startup");
    assert_eq!(next.prompt("go on").code, Some(0));
    sandbox.person(&["verify", &next.id]).said(&["intact: "]);
}

/// The texts of the older version are known by its receipt, so they are renewed; `doctor` says so before.
#[test]
fn install_renews_registration_and_agents() {
    let sandbox = left_by_0_1_0();
    let place = sandbox.home().join(".local/bin");
    fs::create_dir_all(&place).unwrap();
    let program = place.join("aops-hook");
    fs::write(&program, "#!/bin/sh\necho aops-hook 0.1.0\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let said = sandbox.person(&["doctor"]);
    let version = format!("is version 0.1.0, this is {}", env!("CARGO_PKG_VERSION"));
    assert!(said.code == Some(1) && said.out.contains(&version), "{said:?}");
    assert!(said.out.contains("fix: run `aops-hook install`"), "{said:?}");

    fs::copy(BINARY, &program).unwrap();
    let said = sandbox.person(&["doctor"]);
    assert!(said.out.contains("missing or changed in"), "the agents are the older ones: {said:?}");
    let install = sandbox.command(program.to_str().unwrap()).arg("install").output().unwrap();
    assert!(install.status.success(), "{install:?}");
    for asset in texts::placed().filter(|asset| asset.path.starts_with("agents/")) {
        assert_eq!(
            fs::read_to_string(sandbox.config().join(asset.path)).unwrap(),
            asset.text,
            "{}",
            asset.path
        );
    }
    let doctor = sandbox.command(program.to_str().unwrap()).arg("doctor").output().unwrap();
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(doctor.status.success() && said.contains("0 ledgers intact, 1 of another version"), "{said}");
}

/// A newer version adds an entry of a kind that this one does not know.
fn continue_by_newer(session: &Session) -> Vec<u8> {
    let ledger = session.folder().join("ledger.jsonl");
    let last = session.entries().pop().unwrap();
    let digest = "0".repeat(64);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let frame = Frame {
        prev: &text(&last["_digest"]),
        seq: last["sequence_number"].as_u64().unwrap() + 1,
        mark: Some(Mark { state: &digest, memory: &digest }),
        trace_id: &session.id,
        ts: &text(&last["ts"]),
        kind: "telepathy",
        with: "{}",
    };
    let mut bytes = fs::read(&ledger).unwrap();
    bytes.extend(frame.write().0.into_bytes());
    fs::write(&ledger, &bytes).unwrap();
    let state = session.folder().join("session-state.json");
    let mut newer: Value = serde_json::from_slice(&fs::read(&state).unwrap()).unwrap();
    assert_eq!(newer["ledger"]["binary"], env!("CARGO_PKG_VERSION"));
    newer["ledger"]["binary"] = json!("9.12.0");
    fs::write(state, newer.to_string()).unwrap();
    bytes
}

#[test]
fn what_a_newer_version_recorded_is_a_clear_error() {
    let sandbox = Sandbox::new();
    let session = sandbox.working();
    let bytes = continue_by_newer(&session);
    let words = format!("aops-hook 9.12.0 recorded this session, and this is {}", env!("CARGO_PKG_VERSION"));
    session.write("a.txt").refused(&["STATE_WRITTEN_BY_NEWER", &words, "install that version again"]);
    let said = sandbox.person(&["verify", &session.id]);
    assert!(
        said.code == Some(4) && said.out.starts_with(&format!("newer: STATE_WRITTEN_BY_NEWER: {words}")),
        "{said:?}"
    );
    assert!(
        said.out.contains("hint: a person can install that version again")
            && !said.out.contains("--quarantine")
    );
    sandbox.person(&["verify", &session.id, "--quarantine", "--yes"]).said(&["not set aside"]);
    assert_eq!(fs::read(session.folder().join("ledger.jsonl")).unwrap(), bytes, "it is kept as it is");
    // The way out works: another session is free.
    let next = sandbox.session();
    let _ = next.start("startup");
    assert_eq!(next.prompt("go on").code, Some(0));
}

/// A file of our own version that a person changed stays what it is.
#[test]
fn damage_is_not_taken_for_a_newer_version() {
    let sandbox = Sandbox::new();
    let session = sandbox.working();
    let ledger = session.folder().join("ledger.jsonl");
    let text = fs::read_to_string(&ledger).unwrap().replacen("add a greeting", "add a GREETING", 1);
    fs::write(&ledger, text).unwrap();
    let said = sandbox.person(&["verify", &session.id]);
    assert!(said.code == Some(4) && said.out.starts_with("damaged: STATE_CHECKSUM_MISMATCH"), "{said:?}");
}

/// `install.sh` puts the new program in the old one's place while a session runs.
#[test]
fn a_program_that_is_replaced_goes_on_guarding() {
    let sandbox = Sandbox::new();
    let place = sandbox.home().join(".local/bin");
    fs::create_dir_all(&place).unwrap();
    let (program, spare) = (place.join("aops-hook"), place.join("spare"));
    fs::copy(BINARY, &program).unwrap();
    let session = sandbox.session();
    let hook = |event: &str, fields: Value| {
        let given = format!("{}\n", session.payload(event, fields));
        let mut command = sandbox.command(program.to_str().unwrap());
        command.arg(event).envs(sandbox.inside_client()).write_stdin(given).output().unwrap()
    };
    assert!(hook("SessionStart", json!({"source": "startup"})).status.success());
    assert!(hook("UserPromptSubmit", json!({"prompt": "add a greeting"})).status.success());
    fs::copy(BINARY, &spare).unwrap();
    fs::rename(&spare, &program).unwrap();
    let write = json!({"tool_name": "Write", "tool_use_id": "toolu_1",
        "tool_input": {"file_path": sandbox.project().join("a.txt"), "content": "x"}});
    let said = hook("PreToolUse", write);
    let words = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.status.code() == Some(2) && words.contains("prompt-hydrator"), "as ever: {words}");
    let read =
        json!({"tool_name": "Read", "tool_use_id": "toolu_2", "tool_input": {"file_path": "README.md"}});
    assert!(hook("PreToolUse", read).status.success());
    sandbox.person(&["verify", &session.id]).said(&["intact: "]);
}

/// What a newer program installed is its own to change; the configuration that it knows is refused by key.
#[test]
fn what_a_newer_version_installed_is_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.person(&["install"]).said(&["registered"]);
    let receipt = sandbox.config().join("aops/installed.json");
    let mut value: Value = serde_json::from_slice(&fs::read(&receipt).unwrap()).unwrap();
    value["schema"] = json!(value["schema"].as_u64().unwrap() + 1);
    fs::write(&receipt, value.to_string()).unwrap();
    let before = sandbox.files();
    for command in [&["install"][..], &["uninstall", "--yes"]] {
        let words = ["installed.json` is of another version", "hint: use the `aops-hook` that wrote it"];
        sandbox.person(command).failed(1, &words);
    }
    assert_eq!(sandbox.files(), before);
    sandbox.configure("[mode]\nlevel = \"loop\"\nof_tomorrow = 1\n");
    sandbox.session().prompt("add a greeting").refused(&["config.toml:3", "of_tomorrow"]);
}
