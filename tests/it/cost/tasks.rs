//! The tasks that are measured, each with the steps that an agent takes by itself, and the project they are
//! done in.

use crate::model::Turn;
use crate::support::Sandbox;
use serde_json::{Value, json};
use std::path::Path;

/// One prompt, and what an agent does about it.
pub(super) struct Task {
    pub(super) name: &'static str,
    pub(super) prompt: &'static str,
    /// What `prompt-hydrator` makes of it: a workflow, for a new task or for the one in hand.
    pub(super) workflow: &'static str,
    pub(super) is_new: bool,
    /// More than three files and sixty lines, as anybody can see.
    pub(super) is_large: bool,
    /// The person wants to see a plan first, in the client's plan mode.
    pub(super) is_planned_by_person: bool,
    pub(super) steps: Vec<Deed>,
    pub(super) last_words: &'static str,
}

/// One tool call of the main agent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Deed {
    pub(super) tool: String,
    pub(super) input: Value,
}

impl Deed {
    pub(super) fn new(tool: &str, input: Value) -> Self {
        Self { tool: tool.to_owned(), input }
    }

    pub(super) fn bash(line: &str) -> Self {
        Self::new("Bash", json!({"command": line}))
    }

    pub(super) fn turn(&self) -> Turn {
        Turn::call(&self.tool, self.input.clone())
    }
}

impl Task {
    /// The files that its steps change.
    pub(super) fn files(&self) -> Vec<&str> {
        let changes = self.steps.iter().filter(|step| step.tool == "Edit" || step.tool == "Write");
        changes.filter_map(|step| step.input["file_path"].as_str()).collect()
    }
}

/// The prompts of one session, for a project in this folder.
pub(super) type Prompts = fn(&Path) -> Vec<Task>;

pub(super) const SESSIONS: [Prompts; 4] = [question, typo_and_follow_up, tests, feature];

/// A repository with a remote, a program, its test, and a typo.
pub(super) fn project() -> Sandbox {
    let sandbox = Sandbox::repository("0");
    sandbox.put("README.md", "# Greeter\n\nTeh program greets its reader.\n");
    sandbox.put("src/greet.sh", "echo hello\n");
    sandbox.put("tests/greet.sh", "test \"$(sh src/greet.sh)\" = hello\n");
    sandbox.put(
        "run-tests.sh",
        "for test in tests/*.sh; do sh \"$test\" || exit 1; done\necho all tests pass\n",
    );
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "greet"]);
    sandbox.git(&["push", "-q"]);
    sandbox
}

pub(super) fn typo_and_follow_up(project: &Path) -> Vec<Task> {
    let readme = project.join("README.md");
    let typo = Task {
        name: "typo",
        prompt: "There is a typo in the README, please fix it.",
        workflow: "minor-edit",
        is_new: true,
        is_large: false,
        is_planned_by_person: false,
        steps: vec![read(&readme), edit(&readme, "Teh program", "The program")],
        last_words: "I fixed the typo.",
    };
    let follow_up = Task {
        name: "follow-up",
        prompt: "Shorter!",
        workflow: "minor-edit",
        is_new: false,
        is_large: false,
        is_planned_by_person: false,
        steps: vec![edit(&readme, "The program greets", "It greets")],
        last_words: "It is shorter now.",
    };
    vec![typo, follow_up]
}

fn question(project: &Path) -> Vec<Task> {
    vec![Task {
        name: "question",
        prompt: "What does src/greet.sh print?",
        workflow: "simple-question",
        is_new: true,
        is_large: false,
        is_planned_by_person: false,
        steps: vec![read(&project.join("src/greet.sh"))],
        last_words: "It prints hello.",
    }]
}

fn tests(_: &Path) -> Vec<Task> {
    vec![Task {
        name: "tests",
        prompt: "Do the tests pass?",
        workflow: "qa-demo",
        is_new: true,
        is_large: false,
        is_planned_by_person: false,
        steps: vec![Deed::bash("sh run-tests.sh")],
        last_words: "Yes, they pass.",
    }]
}

/// Four files and two hundred lines.
pub(super) fn feature(project: &Path) -> Vec<Task> {
    let greet = project.join("src/greet.sh");
    let lines = |line: fn(u32) -> String| (1..=98).map(line).collect::<String>();
    let readers = lines(|n| format!("{n}) echo 'hello, reader {n}' ;;\n"));
    let checks = lines(|n| format!("test \"$(sh src/greet.sh {n})\" = 'hello, reader {n}' || exit 1\n"));
    vec![Task {
        name: "feature",
        prompt: "Let the program greet each of our readers, 1 to 98, by number, with a test and a page about it.",
        workflow: "feature-dev",
        is_new: true,
        is_large: true,
        is_planned_by_person: false,
        steps: vec![
            read(&greet),
            write(&project.join("src/readers.sh"), &format!("case $1 in\n{readers}esac\n")),
            edit(&greet, "echo hello", "test \"$1\" && exec sh src/readers.sh \"$1\"\necho hello"),
            write(&project.join("tests/readers.sh"), &checks),
            write(
                &project.join("docs/readers.md"),
                "# Readers\n\n`sh src/greet.sh 7` greets reader 7 of 98.\n",
            ),
            Deed::bash("sh run-tests.sh"),
        ],
        last_words: "The program greets all its readers, and its tests pass.",
    }]
}

/// A question, a typo, a follow-up, a feature whose plan the person approves, and one that an agent plans.
pub(super) fn five_prompts(project: &Path) -> Vec<Task> {
    let farewell = project.join("src/farewell.sh");
    let names: Vec<String> = (1..=70).map(|n| format!("{n}) echo 'farewell, reader {n}' ;;")).collect();
    let by_person = Task {
        name: "feature, plan mode",
        prompt: "Let a second program bid each of seventy readers farewell.",
        workflow: "feature-dev",
        is_new: true,
        is_large: true,
        is_planned_by_person: true,
        steps: vec![
            write(&farewell, &format!("case $1 in\n{}\nesac\n", names.join("\n"))),
            Deed::bash("sh run-tests.sh"),
        ],
        last_words: "The second program says farewell.",
    };
    let mut all = question(project);
    all.extend(typo_and_follow_up(project));
    all.push(by_person);
    all.extend(feature(project).into_iter().map(|feature| Task { name: "feature, hydrator", ..feature }));
    all
}

pub(super) fn read(file: &Path) -> Deed {
    Deed::new("Read", json!({"file_path": file}))
}

pub(super) fn write(file: &Path, content: &str) -> Deed {
    Deed::new("Write", json!({"file_path": file, "content": content}))
}

pub(super) fn edit(file: &Path, old: &str, new: &str) -> Deed {
    Deed::new("Edit", json!({"file_path": file, "old_string": old, "new_string": new, "replace_all": false}))
}
