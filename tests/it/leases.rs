//! Two sessions and one file: told in mode `loop`, refused in mode `strict`, until the other's turn, session
//! or client ends.

use crate::support::{Answer, Sandbox, Session};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;
use std::fs;
use std::process::Command;
use std::thread;

fn in_mode(level: &str) -> Sandbox {
    let sandbox = Sandbox::repository("0.0");
    sandbox.configure(&format!("[audit]\nrate = 0.0\n[mode]\nlevel = \"{level}\"\n"));
    sandbox
}

fn begun(sandbox: &Sandbox) -> Session<'_> {
    let session = sandbox.session();
    let _ = session.start("startup");
    session.prompt("fix the typo").silent();
    session
}

#[track_caller]
fn is_told(answer: &Answer, of: &Session, file: &str) {
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let told = answer.json();
    let context = told["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default();
    for words in [&of.id[..8], file, "read the file again", "a tree of your own"] {
        assert!(context.contains(words), "`{words}` in {told}");
    }
    assert!(told["systemMessage"].as_str().is_some_and(|user| user.contains(file)), "{told}");
    assert!(told["hookSpecificOutput"]["permissionDecision"].is_null(), "{told}");
}

#[test]
fn the_second_session_is_told_once_for_each_file() {
    let sandbox = in_mode("loop");
    let (one, two) = (begun(&sandbox), begun(&sandbox));
    one.write("README.md").silent();
    one.write("a.txt").silent();
    is_told(&two.write("README.md"), &one, "README.md");
    two.write("README.md").silent();
    two.write("b.txt").silent();
    is_told(&two.ask_bash("sed -i s/a/b/ a.txt"), &one, "a.txt");
    // The first one has the file, and hears nothing.
    one.write("README.md").silent();
}

#[test]
fn what_a_turn_or_session_held_is_free_once_it_ended() {
    for ends in ["stop", "end"] {
        let sandbox = in_mode("loop");
        let (one, two, three) = (begun(&sandbox), begun(&sandbox), begun(&sandbox));
        one.write("README.md").silent();
        is_told(&two.write("README.md"), &one, "README.md");
        let _ = if ends == "stop" { one.stop("Done.") } else { one.end() };
        two.write("README.md").silent();
        // It is the second one's now.
        is_told(&three.write("README.md"), &two, "README.md");
    }
}

#[test]
fn a_turn_with_agents_at_work_is_not_over() {
    let sandbox = in_mode("loop");
    let (one, two) = (begun(&sandbox), begun(&sandbox));
    one.write("README.md").silent();
    let task =
        json!({"id": "t1", "type": "subagent", "status": "running", "agent_type": "x", "description": "d"});
    let fields = json!({"stop_hook_active": false, "last_assistant_message": "waiting", "background_tasks": [task],
        "session_crons": []});
    let _ = one.event("Stop", fields);
    is_told(&two.write("README.md"), &one, "README.md");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a process that stands for the client")]
fn a_client_that_ended_holds_nothing() {
    let mut client = Command::new("sleep").arg("1000").spawn().unwrap();
    let sandbox = in_mode("loop").of_client(client.id());
    let (one, two, three) = (begun(&sandbox), begun(&sandbox), begun(&sandbox));
    one.write("README.md").silent();
    let told = two.write("README.md");
    client.kill().unwrap();
    client.wait().unwrap();
    is_told(&told, &one, "README.md");
    three.write("README.md").silent();
}

#[test]
fn strict_refuses_and_each_way_out_works() {
    let sandbox = in_mode("strict");
    let (one, two) = (sandbox.working(), sandbox.working());
    one.write("README.md").silent();
    let refused = two.write("README.md");
    refused.refused(&[&one.id[..8], "`README.md`", "git worktree add ../NAME", "aops-hook waive lease"]);
    two.write("README.md").refused(&["`README.md`"]);
    // Other files are free.
    two.write("other.txt").silent();
    // A tree of one's own.
    sandbox.git(&["worktree", "add", "-q", "../own"]);
    let own = sandbox.project().parent().unwrap().join("own/README.md");
    let call = two.call("Write", json!({"file_path": own, "content": "mine\n"}));
    two.pre(&call).silent();
    let _ = two.post(&call);
    // A person allows it.
    let waive = ["waive", "lease", "--for", "1h", "--reason", "we talked", "--session", &two.id, "--yes"];
    sandbox.person(&waive).said(&["lease"]);
    is_told(&two.write("README.md"), &one, "README.md");
    // And without that, the other's end.
    let three = sandbox.working();
    three.write("README.md").refused(&[&one.id[..8]]);
    let _ = one.end();
    three.write("README.md").silent();
}

#[test]
fn a_refused_call_takes_nothing() {
    let sandbox = in_mode("strict");
    let one = begun_without_plan(&sandbox);
    one.write("README.md").refused(&["this task has no plan yet"]);
    sandbox.working().write("README.md").silent();
}

fn begun_without_plan(sandbox: &Sandbox) -> Session<'_> {
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("fix the typo");
    session
}

#[test]
fn modes_below_the_loop_keep_no_list() {
    for mode in ["observe", "guard"] {
        let sandbox = in_mode(mode);
        let (one, two) = (begun(&sandbox), begun(&sandbox));
        one.write("README.md").silent();
        two.write("README.md").silent();
        assert!(!sandbox.config().join("aops/leases").exists(), "{mode}");
    }
}

#[test]
fn of_many_that_ask_at_once_one_gets_the_file() {
    let sandbox = in_mode("strict");
    let payloads: Vec<_> = (0..6)
        .map(|_| {
            let session = sandbox.working();
            let file = sandbox.project().join("README.md");
            session.payload(
                "PreToolUse",
                session.call("Write", json!({"file_path": file, "content": "x"})).fields(),
            )
        })
        .collect();
    let answers: Vec<Answer> = thread::scope(|scope| {
        let asked: Vec<_> =
            payloads.iter().map(|payload| scope.spawn(|| sandbox.hook("PreToolUse", payload))).collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    let passed = answers.iter().filter(|answer| answer.code == Some(0)).count();
    assert_eq!(passed, 1, "{answers:?}");
}

/// A list that cannot be looked at is not an empty one; each way out works.
#[test]
fn who_cannot_look_takes_nothing() {
    let aops = |sandbox: &Sandbox| sandbox.config().join("aops/leases");
    let spoil: [&dyn Fn(&std::path::Path); 3] = [
        &|folder| {
            fs::rename(folder, folder.with_extension("aside")).unwrap();
            fs::write(folder, "").unwrap();
        },
        &|folder| {
            fs::remove_file(folder.join(".lock")).unwrap();
            fs::create_dir(folder.join(".lock")).unwrap();
        },
        &|folder| {
            let list = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path());
            let list =
                list.into_iter().find(|path| path.extension().is_some_and(|kind| kind == "json")).unwrap();
            fs::remove_file(&list).unwrap();
            mknodat(CWD, &list, FileType::Fifo, Mode::RWXU, 0).unwrap();
        },
    ];
    for (n, spoil) in spoil.into_iter().enumerate() {
        let sandbox = in_mode("strict");
        let (one, two) = (sandbox.working(), sandbox.working());
        one.write("README.md").silent();
        spoil(&aops(&sandbox));
        let said = two.write("README.md");
        said.refused(&["we could not check whether", "git worktree add ../NAME", "aops-hook waive lease"]);
        sandbox.git(&["worktree", "add", "-q", "../own"]);
        let own = sandbox.project().parent().unwrap().join("own/README.md");
        let call = two.call("Write", json!({"file_path": own, "content": "mine\n"}));
        two.pre(&call).silent();
        let _ = two.post(&call);
        let waive = ["waive", "lease", "--for", "1h", "--reason", "we talked", "--session", &two.id, "--yes"];
        sandbox.person(&waive).said(&["lease"]);
        let said = two.write("README.md");
        assert!(said.code == Some(0) && said.out.contains("could not check"), "{n}: {said:?}");
    }
}

/// What is not a list is told once; then another begins.
#[test]
fn a_list_that_is_none_is_told_and_begun_anew() {
    let sandbox = in_mode("strict");
    let (one, two) = (sandbox.working(), sandbox.working());
    one.write("README.md").silent();
    let folder = sandbox.config().join("aops/leases");
    let lists = || fs::read_dir(&folder).unwrap().map(|item| item.unwrap().path());
    let list = lists().find(|path| path.extension().is_some_and(|kind| kind == "json")).unwrap();
    let good = fs::read(&list).unwrap();
    fs::write(&list, &good[..good.len() / 2]).unwrap();
    two.write("README.md").refused(&["is no list of leases", "hint: try again"]);
    two.write("README.md").silent();
    one.write("README.md").refused(&[&two.id[..8]]);
}
