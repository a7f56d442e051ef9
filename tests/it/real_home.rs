//! No test touches the real home of the user who runs them.
//!
//! A real session may be at work in that home while we test, so a changed file proves nothing by itself: what
//! only an installer writes must be unchanged, and what sessions write must not mention the test's session.

use crate::support::{BINARY, Sandbox, Session, real_home};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Written by installing only.
const INSTALLED: [&str; 9] = [
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/hooks.json",
    ".codex/config.toml",
    ".claude/agents",
    ".claude/commands",
    ".config/aops",
    ".local/bin",
    "Library/Application Support/aops",
];

/// Written by every session.
const SHARED: [&str; 2] = [".claude/aops", ".local/share/aops"];

#[test]
fn home_is_left_alone() {
    let home = real_home().expect("`HOME` is set");
    let before = installed(&home);
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    exercise(&sandbox, &session);
    assert_eq!(installed(&home), before, "something was installed in the real home");
    assert_eq!(traces(&home, &session), Vec::<PathBuf>::new(), "the session left traces in the real home");
}

/// The two looks above do see what they look for, in a home that was meant to be written to.
#[test]
fn a_touched_home_is_seen() {
    let sandbox = Sandbox::new();
    let before = installed(&sandbox.home());
    let session = sandbox.session();
    exercise(&sandbox, &session);
    assert_ne!(traces(&sandbox.home(), &session), Vec::<PathBuf>::new());
    fs::create_dir_all(sandbox.home().join(".local/bin")).unwrap();
    fs::copy(BINARY, sandbox.home().join(".local/bin/aops-hook")).unwrap();
    assert_ne!(installed(&sandbox.home()), before);
}

/// No child knows of the real home, nor of the client that may have started the tests.
#[test]
fn a_child_gets_the_sandbox_and_nothing_else() {
    let sandbox = Sandbox::new();
    let said = sandbox.command("env").output().unwrap();
    let text = String::from_utf8(said.stdout).unwrap();
    let mut names: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "ACA_DATA", "AOPS_TEST_LOT", "AOPS_TEST_MANAGED", "AOPS_TEST_PATIENCE", "HOME", "LANG", "PATH",
            "SHELL", "TERM", "TMPDIR", "TZ"
        ]
    );
    assert!(text.lines().any(|line| Path::new(line.trim_start_matches("HOME=")) == sandbox.home()), "{text}");
}

/// The main verbs, one after the other.
fn exercise(sandbox: &Sandbox, session: &Session) {
    let _ = session.start("startup");
    let _ = session.prompt(". say hello");
    let call = session.call("Bash", json!({"command": "echo hello"}));
    session.pre(&call).silent();
    session.post(&call).silent();
    session.batch(&[&call]).silent();
    let inside = session.call("Bash", json!({"command": "exit 3"})).by("a1", "checker");
    session.pre(&inside).silent();
    session.fail(&inside, "Exit code 3").silent();
    sandbox.raw("PreToolUse", "not an event").refused(&["hint:"]);
    sandbox.raw("Notification", "not an event").warned(&["hint:"]);
    session.stop("Hello.").silent();
    session.end().silent();
    for verb in [&["install"][..], &["sessions"], &["status"], &["doctor"], &["uninstall", "--yes"]] {
        let _ = sandbox.person(verb);
    }
}

/// Every file below the places of an installer: length and time of its last change.
fn installed(home: &Path) -> BTreeMap<PathBuf, (u64, SystemTime)> {
    let paths = INSTALLED.iter().flat_map(|place| below(&home.join(place)));
    let look = |path: PathBuf| {
        let about = fs::symlink_metadata(&path).ok()?;
        Some((path, (about.len(), about.modified().ok()?)))
    };
    paths.filter_map(look).collect()
}

/// What knows this session: a folder of its own, or words in the files that all sessions share.
fn traces(home: &Path, session: &Session) -> Vec<PathBuf> {
    let projects = listing(&home.join(".claude/projects"));
    let folders = projects.iter().flat_map(|project| listing(project)).filter(|path| session.owns(path));
    let shared = SHARED.iter().flat_map(|place| below(&home.join(place)));
    let knows = |path: &PathBuf| fs::read(path).is_ok_and(|bytes| contains(&bytes, session.id.as_bytes()));
    folders.chain(shared.filter(knows)).collect()
}

fn below(place: &Path) -> Vec<PathBuf> {
    let is_folder = fs::symlink_metadata(place).is_ok_and(|about| about.is_dir());
    let inside = if is_folder { listing(place) } else { Vec::new() };
    let mut found = vec![place.to_owned()];
    found.extend(inside.iter().flat_map(|path| below(path)));
    found
}

fn listing(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
