//! `schemas/`: made from the stored types themselves (the insights' by hand), kept current, and held against
//! real ledgers and states.
//!
//! Samples of facts and states are made from the types (`schemas/made.rs`), so a new field is in them, and
//! the schemas are stale until they are written anew.

mod infer;
mod made;
pub(crate) mod samples;
pub(crate) mod validate;
mod vectors;

use crate::attest::attested_session;
use crate::faults::{self, LEDGER, STATE, Workshop, passed};
use crate::support::Sandbox;
use crate::undo::hand::Hand;
use aops_core::insight::document::Insights;
use aops_core::model::call::CallState;
use aops_core::model::named::Stored;
use aops_core::session::fact::{Fact, Staged, TaskChosen, TaskMove};
use aops_core::session::memory::{ModeAsked, RunStep};
use aops_core::session::state::State;
use aops_core::text;
use aops_ledger::stored::canonical;
use infer::{Shape, object};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use validate::validate;

const AGAIN: &str = "write it anew with `AOPS_WRITE_SCHEMAS=1 cargo test --test it schemas`";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas")
}

fn titled(name: &str, about: &str, mut schema: Value, definitions: Value) -> Value {
    let top = schema.as_object_mut().unwrap();
    top.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    top.insert("title".to_owned(), json!(name));
    top.insert("description".to_owned(), json!(about));
    if definitions != json!({}) {
        top.insert("$defs".to_owned(), definitions);
    }
    schema
}

fn state_schema() -> Value {
    let about = "What a person or another program may know of a session. Derived from the ledger, which commits to it.";
    titled("session-state.json, version 1", about, Shape::of(&samples::states()), json!({}))
}

/// The outcome of a phase, in the entry that ended it.
fn phase_end() -> Value {
    let outcomes = ["PASS", "ASK_USER", "INTERVENTION_REQUIRED", "HALT"];
    json!({
        "type": "object", "additionalProperties": false, "required": ["outcome", "phase"],
        "properties": {"outcome": {"enum": outcomes}, "phase": {"type": "string"}},
    })
}

/// The frame of every entry, and what each type of entry holds.
fn entry_schema() -> Value {
    let digest = || json!({"type": "string", "pattern": infer::DIGEST});
    let mut frame = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["_digest", "prev_entry_digest", "sequence_number", "trace_id", "ts", "type", "with"],
        "properties": {
            "_digest": digest(), "prev_entry_digest": digest(), "state_digest": digest(),
            "sequence_number": {"type": "integer", "minimum": 1},
            "trace_id": {"type": "string"}, "ts": {"type": "string", "pattern": infer::MOMENT},
            "type": {"type": "string"}, "with": {"type": "object"},
        },
    });
    let (mut definitions, mut kinds) = (json!({}), Vec::new());
    for (kind, facts) in samples::facts() {
        let mut held = Shape::of(&facts);
        // The commit mark of the last entry in a batch.
        held["properties"]["working_digest"] = digest();
        held["properties"]["ended"] = phase_end();
        held["properties"]["also_ended"] = phase_end();
        held["properties"]["entered"] = json!({"type": "string"});
        definitions[kind] = held;
        let with = json!({"$ref": format!("#/$defs/{kind}")});
        kinds.push(json!({"properties": {"type": {"const": kind}, "with": with}}));
    }
    frame["oneOf"] = kinds.into();
    let about = "One line of ledger.jsonl. A batch is committed by its last entry, which carries `state_digest` and `working_digest`.";
    titled("an entry of the ledger, format 2", about, frame, definitions)
}

fn checkpoint_schema() -> Value {
    let about = "The state of a run or session before (PRE) or after (POST) a phase, with the files of its working tree.";
    let mut schema = Shape::of(&samples::checkpoints());
    // Of the loop in a session, a step's id in a run.
    schema["properties"]["phase"] = json!({"type": "string"});
    schema["properties"]["schema"] = json!({"type": "integer", "const": 2});
    titled("a checkpoint, version 2", about, schema, json!({}))
}

/// Written by hand; `the_insights_schema_is_of_the_type` holds it against the type.
pub(crate) fn insights_schema() -> Value {
    let text = fs::read_to_string(folder().join("insights.schema.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the one switch of the tests: write instead of compare")]
fn writing() -> bool {
    std::env::var_os("AOPS_WRITE_SCHEMAS").is_some()
}

#[test]
fn schemas_are_current() {
    let all = [
        ("session-state", state_schema()),
        ("ledger-entry", entry_schema()),
        ("checkpoint", checkpoint_schema()),
    ];
    for (name, schema) in all.into_iter().chain(execution_schemas()) {
        let path = folder().join(format!("{name}.schema.json"));
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if writing() {
            fs::write(&path, &text).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == text, "schemas/{name}.schema.json is stale: {AGAIN}");
    }
}

#[test]
fn the_insights_schema_is_of_the_type() {
    let schema = insights_schema();
    let insights =
        Insights { outcome: Stored::of("partial"), date: "2026-01-13".to_owned(), ..Insights::new() };
    let mut value = serde_json::to_value(insights).unwrap();
    let mut required: Vec<&str> =
        schema["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    required.sort_unstable();
    assert_eq!(object(&value).keys().collect::<Vec<_>>(), required);
    assert_eq!(object(&schema["properties"]).keys().collect::<Vec<_>>(), required);
    value["reflection"] = json!({"Followed": "Partial - the tests came late", "extra": "kept"});
    validate(&schema, &value).unwrap();
    value["outcome"] = json!("great");
    assert!(validate(&schema, &value).is_err());
    value.as_object_mut().unwrap().remove("outcome");
    assert!(validate(&schema, &value).is_err());
}

/// The names of the resilience document: the state of a call, and aliases of the ledger's entry and of the
/// state that it commits to, which is what a session is recovered from.
fn execution_schemas() -> [(&'static str, Value); 3] {
    let states: Vec<&str> = CallState::ALL.into_iter().map(CallState::name).collect();
    let alias = |name: &str, about: &str, file: &str| titled(name, about, json!({"$ref": file}), json!({}));
    [
        (
            "tga/v1/execution_state",
            titled(
                "where a call stands",
                "PENDING to AUTHORIZED or DENIED, AUTHORIZED to EXECUTING, EXECUTING to COMPLETED or FAILED; nothing else.",
                json!({"type": "string", "enum": states}),
                json!({}),
            ),
        ),
        (
            "tga/v1/execution_log_entry",
            alias("an entry of the log", "One line of ledger.jsonl.", "../../ledger-entry.schema.json"),
        ),
        (
            "tga/v1/execution_checkpoint",
            alias(
                "what a session is recovered from",
                "session-state.json: its `digest` is SHA-256 over the canonical form, and the ledger commits to it.",
                "../../session-state.schema.json",
            ),
        ),
    ]
}

/// The plain serialisation is the canonical form, comes back, and a commit mark sorts last in it.
#[test]
fn facts_are_stored_in_their_canonical_form() {
    for (kind, all) in samples::facts() {
        for sample in all {
            let fact = Fact::read(kind, &sample.to_string())
                .unwrap_or_else(|| panic!("{kind} is not read: {sample}"));
            let (_, with) = fact.stored();
            assert_eq!(
                text::json::canonical(&text::json::read(&with).unwrap()),
                with,
                "{kind}: fields in sorted order"
            );
            let again =
                Fact::read(kind, &with).unwrap_or_else(|| panic!("{kind} does not come back: {with}"));
            assert_eq!(again.stored(), (kind, with.clone()));
            assert!(object(&sample).keys().all(|name| name.as_str() < "working_digest"), "{kind}: {with}");
        }
    }
}

/// The ledger commits to state and memory by a digest of their canonical form.
#[test]
fn the_state_is_stored_in_its_canonical_form() {
    for sample in samples::states() {
        let state: State = serde_json::from_str(&sample.to_string()).unwrap();
        let with = canonical(&state);
        assert_eq!(text::json::canonical(&text::json::read(&with).unwrap()), with, "fields in sorted order");
        assert_eq!(serde_json::from_str::<Value>(&with).unwrap(), sample, "it comes back");
    }
}

/// What they refer to is there, and the vectors use the states they name.
#[test]
fn the_resilience_documents_names_lead_somewhere() {
    let all = execution_schemas();
    let names = ["execution_state", "execution_log_entry", "execution_checkpoint"]
        .map(|name| format!("tga/v1/{name}"));
    assert_eq!(all.each_ref().map(|(name, _)| (*name).to_owned()), names, "where the document has them");
    let [(_, state), (_, entry), (_, checkpoint)] = all;
    for alias in [entry, checkpoint] {
        assert!(folder().join("tga/v1").join(alias["$ref"].as_str().unwrap()).is_file(), "{alias}");
    }
    let text =
        fs::read_to_string(folder().join("../test_vectors/tga/state_transition_vectors.json")).unwrap();
    for name in state["enum"].as_array().unwrap() {
        assert!(text.contains(&format!("\"{}\"", name.as_str().unwrap())), "{name}");
    }
}

/// Real files of real sessions, with every type of entry among them.
#[test]
fn real_ledgers_and_states_are_valid() {
    let workshop = Workshop::new();
    workshop.event("SessionStart", &json!({"source": "startup"})).unwrap();
    for stage in [Some(RunStep::default()), None] {
        let staged = Staged { run_id: "r".to_owned(), stage, task: "t".to_owned(), ..Staged::default() };
        workshop.say(Fact::Run(staged)).unwrap();
    }
    let asked = ModeAsked { asked: "strict".to_owned(), ..ModeAsked::default() };
    workshop.say(Fact::Mode(asked)).unwrap();
    let by = "a person".to_owned();
    let chosen = TaskChosen { alone: false, at: None, by, held: false, how: TaskMove::Drop };
    workshop.say(Fact::Task(chosen)).unwrap();
    for n in 0..260 {
        workshop.pre(&format!("call-{n}")).unwrap();
        workshop.post(&format!("call-{n}")).unwrap();
    }
    let sandbox = Sandbox::new();
    let session = everything(&sandbox);
    let mut kinds = std::collections::BTreeSet::new();
    for run in fs::read_dir(sandbox.project().join(".claude/checkpoints")).unwrap().flatten() {
        for file in fs::read_dir(run.path()).into_iter().flatten().flatten() {
            if run.file_name().to_str().unwrap().starts_with("run-") {
                let one = serde_json::from_slice(&fs::read(file.path()).unwrap()).unwrap();
                validate(&checkpoint_schema(), &one).unwrap_or_else(|wrong| panic!("{wrong}: {one:#}"));
                kinds.insert("a stored checkpoint".to_owned());
            }
        }
    }
    assert!(kinds.contains("a stored checkpoint"));
    let (schema, state_schema) = (entry_schema(), state_schema());
    let attended = Sandbox::new().with("CLAUDE_CODE_SESSION_ATTENDED", "1");
    let (_attested, with_commit) = attested_session();
    for folder in [workshop.folder(), session, with_questions(&attended), with_commit] {
        for entry in faults::entries(&fs::read(folder.join(LEDGER)).unwrap()) {
            validate(&schema, &entry).unwrap_or_else(|wrong| panic!("{wrong}: {entry}"));
            kinds.insert(entry["type"].as_str().unwrap().to_owned());
        }
        let state = serde_json::from_slice(&fs::read(folder.join(STATE)).unwrap()).unwrap();
        validate(&state_schema, &state).unwrap_or_else(|wrong| panic!("{wrong}: {state:#}"));
    }
    let known: Vec<&str> = samples::forms_of_facts().iter().map(|(kind, _)| *kind).collect();
    let missing: Vec<_> = known.iter().filter(|kind| !kinds.contains(**kind)).collect();
    assert!(missing.is_empty(), "no real entry of {missing:?}");
}

/// A session in which a person was asked and answered; its folder.
fn with_questions(sandbox: &Sandbox) -> PathBuf {
    let network = "[network]\nmode = \"ask\"\nallow = [\"docs.example\"]\n";
    sandbox.configure(&format!("tracker.command = \"none\"\nmode.level = \"guard\"\n{network}"));
    let session = sandbox.session();
    passed(&session.start("startup"));
    // Text from elsewhere.
    let page = session.call("WebFetch", json!({"url": "https://docs.example/x", "prompt": "x"}));
    session.pre(&page).silent();
    session.post(&page).silent();
    for line in ["git push --force", "git push origin --delete topic"] {
        let call = session.call("Bash", json!({"command": line}));
        assert_eq!(session.pre(&call).json()["hookSpecificOutput"]["permissionDecision"], "ask");
        if line == "git push --force" {
            session.post(&call).silent();
        }
    }
    passed(&session.stop("done"));
    session.folder()
}

/// A session in which a bit of everything happens; its folder.
fn everything(sandbox: &Sandbox) -> PathBuf {
    sandbox.put(".aops/config.toml", "[[check]]\nid = \"fine\"\non = \"commit\"\nrun = \"true\"\n");
    let session = sandbox.session();
    passed(&session.start("startup"));
    passed(&session.prompt("go"));
    passed(&sandbox.person(&["waive", "sandbox", "--for", "1m", "--reason", "a sample", "--yes"]));
    session.pre(&session.call("Bash", json!({"command": "git commit -m x"}))).silent();
    let report = "```aops\n{\"verdict\": \"PROCEED\", \"acceptance_criteria\": [], \"problems\": []}\n```";
    let agent = json!({"agent_id": "a1", "agent_type": "aops:critic"});
    passed(&session.begin_agent("a1", "aops:critic"));
    passed(&session.event("SubagentStop", faults::with(agent, &json!({"last_assistant_message": report}))));
    let failing = session.call("Bash", json!({"command": "false"}));
    session.pre(&failing).silent();
    session.fail(&failing, "exit 1").silent();
    session.post(&session.call("Read", json!({"file_path": "/never-asked"}))).silent();
    session.post(&session.call("TodoWrite", json!({"todos": [{"status": "completed"}]}))).silent();
    for verb in ["block", "clear-block"] {
        let arguments =
            [&[verb, &session.id][..], if verb == "block" { &["--reason", "stop"] } else { &["--yes"] }]
                .concat();
        let answer = sandbox.person(&arguments);
        assert_eq!(answer.code, Some(0), "{answer:?}");
    }
    passed(&session.prompt(". go on without the loop"));
    let id = format!("{}/PRE_execute_v1", session.id);
    assert_eq!(sandbox.person(&["checkpoint", "rollback", &id, "--yes"]).code, Some(0));
    let lost = sandbox.put("lost.log", "lost\n");
    let number = Hand::of(sandbox).overwriting("rm lost.log", &[&lost]).to_string();
    fs::remove_file(lost).unwrap();
    assert_eq!(sandbox.person(&["undo", &number, "--yes"]).code, Some(0));
    fs::remove_file(session.folder().join(STATE)).unwrap();
    passed(&session.stop("done"));
    passed(&session.end());
    session.folder()
}

/// The samples themselves are valid, and every kind of mistake in them is not.
#[test]
fn mistakes_are_seen() {
    let (state, checkpoint) = (state_schema(), checkpoint_schema());
    let held = samples::states().into_iter().map(|sample| (&state, sample));
    let held = held.chain(samples::checkpoints().into_iter().map(|sample| (&checkpoint, sample)));
    for (schema, sample) in held {
        validate(schema, &sample).unwrap_or_else(|wrong| panic!("{wrong}: {sample:#}"));
        for key in schema["required"].as_array().unwrap() {
            let mut less = sample.clone();
            less.as_object_mut().unwrap().remove(key.as_str().unwrap());
            assert!(validate(schema, &less).is_err(), "{key} may be missing");
        }
        for (key, value) in sample.as_object().unwrap() {
            let mut other = sample.clone();
            other[key] = if value.is_array() { json!({"x": 1}) } else { json!(["x"]) };
            let free = schema["properties"][key].get("type").is_none();
            assert!(free || validate(schema, &other).is_err(), "{key} may be anything");
        }
        assert!(
            validate(schema, &faults::with(sample, &json!({"unknown": 1}))).is_err(),
            "any key may be there"
        );
    }
    let entry = json!({"_digest": "0".repeat(64), "prev_entry_digest": "0".repeat(64), "sequence_number": 1,
        "trace_id": "x", "ts": "2026-01-13T10:00:00.123Z", "type": "unblock", "with": {"by": "a person"}});
    validate(&entry_schema(), &entry).unwrap();
    for (key, wrong) in [
        ("_digest", json!("0")),
        ("sequence_number", json!(0)),
        ("ts", json!("today")),
        ("type", json!("block")),
        ("type", json!("new")),
        ("with", json!({})),
    ] {
        let mut bad = entry.clone();
        bad[key] = wrong;
        assert!(validate(&entry_schema(), &bad).is_err(), "{bad}");
    }
}

#[test]
fn the_keys_of_the_contract_and_no_others() {
    let schema = state_schema();
    let keys = |schema: &Value| -> Vec<String> { object(&schema["properties"]).keys().cloned().collect() };
    let mut wanted =
        "session_id date started_at ended_at state hydration main_agent subagents insights schema phase sandbox \
        task audit stop policy_hash ledger digest"
            .split_whitespace()
            .collect::<Vec<_>>();
    wanted.sort_unstable();
    assert_eq!(keys(&schema), wanted);
    assert_eq!(schema["required"], json!(wanted), "every key is always there");
    let inner = |name: &str| keys(&schema["properties"][name]);
    assert_eq!(
        inner("state"),
        ["current_workflow", "custodiet_block_reason", "custodiet_blocked", "hydration_pending"]
    );
    assert_eq!(
        inner("hydration"),
        ["acceptance_criteria", "critic_verdict", "hydrated_intent", "original_prompt"]
    );
    assert_eq!(inner("main_agent"), ["current_task", "todos_completed", "todos_total"]);
}
