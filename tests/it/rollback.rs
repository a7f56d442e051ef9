//! Checkpoints and rollback: what was kept comes back byte for byte, and nothing else is touched.

mod client;
pub(crate) mod crash;
mod names;
mod phase;
mod property;
mod sight;

use crate::support::{Answer, Sandbox};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

/// Everything in a tree but repositories and the store: mode, and what is in it.
pub(crate) type Picture = BTreeMap<Vec<u8>, (u32, Vec<u8>)>;

pub(crate) fn picture(root: &Path) -> Picture {
    fn walk(root: &Path, folder: &Path, all: &mut Picture) {
        for item in fs::read_dir(folder).unwrap().flatten() {
            let path = item.path();
            if item.file_name() == ".git" || path.ends_with(".claude/checkpoints") {
                continue;
            }
            let about = fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
            let content = if about.is_symlink() {
                fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()
            } else if about.is_file() {
                fs::read(&path).unwrap()
            } else {
                walk(root, &path, all);
                Vec::new()
            };
            all.insert(name, (about.mode(), content));
        }
    }
    let mut all = Picture::new();
    walk(root, root, &mut all);
    all
}

#[track_caller]
pub(crate) fn same(was: &Picture, is: &Picture, case: &str) {
    let name = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    for (path, old) in was {
        let new = is.get(path);
        assert!(new == Some(old), "{case}: {} was {old:?} and is {new:?}", name(path));
    }
    let more: Vec<String> = is.keys().filter(|path| !was.contains_key(*path)).map(|p| name(p)).collect();
    assert!(more.is_empty(), "{case}: {more:?} should not be there");
}

pub(crate) fn checkpoint(sandbox: &Sandbox, arguments: &[&str]) -> Answer {
    sandbox.person(&[&["checkpoint"], arguments].concat())
}

/// What a command says as JSON.
#[track_caller]
pub(crate) fn told(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    let answer = checkpoint(sandbox, &[arguments, &["--json"]].concat());
    assert!(answer.code == Some(0) && answer.err.is_empty(), "{arguments:?}: {answer:?}");
    serde_json::from_str(&answer.out).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
}

#[track_caller]
pub(crate) fn create(sandbox: &Sandbox) -> String {
    told(sandbox, &["create"])["id"].as_str().unwrap().to_owned()
}

/// Rolls back; the archive's id.
#[track_caller]
pub(crate) fn roll_back(sandbox: &Sandbox, id: &str) -> String {
    told(sandbox, &["rollback", id, "--yes"])["archive"].as_str().unwrap().to_owned()
}

/// A small tree with a bit of everything.
pub(crate) fn furnish(sandbox: &Sandbox) {
    sandbox.put("a.txt", "first\n");
    sandbox.put("src/deep/b.txt", "second\n");
    sandbox.put("src/c ü.txt", "third\n");
    sandbox.put("run.sh", "#!/bin/sh\n");
    fs::create_dir(sandbox.project().join("empty")).unwrap();
    let run = sandbox.project().join("run.sh");
    fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("../a.txt", sandbox.project().join("src/link")).unwrap();
}

/// Some of everything that can happen to it.
pub(crate) fn upset(sandbox: &Sandbox) {
    let at = |name: &str| sandbox.project().join(name);
    sandbox.put("a.txt", "other\n");
    sandbox.put("new.txt", "new\n");
    fs::remove_dir_all(at("src/deep")).unwrap();
    sandbox.put("src/deep", "a file where a folder was\n");
    fs::rename(at("src/c ü.txt"), at("src/C Ü.txt")).unwrap();
    fs::set_permissions(at("run.sh"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::remove_file(at("src/link")).unwrap();
    symlink("elsewhere", at("src/link")).unwrap();
    fs::remove_dir(at("empty")).unwrap();
}

#[test]
fn there_and_back_again() {
    let sandbox = Sandbox::new();
    furnish(&sandbox);
    let id = create(&sandbox);
    assert_eq!(id, "manual/POST_idle_v1");
    let was = picture(&sandbox.project());
    upset(&sandbox);
    let upset = picture(&sandbox.project());
    let diff = told(&sandbox, &["diff", &id]);
    assert_eq!(diff["changed"], serde_json::json!(["a.txt", "run.sh", "src/link"]));
    checkpoint(&sandbox, &["rollback", &id, "--dry-run"])
        .said(&["removed       new.txt", "changed back  a.txt"]);
    same(&upset, &picture(&sandbox.project()), "a dry run does nothing");

    let archive = roll_back(&sandbox, &id);
    same(&was, &picture(&sandbox.project()), "rolled back");
    let second = roll_back(&sandbox, &archive);
    same(&upset, &picture(&sandbox.project()), "the rollback rolled back");
    roll_back(&sandbox, &second);
    same(&was, &picture(&sandbox.project()), "and once more");

    let list = told(&sandbox, &["list"]);
    let ids: Vec<&str> = list.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids[..3], ["manual/POST_idle_v1", "manual/POST_idle_v2", "manual/POST_idle_v3"]);
    let result = told(&sandbox, &["show", "manual/POST_idle_v3"]);
    assert_eq!((&result["parent"], &result["version"]), (&id.as_str().into(), &3.into()));
    assert_eq!(result["metadata"]["rollback_from"], archive.as_str());
    assert_eq!(told(&sandbox, &["verify"])["ok"], true);
}

#[test]
fn a_rollback_is_a_persons() {
    let sandbox = Sandbox::new();
    furnish(&sandbox);
    let id = create(&sandbox);
    upset(&sandbox);
    let upset = picture(&sandbox.project());
    sandbox.inside(&["checkpoint", "rollback", &id, "--yes"]).failed(2, &["person", "hint:"]);
    sandbox.inside(&["checkpoint", "rollback", &id, "--dry-run"]).failed(2, &["person", "hint:"]);
    checkpoint(&sandbox, &["rollback", &id]).failed(2, &["terminal", "--yes"]);
    sandbox.inside(&["checkpoint", "gc", "--yes"]).failed(2, &["person", "hint:"]);
    checkpoint(&sandbox, &["rollback", "nothing", "--yes"]).failed(2, &["no checkpoint `nothing`", "hint:"]);
    same(&upset, &picture(&sandbox.project()), "refused");
}

#[test]
fn an_edited_checkpoint_is_found_and_never_restored() {
    let sandbox = Sandbox::new();
    furnish(&sandbox);
    let id = create(&sandbox);
    upset(&sandbox);
    let upset = picture(&sandbox.project());
    let store = sandbox.project().join(".claude/checkpoints");
    let file = store.join("run-manual/POST_idle_v1.json");
    let whole = fs::read_to_string(&file).unwrap();

    let refuse = |case: &str| {
        let answer = checkpoint(&sandbox, &["rollback", &id, "--yes"]);
        assert_eq!(answer.code, Some(4), "{case}: {answer:?}");
        assert!(answer.err.contains("STATE_CHECKSUM_MISMATCH"), "{case}: {answer:?}");
        assert_eq!(checkpoint(&sandbox, &["verify"]).code, Some(4), "{case}");
        same(&upset, &picture(&sandbox.project()), case);
    };
    fs::write(&file, whole.replace("a.txt", "z.txt")).unwrap();
    refuse("edited");
    // Sealed again by somebody who knows how, with the index told too.
    let mut forged: aops_core::checkpoint::form::Checkpoint = serde_json::from_str(&whole).unwrap();
    forged.artifacts.files.remove(0);
    let (forged, text) = aops_core::checkpoint::form::text::seal(forged, None);
    fs::write(&file, text.pieces().concat()).unwrap();
    fs::remove_file(store.join("index.json")).unwrap();
    refuse("sealed again");
    fs::write(&file, &whole).unwrap();
    assert_eq!(checkpoint(&sandbox, &["verify"]).code, Some(0));

    let blob = forged.artifacts.files.iter().find(|file| file.path == "src/deep/b.txt").unwrap();
    let digest = blob.sha256.to_string();
    let blob = store.join("blobs").join(&digest[..2]).join(&digest[2..]);
    let packed = fs::read(&blob).unwrap();
    fs::write(&blob, &packed[..packed.len() / 2]).unwrap();
    refuse("half a content");
    fs::remove_file(&blob).unwrap();
    refuse("no content");
    fs::write(&blob, &packed).unwrap();
    roll_back(&sandbox, &id);
}

#[test]
fn nothing_outside_the_tree_is_touched() {
    let sandbox = Sandbox::new();
    furnish(&sandbox);
    let id = create(&sandbox);
    let was = picture(&sandbox.project());
    // A folder of the tree becomes a link to somebody else's, with files of the same names.
    let outside = sandbox.tmp().join("outside");
    fs::create_dir_all(outside.join("deep")).unwrap();
    fs::write(outside.join("deep/b.txt"), "not yours\n").unwrap();
    fs::write(outside.join("link"), "not yours either\n").unwrap();
    let others = picture(&outside);
    fs::remove_dir_all(sandbox.project().join("src")).unwrap();
    symlink(&outside, sandbox.project().join("src")).unwrap();
    let linked = picture(&sandbox.project());

    let archive = roll_back(&sandbox, &id);
    same(&was, &picture(&sandbox.project()), "rolled back");
    same(&others, &picture(&outside), "outside");
    roll_back(&sandbox, &archive);
    assert_eq!(fs::read_link(sandbox.project().join("src")).unwrap(), outside);
    same(&linked, &picture(&sandbox.project()), "the link is back");
    same(&others, &picture(&outside), "outside, again");
}

#[test]
fn a_vault_behind_a_link_is_not_used() {
    let sandbox = Sandbox::new();
    furnish(&sandbox);
    let outside = sandbox.tmp().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::create_dir(sandbox.project().join(".claude")).unwrap();
    symlink(&outside, sandbox.project().join(".claude/checkpoints")).unwrap();
    checkpoint(&sandbox, &["create"]).failed(1, &["not followed"]);
    assert_eq!(picture(&outside), Picture::new());
}

/// A yes can be taken back: what the task itself made is kept before the person is asked.
#[test]
fn what_a_yes_loses_comes_back() {
    for mode in ["guard", "loop", "strict"] {
        let sandbox = Sandbox::repository("0").with("CLAUDE_CODE_SESSION_ATTENDED", "1");
        sandbox.configure(&format!(
            "tracker.command = \"none\"\naudit.rate = 0\nmode.level = \"{mode}\"\ndanger.git-discard = \"ask\"\n"
        ));
        let session = sandbox.session();
        let _ = session.start("startup");
        let _ = session.prompt(". go");
        let _ = session.write("cli.py");
        sandbox.put("cli.py", "made by the task\n");
        let call = session.call(
            "Bash",
            serde_json::json!({"command": "git add -N . && git reset --hard && git clean -fd"}),
        );
        let asked = session.pre(&call);
        assert!(asked.out.contains("\"ask\""), "{mode}: {asked:?}");
        fs::remove_file(sandbox.project().join("cli.py")).unwrap();
        roll_back(&sandbox, "latest");
        let back = fs::read_to_string(sandbox.project().join("cli.py")).unwrap();
        assert_eq!(back, "made by the task\n", "{mode}");
    }
}
