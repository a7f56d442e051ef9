//! Insights: what a session came to, from ledger and transcript, by itself and when asked.

mod analyse;
mod large;
mod real;

use crate::schemas::{insights_schema, validate::validate};
use crate::support::{Sandbox, Session};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const EDIT: &str = r#"{"workflow": "minor-edit", "intent": "add a greeting", "task": "new",
    "acceptance_criteria": ["it greets", "it is tested"], "steps": ["write it"]}"#;
pub(crate) const REFLECTION: &str = r#"{"reflection": {"request": "a greeting", "guidance_received": "the plan", "followed": "Partial - the test came late",
    "outcome": "Success", "accomplishment": "greets the world", "root_cause": "none", "proposed_change": "write the test first"}}"#;

pub(crate) fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/transcripts").join(name);
    fs::read_to_string(path).unwrap()
}

/// The recorded session's transcript, as that of this session.
pub(crate) fn lay_transcript(sandbox: &Sandbox, session_id: &str) -> PathBuf {
    let agents = sandbox.sessions().join(session_id).join("subagents");
    fs::create_dir_all(&agents).unwrap();
    let path = sandbox.sessions().join(format!("{session_id}.jsonl"));
    fs::write(&path, fixture("main.jsonl")).unwrap();
    fs::write(agents.join("agent-ae678b8728222b844.jsonl"), fixture("subagent.jsonl")).unwrap();
    let meta = json!({"agentType": "checker", "description": "c", "toolUseId": "toolu_fake00003"});
    fs::write(agents.join("agent-ae678b8728222b844.meta.json"), meta.to_string()).unwrap();
    path
}

pub(crate) fn insights_file(sandbox: &Sandbox, session: &Session) -> PathBuf {
    let date = session.state()["date"].as_str().unwrap().to_owned();
    sandbox.data().join(format!("sessions/insights/{date}-{}.json", session.id))
}

#[track_caller]
pub(crate) fn insights(sandbox: &Sandbox, session: &Session) -> Value {
    let path = insights_file(sandbox, session);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let value: Value = serde_json::from_str(&text).unwrap();
    validate(&insights_schema(), &value).unwrap_or_else(|wrong| panic!("{wrong}: {value:#}"));
    value
}

/// A task from the prompt to its close, in a project without git.
pub(crate) fn whole_loop(sandbox: &Sandbox) -> Session<'_> {
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    session.write("early.txt").refused(&["plan"]);
    session.agent("prompt-hydrator", EDIT).silent();
    assert_eq!(session.write("src/hello.rs").code, Some(0));
    let failing = session.call("Bash", json!({"command": "cargo test"}));
    session.pre(&failing).silent();
    let _ = session.fail(&failing, "exit code 1");
    session.stop("Done.").refused(&["qa-verifier"]);
    assert!(!insights_file(sandbox, &session).exists(), "a refused stop is not the end of a turn");
    session.agent("aops:qa-verifier", r#"{"verdict": "ISSUES", "issues": ["no test"]}"#).silent();
    session.agent("qa-verifier", r#"{"verdict": "VERIFIED", "issues": []}"#).silent();
    session.agent("framework", REFLECTION).silent();
    session
}

#[test]
fn an_allowed_stop_writes_what_the_session_came_to() {
    let sandbox = Sandbox::new();
    let session = whole_loop(&sandbox);
    lay_transcript(&sandbox, &session.id);
    session.stop("Done.").silent();
    let found = insights(&sandbox, &session);
    let wanted = json!({
        "session_id": session.id, "project": "project", "outcome": "success", "summary": "greets the world",
        "accomplishments": ["greets the world"], "friction_points": ["no test"],
        "proposed_changes": ["write the test first"], "workflows_used": ["minor-edit"],
        "subagents_invoked": ["prompt-hydrator", "qa-verifier", "framework"], "subagent_count": 4,
        "custodiet_blocks": 0, "stop_reason": "end_turn", "critic_verdict": null, "qa_verdict": "VERIFIED",
        "acceptance_criteria_count": 2, "user_prompts": ["add a greeting"],
        "gates": {"sandbox": 1, "qa": 1}, "tool_calls": {"completed": 5, "failed": 1, "denied": 1},
        "files_changed": ["src/hello.rs"], "learning_observations": [], "skill_compliance": null,
        "context_gaps": [], "user_mood": null, "conversation_flow": [], "schema": 1, "ended_at": null,
    });
    for (name, value) in wanted.as_object().unwrap() {
        assert_eq!(&found[name], value, "{name} in {found:#}");
    }
    assert_eq!(found["reflection"]["followed"], "Partial - the test came late");
    assert_eq!(found["reflection"].as_object().unwrap().len(), 7);
    let drawn = found["audits"]["drawn"].as_u64().unwrap();
    assert!(drawn <= 2 && found["audits"]["done"] == 0, "{found:#}");
    let state = session.state();
    assert_eq!(state["insights"], found, "the state says the same");
    let entries = session.entries();
    assert_eq!(entries.last().unwrap()["type"], "insights");
    assert_eq!(found["ledger_head"], entries[entries.len() - 2]["_digest"], "all of it but itself");
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
    session.end().silent();
    let found = insights(&sandbox, &session);
    assert_eq!((&found["stop_reason"], &found["outcome"]), (&json!("end_turn"), &json!("success")));
    assert_eq!(found["end_reason"], "other", "the session's end has a field of its own");
    assert_eq!(found["ended_at"], session.state()["ended_at"]);
}

/// Every number is in the recording; the client's own sum over it is in its last record.
#[test]
fn tokens_count_once_per_message_with_subagents() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let _ = session.start("startup");
    lay_transcript(&sandbox, &session.id);
    session.end().silent();
    let found = insights(&sandbox, &session);
    let last = fixture("main.jsonl").lines().last().unwrap().to_owned();
    let client: Value = serde_json::from_str(&last).unwrap();
    let theirs = &client["modelUsage"]["claude-opus-5-5"];
    let ours = &found["tokens"]["by_model"]["claude-opus-5-5"];
    for (our, their) in [
        ("input", "inputTokens"),
        ("output", "outputTokens"),
        ("cache_read", "cacheReadInputTokens"),
        ("cache_write", "cacheCreationInputTokens"),
    ] {
        assert_eq!(ours[our], theirs[their], "{our}: {ours} against {theirs}");
    }
    assert_eq!(found["cost_usd"], json!(0.00767), "the client says {}", client["totalCostUSD"]);
    assert_eq!(ours["messages"], 5);
    let agents = &found["tokens"]["by_agent"];
    assert_eq!((&agents["main"]["input"], &agents["checker"]["input"]), (&json!(340), &json!(610)));
    assert_eq!((&agents["main"]["output"], &agents["checker"]["output"]), (&json!(110), &json!(61)));
    let phases = found["tokens"]["by_phase"].as_object().unwrap();
    assert_eq!(phases.values().map(|sum| sum["input"].as_u64().unwrap()).sum::<u64>(), 950);
}

#[test]
fn a_model_without_a_price_has_none_and_a_price_can_be_given() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let _ = session.start("startup");
    let path = lay_transcript(&sandbox, &session.id);
    fs::write(&path, fixture("main.jsonl").replace("claude-opus-5-5", "someones-model")).unwrap();
    fs::remove_dir_all(path.with_extension("")).unwrap();
    let said = sandbox.person(&["insights", &session.id, "--json"]).json();
    let model = &said["tokens"]["by_model"]["someones-model"];
    assert_eq!(
        (&model["input"], &model["cost_usd"], &said["cost_usd"]),
        (&json!(340), &Value::Null, &Value::Null)
    );
    sandbox.person(&["insights", &session.id]).said(&["someones-model: 340 in", "no price known"]);
    let config = sandbox.home().join(".config/aops");
    fs::create_dir_all(&config).unwrap();
    let price = json!({"date": "2026-01-01", "models": {"someones-model":
        {"input": 1, "output": 10, "cache_read": 0.5, "cache_write_5m": 2, "cache_write_1h": 2}}});
    fs::write(config.join("prices.json"), price.to_string()).unwrap();
    let said = sandbox.person(&["insights", &session.id, "--json"]).json();
    // 340 + 110 * 10 + 1000 * 0.5 + 50 * 2 millionths.
    assert_eq!(said["cost_usd"], json!(0.00204));
    fs::write(config.join("prices.json"), "{").unwrap();
    sandbox.person(&["insights", &session.id]).failed(2, &["prices.json"]);
    session.stop("bye").said(&[
        "insights were not written",
        "prices.json",
        "`aops-hook insights` writes them",
    ]);
}

#[test]
fn outcomes() {
    let sandbox = Sandbox::new();
    let asked = sandbox.session();
    let _ = asked.start("startup");
    let _ = asked.prompt("what is this?");
    asked.stop("A project.").silent();
    assert_eq!(insights(&sandbox, &asked)["outcome"], "partial", "nobody verified anything");

    let halted = sandbox.session();
    let _ = halted.start("startup");
    let _ = halted.prompt("add a greeting");
    halted.agent("prompt-hydrator", EDIT).silent();
    let _ = halted.agent("custodiet", r#"{"verdict": "BLOCK", "violation": "out of scope"}"#);
    let _ = halted.stop("Halted.");
    let found = insights(&sandbox, &halted);
    assert_eq!((&found["outcome"], &found["custodiet_blocks"]), (&json!("failure"), &json!(1)));
    assert_eq!(
        (&found["stop_reason"], &found["friction_points"]),
        (&json!("halted"), &json!(["out of scope"]))
    );

    sandbox.person(&["insights", &halted.id]).said(&["blocked   out of scope", "verdicts  custodiet BLOCK"]);
    let words = sandbox.person(&["report"]).out;
    assert!(words.contains(&format!("halted    1 session: {}", &halted.id[..8])), "{words}");
    assert!(words.contains("custodiet BLOCK 1") && words.contains("blocks    custodiet 1"), "{words}");

    let broken = sandbox.session();
    let _ = broken.start("startup");
    let _ = broken.event("StopFailure", json!({"error": "rate_limit"}));
    assert_eq!(insights(&sandbox, &broken)["stop_reason"], "rate_limit");
    let rows = sandbox.person(&["sessions", "--json"]).json();
    let outcomes: BTreeMap<String, Value> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["session_id"].as_str().unwrap().to_owned(), row["outcome"].clone()))
        .collect();
    assert_eq!(outcomes[&halted.id], "failure");
    assert_eq!(outcomes[&asked.id], "partial");
}

/// The client was killed: the next session of the project, or a person, writes it down.
#[test]
fn a_crashed_session_is_written_later() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    let path = insights_file(&sandbox, &session);
    assert!(!path.exists());
    let said = sandbox.person(&["insights", "--json"]).json();
    assert_eq!((&said["outcome"], &said["stop_reason"]), (&json!("partial"), &Value::Null));
    assert!(path.exists());
    let count = session.entries().len();
    let _ = sandbox.person(&["insights", "--json"]).json();
    assert_eq!(session.entries().len(), count, "nothing new, nothing recorded");
    assert_eq!(session.state()["insights"]["user_prompts"], json!(["add a greeting"]));

    let lost = sandbox.session();
    let _ = lost.start("startup");
    let ledger = fs::File::options().append(true).open(lost.folder().join("ledger.jsonl")).unwrap();
    let long_ago = ledger.metadata().unwrap().modified().unwrap() - std::time::Duration::from_hours(1);
    ledger.set_modified(long_ago).unwrap();
    let _ = sandbox.session().start("startup");
    let path = insights_file(&sandbox, &lost);
    sandbox.wait_until("they were written", || path.exists());
}

#[test]
fn a_session_with_only_a_transcript() {
    let sandbox = Sandbox::new();
    lay_transcript(&sandbox, "e7440acf-797d-41f5-9fe6-f3e527e55888");
    let said = sandbox.person(&["insights", "e7440acf", "--json"]).json();
    validate(&insights_schema(), &said).unwrap();
    assert_eq!(said["user_prompts"], json!(["write a transcript"]));
    assert_eq!(said["tool_calls"], json!({"completed": 4, "failed": 0, "denied": 0}));
    assert_eq!((&said["subagents_invoked"], &said["ledger_head"]), (&json!(["checker"]), &Value::Null));
    assert_eq!((&said["date"], &said["project"]), (&json!("2026-11-15"), &json!("project")));
    let file = sandbox.data().join("sessions/insights/2026-11-15-e7440acf-797d-41f5-9fe6-f3e527e55888.json");
    assert!(file.exists());
    sandbox.person(&["insights", "nobody"]).failed(2, &["no session `nobody`"]);
}

#[test]
fn batch_writes_all_of_them() {
    let sandbox = Sandbox::new();
    let session = whole_loop(&sandbox);
    lay_transcript(&sandbox, "11111111-0000-4000-8000-000000000000");
    let said = sandbox.person(&["insights", "batch", "--json"]).json();
    assert_eq!((&said["written"], &said["failed"]), (&json!(2), &json!([])), "{said}");
    assert!(insights_file(&sandbox, &session).exists());
    sandbox.person(&["insights", "batch", "--since", "1h"]).said(&["insights of 2 sessions"]);
    sandbox.person(&["insights", "batch", "--since", "2099-01-01"]).said(&["insights of 0 sessions"]);
    sandbox.person(&["insights", "batch", "--since", "soon"]).failed(2, &["is not a time", "7d"]);
    sandbox.person(&["insights", "--since", "7d"]).failed(2, &["insights batch"]);
}

/// An id over 128 characters is recorded as its digest; a file's name has sixteen digits of it, like that of
/// any odd id.
#[test]
fn long_ids_have_short_file_names() {
    for long in [65, 128, 129, 300] {
        let sandbox = Sandbox::new();
        let session = Session::new(&sandbox, &"x".repeat(long));
        let event = |name: &str, fields: Value| {
            let mut payload = session.payload(name, fields);
            payload["transcript_path"] = json!("");
            sandbox.hook(name, &payload)
        };
        let _ = event("SessionStart", json!({"source": "startup"}));
        event("SessionEnd", json!({"reason": "other"})).silent();
        let items = fs::read_dir(sandbox.data().join("sessions/insights")).unwrap().flatten();
        let names: Vec<_> = items.map(|item| item.file_name().into_string().unwrap()).collect();
        assert_eq!(names.len(), 1, "{names:?}");
        assert!(names[0].ends_with(&format!("-{}.json", session.hashes()[1])), "{long}: {names:?}");
        let _ = sandbox.person(&["insights", &session.id, "--json"]).json();
    }
}

#[test]
fn files_are_private_and_ids_harmless() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "../../a b");
    let _ = session.start("startup");
    session.end().silent();
    let folder = sandbox.data().join("sessions/insights");
    let names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .flatten()
        .map(|item| item.file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.len(), 1, "{names:?}");
    assert!(names[0].ends_with(&format!("-{}.json", session.hashes()[1])), "{names:?}");
    assert_eq!(fs::metadata(folder.join(&names[0])).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
}

/// Any command may have put a link in the place of a folder that was not there yet.
#[test]
fn a_link_in_the_place_of_the_folder_leads_nowhere() {
    for planted in ["sessions/insights", "sessions"] {
        let sandbox = Sandbox::new();
        let (link, target) = (sandbox.data().join(planted), sandbox.config().join("aops"));
        fs::create_dir_all(&target).unwrap();
        let _ = fs::remove_dir_all(&link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let session = Session::new(&sandbox, "22222222-0000-4000-8000-000000000000");
        let _ = session.start("startup");
        let _ = session.end();
        sandbox.person(&["insights", &session.id]).failed(1, &["a symlink is not followed"]);
        let is_made = |folder: &std::path::Path| {
            let items = fs::read_dir(folder).into_iter().flatten().flatten();
            items.map(|item| item.file_name().into_string().unwrap()).any(|name| name.contains(&session.id))
        };
        assert!(!is_made(&target) && !is_made(&target.join("insights")), "{planted}");
        // The way out.
        fs::remove_file(&link).unwrap();
        sandbox.person(&["insights", &session.id]).said(&["sessions/insights"]);
    }
}

/// Nobody said anything, and the field is there all the same.
#[test]
fn a_summary_is_never_null() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let _ = session.start("startup");
    session.end().silent();
    assert_eq!(insights(&sandbox, &session)["summary"], "session completed");
}
