//! Ids, paths and files made to lead us astray: nothing outside our folders is made, read or followed.

use crate::faults::{LEDGER, STATE, passed, sound, steps};
use crate::support::{Answer, BINARY, Sandbox, Session};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Everything below a folder: kind, mode and contents. Times are left out, since reading is free.
fn tree(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for item in fs::read_dir(folder).unwrap() {
        let path = item.unwrap().path();
        // A refresher in the background may take its own spare file away meanwhile.
        let Ok(meta) = path.symlink_metadata() else { continue };
        let kind = meta.file_type();
        let what = if kind.is_file() {
            format!("file {:o} {:?}", meta.mode(), Sha256::digest(fs::read(&path).unwrap_or_default()))
        } else if kind.is_symlink() {
            format!("link {}", fs::read_link(&path).unwrap().display())
        } else {
            format!("{} {:o}", if kind.is_fifo() { "fifo" } else { "folder" }, meta.mode())
        };
        if kind.is_dir() {
            found.extend(tree(&path));
        }
        found.insert(path, what);
    }
    found
}

/// The sandbox without the folders we may write to.
fn outside(sandbox: &Sandbox) -> BTreeMap<PathBuf, String> {
    let ours =
        [sandbox.config().join("projects"), sandbox.config().join("aops"), sandbox.data().join("sessions")];
    let mut all = tree(sandbox.home().parent().unwrap());
    // The folders themselves come with the first event.
    let own = |path: &Path| ours.iter().any(|folder| path.starts_with(folder)) || path == sandbox.config();
    all.retain(|path, _| !own(path));
    all
}

fn pre(id: &str, transcript: &Value, cwd: &Value) -> Value {
    json!({"session_id": id, "transcript_path": transcript, "cwd": cwd, "hook_event_name": "PreToolUse",
        "tool_name": "Read", "tool_input": {"file_path": "/x"}, "tool_use_id": "toolu_1"})
}

/// Session folders below the projects' folder, at exactly the depth where they belong.
fn session_folders(sandbox: &Sandbox) -> Vec<PathBuf> {
    let inside = |path: PathBuf| fs::read_dir(path).unwrap().map(|item| item.unwrap().path());
    let projects = sandbox.config().join("projects");
    let is_folder = |path: &PathBuf| path.is_dir();
    // The list of a project's sessions is not a session.
    let is_list = |path: &PathBuf| path.file_name().is_some_and(|name| name == ".aops-recent");
    inside(projects).filter(is_folder).flat_map(inside).filter(|path| !is_list(path)).collect()
}

#[test]
fn hostile_session_ids() {
    let sandbox = without_process();
    let before = outside(&sandbox);
    let long = "x".repeat(5000);
    let ids = [
        "../../../../etc/passwd",
        "..",
        ".",
        "/",
        "//",
        "/etc",
        "a/b",
        "a\0b",
        "\0",
        "\n",
        "a\nb\n{\"_digest\":\"",
        "🦀",
        &long,
        &"🦀".repeat(2000),
        " ",
        "-rf",
        "CON",
        "%2e%2e%2f",
        "\u{202e}evil",
        "\u{1b}[31m",
        "\"}\\",
        "'; rm -rf ~; '",
        "${HOME}",
        "null",
        "\u{fffd}",
        "ünï",
        "projects",
        "heads.jsonl",
        "20260113-0123abcd",
    ];
    for (n, id) in ids.iter().enumerate() {
        let transcript = json!(format!("{}/{id}.jsonl", sandbox.sessions().display()));
        sandbox.hook("PreToolUse", &pre(id, &transcript, &json!(sandbox.project()))).silent();
        let folders = session_folders(&sandbox);
        assert_eq!(folders.len(), n + 1, "one folder each: {id:?}: {folders:?}");
    }
    assert_eq!(outside(&sandbox), before, "something outside was touched");
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    for folder in session_folders(&sandbox) {
        assert!(aops_core::ledger::session_folder::is_session_folder(&name(&folder)), "{folder:?}");
        let first: Value =
            serde_json::from_str(fs::read_to_string(folder.join(LEDGER)).unwrap().lines().next().unwrap())
                .unwrap();
        sound(first["trace_id"].as_str().unwrap(), &folder);
    }
    let empty = sandbox.hook("PreToolUse", &pre("", &json!(""), &json!(sandbox.project())));
    empty.refused(&["INPUT_INVALID", "`session_id` is missing"]);
    let number = json!({"session_id": 7, "hook_event_name": "PreToolUse"});
    sandbox.hook("PreToolUse", &number).refused(&["INPUT_INVALID"]);
}

#[test]
fn hostile_paths() {
    let sandbox = without_process();
    fs::create_dir(sandbox.tmp().join("projects")).unwrap();
    let before = outside(&sandbox);
    let id = "5f0c1f3a-0000-4000-8000-00000000cafe";
    let (tmp, sessions) = (sandbox.tmp(), sandbox.sessions());
    let (tmp, sessions) = (tmp.display(), sessions.display());
    let long = format!("/{}/projects/p/{id}.jsonl", "x/".repeat(3000));
    let transcripts = [
        json!(""),
        json!(null),
        json!(7),
        json!([]),
        json!("/"),
        json!("relative/projects/p/x.jsonl"),
        json!(format!("{sessions}/../../../../{tmp}/projects/p/{id}.jsonl")),
        json!(format!("{tmp}/../tmp/projects/p/{id}.jsonl")),
        json!(format!("{tmp}/projects/./{id}.jsonl")),
        json!(format!("{tmp}/projects/p/other.jsonl")),
        json!(format!("{tmp}/projects//{id}.jsonl")),
        json!(format!("{tmp}/projects/a\0b/{id}.jsonl")),
        json!(long),
    ];
    for transcript in &transcripts {
        let answer = sandbox.hook("PreToolUse", &pre(id, transcript, &json!(sandbox.project())));
        let refused_long = *transcript == json!(long) && answer.code == Some(2);
        assert!(answer.code == Some(0) || refused_long, "{transcript}: {answer:?}");
    }
    let cwds = [
        json!(""),
        json!(null),
        json!("/"),
        json!("../../.."),
        json!("/a\0b"),
        json!("x".repeat(5000)),
        json!("🦀".repeat(500)),
        json!("/a\nb"),
        json!({"a": 1}),
        json!("/proc/self/root"),
        json!("-"),
        json!(".."),
    ];
    for (n, cwd) in cwds.iter().enumerate() {
        let answer = sandbox.hook("PreToolUse", &pre(&format!("{id}-{n}"), &json!(""), cwd));
        answer.silent();
    }
    assert_eq!(outside(&sandbox), before, "something outside was touched");
}

/// The client does not say which process it is, so nobody knows whether its start is missing.
fn without_process() -> Sandbox {
    Sandbox::new().with("CLAUDE_PID", "")
}

/// A file of the session replaced by something else; what the link points to stays as it is, unread and
/// unwritten.
#[test]
fn links_and_pipes_in_the_session_folder() {
    for name in [LEDGER, STATE, ".lock", ".session-state.spare", "calls.index"] {
        for kind in ["link", "dangling", "fifo", "folder"] {
            let sandbox = Sandbox::new();
            let session = sandbox.session();
            passed(&session.start("startup"));
            // A short ledger has no index.
            for _ in 0..if name == "calls.index" { 12 } else { 2 } {
                let call = session.call("Read", json!({"file_path": "/x"}));
                session.pre(&call).silent();
                session.post(&call).silent();
            }
            let path = session.folder().join(name);
            let treasure = sandbox.put("treasure", "not ours");
            fs::remove_file(&path).unwrap();
            put_in_place(&sandbox, kind, &path, &treasure);
            let before = outside(&sandbox);
            let call = session.call("Read", json!({"file_path": "/y"}));
            let answer = session.pre(&call);
            let case = format!("{name} is a {kind}: {answer:?}");
            assert_eq!(outside(&sandbox), before, "{case}");
            match answer.code {
                Some(2) => answer.refused(&["STORAGE_FAILED", "aops-hook is broken"]),
                Some(0) => {
                    // What can be made anew was; the truth and the lock cannot.
                    assert!(![LEDGER, ".lock"].contains(&name), "{case}");
                    let bytes = sound(&session.id, &session.folder());
                    assert!(steps(&bytes).contains_key(&call.id), "{case}");
                }
                _ => panic!("{case}"),
            }
            assert_eq!(session.stop("done").code, Some(0), "{case}: nobody is trapped");
        }
    }
}

fn put_in_place(sandbox: &Sandbox, kind: &str, path: &Path, treasure: &Path) {
    match kind {
        "link" => symlink(treasure, path).unwrap(),
        "dangling" => symlink(sandbox.project().join("made-by-nobody"), path).unwrap(),
        "fifo" => drop(sandbox.command("mkfifo").arg(path).assert().success()),
        _ => fs::create_dir(path).unwrap(),
    }
}

/// The exported heads are outside the session folder, and not followed either.
#[test]
fn links_and_pipes_in_place_of_the_heads() {
    for name in ["heads.jsonl", "heads.lock"] {
        for kind in ["link", "dangling", "fifo", "folder"] {
            let sandbox = Sandbox::new();
            let session = sandbox.session();
            passed(&session.start("startup"));
            passed(&session.stop("done"));
            let path = sandbox.config().join("aops").join(name);
            let treasure = sandbox.put("treasure", "not ours");
            let _ = fs::remove_file(&path); // a short file of heads needs no lock
            put_in_place(&sandbox, kind, &path, &treasure);
            let before = outside(&sandbox);
            let case = format!("{name} is a {kind}");
            assert_eq!(session.stop("again").code, Some(0), "{case}: nobody is trapped");
            // A lost state makes the next event ask the heads.
            fs::remove_file(session.folder().join(STATE)).unwrap();
            let answer = session.pre(&session.call("Read", json!({"file_path": "/y"})));
            assert!(matches!(answer.code, Some(0 | 2)), "{case}: {answer:?}");
            assert_eq!(
                answer.code == Some(2),
                name == "heads.jsonl",
                "{case}: a witness that cannot be asked: {answer:?}"
            );
            assert_eq!(outside(&sandbox), before, "{case}");
        }
    }
}

#[test]
fn a_link_or_pipe_in_place_of_the_session_folder() {
    for kind in ["link", "fifo"] {
        let sandbox = Sandbox::new();
        let session = sandbox.session();
        passed(&session.start("startup"));
        let folder = session.folder();
        let moved = sandbox.project().join("moved");
        fs::rename(&folder, &moved).unwrap();
        match kind {
            "link" => symlink(&moved, &folder).unwrap(),
            _ => drop(sandbox.command("mkfifo").arg(&folder).assert().success()),
        }
        let before = outside(&sandbox);
        let answer = session.pre(&session.call("Read", json!({"file_path": "/x"})));
        answer.refused(&["STORAGE_FAILED", "is not a folder of ours"]);
        assert_eq!(session.stop("done").code, Some(0), "{kind}: nobody is trapped");
        assert_eq!(outside(&sandbox), before, "{kind}");
    }
}

#[test]
fn private_under_every_umask() {
    for umask in ["000", "022", "077", "777"] {
        let sandbox = Sandbox::new();
        let session = sandbox.session();
        let call = |event: &str, fields: Value| {
            let mut command = sandbox.command("sh");
            command.args(["-c", &format!("umask {umask} && exec \"$0\" {event}"), BINARY]);
            let payload = session.payload(event, fields).to_string();
            passed(&Answer::of(event, &command.write_stdin(payload).output().unwrap()));
        };
        let tool = json!({"tool_name": "Read", "tool_input": {}, "tool_use_id": "toolu_1"});
        call("SessionStart", json!({"source": "startup"}));
        call("PreToolUse", tool.clone());
        call("PostToolUse", tool.clone());
        call("PreToolUse", json!({"tool_name": "Read", "tool_input": {}, "tool_use_id": "toolu_2"}));
        // A torn tail is kept in a file of its own.
        let ledger = session.folder().join(LEDGER);
        let torn = [fs::read(&ledger).unwrap(), b"{\"_dig".to_vec()].concat();
        fs::write(&ledger, torn).unwrap();
        call("Stop", json!({"last_assistant_message": "done"}));
        let ours = tree(&sandbox.config());
        assert!(ours.keys().any(|path| path.file_name().unwrap().to_str().unwrap().starts_with("torn-")));
        for path in ours.keys() {
            let Ok(meta) = path.metadata() else { continue };
            let mode = meta.permissions().mode() & 0o7777;
            let wanted = if path.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode, wanted, "{} under umask {umask}", path.display());
        }
        assert!(ours.len() >= 8, "{ours:?}");
    }
}

/// Two ids whose hashes begin with the same eight digits, found by trying.
const TWINS: [&str; 2] = ["session-16250", "session-52884"];

#[test]
fn two_ids_that_share_eight_digits() {
    let sandbox = without_process();
    let hash = |id: &str| Sha256::digest(id)[..4].to_vec();
    assert_eq!(hash(TWINS[0]), hash(TWINS[1]), "twins share their digits");
    let twins = TWINS.map(|id| Session::new(&sandbox, id));
    for round in 0..3 {
        for twin in &twins {
            let tool =
                json!({"tool_name": "Read", "tool_input": {}, "tool_use_id": format!("{}-{round}", twin.id)});
            twin.event("PreToolUse", tool).silent();
        }
    }
    let folders = session_folders(&sandbox);
    assert_eq!(folders.len(), 2, "{folders:?}");
    let mut names: Vec<usize> = folders.iter().map(|path| path.file_name().unwrap().len()).collect();
    names.sort_unstable();
    assert_eq!(names, [9 + 8, 9 + 16]);
    for (twin, wide) in twins.iter().zip([8, 16]) {
        let folder = folders.iter().find(|path| path.file_name().unwrap().len() == 9 + wide).unwrap();
        let calls = steps(&sound(&twin.id, folder));
        assert_eq!(calls.len(), 3, "{calls:?}");
        assert!(calls.keys().all(|id| id.starts_with(&twin.id)), "{calls:?}");
    }
    // Each is found again after its state is lost, too.
    for folder in &folders {
        fs::remove_file(folder.join(STATE)).unwrap();
    }
    for twin in &twins {
        twin.event("Notification", json!({})).silent();
    }
    assert_eq!(session_folders(&sandbox).len(), 2);
}

#[test]
fn resumed_days_later() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let day = 86_400_000_i64;
    for (n, now) in [0, day / 2, day, 3 * day, 400 * day].into_iter().enumerate() {
        let at = (1_768_298_400_000 + now).to_string();
        let source = if n == 0 { "startup" } else { "resume" };
        for (event, fields) in [
            ("SessionStart", json!({"source": source})),
            (
                "PreToolUse",
                json!({"tool_name": "Read", "tool_input": {}, "tool_use_id": format!("toolu_{n}")}),
            ),
            ("SessionEnd", json!({"reason": "other"})),
        ] {
            let mut command = sandbox.command(BINARY);
            command.arg(event).env("AOPS_TEST_NOW_MS", &at);
            let output = command.write_stdin(session.payload(event, fields).to_string()).output().unwrap();
            passed(&Answer::of(event, &output));
        }
    }
    let folder = session.folder();
    assert!(folder.file_name().unwrap().to_str().unwrap().starts_with("20260113-"), "{folder:?}");
    assert_eq!(steps(&sound(&session.id, &folder)).len(), 5);
    assert_eq!(session.state()["date"], "2026-01-13");
}

/// Compacting keeps the session and its folder; a fork or a clear is a session of its own.
#[test]
fn compacted_forked_cleared() {
    let sandbox = Sandbox::new();
    let first = sandbox.session();
    passed(&first.start("startup"));
    passed(&first.prompt("go"));
    passed(&first.event("PreCompact", json!({"trigger": "auto"})));
    passed(&first.event("PostCompact", json!({"trigger": "auto"})));
    passed(&first.start("compact"));
    sound(&first.id, &first.folder());
    assert_eq!(session_folders(&sandbox).len(), 1);
    let blocked = sandbox.person(&["block", &first.id, "--reason", "enough of this"]);
    assert_eq!(blocked.code, Some(0), "{blocked:?}");
    let fork = sandbox.session();
    assert_eq!(fork.start("fork").code, Some(0));
    fork.prompt("go on").refused(&["enough of this", "clear-block"]);
    for source in ["clear", "startup"] {
        let free = sandbox.session();
        let told = free.start(source);
        assert!(
            told.code == Some(0) && told.out.contains(&first.id),
            "{source} says who is blocked: {told:?}"
        );
        passed(&free.prompt("go on"));
    }
    for source in ["resume", "compact"] {
        assert_eq!(first.start(source).code, Some(0));
        first.prompt("let me").refused(&["enough of this"]);
    }
    for folder in session_folders(&sandbox) {
        let text = fs::read_to_string(folder.join(LEDGER)).unwrap();
        let entry: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        sound(entry["trace_id"].as_str().unwrap(), &folder);
    }
}

/// A plan may be written while the sandbox is shut; a link in the plans' folder is no way into the tree.
#[test]
fn a_link_among_plans_leads_nowhere() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    assert_eq!(session.start("startup").code, Some(0));
    assert_eq!(session.prompt("add a flag").code, Some(0));
    let plans = sandbox.config().join("plans");
    fs::create_dir_all(&plans).unwrap();
    symlink(sandbox.project(), plans.join("tree")).unwrap();
    let write = |path: &Path| {
        let call = session.call("Write", json!({"file_path": path, "content": ""}));
        let fields = json!({"tool_name": call.tool, "tool_input": call.input, "tool_use_id": call.id,
            "permission_mode": "plan"});
        session.event("PreToolUse", fields)
    };
    assert_eq!(write(&plans.join("a.md")).code, Some(0));
    assert_eq!(write(&plans.join("tree/a.md")).code, Some(2));
}

/// However deep a path stands in an input, the call is looked at whole or refused.
#[test]
fn a_guarded_path_is_refused_at_any_depth() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    passed(&session.start("startup"));
    let settings = json!(sandbox.config().join("settings.json")).to_string();
    let answer = |id: String, tool: &str, inner: &str| {
        let call = json!({"tool_name": tool, "tool_use_id": id, "tool_input": 0});
        let plain = session.payload("PreToolUse", call).to_string();
        sandbox.raw(
            "PreToolUse",
            plain.replace("\"tool_input\":0", &format!("\"tool_input\":{{\"a\":{inner}}}")),
        )
    };
    for depth in [50, 60, 64, 100, 127, 130, 190, 200, 500, 5_000] {
        let list = format!("{}{settings}{}", "[".repeat(depth), "]".repeat(depth));
        let object = format!("{}{settings}{}", "{\"b\":".repeat(depth), "}".repeat(depth));
        let mixed = format!("{}{settings}{}", "[{\"b\":".repeat(depth / 2), "}]".repeat(depth / 2));
        for (kind, inner) in [("list", list), ("object", object), ("mixed", mixed)] {
            for tool in ["mcp__fs__write_file", "SomethingNew"] {
                answer(format!("{tool}-{kind}-{depth}"), tool, &inner).refused(&[]);
            }
        }
    }
    // What is read whole and names nothing of ours passes.
    let plain = format!("{}\"/tmp/x\"{}", "[".repeat(40), "]".repeat(40));
    answer("plain".to_owned(), "mcp__fs__get_file", &plain).silent();
}
