//! The search over notes: what is found, what is left out, and an index that is never trusted blindly.

use crate::support::Sandbox;
use aops_core::briefing::notes::{FoundNotes, refresh, search};
use aops_core::system::env::Env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn env(sandbox: &Sandbox) -> Env {
    // Later than any file of this test: all of them count as settled.
    Env { data: sandbox.data(), config: sandbox.config(), now_ms: 4_000_000_000_000, ..Env::default() }
}

fn note(sandbox: &Sandbox, path: &str, text: &str) {
    let path = sandbox.data().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn ask(env: &Env, query: &str) -> FoundNotes {
    search(env, query, 5, Instant::now() + Duration::from_secs(20))
}

fn paths(found: &FoundNotes) -> Vec<&str> {
    found.hits.iter().map(|hit| hit.path.to_str().unwrap()).collect()
}

/// By scan and by index, which must agree in everything but the index's age.
#[track_caller]
fn both(env: &Env, query: &str) -> FoundNotes {
    let index = index_file(env);
    let _ = fs::remove_file(&index);
    let scanned = ask(env, query);
    assert_eq!(scanned.indexed_ms, None);
    refresh(env).unwrap();
    let indexed = ask(env, query);
    assert_eq!(indexed.indexed_ms, Some(env.now_ms));
    assert_eq!(paths(&scanned), paths(&indexed));
    for (one, other) in scanned.hits.iter().zip(&indexed.hits) {
        assert!((one.score - other.score).abs() < 1e-9, "{one:?} {other:?}");
        assert_eq!((&one.title, &one.lines), (&other.title, &other.lines));
    }
    indexed
}

fn index_file(env: &Env) -> PathBuf {
    let folder = env.config.join("aops/notes");
    let files: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.into_iter().find(|path| path.extension().is_some_and(|e| e == "index")).unwrap_or_default()
}

fn library(sandbox: &Sandbox) {
    note(sandbox, "deploy.md", "# Deploying\n\nRun the migrations first.\nThen restart.\n");
    note(
        sandbox,
        "ops/databases.md",
        "---\ntitle: 'Databases'\n---\nThe staging database needs a migration\nbefore each deploy.\nNothing else.\n",
    );
    note(sandbox, "ops/mail.md", "# Mail\n\nHow letters are sent.\n");
    note(sandbox, "long.md", &format!("# Long\n{}\none migration\n", "filler words of no use\n".repeat(400)));
}

#[test]
fn the_best_come_first_with_their_lines() {
    let sandbox = Sandbox::new();
    library(&sandbox);
    let env = env(&sandbox);
    let found = both(&env, "How do I deploy a database migration?");
    assert!(found.complete);
    assert_eq!(paths(&found), ["ops/databases.md", "deploy.md", "long.md"]);
    let first = &found.hits[0];
    assert_eq!(first.title, "Databases");
    let lines: Vec<_> = first.lines.iter().map(|line| (line.number, line.text.as_str())).collect();
    assert_eq!(
        lines,
        [
            (2, "title: 'Databases'"),
            (4, "The staging database needs a migration"),
            (5, "before each deploy.")
        ]
    );
    assert!(found.hits.is_sorted_by(|one, other| one.score >= other.score));
    assert_eq!(paths(&both(&env, "MAILS")), ["ops/mail.md"]);
    assert_eq!(paths(&ask(&env, "the of and")), [""; 0]);
    assert_eq!(paths(&both(&env, "zebra")), [""; 0]);
}

#[test]
fn a_name_or_title_weighs_more_than_a_mention() {
    let sandbox = Sandbox::new();
    note(&sandbox, "a.md", "some words and one rollback among them\n");
    note(&sandbox, "rollback.md", "some words and other things among them\n");
    note(&sandbox, "c.md", "# Rollback\nsome words and other things\n");
    let found = both(&env(&sandbox), "rollback");
    assert_eq!(found.hits.len(), 3);
    assert_eq!(found.hits[2].path, Path::new("a.md"));
}

#[test]
fn what_is_no_note_is_left_out() {
    let sandbox = Sandbox::new();
    let text = "# kept\nwombat\n";
    note(&sandbox, "kept.md", text);
    note(&sandbox, "deep/sessions/kept.MD", text);
    for path in ["sessions/x.md", ".git/x.md", "a/.hidden/x.md", ".x.md", "x.txt"] {
        note(&sandbox, path, text);
    }
    let outside = sandbox.project().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret.md"), text).unwrap();
    symlink(&outside, sandbox.data().join("linked")).unwrap();
    symlink(outside.join("secret.md"), sandbox.data().join("linked.md")).unwrap();
    symlink("..", sandbox.data().join("round")).unwrap();
    let made = sandbox.command("mkfifo").arg(sandbox.data().join("pipe.md")).output().unwrap();
    assert!(made.status.success());
    let mut found = both(&env(&sandbox), "wombat");
    found.hits.sort_by(|one, other| one.path.cmp(&other.path));
    assert_eq!(paths(&found), ["deep/sessions/kept.MD", "kept.md"]);
}

#[test]
fn nothing_there_is_no_error() {
    let sandbox = Sandbox::new();
    let env = Env { data: sandbox.data().join("missing"), ..env(&sandbox) };
    assert_eq!(ask(&env, "anything"), FoundNotes { complete: true, ..FoundNotes::default() });
    assert_eq!(refresh(&env).unwrap(), 0);
    assert_eq!(ask(&env, "anything").hits, []);
}

/// After any changes the index is the one that would be made afresh.
#[test]
fn a_refreshed_index_is_a_new_one() {
    let sandbox = Sandbox::new();
    library(&sandbox);
    let env = env(&sandbox);
    assert_eq!(refresh(&env).unwrap(), 4);
    let changes: [&dyn Fn(); 5] = [
        &|| note(&sandbox, "aaa.md", "# First\nwombat migration\n"),
        &|| note(&sandbox, "deploy.md", "# Deploying\nwith a wombat now\n"),
        &|| fs::remove_file(sandbox.data().join("ops/mail.md")).unwrap(),
        &|| fs::rename(sandbox.data().join("long.md"), sandbox.data().join("zzz.md")).unwrap(),
        &|| fs::remove_dir_all(sandbox.data().join("ops")).unwrap(),
    ];
    for (n, change) in changes.iter().enumerate() {
        change();
        let read = refresh(&env).unwrap();
        assert_eq!(read, [1, 1, 0, 1, 0][n], "only what changed is read");
        let grown = fs::read(index_file(&env)).unwrap();
        fs::remove_file(index_file(&env)).unwrap();
        refresh(&env).unwrap();
        assert!(fs::read(index_file(&env)).unwrap() == grown, "change {n}");
        assert_eq!(refresh(&env).unwrap(), 0);
    }
    let mut found = ask(&env, "wombat");
    found.hits.sort_by(|one, other| one.path.cmp(&other.path));
    assert_eq!(paths(&found), ["aaa.md", "deploy.md"]);
}

#[test]
fn the_index_lags_and_the_answer_does_not_lie() {
    let sandbox = Sandbox::new();
    library(&sandbox);
    let env = env(&sandbox);
    refresh(&env).unwrap();
    note(&sandbox, "ops/mail.md", "# Post\nnow about parcels\n");
    fs::remove_file(sandbox.data().join("deploy.md")).unwrap();
    assert_eq!(paths(&ask(&env, "letters")), [""; 0]);
    assert_eq!(paths(&ask(&env, "deploy migration")), ["ops/databases.md", "long.md"]);
}

/// A note that changed a moment ago is read again even if its time and length are the same.
#[test]
fn a_note_still_being_written_is_read_again() {
    let sandbox = Sandbox::new();
    note(&sandbox, "a.md", "one");
    let changed = fs::metadata(sandbox.data().join("a.md")).unwrap().modified().unwrap();
    let ms = changed.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let env = Env { now_ms: i64::try_from(ms).unwrap() + 5, ..env(&sandbox) };
    assert_eq!(refresh(&env).unwrap(), 1);
    note(&sandbox, "a.md", "two");
    fs::File::options().write(true).open(sandbox.data().join("a.md")).unwrap().set_modified(changed).unwrap();
    assert_eq!(refresh(&env).unwrap(), 1);
    assert_eq!(paths(&ask(&env, "two")), ["a.md"]);
}

#[test]
fn secrets_and_control_characters_stay_in_the_note() {
    let sandbox = Sandbox::new();
    let key = format!("ghp_{}", "a1B2".repeat(9));
    note(
        &sandbox,
        "a.md",
        &format!("# wombat {key}\nwombat \u{1b}[31m{key}\u{7}\n{}wombat\n", "x ".repeat(400)),
    );
    let found = both(&env(&sandbox), "wombat");
    let said = format!("{} {:?}", found.hits[0].title, found.hits[0].lines);
    assert!(!said.contains(&key) && said.contains("[redacted:github-token]"), "{said}");
    assert!(
        found.hits[0]
            .lines
            .iter()
            .all(|line| line.text.len() <= 240 && !line.text.contains(char::is_control))
    );
    assert!(
        found.hits[0].lines.iter().any(|line| line.number == 3 && line.text.ends_with("wombat")),
        "{said}"
    );
}

#[test]
fn a_passed_deadline_is_said() {
    let sandbox = Sandbox::new();
    library(&sandbox);
    let env = env(&sandbox);
    let found = search(&env, "migration", 5, Instant::now());
    assert_eq!((found.complete, found.hits.len()), (false, 0));
    refresh(&env).unwrap();
    assert!(!search(&env, "migration", 5, Instant::now()).complete);
}

/// Whatever is in the file: an answer, the right one if the index was refused, and no panic.
#[test]
fn a_damaged_index_does_no_harm() {
    let sandbox = Sandbox::new();
    library(&sandbox);
    let env = env(&sandbox);
    refresh(&env).unwrap();
    let file = index_file(&env);
    let sound = fs::read(&file).unwrap();
    let want = ask(&env, "migration deploy").hits;
    for long in (0..sound.len()).step_by(7) {
        fs::write(&file, &sound[..long]).unwrap();
        let found = ask(&env, "migration deploy");
        assert_eq!(found.hits.len(), want.len(), "cut at {long}");
    }
    for at in (0..sound.len()).step_by(3) {
        for flip in [1_u8, 0x80, 0xff] {
            let mut bytes = sound.clone();
            bytes[at] ^= flip;
            fs::write(&file, &bytes).unwrap();
            let _ = ask(&env, "migration deploy");
            assert!(refresh(&env).is_ok());
        }
    }
}

#[test]
fn a_path_in_the_index_never_leads_out() {
    let sandbox = Sandbox::new();
    note(&sandbox, "aa/bb.md", "wombat");
    fs::write(sandbox.data().parent().unwrap().join("b.md"), "wombat outside").unwrap();
    let env = env(&sandbox);
    refresh(&env).unwrap();
    let mut bytes = fs::read(index_file(&env)).unwrap();
    let at = bytes.windows(8).position(|part| part == b"aa/bb.md").unwrap();
    bytes[at..at + 8].copy_from_slice(b"../ab.md");
    fs::write(index_file(&env), &bytes).unwrap();
    fs::write(sandbox.data().parent().unwrap().join("ab.md"), "wombat outside").unwrap();
    assert_eq!(paths(&ask(&env, "wombat")), ["aa/bb.md"], "refused, and scanned instead");
}

#[test]
fn two_refreshers_do_the_work_once() {
    let sandbox = Sandbox::new();
    library(&sandbox);
    let env = env(&sandbox);
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..8).map(|_| scope.spawn(|| refresh(&env).unwrap())).collect();
        let done: Vec<_> = runs.into_iter().map(|run| run.join().unwrap()).collect();
        assert!(done.contains(&4), "{done:?}");
    });
    assert_eq!(ask(&env, "migration").hits.len(), 3);
    let left: Vec<_> =
        fs::read_dir(env.config.join("aops/notes")).unwrap().flatten().map(|e| e.file_name()).collect();
    assert!(left.len() <= 2, "{left:?}");
}
