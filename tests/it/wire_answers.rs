//! The hook's answers, to the byte: every kind of event with every ruling, and every recorded event of the
//! real client.

use crate::support::Sandbox;
use aops_core::host::claude::wire::answer::{Answer, fail, spell};
use aops_core::model::error::{Code, Failure};
use aops_core::model::event::{EVENTS, EventKind};
use aops_core::model::gate_id::GateId;
use aops_core::model::verdict::{Ruling, Verdict};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The rows of the matrix.
fn said(kind: EventKind) -> Vec<(&'static str, Answer)> {
    let reason = "why not\nhint: do this";
    let ruled = |ruling| Verdict {
        ruling,
        gate: Some(GateId::Rules),
        reason: reason.to_owned(),
        ..Verdict::default()
    };
    let deny = Verdict::deny(GateId::Rules, reason);
    let context = Verdict::context(GateId::Block, "for the model");
    let notice = Verdict::notice(GateId::Block, "for the user");
    let cases = [
        ("pass", Verdict::pass()),
        ("allow", ruled(Ruling::Allow)),
        ("ask", ruled(Ruling::Ask)),
        ("defer", ruled(Ruling::Defer)),
        ("deny", deny.clone()),
        ("deny and halt", Verdict::halt(GateId::Block, reason)),
        ("context", context.clone()),
        ("notice", notice.clone()),
        ("deny, context, notice", deny.join(context).join(notice)),
    ];
    let mut rows: Vec<_> = cases.map(|(name, verdict)| (name, spell(kind, &verdict))).into();
    let broken = Failure::storage("ledger.jsonl", "No space left on device");
    rows.push(("broken", fail(kind, &broken)));
    rows
}

#[test]
fn every_event_with_every_ruling() {
    let mut text = String::new();
    let unknown = EventKind::of("SomethingNew").row();
    for kind in EVENTS.iter().chain([unknown]) {
        let name = if kind.name.is_empty() { "(an unknown event)" } else { kind.name };
        for (case, Answer { stdout, stderr, exit }) in said(kind.kind) {
            writeln!(text, "{name}: {case}: exit {exit}").unwrap();
            for (stream, lines) in [("out", stdout), ("err", stderr)] {
                for line in lines.lines() {
                    writeln!(text, "    {stream} {line}").unwrap();
                }
            }
        }
        text.push('\n');
    }
    insta::assert_snapshot!(text);
}

/// The rules behind the snapshot, so that accepting a wrong one is noticed.
#[test]
fn the_wire_forms_of_the_contract() {
    for kind in EVENTS {
        for (case, answer) in said(kind.kind) {
            let at = format!("{} {case}: {answer:?}", kind.name);
            let json: Value = if answer.stdout.is_empty() {
                Value::Null
            } else {
                serde_json::from_str(&answer.stdout).expect(&at)
            };
            let refusing = answer.exit == 2;
            let silent = answer == Answer::default();
            assert!(case != "pass" || silent, "a pass is silent: {at}");
            // The question was sent before, and a person answers it.
            let is_theirs = case == "ask" && kind.name == "PermissionRequest";
            assert_eq!(silent && case == "ask", is_theirs, "{at}");
            assert!(
                !silent || is_theirs || matches!(case, "pass" | "allow" | "context"),
                "something was swallowed: {at}"
            );
            assert!(!(case == "broken" && refusing) || kind.guarding, "{at}");
            assert!(case != "broken" || refusing == kind.guarding, "{at}");
            if !refusing {
                assert_ne!(json["decision"], "block", "{at}");
                assert_ne!(json["hookSpecificOutput"]["permissionDecision"], "deny", "{at}");
                continue;
            }
            if matches!(kind.name, "Stop" | "SubagentStop") {
                assert!(
                    answer.stdout.is_empty() && answer.stderr.starts_with("why not\nhint: do this\n"),
                    "{at}"
                );
                continue;
            }
            let own = &json["hookSpecificOutput"];
            let reason = match kind.name {
                "PreToolUse" => (&own["permissionDecision"], "deny", &own["permissionDecisionReason"]),
                "PermissionRequest" => (&own["decision"]["behavior"], "deny", &own["decision"]["message"]),
                _ => (&json["decision"], "block", &json["reason"]),
            };
            assert_eq!(reason.0, reason.1, "{at}");
            assert_eq!(reason.2.as_str().map(str::trim_end), Some(answer.stderr.trim_end()), "{at}");
        }
    }
}

/// Texts of any length and with any bytes come out short and clean.
#[test]
fn nothing_endless_and_no_escapes() {
    let nasty = format!("\u{1b}[2J\u{202e}\0\u{7}{}\u{1b}]0;x\u{7}\nhint: the end", "é🦀".repeat(20_000));
    for kind in EVENTS {
        let verdict = Verdict::halt(GateId::Rules, &nasty)
            .join(Verdict::context(GateId::Rules, &nasty))
            .join(Verdict::notice(GateId::Rules, &nasty));
        for answer in [spell(kind.kind, &verdict), fail(kind.kind, &Failure::new(Code::Panic, &nasty))] {
            assert!(!answer.stdout.contains("\\u001b") && !answer.stdout.contains('\u{1b}'), "{}", kind.name);
            assert!(!answer.stderr.contains(['\u{1b}', '\0', '\u{7}', '\u{202e}']), "{}", kind.name);
            assert!(answer.stderr.chars().count() < 10_000, "{}", kind.name);
            let json: Value = if answer.stdout.is_empty() {
                continue;
            } else {
                serde_json::from_str(&answer.stdout).unwrap()
            };
            short(&json, kind.name);
        }
    }
}

fn short(json: &Value, at: &str) {
    match json {
        Value::String(text) => {
            assert!(text.chars().count() < 10_000, "{at}");
            assert!(text.len() < 200 || text.contains("hint: "), "the next step is cut off: {at}");
        }
        Value::Object(members) => members.values().for_each(|value| short(value, at)),
        _ => {}
    }
}

/// All that the real client was seen to send: read, answered and recorded, in one home.
#[test]
fn every_recorded_payload() {
    let sandbox = Sandbox::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/payloads");
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()).collect();
    names.sort();
    names.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    assert_eq!(names.len(), 100, "one hundred payloads were recorded");
    let (mut sessions, mut passed) = (std::collections::BTreeSet::new(), 0);
    for path in &names {
        let mut payload: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let event = payload["hook_event_name"].as_str().unwrap().to_owned();
        sessions.insert(payload["session_id"].as_str().unwrap().to_owned());
        // Recorded on another machine: its paths are replaced by the sandbox's.
        payload["cwd"] = sandbox.project().to_str().unwrap().into();
        let transcript =
            sandbox.sessions().join(format!("{}.jsonl", payload["session_id"].as_str().unwrap()));
        payload["transcript_path"] = transcript.to_str().unwrap().into();
        let answer = sandbox.hook(&event, &payload);
        if answer.code == Some(2) {
            // A rule may say no, with the next step; the guard itself is whole.
            answer.refused(&["hint: "]);
            assert!(!answer.err.contains("broken"), "{}: {answer:?}", path.display());
            continue;
        }
        assert!(answer.code == Some(0) && answer.err.is_empty(), "{}: {answer:?}", path.display());
        passed += 1;
        if !answer.out.is_empty() {
            let told: Value = serde_json::from_str(&answer.out).unwrap_or_else(|e| panic!("{e}: {answer:?}"));
            assert!(told.is_object(), "{answer:?}");
        }
    }
    assert!(passed > 80, "most of them change nothing: {passed}");
    for id in sessions {
        let answer = sandbox.person(&["verify", &id, "--json"]);
        assert_eq!(answer.json()["ok"], true, "{id}");
    }
}
