//! Every kind of fact, with every field that it can have: both verifiers call the ledger whole after each,
//! and a state that was lost comes back equal.
//!
//! The facts are made from the stored types themselves (`schemas/made.rs`), so a new field is in them. A new
//! kind does not compile before `kind_of` knows it.

use crate::faults::python_verifier;
use crate::faults::{LEDGER, STATE, files, put_back};
use crate::ledger_damage::rebuilt;
use crate::schemas::samples;
use aops_core::ledger::open::Ledger;
use aops_core::ledger::sessions;
use aops_core::model::call::CallState;
use aops_core::model::event::{EVENTS, EventRow};
use aops_core::session::fact::{Fact, Happened, Snapshot};
use aops_core::session::fold::Session;
use aops_core::system::env::Env;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tempfile::TempDir;

const ID: &str = "every-fact";

/// The type of its entry.
fn kind_of(fact: &Fact) -> &'static str {
    match fact {
        Fact::Open(_) => "open",
        Fact::Event(_) => "event",
        Fact::Call(_) => "call",
        Fact::Question(_) => "question",
        Fact::Answer(_) => "answer",
        Fact::Block(_) => "block",
        Fact::Unblock(_) => "unblock",
        Fact::Verdict(_) => "verdict",
        Fact::Waive(_) => "waiver",
        Fact::Task(_) => "task",
        Fact::Check(_) => "check",
        Fact::Mode(_) => "mode",
        Fact::Run(_) => "run",
        Fact::Violation(_) => "violation",
        Fact::Recovery(_) => "recovery",
        Fact::Checkpoint(_) => "checkpoint",
        Fact::Rollback(_) => "rollback",
        Fact::Undo(_) => "undo",
        Fact::Commit(_) => "commit",
        Fact::Attest(_) => "attest",
        Fact::Network(_) => "network",
        Fact::Insights(_) => "insights",
        Fact::Snapshot(_) => "snapshot",
    }
}

const KINDS: [&str; 23] = [
    "open", "event", "call", "question", "answer", "block", "unblock", "verdict", "waiver", "task", "check",
    "mode", "run", "violation", "recovery", "checkpoint", "rollback", "undo", "commit", "attest", "network",
    "insights", "snapshot",
];

/// Words that the fold or the forms know, and some that nobody does.
const WORDS: &[&str] = &[
    "",
    "text",
    "deny",
    "ask",
    "critic",
    "aops:critic",
    "custodiet",
    "prompt-hydrator",
    "qa-verifier",
    "framework",
    "PROCEED",
    "REVISE",
    "HALT",
    "OK",
    "BLOCK",
    "VERIFIED",
    "ISSUES",
    "PASS",
    "INTERVENTION_REQUIRED",
    "ASK_USER",
    "continue",
    "new",
    "feature-dev",
    "simple-question",
    "qa",
    "sandbox",
    "task",
    "start",
    "strict",
    "loop",
    "guard",
    "observe",
    "off",
    "warn",
    "enforce",
    "idle",
    "hydrate",
    "review",
    "execute",
    "verify",
    "intervene",
    "reflect",
    "close",
    "done",
    "halted",
    "shut",
    "open",
    "read",
    "write",
    "spawn",
    "tracker",
    "control",
    "begun",
    "dropped",
    "told",
    "claims",
    "leaves",
    "changes",
    "syncs",
    "machine",
    "waived",
    "command",
    "ours",
    "ordinary",
    "no_effect_observed",
    "project folder mismatch: x",
    "a`é\u{202e}\u{0}\u{fb33}𝄞",
];

const ABOUT: &[&str] = &[
    "{}",
    r#"{"prompt":"do it"}"#,
    r#"{"prompt":". do it"}"#,
    r#"{"prompt":"/x"}"#,
    r#"{"new_cwd":"/elsewhere"}"#,
    r#"{"last_assistant_message":"Done."}"#,
    r#"{"background_tasks":[{"id":"text","status":"running"}]}"#,
];

/// What happens by chance, given from outside; without any left, the first of everything.
struct Lots(std::vec::IntoIter<u8>);

impl Lots {
    fn below(&mut self, n: usize) -> usize {
        usize::from(self.0.next().unwrap_or(0)) % n.max(1)
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// The samples of this kind of entry: with the most that it can hold, and with the least.
fn samples_of(kind: &str) -> &'static [Map<String, Value>] {
    type Samples = Vec<(&'static str, Vec<Map<String, Value>>)>;
    static ALL: LazyLock<Samples> = LazyLock::new(|| {
        let objects =
            |all: Vec<Value>| all.iter().map(|sample| sample.as_object().unwrap().clone()).collect();
        samples::forms_of_facts().into_iter().map(|(kind, all)| (kind, objects(all))).collect()
    });
    &ALL.iter().find(|(known, _)| *known == kind).unwrap().1
}

fn read(kind: &str, with: &Map<String, Value>) -> Option<Fact> {
    Fact::read(kind, &Value::Object(with.clone()).to_string())
}

/// The places of all texts, numbers and yes or no in this value.
fn leaves(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            leaves(value, format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found);
        }),
        Value::Array(all) => {
            all.iter().enumerate().for_each(|(n, value)| leaves(value, format!("{at}/{n}"), found));
        }
        Value::Null => {}
        _ => found.push(at),
    }
}

/// The same with names in its maps that bytes and UTF-16 units put into different orders.
fn oddly_named(kind: &str, with: &Map<String, Value>) -> Map<String, Value> {
    let mut odd = with.clone();
    for (name, value) in with {
        let Some(value) = value.as_object().and_then(|members| members.values().next()) else { continue };
        let mut tried = odd.clone();
        let members = tried[name].as_object_mut().unwrap();
        members.extend(["\u{fb33}", "𝄞", "é"].map(|name| (name.to_owned(), value.clone())));
        if read(kind, &tried).is_some() {
            odd = tried;
        }
    }
    odd
}

/// One of these objects with fields of all of them, as the lots choose. The fields of a group in it are
/// chosen one by one too, as far as it can be read then.
fn mixed(
    samples: &[&Map<String, Value>],
    lots: &mut Lots,
    is_read: &mut dyn FnMut(&Map<String, Value>) -> bool,
) -> Map<String, Value> {
    let mut with = samples[lots.below(samples.len())].clone();
    let names: BTreeSet<&String> = samples.iter().flat_map(|sample| sample.keys()).collect();
    for name in &names {
        let held: Vec<Option<&Value>> = samples.iter().map(|sample| sample.get(*name)).collect();
        match lots.of(&held) {
            Some(value) => with.insert((*name).clone(), (*value).clone()),
            None => with.remove(*name),
        };
    }
    for name in names {
        let Some(chosen) = with.get(name).and_then(Value::as_object).cloned() else { continue };
        // Of an enum only the same variant.
        let one = if chosen.len() == 1 { chosen.keys().next() } else { None };
        let is_like =
            |group: &&Map<String, Value>| one.is_none_or(|one| group.len() == 1 && group.contains_key(one));
        let groups: Vec<&Map<String, Value>> =
            samples.iter().filter_map(|sample| sample.get(name)?.as_object()).filter(is_like).collect();
        if groups.len() < 2 {
            continue;
        }
        let mut tried = with.clone();
        let group = mixed(&groups, lots, &mut |group| {
            tried.insert(name.clone(), Value::Object(group.clone()));
            is_read(&tried)
        });
        tried.insert(name.clone(), Value::Object(group));
        if is_read(&tried) {
            with = tried;
        }
    }
    with
}

/// A fact of this kind with the fields that the lots choose, and about as many values changed, as far as it
/// can be read.
fn any_of(kind: &str, lots: &mut Lots) -> Map<String, Value> {
    let mut with =
        mixed(&samples_of(kind).iter().collect::<Vec<_>>(), lots, &mut |with| read(kind, with).is_some());
    if lots.below(2) > 0 {
        with = oddly_named(kind, &with);
    }
    let mut places = Vec::new();
    leaves(&Value::Object(with.clone()), String::new(), &mut places);
    for _ in 0..12 {
        if places.is_empty() {
            break;
        }
        let mut changed = Value::Object(with.clone());
        let place: &String = lots.of(&places);
        let leaf = changed.pointer_mut(place).unwrap();
        *leaf = match &*leaf {
            Value::Bool(was) => json!(!was),
            Value::Number(_) => json!(lots.below(6)),
            _ => json!(lots.of(WORDS)),
        };
        let changed = changed.as_object().unwrap();
        if read(kind, changed).is_some() {
            with.clone_from(changed);
        }
    }
    with
}

/// A fact that may follow on this session.
fn fact(session: &Session, lots: &mut Lots) -> Fact {
    let kind = if session.is_new() { "open" } else { KINDS[1 + lots.below(KINDS.len() - 1)] };
    // Most of a session is events and calls.
    let kind = if session.is_new() { kind } else { *lots.of(&[kind, "event", "call", "call"]) };
    if kind == "snapshot" {
        let (memory, state) = (session.memory.clone(), session.state.clone().into_inner());
        return Fact::Snapshot(Box::new(Snapshot { memory, state }));
    }
    let mut with = any_of(kind, lots);
    if kind == "event" {
        with.insert("event".to_owned(), json!(EVENTS[lots.below(EVENTS.len())].name));
        if let Some(name) = own_name(&with) {
            with.insert("event".to_owned(), json!(name));
        }
        let about: &&str = lots.of(ABOUT);
        with.insert("about".to_owned(), serde_json::from_str(about).unwrap());
    }
    if kind == "call" {
        step(session, &mut with, lots);
    }
    read(kind, &with).unwrap_or_else(|| panic!("no {kind}: {with:?}"))
}

/// Where this call may go from where it stands.
fn step(session: &Session, with: &mut Map<String, Value>, lots: &mut Lots) {
    let tool = *lots.of(&["Bash", "Write", "ExitPlanMode", "Agent"]);
    let key = json!({"id": format!("t{}", lots.below(3)), "server": "builtin", "tool": tool});
    let open = session.memory.calls.iter().find(|open| json!(open.call) == key);
    let from = open.map(|open| open.state);
    let next: Vec<CallState> = match from {
        None => vec![CallState::Pending],
        Some(from) => CallState::ALL.into_iter().filter(|to| from.may_become(*to)).collect(),
    };
    with.insert("call".to_owned(), key);
    with.insert("to".to_owned(), json!(lots.of(&next)));
    match from {
        Some(from) => with.insert("from".to_owned(), json!(from)),
        None => with.remove("from"),
    };
}

/// One session folder, and the copies of it that the second verifier looks at.
struct Bench {
    root: TempDir,
    env: Env,
    copies: Vec<PathBuf>,
}

impl Bench {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
        let root = tempfile::Builder::new().prefix("aops-").tempdir_in(folder).unwrap();
        let env = Env { config: root.path().join("c"), now_ms: 1_768_298_400_000, ..Env::default() };
        fs::create_dir(root.path().join("s")).unwrap();
        Self { root, env, copies: Vec::new() }
    }

    fn folder(&self) -> PathBuf {
        self.root.path().join("s")
    }

    fn begin(&self) -> Ledger {
        Ledger::begin(&self.folder(), ID).unwrap()
    }

    fn open(&self) -> Ledger {
        Ledger::at(&self.env, &self.folder(), ID).unwrap()
    }

    /// Our own verifier finds nothing, and folds to this session.
    #[track_caller]
    fn is_whole(&self, truth: &Session, case: &str) {
        let found = sessions::on_disk(self.folder()).unwrap();
        let checked = sessions::check(&self.env, &found).unwrap();
        assert!(checked.failure.is_none(), "{case}: {:?}", checked.failure);
        assert_eq!((checked.torn_bytes, checked.session.seq), (0, truth.seq), "{case}");
        rebuilt(&checked.session, truth, case);
    }

    /// Keeps ledger and state as they are now for the second verifier.
    fn copy(&mut self) {
        let copy = self.root.path().join(format!("copy-{}", self.copies.len()));
        fs::create_dir(&copy).unwrap();
        let mut held = files(&self.folder());
        held.retain(|name, _| name == LEDGER || name == STATE);
        put_back(&copy, &held);
        self.copies.push(copy);
    }

    #[track_caller]
    fn both_agree(&self) {
        for (n, said) in python_verifier::verify(&self.copies).iter().enumerate() {
            assert_eq!(
                (&said["ok"], &said["torn_bytes"]),
                (&json!(true), &json!(0)),
                "after batch {n}: {said}"
            );
        }
    }
}

#[test]
fn every_kind_of_fact_is_a_sample() {
    let facts = samples::forms_of_facts();
    assert_eq!(facts.iter().map(|(kind, _)| *kind).collect::<BTreeSet<_>>(), KINDS.into_iter().collect());
    for (kind, all) in facts {
        let fact = Fact::read(kind, &all[0].to_string()).unwrap();
        assert_eq!(kind_of(&fact), kind);
    }
}

/// A plan that a person approved, and each other field of each fact, alone and with all others.
#[test]
fn each_field_alone_leaves_a_whole_ledger() {
    let mut bench = Bench::new();
    let mut ledger = bench.begin();
    let open = any_of("open", &mut Lots(Vec::new().into_iter()));
    ledger.append(&bench.env, vec![read("open", &open).unwrap()]).unwrap();
    for (kind, samples) in KINDS[1..].iter().map(|kind| (*kind, samples_of(kind))) {
        let (most, least) = (samples.iter().max_by_key(|s| s.len()), samples.iter().min_by_key(|s| s.len()));
        let (most, least) = (most.unwrap(), least.unwrap());
        let alone = most.iter().map(|(name, value)| {
            let mut with = least.clone();
            with.insert(name.clone(), value.clone());
            with
        });
        let odd = oddly_named(kind, most);
        for with in alone.chain([odd]).chain(samples.iter().cloned()) {
            if kind == "snapshot" {
                continue;
            }
            for fact in told(kind, with) {
                ledger.append(&bench.env, vec![fact]).unwrap();
            }
        }
    }
    let truth = ledger.session().clone();
    drop(ledger);
    bench.is_whole(&truth, "all of them");
    bench.copy();
    bench.both_agree();
}

/// The name of the event that tells this.
fn own_name(with: &Map<String, Value>) -> Option<&'static str> {
    let tells = |row: &&EventRow| {
        let of_kind = serde_json::to_value(Happened::of(row.kind)).unwrap();
        let variant = of_kind.as_object().and_then(|variant| variant.keys().next().cloned());
        variant.is_some_and(|variant| with.get("what").is_some_and(|what| what.get(&variant).is_some()))
    };
    EVENTS.iter().find(tells).map(|row| row.name)
}

/// The facts that this one is told in: an event under its own name or else under every one, a step of a call
/// at every stage of one.
fn told(kind: &str, mut with: Map<String, Value>) -> Vec<Fact> {
    let own_name = own_name(&with);
    let mut put = |names: &[(&str, Value)]| {
        for (name, value) in names {
            if value.is_null() {
                with.remove(*name)
            } else {
                with.insert((*name).to_owned(), value.clone())
            };
        }
        read(kind, &with).unwrap_or_else(|| panic!("no {kind}: {with:?}"))
    };
    match kind {
        "event" => match own_name {
            Some(name) => vec![put(&[("event", json!(name))])],
            None => EVENTS.iter().map(|row| put(&[("event", json!(row.name))])).collect(),
        },
        "call" => {
            let ends = [["PENDING", "DENIED", "", ""], ["PENDING", "AUTHORIZED", "EXECUTING", "COMPLETED"]];
            let steps = ends.iter().flat_map(|states| {
                let named = states.iter().filter(|state| !state.is_empty());
                let before = std::iter::once(Value::Null).chain(states.iter().map(|state| json!(state)));
                before.zip(named).map(|(from, to)| (from, json!(to))).collect::<Vec<_>>()
            });
            steps.map(|(from, to)| put(&[("from", from), ("to", to)])).collect()
        }
        _ => vec![put(&[])],
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_facts_leave_a_whole_ledger_and_a_state_that_comes_back(
        batches in vec((1..4_usize, any::<bool>(), vec(any::<u8>(), 200)), 1..20),
    ) {
        leave_a_whole_ledger(batches);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, failure_persistence: None, ..ProptestConfig::default() })]

    /// The sample that CI takes of them.
    #[test]
    fn some_facts_leave_a_whole_ledger_and_a_state_that_comes_back(
        batches in vec((1..4_usize, any::<bool>(), vec(any::<u8>(), 200)), 1..8),
    ) {
        leave_a_whole_ledger(batches);
    }
}

fn leave_a_whole_ledger(batches: Vec<(usize, bool, Vec<u8>)>) {
    let mut bench = Bench::new();
    let mut next = Some(bench.begin());
    for (n, (long, loses, lots)) in batches.into_iter().enumerate() {
        let mut ledger = next.take().unwrap_or_else(|| bench.open());
        let (mut session, mut facts, mut lots) =
            (ledger.session().clone(), Vec::new(), Lots(lots.into_iter()));
        for _ in 0..long {
            let fact = fact(&session, &mut lots);
            session.apply(ID, "2026-01-13T10:00:00.000Z", &fact).unwrap();
            facts.push(fact);
        }
        let case = format!("batch {n}: {facts:?}");
        ledger.append(&bench.env, facts).unwrap();
        let truth = ledger.session().clone();
        drop(ledger);
        bench.is_whole(&truth, &case);
        if loses {
            fs::remove_file(bench.folder().join(STATE)).unwrap();
            rebuilt(bench.open().session(), &truth, &case);
        }
        bench.copy();
    }
    bench.both_agree();
}
