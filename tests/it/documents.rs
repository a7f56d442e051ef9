//! What the design documents ask of a session: results of calls, the tracker's part, the close, what is
//! learnt.

use crate::support::{Answer, Call, Sandbox, Session};
use serde_json::{Value, json};
use std::fs;

/// Reports the end of a call with this result.
fn post(session: &Session, call: &Call, response: Value) -> Answer {
    let mut fields = json!({"tool_name": call.tool, "tool_input": call.input, "tool_use_id": call.id});
    fields["tool_response"] = response;
    session.event("PostToolUse", fields)
}

/// The last step of a call, as the ledger has it.
fn last_step(session: &Session, call: &Call) -> Value {
    let mine = |entry: &&Value| entry["type"] == "call" && entry["with"]["call"]["id"] == json!(call.id);
    session.entries().iter().rfind(mine).unwrap()["with"].clone()
}

/// The newest context of this kind.
pub(crate) fn context(session: &Session, kind: &str) -> String {
    let folder = session.folder().join("context");
    let number =
        |name: &str| name.strip_prefix(kind)?.strip_prefix('-')?.strip_suffix(".md")?.parse::<u64>().ok();
    let items = fs::read_dir(&folder).unwrap().flatten();
    let mut found: Vec<_> =
        items.filter_map(|item| Some((number(item.file_name().to_str()?)?, item.path()))).collect();
    found.sort();
    fs::read_to_string(&found.last().unwrap().1).unwrap()
}

#[test]
fn a_completed_call_records_its_result_and_a_repeated_one_is_told_it() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("run the tests");
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0".repeat(2));
    let output = format!("running 3 tests\ntoken {secret}\n{}test result: ok", "ok\n".repeat(300));
    let call = session.call("Bash", json!({"command": "git log"}));
    session.pre(&call).silent();
    let response = json!({"stdout": output, "stderr": "", "interrupted": false});
    post(&session, &call, response.clone()).silent();
    let step = last_step(&session, &call);
    let result = &step["end"]["result"];
    assert_eq!(step["to"], "COMPLETED");
    assert_eq!(result["bytes"], response.to_string().len(), "{result}");
    assert_eq!(result["sha256"].as_str().unwrap().len(), 64);
    let (head, tail) = (result["head"].as_str().unwrap(), result["tail"].as_str().unwrap());
    assert!(head.starts_with("running 3 tests\n") && tail.ends_with("\ntest result: ok"), "{result}");
    assert!(head.len() <= 240 && tail.len() <= 240 && !step.to_string().contains(&secret), "{result}");
    session.pre(&call).refused(&[
        "already ended: COMPLETED",
        "its result then",
        "running 3 tests",
        "test result: ok",
    ]);
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

#[test]
fn reviewers_see_what_calls_printed() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    session.hydrate("minor-edit", "new");
    session.write("hello.txt").silent();
    let call = session.call("Bash", json!({"command": "git log"}));
    session.pre(&call).silent();
    post(&session, &call, json!({"stdout": "12 passed; 1 failed", "stderr": ""})).silent();
    let failing = session.call("Bash", json!({"command": "git show"}));
    session.pre(&failing).silent();
    let _ = session.fail(&failing, &format!("Exit code 101\n{}the very last line", "noise\n".repeat(200)));
    let _ = session.agent("custodiet", json!({"verdict": "OK"}));
    session.qa("VERIFIED").silent();
    for kind in ["audit", "qa"] {
        let text = context(&session, kind);
        for words in ["=> 12 passed; 1 failed", "Exit code 101", "the very last line"] {
            assert!(text.contains(words), "{kind}: no `{words}` in {text}");
        }
    }
}

#[test]
fn the_framework_reads_prompts_as_text_and_friction_by_name() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a \"greeting\"\nto the world");
    session.write("hello.txt").refused(&["plan"]);
    session.hydrate("minor-edit", "new");
    session.write("hello.txt").silent();
    let failing = session.call("Bash", json!({"command": "git show"}));
    session.pre(&failing).silent();
    let _ = session.fail(&failing, "exit code 1");
    session.stop("Done.").refused(&["qa-verifier"]);
    session.qa("VERIFIED").silent();
    session.reflect().silent();
    let text = context(&session, "reflection");
    for words in
        ["> add a \"greeting\" to the world", "Refusals by gate: qa 1, sandbox 1", "Failed calls: Bash 1"]
    {
        assert!(text.contains(words), "no `{words}` in {text}");
    }
    assert!(!text.contains("{\"prompt\""), "no JSON: {text}");
}

#[test]
fn the_hydrator_reads_calls_and_results_of_the_last_turns() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.session();
    fs::create_dir_all(sandbox.sessions()).unwrap();
    let records = [
        json!({"type": "user", "message": {"content": "does it build?"}}),
        json!({"type": "assistant", "message": {"content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cargo build"}}]}}),
        json!({"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": "error[E0433]\nnot found"}]}}),
    ];
    let text = records.map(|record| record.to_string()).join("\n") + "\n";
    fs::write(sandbox.sessions().join(format!("{}.jsonl", session.id)), text).unwrap();
    let _ = session.start("startup");
    let _ = session.prompt("then repair it");
    let text = context(&session, "hydration");
    let turns = "> user: does it build?\n> assistant: I look.\n> call Bash: cargo build\n> failed: error[E0433] not found";
    assert!(text.contains(turns), "{text}");
}

fn todos(session: &Session) -> (u64, u64) {
    let main = &session.state()["main_agent"];
    (main["todos_completed"].as_u64().unwrap(), main["todos_total"].as_u64().unwrap())
}

/// A plan of five steps.
fn plan_five(session: &Session) {
    let plan = json!({"workflow": "minor-edit", "intent": "add a greeting", "task": "new",
        "acceptance_criteria": ["it greets"], "steps": ["a", "b", "c", "d", "e"]});
    session.agent("prompt-hydrator", plan).silent();
}

#[test]
fn the_plans_steps_are_todos_until_the_client_names_its_own() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    plan_five(&session);
    assert_eq!(todos(&session), (0, 5));
    session.write("hello.txt").silent();
    session.qa("ISSUES").silent();
    assert_eq!(todos(&session), (0, 5), "what is not verified is not done");
    session.qa("VERIFIED").silent();
    assert_eq!(todos(&session), (5, 5));
    let _ = session.end();
    let found = crate::insights::insights(&sandbox, &session);
    assert_eq!((&found["todos_completed"], &found["todos_total"]), (&json!(5), &json!(5)));
    sandbox.person(&["insights", &session.id]).said(&["5 of 5"]);

    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    plan_five(&session);
    for (event, wanted) in [("TaskCreated", (0, 1)), ("TaskCreated", (0, 2)), ("TaskCompleted", (1, 2))] {
        session.event(event, json!({"task_id": "1", "task_subject": "s", "task_description": "d"})).silent();
        assert_eq!(todos(&session), wanted, "{event}");
    }
    session.write("again.txt").silent();
    session.qa("VERIFIED").silent();
    assert_eq!(todos(&session), (1, 2), "the client's own list says what is done");
    let list = |tool: &str, input: Value| {
        let call = session.call(tool, input);
        session.pre(&call).silent();
        session.post(&call).silent();
        todos(&session)
    };
    let items =
        |names: &[&str]| json!(names.iter().map(|status| json!({"status": status})).collect::<Vec<_>>());
    let three = items(&["completed", "in_progress", "pending"]);
    assert_eq!(list("TodoWrite", json!({ "todos": three })), (1, 3));
    assert_eq!(list("update_plan", json!({"plan": items(&["completed", "completed"])})), (2, 2));
    let _ = session.prompt("another thing");
    plan_five(&session);
    assert_eq!(todos(&session), (0, 5), "a new plan has new steps");
}

/// Formatting is asked for by the commit and by the verification: it is counted as what it is.
#[test]
fn a_refused_stop_is_counted_under_what_it_owes() {
    let sandbox = Sandbox::repository("0.0");
    sandbox.configure("[audit]\nrate = 0.0\n[close]\nformat = \"sh fmt.sh\"\n");
    sandbox.put("fmt.sh", "true\n");
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    session.hydrate("minor-edit", "new");
    session.write("hello.txt").silent();
    session.stop("Done.").refused(&["format"]);
    session.bash("sh fmt.sh");
    session.stop("Done.").refused(&["qa-verifier"]);
    session.qa("VERIFIED").silent();
    session.reflect().silent();
    let text = context(&session, "reflection");
    assert!(text.contains("Refusals by gate: format 1, qa 1\n"), "{text}");
    let _ = session.end();
    let found = crate::insights::insights(&sandbox, &session);
    assert_eq!(found["gates"], json!({"format": 1, "qa": 1}));
}

/// The raw file has secrets and more records than an agent can read.
#[test]
fn the_framework_is_given_the_transcript_as_a_command_that_it_may_run() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.working();
    session.write("hello.txt").silent();
    session.qa("VERIFIED").silent();
    crate::insights::lay_transcript(&sandbox, &session.id);
    let _ = session.begin_agent("f1", "framework");
    let text = context(&session, "reflection");
    assert!(!text.contains(".jsonl"), "{text}");
    let line = text.split("The whole transcript: run `").nth(1).unwrap().split('`').next().unwrap();
    assert_eq!(line, format!("aops-hook transcript {}", session.id));
    let call = session.call("Bash", json!({ "command": line })).by("f1", "framework");
    session.pre(&call).silent();
    sandbox.person(&["transcript", &session.id]).said(&["## "]);
}

/// What recurs can only be seen by an agent that knows what was before.
#[test]
fn the_framework_knows_the_last_sessions_and_their_friction() {
    let sandbox = Sandbox::new();
    let first = crate::insights::whole_loop(&sandbox);
    let text = context(&first, "reflection");
    assert!(text.contains("Refusals by gate, together: none\n\n> none"), "{text}");
    first.stop("Done.").silent();
    let session = sandbox.working();
    session.write("hello.txt").silent();
    session.qa("VERIFIED").silent();
    session.reflect().silent();
    let text = context(&session, "reflection");
    assert!(text.contains("Refusals by gate, together: qa 1, sandbox 1\n"), "{text}");
    let line = "success: greets the world; change: write the test first; refusals: qa 1, sandbox 1";
    let told = text.lines().find(|words| words.contains("greets the world")).unwrap();
    assert!(told.starts_with("> 20") && told.ends_with(line), "{told}");
}
