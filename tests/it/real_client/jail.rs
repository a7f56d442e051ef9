//! The jail in the real client: what runs before the plan, what is left of it, and that the client goes on as
//! ever.

use super::agents::{plan, start};
use super::checks::verifies;
use super::whole_loop::bash;
use crate::client::Client;
use crate::model::{Model, Turn};
use crate::support::{Sandbox, Session};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Every file of the project with its bytes.
fn tree(sandbox: &Sandbox) -> BTreeMap<PathBuf, Vec<u8>> {
    sandbox.files().into_iter().filter(|(path, _)| path.starts_with(sandbox.project())).collect()
}

/// A project with a Makefile, a crate and a package.
fn project() -> Sandbox {
    let tools = Path::new(env!("CARGO")).parent().unwrap().display().to_string();
    let sandbox = Sandbox::new();
    let path = sandbox.environment().into_iter().find(|(name, _)| name == "PATH").unwrap().1;
    let sandbox = sandbox.with("PATH", format!("{tools}:{}", path.to_str().unwrap()));
    sandbox.put("Makefile", "all:\n\t@echo made > made.txt; cat made.txt\n");
    sandbox.put("Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    sandbox.put("src/lib.rs", "#[test]\nfn it_adds() { assert_eq!(1 + 1, 2); }\n");
    sandbox.put("package.json", r#"{"name": "x", "version": "1.0.0", "scripts": {"test": "node -e \"require('fs').writeFileSync('n','')\" && echo tested"}}"#);
    sandbox
}

/// The profile of every command in the ledger, in order.
fn profiles(session: &Session) -> Vec<String> {
    let entries = session.entries();
    let jailed =
        entries.iter().filter_map(|entry| entry["with"]["end"]["under"]["jailed"]["profile"].as_str());
    jailed.map(str::to_owned).collect()
}

#[test]
fn tests_and_builds_run_before_the_plan_and_leave_nothing() {
    let sandbox = project();
    let before = tree(&sandbox);
    let (project, seen) = (sandbox.project(), std::sync::Arc::new(std::sync::Mutex::new(None)));
    let look = std::sync::Arc::clone(&seen);
    let look = move || {
        let made = ["made.txt", "x", "target", "n", "y"].map(|name| project.join(name).exists());
        *look.lock().unwrap() = Some(made);
    };
    let model = Model::new([
        bash("make"),
        bash("cargo test --offline 2>&1 | grep passed"),
        bash("npm test --silent"),
        bash("python3 -c \"open('x','w'); print('written')\""),
        bash("exit 3"),
        Turn::call(
            "Bash",
            json!({"command": "python3 -c \"open('y','w'); print('behind')\"", "run_in_background": true}),
        ),
        bash("cd src && sh -c 'pwd'"),
        bash("touch x"),
        start("prompt-hydrator").after(look),
        bash("make -C .."),
        Turn::text("Done."),
    ])
    .reporting("prompt-hydrator", &plan("minor-edit"));
    let run = Client::guarded(&sandbox, &model).run("make it");
    let session = Session::new(&sandbox, run.session_id());
    let results: Vec<(bool, String)> =
        model.tool_results().into_iter().map(|r| (r.is_error, r.text)).collect();
    let text = |n: usize| results[n].1.as_str();
    assert!(text(0).contains("made"), "{results:#?}");
    assert!(text(1).contains("1 passed"), "{results:#?}");
    assert!(text(2).contains("tested"), "{results:#?}");
    assert!(text(3).contains("written"), "{results:#?}");
    assert!(results[4].0 && text(4).contains("Exit code 3"), "{results:#?}");
    // What run on in the background would end with its command.
    assert!(results[5].0 && text(5).contains("continue in the background"), "{results:#?}");
    assert!(text(6).ends_with("/project/src"), "{results:#?}");
    assert!(results[7].0 && text(7).contains("plan"), "{results:#?}");
    assert_eq!(*seen.lock().unwrap(), Some([false; 5]), "{results:#?}");
    let now = tree(&sandbox);
    assert!(now.contains_key(&sandbox.project().join("made.txt")), "{results:#?} {:?}", profiles(&session));
    assert!(before.iter().all(|(path, bytes)| now.get(path) == Some(bytes)));
    assert_eq!(profiles(&session), ["trial", "trial", "trial", "trial", "read", "read", "work"]);
    assert_eq!(session.state()["task"]["writes"], 1);
    let told: Vec<Value> = model.requests().iter().map(|request| request.body["messages"].clone()).collect();
    let told = told.last().unwrap().to_string();
    assert!(told.contains("made.txt is gone. Start prompt-hydrator, then run it again."), "{told}");
    verifies(&sandbox, &session);
}

/// A project's settings may set the variable anew: nothing proves what ran.
#[test]
fn a_projects_own_variable_is_told_and_a_later_one_is_a_violation() {
    let sandbox = Sandbox::new();
    sandbox.put(".claude/settings.json", r#"{"env": {"CLAUDE_CODE_SHELL_PREFIX": "/usr/bin/env"}}"#);
    let model = Model::new([Turn::text("Hello.")]);
    let run = Client::guarded(&sandbox, &model).run(". hello");
    assert!(format!("{run:?}").contains("names another program"), "{run:?}");
}

/// A person's `!` line does real work, and our own commands write to the ledger.
#[test]
fn a_persons_own_line_and_our_commands_work() {
    let sandbox = Sandbox::new();
    let model = Model::new([
        Turn::text("I see it."),
        Turn::text("It is kept."),
        bash("aops-hook block --reason 'it drifts'"),
        Turn::text("Blocked."),
    ]);
    let client = Client::guarded(&sandbox, &model);
    let terminal = client.sit_down(&["--permission-mode", "acceptEdits", "--allowedTools", "Bash"]);
    terminal.press("!");
    // Typed too soon, the line would be a prompt.
    terminal.wait_for("the shell's prompt", |screen| {
        screen.lines().any(|line| line.trim_start().starts_with('!'))
    });
    terminal.type_on("echo mine > mine.txt; echo x >> ~/.claude/settings.json; echo the end");
    // bash and zsh write it in their own ways.
    terminal.wait_for("the end", |screen| screen.to_lowercase().contains("read-only file system"));
    assert_eq!(fs::read_to_string(sandbox.project().join("mine.txt")).unwrap(), "mine\n");
    // The client tells the model of it.
    terminal.wait_for("the first answer", |screen| screen.contains("I see it."));
    terminal.type_prompt("/aops-checkpoint");
    terminal.wait_for("the answer", |screen| screen.contains("It is kept."));
    let kept = sandbox.person(&["checkpoint", "list", "--json"]).json();
    assert!(kept.to_string().contains("manual"), "{kept}");
    terminal.type_prompt(". block it");
    terminal.wait_for("the block", |screen| screen.contains("blocked"));
    assert_eq!(sandbox.person(&["status", "--json"]).json()["blocked"], true);
}
