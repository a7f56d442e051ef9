//! The client enters a worktree, works in it, and comes back: one ledger, and what was written there stays.

use super::checks::verifies;
use super::whole_loop::bash;
use crate::client::Client;
use crate::model::{Model, Turn};
use crate::support::{Sandbox, Session};
use serde_json::json;
use std::fs;

#[test]
fn a_worktree_is_entered_worked_in_and_left() {
    let sandbox = Sandbox::repository("0.0");
    sandbox.configure("mode.level = \"guard\"\n");
    let worktree = sandbox.project().join(".claude/worktrees/side");
    let model = Model::new([
        Turn::call("ToolSearch", json!({"query": "select:EnterWorktree,ExitWorktree"})),
        Turn::call("EnterWorktree", json!({"name": "side"})),
        bash("echo by a command > command.txt"),
        Turn::call("Write", json!({"file_path": worktree.join("edit.txt"), "content": "one\n"})),
        Turn::call(
            "Edit",
            json!({"file_path": worktree.join("edit.txt"), "old_string": "one", "new_string": "two"}),
        ),
        bash("git add -A && git commit -qm side && git log --oneline | wc -l"),
        Turn::call("ExitWorktree", json!({"action": "keep"})),
        bash("echo back > back.txt"),
        Turn::text("Done."),
    ]);
    let client = Client::guarded(&sandbox, &model);
    let run = client.run("work in a worktree");
    let results: Vec<(bool, String)> =
        model.tool_results().into_iter().map(|r| (r.is_error, r.text)).collect();
    assert!(results.iter().all(|(is_error, _)| !is_error), "{results:#?}");
    run.ended("Done.");
    assert_eq!(fs::read_to_string(worktree.join("command.txt")).unwrap(), "by a command\n", "{results:#?}");
    assert_eq!(fs::read_to_string(worktree.join("edit.txt")).unwrap(), "two\n", "{results:#?}");
    assert_eq!(fs::read_to_string(sandbox.project().join("back.txt")).unwrap(), "back\n", "{results:#?}");
    let session = Session::new(&sandbox, run.session_id());
    let projects = fs::read_dir(sandbox.config().join("projects")).unwrap().flatten();
    let items = projects.flat_map(|project| fs::read_dir(project.path()).into_iter().flatten().flatten());
    let ours: Vec<_> = items.map(|item| item.path()).filter(|path| session.owns(path)).collect();
    assert_eq!(ours, [session.folder()], "one ledger, where the session began");
    let entries = session.entries();
    assert!(entries.iter().all(|entry| entry["type"] != "violation"), "{entries:#?}");
    assert!(!format!("{results:?}").contains("throwaway"), "{results:#?}");
    verifies(&sandbox, &session);
}
