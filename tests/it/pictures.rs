//! The pictures in `docs/pictures`, from real runs: `docs/pictures/make` runs this and draws what it leaves
//! in `$AOPS_PICTURES`: screens with their colours as `.ansi`, the report as `.html`.

use crate::client::Client;
use crate::model::{Model, Turn};
use crate::report::history;
use crate::support::{BINARY, NO_TRACKER, Sandbox};
use crate::watch::cockpit;
use serde_json::json;
use std::fs;
use std::path::PathBuf;

#[expect(clippy::disallowed_methods, reason = "where the script wants them")]
fn folder() -> PathBuf {
    std::env::var_os("AOPS_PICTURES").map(PathBuf::from).expect("hint: run `docs/pictures/make`")
}

/// What a command prints at a terminal of this width.
fn screen(sandbox: &Sandbox, line: &str, width: u32) -> String {
    let shown = format!("stty cols {width}; exec {}", line.replace("aops-hook", BINARY));
    let mut script = sandbox.command("script");
    let output = script.args(["-qec", &shown, "/dev/null"]).env("TERM", "xterm-256color").output().unwrap();
    String::from_utf8(output.stdout).unwrap().replace(BINARY, "aops-hook")
}

#[test]
#[ignore = "docs/pictures/make draws the pictures with it"]
fn pictures() {
    let sandbox = Sandbox::new();
    let put = |name: &str, text: &str| fs::write(folder().join(name), sandbox.scrub(text)).unwrap();
    put("demo.ansi", &screen(&sandbox, "aops-hook demo", 110));
    put("workflow.ansi", &screen(&sandbox, "aops-hook workflow graph feature-dev", 100));
    put("workflow-tdd.ansi", &screen(&sandbox, "aops-hook workflow graph tdd-cycle", 100));
    history(&sandbox);
    let page = folder().join("report.html");
    sandbox.person(&["report", "-o", page.to_str().unwrap()]).said(&["report.html"]);
}

/// The client with our status line, and a change that has to wait.
#[test]
#[ignore = "docs/pictures/make draws the pictures with it"]
fn refusal() {
    let sandbox = Sandbox::new();
    sandbox.put("README.md", "# greet\n");
    sandbox.person(&["install", "--statusline"]).said(&["registered"]);
    let write =
        json!({"file_path": sandbox.project().join("greet.sh"), "content": "#!/bin/sh\necho hello\n"});
    let model = Model::new([Turn::call("Write", write), Turn::text("This task needs a plan first.")]);
    let client = Client::unguarded(&sandbox, &model);
    let terminal = client.sit_down(&["--permission-mode", "acceptEdits"]);
    terminal.type_prompt("greet people by name, with a test");
    let over = |screen: &str| !screen.contains("Stop hook") && screen.contains("hydrate");
    terminal.wait_for("the end", |screen| screen.contains("needs a plan first") && over(screen));
    fs::write(folder().join("refusal.ansi"), sandbox.scrub(&terminal.coloured())).unwrap();
}

/// A file with uncommitted work, a command that loses it without a question, and the undo that brings it back.
#[test]
#[ignore = "docs/pictures/make draws the pictures with it"]
fn guard() {
    let sandbox = Sandbox::repository("0");
    sandbox.configure("tracker.command = \"none\"\nmode.level = \"guard\"\n");
    sandbox.put("README.md", "# greet\n\nSaid by hand, and not committed.\n");
    let model = Model::new([
        Turn::call("Bash", json!({"command": "git reset --hard"})),
        Turn::text("The tree is clean."),
    ]);
    let client = Client::guarded(&sandbox, &model);
    let typed = |line: &str| format!("printf '\\033[1;32m$\\033[0m %s\\n' '{line}'; {line}");
    let before = screen(&sandbox, &format!("sh -c \"{}\"", typed("cat README.md")), 110);
    let terminal = client.sit_down(&["--permission-mode", "acceptEdits", "--allowedTools", "Bash"]);
    terminal.type_prompt("start again from a clean tree");
    let over = |screen: &str| !screen.contains("Stop hook") && !screen.contains("esc to interrupt");
    terminal.wait_for("the end", |screen| {
        screen.contains("The tree is clean.") && screen.contains("kept as 1") && over(screen)
    });
    let shown = terminal.coloured();
    assert!(
        !fs::read_to_string(sandbox.project().join("README.md")).unwrap().contains("by hand"),
        "it is lost"
    );
    let each = ["cat README.md", "aops-hook undo list", "aops-hook undo --yes", "cat README.md"];
    let lines = each.map(typed);
    let back = screen(&sandbox, &format!("sh -c \"{}\"", lines.join("; ")), 110);
    assert!(back.matches("Said by hand").count() == 1, "it is back: {back}");
    let whole = format!("{before}\n{}\n\n{back}", shown.trim_end());
    fs::write(folder().join("guard.ansi"), sandbox.scrub(&whole)).unwrap();
}

/// The cockpit with three sessions: one that works, one that is blocked, one that ended.
#[test]
#[ignore = "docs/pictures/make draws the pictures with it"]
fn watch() {
    let sandbox = Sandbox::named("greet");
    sandbox.configure(NO_TRACKER);
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("fix the typo in the heading");
    let _ = session.end();
    let blocked = sandbox.working();
    blocked.write("page.html").silent();
    sandbox.person(&["block", &blocked.id, "--reason", "the wrong branch, let me look"]).said(&["blocked"]);
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("greet people by name, with a test");
    session.write("greet.sh").refused(&["plan"]);
    let screen = cockpit(&sandbox, (120, 24), "aops-hook watch");
    screen.shows(&["3 sessions, 2 live, 1 waits for you", "Write greet.sh"]);
    screen.press("Down");
    screen.shows(&["refusal   Write greet.sh"]);
    fs::write(folder().join("watch.ansi"), sandbox.scrub(&screen.coloured())).unwrap();
}
