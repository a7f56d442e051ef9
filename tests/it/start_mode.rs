//! What a client was started with: `AOPS_MODE`, and tools without agents.

use crate::status::status;
use crate::support::{Answer, BINARY, Sandbox, Session, client_pid};
use serde_json::{Value, json};

fn ready(config: &str) -> Sandbox {
    let sandbox = Sandbox::repository("0.0").of_client(client_pid());
    sandbox.configure(&format!("tracker.command = \"none\"\n{config}"));
    sandbox
}

/// One event of a client with this process id, and with `AOPS_MODE` where a mode is given.
fn event(
    sandbox: &Sandbox,
    session: &Session,
    pid: u32,
    mode: Option<&str>,
    name: &str,
    fields: Value,
) -> Answer {
    let mut command = sandbox.command(BINARY);
    command.arg(name).env("CLAUDECODE", "1").env("CLAUDE_PID", pid.to_string());
    command.env("CLAUDE_PROJECT_DIR", sandbox.project());
    if let Some(mode) = mode {
        command.env("AOPS_MODE", mode);
    }
    let payload = session.payload(name, fields).to_string();
    Answer::of(name, &command.write_stdin(payload).output().unwrap())
}

fn start(sandbox: &Sandbox, session: &Session, pid: u32, mode: Option<&str>) -> Answer {
    event(sandbox, session, pid, mode, "SessionStart", json!({"source": "startup"}))
}

/// The process that the other events of these tests come from too.
fn own() -> u32 {
    client_pid()
}

/// Where nobody chose: `loop`, and `guard` where a client has none of our agents. A bundle or one command
/// makes it strict.
#[test]
fn nobody_chose_a_mode() {
    let sandbox = Sandbox::unchosen().of_client(client_pid());
    let show = |client: &str| {
        let session = sandbox.session();
        let mut command = sandbox.command(BINARY);
        let payload = session.payload("SessionStart", json!({"source": "startup"})).to_string();
        command.args(["SessionStart", "--client", client]).write_stdin(payload);
        let code = command.output().unwrap().status.code();
        (code, sandbox.person(&["status", &session.id, "--json"]).json()["mode"].clone())
    };
    for (client, mode) in
        [("claude", "loop"), ("codex", "loop"), ("copilot", "loop"), ("gemini", "guard"), ("qwen", "guard")]
    {
        assert_eq!(show(client), (Some(0), json!(mode)), "{client}");
    }
    sandbox.person(&["mode", "strict", "--yes"]).said(&["mode `strict` is set"]);
    assert_eq!(show("gemini"), (Some(0), json!("strict")), "what a person chose holds for every client");
}

#[test]
fn a_start_chooses_its_mode() {
    let sandbox = ready("");
    let session = sandbox.session();
    start(&sandbox, &session, own(), Some("observe")).silent();
    assert_eq!(status(&sandbox)["mode"], "observe");
    sandbox.person(&["status"]).said(&["mode      observe (by `AOPS_MODE`): "]);
    sandbox.person(&["log"]).said(&["mode      observe, by `AOPS_MODE`"]);
    // It was read once: later events of the session do not look at the variable.
    session.prompt("make hello.txt").silent();
    session.write("hello.txt").silent();
    let prompt =
        event(&sandbox, &session, own(), Some("strict"), "UserPromptSubmit", json!({"prompt": "go on"}));
    prompt.silent();
    session.stop("Done.").silent();
    assert_eq!(status(&sandbox)["mode"], "observe");
    assert_eq!(sandbox.person(&["verify", "--json"]).json()["ok"], true);
    // The next start does not ask for it any more.
    let _ = start(&sandbox, &session, own(), None);
    assert_eq!(status(&sandbox)["mode"], "strict");
    let _ = session.prompt("make it greet");
    session.write("hello.txt").refused(&["plan"]);
}

#[test]
fn a_gate_that_a_file_names_keeps_its_level() {
    let sandbox = ready("gates.sandbox = \"enforce\"\n");
    let session = sandbox.session();
    let _ = start(&sandbox, &session, own(), Some("guard"));
    let _ = session.prompt("make hello.txt");
    session.write("hello.txt").refused(&["plan"]);
}

/// The outer client is this test; the nested one is a process that it started.
#[test]
fn a_client_inside_a_tool_call_cannot_lower_the_mode() {
    let sandbox = ready("mode.level = \"loop\"\n");
    let outer = sandbox.session();
    let _ = start(&sandbox, &outer, std::process::id(), None);
    let nested = sandbox.session();
    let said = start(&sandbox, &nested, own(), Some("guard"));
    let told = said.json()["systemMessage"].as_str().unwrap().to_owned();
    for words in ["`AOPS_MODE=guard` has no effect", &outer.id, "inside a tool call", "the mode stays `loop`"]
    {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert_eq!(status(&sandbox)["mode"], "loop");
    let again = start(&sandbox, &nested, own(), Some("guard"));
    assert!(!again.out.contains("has no effect"), "told once: {again:?}");
    // Raising it is always allowed.
    let raised = sandbox.session();
    assert!(!start(&sandbox, &raised, own(), Some("strict")).out.contains("systemMessage"));
    assert_eq!(status(&sandbox)["mode"], "strict");
    // So is what the outer session itself has.
    let _ = start(&sandbox, &outer, std::process::id(), Some("observe"));
    let same = sandbox.session();
    start(&sandbox, &same, own(), Some("observe")).silent();
    assert_eq!(status(&sandbox)["mode"], "observe");
}

#[test]
fn only_a_person_lowers_the_mode() {
    let sandbox = ready("");
    let session = sandbox.session();
    let said = start(&sandbox, &session, own(), Some("none"));
    let told = said.json()["systemMessage"].as_str().unwrap().to_owned();
    assert!(told.contains("it is none of observe, guard, loop, strict"), "{told}");
    assert_eq!(status(&sandbox)["mode"], "strict");
    sandbox.put(".claude/settings.json", r#"{"env": {"AOPS_MODE": "observe"}}"#);
    let session = sandbox.session();
    let said = start(&sandbox, &session, own(), Some("observe"));
    let told = said.json()["systemMessage"].as_str().unwrap().to_owned();
    assert!(told.contains("a project may only raise the mode"), "{told}");
    assert_eq!(status(&sandbox)["mode"], "strict");
}

#[test]
fn a_client_without_agents_is_not_sent_to_one() {
    let sandbox = ready("");
    sandbox.put(".claude/settings.json", r#"{"permissions": {"deny": ["Agent"]}}"#);
    let session = sandbox.session();
    let begun = start(&sandbox, &session, own(), None);
    assert!(begun.out.contains("# Axioms") && !begun.out.contains("prompt-hydrator"), "{begun:?}");
    let said = session.prompt("make hello.txt").json();
    let told = said["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(told.contains("this client cannot start agents") && !told.contains("prompt-hydrator"), "{told}");
    let call =
        session.call("Write", json!({"file_path": sandbox.project().join("hello.txt"), "content": "x"}));
    let refused = session.pre(&call);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.reason().contains("stop here") && !refused.reason().contains("start the agent"));
    let person = refused.json_of_any_exit()["systemMessage"].as_str().unwrap().to_owned();
    for words in ["Write: ", "plan mode", "begins with `.`", "AOPS_MODE=guard"] {
        assert!(person.contains(words) && refused.err.contains(words), "{words}: {refused:?}");
    }
    session.stop("I could not do it.").silent();
    // Each way out that the person is told of works.
    session.prompt(". make hello.txt").silent();
    session.write("hello.txt").silent();
    let session = sandbox.session();
    start(&sandbox, &session, own(), Some("guard")).silent();
    session.prompt("make hello.txt").silent();
    session.write("hello.txt").silent();
}

/// Small edits are made; the one that is too large is refused with the figures, and not with words that only
/// hold where nothing was changed.
#[test]
fn a_client_without_agents_makes_small_edits() {
    let sandbox = ready("mode.level = \"loop\"\n");
    sandbox.put(".claude/settings.json", r#"{"permissions": {"deny": ["Agent"]}}"#);
    let session = sandbox.session();
    start(&sandbox, &session, own(), None).silent();
    session.prompt("greet the world").silent();
    session.write("hello.txt").silent();
    let large = json!({"file_path": sandbox.project().join("large.txt"), "content": "line\n".repeat(300)});
    let refused = session.pre(&session.call("Write", large));
    let figures =
        "this task has outgrown a small edit (2 files, 301 lines; small is up to 12 files and 240 lines)";
    assert!(refused.reason().contains(figures), "{}", refused.reason());
    assert!(
        refused.reason().contains("what was changed before, if anything")
            && !refused.reason().contains("nothing was changed")
    );
    let person = refused.json_of_any_exit()["systemMessage"].as_str().unwrap().to_owned();
    assert!(person.contains(figures) && person.contains("AOPS_MODE=guard"), "{person}");
}
