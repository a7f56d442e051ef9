//! `export`: JSON lines, CSV, and spans taken by a receiver that holds them to the OTLP encoding.

mod receiver;

use crate::insights::{insights, lay_transcript, whole_loop};
use crate::support::Sandbox;
use receiver::{Receiver, Span};
use serde_json::{Value, json};

#[test]
fn jsonl_has_every_entry_and_the_insights() {
    let sandbox = Sandbox::new();
    let session = whole_loop(&sandbox);
    session.stop("Done.").said(&["there is no git repository here"]);
    let said = sandbox.person(&["export", "--format", "jsonl"]);
    let lines: Vec<Value> = said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["insights"], insights(&sandbox, &session));
    let entries: Vec<Value> = lines[1..].iter().map(|line| line["entry"].clone()).collect();
    assert_eq!(entries, session.entries());
    assert!(lines.iter().all(|line| line["session_id"] == session.id));
}

#[test]
fn csv_has_a_row_a_session() {
    let sandbox = Sandbox::new();
    let session = whole_loop(&sandbox);
    session.stop("Done.").said(&["there is no git repository here"]);
    lay_transcript(&sandbox, "11111111-0000-4000-8000-000000000000");
    let said = sandbox.person(&["export", "--format", "csv"]);
    let rows: Vec<Vec<&str>> = said.out.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 3);
    let at = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    let row = rows.iter().find(|row| row[0] == session.id).unwrap();
    assert_eq!((row[at("outcome")], row[at("refusals")], row[at("qa")]), ("success", "2", "VERIFIED"));
    let other = rows.iter().find(|row| row[0].starts_with("1111")).unwrap();
    assert_eq!((other[at("output_tokens")], other[at("cost_usd")]), ("171", "0.00767"));
    sandbox.person(&["export"]).failed(2, &["--format"]);
    sandbox.person(&["export", "--format", "xml"]).failed(2, &["jsonl, csv, otlp"]);
    let astray = sandbox.person(&["export", "--format", "csv", "--endpoint", "http://127.0.0.1:1"]);
    astray.failed(2, &["--format otlp"]);
}

#[test]
fn spans_reach_a_collector_and_hang_together() {
    let sandbox = Sandbox::new();
    let session = whole_loop(&sandbox);
    lay_transcript(&sandbox, &session.id);
    let inside = session.call("Read", json!({"file_path": "/x"})).by("a9", "checker");
    let _ = session.event("SubagentStart", json!({"agent_id": "a9", "agent_type": "checker"}));
    session.pre(&inside).silent();
    session.post(&inside).silent();
    session.stop("Done.").said(&["there is no git repository here"]);
    let receiver = Receiver::new();
    let said = sandbox.person(&["export", "--format", "otlp", "--endpoint", &receiver.url(), "--json"]).json();
    let spans = receiver.spans();
    assert_eq!((&said["sessions"], &said["spans"]), (&json!(1), &json!(spans.len())));
    let named = |name: &str| spans.iter().filter(|span| span.name == name).collect::<Vec<&Span>>();
    let root = named("invoke_agent claude-code")[0];
    assert!(root.parent.is_none() && root.error.is_none());
    let wanted = [
        ("gen_ai.operation.name", json!("invoke_agent")),
        ("gen_ai.provider.name", json!("anthropic")),
        ("gen_ai.conversation.id", json!(session.id)),
        ("gen_ai.request.model", json!("claude-opus-5-5")),
        ("gen_ai.usage.input_tokens", json!(2000)),
        ("gen_ai.usage.output_tokens", json!(171)),
        ("gen_ai.usage.cache_read.input_tokens", json!(1000)),
        ("gen_ai.usage.cache_creation.input_tokens", json!(50)),
        ("aops.outcome", json!("success")),
        ("aops.cost_usd", json!(0.00767)),
    ];
    for (name, value) in wanted {
        assert_eq!(root.attributes.get(name), Some(&value), "{name}: {root:?}");
    }
    for span in &spans {
        assert_eq!(span.trace, root.trace);
        assert!(span.from <= span.to && root.from <= span.from && span.to <= root.to, "{span:?} in {root:?}");
        let parent = span.parent.as_ref().map(|id| spans.iter().find(|other| other.id == *id));
        assert!(parent.is_none_or(|found| found.is_some()), "an orphan: {span:?}");
    }
    let mut ids: Vec<&String> = spans.iter().map(|span| &span.id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), spans.len());
    assert_eq!(named("phase hydrate").len(), 1);
    assert_eq!(named("phase hydrate")[0].parent.as_ref(), Some(&root.id));
    assert_eq!(named("invoke_agent qa-verifier").len(), 2);
    let writes = named("execute_tool Write");
    let denied = writes.iter().find(|span| span.error.is_some()).unwrap();
    assert_eq!(
        (&denied.attributes["aops.gate"], &denied.attributes["error.type"]),
        (&json!("sandbox"), &json!("denied"))
    );
    assert_eq!(writes.len(), 2);
    assert_eq!(named("execute_tool Bash")[0].attributes["error.type"], "tool_error");
    let read = named("execute_tool Read")[0];
    assert_eq!(read.parent.as_ref(), Some(&named("invoke_agent checker")[0].id), "inside its agent");
    assert_eq!(read.attributes["gen_ai.tool.call.id"], json!(inside.id));
    // Sent again: the same trace.
    let _ = sandbox.person(&["export", "--format", "otlp", "--endpoint", &receiver.url(), "--json"]).json();
    assert_eq!(receiver.spans().len(), spans.len() * 2);
    assert!(receiver.spans().iter().all(|span| spans.iter().any(|known| known.id == span.id)));
}

#[test]
fn a_collector_that_is_not_there_or_refuses_is_told() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let _ = session.start("startup");
    let to = |url: &str| sandbox.person(&["export", "--format", "otlp", "--endpoint", url]);
    to("http://127.0.0.1:1").failed(1, &["is not there", "hint: does a collector listen"]);
    to("https://example.org").failed(2, &["http://", "a collector on this machine"]);
    sandbox.person(&["export", "--format", "otlp"]).failed(2, &["--endpoint http://127.0.0.1:4318"]);
    let receiver = Receiver::refusing();
    to(&receiver.url()).failed(1, &["answered 400", "too many"]);
}
