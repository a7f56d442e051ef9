//! Every kind of dialog that we open, at a terminal: Yes does it, No does not. One session for each key, one
//! prompt for each kind.

use super::servers::server;
use super::whole_loop::bash;
use crate::client::Client;
use crate::client::terminal::Terminal;
use crate::model::{Model, Turn};
use crate::support::{Sandbox, Session};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const QUESTION: &str = "Do you want to";
const CONFIGURATION: &str = r#"
tracker.command = "none"
mode.level = "guard"
danger.git-discard = "ask"
undo.files = 3
[network]
mode = "ask"
derive = false
[quiet]
allow = "reading"
[[rule]]
id = "notes"
tool = "Write"
path = "notes/**"
action = "ask"
reason = "notes are kept by hand"
[[check]]
id = "wording"
on = "save"
paths = "words/**"
run = "exit 1"
outcome = "ASK_USER"
"#;

/// One dialog: what is called, and whether it has happened.
struct Kind {
    /// The rule of the question in the ledger, or its gate.
    name: &'static str,
    call: fn(&Sandbox) -> Turn,
    happened: fn(&Sandbox, &Model) -> bool,
}

fn write(sandbox: &Sandbox, name: &str) -> Turn {
    Turn::call("Write", json!({"file_path": sandbox.project().join(name), "content": "written\n"}))
}

fn is_there(sandbox: &Sandbox, name: &str) -> bool {
    sandbox.project().join(name).exists()
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

const KINDS: [Kind; 11] = [
    Kind {
        name: "guard, a file that starts programs",
        call: |sandbox| write(sandbox, ".husky/pre-commit"),
        happened: |sandbox, _| is_there(sandbox, ".husky/pre-commit"),
    },
    Kind {
        name: "guard, the settings of the client",
        call: |sandbox| {
            let path = sandbox.project().join(".claude/settings.json");
            Turn::call("Write", json!({"file_path": path, "content": "{\"env\": {\"A\": \"1\"}}\n"}))
        },
        happened: |sandbox, _| is_there(sandbox, ".claude/settings.json"),
    },
    Kind {
        name: "guard, a line",
        call: |_| bash("git config core.hooksPath .hooks"),
        happened: |sandbox, _| text(&sandbox.project().join(".git/config")).contains("hooksPath"),
    },
    Kind {
        name: "danger, a line",
        call: |_| bash("git reset --hard"),
        happened: |sandbox, _| text(&sandbox.project().join("README.md")) == "mine\n",
    },
    Kind {
        name: "danger, more than is kept",
        call: |_| bash("rm -r data"),
        happened: |sandbox, _| !is_there(sandbox, "data"),
    },
    Kind {
        name: "danger, a file of secrets that is read",
        call: |sandbox| Turn::call("Read", json!({"file_path": sandbox.project().join(".env")})),
        happened: |_, model| model.tool_results().iter().any(|result| result.text.contains("KEY=old")),
    },
    Kind {
        name: "danger, a tool of a server",
        call: |sandbox| {
            Turn::call("mcp__files__read_file", json!({"path": sandbox.project().join(".env.local")}))
        },
        happened: |_, model| model.tool_results().iter().any(|result| result.text.contains("KEY=served")),
    },
    Kind {
        name: "a rule of the person, a file",
        call: |sandbox| write(sandbox, "notes/today.txt"),
        happened: |sandbox, _| is_there(sandbox, "notes/today.txt"),
    },
    Kind {
        name: "a check of the person",
        call: |sandbox| write(sandbox, "words/page.txt"),
        happened: |sandbox, _| is_there(sandbox, "words/page.txt"),
    },
    Kind {
        name: "a host",
        call: |_| bash("touch asked; curl -s -m 1 http://unlisted.invalid/; true"),
        happened: |sandbox, _| is_there(sandbox, "asked"),
    },
    Kind {
        name: "a host, of a tool that fetches",
        call: |_| Turn::call("WebFetch", json!({"url": "http://fetched.invalid/", "prompt": "what is it?"})),
        happened: |_, model| {
            model.tool_results().iter().any(|result| result.text.contains("fetched.invalid"))
        },
    },
];

fn world() -> Sandbox {
    let sandbox = Sandbox::repository("0").with("ENABLE_TOOL_SEARCH", "false");
    sandbox.configure(CONFIGURATION);
    sandbox.put("README.md", "mine\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "mine"]);
    sandbox.put("README.md", "changed\n");
    sandbox.put(".env", "KEY=old\n");
    sandbox.put(".env.local", "KEY=served\n");
    for n in 0..5 {
        sandbox.put(&format!("data/{n}"), "the only copy\n");
    }
    sandbox
}

fn sit_down<'a>(client: &'a Client<'a>) -> Terminal<'a> {
    let server = server(client.sandbox());
    let allowed = "Bash,Read,WebFetch,mcp__files";
    client.sit_down(&["--permission-mode", "acceptEdits", "--allowedTools", allowed, "--mcp-config", &server])
}

/// The key of the row that says no: every second time the row itself, else the key that leaves a dialog.
fn key_of_no(terminal: &Terminal, n: usize) -> String {
    terminal.shows(&[QUESTION]);
    let screen = terminal.screen();
    let mut rows =
        screen.lines().filter_map(|line| line.trim_start_matches([' ', '│', '❯']).split_once(". No"));
    let row = rows.next_back().map(|(number, _)| number.trim().to_owned());
    row.filter(|_| n % 2 == 1).unwrap_or_else(|| "Escape".to_owned())
}

/// What is on the screen behind this prompt.
fn behind(screen: &str, prompt: &str) -> String {
    screen.rsplit_once(prompt).map_or_else(String::new, |(_, behind)| behind.to_owned())
}

fn questions(sandbox: &Sandbox) -> Vec<Value> {
    let found = sandbox.person(&["sessions", "--json"]).json();
    let session = Session::new(sandbox, found[0]["session_id"].as_str().unwrap());
    session
        .entries()
        .into_iter()
        .filter(|entry| entry["type"] == "question")
        .map(|entry| entry["with"].clone())
        .collect()
}

#[test]
fn no_does_nothing_at_each_kind_of_dialog() {
    let sandbox = world();
    let model = Model::new(KINDS.iter().map(|kind| (kind.call)(&sandbox)));
    let client = Client::guarded(&sandbox, &model);
    let terminal = sit_down(&client);
    for (n, kind) in KINDS.iter().enumerate() {
        let prompt = format!("do number {n}");
        terminal.type_prompt(&prompt);
        terminal.answer(QUESTION, &key_of_no(&terminal, n));
        terminal.wait_for(kind.name, |screen| {
            let behind = behind(screen, &prompt);
            behind.contains("Interrupted") || behind.contains("rejected")
        });
        assert!(!(kind.happened)(&sandbox, &model), "{}\n{}", kind.name, terminal.screen());
    }
    let asked = questions(&sandbox);
    assert_eq!(asked.len(), KINDS.len(), "{asked:#?}");
}

#[test]
fn yes_does_it_at_each_kind_of_dialog() {
    let sandbox = world();
    let turns = KINDS
        .iter()
        .enumerate()
        .flat_map(|(n, kind)| [(kind.call)(&sandbox), Turn::text(&format!("It was {n}."))]);
    let model = Model::new(turns.collect::<Vec<_>>());
    let client = Client::guarded(&sandbox, &model);
    let terminal = sit_down(&client);
    for (n, kind) in KINDS.iter().enumerate() {
        assert!(!(kind.happened)(&sandbox, &model), "{}", kind.name);
        terminal.type_prompt(&format!("do number {n}"));
        terminal.answer(QUESTION, "1");
        terminal.shows(&[&format!("● It was {n}.")]);
        assert!(
            (kind.happened)(&sandbox, &model),
            "{}\n{}\n{:?}",
            kind.name,
            terminal.screen(),
            model.tool_results().last()
        );
    }
    let asked = questions(&sandbox);
    assert_eq!(asked.len(), KINDS.len(), "{asked:#?}");
}

const APPROVAL: &str = "Would you like to proceed?";

/// The file that the client wants the plan in, as it tells the model.
fn plans_file(body: &str) -> String {
    let at = body.find("/plans/").expect("a file for the plan");
    let end = at + body[at..].find(".md").expect("its name ends") + ".md".len();
    let begin = body[..at].rfind(|c: char| c.is_whitespace() || "\"'`(\\".contains(c)).map_or(0, |at| at + 1);
    body[begin..end].to_owned()
}

/// A plan counts after a yes alone.
#[test]
fn a_plan_is_approved_by_yes_alone() {
    for (key, workflow) in [("Escape", Value::Null), ("2", json!("feature-dev"))] {
        let sandbox = Sandbox::repository("0");
        sandbox.configure("tracker.command = \"none\"\naudit.rate = 0\nmode.level = \"loop\"\n");
        let mut said = 0;
        let model = Model::minded(move |request| {
            said += 1;
            let plan = "# Greeting\n\nWrite hello.txt.\n";
            match said {
                1 => Turn::call(
                    "Write",
                    json!({"file_path": plans_file(&request.body.to_string()), "content": plan}),
                ),
                2 => Turn::call("ExitPlanMode", json!({})),
                _ => Turn::text("So be it."),
            }
        });
        let client = Client::guarded(&sandbox, &model);
        let terminal = client.sit_down(&["--permission-mode", "plan"]);
        terminal.type_prompt("plan a greeting");
        terminal.answer(APPROVAL, key);
        let ends = if key == "2" { "● So be it." } else { "rejected" };
        terminal
            .wait_for(ends, |screen| screen.contains(ends) || key != "2" && screen.contains("Interrupted"));
        let found = sandbox.person(&["sessions", "--json"]).json();
        let session = Session::new(&sandbox, found[0]["session_id"].as_str().unwrap());
        assert_eq!(session.state()["state"]["current_workflow"], workflow, "{key}: {:#}", session.state());
    }
}
