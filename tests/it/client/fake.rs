//! A fake client for tests of the run driver, and two tests that compare it with the real one.

use super::{Client, Run, script};
use crate::model::{Model, Turn};
use crate::support::Sandbox;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn program() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fake_client.py")
}

/// What a client did: the events its hooks got, its results for the model, refused Stops, and its last
/// record.
struct Behaviour {
    events: Vec<Value>,
    results: Vec<(String, bool)>,
    feedback: usize,
    last: Value,
}

/// A hook that writes down each event and then does `cases`: patterns of `EVENT:JSON`, with `$once` true the
/// first time.
fn observe(fake: bool, cases: &str, turns: &[Turn], work: fn(&Client) -> Run) -> Behaviour {
    let sandbox = Sandbox::new();
    let (log, done) = (sandbox.tmp().join("events"), sandbox.tmp().join("done"));
    let hook = format!(
        r#"event=$(cat); printf '%s\n' "$event" >> "{}"
        once() {{ [ ! -e "{done}" ] && touch "{done}"; }}
        case "$1:$event" in {cases} esac"#,
        log.display(),
        done = done.display()
    );
    script(&sandbox, &hook);
    let model = Model::new(turns.to_vec());
    let mut client = Client::unguarded(&sandbox, &model);
    if fake {
        client.program = program();
    }
    let run = work(&client);
    let events = fs::read_to_string(log).unwrap();
    let said = model.requests().last().unwrap().said_by("user");
    Behaviour {
        events: events.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
        results: model.tool_results().into_iter().map(|result| (result.text, result.is_error)).collect(),
        feedback: said.iter().filter(|text| text.starts_with("Stop hook feedback")).count(),
        last: run.result().clone(),
    }
}

fn keys(record: &Value) -> BTreeSet<&str> {
    record.as_object().unwrap().keys().map(String::as_str).collect()
}

/// The same events with the same values. The fake has no field that the real client does not have.
#[track_caller]
fn assert_alike(fake: &Behaviour, real: &Behaviour) {
    let names = |seen: &Behaviour| -> Vec<Value> {
        seen.events.iter().map(|event| event["hook_event_name"].clone()).collect()
    };
    assert_eq!(names(fake), names(real));
    for (fake, real) in fake.events.iter().zip(&real.events) {
        let unknown: Vec<_> = keys(fake).difference(&keys(real)).copied().collect();
        assert!(unknown.is_empty(), "{unknown:?} in {fake}\nthe real client: {real}");
        for key in
            ["tool_input", "tool_use_id", "tool_response", "error", "permission_mode", "prompt", "source"]
        {
            assert_eq!(fake[key], real[key], "{key} of {}", fake["hook_event_name"]);
        }
    }
    assert_eq!(fake.feedback, real.feedback);
    assert!(keys(&fake.last).is_subset(&keys(&real.last)), "{}\n{}", fake.last, real.last);
    assert_eq!(fake.last["subtype"], real.last["subtype"]);
}

fn bash(line: &str) -> Turn {
    Turn::call("Bash", json!({"command": line}))
}

/// A call that works, one that fails, one that is refused, and a Stop that is refused once.
#[test]
fn the_fake_client_behaves_like_the_real_one() {
    let cases = "PreToolUse:*forbidden*) echo not today >&2; exit 2;;
        Stop:*) if once; then echo go on >&2; exit 2; fi;;";
    let turns = [
        bash("echo one"),
        bash("echo two; exit 3"),
        bash("touch forbidden"),
        Turn::text("So."),
        Turn::text("Bye."),
    ];
    let [fake, real] = [true, false].map(|fake| {
        observe(fake, cases, &turns, |client| {
            let run = client.run("work");
            run.ended("Bye.");
            run
        })
    });
    assert_alike(&fake, &real);
    assert_eq!(fake.feedback, 1);
    assert_eq!(fake.results[..2], real.results[..2]);
    for seen in [&fake, &real] {
        assert!(seen.results[2].1 && seen.results[2].0.contains("not today"), "{:?}", seen.results);
    }
}

#[test]
fn the_fake_client_defers_a_call_like_the_real_one() {
    let answer = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"defer"}}"#;
    let cases = format!("PreToolUse:*) if once; then echo '{answer}'; fi;;");
    let turns = [bash("echo one"), Turn::text("Bye.")];
    let [fake, real] = [true, false].map(|fake| {
        observe(fake, &cases, &turns, |client| {
            let deferred = client.run("work");
            let call = &deferred.result()["deferred_tool_use"];
            assert_eq!((deferred.code, &call["id"]), (Some(0), &json!("toolu_000100")), "{deferred:?}");
            let run = client.launch(None, &["--resume", deferred.session_id()]);
            run.ended("Bye.");
            run
        })
    });
    assert_alike(&fake, &real);
    assert_eq!(fake.results, real.results);
}
