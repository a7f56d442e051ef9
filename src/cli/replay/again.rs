//! Judges one recorded event with today's gates.
//!
//! Reads the ledger's entries and the files that the gates read today. Invariant: an event is judged only if the ledger
//! has everything from that time that a gate needs.

use crate::claude::wire::read;
use crate::cli::past::{Answered, Asked, Batch};
use crate::config::in_force;
use crate::config::policy::Policy;
use crate::gate::{Context, moved};
use crate::hook;
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind, Refusal};
use crate::model::verdict::Verdict;
use crate::model::worktree::Worktree;
use crate::observe;
use crate::session::fact::{Checked, Fact, Seen, Step};
use crate::session::fold::Session;
use crate::system::env::Env;
use crate::text::time;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Today's verdict on an event, or why there is none.
pub(super) enum Replayed {
    Verdict(Verdict),
    LeftOut(&'static str),
    /// No gate judges this kind of event.
    CannotBeRefused,
}

const CLIPPED: &str = "the ledger keeps only the beginning of a long input";
const WORDS: &str = "a text in force cannot be read";
const SECOND: &str = "the ledger does not keep the input of a second call under a running id";
const SETTINGS: &str = "the ledger does not keep the settings that were changed";
const MOVED: &str = "the ledger does not keep the variables a session was moved by";

pub(super) struct Replay<'a> {
    env: &'a Env,
    session_id: &'a str,
    cwd: &'a Path,
    /// Today's; `None` for the shipped policy.
    policy: Option<Box<Policy>>,
    /// How each call ended so far, by id, server and tool.
    past: BTreeMap<(String, String, String), Step>,
}

impl<'a> Replay<'a> {
    pub(super) fn new(env: &'a Env, session_id: &'a str, cwd: &'a Path) -> Result<Self, Failure> {
        let policy = Some(in_force::load(env, cwd)?.policy).filter(|policy| *policy != Policy::default());
        Ok(Self { env, session_id, cwd, policy: policy.map(Box::new), past: BTreeMap::new() })
    }

    /// Today's verdict, on the session at that time.
    pub(super) fn judge(&self, session: &Session, answered: &Answered, batch: &Batch) -> Replayed {
        if EventKind::of(answered.event).row().refusal == Refusal::None {
            return Replayed::CannotBeRefused;
        }
        if answered.reason.contains(moved::WHY) {
            return Replayed::LeftOut(MOVED);
        }
        let payload = match answered.asked {
            _ if answered.event == "ConfigChange" => Err(SETTINGS),
            Asked::Again => Err(SECOND),
            Asked::Call(step) => self.of_call(step),
            Asked::Event(seen) => self.of_event(seen),
        };
        let event =
            payload.and_then(|payload| read::read(answered.event, payload.to_string().as_bytes()).map_err(|_| CLIPPED));
        let event = match event {
            Ok(event) if is_whole(&event, answered) => event,
            Ok(_) => return Replayed::LeftOut(CLIPPED),
            Err(why) => return Replayed::LeftOut(why),
        };
        let mut session = session.clone();
        session.memory.policy.clone_from(&self.policy);
        let then = time::parse(answered.ts).unwrap_or(self.env.now_ms);
        let mut context = observe::call::again(self.env, &session, &event, then);
        // Attendance is not recorded, but a question to a person is.
        context.attended |= answered.ruling == "ask";
        self.recall(&mut context, &event, answered, batch);
        context.checks = checks(&session, batch);
        match hook::judge(self.env, &session, &event, &context) {
            Ok(verdict) => Replayed::Verdict(verdict),
            Err(_) => Replayed::LeftOut(WORDS),
        }
    }

    /// Remembers the calls of this batch that ended, so that the same id is not taken for a new call.
    pub(super) fn ended(&mut self, batch: &Batch) {
        for entry in batch {
            if let Fact::Call(step) = &entry.fact
                && step.to.is_terminal()
            {
                let key = (step.call.id.clone(), step.call.server.clone(), step.call.tool.clone());
                self.past.insert(key, step.clone());
            }
        }
    }

    /// Facts of that time: an earlier call of this id, the tree at Stop, a report too long to keep.
    fn recall(&self, context: &mut Context, event: &Event, answered: &Answered, batch: &Batch) {
        if let Some(call) = event.asked_call() {
            let key = (call.key.id.clone(), call.key.server.clone(), call.key.tool.clone());
            context.past = self.past.get(&key).cloned();
        }
        let Asked::Event(seen) = answered.asked else { return };
        if let Some(owed) = &seen.owed {
            let owes = |name: &str| owed.iter().any(|owed| owed == name);
            context.tree = Worktree {
                uncommitted: owes("commit").then(|| "as then".to_owned()).into_iter().collect(),
                push: owes("push").then(|| ("git push".to_owned(), "as then".to_owned())),
                unknown: false,
            };
        }
        let recorded = batch.iter().find_map(|entry| match &entry.fact {
            Fact::Verdict(report) => Some(report),
            _ => None,
        });
        if let Some(report) = recorded.filter(|_| event.report.is_empty()) {
            let problem = || report.problem.clone().unwrap_or_default();
            context.report = Some(report.finding.clone().ok_or_else(problem));
        }
    }

    fn of_call(&self, step: &Step) -> Result<Value, &'static str> {
        let input: Value = serde_json::from_str(step.input.as_ref().ok_or(CLIPPED)?.get()).map_err(|_| CLIPPED)?;
        let known = [&step.agent_id, &step.agent_type, &step.mode, &step.prompt_id];
        let mut payload = self.common_fields("PreToolUse", known);
        payload.insert("tool_name".into(), json!(step.call.tool));
        payload.insert("tool_use_id".into(), json!(step.call.id));
        payload.insert("tool_input".into(), input);
        Ok(Value::Object(payload))
    }

    fn of_event(&self, seen: &Seen) -> Result<Value, &'static str> {
        let Ok(Value::Object(own)) = serde_json::from_str(seen.about.get()) else { return Err(CLIPPED) };
        if own.get("tool_input").is_some_and(has_clip) {
            return Err(CLIPPED);
        }
        let known = [&seen.agent_id, &seen.agent_type, &seen.mode, &seen.prompt_id];
        let mut payload = self.common_fields(&seen.event, known);
        payload.extend(own);
        Ok(Value::Object(payload))
    }

    /// The fields of every payload; `known`: agent id and type, permission mode, prompt id.
    fn common_fields(&self, event: &str, known: [&Option<String>; 4]) -> Map<String, Value> {
        let names = ["agent_id", "agent_type", "permission_mode", "prompt_id"];
        let known = names.into_iter().zip(known).filter_map(|(name, value)| Some((name, json!(value.as_ref()?))));
        let fixed =
            [("session_id", json!(self.session_id)), ("cwd", json!(self.cwd)), ("hook_event_name", json!(event))];
        known.chain(fixed).map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// The recorded checks that are still configured, with today's outcome of a failure. They are not run again.
fn checks(session: &Session, batch: &Batch) -> Vec<Checked> {
    let asked = &session.policy().checks;
    let run = batch.iter().filter_map(|entry| match &entry.fact {
        Fact::Check(run) => Some((run, asked.iter().find(|check| check.id == run.id && check.on == run.on)?)),
        _ => None,
    });
    run.map(|(run, check)| {
        let outcome = if run.failed() { check.outcome.word() } else { Checked::PASS };
        Checked { outcome: outcome.to_owned(), ..run.clone() }
    })
    .collect()
}

/// The rebuilt call has the recorded digest, which covers the whole input.
fn is_whole(event: &Event, answered: &Answered) -> bool {
    match (answered.asked, &event.call) {
        (Asked::Call(step), Some(call)) => call.input_sha256 == step.input_sha256,
        (Asked::Call(_), None) => false,
        _ => true,
    }
}

/// A text somewhere in the value was clipped.
fn has_clip(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            members.len() == 3 && ["clipped", "length", "sha256"].iter().all(|name| members.contains_key(*name))
                || members.values().any(has_clip)
        }
        Value::Array(items) => items.iter().any(has_clip),
        _ => false,
    }
}
