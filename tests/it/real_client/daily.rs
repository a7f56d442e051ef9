//! An ordinary day at a terminal: a branch that becomes a pull request, packages that are installed, a task
//! looked at.

use super::agents::{plan, reflection, start};
use super::whole_loop::bash;
use crate::client::Client;
use crate::model::{Model, Turn};
use crate::support::{NO_TRACKER, Sandbox, Session};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

const ALLOWED: [&str; 4] = ["--permission-mode", "acceptEdits", "--allowedTools", "Bash,Write,Agent"];

/// One prompt in mode `loop`, up to these last words: what the person saw of it.
fn in_loop(sandbox: &Sandbox, model: &Model, prompt: &str, last_words: &str) -> String {
    sandbox.configure(&format!("{NO_TRACKER}mode.level = \"loop\"\n"));
    let client = Client::guarded(sandbox, model);
    let terminal = client.sit_down(&ALLOWED);
    terminal.type_prompt(prompt);
    terminal.wait_for(last_words, |screen| screen.contains(&format!("● {last_words}")));
    // The last words are on the screen before the client says that the turn is over.
    let is_stop = |entry: &Value| entry["with"]["event"] == "Stop";
    terminal.wait_for("the end of the turn", |_| only_session(sandbox).entries().iter().any(is_stop));
    terminal.screen()
}

fn write(sandbox: &Sandbox, name: &str, content: &str) -> Turn {
    Turn::call("Write", json!({"file_path": sandbox.project().join(name), "content": content}))
}

fn only_session(sandbox: &Sandbox) -> Session<'_> {
    let found = sandbox.person(&["sessions", "--json"]).json();
    Session::new(sandbox, found[0]["session_id"].as_str().unwrap())
}

/// Every call was made, nothing was asked, and the model was told of no debt.
#[track_caller]
fn went_as_without_us(sandbox: &Sandbox, model: &Model, screen: &str) {
    let failed: Vec<_> = model.tool_results().into_iter().filter(|result| result.is_error).collect();
    assert!(failed.is_empty(), "{failed:#?}\n{screen}");
    let heard = model.requests().last().unwrap().said_by("user").join("\n");
    assert!(!heard.contains("Stop hook feedback"), "{heard}");
    let stopped = |entry: &Value| entry["type"] == "question" || entry["type"] == "violation";
    let entries = only_session(sandbox).entries();
    assert!(!entries.iter().any(stopped), "{entries:#?}");
}

/// A forge's program that opens no pull request, only writes down that it was asked to.
fn with_a_forge(sandbox: Sandbox) -> Sandbox {
    let folder = sandbox.tmp().join("forge");
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join("gh");
    fs::write(&program, "#!/bin/sh\necho \"$@\" > pull-request.txt\necho https://forge.invalid/pull/1\n")
        .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let variables = sandbox.environment();
    let (_, path) = variables.into_iter().find(|(name, _)| name == "PATH").unwrap();
    let mut with = folder.into_os_string();
    with.push(":");
    with.push(path);
    sandbox.with("PATH", with)
}

#[test]
fn a_branch_a_rebase_a_push_and_a_pull_request_in_loop() {
    let sandbox = with_a_forge(Sandbox::repository("0"));
    sandbox.somebody_pushes();
    let model = Model::new([
        bash("git switch -q -c topic"),
        write(&sandbox, "greeting.txt", "hello\n"),
        bash("git add greeting.txt && git commit -q -m 'greet the reader'"),
        bash("git push -q -u origin topic"),
        bash("git fetch -q && git rebase -q origin/main"),
        bash("git push -q --force-with-lease"),
        bash("gh pr create --fill"),
        Turn::text("The pull request is open."),
    ]);
    let screen =
        in_loop(&sandbox, &model, "greet the reader, in a pull request", "The pull request is open.");
    went_as_without_us(&sandbox, &model, &screen);
    let pushed = sandbox.git(&["ls-remote", "origin", "refs/heads/topic"]);
    assert!(pushed.starts_with(sandbox.git(&["rev-parse", "topic"]).trim()), "{pushed}");
    assert_eq!(sandbox.git(&["log", "--format=%s", "topic"]), "greet the reader\nother\nstart\n");
    assert_eq!(fs::read_to_string(sandbox.project().join("pull-request.txt")).unwrap(), "pr create --fill\n");
}

/// A package to install without a network, and what installs it beside a virtual environment.
fn installs(sandbox: &Sandbox) -> [Turn; 2] {
    let package = sandbox.tmp().join("package");
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("package.json"), r#"{"name": "greeter", "version": "1.0.0"}"#).unwrap();
    for n in 1..=60 {
        fs::write(package.join(format!("index{n}.js")), "module.exports = 'hello';\n".repeat(40)).unwrap();
    }
    let archive = sandbox.tmp().join("greeter.tgz");
    let tar = sandbox
        .command("tar")
        .arg("-czf")
        .arg(&archive)
        .args(["-C"])
        .arg(sandbox.tmp())
        .arg("package")
        .output();
    assert!(tar.unwrap().status.success());
    let npm = format!(
        "npm install --offline --no-save --no-package-lock --no-update-notifier {}",
        archive.display()
    );
    [bash("python3 -m venv .venv"), bash(&npm)]
}

fn is_installed(sandbox: &Sandbox) {
    for made in [".venv/bin/python", "node_modules/greeter/index60.js"] {
        assert!(sandbox.project().join(made).exists(), "{made}");
    }
    assert!(!sandbox.project().join(".gitignore").exists());
}

#[test]
fn a_virtual_environment_and_node_modules_are_nobodys_work_in_loop() {
    let sandbox = Sandbox::repository("0");
    let [venv, npm] = installs(&sandbox);
    let turns = [venv, npm, write(&sandbox, "app.py", "print('hello')\n"), bash(".venv/bin/python app.py")];
    let model = Model::new(turns.into_iter().chain([Turn::text("It is set up.")]));
    let screen = in_loop(&sandbox, &model, "set the project up", "It is set up.");
    went_as_without_us(&sandbox, &model, &screen);
    is_installed(&sandbox);
    let state = only_session(&sandbox).state();
    assert_eq!((&state["sandbox"], &state["task"]["writes"]), (&json!("open"), &json!(1)), "{state:#}");
}

#[test]
fn a_virtual_environment_and_node_modules_are_not_owed_in_strict() {
    let sandbox = Sandbox::repository("0");
    sandbox.configure(NO_TRACKER);
    let [venv, npm] = installs(&sandbox);
    let model = Model::new([
        start("prompt-hydrator"),
        venv,
        npm,
        write(&sandbox, "app.py", "print('hello')\n"),
        Turn::text("Done."),
        start("qa-verifier"),
        start("framework"),
        bash("git add app.py && git commit -q -m app"),
        bash("git push -q"),
        Turn::text("All done."),
    ])
    .reporting("prompt-hydrator", &plan("minor-edit"))
    .reporting("qa-verifier", &json!({"verdict": "VERIFIED"}))
    .reporting("framework", &reflection());
    Client::guarded(&sandbox, &model).run("set the project up").ended("All done.");
    is_installed(&sandbox);
    let heard = model.requests().last().unwrap().said_by("user").join("\n");
    let (_, owed) = heard.split_once("Stop hook feedback").unwrap();
    assert!(owed.contains("by name: app.py\n"), "{owed}");
    assert!(!owed.contains(".venv") && !owed.contains("node_modules"), "{owed}");
    let left = sandbox.git(&["status", "--porcelain"]);
    assert_eq!(left, "?? .venv/\n?? node_modules/\n");
}

/// Esc in the middle of a planned task, another prompt, and what `/aops-task` says of both.
#[test]
fn an_interrupted_task_is_shown_by_its_slash_command() {
    let sandbox = Sandbox::repository("0");
    sandbox.configure(&format!("{NO_TRACKER}mode.level = \"loop\"\n"));
    let model = Model::new([
        start("prompt-hydrator"),
        write(&sandbox, "a.txt", "hello\n"),
        bash("tail -f /dev/null"),
        Turn::text("It is a project."),
        Turn::text("One task is set aside."),
        Turn::text("A terminal is needed."),
        Turn::text("It is let go."),
    ])
    .reporting("prompt-hydrator", &plan("minor-edit"));
    std::os::unix::fs::symlink(crate::support::BINARY, sandbox.home().join("aops-hook")).unwrap();
    let client = Client::guarded(&sandbox, &model);
    let terminal = client.sit_down(&ALLOWED);
    terminal.type_prompt("greet the reader");
    sandbox
        .wait_until("it runs", || sandbox.alive().iter().any(|(_, line)| line.contains("tail -f /dev/null")));
    terminal.press("Escape");
    terminal.shows(&["Interrupted"]);
    terminal.type_prompt("what is this?");
    terminal.shows(&["● It is a project."]);
    terminal.type_prompt("/aops-task list");
    terminal.shows(&["● One task is set aside."]);
    let heard = model.requests().last().unwrap().said_by("user").join("\n");
    for words in ["parked", "1 file changed, not committed", "greet the reader"] {
        assert!(heard.contains(words), "{words}: {heard}");
    }
    assert!(!heard.contains("Stop hook feedback"), "a task that is set aside owes nothing: {heard}");
    // Nothing shows us who typed a `!` line, so it names the way that works here.
    terminal.press("!");
    terminal.wait_for("the shell's prompt", |screen| {
        screen.lines().any(|line| line.trim_start().starts_with('!'))
    });
    terminal.type_on("~/aops-hook task drop");
    terminal.shows(&["type `/aops-task drop` here", "● A terminal is needed."]);
    terminal.type_prompt("/aops-task drop");
    terminal.shows(&["let go: it owes nothing more", "● It is let go."]);
    let heard = model.requests().last().unwrap().said_by("user").join("\n");
    assert!(heard.contains("no task is open, and none was interrupted"), "{heard}");
    assert_eq!(sandbox.person(&["task", "list", "--json"]).json(), json!([]));
}

/// What `CLAUDE_CODE_DISABLE_BACKGROUND_TASKS` does at a terminal, as `docs/install.md` says: agents stay in
/// the foreground, and Bash loses its `run_in_background`. No tool is taken away by it.
#[test]
fn the_switch_that_keeps_agents_in_the_foreground() {
    let seen = [false, true].map(|is_off| {
        let sandbox = Sandbox::repository("0");
        let sandbox =
            if is_off { sandbox.with("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1") } else { sandbox };
        let model = Model::new([
            start("prompt-hydrator"),
            Turn::text("It is planned."),
            Turn::text("It is planned."),
        ])
        .reporting("prompt-hydrator", &plan("minor-edit"));
        in_loop(&sandbox, &model, "plan it", "It is planned.");
        sandbox.wait_until("the plan is there", || only_session(&sandbox).state()["subagents"] != json!({}));
        let tools = model.requests()[0].body["tools"].as_array().unwrap().clone();
        let names: Vec<Value> = tools.iter().map(|tool| tool["name"].clone()).collect();
        let bash = tools.iter().find(|tool| tool["name"] == "Bash").unwrap();
        let ledger = only_session(&sandbox).entries().iter().map(Value::to_string).collect::<String>();
        let may_leave = !bash["input_schema"]["properties"]["run_in_background"].is_null();
        (names, may_leave, ledger.contains("\"launched\":true"))
    });
    let [with, without] = seen;
    assert_eq!((with.1, with.2, without.1, without.2), (true, true, false, false));
    assert_eq!(with.0, without.0, "the tools");
}
