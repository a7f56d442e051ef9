//! What the model is told in each mode, and where: at the start, with a prompt, to agents, after work.

use crate::memory::server::{Habit, Server};
use crate::support::{Answer, Sandbox, Session};
use aops_core::briefing::tracker::{self, Issue, Part, SCHEMA, Snapshot};
use aops_core::system::env::Env;
use serde_json::json;
use std::{fs, thread};

fn in_mode(level: &str, more: &str) -> Sandbox {
    let sandbox = Sandbox::repository("1.0");
    sandbox.configure(&format!("[audit]\nrate = 1.0\n[mode]\nlevel = \"{level}\"\n{more}"));
    sandbox.put("CORE.md", "The core of it.\n");
    sandbox
}

fn told(answer: &Answer) -> String {
    if answer.out.is_empty() {
        return String::new();
    }
    answer.json()["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

/// A whole session of the main agent and one of ours; everything that was said to either.
fn hear_all(session: &Session) -> Vec<Answer> {
    let mut all: Vec<Answer> =
        ["startup", "resume", "compact", "clear"].map(|source| session.start(source)).into();
    all.push(session.prompt("add a greeting to the parser"));
    let start =
        session.call("Agent", json!({"subagent_type": "critic", "prompt": "look", "description": "look"}));
    all.push(session.pre(&start));
    all.push(session.begin_agent("a1", "critic"));
    all.push(session.stop_agent("a1", "critic", "All is well."));
    all.push(session.post(&start));
    let write = session.call("Write", json!({"file_path": "hello.txt", "content": "hello\n"}));
    all.push(session.pre(&write));
    all.push(session.post(&write));
    all.push(session.batch(&[&write]));
    all
}

#[test]
fn observe_and_guard_say_nothing_to_anybody() {
    for level in ["observe", "guard"] {
        let sandbox = in_mode(level, "");
        fs::write(sandbox.data().join("parser.md"), "# Parser\nthe parser greets twice\n").unwrap();
        for answer in hear_all(&sandbox.session()) {
            answer.silent();
        }
    }
}

#[test]
fn an_agent_whose_gate_was_switched_on_is_briefed_in_any_mode() {
    let sandbox = in_mode("guard", "[gates]\nqa = \"enforce\"\n");
    let session = sandbox.session();
    session.start("startup").silent();
    session.prompt("add a greeting").silent();
    let start = |kind: &str| {
        let given = json!({"subagent_type": kind, "prompt": "say VERIFIED", "description": "d"});
        session.pre(&session.call("Agent", given))
    };
    start("critic").silent();
    start("qa-verifier").said(&["updatedInput", "Do your part"]);
    let begins = |kind: &str| session.begin_agent(kind, kind);
    begins("critic").silent();
    begins("qa-verifier").said(&["# Context for verification"]);
}

#[test]
fn loop_says_how_a_large_task_is_planned_and_then_nothing() {
    let sandbox = in_mode("loop", "[small]\nfiles = 2\nlines = 40\n");
    let session = sandbox.session();
    let guide = told(&session.start("startup"));
    assert!(guide.len() <= 1_200, "{} bytes: {guide}", guide.len());
    for words in [
        "more than 2 files and more than 40 changed lines, with more than 8 files or 160 lines",
        "`prompt-hydrator`",
        "plan mode",
        "`critic`",
    ] {
        assert!(guide.contains(words), "no `{words}` in {guide}");
    }
    assert!(!guide.contains("Axioms") && !guide.contains("The core of it"), "{guide}");
    session.prompt("add a greeting").silent();
    session.start("resume").silent();
    session.hydrate("feature-dev", "new");
    for source in ["compact", "clear"] {
        let again = told(&session.start(source));
        assert!(again.len() <= 1_200 && again.starts_with(&guide), "{source}: {again}");
        assert!(again.ends_with("task 1: add a greeting"), "the plan in force is told: {again}");
    }
    assert_eq!(told(&session.start("resume")).lines().count(), 1);
}

#[test]
fn no_text_asks_for_a_plan_that_nothing_waits_for() {
    for (level, sandbox_gate) in [("loop", "off"), ("loop", "warn"), ("strict", "off"), ("strict", "warn")] {
        let sandbox = in_mode(level, &format!("[gates]\nsandbox = \"{sandbox_gate}\"\n"));
        let session = sandbox.session();
        let (start, prompt) = (session.start("startup"), session.prompt("add a greeting"));
        for said in [&start, &prompt] {
            assert!(!said.out.contains("hydrator"), "{level}, {sandbox_gate}: {}", said.out);
        }
        assert_eq!(start.out.contains("# Axioms"), level == "strict", "{level}: {}", start.out);
        prompt.silent();
    }
}

#[test]
fn a_waived_sandbox_asks_for_no_plan() {
    let sandbox = in_mode("strict", "");
    let session = sandbox.session();
    let _ = session.start("startup");
    sandbox.person(&["waive", "sandbox", "--for", "10m", "--reason", "I watch", "--yes"]).said(&["waived"]);
    session.prompt("add a greeting").silent();
    sandbox.person(&["waive", "qa", "--for", "10m", "--reason", "I watch", "--yes"]).said(&["waived"]);
}

#[test]
fn a_mode_that_changed_holds_for_the_very_prompt() {
    let sandbox = in_mode("strict", "");
    let session = sandbox.session();
    let _ = session.start("startup");
    session.prompt("add a greeting").said(&["prompt-hydrator"]);
    sandbox.configure("[mode]\nlevel = \"guard\"\n");
    session.prompt("add a greeting").silent();
    sandbox.configure("[mode]\nlevel = \"strict\"\n");
    session.prompt("add a greeting").said(&["prompt-hydrator"]);
    sandbox.configure("[mode]\nlevel = \"observe\"\n");
    session.start("compact").silent();
}

/// What a tracker of this project had to say when it was last asked.
fn track(sandbox: &Sandbox, ready: &[(&str, &str)], in_progress: &[(&str, &str)]) {
    let issue = |(id, title): &(&str, &str)| Issue {
        id: (*id).to_owned(),
        title: (*title).to_owned(),
        status: "open".to_owned(),
        priority: None,
        kind: "task".to_owned(),
        ..Issue::default()
    };
    let part = |issues: &[(&str, &str)]| Part::of(issues.iter().map(issue).collect(), true);
    let snapshot = Snapshot {
        schema: SCHEMA,
        project: sandbox.project().to_str().unwrap().to_owned(),
        taken_ms: Some(1),
        ready: part(ready),
        in_progress: part(in_progress),
        ..Snapshot::default()
    };
    let env = Env { config: sandbox.config(), ..Env::default() };
    tracker::keep(&env, &snapshot).unwrap();
}

#[test]
fn loop_says_with_a_prompt_what_was_found_and_only_that() {
    let server = Server::start(Habit::Json);
    let sandbox =
        in_mode("loop", &format!("[memory]\nserver = \"{}\"\n[tracker]\ncommand = \"none\"\n", server.url()));
    fs::write(
        sandbox.data().join("wombat.md"),
        "# Wombats\nthe wombat digs a burrow\nAPI key: sk-ant-REDACTED\n",
    )
    .unwrap();
    track(&sandbox, &[("demo-1", "Feed the wombat in its burrow"), ("demo-2", "Paint the fence")], &[]);
    let session = sandbox.session();
    let _ = session.start("startup");
    for quiet in
        ["There is a typo in the README, please fix it.", "Do the tests pass?", "Shorter!", "paint it red"]
    {
        session.prompt(quiet).silent();
    }
    let said = told(&session.prompt("where does the wombat sleep in its burrow?"));
    assert!(said.len() <= 900 && said.lines().all(|line| line.len() <= 300), "{} bytes: {said}", said.len());
    for words in ["> ready issue: demo-1 Feed the wombat", "> note: wombat.md", "> memory: the wombat sleeps"]
    {
        assert!(said.contains(words), "no `{words}` in {said}");
    }
    assert!(!said.contains("demo-2") && !said.contains("hydrator") && said.lines().count() == 4, "{said}");
    assert_eq!(
        told(&session.prompt("do demo-2 next")).lines().last(),
        Some("> ready issue: demo-2 Paint the fence")
    );
    let contexts = fs::read_dir(session.folder().join("context")).unwrap().count();
    assert!(contexts > 0, "the whole context is there for the agent that plans");
    session.prompt(". where does the wombat sleep in its burrow?").silent();
}

#[test]
fn the_last_task_of_the_project_is_found_by_the_next_session() {
    let sandbox = in_mode("loop", "");
    let before = sandbox.session();
    let _ = before.start("startup");
    let _ = before.prompt("something");
    let intent = "teach the wombat of the burrow to sing";
    let plan = json!({"workflow": "feature-dev", "intent": intent, "task": "new", "acceptance_criteria": [], "steps": []});
    before.agent("prompt-hydrator", plan).silent();
    let session = sandbox.session();
    let _ = session.start("startup");
    session.prompt("what about the fence of the burrow?").silent();
    let said = told(&session.prompt("does the wombat sing by now?"));
    assert!(said.ends_with(&format!("> last task here: {intent} (not finished)")), "{said}");
}

/// Not only the last one: whichever session was about the same, in whatever form of the words.
#[test]
fn an_earlier_session_about_the_same_is_found() {
    let sandbox = in_mode("loop", "");
    for work in
        ["teach the exporter to skip empty rows", "paint the fence of the burrow", "count the wombats"]
    {
        let session = sandbox.session();
        let _ = session.start("startup");
        let _ = session.prompt(work);
        session.write(&format!("{}.txt", work.len())).silent();
        let _ = session.stop("Done.");
        let _ = session.end();
    }
    let session = sandbox.session();
    let _ = session.start("startup");
    let said = told(&session.prompt("why are rows skipped when I export?"));
    assert!(
        said.contains("> earlier session here: ") && said.contains("teach the exporter to skip"),
        "{said}"
    );
    assert!(!said.contains("fence") && !said.contains("wombats"), "{said}");
    session.prompt("is the weather nice?").silent();
}

/// A slow memory server holds up the prompt, and no other event.
#[test]
fn sources_are_asked_with_the_session_unlocked() {
    for level in ["loop", "strict"] {
        let server = Server::start(Habit::Silent);
        let sandbox = in_mode(
            level,
            &format!("[hydration]\ndeadline_ms = 5000\n[memory]\nserver = \"{}\"\n", server.url()),
        );
        let session = sandbox.session();
        let _ = session.start("startup");
        let payload = session.payload("UserPromptSubmit", json!({"prompt": "where does the wombat sleep?"}));
        thread::scope(|scope| {
            let prompt = scope.spawn(|| sandbox.hook("UserPromptSubmit", &payload));
            sandbox.wait_until("the server is asked", || !server.methods().is_empty());
            session.event("Notification", json!({"message": "m"})).silent();
            let last = session.entries().last().unwrap()["with"]["event"].clone();
            assert_eq!(last, "Notification", "{level}: it did not wait for the prompt");
            assert_eq!(prompt.join().unwrap().code, Some(0));
        });
        let last = session.entries().last().unwrap()["with"]["event"].clone();
        assert_eq!(last, "UserPromptSubmit", "{level}");
    }
}

/// A reviewer learns what was done, and not what the worker says about it.
#[test]
fn reviewers_never_read_the_workers_words() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.working();
    let said = "WORDS-OF-THE-WORKER";
    for (tool, input) in [
        ("Bash", json!({"command": "ls src", "description": said})),
        ("Agent", json!({"subagent_type": "general-purpose", "prompt": said, "description": said})),
        ("Write", json!({"file_path": "hello.txt", "content": said})),
        ("SendMessage", json!({"to": "somebody", "message": said})),
        ("TodoWrite", json!({"todos": [{"content": said, "status": "pending", "activeForm": said}]})),
        ("mcp__mail__send", json!({"to": "a@example.invalid", "description": said})),
    ] {
        let call = session.call(tool, input);
        let _ = session.pre(&call);
        let _ = session.post(&call);
    }
    let start =
        session.call("Agent", json!({"subagent_type": "qa-verifier", "prompt": said, "description": said}));
    let answer = session.pre(&start);
    answer.said(&["updatedInput"]);
    assert!(!answer.out.contains(said), "{}", answer.out);
    for (kind, path) in [("custodiet", "audit-"), ("qa-verifier", "qa-")] {
        let (told, _) = session.agent_reports(kind, "no block");
        let files = fs::read_dir(session.folder().join("context")).unwrap().map(|file| file.unwrap().path());
        let file =
            files.filter(|file| file.file_name().unwrap().to_str().unwrap().starts_with(path)).max().unwrap();
        let file = fs::read_to_string(file).unwrap();
        assert!(!told.contains(said) && !file.contains(said), "{kind}: {file}");
        for deed in ["ls src", "general-purpose", "hello.txt", "a@example.invalid"] {
            assert!(file.contains(deed), "{kind}: no `{deed}` in {file}");
        }
    }
}
