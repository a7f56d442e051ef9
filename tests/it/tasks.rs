//! `aops-hook task`: the task in hand and the interrupted ones shown, let go, taken up again.

use crate::missing::{in_loop, interrupt, planned_in_loop, prompt_id};
use crate::support::{Sandbox, Session};
use serde_json::{Value, json};

const ESC: &str = "[Request interrupted by user]";

/// A planned task with four changed files that the person interrupted, and another prompt.
fn parked(sandbox: &Sandbox) -> Session<'_> {
    let session = planned_in_loop(sandbox);
    interrupt(&session, &prompt_id(&session), ESC);
    let _ = session.prompt("what is this?");
    session
}

fn listed(sandbox: &Sandbox) -> Vec<(Value, Value)> {
    let all = sandbox.person(&["task", "list", "--json"]).json();
    all.as_array().unwrap().iter().map(|task| (task["state"].clone(), task["files"].clone())).collect()
}

#[test]
fn tasks_are_listed() {
    let sandbox = in_loop();
    let session = sandbox.session();
    let _ = session.start("startup");
    assert!(sandbox.person(&["task"]).out.contains("no task is open"));
    let session = parked(&sandbox);
    assert_eq!(listed(&sandbox), [(json!("parked"), json!(4)), (json!("in hand"), Value::Null)]);
    let shown = sandbox.person(&["task"]).out;
    for words in ["parked", "4 files changed, not committed", "add a greeting", "in hand", "what is this?"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert_eq!(
        sandbox.inside(&["task", "list"]).out,
        sandbox.person(&["task", "list"]).out,
        "anyone may look"
    );
    session.ask_bash("aops-hook task list").silent();
}

/// The person reads what became of the task that they interrupted.
#[test]
fn a_parked_task_is_named_to_the_person() {
    for (sandbox, files) in [(in_loop(), "4 files"), (Sandbox::repository("0.0"), "1 file")] {
        let session = if files == "1 file" {
            let session = sandbox.working();
            session.write("a.txt").silent();
            session
        } else {
            planned_in_loop(&sandbox)
        };
        interrupt(&session, &prompt_id(&session), ESC);
        let said = session.prompt("what is this?").json();
        let said = said["systemMessage"].as_str().unwrap().to_owned();
        assert!(
            said.starts_with("parked: ") && said.contains(&format!("({files} changed, not committed)")),
            "{said}"
        );
        assert!(said.contains("`aops-hook task resume`") && said.contains("`aops-hook task drop`"), "{said}");
        let _ = session.stop("A project.");
        let again = session.prompt("and this?");
        assert!(!again.out.contains("parked: "), "once: {again:?}");
    }
    // One that goes on is not parked, and a small one owes nothing.
    let sandbox = in_loop();
    let session = planned_in_loop(&sandbox);
    interrupt(&session, &prompt_id(&session), ESC);
    assert!(!session.prompt("go on").out.contains("parked: "));
    let sandbox = in_loop();
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("fix the typo");
    session.write("a.txt").silent();
    interrupt(&session, &prompt_id(&session), ESC);
    assert!(!session.prompt("what is this?").out.contains("parked: "));
}

#[test]
fn a_person_lets_an_interrupted_task_go() {
    let sandbox = in_loop();
    let session = parked(&sandbox);
    sandbox.person(&["task", "drop", "2", "--yes"]).failed(2, &["no task 2", "aops-hook task list"]);
    sandbox.person(&["task", "drop", "--yes"]).said(&["owes nothing more"]);
    assert_eq!(listed(&sandbox), [(json!("in hand"), Value::Null)]);
    // Its files are no task's: going on with it takes up nothing.
    let _ = session.stop("A project.");
    let _ = session.prompt("go on with it");
    session.write("a.txt").silent();
    session.stop("Done.").silent();
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
    assert!(sandbox.person(&["log", &session.id]).out.contains("a person let the task go"));
}

#[test]
fn a_person_lets_the_task_in_hand_go() {
    let sandbox = in_loop();
    sandbox.configure("[audit]\nrate = 0.0\n[mode]\nlevel = \"loop\"\n[gates]\ncommit = \"enforce\"\n");
    let session = planned_in_loop(&sandbox);
    session.stop("Done.").refused(&["qa-verifier", "commit"]);
    sandbox.person(&["task", "drop", "--yes"]).said(&["add a greeting", "owes nothing more"]);
    session.stop("Done.").silent();
    sandbox.person(&["task", "drop", "--yes"]).failed(2, &["no task was interrupted"]);
    // The next task owes its own files alone.
    let _ = session.prompt("another");
    session.hydrate("minor-edit", "new");
    session.write("e.txt").silent();
    let stop = session.stop("Done.");
    stop.refused(&["commit", "e.txt"]);
    assert!(!stop.reason().contains("a.txt"), "{}", stop.reason());
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

#[test]
fn a_person_takes_a_task_up_again() {
    let sandbox = in_loop();
    let session = parked(&sandbox);
    sandbox.person(&["task", "resume"]).said(&["add a greeting", "taken up again"]);
    assert_eq!(listed(&sandbox), [(json!("in hand"), Value::Null)]);
    assert_eq!(session.state()["task"]["writes"], 4);
    session.stop("Done.").refused(&["qa-verifier"]);
    session.qa("VERIFIED").silent();
    session.stop("Done.").said(&["4 files changed, not committed"]);
    sandbox.person(&["task", "resume"]).failed(2, &["no task was interrupted"]);
}

/// What a person types into the client: the slash command reaches us as their prompt.
#[test]
fn a_slash_command_is_the_persons_word() {
    let said = |answer: &crate::support::Answer| {
        answer.json()["systemMessage"].as_str().unwrap_or_default().to_owned()
    };
    let sandbox = in_loop();
    let session = parked(&sandbox);
    let none = session.prompt("/aops-task drop 2");
    assert!(said(&none).contains("there is no task 2"), "{none:?}");
    session.prompt("/aops-task list").silent();
    assert_eq!(listed(&sandbox).len(), 2);
    let taken = session.prompt("/aops-task resume");
    assert!(said(&taken).contains("add a greeting: taken up again"), "{taken:?}");
    assert_eq!(listed(&sandbox), [(json!("in hand"), Value::Null)]);
    session.stop("Done.").refused(&["qa-verifier"]);
    let dropped = session.prompt("/aops:aops-task drop");
    assert!(said(&dropped).contains("add a greeting: let go"), "{dropped:?}");
    session.stop("Done.").silent();
    assert!(said(&session.prompt("/aops-task drop")).contains("no task was interrupted"));
    let log = sandbox.person(&["log", &session.id]).out;
    assert!(log.contains("a person, by `/aops-task`, let the task go"), "{log}");
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

/// Esc, and the command as the next prompt: the task is parked by the one and let go by the other.
#[test]
fn a_slash_command_right_after_esc() {
    for sandbox in [in_loop(), Sandbox::repository("0.0")] {
        let session = sandbox.working();
        for name in ["a.txt", "b.txt"] {
            session.write(name).silent();
        }
        interrupt(&session, &prompt_id(&session), ESC);
        let dropped = session.prompt("/aops-task drop");
        let said = dropped.json()["systemMessage"].as_str().unwrap_or_default().to_owned();
        assert!(said.starts_with("add a greeting: let go"), "{dropped:?}");
        session.stop("Done.").silent();
        assert!(listed(&sandbox).is_empty(), "{:?}", listed(&sandbox));
        assert!(!session.prompt("what is this?").out.contains("parked: "));
        sandbox.person(&["verify", &session.id]).said(&["intact"]);
    }
}

/// What a timer or an agent sends under the same words chooses nothing.
#[test]
fn a_slash_command_that_no_person_typed_chooses_nothing() {
    let sandbox = in_loop();
    let session = parked(&sandbox);
    let inside = json!({"prompt": "/aops-task drop", "agent_id": "a1", "agent_type": "worker"});
    let _ = session.event("UserPromptSubmit", inside);
    let timer = session.call("CronCreate", json!({"cron": "* * * * *", "prompt": "/aops-task drop"}));
    let _ = session.pre(&timer);
    let _ = session.post(&timer);
    let _ = session.prompt("/aops-task drop");
    assert_eq!(listed(&sandbox)[0], (json!("parked"), json!(4)));
}

/// In mode `strict` every prompt waits for a plan; a person who takes a task up has said what the next one is
/// about.
#[test]
fn the_prompt_after_a_resume_goes_on_with_the_task() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.working();
    session.write("a.txt").silent();
    interrupt(&session, &prompt_id(&session), ESC);
    let _ = session.prompt("what is this?");
    sandbox.person(&["task", "resume"]).said(&["taken up again", "your next prompt continues it"]);
    let _ = session.prompt("and the second file, please");
    session.write("b.txt").silent();
    assert_eq!(session.state()["task"]["writes"], 2);
    session.stop("Done.").refused(&["qa-verifier", "a.txt, b.txt"]);
    // Further prompts wait for a plan as ever.
    let _ = session.prompt("and a third");
    session.write("c.txt").refused(&["prompt-hydrator"]);
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

/// An agent lets nothing go, and its word that a task goes on opens nothing: the first edit of its files
/// takes it up.
#[test]
fn an_agent_goes_on_with_its_own_task_alone() {
    let sandbox = in_loop();
    let session = parked(&sandbox);
    session.ask_bash("aops-hook task drop --yes").refused(&["is for a person"]);
    sandbox.inside(&["task", "drop", "--yes"]).failed(2, &["needs a person at a terminal"]);
    session.ask_bash("aops-hook task resume").silent();
    let other = sandbox.session();
    let _ = other.start("startup");
    sandbox
        .inside(&["task", "resume", "--session", &session.id])
        .failed(2, &["only tasks of its own session"]);
    let _ = other.end();
    let _ = session.prompt("and the tests?");
    sandbox.inside(&["task", "resume"]).said(&["continues with the first edit of its files"]);
    assert_eq!(session.state()["task"]["writes"], 0);
    assert_eq!(listed(&sandbox).len(), 2, "it is still set aside");
    session.write("a.txt").silent();
    session.bash("sh -c 'echo more >> a.txt'");
    session.stop("Done.").refused(&["qa-verifier"]);
    // In mode `strict` nothing is open by it.
    let strict = Sandbox::repository("0.0");
    let session = strict.working();
    session.write("a.txt").silent();
    interrupt(&session, &prompt_id(&session), ESC);
    let _ = session.prompt("something else");
    strict.inside(&["task", "resume"]).said(&["continues"]);
    session.write("a.txt").refused(&["prompt-hydrator"]);
    session.hydrate("minor-edit", "continue");
    session.write("a.txt").silent();
    assert_eq!(session.state()["task"]["writes"], 2);
}
