//! A task whose end was held up: let go and taken up again, an agent that hangs, a push that the server
//! declines.

use crate::missing::{in_loop, interrupt, prompt_id};
use crate::support::{Answer, Sandbox, Session, fenced};
use serde_json::{Value, json};

fn stop_with(session: &Session, running: &[&str]) -> Answer {
    let task = |id: &&str| json!({"id": id, "type": "subagent", "status": "running"});
    let running: Vec<Value> = running.iter().map(task).collect();
    let fields = json!({"stop_hook_active": false, "last_assistant_message": "Done.",
        "background_tasks": running, "session_crons": []});
    session.event("Stop", fields)
}

/// The next prompt starts at zero, whatever the hydrator calls it.
#[test]
fn a_task_that_was_let_go_is_over_in_mode_strict() {
    for task in ["continue", "new"] {
        let sandbox = Sandbox::repository("0.0");
        let session = sandbox.working();
        session.write("a.txt").silent();
        for _ in 0..3 {
            session.stop("Done.").refused(&["qa-verifier", "commit"]);
        }
        let told = session.stop("Done.").json()["systemMessage"].to_string();
        assert!(told.contains("still owed: ") && told.contains("commit"), "{told}");
        assert_eq!(session.state()["phase"], "done", "{task}");
        sandbox.person(&["status", &session.id]).said(&["owed      nothing"]);
        assert_eq!(sandbox.person(&["insights", "--json"]).json()["outcome"], "partial");
        // Without a prompt there is nothing left to do.
        session.stop("Done.").silent();
        session.write("a.txt").refused(&["prompt-hydrator"]);
        let _ = session.prompt("go on with it");
        session.hydrate("minor-edit", task);
        assert_eq!(session.state()["task"]["writes"], 0, "{task}");
        session.stop("Nothing is left to do.").silent();
        session.write("b.txt").silent();
        assert_eq!(session.state()["task"]["writes"], 1, "{task}");
        let stop = session.stop("Done.");
        stop.refused(&["qa-verifier", "by name: b.txt"]);
        assert!(!stop.reason().contains("a.txt"), "{}", stop.reason());
        sandbox.person(&["verify", &session.id]).said(&["intact"]);
    }
}

/// What a command of it changes later is no reason to take it up again.
#[test]
fn late_work_of_a_task_that_was_let_go_begins_nothing() {
    let sandbox = Sandbox::repository("0.0");
    sandbox.configure("audit.rate = 0\nmode.level = \"loop\"\n[evidence]\ntest = \"make test\"\n");
    let session = sandbox.begun("first");
    session.write("a.txt").silent();
    let late = session.call("Bash", json!({"command": "make slow", "run_in_background": true}));
    session.pre(&late).silent();
    for _ in 0..3 {
        session.stop("Done.").refused(&["make test"]);
    }
    session.stop("Done.").said(&["still owed: "]);
    sandbox.put("b.txt", "b\n");
    let _ = session.post(&late);
    assert_eq!(session.state()["phase"], "done");
    session.stop("Done.").silent();
    let _ = session.prompt("second");
    assert_eq!(session.state()["task"]["writes"], 0);
    session.write("c.txt").silent();
    session.stop("Done.").refused(&["make test"]);
}

/// A plan of the same prompt is a task of its own, too.
#[test]
fn a_plan_after_a_task_was_let_go_begins_at_zero() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.working();
    session.write("a.txt").silent();
    for _ in 0..3 {
        session.stop("Done.").refused(&["qa-verifier"]);
    }
    session.stop("Done.").said(&["still owed: "]);
    session.hydrate("minor-edit", "continue");
    assert_eq!(session.state()["task"]["writes"], 0);
    session.stop("Done.").silent();
}

/// Where a gate of the loop holds in mode `guard`, too.
#[test]
fn a_task_that_was_let_go_is_over_in_mode_guard() {
    let sandbox = Sandbox::repository("0.0");
    sandbox.configure("tracker.command = \"none\"\nmode.level = \"guard\"\ngates.qa = \"enforce\"\n");
    let session = sandbox.begun("first");
    session.write("a.txt").silent();
    for _ in 0..3 {
        session.stop("Done.").refused(&["qa-verifier"]);
    }
    session.stop("Done.").said(&["still owed: "]);
    let _ = session.prompt("second");
    assert_eq!(session.state()["task"]["writes"], 0);
    session.write("b.txt").silent();
    session.stop("Done.").refused(&["qa-verifier"]);
}

/// A hydrator of an earlier prompt, and an agent that was started again: neither is waited for.
#[test]
fn an_agent_whose_task_is_over_does_not_hold_up_the_end() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.begun("first");
    let _ = session.begin_agent("h1", "prompt-hydrator");
    let _ = session.prompt("no, second");
    session.hydrate("minor-edit", "new");
    session.write("a.txt").silent();
    stop_with(&session, &["h1"]).refused(&["qa-verifier"]);
    let _ = session.begin_agent("q1", "qa-verifier");
    sandbox
        .person(&["status", "--session", &session.id])
        .said(&["waits for `qa-verifier` since ", "qa-verifier (at work)"]);
    stop_with(&session, &["h1", "q1"]).silent();
    let _ = session.begin_agent("q2", "qa-verifier");
    stop_with(&session, &["q1", "q2"]).silent();
    session
        .stop_agent(
            "q2",
            "qa-verifier",
            &crate::support::fenced(json!({"verdict": "VERIFIED", "issues": []})),
        )
        .silent();
    stop_with(&session, &["h1", "q1"]).refused(&["framework"]);
    // An agent of the user's is waited for as before.
    stop_with(&session, &["h1", "x1"]).silent();
    assert!(!sandbox.person(&["status", "--session", &session.id]).out.contains("waits for `"));
}

/// What keeps the model from it is the server, and it tried: the person is told, and nothing is refused.
#[test]
fn a_push_that_the_server_declines_is_told_and_not_asked_for_again() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.working();
    session.write("a.txt").silent();
    session.qa("VERIFIED").silent();
    session.reflect().silent();
    session.bash("git add a.txt && git commit -q -m a");
    session.stop("Done.").refused(&["`push`"]);
    let call = session.call("Bash", json!({"command": "git push"}));
    session.pre(&call).silent();
    let declined = "Exit code 1\n ! [remote rejected] main -> main (pre-receive hook declined)\nerror: failed to push some refs";
    let _ = session.fail(&call, declined);
    let told = session.stop("The server declined the push.").json()["systemMessage"].to_string();
    assert!(told.contains("not pushed") && told.contains("the last push failed"), "{told}");
    // A later commit is pushed, or tried again.
    let _ = session.prompt("another");
    session.hydrate("minor-edit", "new");
    session.write("b.txt").silent();
    session.qa("VERIFIED").silent();
    session.reflect().silent();
    session.bash("git add b.txt && git commit -q -m b");
    session.stop("Done.").refused(&["`push`"]);
}

#[test]
fn a_hydrator_that_gave_no_plan_does_not_bring_up_the_one_before() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.working();
    let plan = |end: bool| {
        let call = session
            .call("Agent", json!({"subagent_type": "prompt-hydrator", "prompt": "x", "description": "d"}));
        let _ = session.pre(&call);
        let _ = session.event("SubagentStart", json!({"agent_id": "h9", "agent_type": "prompt-hydrator"}));
        if end {
            let block = json!({"workflow": "minor-edit", "intent": "i", "task": "new",
                "acceptance_criteria": ["c"], "steps": ["s"]});
            session.stop_agent("h9", "prompt-hydrator", &crate::support::fenced(block)).silent();
        }
        session.post(&call).out
    };
    let _ = session.prompt("something else");
    let said = plan(false);
    assert!(!said.contains("plan in force"), "{said}");
    let said = plan(true);
    assert!(said.contains("the plan in force follows workflow `minor-edit`"), "{said}");
}

/// All verdicts, not the last of each agent.
#[test]
fn the_report_counts_every_verdict() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.begun("a feature");
    session.hydrate("feature-dev", "new");
    let _ = session.critic("REVISE");
    session.hydrate("feature-dev", "new");
    session.critic("PROCEED").silent();
    session.write("a.txt").silent();
    for verdict in ["ISSUES", "ISSUES", "VERIFIED"] {
        let _ = session.qa(verdict);
    }
    sandbox
        .person(&["report"])
        .said(&["critic PROCEED 1", "critic REVISE 1", "qa-verifier ISSUES 2", "qa-verifier VERIFIED 1"]);
}

/// The hydrator works in the background, and the turn ends meanwhile.
fn hydrates(session: &Session, prompt: &str) {
    let call =
        session.call("Agent", json!({"subagent_type": "prompt-hydrator", "prompt": "p", "description": "d"}));
    let _ = session.pre(&call);
    session
        .event("SubagentStart", json!({"agent_id": "a-first", "agent_type": "prompt-hydrator"}))
        .said(&[prompt]);
    let mut launched = call.fields();
    launched["tool_response"] = json!({"isAsync": true, "status": "async_launched", "agentId": "a-first"});
    let _ = session.event("PostToolUse", launched);
    stop_with(session, &["a-first"]).silent();
}

/// Mode `strict`: what the person adds before the plan is there is planned together with it.
#[test]
fn a_prompt_before_the_plan_is_planned_with_the_one_before_it() {
    type Add = fn(&Session, &str) -> Answer;
    let adds: [Add; 3] = [
        |session, text| {
            hydrates(session, "make hello.txt");
            session.prompt(text)
        },
        // In the turn that runs, the client names the same prompt.
        |session, text| session.event("UserPromptSubmit", json!({"prompt": text})),
        // A turn whose end was lost.
        |session, text| session.prompt(text),
    ];
    for (way, add) in adds.iter().enumerate() {
        let sandbox = Sandbox::repository("0.0");
        let session = sandbox.begun("make hello.txt");
        let said = add(&session, "and bye.txt").json();
        let told = said["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
        let file = told.split("context in ").nth(1).unwrap().split(')').next().unwrap();
        let file = std::fs::read_to_string(file).unwrap();
        let context = session.hydrate("minor-edit", "new");
        for words in ["make hello.txt", "and bye.txt"] {
            assert!(context.contains(words) && file.contains(words), "{way}, {words}: {context}\n{file}");
        }
        session.write("bye.txt").silent();
        // The next task has nothing of them.
        let _ = session.prompt("make other.txt");
        let context = session.hydrate("minor-edit", "continue");
        let (_, prompt) = context.split_once("## The prompt").unwrap();
        let prompt = prompt.split("##").next().unwrap();
        assert!(prompt.contains("make other.txt") && !prompt.contains("bye.txt"), "{way}: {prompt}");
        sandbox.person(&["verify", &session.id]).said(&["intact"]);
    }
}

/// However long they are, neither pushes the other out.
#[test]
fn two_long_prompts_are_both_planned() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.begun(&format!("make hello.txt {}", "first ".repeat(600)));
    hydrates(&session, "make hello.txt");
    let _ = session.prompt(&format!("and bye.txt {}", "second ".repeat(600)));
    let context = session.hydrate("minor-edit", "new");
    assert!(context.contains("make hello.txt") && context.contains("and bye.txt"), "{context}");
}

/// What was answered, and what the person interrupted, is not planned with what they ask for next.
#[test]
fn a_prompt_that_is_over_is_not_planned_with_the_next() {
    let ends: [fn(&Session); 2] = [
        |session| session.stop("It is a project.").silent(),
        |session| interrupt(session, &prompt_id(session), "[Request interrupted by user]"),
    ];
    for (way, end) in ends.iter().enumerate() {
        let sandbox = Sandbox::repository("0.0");
        let session = sandbox.begun("what is this?");
        end(&session);
        let _ = session.prompt("make hello.txt");
        let context = session.hydrate("minor-edit", "new");
        assert!(context.contains("make hello.txt") && !context.contains("what is this?"), "{way}: {context}");
    }
}

/// Mode `loop`: the plan that is being made stays the task's, and its reviewers see what was added.
#[test]
fn a_prompt_before_the_plan_reaches_the_review() {
    let sandbox = in_loop();
    let session = sandbox.begun("make hello.txt");
    hydrates(&session, "make hello.txt");
    let _ = session.prompt("and bye.txt");
    let plan = json!({"workflow": "feature-dev", "intent": "i", "task": "new", "acceptance_criteria": [], "steps": []});
    session.stop_agent("a-first", "prompt-hydrator", &fenced(plan)).silent();
    let verdict = json!({"verdict": "PROCEED", "acceptance_criteria": ["c"], "problems": []});
    let (context, _) = session.agent_reports("critic", &fenced(verdict));
    assert!(context.contains("make hello.txt") && context.contains("and bye.txt"), "{context}");
}
