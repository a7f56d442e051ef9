//! Checkpoints as people call them: the newest, the one before, a name of their own; and what changed between
//! them.

use super::{checkpoint, told};
use crate::support::Sandbox;
use serde_json::json;

#[test]
fn a_checkpoint_is_found_by_its_place_or_its_name() {
    let sandbox = Sandbox::new();
    checkpoint(&sandbox, &["diff"]).failed(2, &["no checkpoint", "checkpoint create"]);
    sandbox.put("a.txt", "one\n");
    checkpoint(&sandbox, &["create", "-m", "before the rename"]).said(&["(before the rename): 1 file, "]);
    sandbox.put("a.txt", "two\n");
    sandbox.put("b.txt", "new\n");
    checkpoint(&sandbox, &["create"]).said(&["2 files, "]);
    let id = |name: &str| told(&sandbox, &["show", name])["identity"]["checkpoint_id"].clone();
    assert_eq!((id("latest"), id("-1")), (json!("manual/POST_idle_v2"), json!("manual/POST_idle_v2")));
    assert_eq!(
        (id("-2"), id("before the rename")),
        (json!("manual/POST_idle_v1"), json!("manual/POST_idle_v1"))
    );
    checkpoint(&sandbox, &["show", "-3"]).failed(2, &["only 2 checkpoints"]);
    let list = checkpoint(&sandbox, &["list"]).out;
    let rows: Vec<Vec<&str>> = list.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!((rows[0][0], rows[0][6]), ("1", "2 files: +b.txt, a.txt"), "{list}");
    assert_eq!((rows[1][0], rows[1][2], rows[1][6]), ("2", "before the rename", "1 file"), "{list}");
    // Without an id: what changed since the newest.
    checkpoint(&sandbox, &["diff"]).said(&["no difference in 2 files"]);
    sandbox.put("c.txt", "three\n");
    checkpoint(&sandbox, &["diff"]).said(&["+ c.txt"]);
    checkpoint(&sandbox, &["diff", "-2", "latest"]).said(&["+ b.txt", "~ a.txt"]);
    checkpoint(&sandbox, &["rollback", "before the rename", "--yes"])
        .said(&["rolled back to manual/POST_idle_v1"]);
    assert_eq!(std::fs::read_to_string(sandbox.project().join("a.txt")).unwrap(), "one\n");
}

#[test]
fn a_name_that_could_be_something_else_is_refused() {
    let sandbox = Sandbox::new();
    for odd in ["latest", "a/b", "", "x\ny"] {
        checkpoint(&sandbox, &["create", "-m", odd]).failed(2, &["cannot be a name", "hint:"]);
    }
    checkpoint(&sandbox, &["create", "-m", "mine"]).said(&["(mine)"]);
    checkpoint(&sandbox, &["create", "-m", "mine"]).failed(2, &["is taken: `manual/POST_idle_v1`"]);
    checkpoint(&sandbox, &["create", "-m", "manual"]).failed(2, &["is taken"]);
}
