//! `test_vectors/tga/state_transition_vectors.json`: which steps of a call and which facts may follow each
//! other, run for real.

use aops_core::model::call::CallState;
use aops_core::model::error::Code;
use aops_core::session::fact::Fact;
use aops_core::session::fold::Session;
use aops_core::session::memory::OpenCall;
use aops_core::text::sha256::NO_DIGEST;
use serde_json::{Map, Value, json};
use std::fs;

const ILLEGAL: &str = "STATE_INVALID_TRANSITION";

fn vectors() -> Value {
    let path = super::folder().join("../test_vectors/tga/state_transition_vectors.json");
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn state(name: &Value) -> Option<CallState> {
    CallState::ALL.into_iter().find(|state| name == state.name())
}

fn fact(stored: &Value) -> Fact {
    let (kind, with) = (stored["type"].as_str().unwrap(), stored["with"].to_string());
    Fact::read(kind, &with).unwrap_or_else(|| panic!("not a fact: {stored}"))
}

/// The session after these facts, or the code of the one that may not follow.
fn fold<'a>(facts: impl IntoIterator<Item = &'a Value>) -> Result<Session, &'static str> {
    let mut session = Session::default();
    for stored in facts {
        session.apply("vector", "2026-01-13T10:00:00.123Z", &fact(stored)).map_err(Code::name)?;
    }
    Ok(session)
}

fn step(from: Option<CallState>, to: CallState) -> Value {
    let call = json!({"id": "a", "server": "builtin", "tool": "Read"});
    let mut with = json!({"call": call, "input_sha256": NO_DIGEST, "to": to.name()});
    if let Some(from) = from {
        with["from"] = json!(from.name());
    }
    json!({"type": "call", "with": with})
}

/// The steps that bring a new call to this state.
fn way_to(state: Option<CallState>) -> Vec<Value> {
    use CallState::{Authorized, Completed, Denied, Executing, Failed, Pending};
    let way: &[CallState] = match state {
        None => &[],
        Some(Pending) => &[Pending],
        Some(Authorized) => &[Pending, Authorized],
        Some(Denied) => &[Pending, Denied],
        Some(Executing) => &[Pending, Authorized, Executing],
        Some(Completed) => &[Pending, Authorized, Executing, Completed],
        Some(Failed) => &[Pending, Authorized, Executing, Failed],
    };
    let before = std::iter::once(None).chain(way.iter().copied().map(Some));
    before.zip(way).map(|(from, to)| step(from, *to)).collect()
}

#[test]
fn steps_of_a_call() {
    let vectors = vectors();
    let (mut seen, open) = (Vec::new(), vectors["folds"][0]["facts"][0].clone());
    for vector in vectors["calls"].as_array().unwrap() {
        let (from, to) = (state(&vector["from"]), state(&vector["to"]).unwrap());
        let legal = vector["result"] == to.name();
        assert!(legal || vector["result"] == ILLEGAL, "{vector}");
        if let Some(from) = from {
            assert_eq!(from.may_become(to), legal, "{vector}");
        }
        let facts = [vec![open.clone()], way_to(from), vec![step(from, to)]].concat();
        let told = fold(&facts).map(|_| ());
        assert_eq!(told, if legal { Ok(()) } else { Err(ILLEGAL) }, "{vector}");
        seen.push((from, to));
    }
    for to in CallState::ALL {
        for from in [None].into_iter().chain(CallState::ALL.map(Some)) {
            assert!(seen.contains(&(from, to)), "no vector for {from:?} to {to:?}");
        }
    }
    assert_eq!(seen.len(), 42, "each once");
}

#[test]
fn folds_of_a_session() {
    let vectors = vectors();
    let folds = vectors["folds"].as_array().unwrap();
    assert!(folds.len() > 20);
    for vector in folds {
        let facts = vector["facts"].as_array().unwrap();
        let (name, result) = (&vector["name"], &vector["result"]);
        if let Some(code) = result.as_str() {
            assert_eq!(fold(facts).map(|_| ()), Err(code), "{name}");
            assert!(fold(&facts[..facts.len() - 1]).is_ok(), "{name}: only its last fact is illegal");
            continue;
        }
        let session = fold(facts).unwrap_or_else(|code| panic!("{name}: {code}"));
        let named = |open: &OpenCall| (format!("{} {}", open.call.tool, open.call.id), json!(open.state));
        let open: Map<String, Value> = session.memory.calls.iter().map(named).collect();
        let told =
            json!({"open": open, "blocked": session.blocked().is_some(), "phase": session.state.phase});
        for (key, wanted) in result.as_object().unwrap() {
            assert_eq!(&told[key], wanted, "{name}: {key}");
        }
    }
}
