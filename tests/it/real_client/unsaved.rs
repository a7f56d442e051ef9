//! `strict` in the real client, before the plan: what model and person read of a result that is gone.

use super::agents::{plan, start};
use super::whole_loop::bash;
use crate::client::Client;
use crate::model::{Model, Turn};
use crate::support::Sandbox;
use rustix::process::{Pid, Signal, kill_process};

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.put("Makefile", "build:\n\t@mkdir -p out && echo app > out/app && echo built\ntest:\n\t@mkdir -p __pycache__ && echo x > __pycache__/a.pyc && echo passed\n");
    sandbox.put("a.py", "x=1\n");
    sandbox.put("serve.py", SERVE);
    sandbox.put("start.sh", "python3 serve.py\necho started\n");
    sandbox.put("run.sh", "python3 serve.py\npython3 -c 'import time; time.sleep(1000)'\n");
    sandbox.put("format.py", "open('a.py', 'w').write('x = 1\\n'); print('Formatted.')\n");
    sandbox.put(
        "migrate.py",
        "import sqlite3\ndb = sqlite3.connect('db.sqlite3'); db.execute('create table t(x)'); db.commit(); print('migrated')\n",
    );
    sandbox
}

/// A server that detaches itself, as far as a process can.
const SERVE: &str = "import os, socket, time\n\
    server = socket.create_server(('127.0.0.1', 8123))\n\
    if os.fork() == 0:\n\
    \x20   os.setsid()\n\
    \x20   if os.fork() == 0:\n\
    \x20       for stream in range(3): os.close(stream)\n\
    \x20       while True: time.sleep(1)\n";

const WHY: &str = "ran in a throwaway layer because this task has no plan yet.";
const NEXT: &str = "Start prompt-hydrator, then run it again.";

/// What the client said to the model after this many turns, beside the results of its calls.
fn told(model: &Model, turn: usize) -> String {
    model.requests()[turn].body["messages"].to_string().replace("\\\"", "\"").replace("\\\\", "")
}

#[test]
fn a_build_a_formatter_and_a_migration_before_the_plan() {
    let sandbox = project();
    let model = Model::new([
        bash("make test"),
        bash("make build"),
        bash("python3 format.py"),
        bash("python3 migrate.py"),
        start("prompt-hydrator"),
        bash("make build"),
        Turn::text("Built."),
    ])
    .reporting("prompt-hydrator", &plan("minor-edit"));
    let run = Client::guarded(&sandbox, &model).run("build, format and migrate it");
    let requests = model.requests().len();
    let all: Vec<String> = (0..requests).map(|n| told(&model, n)).collect();
    assert!(!all[1].contains("Not saved"), "a plain test run: {}", all[1]);
    let last = all.last().unwrap();
    for (line, gone) in [
        ("make build", "out/app is gone."),
        ("python3 format.py", "The changes to a.py are gone."),
        ("python3 migrate.py", "db.sqlite3 is gone."),
    ] {
        assert!(last.contains(&format!("Not saved: \"{line}\" {WHY} {gone} {NEXT}")), "{line}: {last}");
    }
    // The client shows it as an error of the hook, beside the result of the call.
    assert!(last.contains("hook blocking error"), "{last}");
    assert!(sandbox.project().join("out/app").exists() && !sandbox.project().join("db.sqlite3").exists());
    let shown = format!("{run:?}");
    assert_eq!(shown.matches("The agent got the same message.").count(), 1, "{shown}");
}

#[test]
fn the_person_at_the_terminal_reads_it_once() {
    let sandbox = project();
    let model = Model::new([bash("make build"), bash("python3 format.py"), Turn::text("Formatted.")]);
    let client = Client::guarded(&sandbox, &model);
    let terminal = client.sit_down(&["--permission-mode", "acceptEdits", "--allowedTools", "Bash"]);
    terminal.type_prompt("build and format it");
    terminal.wait_for("the end", |screen| screen.contains("● Formatted."));
    let screen = terminal.screen();
    let flat: String = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(flat.matches("The agent got the same message.").count(), 1, "{screen}");
    assert!(flat.contains("out/app is gone."), "{screen}");
}

fn is_left(sandbox: &Sandbox) -> bool {
    let ours =
        |line: &str| ["serve.py", "time.sleep(1000)", "http.server"].iter().any(|name| line.contains(name));
    sandbox.alive().iter().any(|(_, line)| ours(line))
}

#[test]
fn a_server_before_the_plan_is_refused_or_said_and_nothing_is_left_running() {
    let sandbox = project();
    let behind = serde_json::json!({"command": "make build", "run_in_background": true});
    let model = Model::new([
        bash("python3 -m http.server 8000"),
        Turn::call("Bash", behind),
        bash("sh start.sh"),
        Turn::text("Served."),
    ]);
    Client::guarded(&sandbox, &model).run("start the server");
    let results = model.tool_results();
    assert!(results[0].is_error && results[0].text.contains("starts a server"), "{results:?}");
    assert!(results[1].is_error && results[1].text.contains("continue in the background"), "{results:?}");
    assert!(results[2].text.contains("started"), "{results:?}");
    let last = told(&model, model.requests().len() - 1);
    let words = format!("Not saved: \"sh start.sh\" {WHY} The server on port 8123 was stopped. {NEXT}");
    assert!(last.contains(&words), "{last}");
    sandbox.wait_until("nothing is left", || !is_left(&sandbox));
}

/// The client is killed while a command runs, so no hook hears of its end.
#[test]
fn nothing_is_left_running_when_the_client_is_killed() {
    let sandbox = project();
    let model = Model::new([bash("sh run.sh"), Turn::text("Never.")]);
    let client = Client::guarded(&sandbox, &model);
    let terminal = client.sit_down(&["--permission-mode", "acceptEdits", "--allowedTools", "Bash"]);
    terminal.type_prompt("run it");
    sandbox
        .wait_until("it runs", || sandbox.alive().iter().any(|(_, line)| line.contains("time.sleep(1000)")));
    let clients = sandbox.alive().into_iter().filter(|(_, line)| line.contains("--allowedTools"));
    let clients: Vec<i32> = clients.map(|(pid, _)| pid).collect();
    assert!(!clients.is_empty(), "{:?}", sandbox.alive());
    for client in clients {
        let _ = kill_process(Pid::from_raw(client).unwrap(), Signal::KILL);
    }
    sandbox.wait_until("nothing is left", || !is_left(&sandbox));
}
