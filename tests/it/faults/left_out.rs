//! Recorded sessions with one event left out, or one file removed: nothing that comes later is judged more
//! freely, and the record says what is missing.
//!
//! The hook of an event can be killed by any process of the user. A client that honours `onFailure` then
//! refuses what the hook guards; here the client fails open, and runs the call all the same.

use crate::support::{Sandbox, Session, fenced};
use aops_core::session::fact::{NO_EFFECT, UNREPORTED};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// One event of a recorded session, and what the client did before it.
struct Step {
    event: &'static str,
    fields: Value,
    does: Does,
}

enum Does {
    Nothing,
    /// A tool wrote this file.
    Writes(&'static str),
    /// A tool ran this command.
    Runs(&'static str),
    /// The person stopped the turn of this prompt.
    Interrupts(&'static str),
}

struct Recording {
    settings: &'static str,
    steps: Vec<Step>,
    prompt: &'static str,
}

impl Recording {
    fn new(settings: &'static str) -> Self {
        Self { settings, steps: Vec::new(), prompt: "p0" }.event("SessionStart", json!({"source": "startup"}))
    }

    fn step(mut self, event: &'static str, mut fields: Value, does: Does) -> Self {
        if fields["prompt_id"].is_null() {
            fields["prompt_id"] = json!(self.prompt);
        }
        self.steps.push(Step { event, fields, does });
        self
    }

    fn event(self, event: &'static str, fields: Value) -> Self {
        self.step(event, fields, Does::Nothing)
    }

    fn prompt(mut self, id: &'static str, words: &str) -> Self {
        self.prompt = id;
        self.event("UserPromptSubmit", json!({ "prompt": words }))
    }

    /// A call from its question to the end of its batch.
    fn call(self, id: &str, tool: &str, input: &Value, does: Does) -> Self {
        let call = json!({"tool_name": tool, "tool_use_id": id, "tool_input": input});
        let mut done = call.clone();
        done["tool_response"] = json!({"stdout": "", "stderr": "", "interrupted": false});
        let batch = json!({"tool_calls": [call]});
        self.event("PreToolUse", call).step("PostToolUse", done, does).event("PostToolBatch", batch)
    }

    fn write(self, id: &str, file: &'static str) -> Self {
        let input = json!({"file_path": format!("PROJECT/{file}"), "content": format!("{file}\n")});
        self.call(id, "Write", &input, Does::Writes(file))
    }

    fn bash(self, id: &str, line: &'static str) -> Self {
        self.call(id, "Bash", &json!({"command": line}), Does::Runs(line))
    }

    /// One of our agents in the foreground, with its report.
    fn agent(self, id: &str, kind: &str, block: &Value) -> Self {
        let report = fenced(block);
        let call = json!({"tool_name": "Agent", "tool_use_id": format!("call-{id}"),
            "tool_input": {"subagent_type": kind, "prompt": "p", "description": "d"}});
        let mut done = call.clone();
        done["tool_response"] = json!({"status": "completed", "agentId": id, "agentType": kind,
            "content": [{"type": "text", "text": report}]});
        self.event("PreToolUse", call.clone())
            .begins(id, kind)
            .ends(id, kind, &report)
            .event("PostToolUse", done)
            .event("PostToolBatch", json!({"tool_calls": [call]}))
    }

    fn begins(self, id: &str, kind: &str) -> Self {
        self.event("SubagentStart", json!({"agent_id": id, "agent_type": kind}))
    }

    fn ends(self, id: &str, kind: &str, report: &str) -> Self {
        let fields = json!({"agent_id": id, "agent_type": kind, "last_assistant_message": report,
            "stop_hook_active": false, "background_tasks": []});
        self.event("SubagentStop", fields)
    }

    /// The same in the background: the turn ends meanwhile, and the client tells when it has ended.
    fn agent_behind(self, id: &str, kind: &str, block: &Value) -> Self {
        let report = fenced(block);
        let call = json!({"tool_name": "Agent", "tool_use_id": format!("call-{id}"),
            "tool_input": {"subagent_type": kind, "prompt": "p", "description": "d"}});
        let mut done = call.clone();
        done["tool_response"] = json!({"isAsync": true, "status": "async_launched", "agentId": id});
        let running = json!([{"id": id, "type": "subagent", "status": "running", "agent_type": kind}]);
        let told = format!(
            "<task-notification>\n<task-id>{id}</task-id>\n<tool-use-id>call-{id}</tool-use-id>\n<status>completed</status>\n<result>{report}</result>\n</task-notification>"
        );
        self.event("PreToolUse", call.clone())
            .begins(id, kind)
            .event("PostToolUse", done)
            .event("PostToolBatch", json!({"tool_calls": [call]}))
            .stop(&running)
            .ends(id, kind, &report)
            .event("UserPromptSubmit", json!({"prompt": told, "prompt_id": "told"}))
    }

    fn stop(self, running: &Value) -> Self {
        let fields = json!({"stop_hook_active": false, "last_assistant_message": "done", "background_tasks": running,
            "session_crons": []});
        self.event("Stop", fields)
    }

    fn stops(self) -> Self {
        self.stop(&json!([]))
    }

    fn interrupted(mut self) -> Self {
        let last = self.prompt;
        self.prompt = "unused";
        self.step("Notification", json!({"message": "m"}), Does::Interrupts(last))
    }
}

/// What is left out of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    Nothing,
    /// The hook of this event was killed, and the client went on as if there were none.
    Event(usize),
    /// Before this event a file of ours is removed: the so-many-th of the session's and the common ones.
    File(usize, usize),
}

/// How strictly each event was judged: 0 passed, 1 asked, 2 refused; nothing where it did not take place.
struct Played {
    rulings: Vec<Option<u8>>,
    entries: Vec<Value>,
}

fn play(recording: &Recording, fault: Fault) -> Played {
    let sandbox = Sandbox::repository("0");
    sandbox.configure(&format!("tracker.command = \"none\"\n{}", recording.settings));
    let session = sandbox.session();
    let mut rulings: Vec<Option<u8>> = Vec::new();
    let mut refused = BTreeSet::new();
    for (n, step) in recording.steps.iter().enumerate() {
        let call = step.fields["tool_use_id"].as_str().unwrap_or_default().to_owned();
        // The client does not run what was refused.
        if step.event == "PostToolUse" && refused.contains(&call) {
            rulings.push(None);
            continue;
        }
        act(&sandbox, &session, &step.does);
        if let Fault::File(at, which) = fault
            && at == n
        {
            remove(&sandbox, &session, which);
        }
        if fault == Fault::Event(n) {
            rulings.push(None);
            continue;
        }
        let ruling = judge(&sandbox, &session, step);
        if ruling > 0 && step.event == "PreToolUse" {
            refused.insert(call);
        }
        rulings.push(Some(ruling));
    }
    let entries = if session.folders().len() == 1 && session.folder().join(super::LEDGER).exists() {
        session.entries()
    } else {
        Vec::new()
    };
    Played { rulings, entries }
}

fn act(sandbox: &Sandbox, session: &Session, does: &Does) {
    match does {
        Does::Nothing => {}
        Does::Writes(file) => drop(sandbox.put(file, &format!("{file}\n"))),
        Does::Runs(line) => drop(sandbox.command("sh").args(["-c", line]).output().unwrap()),
        Does::Interrupts(prompt) => {
            let record = json!({"type": "user", "promptId": prompt,
                "message": {"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]}});
            fs::write(transcript(session), format!("{record}\n")).unwrap();
        }
    }
}

fn transcript(session: &Session) -> PathBuf {
    session.payload("Stop", json!({}))["transcript_path"].as_str().unwrap().into()
}

/// The so-many-th file of ours, if there are so many.
fn remove(sandbox: &Sandbox, session: &Session, which: usize) {
    let folders = [session.folder(), sandbox.config().join("aops")];
    let items = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap().flatten());
    let mut files: Vec<PathBuf> = items.map(|item| item.path()).filter(|path| path.is_file()).collect();
    files.sort();
    if let Some(file) = files.get(which) {
        fs::remove_file(file).unwrap();
    }
}

/// Most files of ours that a session of these tests has.
const FILES: usize = 8;

fn judge(sandbox: &Sandbox, session: &Session, step: &Step) -> u8 {
    let project = sandbox.project();
    let fields = step.fields.to_string().replace("PROJECT", project.to_str().unwrap());
    let answer = session.event(step.event, serde_json::from_str(&fields).unwrap());
    match answer.code {
        Some(2) => 2,
        // Let go with a warning, and kept for the next event.
        _ if answer.err.contains("aops-hook is broken") => 2,
        _ if answer.out.contains("\"permissionDecision\":\"ask\"") => 1,
        Some(0) => 0,
        _ => panic!("{}: {answer:?}", step.event),
    }
}

#[track_caller]
fn is_never_freer(recording: &Recording, full: &Played, fault: Fault) -> Played {
    let faulty = play(recording, fault);
    for (n, (was, is)) in full.rulings.iter().zip(&faulty.rulings).enumerate() {
        let step = &recording.steps[n];
        // The notification that tells a lost end is let in, and what it tells holds from the next event on.
        if step.fields["prompt"].as_str().is_some_and(|prompt| prompt.starts_with("<task-")) {
            continue;
        }
        if let (Some(was), Some(is)) = (was, is) {
            if is > was {
                // It is held by now: from here on other calls are made than in the whole session.
                break;
            }
            assert!(is == was, "{fault:?}: {n} {} {}: {was} became {is}", step.event, step.fields);
        }
    }
    faulty
}

/// Events whose absence changes what we know of the session.
const MISSED: [&str; 5] = ["PreToolUse", "PostToolUse", "SubagentStart", "SubagentStop", "Stop"];

/// Whether the record says that something is missing.
fn tells(entries: &[Value]) -> bool {
    entries.iter().any(|entry| {
        let with = &entry["with"];
        let why = with["reason"].as_str().unwrap_or_default();
        let unreported = why == NO_EFFECT || why == UNREPORTED;
        entry["type"] == "violation"
            || unreported
            || !with["unproven"].is_null()
            || with["what"]["agent_stopped"]["uncounted"] == true
    })
}

/// Of these one is left out in CI; `tests/long-run` leaves out each.
const SAMPLE: usize = 7;

/// Every so many'th event is left out once.
fn events_are_missed(recording: &Recording, every: usize) {
    let full = play(recording, Fault::Nothing);
    assert!(!tells(&full.entries), "{:#?}", full.entries);
    for (n, step) in recording.steps.iter().enumerate().skip(recording.steps.len() % every).step_by(every) {
        // Without the hook of a prompt the client drops the prompt.
        if full.rulings[n].is_none() || step.event == "UserPromptSubmit" {
            continue;
        }
        let faulty = is_never_freer(recording, &full, Fault::Event(n));
        let ran = step.event != "PreToolUse" || full.rulings[n] == Some(0);
        // A turn that goes on ends with a later Stop.
        let next = recording.steps.get(n + 1).map_or("", |next| next.event);
        let ran = ran && (step.event != "Stop" || matches!(next, "SessionEnd" | "UserPromptSubmit"));
        // The last event of all has none after it that could notice.
        let noticed = n + 1 < recording.steps.len();
        if MISSED.contains(&step.event) && ran && noticed {
            assert!(
                tells(&faulty.entries),
                "{n} {} is missing, and nothing says so: {}",
                step.event,
                step.fields
            );
        }
    }
}

fn plan(workflow: &str) -> Value {
    json!({"workflow": workflow, "intent": "i", "task": "new", "acceptance_criteria": ["c"], "steps": ["s"]})
}

fn reflection() -> Value {
    json!({"reflection": {"request": "r", "guidance_received": "g", "followed": "Yes", "outcome": "success",
        "accomplishment": "a", "root_cause": "none", "proposed_change": "none"}})
}

fn whole_loop() -> Recording {
    Recording::new("audit.rate = 0\n")
        .prompt("p1", "add a feature")
        .agent("h1", "prompt-hydrator", &plan("feature-dev"))
        .agent("c1", "critic", &json!({"verdict": "PROCEED", "acceptance_criteria": ["c"], "problems": []}))
        .write("w1", "a.txt")
        .stops()
        .agent("q1", "qa-verifier", &json!({"verdict": "VERIFIED", "issues": []}))
        .agent("f1", "framework", &reflection())
        .bash("b1", "git add -A && git commit -q -m x && git push -q")
        .stops()
        .prompt("p2", "and another")
        .write("w2", "b.txt")
}

fn audits() -> Recording {
    Recording::new("[audit]\nrate = 1\ngrace = 0\n")
        .prompt("p1", "add a file")
        .agent("h1", "prompt-hydrator", &plan("minor-edit"))
        .write("w1", "a.txt")
        .write("w2", "b.txt")
        .agent("c1", "custodiet", &json!({"verdict": "OK"}))
        .write("w3", "c.txt")
        .agent("c2", "custodiet", &json!({"verdict": "BLOCK", "violation": "it left the plan"}))
        .write("w4", "d.txt")
        .prompt("p2", "go on")
}

fn background() -> Recording {
    Recording::new("audit.rate = 0\n")
        .prompt("p1", "add a file")
        .agent_behind("h1", "prompt-hydrator", &plan("minor-edit"))
        .write("w1", "a.txt")
        .agent_behind("c1", "custodiet", &json!({"verdict": "BLOCK", "violation": "it left the plan"}))
        .write("w2", "b.txt")
        .stops()
}

/// The fourth file is too much.
fn small_edits() -> Recording {
    Recording::new("audit.rate = 0\nsmall.lines = 3\n[mode]\nlevel = \"loop\"\n")
        .prompt("p1", "three files")
        .write("w1", "a.txt")
        .write("w2", "b.txt")
        .write("w3", "c.txt")
        .write("w4", "d.txt")
        .agent("h1", "prompt-hydrator", &plan("minor-edit"))
        .write("w5", "e.txt")
        .stops()
}

fn interrupts() -> Recording {
    Recording::new("audit.rate = 0\n[mode]\nlevel = \"loop\"\n")
        .prompt("p1", "a feature")
        .agent("h1", "prompt-hydrator", &plan("minor-edit"))
        .write("w1", "a.txt")
        .write("w2", "b.txt")
        .interrupted()
        .prompt("p2", "fix the typo")
        .write("w3", "c.txt")
        .stops()
        .event("SessionEnd", json!({"reason": "other"}))
}

#[test]
fn no_event_of_the_whole_loop_can_be_missed_unseen() {
    events_are_missed(&whole_loop(), SAMPLE);
}

#[test]
fn no_event_of_an_audit_can_be_missed_unseen() {
    events_are_missed(&audits(), SAMPLE);
}

#[test]
fn no_event_of_background_agents_can_be_missed_unseen() {
    events_are_missed(&background(), SAMPLE);
}

#[test]
fn no_event_of_small_edits_can_be_missed_unseen() {
    events_are_missed(&small_edits(), SAMPLE);
}

#[test]
fn no_event_of_an_interrupted_task_can_be_missed_unseen() {
    events_are_missed(&interrupts(), SAMPLE);
}

/// Every so many'th file of ours is removed once at each of these places.
fn files_are_missed(recording: &Recording, places: &[usize], every: usize) {
    let full = play(recording, Fault::Nothing);
    for at in places {
        for which in (0..FILES).step_by(every) {
            is_never_freer(recording, &full, Fault::File(*at, which));
        }
    }
}

#[test]
fn no_file_can_be_missed() {
    let audits = audits();
    files_are_missed(&audits, &[audits.steps.len() / 2], 3);
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn none_of_all_events_and_files_can_be_missed() {
    for recording in [whole_loop(), audits(), background(), small_edits(), interrupts()] {
        events_are_missed(&recording, 1);
    }
    for recording in [audits(), small_edits()] {
        files_are_missed(&recording, &[recording.steps.len() / 2, recording.steps.len() - 3], 1);
    }
}
