//! `run --from-tracker ready` against a real tracker: one item after another, to the end.

use super::world::World;
use crate::support::Answer;
use aops_core::briefing::tracker::Item;
use serde_json::Value;
use std::fs;

/// What each run does: it notes which item it is for and commits; an item named `stuck` takes longer than it
/// may.
const STEPS: &str = "  - {id: do, name: Do, description: d, run: 'sh ./work'}\n";
const WORK: &str = r#"case $AOPS_TASK in *stuck*) sleep 60;; esac
ls .git/working 2>/dev/null && echo two at once >> done
touch .git/working
echo "$AOPS_TASK" >> done
case $AOPS_TASK in *closes*) "$TRACKER" --mb-no-cmd-logging close "$OTHER" > /dev/null;; esac
git add -A
git commit -qm work
rm .git/working
"#;

/// A repository with a real tracker, and these items in it, most urgent first.
fn world(titles: &[&str]) -> (World, Vec<String>) {
    let world = World::real();
    let id = |n: usize, title: &str| {
        let made = world.mb(&["create", title, "-t", "task", "-p", &n.to_string()]);
        made["id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
    };
    let ids: Vec<String> = titles.iter().enumerate().map(|(n, title)| id(n, title)).collect();
    let other = ids.last().unwrap().clone();
    let command = world.command.clone();
    let world = world.with("TRACKER", &command).with("OTHER", &other);
    configure(&world, "stop");
    let text = format!(
        "---\nid: do\ntitle: T\ntype: workflow\ncategory: test\ndependencies: []\nsteps:\n{STEPS}---\n\n# T\n"
    );
    world.sandbox.put(".aops/workflows/do.md", &text);
    world.sandbox.put("work", WORK);
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.email", "t@example.invalid"],
        &["config", "user.name", "t"],
        &["add", "-A"],
        &["commit", "-q", "-m", "work"],
    ] {
        let output = world.sandbox.command("git").args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }
    (world, ids)
}

fn configure(world: &World, on_pause: &str) {
    let text = format!("[tracker]\ncommand = {:?}\n\n[run]\non_pause = {on_pause:?}\n", world.command);
    world.sandbox.configure(&text);
}

fn run(world: &World) -> Answer {
    world
        .sandbox
        .person(&["run", "--from-tracker", "ready", "--workflow", "do", "--step-timeout", "6s", "--json"])
}

/// Task, state and outcome of every run, oldest first.
fn runs(world: &World) -> Vec<(String, String, String)> {
    let listed = world.sandbox.person(&["runs", "--json"]).json();
    let text = |run: &Value, key: &str| run[key].as_str().unwrap_or_default().to_owned();
    let all = listed.as_array().unwrap();
    all.iter().map(|run| (text(run, "task"), text(run, "state"), text(run, "outcome"))).collect()
}

fn expected(ids: &[String], all: &[(usize, &str, &str, &str)]) -> Vec<(String, String, String)> {
    let one = |(n, title, state, outcome): &(usize, &str, &str, &str)| {
        (format!("{}: {title}", ids[*n]), (*state).to_owned(), (*outcome).to_owned())
    };
    all.iter().map(one).collect()
}

#[test]
fn ready_items_are_taken_one_after_another() {
    let (world, ids) = world(&["first thing", "closes the last", "last thing"]);
    let answer = run(&world);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert_eq!(
        runs(&world),
        expected(&ids, &[(0, "first thing", "TERMINAL", "PASS"), (1, "closes the last", "TERMINAL", "PASS")])
    );
    assert!(
        answer.out.contains(&format!(r#"{{"event":"passed over","task":"{}: last thing"}}"#, ids[2])),
        "no longer ready, and said so: {answer:?}"
    );
    let done = fs::read_to_string(world.sandbox.project().join("done")).unwrap();
    let lines: Vec<&str> = done.lines().collect();
    assert_eq!(lines.len(), 2, "each once, never two at a time: {done}");
    assert!(lines[0].contains("first thing") && lines[1].contains("closes the last"), "{done}");
    let ends: Vec<Value> = answer.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ends: Vec<&Value> = ends.iter().filter(|line| line.get("packet").is_some()).collect();
    assert_eq!(ends.len(), 2, "the end of each is told: {answer:?}");
    let people = world.sandbox.person(&["runs"]);
    assert!(people.out.contains("first thing") && people.out.contains("closes the last"), "{people:?}");
}

#[test]
fn one_that_pauses_stops_the_rest_or_not() {
    let (world, ids) = world(&["stuck thing", "other thing"]);
    let answer = run(&world);
    assert_eq!(answer.code, Some(3), "{answer:?}");
    let stuck = (0, "stuck thing", "CHECKPOINT", "ESCALATION_REQUESTED");
    assert_eq!(runs(&world), expected(&ids, &[stuck]));
    assert!(answer.err.contains("aops-hook resolve CP_"), "{answer:?}");
    configure(&world, "continue");
    let answer = run(&world);
    assert_eq!(answer.code, Some(3), "the worst of them: {answer:?}");
    assert_eq!(runs(&world), expected(&ids, &[stuck, stuck, (1, "other thing", "TERMINAL", "PASS")]));
}

fn commit(world: &World, message: &str) {
    world.sandbox.git(&["add", "-A"]);
    world.sandbox.git(&["commit", "-q", "--allow-empty", "-m", message]);
}

#[test]
fn nothing_ready_is_said() {
    let (world, ids) = world(&["only thing"]);
    world.mb(&["close", &ids[0]]);
    commit(&world, "closed");
    world
        .sandbox
        .person(&["run", "--from-tracker", "ready", "--workflow", "do"])
        .failed(2, &["nothing is ready", "hint:"]);
    assert!(!world.sandbox.project().join("artifacts").exists());
}

/// Reports that we filed are about work; none of them is work that a run takes up by itself.
#[test]
fn what_we_filed_ourselves_is_never_taken_up() {
    let (world, ids) = world(&["Reflection: greets the world", "true thing"]);
    let labels = vec!["aops-halt".to_owned()];
    let body = "Session: s".to_owned();
    world.enqueue(Item::Issue {
        title: "scope left".to_owned(),
        body,
        kind: "bug".to_owned(),
        priority: 1,
        labels,
    });
    let seen = world.refresh();
    assert_eq!((seen.ready.total, seen.ours), (1, 2), "{seen:?}");
    commit(&world, "filed");
    let answer = run(&world);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert_eq!(runs(&world), expected(&ids, &[(1, "true thing", "TERMINAL", "PASS")]));
    world.mb(&["close", &ids[1]]);
    commit(&world, "closed");
    world
        .sandbox
        .person(&["run", "--from-tracker", "ready", "--workflow", "do"])
        .failed(2, &["nothing is ready", "hint:"]);
}
