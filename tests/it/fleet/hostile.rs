//! What a step leaves behind for the worker, and rows that no `run --enqueue` wrote.

use super::work::{Farm, work};
use crate::runs::jail::PLANT;
use crate::support::Sandbox;

impl Farm {
    /// A worker of this machine takes the run, and refuses it with these words.
    #[track_caller]
    fn blocked(&self, machine: &Sandbox, run: &str, words: &str) {
        let said = work(machine);
        assert_eq!(self.state(run), "done BLOCKED", "{run}: {said:?}");
        let reason = self.postgres.sql(&format!("select reason from aops.runs where id = '{run}'"));
        assert!(reason.starts_with("nothing was run: ") && reason.contains(words), "{reason}");
        assert!(!said.iter().any(|line| line["event"] == "step"), "{said:?}");
    }
}

/// A worker describes the tree after each step: its git is held as the step was.
#[test]
fn a_filter_that_a_step_left_is_held_when_the_tree_is_shipped() {
    let farm = Farm::new(&[("plant", PLANT), ("two", "true")]);
    let (run, machine) = (farm.enqueue(&[]), farm.machine());
    let _ = work(&machine);
    assert_eq!(farm.state(&run), "done PASS");
    assert!(machine.home().join("ran").exists(), "no filter was run, so this shows nothing");
    assert!(!machine.home().join(".config/aops/planted").exists());
}

/// Who can write to the database makes workers run a workflow, and nothing else: no place outside of the
/// run's own tree is written, no option of git is slipped in.
#[test]
fn a_row_that_nobody_enqueued_is_blocked_and_nothing_is_written() {
    let farm = Farm::new(&[("one", "true")]);
    let machine = farm.machine();
    let ext = "repository = 'ext::touch ' || current_setting('data_directory')";
    let bad = [
        ("commit = '--upload-pack=touch x'", "it names a commit"),
        ("repository = '--upload-pack=touch x'", "the address of a repository"),
        (ext, "the address of a repository"),
        (
            "request = replace(request, '\"folder\":\"\"', '\"folder\":\"../../../../..\"')",
            "a place in the repository",
        ),
        ("request = replace(request, '\"folder\":\"\"', '\"folder\":\"/\"')", "a place in the repository"),
        (
            "request = replace(request, '\"context\":[]', '\"context\":[\"/etc/passwd\"]')",
            "a place in the repository",
        ),
        ("request = replace(request, id, '../../../../planted')", "it has an id"),
        ("head = 'x', tree = 'y', bundle = 'z'", "it names a commit"),
    ];
    for (change, words) in bad {
        let run = farm.enqueue(&[]);
        farm.postgres.sql(&format!("update aops.runs set {change} where id = '{run}'"));
        farm.blocked(&machine, &run, words);
    }
    let run = farm.enqueue(&[]);
    let file = "insert into aops.files (run, path, content) values";
    farm.postgres.sql(&format!("{file} ('{run}', '../../../../../../.config/aops/planted', 'x')"));
    farm.blocked(&machine, &run, "it has a file");
    let run = farm.enqueue(&[]);
    farm.postgres.sql(&format!("{file} ('{run}', 'steps/../../../../../../../../planted', 'x')"));
    farm.blocked(&machine, &run, "it has a file");
    let run = farm.enqueue(&[]);
    farm.postgres
        .sql(&format!("insert into aops.steps (run, seq, line, machine) values ('{run}', 1, '{{}}', 'm')"));
    farm.blocked(&machine, &run, "it has an attempt ledger");
    let run = farm.enqueue(&[]);
    let moved = "../../../../planted";
    farm.postgres.sql(&format!(
        "update aops.runs set id = '{moved}', request = replace(request, id, '{moved}') where id = '{run}'"
    ));
    farm.blocked(&machine, moved, "it has an id");
    for place in
        [machine.home(), machine.home().join(".config/aops"), machine.home().join(".claude/aops/runs")]
    {
        assert!(!place.join("planted").exists(), "{}", place.display());
    }
    assert!(!machine.home().join(".local/state/aops/runs").exists(), "no tree was made");
}
