//! A fake client for tests of the run driver, and how it is kept honest.

use super::{Client, script};
use crate::model::{Model, Turn};
use crate::support::Sandbox;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn program() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fake_client.py")
}

/// What a client does in one session with a call that works, one that fails, one that is refused, and a Stop that is
/// refused once: the events its hooks get, what the model reads, and the last record of its stream.
struct Behaviour {
    events: Vec<Value>,
    results: Vec<(String, bool)>,
    feedback: Vec<String>,
    result: Value,
}

fn observe(fake: bool) -> Behaviour {
    let sandbox = Sandbox::new();
    let (log, stopped) = (sandbox.tmp().join("events"), sandbox.tmp().join("stopped"));
    let (log_path, stopped) = (log.display(), stopped.display());
    let hook = format!(
        r#"event=$(cat); echo "$event" >> "{log_path}"
        case "$1:$event" in
            PreToolUse:*forbidden*) echo not today >&2; exit 2;;
            Stop:*) [ -e "{stopped}" ] || {{ touch "{stopped}"; echo go on >&2; exit 2; }};;
        esac"#
    );
    script(&sandbox, &hook);
    let bash = |line: &str| Turn::call("Bash", json!({"command": line}));
    let turns = [
        bash("echo one"),
        bash("echo two; exit 3"),
        bash("touch forbidden"),
        Turn::text("So."),
        Turn::text("Bye."),
    ];
    let model = Model::new(turns);
    let mut client = Client::unguarded(&sandbox, &model);
    if fake {
        client.program = program();
    }
    let run = client.run("work");
    run.ended("Bye.");
    let events = fs::read_to_string(log).unwrap();
    let last = model.requests().last().unwrap().said_by("user");
    Behaviour {
        events: events.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
        results: model.tool_results().into_iter().map(|result| (result.text, result.is_error)).collect(),
        feedback: last.into_iter().filter(|text| text.starts_with("Stop hook feedback")).collect(),
        result: run.result().clone(),
    }
}

fn keys(record: &Value) -> BTreeSet<&str> {
    record.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn the_fake_client_behaves_like_the_real_one() {
    let (fake, real) = (observe(true), observe(false));
    let names = |seen: &Behaviour| -> Vec<Value> {
        seen.events.iter().map(|event| event["hook_event_name"].clone()).collect()
    };
    assert_eq!(names(&fake), names(&real));
    for (fake, real) in fake.events.iter().zip(&real.events) {
        let unknown: Vec<_> = keys(fake).difference(&keys(real)).copied().collect();
        assert!(unknown.is_empty(), "{unknown:?} in {fake}\nthe real client: {real}");
        for key in
            ["tool_input", "tool_use_id", "tool_response", "error", "permission_mode", "prompt", "source"]
        {
            assert_eq!(fake[key], real[key], "{key} of {}", fake["hook_event_name"]);
        }
    }
    assert_eq!(fake.feedback.len(), real.feedback.len());
    assert_eq!(fake.results[..2], real.results[..2]);
    let refused = |seen: &Behaviour| (seen.results[2].1, seen.results[2].0.contains("not today"));
    assert_eq!((refused(&fake), refused(&real)), ((true, true), (true, true)));
    assert!(keys(&fake.result).is_subset(&keys(&real.result)), "{}\n{}", fake.result, real.result);
    assert_eq!(fake.result["subtype"], real.result["subtype"]);
}
