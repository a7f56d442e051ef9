//! A missing event is an event: an agent that ended without its report, an end that could not be recorded, an
//! agent that was stopped. Nothing becomes freer by it, and the record says what is missing.

use crate::faults::passed;
use crate::support::{Answer, BINARY, NO_TRACKER, Sandbox, Session, fenced};
use serde_json::{Value, json};
use std::fs;
use std::process::{Command, Stdio};

const LOST: &str = "ended without its SubagentStop";

fn block() -> String {
    fenced(json!({"verdict": "BLOCK", "violation": "it left the plan"}))
}

fn agent_call(kind: &str) -> Value {
    let input = json!({"subagent_type": kind, "prompt": "p", "description": "d"});
    json!({"tool_name": "Agent", "tool_use_id": "toolu_agent", "tool_input": input})
}

fn with(mut fields: Value, more: &Value) -> Value {
    fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    fields
}

/// An agent of ours is called and begins, and its own end never comes.
fn begins(session: &Session, kind: &str) {
    passed(&session.event("PreToolUse", agent_call(kind)));
    passed(&session.event("SubagentStart", json!({"agent_id": "a1", "agent_type": kind})));
}

/// How the end of the call is told, with the agent's report in it.
type Told = fn(&Session, &str, &str) -> Answer;

const TOLD: [(&str, Told); 5] = [
    ("PostToolUse", |session, kind, report| {
        let content = json!([{"type": "text", "text": "<tools-used-before-summary>Bash</tools-used-before-summary>\n"},
            {"type": "text", "text": report}]);
        let response = json!({"status": "completed", "agentId": "a1", "agentType": kind, "content": content});
        session.event("PostToolUse", with(agent_call(kind), &json!({"tool_response": response})))
    }),
    ("PostToolUse without an id, as one text", |session, kind, report| {
        session.event("PostToolUse", with(agent_call(kind), &json!({"tool_response": report})))
    }),
    ("PostToolUseFailure", |session, kind, report| {
        let failed = json!({"error": report, "is_interrupt": false});
        session.event("PostToolUseFailure", with(agent_call(kind), &failed))
    }),
    ("PostToolBatch", |session, kind, report| {
        let text =
            format!("{report}\nagentId: a1 (use SendMessage with to: 'a1')\n<usage>total_tokens: 1</usage>");
        let call = with(agent_call(kind), &json!({"tool_response": [{"type": "text", "text": text}]}));
        session.event("PostToolBatch", json!({"tool_calls": [call]}))
    }),
    ("task-notification", |session, kind, report| {
        let launched =
            json!({"tool_response": {"isAsync": true, "status": "async_launched", "agentId": "a1"}});
        passed(&session.event("PostToolUse", with(agent_call(kind), &launched)));
        let prompt = format!(
            "<task-notification>\n<task-id>a1</task-id>\n<tool-use-id>toolu_agent</tool-use-id>\n<status>completed</status>\n<result>{report}</result>\n</task-notification>"
        );
        session.event("UserPromptSubmit", json!({"prompt": prompt, "prompt_id": "notified"}))
    }),
];

fn violations(session: &Session, words: &str) -> usize {
    let entries = session.entries();
    let of = |entry: &&Value| {
        entry["type"] == "violation" && entry["with"]["violation"].as_str().unwrap().contains(words)
    };
    entries.iter().filter(of).count()
}

fn verifies(sandbox: &Sandbox, session: &Session) {
    let answer = sandbox.person(&["verify", &session.id]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
}

#[test]
fn a_block_whose_subagent_stop_is_missing_blocks() {
    for (how, tell) in TOLD {
        let sandbox = Sandbox::repository("0");
        let session = sandbox.working();
        session.write("a.txt").silent();
        begins(&session, "custodiet");
        let answer = tell(&session, "custodiet", &block());
        assert!(answer.out.contains("its `SubagentStop` did not arrive"), "{how}: {answer:?}");
        assert_eq!(violations(&session, LOST), 1, "{how}: {:#?}", session.entries());
        session.write("b.txt").refused(&["it left the plan", "clear-block"]);
        assert!(session.folder().join("halt-report.md").exists(), "{how}");
        verifies(&sandbox, &session);
    }
}

/// A person clears the block; what tells the same end once more blocks no second time.
#[test]
fn one_lost_end_blocks_once() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.working();
    begins(&session, "custodiet");
    let [post, _, _, batch, _] = TOLD;
    passed(&(post.1)(&session, "custodiet", &block()));
    let cleared = sandbox.person(&["clear-block", &session.id, "--yes"]);
    assert_eq!(cleared.code, Some(0), "{cleared:?}");
    passed(&(batch.1)(&session, "custodiet", &block()));
    assert_eq!(session.entries().iter().filter(|entry| entry["type"] == "block").count(), 1);
}

/// The start and the end of the auditor are both missing: its call alone is known.
#[test]
fn a_block_of_an_audit_without_start_and_end() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.working();
    passed(&session.event("PreToolUse", agent_call("custodiet")));
    passed(&(TOLD[0].1)(&session, "custodiet", &block()));
    assert_eq!(violations(&session, LOST), 1);
    session.write("b.txt").refused(&["it left the plan"]);
}

#[test]
fn a_verdict_that_only_the_calls_result_holds_opens_nothing() {
    let plan = json!({"workflow": "minor-edit", "intent": "i", "task": "new", "acceptance_criteria": [], "steps": []});
    for (how, tell) in TOLD {
        let sandbox = Sandbox::repository("0");
        sandbox.configure(NO_TRACKER);
        let session = sandbox.session();
        passed(&session.start("startup"));
        passed(&session.prompt("add a greeting"));
        begins(&session, "prompt-hydrator");
        let answer = tell(&session, "prompt-hydrator", &fenced(&plan));
        assert!(answer.out.contains("its report did not arrive"), "{how}: {answer:?}");
        session.write("a.txt").refused(&["prompt-hydrator"]);
        // The advice works: it is started again, and its report counts.
        session.hydrate("minor-edit", "new");
        session.write("a.txt").silent();
        assert_eq!(session.stop("done").code, Some(2), "{how}: owes its verification");
        begins_again(&session, "qa-verifier", "toolu_again");
        let _ = tell(&session, "qa-verifier", &fenced(json!({"verdict": "VERIFIED", "issues": []})));
        session.stop("done").refused(&["qa-verifier"]);
        assert!(violations(&session, LOST) >= 1, "{how}");
        verifies(&sandbox, &session);
    }
}

fn begins_again(session: &Session, kind: &str, id: &str) {
    let call = with(agent_call(kind), &json!({"tool_use_id": id}));
    passed(&session.event("PreToolUse", call));
    passed(&session.event("SubagentStart", json!({"agent_id": "a2", "agent_type": kind})));
}

/// HALT, REVISE and ISSUES forbid, so they count as well.
#[test]
fn a_halt_whose_subagent_stop_is_missing_halts() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.session();
    passed(&session.start("startup"));
    passed(&session.prompt("add a feature"));
    session.hydrate("feature-dev", "new");
    begins(&session, "critic");
    let halt = json!({"verdict": "HALT", "acceptance_criteria": [], "problems": ["it cannot be done"]});
    let _ = (TOLD[0].1)(&session, "critic", &fenced(halt));
    assert_eq!(session.state()["phase"], "halted");
    let _ = session.critic("PROCEED");
    assert_eq!(session.write("a.txt").code, Some(2));
}

/// Agents that report as they should leave no violation, whatever tells their end besides.
#[test]
fn an_end_that_arrives_is_no_violation() {
    for (how, tell) in TOLD {
        let sandbox = Sandbox::repository("0");
        let session = sandbox.working();
        begins(&session, "custodiet");
        session.stop_agent("a1", "custodiet", &fenced(json!({"verdict": "OK"}))).silent();
        let answer = tell(&session, "custodiet", &fenced(json!({"verdict": "OK"})));
        assert!(!answer.out.contains("SubagentStop"), "{how}: {answer:?}");
        assert_eq!(violations(&session, ""), 0, "{how}: {:#?}", session.entries());
    }
}

/// The hook of an event, started with lowered limits of its process.
fn limited(sandbox: &Sandbox, limits: &str, event: &str, payload: &Value) -> Answer {
    let script = format!("{limits} && exec \"$0\" {event}");
    let mut command = sandbox.command("bash");
    command.args(["-c", &script, BINARY]).envs(sandbox.inside_client()).write_stdin(payload.to_string());
    Answer::of(event, &command.output().unwrap())
}

const LIMITS: [&str; 5] = ["ulimit -f 0", "ulimit -S -f 0", "ulimit -n 5", "ulimit -n 4", "ulimit -n 5 -f 0"];

#[test]
fn a_block_outlives_every_limit_of_the_hooks_process() {
    for limits in LIMITS {
        let sandbox = Sandbox::repository("0");
        let session = sandbox.working();
        session.begin_agent("c", "custodiet").said(&["Context"]);
        let fields = json!({"agent_id": "c", "agent_type": "custodiet", "last_assistant_message": "x ".repeat(5000) + &block(),
            "stop_hook_active": false, "background_tasks": []});
        let answer = limited(&sandbox, limits, "SubagentStop", &session.payload("SubagentStop", fields));
        answer.warned(&["it is kept, and the next event records it first"]);
        session.pre(&session.call("Read", json!({"file_path": "/x"}))).refused(&["it left the plan"]);
        assert_eq!(violations(&session, "recorded late"), 1, "{limits}");
        verifies(&sandbox, &session);
    }
}

#[test]
fn what_a_stop_owes_outlives_every_limit_of_the_hooks_process() {
    for limits in LIMITS {
        let sandbox = Sandbox::repository("0");
        sandbox.configure(NO_TRACKER);
        let session = sandbox.working();
        session.write("hello.txt").silent();
        let fields =
            json!({"stop_hook_active": false, "last_assistant_message": "done", "background_tasks": []});
        let answer = limited(&sandbox, limits, "Stop", &session.payload("Stop", fields));
        answer.warned(&["it is kept, and the next event records it first"]);
        let next = session.prompt("thanks, and now the docs");
        assert!(next.out.contains("commit") && next.out.contains("qa"), "{limits}: {next:?}");
    }
}

/// Events that the client sends once, kept one after the other, and recorded in that order.
#[test]
fn every_event_that_comes_once_outlives_every_limit_of_the_hooks_process() {
    for limits in LIMITS {
        let sandbox = Sandbox::repository("0");
        sandbox.configure(NO_TRACKER);
        let session = sandbox.working();
        let write = json!({"tool_name": "Write", "tool_use_id": "w", "tool_input": {"file_path": "a.txt", "content": "a"}});
        let read = json!({"tool_name": "Read", "tool_use_id": "r", "tool_input": {"file_path": "/nowhere"}});
        for call in [&write, &read, &agent_call("custodiet")] {
            passed(&session.event("PreToolUse", call.clone()));
        }
        let before = session.entries().len();
        let report = fenced(json!({"verdict": "OK"}));
        let of_agent = json!({"agent_id": "c", "agent_type": "custodiet"});
        let late = [
            // Longer than a link holds.
            ("PostToolUse", with(write.clone(), &json!({"tool_response": {"content": "a ".repeat(5000)}}))),
            ("PostToolUseFailure", with(read, &json!({"error": "it is not there"}))),
            ("SubagentStart", of_agent.clone()),
            ("SubagentStop", with(of_agent, &json!({"last_assistant_message": report}))),
            ("UserPromptSubmit", json!({"prompt": ". and all the rest", "prompt_id": "late"})),
            ("SessionEnd", json!({"reason": "other"})),
        ];
        for (event, fields) in &late {
            let answer = limited(&sandbox, limits, event, &session.payload(event, fields.clone()));
            let words = format!("{}{}", answer.out, answer.err);
            assert!(words.contains("is kept, and the next event records it"), "{limits} {event}: {answer:?}");
        }
        assert_eq!(session.entries().len(), before, "{limits}");
        passed(&session.start("resume"));
        let entries = session.entries();
        let told: Vec<&Value> = entries[before..]
            .iter()
            .filter(|entry| {
                entry["with"]["violation"].as_str().is_some_and(|words| words.contains("recorded late"))
            })
            .map(|entry| &entry["with"]["event"])
            .collect();
        let wanted: Vec<Value> = late.iter().map(|(event, _)| json!(event)).collect();
        assert_eq!(told, wanted.iter().collect::<Vec<_>>(), "{limits}: {entries:#?}");
        let ended = |id: &str, state: &str| {
            let of = |entry: &&Value| entry["with"]["call"]["id"] == id && entry["with"]["to"] == state;
            entries[before..].iter().filter(of).count()
        };
        assert_eq!((ended("w", "COMPLETED"), ended("r", "FAILED")), (1, 1), "{limits}: {entries:#?}");
        let of = |kind: &str| entries[before..].iter().filter(|entry| entry["type"] == kind).count();
        assert_eq!((of("verdict"), of("waiver")), (1, 0), "{limits}: a refused prompt waives nothing");
        verifies(&sandbox, &session);
    }
}

/// What guards is refused whatever the limits are.
#[test]
fn no_limit_of_the_hooks_process_lets_a_call_pass() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.working();
    for limits in LIMITS.into_iter().chain(["ulimit -n 3", "ulimit -n 0"]) {
        let call = session.call("Write", json!({"file_path": "a.txt", "content": "a"}));
        let answer = limited(&sandbox, limits, "PreToolUse", &session.payload("PreToolUse", call.fields()));
        assert_eq!(answer.code, Some(2), "{limits}: {answer:?}");
    }
}

/// The first folder cannot be made: the second one keeps the event.
#[test]
fn an_end_is_kept_in_a_second_folder() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.working();
    session.begin_agent("c", "custodiet").said(&["Context"]);
    let aops = sandbox.config().join("aops/spool");
    fs::write(&aops, "not a folder").unwrap();
    let lock = fs::File::open(session.folder().join(".lock")).unwrap();
    lock.lock().unwrap();
    session.stop_agent("c", "custodiet", &block()).warned(&["it is kept"]);
    let kept = sandbox.data().join("sessions/spool");
    assert_eq!(fs::read_dir(&kept).unwrap().count(), 1);
    drop(lock);
    session.pre(&session.call("Read", json!({"file_path": "/x"}))).refused(&["it left the plan"]);
    assert_eq!(fs::read_dir(&kept).unwrap().count(), 0, "it is recorded");
    // No tool call of an agent writes there.
    let clean = sandbox.working();
    for file in [kept.join("x.json"), aops.join("x.json")] {
        clean
            .pre(&clean.call("Write", json!({"file_path": file, "content": "{}"})))
            .refused(&["record of sessions"]);
    }
}

fn audited(sandbox: &Sandbox) -> Session<'_> {
    sandbox.configure("[audit]\nrate = 1\ngrace = 0\n");
    let session = sandbox.working();
    session.write("a.txt").silent();
    session.write("b.txt").refused(&["audit"]);
    session
}

#[test]
fn a_stopped_auditor_leaves_the_audit_due() {
    type Stop = fn(&Session);
    let stops: [(&str, Stop); 7] = [
        ("TaskStop", |session| stop_task(session, "TaskStop", "task_id")),
        ("KillShell", |session| stop_task(session, "KillShell", "shell_id")),
        ("KillBash", |session| stop_task(session, "KillBash", "bash_id")),
        ("a Stop that does not list it", |session| {
            let _ = session.stop("waiting");
        }),
        ("its task was killed", |session| {
            let prompt =
                "<task-notification>\n<task-id>a1</task-id>\n<status>killed</status>\n</task-notification>";
            passed(&session.event("UserPromptSubmit", json!({"prompt": prompt, "prompt_id": "n"})));
        }),
        ("the client was started again", |session| passed(&session.start("resume"))),
        ("the session ended", |session| passed(&session.end())),
    ];
    for (how, stop) in stops {
        let sandbox = Sandbox::repository("0");
        let session = audited(&sandbox);
        begins(&session, "custodiet");
        let launched =
            json!({"tool_response": {"isAsync": true, "status": "async_launched", "agentId": "a1"}});
        passed(&session.event("PostToolUse", with(agent_call("custodiet"), &launched)));
        session.write("while-at-work.txt").silent();
        stop(&session);
        session.write("c.txt").refused(&["audit", "custodiet"]);
        assert_eq!(session.state()["audit"]["due"], true, "{how}");
        // The advice works.
        passed(&session.agent("custodiet", json!({"verdict": "OK"})));
        assert_eq!(session.write("c.txt").code, Some(0), "{how}");
        verifies(&sandbox, &session);
    }
}

fn stop_task(session: &Session, tool: &str, field: &str) {
    let call = session.call(tool, json!({ field: "a1" }));
    passed(&session.pre(&call));
}

/// Another client goes on, without a start of the session that we saw: the auditor died with the first.
#[test]
fn an_auditor_of_a_client_that_died_opens_nothing() {
    let sandbox = Sandbox::repository("0");
    let session = audited(&sandbox);
    begins(&session, "custodiet");
    session.write("while-at-work.txt").silent();
    let call = session.call("Write", json!({"file_path": "c.txt", "content": "c"}));
    let payload = session.payload("PreToolUse", call.fields());
    let other = sandbox.with("CLAUDE_PID", "1");
    other.hook("PreToolUse", &payload).refused(&["audit"]);
}

/// The auditor was taken for stopped, and reports all the same: its BLOCK stands, its OK does not count.
#[test]
fn a_stopped_auditor_can_still_block() {
    let sandbox = Sandbox::repository("0");
    let session = audited(&sandbox);
    begins(&session, "custodiet");
    stop_task(&session, "TaskStop", "task_id");
    session.stop_agent("a1", "custodiet", &fenced(json!({"verdict": "OK"}))).silent();
    session.write("c.txt").refused(&["audit"]);
    session.stop_agent("a1", "custodiet", &block()).silent();
    session.write("c.txt").refused(&["it left the plan"]);
}

/// Every agent of ours that was stopped can be started again, and nothing is open by its start.
#[test]
fn a_stopped_agent_of_ours_can_be_started_again() {
    for kind in ["prompt-hydrator", "critic", "qa-verifier", "framework"] {
        let sandbox = Sandbox::repository("0");
        let session = sandbox.session();
        passed(&session.start("startup"));
        passed(&session.prompt("add a greeting"));
        if kind != "prompt-hydrator" {
            session.hydrate("feature-dev", "new");
        }
        begins(&session, kind);
        stop_task(&session, "TaskStop", "task_id");
        session.write("a.txt").refused(&[]);
        begins_again(&session, kind, "toolu_again");
        session.write("a.txt").refused(&[]);
    }
}

/// Two registrations, or the client itself, deliver one prompt twice.
#[test]
fn a_prompt_that_is_delivered_twice_is_one_prompt() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.working();
    session.write("a.txt").silent();
    let before = (session.entries().len(), session.state());
    session.event("UserPromptSubmit", json!({"prompt": "add a greeting"})).silent();
    assert_eq!((session.entries().len(), session.state()), before);
    session.write("b.txt").silent();
    // Another prompt, or the same words under another id, is a prompt.
    passed(&session.event("UserPromptSubmit", json!({"prompt": "add a farewell"})));
    session.write("c.txt").refused(&["prompt-hydrator"]);
    let again = sandbox.working();
    passed(&again.prompt("add a greeting"));
    again.write("d.txt").refused(&["prompt-hydrator"]);
    // A blocked session answers each of them.
    let blocked = sandbox.working();
    passed(&blocked.agent("custodiet", json!({"verdict": "BLOCK", "violation": "it left the plan"})));
    blocked.event("UserPromptSubmit", json!({"prompt": "add a greeting"})).refused(&["it left the plan"]);
}

/// What the client writes into its transcript where the person stops a turn.
pub(crate) fn interrupt(session: &Session, prompt_id: &str, words: &str) {
    let path = session.payload("Stop", json!({}))["transcript_path"].as_str().unwrap().to_owned();
    let record = json!({"type": "user", "isSidechain": false, "promptId": prompt_id,
        "message": {"role": "user", "content": [{"type": "text", "text": words}]}});
    let before = fs::read_to_string(&path).unwrap_or_default();
    fs::write(path, format!("{before}{record}\n")).unwrap();
}

pub(crate) fn prompt_id(session: &Session) -> String {
    session.payload("Stop", json!({}))["prompt_id"].as_str().unwrap().to_owned()
}

const NO_STOP: &str = "ended without its Stop";

/// A loop of small edits, and a repository of its own.
pub(crate) fn in_loop() -> Sandbox {
    let sandbox = Sandbox::repository("0");
    sandbox.configure(&format!("{NO_TRACKER}[mode]\nlevel = \"loop\"\n"));
    sandbox
}

pub(crate) fn planned_in_loop(sandbox: &Sandbox) -> Session<'_> {
    let session = sandbox.session();
    passed(&session.start("startup"));
    passed(&session.prompt("add a feature"));
    session.hydrate("minor-edit", "new");
    for name in ["a.txt", "b.txt", "c.txt", "d.txt"] {
        session.write(name).silent();
    }
    session
}

#[test]
fn a_turn_without_its_stop_is_recorded_and_told_and_its_debts_stay() {
    type Next = fn(&Session) -> Answer;
    let nexts: [(&str, Next); 4] = [
        ("a prompt", |session| session.prompt("thanks, and now the docs")),
        ("the end of the session", |session| session.end()),
        ("a start", |session| session.start("resume")),
        ("a person's slash command", |session| session.prompt("/review")),
    ];
    for (how, next) in nexts {
        let sandbox = Sandbox::repository("0");
        sandbox.configure(NO_TRACKER);
        let session = sandbox.working();
        session.write("a.txt").silent();
        let answer = next(&session);
        assert!(
            answer.out.contains("ended without its Stop hook") && answer.out.contains("commit"),
            "{how}: {answer:?}"
        );
        assert_eq!(violations(&session, NO_STOP), 1, "{how}");
        assert_eq!(violations(&session, "qa-verifier"), 1, "{how}: with what was owed");
        // It is said once.
        let _ = session.stop("done");
        let again = session.end();
        assert!(!again.out.contains("Stop hook") || how.contains("slash"), "{how}: {again:?}");
        verifies(&sandbox, &session);
    }
    // Its debts stay, and nothing is refused for it.
    let sandbox = in_loop();
    let session = planned_in_loop(&sandbox);
    passed(&session.prompt("and a test"));
    session.write("e.txt").silent();
    session.stop("done").refused(&["qa-verifier"]);
    // A turn with its Stop, or one that owes nothing, is no news.
    let quiet = sandbox.session();
    passed(&quiet.start("startup"));
    passed(&quiet.prompt("what is this?"));
    let _ = quiet.stop("a project");
    let answer = quiet.prompt("thanks");
    assert!(!answer.out.contains("Stop hook"), "{answer:?}");
    assert_eq!(violations(&quiet, NO_STOP), 0);
}

/// Nothing but the client's own word of this very turn is an interrupt.
#[test]
fn what_is_no_interrupt_parks_nothing() {
    type Forge = fn(&Session, &str);
    let words = "[Request interrupted by user]";
    let forged: [(&str, Forge); 3] = [
        ("of another prompt", |session, words| interrupt(session, "another", words)),
        ("longer", |session, words| interrupt(session, &prompt_id(session), &format!("{words} x"))),
        ("the turn went on", |session, words| {
            interrupt(session, &prompt_id(session), words);
            interrupt(session, &prompt_id(session), "and on");
        }),
    ];
    for (how, forge) in forged {
        let sandbox = in_loop();
        let session = planned_in_loop(&sandbox);
        forge(&session, words);
        passed(&session.prompt("fix the typo"));
        assert_eq!(violations(&session, NO_STOP), 1, "{how}");
        session.stop("done").refused(&["qa-verifier"]);
    }
    // No tool call writes the transcript.
    let sandbox = in_loop();
    let session = planned_in_loop(&sandbox);
    let path = session.payload("Stop", json!({}))["transcript_path"].as_str().unwrap().to_owned();
    session
        .pre(&session.call("Write", json!({"file_path": path, "content": "x"})))
        .refused(&["record of sessions"]);
    session.ask_bash(&format!("echo x >> {path}")).refused(&["record of sessions"]);
    let agents = path.replace(".jsonl", "/subagents/agent-a.jsonl");
    session
        .pre(&session.call("Write", json!({"file_path": agents, "content": "x"})))
        .refused(&["record of sessions"]);
}

#[test]
fn an_interrupted_task_is_parked() {
    for words in ["[Request interrupted by user]", "[Request interrupted by user for tool use]"] {
        let sandbox = in_loop();
        let session = planned_in_loop(&sandbox);
        interrupt(&session, &prompt_id(&session), words);
        let answer = session.prompt("fix the typo");
        assert!(!answer.out.contains("Stop hook"), "{answer:?}");
        assert_eq!(violations(&session, ""), 0);
        sandbox.person(&["status", &session.id]).said(&["parked", "4 files changed, not committed"]);
        // It owes nothing, and its size does not count.
        session.write("e.txt").silent();
        session.stop("done").silent();
        verifies(&sandbox, &session);
    }
}

#[test]
fn a_parked_task_is_taken_up_where_its_files_are_touched() {
    let sandbox = in_loop();
    let session = planned_in_loop(&sandbox);
    interrupt(&session, &prompt_id(&session), "[Request interrupted by user]");
    passed(&session.prompt("what is this?"));
    session.stop("a project").silent();
    passed(&session.prompt("go on with it"));
    edit(&session, &sandbox, "a.txt", "hello again\n");
    let status = sandbox.person(&["status", &session.id]);
    assert!(!status.out.contains("parked"), "{status:?}");
    session.stop("done").refused(&["qa-verifier"]);
    assert_eq!(session.state()["task"]["writes"], 5);
    verifies(&sandbox, &session);
    // Small edits count together, too.
    let small = in_loop();
    let session = small.session();
    passed(&session.start("startup"));
    passed(&session.prompt("three small files"));
    for name in ["a.txt", "b.txt", "c.txt"] {
        edit(&session, &small, name, &"line\n".repeat(20));
    }
    interrupt(&session, &prompt_id(&session), "[Request interrupted by user]");
    passed(&session.prompt("what is this?"));
    session.stop("a project").silent();
    passed(&session.prompt("continue"));
    edit(&session, &small, "a.txt", "hello again\n");
    session.write("d.txt").refused(&["outgrown"]);
}

fn edit(session: &Session, sandbox: &Sandbox, name: &str, text: &str) {
    let call = session.call("Write", json!({"file_path": sandbox.project().join(name), "content": text}));
    session.pre(&call).silent();
    sandbox.put(name, text);
    passed(&session.post(&call));
}

/// In mode `strict` the plan says that the task goes on.
#[test]
fn a_parked_task_is_taken_up_by_its_plan() {
    let sandbox = Sandbox::repository("0");
    sandbox.configure(NO_TRACKER);
    let session = sandbox.working();
    session.write("a.txt").silent();
    interrupt(&session, &prompt_id(&session), "[Request interrupted by user]");
    passed(&session.prompt("what is a parser?"));
    session.stop("this and that").silent();
    passed(&session.prompt("go on with it"));
    session.write("b.txt").refused(&["prompt-hydrator"]);
    session.hydrate("minor-edit", "continue");
    session.write("b.txt").silent();
    session.stop("done").refused(&["qa-verifier", "commit"]);
    verifies(&sandbox, &session);
}

/// After the last refused Stop the next prompt starts at zero.
#[test]
fn a_task_that_was_let_go_is_over() {
    let sandbox = in_loop();
    let session = planned_in_loop(&sandbox);
    for _ in 0..3 {
        session.stop("done").refused(&["qa-verifier"]);
    }
    session.stop("done").said(&["still owed", "your next prompt starts a new task"]);
    passed(&session.prompt("fix the typo"));
    session.write("e.txt").silent();
    session.stop("done").silent();
}

const UNSTARTED: &str = "the start of the session was not seen";

fn waivers(session: &Session) -> usize {
    session.entries().iter().filter(|entry| entry["type"] == "waiver").count()
}

/// What the start would have told is not known: a timer or a hook of the project may have sent the prompt.
#[test]
fn without_a_start_no_prompt_waives_anything() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.session();
    let said = session.prompt(". go");
    assert!(said.out.contains("until we see a start, prompts waive nothing"), "{said:?}");
    assert!(said.out.contains("waives nothing") && said.out.contains("claude --resume"), "{said:?}");
    session.write("a.txt").refused(&["plan"]);
    let again = session.prompt(". go on");
    assert!(again.out.contains("waives nothing") && !again.out.contains("until we see a start"), "{again:?}");
    assert_eq!((violations(&session, UNSTARTED), waivers(&session)), (1, 0), "{:#?}", session.entries());
    // The advice works.
    passed(&session.start("resume"));
    session.prompt(". go").silent();
    session.write("a.txt").silent();
    assert_eq!((violations(&session, UNSTARTED), waivers(&session)), (1, 1));
    verifies(&sandbox, &session);
}

/// What follows such a session in its client does not know all timers of the client.
#[test]
fn a_timer_of_a_session_without_a_start_waives_nothing_in_the_next() {
    let sandbox = Sandbox::repository("0");
    let first = sandbox.session();
    passed(&first.start("startup"));
    passed(&first.end());
    let second = sandbox.session();
    passed(&second.prompt("remind me"));
    let timer = second.call("CronCreate", json!({"cron": "* * * * *", "prompt": ". go"}));
    passed(&second.post(&timer));
    passed(&second.end());
    let third = sandbox.session();
    passed(&third.start("clear"));
    for words in [". go", ". and what a timer of the first said"] {
        let said = third.prompt(words);
        assert!(said.out.contains("waives nothing"), "{said:?}");
    }
    assert_eq!(waivers(&third), 0);
}

/// The same where a call is the first that came, and the work goes on.
#[test]
fn a_call_without_a_start_is_judged_and_tells_what_is_missing() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.session();
    let read = session.call("Read", json!({"file_path": "/nowhere"}));
    let said = session.pre(&read);
    assert!(said.code == Some(0) && said.out.contains("did not see this session start"), "{said:?}");
    passed(&session.post(&read));
    passed(&session.prompt("add a greeting"));
    session.hydrate("minor-edit", "new");
    session.write("a.txt").silent();
    assert_eq!(violations(&session, UNSTARTED), 1);
    verifies(&sandbox, &session);
}

/// Whose start is not seen may be a fork, and a fork of a blocked session is blocked.
#[test]
fn a_fork_of_a_blocked_session_is_blocked_without_its_start() {
    let sandbox = Sandbox::repository("0");
    let blocked = sandbox.working();
    let said = sandbox.person(&["block", &blocked.id, "--reason", "it went astray"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let asked = sandbox.session();
    asked.prompt(". go on").refused(&["is blocked", "it went astray"]);
    let called = sandbox.session();
    called.write("a.txt").refused(&["is blocked", "it went astray"]);
    let told = sandbox.session();
    passed(&told.event("Notification", json!({"message": "m"})));
    told.prompt("go on").refused(&["is blocked"]);
    for session in [&asked, &called, &told] {
        assert_eq!(violations(session, UNSTARTED), 1, "{:#?}", session.entries());
        verifies(&sandbox, session);
    }
    // A person lifts it, and it stays lifted.
    let cleared = sandbox.person(&["clear-block", &asked.id, "--yes"]);
    assert_eq!(cleared.code, Some(0), "{cleared:?}");
    passed(&asked.prompt("go on"));
    let free = sandbox.session();
    passed(&free.start("startup"));
    passed(&free.prompt("something else"));
}

/// The client of the session has ended, and another goes on with it.
#[test]
fn another_client_without_a_start_waives_nothing() {
    #[expect(clippy::disallowed_methods, reason = "a process that only has to be there")]
    let mut first = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let sandbox = Sandbox::repository("0");
    let session = sandbox.session();
    let of_first = |name: &str, fields: Value| {
        let mut command = sandbox.command(BINARY);
        command.arg(name).envs(sandbox.inside_client()).env("CLAUDE_PID", first.id().to_string());
        let payload = session.payload(name, fields).to_string();
        passed(&Answer::of(name, &command.write_stdin(payload).output().unwrap()));
    };
    of_first("SessionStart", json!({"source": "startup"}));
    of_first("UserPromptSubmit", json!({"prompt": "add a greeting"}));
    drop(first.stdin.take());
    first.wait().unwrap();
    let said = session.prompt(". go");
    assert!(said.out.contains("waives nothing") && said.out.contains("was not seen"), "{said:?}");
    assert_eq!((violations(&session, UNSTARTED), waivers(&session)), (1, 0));
    passed(&session.start("resume"));
    session.prompt(". go").silent();
    assert_eq!((violations(&session, UNSTARTED), waivers(&session)), (1, 1));
    verifies(&sandbox, &session);
}
