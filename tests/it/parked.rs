//! What becomes of tasks that were interrupted, or stopped between plan and review.

use crate::missing::{in_loop, interrupt, planned_in_loop, prompt_id};
use crate::support::{NO_TRACKER, Sandbox, Session, fenced};
use serde_json::{Value, json};

const ESC: &str = "[Request interrupted by user]";

fn plan(session: &Session, task: &str, intent: &str) -> String {
    let block = json!({"workflow": "minor-edit", "intent": intent, "task": task,
        "acceptance_criteria": ["it is so"], "steps": ["write it"]});
    session.agent_reports("prompt-hydrator", &fenced(block)).0
}

fn parked(sandbox: &Sandbox) -> Vec<(Value, Value)> {
    let all = sandbox.person(&["task", "list", "--json"]).json();
    let all = all.as_array().unwrap().iter().filter(|task| task["state"] == "parked");
    all.map(|task| (task["files"].clone(), task["intent"].clone())).collect()
}

fn strict() -> Sandbox {
    let sandbox = Sandbox::repository("0");
    sandbox.configure(NO_TRACKER);
    sandbox
}

/// Everything that a task in mode `strict` owes.
fn finish(session: &Session, sandbox: &Sandbox) {
    session.qa("VERIFIED").silent();
    session.reflect().silent();
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "done"]);
    sandbox.git(&["push", "-q"]);
    session.stop("Done.").silent();
}

#[test]
fn a_stop_between_plan_and_review_owes_the_review_alone() {
    let sandbox = in_loop();
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a large feature");
    for name in ["a.txt", "b.txt", "c.txt"] {
        session.write(name).silent();
    }
    session.hydrate("feature-dev", "new");
    let stop = session.stop("Done.");
    stop.refused(&["critic", "not in force yet"]);
    assert!(!stop.reason().contains("qa-verifier"), "{}", stop.reason());
    assert_eq!(session.state()["phase"], "review");
    session.write("d.txt").refused(&["critic", "reviewed first"]);
    // What is half done is not verified.
    session.qa("VERIFIED").silent();
    assert_eq!(session.state()["phase"], "review");
    session.stop("Done.").refused(&["critic"]);
    // A question may be asked first, and changes nothing.
    session.stop("Shall it be JSON or CSV?").silent();
    assert_eq!(session.state()["phase"], "review");
    let log = sandbox.person(&["log", &session.id, "-v"]).out;
    assert!(!log.contains("review ends: PASS"), "{log}");
    let _ = session.prompt("JSON");
    session.critic("PROCEED").silent();
    session.write("d.txt").silent();
    session.stop("Done.").refused(&["qa-verifier"]);
    session.qa("VERIFIED").silent();
    let log = sandbox.person(&["log", &session.id, "-v"]).out;
    assert!(log.contains("review ends: PASS"), "{log}");
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

#[test]
fn a_plan_that_was_sent_back_is_owed_first() {
    let sandbox = in_loop();
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a large feature");
    session.write("a.txt").silent();
    session.hydrate("feature-dev", "new");
    session.critic("REVISE").silent();
    session.stop("Done.").refused(&["prompt-hydrator"]);
    session.write("b.txt").refused(&["the plan has no test"]);
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

/// The prompt names the older of two; the newer one stays parked though its file is changed.
#[test]
fn the_prompt_names_one_of_two_parked_tasks() {
    let sandbox = in_loop();
    let session = sandbox.session();
    let _ = session.start("startup");
    for (prompt, file) in [("write the parser", "p.txt"), ("draw the pictures", "q.txt")] {
        let _ = session.prompt(prompt);
        put(&session, &sandbox, file);
        interrupt(&session, &prompt_id(&session), ESC);
    }
    let _ = session.prompt("what is this?");
    let _ = session.stop("A project.");
    let _ = session.prompt("go on with the parser");
    put(&session, &sandbox, "q.txt");
    assert_eq!(parked(&sandbox).len(), 2);
    put(&session, &sandbox, "p.txt");
    assert_eq!(parked(&sandbox), [(json!(1), json!("draw the pictures"))]);
    assert_eq!(session.state()["task"]["intent"], "write the parser");
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

fn put(session: &Session, sandbox: &Sandbox, name: &str) {
    let before = std::fs::read_to_string(sandbox.project().join(name)).unwrap_or_default();
    let text = format!("{before}line\n");
    let call = session.call("Write", json!({"file_path": sandbox.project().join(name), "content": text}));
    session.pre(&call).silent();
    sandbox.put(name, &text);
    let _ = session.post(&call);
}

/// Mode `strict`: another task was done meanwhile.
#[test]
fn the_parked_task_is_taken_up_and_not_the_finished_one() {
    for said in ["continue", "parked 1"] {
        let sandbox = strict();
        let session = sandbox.session();
        let _ = session.start("startup");
        let _ = session.prompt("D is 3");
        plan(&session, "new", "D is 3.");
        session.write("d.txt").silent();
        interrupt(&session, &prompt_id(&session), ESC);
        let _ = session.prompt("E is 4");
        let context = plan(&session, "new", "E is 4.");
        assert!(context.contains("Task in hand: none"), "{context}");
        assert!(context.contains("- parked 1: D is 3. (1 changed file: d.txt)"), "{context}");
        session.write("e.txt").silent();
        session.qa("VERIFIED").silent();
        session.reflect().silent();
        sandbox.git(&["add", "e.txt"]);
        sandbox.git(&["commit", "-q", "-m", "e"]);
        sandbox.git(&["push", "-q"]);
        session.stop("Done.").silent();
        sandbox.inside(&["task", "resume"]).said(&["continues"]);
        let _ = session.prompt("go on with it");
        session.write("d.txt").refused(&["prompt-hydrator"]);
        plan(&session, said, "D is 3, at last.");
        assert_eq!(session.state()["task"]["intent"], "D is 3.", "{said}");
        assert_eq!(session.state()["task"]["writes"], 1, "{said}");
        assert_eq!(parked(&sandbox), [], "{said}");
        session.bash("sh -c 'echo more >> d.txt'");
        session.stop("Done.").refused(&["qa-verifier", "commit", "d.txt"]);
        finish(&session, &sandbox);
        sandbox.person(&["verify", &session.id]).said(&["intact"]);
    }
}

/// Of two parked tasks the plan says which.
#[test]
fn a_plan_names_the_parked_task() {
    let sandbox = strict();
    let session = sandbox.session();
    let _ = session.start("startup");
    for (prompt, intent, file) in [("D is 3", "D is 3.", "d.txt"), ("E is 4", "E is 4.", "e.txt")] {
        let _ = session.prompt(prompt);
        plan(&session, "new", intent);
        session.write(file).silent();
        interrupt(&session, &prompt_id(&session), ESC);
    }
    let _ = session.prompt("now do finish the first");
    assert_eq!(parked(&sandbox), [(json!(1), json!("E is 4.")), (json!(1), json!("D is 3."))]);
    plan(&session, "parked 2", "D is 3.");
    assert_eq!(session.state()["task"]["intent"], "D is 3.");
    assert_eq!(parked(&sandbox), [(json!(1), json!("E is 4."))]);
    session.write("d.txt").silent();
}

#[test]
fn the_person_names_the_parked_task() {
    let sandbox = in_loop();
    let session = planned_in_loop(&sandbox);
    interrupt(&session, &prompt_id(&session), ESC);
    let _ = session.prompt("what is this?");
    let _ = session.stop("A project.");
    let _ = session.prompt("go on with the greetings");
    // Words alone take up nothing: a turn that changes none of its files owes nothing.
    assert_eq!(parked(&sandbox).len(), 1);
    session.write("e.txt").silent();
    session.stop("Later.").silent();
    let _ = session.prompt("go on with the greetings");
    session.write("f.txt").silent();
    assert_eq!(parked(&sandbox).len(), 1);
    session.bash("sh -c 'echo more >> a.txt'");
    assert_eq!(parked(&sandbox), []);
    session.stop("Done.").refused(&["qa-verifier"]);
    assert_eq!(session.state()["task"]["writes"], 6);
    // Right after the interrupt it need not be named so exactly.
    let sandbox = in_loop();
    let session = planned_in_loop(&sandbox);
    interrupt(&session, &prompt_id(&session), ESC);
    let _ = session.prompt("go on with the refactoring");
    session.write("f.txt").silent();
    session.stop("Done.").refused(&["qa-verifier"]);
    // "go on" after something else means that.
    let sandbox = in_loop();
    let session = planned_in_loop(&sandbox);
    interrupt(&session, &prompt_id(&session), ESC);
    let _ = session.prompt("what is this?");
    let _ = session.stop("Shall I say more?");
    let _ = session.prompt("go on");
    session.write("g.txt").silent();
    session.stop("Done.").silent();
}

#[test]
fn only_the_tasks_own_files_are_parked() {
    let sandbox = in_loop();
    // A planned task whose work is not committed, and then another one.
    let session = planned_in_loop(&sandbox);
    session.qa("VERIFIED").silent();
    let _ = session.stop("Done.");
    let _ = session.prompt("one more line");
    session.bash("sed -i s/project/thing/ README.md");
    interrupt(&session, &prompt_id(&session), ESC);
    let _ = session.prompt("what is this?");
    assert_eq!(parked(&sandbox), [(json!(1), json!("one more line"))]);
    sandbox.person(&["status", &session.id]).said(&["1 file changed, not committed (one more line)"]);
    // Once it is committed, or as it was, it is over.
    sandbox.git(&["commit", "-q", "-m", "line", "README.md"]);
    assert_eq!(parked(&sandbox), []);
    let status = sandbox.person(&["status", &session.id]).out;
    assert!(!status.contains("parked"), "{status}");
    sandbox.person(&["task", "resume"]).failed(2, &["no task was interrupted"]);
    let _ = session.stop("A project.");
    let _ = session.prompt("thanks");
    let log = sandbox.person(&["log", &session.id, "-v"]).out;
    assert!(log.contains("everything is committed, so it let the task go"), "{log}");
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

#[test]
fn a_task_without_changes_is_not_parked() {
    for sandbox in [in_loop(), strict()] {
        let session = sandbox.session();
        let _ = session.start("startup");
        let _ = session.prompt("clean up");
        plan(&session, "new", "Clean up.");
        interrupt(&session, &prompt_id(&session), "[Request interrupted by user for tool use]");
        let _ = session.prompt("what is this?");
        assert_eq!(parked(&sandbox), []);
        let status = sandbox.person(&["status", &session.id]).out;
        assert!(!status.contains("parked"), "{status}");
        let _ = session.stop("A project.");
        sandbox.person(&["verify", &session.id]).said(&["intact"]);
    }
}

#[test]
fn the_task_in_hand_shows_what_it_changed() {
    let sandbox = strict();
    let session = sandbox.working();
    session.write("a.txt").silent();
    sandbox.person(&["task"]).said(&["in hand", "1 file changed, not committed"]);
}

/// Without git nobody knows how many files are changed, only how often something was.
#[test]
fn without_git_no_number_of_files_is_made_up() {
    let sandbox = Sandbox::new();
    sandbox.configure(NO_TRACKER);
    let session = sandbox.working();
    session.write("a.txt").silent();
    let shown = sandbox.person(&["task"]).out;
    assert!(shown.contains("\t1 change\t") && !shown.contains("file"), "{shown}");
    // With git, and everything committed, nothing is left to be.
    let sandbox = strict();
    let session = sandbox.working();
    session.write("a.txt").silent();
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "a"]);
    sandbox.person(&["task"]).said(&["1 change, nothing uncommitted"]);
}

/// The plan that was approved, or made, goes on.
#[test]
fn go_on_right_after_an_interrupt_keeps_the_plan() {
    for words in ["go on", "Weiter!", "ok, continue please"] {
        for sandbox in [in_loop(), strict()] {
            let session = sandbox.working();
            session.write("a.txt").silent();
            interrupt(&session, &prompt_id(&session), ESC);
            let _ = session.prompt(words);
            assert_eq!(parked(&sandbox), [], "{words}");
            session.write("b.txt").silent();
            assert_eq!(session.state()["task"]["writes"], 2, "{words}");
            session.stop("Done.").refused(&["qa-verifier"]);
            sandbox.person(&["verify", &session.id]).said(&["intact"]);
        }
    }
    // Another prompt needs a plan of its own.
    let sandbox = strict();
    let session = sandbox.working();
    session.write("a.txt").silent();
    interrupt(&session, &prompt_id(&session), ESC);
    let _ = session.prompt("go on with another thing");
    session.write("b.txt").refused(&["prompt-hydrator"]);
}

/// A hydrator that was only started has no plan; the one before is not announced again.
#[test]
fn a_plan_is_announced_when_it_is_there() {
    let sandbox = strict();
    let session = sandbox.working();
    let _ = session.prompt("something else");
    let call =
        session.call("Agent", json!({"subagent_type": "prompt-hydrator", "prompt": "p", "description": "d"}));
    let _ = session.pre(&call);
    let mut fields = call.fields();
    fields["tool_response"] = json!({"isAsync": true, "status": "async_launched", "agentId": "a1"});
    let answer = session.event("PostToolUse", fields);
    assert!(!answer.out.contains("plan in force"), "{answer:?}");
}

#[test]
fn the_last_refusal_says_what_the_verifier_found() {
    let sandbox = in_loop();
    let session = planned_in_loop(&sandbox);
    for _ in 0..3 {
        session.qa("ISSUES").silent();
    }
    let stop = session.stop("Done.");
    stop.said(&["`qa-verifier` has found issues 3 times", "no greeting"]);
    assert!(!stop.out.contains("0 refusals"), "{stop:?}");
}

/// What the client says about agents is not a prompt of the person, and a refused stop says what it owes.
#[test]
fn views_tell_the_persons_prompt_and_what_is_owed() {
    let sandbox = strict();
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    let _ = session.prompt("<task-notification>\n<task-id>x</task-id>\n</task-notification>");
    session.write("a.txt").refused(&["prompt-hydrator"]);
    let why = sandbox.person(&["why", "--session", &session.id]).out;
    assert!(why.contains("the prompt: add a greeting") && !why.contains("task-notification"), "{why}");
    let told = sandbox.person(&["transcript", &session.id]).out;
    assert!(told.contains("**Prompt.** add a greeting") && !told.contains("task-notification"), "{told}");
    plan(&session, "new", "# Plan\n\nAdd a greeting. It is short.\n\n## Verification\n- run it");
    session.write("a.txt").silent();
    session.stop("Done.").refused(&["qa-verifier"]);
    let log = sandbox.person(&["log", &session.id]).out;
    assert!(log.contains("the turn ends, and owes qa-verifier, framework, commit, push"), "{log}");
    assert!(!log.contains("execute ends: PASS"), "{log}");
    sandbox.person(&["status", &session.id]).said(&["Add a greeting. (1 change)"]);
    let tasks = sandbox.person(&["task"]).out;
    assert!(tasks.contains("Add a greeting.") && !tasks.contains("Verification"), "{tasks}");
}
