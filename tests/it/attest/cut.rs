//! A history that is cut where the commit is: git calls it a root, and then it would seem to add everything.

use super::{bash, head, idle, statements, world};
use std::fs;

#[test]
fn a_cut_history_changes_nothing_of_what_is_said() {
    let sandbox = world();
    let session = sandbox.begun("add a line");
    let (keys, aside) = (crate::proof::keys(&sandbox), sandbox.tmp().join("keys"));
    fs::rename(&keys, &aside).unwrap();
    bash(&sandbox, &session, "echo more > more.txt && git add -A && git commit -q -m more");
    idle(&sandbox);
    fs::rename(&aside, &keys).unwrap();
    let (commit, parent) = (head(&sandbox), sandbox.git(&["rev-parse", "HEAD~1"]));
    fs::write(sandbox.project().join(".git/shallow"), format!("{commit}\n")).unwrap();
    sandbox.person(&["attest", "HEAD"]).said(&["has 2 lines"]);
    let found = statements(&sandbox, &commit, 1);
    let target = &found[0].predicate.build_definition.external_parameters.target;
    assert_eq!(target.base_commit.as_deref(), Some(parent.trim_end()));
    let files: Vec<&str> =
        super::facts(&found[0]).files.iter().flatten().map(|file| file.path.as_str()).collect();
    assert_eq!(files, ["more.txt"]);
}
