//! Tests that the table lists all shipped texts, and that these fulfil the contract.

use super::*;
use crate::config::workflow::{Workflow, read};
use std::fs;
use std::path::Path;

fn shipped() -> Vec<Workflow> {
    let texts = ASSETS.iter().filter(|asset| asset.kind() == Kind::Workflow);
    texts
        .map(|asset| read(asset.path, asset.text).unwrap_or_else(|problems| panic!("{problems:?}")))
        .collect()
}

#[test]
fn gates_of_the_shipped_workflows() {
    let gates =
        |workflow: &Workflow| workflow.gates.iter().map(|gate| gate.name()).collect::<Vec<_>>().join(" ");
    let table: Vec<_> =
        shipped().iter().map(|workflow| format!("{}: {}", workflow.id, gates(workflow))).collect();
    let wanted = [
        "batch-processing: critic qa",
        "build-loop: critic qa",
        "context-bootstrap: qa",
        "debugging: qa",
        "direct-skill: ",
        "feature-dev: critic qa",
        "minor-edit: qa",
        "project: critic qa",
        "qa-demo: qa",
        "simple-question: ",
        "spec-review: critic",
        "tdd-cycle: qa",
    ];
    assert_eq!(table, wanted);
}

#[test]
fn shipped_workflows_have_their_parts() {
    for workflow in shipped() {
        for heading in ["## Overview", "## When to Use", "## Steps", "## Success Metrics"] {
            assert!(workflow.body.contains(&format!("\n{heading}\n")), "`{}` has no {heading}", workflow.id);
        }
        assert!(workflow.steps.iter().all(|step| step.phase.is_some()), "{}", workflow.id);
        let mut listed: Vec<_> = workflow.dependencies.iter().map(|mention| mention.to.as_str()).collect();
        let mut named: Vec<_> = workflow.mentions().iter().map(|mention| mention.to.as_str()).collect();
        listed.sort_unstable();
        named.sort_unstable();
        assert_eq!(listed, named, "`dependencies` of `{}` are what it names", workflow.id);
    }
}

#[test]
fn the_index_tells_the_gates_as_they_are() {
    let index = ASSETS.iter().find(|asset| asset.kind() == Kind::Index).unwrap().text;
    for Workflow { id, gates, .. } in shipped() {
        let row = index.lines().find(|line| line.starts_with(&format!("| [[{id}]] |")));
        let cell = row.unwrap_or_else(|| panic!("no row for {id}")).split('|').nth(2).unwrap().trim();
        let wanted: Vec<_> = gates.iter().map(|gate| gate.name()).collect();
        let wanted = if wanted.is_empty() { "none".to_owned() } else { wanted.join(", ") };
        assert_eq!(cell.split(", sandbox").next(), Some(wanted.as_str()), "{id}");
        assert!(index.contains(&format!("→ `{id}`")), "the decision tree never leads to `{id}`");
    }
}

fn in_folder(folder: &str, found: &mut Vec<String>) {
    for item in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap().flatten() {
        let path = format!("{folder}/{}", item.file_name().to_str().unwrap());
        if item.path().is_dir() {
            in_folder(&path, found);
        } else if !path.ends_with("/README.md") {
            found.push(path);
        }
    }
}

#[test]
fn the_table_is_what_the_folders_hold() {
    let mut found = vec!["AXIOMS.md".to_owned(), "WORKFLOWS.md".to_owned()];
    for folder in ["agents", "commands", "templates", "workflows"] {
        in_folder(folder, &mut found);
    }
    found.sort();
    let table: Vec<_> = ASSETS.iter().map(|asset| asset.path).collect();
    assert_eq!(table, found);
}

#[test]
fn kinds_and_ids() {
    let of = |path| ASSETS.iter().find(|a| a.path == path).map(|a| (a.kind(), a.id())).unwrap();
    assert_eq!(of("AXIOMS.md"), (Kind::Axioms, "AXIOMS"));
    assert_eq!(of("WORKFLOWS.md"), (Kind::Index, "WORKFLOWS"));
    assert_eq!(of("agents/critic.md"), (Kind::Agent, "critic"));
    assert_eq!(of("templates/refusals/rule.md"), (Kind::Template, "refusals/rule"));
    assert!(placed().all(|asset| asset.path.starts_with("agents/") || asset.path.starts_with("commands/")));
}

#[test]
fn nobody_else_can_silence_our_words() {
    let root = tempfile::tempdir().unwrap();
    let user = root.path().join("user");
    let project = root.path().join("project");
    fs::create_dir_all(user.join("templates/refusals")).unwrap();
    fs::create_dir_all(project.join(".aops")).unwrap();
    let env = crate::system::env::Env { user_config: user.clone(), ..Default::default() };
    let reading = || Reading::of_project(&env, &project);
    let ours = |path: &str| ASSETS.iter().find(|asset| asset.path == path).unwrap().text.trim_end();
    assert_eq!(axioms_text(&reading()), ours("AXIOMS.md"));
    assert_eq!(workflows_text(&reading()).trim_end(), ours("WORKFLOWS.md"));
    assert_eq!(
        template(&reading(), "refusals/rule.md").unwrap().trim_end(),
        ours("templates/refusals/rule.md")
    );

    std::os::unix::fs::symlink("/dev/null", project.join(".aops/AXIOMS.md")).unwrap();
    for name in ["AXIOMS.md", "WORKFLOWS.md", "templates/refusals/rule.md"] {
        fs::write(user.join(name), b"\xff").unwrap();
    }
    let said = axioms_text(&reading());
    assert!(said.starts_with(ours("AXIOMS.md")), "{said}");
    assert!(
        said.contains("AXIOMS.md` is not UTF-8") && said.contains("is a link out of the project"),
        "{said}"
    );
    let said = workflows_text(&reading());
    assert!(said.starts_with(ours("WORKFLOWS.md")) && said.contains("is not UTF-8"), "{said}");
    let why = template(&reading(), "refusals/rule.md").unwrap_err().to_string();
    assert!(why.contains("templates/refusals/rule.md` is not UTF-8"), "{why}");

    fs::write(user.join("templates/refusals/rule.md"), "mine").unwrap();
    assert_eq!(template(&reading(), "refusals/rule.md").unwrap(), "mine");
    fs::remove_file(project.join(".aops/AXIOMS.md")).unwrap();
    fs::write(project.join(".aops/AXIOMS.md"), "project's").unwrap();
    fs::write(user.join("AXIOMS.md"), "mine").unwrap();
    assert_eq!(axioms_text(&reading()), format!("{}\n\nmine\n\nproject's", ours("AXIOMS.md")));
}

/// Every step is listed, whatever the room; only its description becomes shorter.
#[test]
fn steps_become_shorter_before_one_is_missing() {
    let root = tempfile::tempdir().unwrap();
    let env = crate::system::env::Env { user_config: root.path().join("user"), ..Default::default() };
    let reading = Reading::of_project(&env, root.path());
    let steps = |room| workflow_steps(&reading, room);
    let whole = steps(usize::MAX);
    assert!(whole.contains("1. List the items: Produce the full list by a command; count it;"), "{whole}");
    let clauses = steps(whole.len() - 1);
    assert!(clauses.contains("1. List the items: Produce the full list by a command\n"), "{clauses}");
    let names = steps(clauses.len() - 1);
    assert!(
        names.contains(
            "1. List the items 2. Plan 3. Pilot 4. Process 5. Reconcile 6. Verify (as in `qa-demo`)\n"
        ),
        "{names}"
    );
    assert_eq!(steps(0), names);
    let count = |text: &str| text.lines().filter(|line| line.starts_with("### ")).count();
    assert!(
        count(&whole) == count(&names)
            && whole.matches(". Verify").count() == names.matches(". Verify").count()
    );
}

/// A text that changes while an event is judged counts from the next event on.
#[test]
fn an_event_reads_each_text_once() {
    let root = tempfile::tempdir().unwrap();
    let user = root.path().join("user");
    let project = root.path().join("project");
    fs::create_dir_all(user.join("templates/refusals")).unwrap();
    let rule = user.join("templates/refusals/rule.md");
    fs::write(&rule, "first").unwrap();
    let env = crate::system::env::Env { user_config: user, ..Default::default() };
    let reading = Reading::of_project(&env, &project);
    assert_eq!(template(&reading, "refusals/rule.md").unwrap(), "first");
    fs::write(&rule, "second").unwrap();
    assert_eq!(template(&reading, "refusals/rule.md").unwrap(), "first");
    let name = "template/refusals/rule";
    let first = in_force(&reading).digests()[name].clone();
    assert_ne!(first, in_force(&Reading::of_project(&env, &project)).digests()[name], "the next event");
    fs::remove_file(&rule).unwrap();
    assert_eq!(in_force(&reading).digests()[name], first);
}
