//! A day of ordinary prompts at a terminal, in one session: what each took, and what was refused.

use super::agent::{Temperament, answer};
use super::conversation::hear;
use super::count::Cost;
use super::tasks::{Deed, Task, edit, feature, project, read, typo_and_follow_up, write};
use crate::client::Client;
use crate::client::terminal::Terminal;
use crate::model::{Model, Request};
use crate::support::{NO_TRACKER, Sandbox};
use serde_json::json;
use std::path::Path;

const FORMAT: &str = "import pathlib\np = pathlib.Path('src/greet.py')\np.write_text(p.read_text().replace('  ', ' '))\nprint('Formatted.')\n";

fn task(
    name: &'static str,
    prompt: &'static str,
    workflow: &'static str,
    steps: Vec<Deed>,
    last_words: &'static str,
) -> Task {
    Task {
        name,
        prompt,
        workflow,
        is_new: true,
        is_large: false,
        is_planned_by_person: false,
        steps,
        last_words,
    }
}

/// A question, a typo and a follow-up, a feature, a formatter, a virtual environment, a server, a rebase with
/// a push, and a question again.
fn day(project: &Path) -> Vec<Task> {
    let greet = project.join("src/greet.py");
    let mut all = vec![task(
        "question",
        "What does src/greet.sh print?",
        "simple-question",
        vec![read(&project.join("src/greet.sh"))],
        "It prints hello.",
    )];
    all.extend(typo_and_follow_up(project));
    all.push(task(
        "tests",
        "Do the tests pass?",
        "qa-demo",
        vec![Deed::bash("sh run-tests.sh")],
        "Yes, they pass.",
    ));
    all.extend(feature(project));
    all.push(task(
        "formatter",
        "Write src/greet.py and format the code.",
        "minor-edit",
        vec![
            write(&greet, "print('hello,  reader')\n"),
            write(&project.join("format.py"), FORMAT),
            Deed::bash("python3 format.py"),
        ],
        "It is formatted now.",
    ));
    all.push(task(
        "packages",
        "Make a virtual environment.",
        "minor-edit",
        vec![
            write(&project.join("requirements.txt"), "# none yet\n"),
            Deed::bash("python3 -m venv --without-pip .venv"),
            Deed::bash(".venv/bin/python src/greet.py"),
        ],
        "The environment is made.",
    ));
    let port = port(project);
    let server = format!("cd src && exec python3 -m http.server {port} --bind 127.0.0.1");
    let ready = format!(
        "until curl -s -o /tmp/served.{port} http://127.0.0.1:{port}/greet.sh; do sleep 0.1; done; cat /tmp/served.{port}"
    );
    all.push(task(
        "server",
        "Serve the folder and fetch a file.",
        "qa-demo",
        vec![
            Deed::new("Bash", json!({"command": server, "run_in_background": true})),
            Deed::bash(&ready),
            Deed::bash(&format!("rm /tmp/served.{port}; pkill -f '[h]ttp.server {port}'")),
        ],
        "The file was served.",
    ));
    all.push(task(
        "edit",
        "Greet the world instead.",
        "minor-edit",
        vec![read(&greet), edit(&greet, "reader", "world")],
        "It greets the world.",
    ));
    all.push(task(
        "rebase", "Commit all of it, rebase and push.", "minor-edit",
        vec![
            Deed::bash("git add -A -- src docs tests README.md format.py requirements.txt && git commit -q -m day; git status --short"),
            Deed::bash("git pull -q --rebase; git push -q"),
        ],
        "All of it is pushed.",
    ));
    all.push(task(
        "last question",
        "What does the README say?",
        "simple-question",
        vec![read(&project.join("README.md"))],
        "It says what the program does.",
    ));
    all
}

/// Another one in each session, the same whenever it is asked for.
fn port(project: &Path) -> u32 {
    project.as_os_str().as_encoded_bytes().iter().fold(0, |sum, byte| (sum * 31 + u32::from(*byte)) % 20_000)
        + 20_000
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn a_day_in_loop() {
    live("loop");
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn a_day_in_strict() {
    live("strict");
}

/// Every prompt comes to its end, and what was done is there.
fn live(mode: &str) {
    let sandbox = project();
    sandbox.put(".gitignore", ".venv/\n");
    sandbox.git(&["add", ".gitignore"]);
    sandbox.git(&["commit", "-q", "-m", "ignore"]);
    sandbox.git(&["push", "-q"]);
    sandbox.configure(&format!("{NO_TRACKER}mode.level = \"{mode}\"\n"));
    let (tasks, known) = (day(&sandbox.project()), day(&sandbox.project()));
    let model = Model::minded(move |request| answer(request, &known, Temperament::Realistic));
    let client = Client::guarded(&sandbox, &model);
    let terminal = client.sit_down(&[
        "--permission-mode",
        "acceptEdits",
        "--allowedTools",
        "Bash,Agent,Edit,Write,Read",
    ]);
    for task in &tasks {
        if task.name == "rebase" {
            sandbox.somebody_pushes();
        }
        give(&sandbox, &model, &terminal, task);
    }
    for words in [
        &["status"][..],
        &["log"],
        &["why"],
        &["insights"],
        &["report"],
        &["task", "list"],
        &["undo", "list"],
    ] {
        println!("$ aops-hook {}\n{}", words.join(" "), sandbox.person(words).out);
    }
    println!("{}\n{}", sandbox.git(&["status", "--short"]), sandbox.git(&["log", "--oneline", "--all"]));
    let readme = std::fs::read_to_string(sandbox.project().join("README.md")).unwrap();
    assert!(readme.contains("It greets"), "{readme}");
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), sandbox.git(&["rev-parse", "origin/main"]));
}

fn give(sandbox: &Sandbox, model: &Model, terminal: &Terminal, task: &Task) {
    let before = model.requests();
    terminal.type_prompt(task.prompt);
    let is_closed = |screen: &str| {
        let end = screen.rsplit_once(task.last_words).map(|(_, end)| end).unwrap_or_default();
        (end.contains("· done ") || end.contains(" finished · ")) && !end.contains("Stop hook error")
    };
    terminal.wait_for(task.last_words, is_closed);
    let requests = model.requests();
    let main =
        |requests: &[Request]| requests.iter().rfind(|request| request.agent.is_none()).map_or(vec![], hear);
    let heard = main(&requests).split_off(main(&before).len());
    let cost = Cost::count(sandbox, &before, &requests, task.prompt);
    println!("== {} | {} requests | {} agents", task.name, cost.requests, cost.subagents);
    for heard in heard.iter().filter(|heard| heard.is_refusal()) {
        println!("   refused: {}", sandbox.scrub(heard.text()));
    }
    println!("   status: {}", sandbox.person(&["status"]).out.replace('\n', "\n           "));
    println!("   screen:\n{}", terminal.screen());
}
