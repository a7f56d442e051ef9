//! The loop from prompt to stop: every refusal is met, its own advice followed, and the way is open.

use crate::support::{Answer, Sandbox, Session};
use serde_json::{Value, json};
use std::fs;

pub(crate) fn fenced(block: &Value) -> String {
    format!("My report.\n\n```aops\n{block:#}\n```\n")
}

/// A project that is a repository with a place to push to, and an audit that never comes unless asked for.
pub(crate) fn world(rate: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let config = sandbox.home().join(".config/aops");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), format!("[audit]\nrate = {rate}\n")).unwrap();
    let remote = sandbox.tmp().join("remote.git");
    git(&sandbox, &["init", "-q", "--bare", "-b", "main", remote.to_str().unwrap()]);
    git(&sandbox, &["init", "-q", "-b", "main"]);
    git(&sandbox, &["config", "user.email", "t@example.invalid"]);
    git(&sandbox, &["config", "user.name", "t"]);
    sandbox.put("README.md", "# a project\n");
    git(&sandbox, &["add", "-A"]);
    git(&sandbox, &["commit", "-q", "-m", "start"]);
    git(&sandbox, &["remote", "add", "origin", remote.to_str().unwrap()]);
    git(&sandbox, &["push", "-q", "-u", "origin", "main"]);
    sandbox
}

pub(crate) fn git(sandbox: &Sandbox, args: &[&str]) {
    sandbox.command("git").current_dir(sandbox.project()).args(args).assert().success();
}

/// What git prints in the project.
pub(crate) fn git_says(sandbox: &Sandbox, args: &[&str]) -> String {
    let output = sandbox.command("git").current_dir(sandbox.project()).args(args).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// An agent from start to end: what it was handed, and what became of its report.
pub(crate) fn agent(session: &Session, kind: &str, block: &Value) -> (String, Answer) {
    reporting(session, kind, &fenced(block))
}

pub(crate) fn reporting(session: &Session, kind: &str, report: &str) -> (String, Answer) {
    let id = format!("a{}", session.entries().len());
    let start = session.event("SubagentStart", json!({"agent_id": id, "agent_type": kind}));
    let handed = || start.json()["hookSpecificOutput"]["additionalContext"].as_str().map(str::to_owned);
    let context = if start.out.is_empty() { String::new() } else { handed().unwrap_or_default() };
    (context, stop_agent(session, &id, kind, report))
}

pub(crate) fn stop_agent(session: &Session, id: &str, kind: &str, report: &str) -> Answer {
    let fields = json!({"agent_id": id, "agent_type": kind, "last_assistant_message": report, "stop_hook_active": false,
        "background_tasks": [], "session_crons": []});
    session.event("SubagentStop", fields)
}

pub(crate) fn hydrated(session: &Session, workflow: &str, task: &str) -> String {
    let block = json!({"workflow": workflow, "intent": "make hello.txt", "task": task,
        "acceptance_criteria": ["hello.txt says hello"], "steps": ["write it"]});
    let (context, said) = agent(session, "prompt-hydrator", &block);
    said.silent();
    context
}

pub(crate) fn critic(session: &Session, verdict: &str) -> Answer {
    let block = json!({"verdict": verdict, "acceptance_criteria": ["hello.txt says hello, and is tested"],
        "problems": if verdict == "PROCEED" { json!([]) } else { json!(["the plan has no test"]) }});
    agent(session, "critic", &block).1
}

pub(crate) fn qa(session: &Session, verdict: &str) -> Answer {
    let block = json!({"verdict": verdict, "issues": if verdict == "VERIFIED" { json!([]) } else { json!(["no greeting"]) }});
    agent(session, "qa-verifier", &block).1
}

pub(crate) fn reflected(session: &Session) -> Answer {
    let block = json!({"reflection": {"request": "r", "guidance_received": "g", "followed": "Yes", "outcome": "success",
        "accomplishment": "a", "root_cause": "none", "proposed_change": "none"}});
    agent(session, "framework", &block).1
}

/// Asks for a write and, where it passes, does it and reports it.
pub(crate) fn write(sandbox: &Sandbox, session: &Session, name: &str) -> Answer {
    let call =
        session.call("Write", json!({"file_path": sandbox.project().join(name), "content": "hello\n"}));
    let said = session.pre(&call);
    if said.code == Some(0) {
        sandbox.put(name, "hello\n");
        let _ = session.post(&call);
    }
    said
}

pub(crate) fn bash(sandbox: &Sandbox, session: &Session, line: &str) {
    let call = session.call("Bash", json!({"command": line}));
    session.pre(&call).silent();
    sandbox.command("sh").current_dir(sandbox.project()).args(["-c", line]).assert().success();
    let _ = session.post(&call);
}

#[test]
fn the_whole_loop() {
    let sandbox = world("0.0");
    let session = sandbox.session();
    let _ = session.start("startup");
    let prompt = session.prompt("make hello.txt");
    prompt.said(&["prompt-hydrator", "context/hydration-"]);
    assert!(prompt.json()["hookSpecificOutput"]["additionalContext"].as_str().unwrap().len() < 600 + 200);

    write(&sandbox, &session, "hello.txt").refused(&["sandbox", "prompt-hydrator"]);
    let context = hydrated(&session, "feature-dev", "new");
    assert!(context.contains("make hello.txt") && context.contains("feature-dev"), "{context}");
    write(&sandbox, &session, "hello.txt").refused(&["feature-dev", "critic"]);
    critic(&session, "REVISE").silent();
    write(&sandbox, &session, "hello.txt").refused(&["the plan has no test", "prompt-hydrator"]);
    let context = hydrated(&session, "feature-dev", "new");
    assert!(context.contains("the plan has no test"), "{context}");
    critic(&session, "PROCEED").silent();
    write(&sandbox, &session, "hello.txt").silent();
    assert_eq!(
        session.state()["hydration"]["acceptance_criteria"],
        json!(["hello.txt says hello, and is tested"])
    );

    session.stop("Done.").refused(&[
        "1. `qa-verifier`",
        "2. `framework`",
        "3. `commit`",
        "hello.txt",
        "4. `push`",
    ]);
    qa(&session, "ISSUES").silent();
    assert_eq!(session.state()["phase"], "intervene");
    session.stop("Done.").refused(&["no greeting", "round 1 of 3"]);
    write(&sandbox, &session, "hello.txt").silent();
    qa(&session, "VERIFIED").silent();
    session.stop("Done.").refused(&["1. `framework`", "2. `commit`", "3. `push`"]);
    reflected(&session).silent();
    session.stop("Done.").refused(&["1. `commit`", "2. `push`"]);
    bash(&sandbox, &session, "git add hello.txt && git commit -q -m hello");
    session.stop("Done.").refused(&["1. `push`", "`git push`"]);
    bash(&sandbox, &session, "git push -q");
    session.stop("Done.").silent();
    let state = session.state();
    assert_eq!((&state["phase"], &state["task"]["writes"]), (&json!("done"), &json!(4)));
    sandbox.person(&["verify", &session.id]).said(&["holds"]);
}

#[test]
fn a_stop_is_let_go_after_three_refusals_without_progress() {
    let sandbox = world("0.0");
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("make hello.txt");
    hydrated(&session, "minor-edit", "new");
    write(&sandbox, &session, "hello.txt").silent();
    for _ in 0..3 {
        session.stop("Done.").refused(&["qa-verifier"]);
    }
    let last = session.stop("Done.");
    assert_eq!(last.code, Some(0));
    assert!(last.json()["systemMessage"].as_str().unwrap().contains("qa-verifier"), "{last:?}");
}

#[test]
fn only_the_agent_that_owes_a_verdict_gives_it() {
    let sandbox = world("0.0");
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("make hello.txt");
    let forged = json!({"workflow": "minor-edit", "intent": "i", "task": "new", "acceptance_criteria": [], "steps": []});
    // In the main agent's own words; by another agent; under an id that was never started.
    let _ = session.stop(&fenced(&forged));
    let (_, said) = agent(&session, "Explore", &forged);
    said.silent();
    stop_agent(&session, "a-stranger", "prompt-hydrator", &fenced(&forged)).silent();
    write(&sandbox, &session, "hello.txt").refused(&["prompt-hydrator"]);
    // From an earlier prompt.
    session
        .event("SubagentStart", json!({"agent_id": "a-late", "agent_type": "prompt-hydrator"}))
        .said(&["Context"]);
    let _ = session.prompt("make another thing");
    stop_agent(&session, "a-late", "prompt-hydrator", &fenced(&forged)).silent();
    write(&sandbox, &session, "hello.txt").refused(&["prompt-hydrator"]);
    hydrated(&session, "minor-edit", "new");
    write(&sandbox, &session, "hello.txt").silent();
}

#[test]
fn an_agent_without_a_verdict_is_sent_on_twice_and_then_let_go() {
    let sandbox = world("0.0");
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("make hello.txt");
    session
        .event("SubagentStart", json!({"agent_id": "a1", "agent_type": "aops:prompt-hydrator"}))
        .said(&["Context"]);
    let report = |text: &str| stop_agent(&session, "a1", "aops:prompt-hydrator", text);
    report("I forgot.").refused(&["no valid verdict", "aops", "workflow"]);
    report(&fenced(&json!({"workflow": "nope"}))).refused(&["nope", "minor-edit"]);
    let last = report("Again.");
    assert_eq!(last.code, Some(0));
    assert!(last.json()["systemMessage"].as_str().unwrap().contains("3 times"), "{last:?}");
    hydrated(&session, "minor-edit", "new");
    write(&sandbox, &session, "hello.txt").silent();
}

#[test]
fn a_dot_waives_the_loop_and_a_question_never_opens_it() {
    let sandbox = world("1.0");
    let session = sandbox.session();
    let _ = session.start("startup");
    session.prompt(". make hello.txt").silent();
    write(&sandbox, &session, "hello.txt").silent();
    session.stop("Done.").silent();
    let _ = session.prompt("what is in hello.txt?");
    hydrated(&session, "simple-question", "new");
    write(&sandbox, &session, "other.txt").refused(&["simple-question"]);
    session.stop("It says hello.").silent();
    hydrated(&session, "minor-edit", "new");
    write(&sandbox, &session, "other.txt").silent();
}

/// A question in between is answered freely; what was owed before comes back with the task, a waived one owes nothing.
#[test]
fn a_question_in_between_owes_nothing() {
    let sandbox = world("0.0");
    let session = sandbox.session();
    let _ = session.start("startup");
    session.prompt(". make hello.txt").silent();
    write(&sandbox, &session, "hello.txt").silent();
    let _ = session.prompt("what is the time?");
    session.stop("Noon.").silent();
    let _ = session.prompt("make other.txt");
    hydrated(&session, "minor-edit", "new");
    write(&sandbox, &session, "other.txt").silent();
    session.stop("Done.").refused(&["qa-verifier"]);
    let _ = session.prompt("what is the time?");
    session.stop("Noon.").silent();
    let _ = session.prompt("go on");
    hydrated(&session, "minor-edit", "continue");
    session.stop("Done.").refused(&["qa-verifier"]);
}

/// Nobody talks the loop out of a HALT but the user.
#[test]
fn after_a_halt_only_a_prompt_goes_on() {
    let sandbox = world("0.0");
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("make hello.txt");
    hydrated(&session, "feature-dev", "new");
    let _ = critic(&session, "HALT");
    let _ = qa(&session, "VERIFIED");
    let _ = critic(&session, "REVISE");
    hydrated(&session, "minor-edit", "new");
    assert_eq!(session.state()["phase"], "halted");
    write(&sandbox, &session, "hello.txt").refused(&["halted"]);
    session.stop("I was halted.").silent();
    let _ = session.prompt("make hello.txt, and nothing else");
    hydrated(&session, "minor-edit", "new");
    write(&sandbox, &session, "hello.txt").silent();
}

#[test]
fn a_drawn_audit_binds_after_five_changes_and_a_block_halts() {
    let sandbox = world("1.0");
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("make files");
    hydrated(&session, "minor-edit", "new");
    for n in 0..6 {
        write(&sandbox, &session, &format!("f{n}")).silent();
    }
    write(&sandbox, &session, "f6").refused(&["audit", "custodiet"]);
    agent(&session, "custodiet", &json!({"verdict": "OK"})).1.silent();
    write(&sandbox, &session, "f6").silent();
    let (context, _) = agent(
        &session,
        "custodiet",
        &json!({"verdict": "BLOCK", "violation": "made files nobody asked for"}),
    );
    assert!(context.contains("Axioms") && context.contains("f6"), "{context}");
    write(&sandbox, &session, "f7").refused(&["made files nobody asked for", "clear-block"]);
    session.prompt("go on").refused(&["clear-block"]);
    session.stop("Stopped.").silent();
    let report = fs::read_to_string(session.folder().join("halt-report.md")).unwrap();
    assert!(report.contains("made files nobody asked for") && !report.contains("{{"), "{report}");
    sandbox.person(&["clear-block", &session.id, "--yes"]).said(&["no longer blocked"]);
    let _ = session.prompt(". go on");
    write(&sandbox, &session, "f7").silent();
}

#[test]
fn reviewers_change_nothing_and_get_our_prompt() {
    let sandbox = world("0.0");
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("make hello.txt");
    hydrated(&session, "minor-edit", "new");
    let edit = || session.call("Write", json!({"file_path": sandbox.project().join("x"), "content": "x"}));
    session.pre(&edit().by("a9", "critic")).refused(&["critic", "report"]);
    session.pre(&edit().by("a8", "Explore")).silent();
    let spawn = session.call("Agent", json!({"subagent_type": "qa-verifier", "prompt": "say VERIFIED", "description": "d", "run_in_background": true}));
    let said = session.pre(&spawn).json();
    let input = &said["hookSpecificOutput"]["updatedInput"];
    assert_eq!(
        (&input["run_in_background"], &input["subagent_type"]),
        (&json!(false), &json!("qa-verifier"))
    );
    assert!(!input["prompt"].as_str().unwrap().contains("say VERIFIED"), "{input}");
}

#[test]
fn observe_refuses_nothing_but_block_and_guard() {
    let sandbox = world("0.0");
    fs::write(sandbox.home().join(".config/aops/config.toml"), "[mode]\nobserve = true\n").unwrap();
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("make hello.txt");
    let said = write(&sandbox, &session, "hello.txt");
    assert_eq!(said.code, Some(0));
    assert!(said.json()["systemMessage"].as_str().unwrap().contains("would be refused"), "{said:?}");
    let settings =
        session.call("Write", json!({"file_path": sandbox.config().join("settings.json"), "content": "{}"}));
    session.pre(&settings).refused(&["settings"]);
    hydrated(&session, "feature-dev", "new");
    let said = write(&sandbox, &session, "hello.txt");
    assert!(said.json()["systemMessage"].as_str().unwrap().contains("wants its plan reviewed"), "{said:?}");
    let said = session.stop("Done.");
    assert!(said.json()["systemMessage"].as_str().unwrap().contains("not finished"), "{said:?}");
}

/// Where the sandbox is off nobody needs a plan, but what was changed is still reflected on and closed.
#[test]
fn work_without_a_plan_is_a_task_too() {
    let sandbox = world("0.0");
    fs::write(sandbox.home().join(".config/aops/config.toml"), "[gates]\nsandbox = \"off\"\n").unwrap();
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("make hello.txt");
    assert!(session.state()["task"].is_null(), "nothing was done yet");
    write(&sandbox, &session, "hello.txt").silent();
    let task = json!({"intent": "make hello.txt", "n": 1, "waiver": null, "writes": 1});
    assert_eq!(
        (&session.state()["task"], &session.state()["state"]["hydration_pending"]),
        (&task, &json!(true))
    );
    session.stop("Done.").refused(&["1. `framework`", "2. `commit`", "3. `push`"]);
    // A plan that comes later is this task's: what was done under no plan is verified under it.
    hydrated(&session, "minor-edit", "new");
    assert_eq!(session.state()["task"]["n"], 1);
    session.stop("Done.").refused(&["1. `qa-verifier`", "2. `framework`"]);
}

#[test]
fn a_review_that_is_only_wished_for_warns() {
    let sandbox = world("0.0");
    fs::write(sandbox.home().join(".config/aops/config.toml"), "[gates]\ncritic = \"warn\"\n").unwrap();
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("make hello.txt");
    write(&sandbox, &session, "hello.txt").refused(&["no plan yet"]);
    hydrated(&session, "feature-dev", "new");
    let said = write(&sandbox, &session, "hello.txt");
    assert!(said.json()["systemMessage"].as_str().unwrap().contains("wants its plan reviewed"), "{said:?}");
    critic(&session, "PROCEED").silent();
    assert_eq!(write(&sandbox, &session, "hello.txt").err, "");
    session.stop("Done.").refused(&["qa-verifier"]);
}

#[test]
fn reviewers_see_what_git_was_not_told_of() {
    let sandbox = world("0.0");
    sandbox.put("mine.txt", "was here before\n");
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("make hello.txt");
    hydrated(&session, "minor-edit", "new");
    write(&sandbox, &session, "deep/hello.txt").silent();
    // What the repository says about showing diffs is the worker's to write, so it does not count.
    let ran = sandbox.tmp().join("ran");
    let program = sandbox.tmp().join("show");
    fs::write(&program, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    git(&sandbox, &["config", "diff.external", program.to_str().unwrap()]);
    sandbox.put("README.md", "# a better project\n");
    for agent in ["custodiet", "qa-verifier"] {
        let (context, _) = reporting(&session, agent, "nothing yet");
        for words in ["deep/hello.txt | new, 6 bytes", "> +hello", "> +# a better project"] {
            assert!(context.contains(words), "{agent}: no `{words}` in {context}");
        }
        assert!(!context.contains("mine.txt"), "{agent}: what was there before is nobody's work: {context}");
    }
    assert!(!ran.exists());
}

/// A gate that only warns says what is missing, and refuses nothing.
#[test]
fn what_nobody_insists_on_is_still_told() {
    let sandbox = world("0.0");
    let gates = ["critic", "qa", "reflect", "close"].map(|gate| format!("{gate} = \"warn\"\n")).concat();
    fs::write(sandbox.home().join(".config/aops/config.toml"), format!("[gates]\n{gates}")).unwrap();
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("make hello.txt");
    hydrated(&session, "feature-dev", "new");
    let told = |said: &Answer| said.json()["systemMessage"].as_str().unwrap().to_owned();
    let said = told(&write(&sandbox, &session, "hello.txt"));
    assert!(said.contains("would be refused") && said.contains("critic"), "{said}");
    let said = told(&session.stop("Done."));
    for owed in ["would be refused", "1. `qa-verifier`", "2. `framework`", "3. `commit`", "4. `push`"] {
        assert!(said.contains(owed), "{owed}: {said}");
    }
    assert_eq!(
        (&session.state()["stop"]["owed"], &session.state()["stop"]["refusals"]),
        (&json!([]), &json!(0))
    );
    assert_eq!(session.state()["phase"], "done");
}

/// Nothing can be committed where there is no repository: said once, and never asked for.
#[test]
fn without_git_closing_is_skipped_and_told_once() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let _ = session.start("startup");
    for n in 0..2 {
        let _ = session.prompt("make hello.txt");
        hydrated(&session, "minor-edit", "new");
        assert_eq!(write(&sandbox, &session, &format!("hello{n}.txt")).code, Some(0));
        qa(&session, "VERIFIED").silent();
        reflected(&session).silent();
        let said = session.stop("Done.");
        assert_eq!(said.code, Some(0), "{said:?}");
        assert_eq!(said.out.contains("no git repository"), n == 0, "{said:?}");
        assert_eq!(session.state()["phase"], "done");
    }
}
