//! While one of our agents is at work, a refusal says so, a second one is not started, and nothing leaves it
//! at work for ever.

use crate::support::{Answer, Sandbox, Session, fenced};
use serde_json::{Value, json};
use std::cell::Cell;
use std::fs;

const BEGAN: i64 = 1_768_298_400_000;

/// A session whose hydrator was started, on a clock that the test sets.
struct World {
    sandbox: Sandbox,
    id: String,
    starts: Cell<u32>,
}

impl World {
    fn hydrating() -> Self {
        let sandbox = Sandbox::repository("0").with("AOPS_TEST_NOW_MS", BEGAN.to_string());
        let session = sandbox.session();
        let _ = session.start("startup");
        let _ = session.prompt("add a greeting");
        session.event("PreToolUse", start("first", "prompt-hydrator")).said(&["updatedInput"]);
        let id = session.id.clone();
        Self { sandbox, id, starts: Cell::new(0) }
    }

    fn after(self, seconds: i64) -> Self {
        Self { sandbox: self.sandbox.with("AOPS_TEST_NOW_MS", (BEGAN + seconds * 1000).to_string()), ..self }
    }

    fn session(&self) -> Session<'_> {
        Session::new(&self.sandbox, &self.id)
    }

    /// A second start is let go: the first is not at work any more.
    fn is_free(&self, what: &str) {
        let answer = self.start_again();
        assert_eq!(answer.code, Some(0), "{what}: {answer:?}");
    }

    fn start_again(&self) -> Answer {
        self.starts.set(self.starts.get() + 1);
        self.session().event("PreToolUse", start(&format!("again-{}", self.starts.get()), "prompt-hydrator"))
    }
}

fn start(id: &str, kind: &str) -> Value {
    let input = json!({"subagent_type": kind, "prompt": "p", "description": "d"});
    json!({"tool_name": "Agent", "tool_use_id": id, "tool_input": input})
}

/// The call that started the hydrator, and more.
fn of_first(more: &Value) -> Value {
    let mut all = start("first", "prompt-hydrator");
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    all
}

#[test]
fn refusals_say_who_is_at_work_and_a_second_start_is_refused() {
    let world = World::hydrating().after(12);
    let session = world.session();
    let words = "`prompt-hydrator` has been at work for 12 s; wait for its report";
    session.event("PreToolUse", write("w1")).refused(&[words, "hint: "]);
    world.start_again().refused(&[words]);
    session.event("PreToolUse", start("third", "critic")).said(&["updatedInput"]);
    // The same call, asked again, is no second start.
    assert_eq!(session.event("PreToolUse", start("first", "prompt-hydrator")).code, Some(0));
    // Its advice works: the report comes, and the same write passes.
    session
        .event("SubagentStart", json!({"agent_id": "h1", "agent_type": "prompt-hydrator"}))
        .said(&["Context"]);
    session.event("PreToolUse", write("w2")).refused(&[words]);
    let plan = json!({"workflow": "minor-edit", "intent": "i", "task": "new", "acceptance_criteria": [], "steps": []});
    session.stop_agent("h1", "prompt-hydrator", &crate::support::fenced(plan)).silent();
    session.event("PreToolUse", write("w3")).silent();
    world.is_free("it reported");
}

fn write(id: &str) -> Value {
    json!({"tool_name": "Write", "tool_use_id": id, "tool_input": {"file_path": "a.txt", "content": "a"}})
}

#[test]
fn an_agent_in_the_background_is_at_work_until_it_stops_or_is_gone() {
    let world = World::hydrating().after(3);
    let session = world.session();
    let _ = session.event("SubagentStart", json!({"agent_id": "h1", "agent_type": "prompt-hydrator"}));
    let launched = json!({"tool_response": {"isAsync": true, "status": "async_launched", "agentId": "h1"}});
    let _ = session.event("PostToolUse", of_first(&launched));
    let _ = session.event("PostToolBatch", json!({"tool_calls": [of_first(&json!({}))]}));
    let words = ["`prompt-hydrator` has been at work for 3 s"];
    world.start_again().refused(&words);
    let stop = |tasks: Value| {
        let fields =
            json!({"stop_hook_active": false, "last_assistant_message": "m", "background_tasks": tasks});
        session.event("Stop", fields)
    };
    let task =
        json!([{"id": "h1", "type": "subagent", "status": "running", "agent_type": "prompt-hydrator"}]);
    stop(task).silent();
    let _ = session.event("UserPromptSubmit", json!({"prompt": "<task-notification>\nsomething else ended"}));
    world.start_again().refused(&words);
    // A report that is sent back does not end it.
    session.stop_agent("h1", "prompt-hydrator", "no block").refused(&["no valid verdict"]);
    world.start_again().refused(&words);
    stop(json!([])).said(&["its report did not arrive"]);
    world.is_free("the client knows of none");
}

/// In a terminal the client resumes the model with the report: a turn that would only wait ends. Nobody is
/// told that its Stop is missing.
#[test]
fn a_turn_that_would_only_wait_ends() {
    let batch = |attended: &str, agent: &str| {
        let sandbox = Sandbox::repository("0").with("CLAUDE_CODE_SESSION_ATTENDED", attended);
        let session = sandbox.working();
        let input = json!({"subagent_type": agent, "prompt": "p", "description": "d"});
        let call = session.call("Agent", input);
        let _ = session.pre(&call);
        let _ = session.event("SubagentStart", json!({"agent_id": "a1", "agent_type": agent}));
        let mut done = call.fields();
        done["tool_response"] = json!({"isAsync": true, "status": "async_launched", "agentId": "a1"});
        let _ = session.event("PostToolUse", done.clone());
        done["tool_response"] = json!("Async agent launched successfully.\nagentId: a1");
        let answer = session.event("PostToolBatch", json!({"tool_calls": [done]}));
        let next = session.prompt("and now?");
        (answer, next)
    };
    let (ended, next) = batch("1", "qa-verifier");
    let said = ended.json();
    assert_eq!((&said["continue"], ended.code), (&json!(false), Some(0)), "{said}");
    assert!(said["stopReason"].as_str().unwrap().contains("`qa-verifier` is still working"), "{said}");
    assert!(!next.out.contains("Stop hook"), "{next:?}");
    batch("0", "qa-verifier").0.silent();
    batch("1", "custodiet").0.silent();
}

#[test]
fn nothing_leaves_an_agent_at_work_for_ever() {
    type End = fn(&Session) -> Answer;
    let ends: [(&str, End); 6] = [
        ("its call ended", |session| {
            session.event("PostToolUse", of_first(&json!({"tool_response": {"status": "completed"}})))
        }),
        ("its call failed", |session| session.event("PostToolUseFailure", of_first(&json!({"error": "e"})))),
        ("its call never ran", |session| session.event("PostToolBatch", json!({"tool_calls": []}))),
        ("a person spoke", |session| session.event("UserPromptSubmit", json!({"prompt": "go on"}))),
        ("the turn failed", |session| session.event("StopFailure", json!({"error": "overloaded"}))),
        ("the client was started again", |session| session.start("resume")),
    ];
    for (what, end) in ends {
        let world = World::hydrating();
        assert_eq!(world.start_again().code, Some(2), "{what}: at work before");
        let _ = end(&world.session());
        world.is_free(what);
    }
}

/// The client was killed and another one goes on, without a start of the session that we saw.
#[test]
fn in_another_client_no_agent_of_the_first_is_at_work() {
    let world = World::hydrating();
    let session = world.session();
    let payload = session.payload("PreToolUse", start("second", "prompt-hydrator"));
    let answer = world.sandbox.with("CLAUDE_PID", "1").hook("PreToolUse", &payload);
    assert_eq!(answer.code, Some(0), "{answer:?}");
}

/// In auto mode an agent reports by a call of the client's, and its last message only says so.
#[test]
fn what_an_agent_hands_back_is_its_report() {
    let sandbox = Sandbox::new();
    let session = sandbox.begun("add a greeting");
    let found = json!({"message": "it is in src/store.js"});
    session.pre(&session.call("SubagentHandback", found).by("e1", "Explore")).silent();
    session.hydrate("minor-edit", "new");
    let report = fenced(json!({"verdict": "ISSUES", "issues": ["no greeting"]}));
    let call = session.call("SubagentHandback", json!({"message": report}));
    let call = call.by("a9", "qa-verifier");
    let _ = session.begin_agent("a9", "qa-verifier");
    session.stop_agent("a9", "qa-verifier", "Delivered.").refused(&["no valid verdict"]);
    let hasty = session.call("SubagentHandback", json!({"message": "All is well."}));
    session.pre(&hasty.by("a9", "qa-verifier")).refused(&["no valid verdict", "```aops"]);
    session.pre(&call).silent();
    let folder = sandbox.sessions().join(&session.id).join("subagents");
    fs::create_dir_all(&folder).unwrap();
    let block =
        json!({"type": "tool_use", "id": call.id, "name": "SubagentHandback", "input": {"message": report}});
    let record = json!({"type": "assistant", "message": {"content": [block]}});
    fs::write(folder.join("agent-a9.jsonl"), format!("{record}\n")).unwrap();
    session.post(&call).silent();
    let _ = session.stop_agent("a9", "qa-verifier", "Delivered.");
    assert_eq!(session.state()["subagents"]["qa-verifier"]["result"], "ISSUES");
}

/// In auto mode the client has a call judged as the model wrote it, and refuses one whose input a hook then
/// replaced, unless the hook allows it.
#[test]
fn in_auto_mode_our_agents_are_let_start_with_our_prompt() {
    let world = World::hydrating().after(3600);
    let session = world.session();
    let start_of = |name: &str, mode: &str| {
        let mut call = start(name, name);
        call["permission_mode"] = json!(mode);
        session.event("PreToolUse", call)
    };
    let said = start_of("critic", "default").json()["hookSpecificOutput"].clone();
    assert_eq!(said["permissionDecision"], Value::Null, "{said}");
    let said = start_of("qa-verifier", "auto").json()["hookSpecificOutput"].clone();
    assert_eq!(said["permissionDecision"], "allow");
    assert!(said["updatedInput"]["prompt"].is_string(), "{said}");
    start_of("Explore", "auto").silent();
}

/// There the model reads the report before the agent's end is recorded, and must know what comes next.
#[test]
fn a_plan_that_is_handed_back_brings_its_next_step() {
    let sandbox = Sandbox::new();
    let session = sandbox.begun("add a greeting");
    let _ = session.begin_agent("a1", "prompt-hydrator");
    let plan = json!({"workflow": "feature-dev", "intent": "it greets", "task": "new",
        "acceptance_criteria": ["it says hello"], "steps": ["write it"]});
    let report = fenced(plan).replace('\n', "\n  ");
    let hand_back = |id: &str| {
        let text = format!(
            "<agent-message from=\"{id}\">\n[Subagent hand-back] The report follows:\n  {report}\n</agent-message>"
        );
        session.event("UserPromptSubmit", json!({"prompt": text}))
    };
    hand_back("someone").silent();
    hand_back("a1").said(&["start the agent `critic`"]);
    assert_eq!(session.state()["state"]["current_workflow"], Value::Null, "it counts with its event");
}
