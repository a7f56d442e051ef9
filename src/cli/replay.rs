//! `replay`: judges a recorded session again under today's gates and policy, and shows each verdict that
//! would change.
//!
//! Reads one ledger and the files that the gates read today; writes nothing. Invariants: each event is judged
//! on the recorded history, so one changed verdict does not change the next; events that the ledger does not
//! hold completely are counted, never guessed.

use super::past::{self, Answered, Asked, Batch};
use super::table::{Tone, clean};
use super::{Command, Io, session, session_arguments, status};
use aops_core::config::in_force;
use aops_core::config::policy::Policy;
use aops_core::gate::{AgentStopContext, Context, Found, moved};
use aops_core::hook;
use aops_core::host::claude::wire::read;
use aops_core::ledger::sessions;
use aops_core::model::debt::DebtId;
use aops_core::model::error::Failure;
use aops_core::model::event::{Event, EventKind, Refusal};
use aops_core::model::named::Stored;
use aops_core::model::outcome::PhaseOutcome;
use aops_core::model::verdict::{Ruling, Verdict};
use aops_core::model::worktree::Worktree;
use aops_core::observe;
use aops_core::observe::evidence::FAILED_LAST;
use aops_core::session::fact::{Checked, Fact, Reported, Seen, Step, ViolationKind};
use aops_core::session::fold::Session;
use aops_core::system::env::Env;
use aops_core::text::plain::count;
use aops_core::text::template::one_line;
use aops_core::text::time;
use clap::ArgMatches;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

pub const COMMAND: Command = Command {
    name: "replay",
    about: "Judge a recorded session again under today's policy: what would change",
    examples: &[
        ("aops-hook replay", "the newest session of this project; exit 0 whether or not something changed"),
        ("aops-hook replay 3f2a --json | jq .changed", "each changed verdict of one session, for a program"),
    ],
    arguments: |row| row.args(session_arguments()),
    run,
};

/// One verdict that would be different today.
struct ChangedVerdict {
    seq: u64,
    ts: String,
    event: String,
    asked: String,
    /// Ruling, gate and reason.
    was: [String; 3],
    now: [String; 3],
}

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let shelved = session(given, io)?;
    let checked = sessions::check(io.env, &shelved)?;
    if let Some(failure) = checked.failure {
        return Err(failure.into());
    }
    let cwd = status::folder(io.env, &shelved, &checked.session).unwrap_or_else(|| io.env.cwd.clone());
    let mut replay = Replay::new(io.env, &shelved.session_id, &cwd)?;
    let mut session = Session::default();
    let mut judged = 0_u64;
    let mut changed = Vec::new();
    let mut left_out = BTreeMap::<&str, u64>::new();
    for batch in past::batches(&shelved)? {
        if let Some(answered) = past::find_answer(&batch) {
            match replay.judge(&session, &answered, &batch) {
                Replayed::Verdict(now) => {
                    judged += 1;
                    changed.extend(differs(&answered, &now));
                }
                Replayed::LeftOut(why) => *left_out.entry(why).or_default() += 1,
                Replayed::CannotChange => {}
            }
        }
        replay.remember_ended(&batch);
        past::fold(&mut session, &shelved.session_id, &batch);
    }
    if io.json {
        let changed: Vec<Value> = changed.iter().map(to_json).collect();
        let id = &shelved.session_id;
        let said = json!({"session_id": id, "judged": judged, "changed": changed, "left_out": left_out});
        return io.print(said);
    }
    print(io, &shelved.session_id, judged, &changed, &left_out)
}

/// A different ruling, or a different gate that refuses. A new wording is not a change.
fn differs(answered: &Answered, now: &Verdict) -> Option<ChangedVerdict> {
    let silent = |ruling: Option<Ruling>| matches!(ruling, Some(Ruling::Pass | Ruling::Allow));
    let was_silent = silent(answered.ruling.known());
    let gate = Stored::from(now.gate);
    let same = answered.ruling == now.ruling || was_silent && silent(Some(now.ruling));
    if same && (was_silent || answered.gate == gate) {
        return None;
    }
    Some(ChangedVerdict {
        seq: answered.seq,
        ts: answered.ts.to_owned(),
        event: answered.event.to_owned(),
        asked: past::describe_question(answered),
        was: [answered.ruling.name(), answered.gate.name(), answered.reason].map(str::to_owned),
        now: [now.ruling.name(), gate.name(), &now.reason].map(str::to_owned),
    })
}

fn to_json(changed: &ChangedVerdict) -> Value {
    let verdict =
        |[ruling, gate, reason]: &[String; 3]| json!({"ruling": ruling, "gate": gate, "reason": reason});
    json!({
        "seq": changed.seq, "ts": changed.ts, "event": changed.event, "asked": changed.asked,
        "was": verdict(&changed.was), "now": verdict(&changed.now),
    })
}

fn print(
    io: &mut Io,
    id: &str,
    judged: u64,
    changed: &[ChangedVerdict],
    left_out: &BTreeMap<&str, u64>,
) -> anyhow::Result<u8> {
    let (how_many, tone) = match changed.len() {
        0 => ("none would change".to_owned(), Tone::Good),
        n => (format!("{n} would change"), Tone::Warn),
    };
    let how_many = tone.paint(&how_many, io);
    writeln!(io.out, "session {id}: {} judged again, {how_many}", count(judged, "verdict"))?;
    let spell = |[ruling, gate, _]: &[String; 3]| match (ruling.as_str(), gate.as_str()) {
        ("pass", _) | (_, "") => ruling.clone(),
        (ruling, gate) => format!("{ruling} by `{gate}`"),
    };
    for change in changed {
        let verdict = format!("{} → {}", spell(&change.was), spell(&change.now));
        let verdict = Tone::Strong.paint(&verdict, io);
        let time = change.ts.get(11..19).unwrap_or_default();
        writeln!(io.out, "{:>6}  {time}  {verdict}  {}", change.seq, clean(&change.asked))?;
        let why = if change.now[2].is_empty() { &change.was[2] } else { &change.now[2] };
        writeln!(io.out, "{:16}  {}", "", clean(&one_line(why.lines().next().unwrap_or_default(), 300)))?;
    }
    for (why, count) in left_out {
        writeln!(io.out, "{count} left out: {why}")?;
    }
    Ok(0)
}

/// Today's verdict on an event, or why there is none.
enum Replayed {
    Verdict(Box<Verdict>),
    LeftOut(&'static str),
    /// No gate judges this kind of event, or no policy can change the answer: a call that had already ended
    /// is refused again.
    CannotChange,
}

const CLIPPED: &str = "the ledger keeps only the beginning of a long input";
const WORDS: &str = "a text in force cannot be read";
const SECOND: &str = "the ledger does not keep the input of a second call under a running id";
const SETTINGS: &str = "the ledger does not keep the settings that were changed";
const MOVED: &str = "the ledger does not keep the variables a session was moved by";

struct Replay<'a> {
    env: &'a Env,
    session_id: &'a str,
    cwd: &'a Path,
    /// Today's policy; `None` for the shipped one.
    policy: Option<Box<Policy>>,
    /// How each call ended so far, by id, server and tool.
    past: BTreeMap<(String, String, String), Step>,
}

impl<'a> Replay<'a> {
    fn new(env: &'a Env, session_id: &'a str, cwd: &'a Path) -> Result<Self, Failure> {
        let policy = Some(in_force::load(env, cwd)?.policy).filter(|policy| *policy != Policy::default());
        Ok(Self { env, session_id, cwd, policy: policy.map(Box::new), past: BTreeMap::new() })
    }

    /// Today's verdict, for the session at that time.
    fn judge(&self, session: &Session, answered: &Answered, batch: &Batch) -> Replayed {
        let kind = EventKind::of(answered.event);
        let ended =
            matches!(answered.asked, Asked::Again(second) if second.kind == ViolationKind::AskedAgain);
        if kind.row().refusal == Refusal::None || ended {
            return Replayed::CannotChange;
        }
        if answered.reason.contains(moved::WHY) {
            return Replayed::LeftOut(MOVED);
        }
        let payload = match answered.asked {
            _ if kind == EventKind::ConfigChange => Err(SETTINGS),
            Asked::Again(_) => Err(SECOND),
            Asked::Call(step) => self.of_call(step),
            Asked::Event(seen) => self.of_event(seen),
        };
        let read =
            |payload: Value| read::read(answered.event, payload.to_string().as_bytes()).map_err(|_| CLIPPED);
        let event = match payload.and_then(read) {
            Ok(event) if is_whole(&event, answered) => event,
            Ok(_) => return Replayed::LeftOut(CLIPPED),
            Err(why) => return Replayed::LeftOut(why),
        };
        let mut session = session.clone();
        session.memory.configured.policy.clone_from(&self.policy);
        let then = time::parse(answered.ts).unwrap_or(self.env.now_ms);
        let mut context = observe::call::again(self.env, &session, &event, then);
        // Whether a person was present is not recorded, but a question to a person is.
        context.attended |= answered.ruling == Ruling::Ask;
        self.recall(&mut context, &event, answered, batch);
        context.checks = checks(&session, batch);
        match hook::judge(self.env, &session, &event, &context) {
            Ok(verdict) => Replayed::Verdict(Box::new(verdict)),
            Err(_) => Replayed::LeftOut(WORDS),
        }
    }

    /// Remembers which calls of this batch ended, so that their ids are not taken for new calls.
    fn remember_ended(&mut self, batch: &Batch) {
        for entry in batch {
            if let Fact::Call(step) = &entry.fact
                && step.to.is_terminal()
            {
                let key = (step.call.id.clone(), step.call.server.clone(), step.call.tool.clone());
                self.past.insert(key, step.clone());
            }
        }
    }

    /// Restores facts of that time: an earlier call of this id, the tree at Stop, a report too long to keep.
    fn recall(&self, context: &mut Context, event: &Event, answered: &Answered, batch: &Batch) {
        if let Some(call) = event.asked_call() {
            let key = (call.key.id.clone(), call.key.server.clone(), call.key.tool.clone());
            context.earlier.past = self.past.get(&key).cloned();
        }
        // An edit is as large as it was then; the file has changed since.
        if let (Asked::Call(asked), Some(seen)) = (answered.asked, context.call_mut()) {
            seen.does.grows.clone_from(&asked.means().grows);
        }
        let Asked::Event(seen) = answered.asked else { return };
        if let Some(owed) = seen.owed() {
            let owes = |id: DebtId| owed.contains(&id.into());
            context.tree = Worktree {
                behind: u64::from(owes(DebtId::Pull)),
                others: false,
                uncommitted: owes(DebtId::Commit).then(|| "as then".to_owned()).into_iter().collect(),
                push: owes(DebtId::Push).then(|| ("git push".to_owned(), "as then".to_owned())),
                ..Worktree::default()
            };
        }
        let recorded = batch.iter().find_map(|entry| match &entry.fact {
            Fact::Verdict(report) => Some(report),
            _ => None,
        });
        // The report does not say how the verifier's own tests ended.
        let failed =
            |report: &&Reported| report.problem.as_ref().is_some_and(|why| why.starts_with(FAILED_LAST));
        if let Some(report) = recorded.filter(|report| event.report().is_empty() || failed(report)) {
            let problem = || report.problem.clone().unwrap_or_default();
            let report = Some(report.finding.clone().ok_or_else(problem));
            context.found =
                Found::AgentStop(Box::new(AgentStopContext { report, ..AgentStopContext::default() }));
        }
    }

    fn of_call(&self, step: &Step) -> Result<Value, &'static str> {
        let input: Value = serde_json::from_str(step.input().ok_or(CLIPPED)?.get()).map_err(|_| CLIPPED)?;
        let known = [
            step.agent_id.as_deref(),
            step.agent_type.as_deref(),
            step.mode.as_ref().map(Stored::name),
            step.prompt_id.as_deref(),
        ];
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
        let known = [
            seen.agent_id.as_deref(),
            seen.agent_type.as_deref(),
            seen.mode.as_ref().map(Stored::name),
            seen.prompt_id.as_deref(),
        ];
        let mut payload = self.common_fields(seen.event.name(), known);
        payload.extend(own);
        Ok(Value::Object(payload))
    }

    /// The fields that every payload has; `known`: agent id and type, permission mode, prompt id.
    fn common_fields(&self, event: &str, known: [Option<&str>; 4]) -> Map<String, Value> {
        let names = ["agent_id", "agent_type", "permission_mode", "prompt_id"];
        let known = names.into_iter().zip(known).filter_map(|(name, value)| Some((name, json!(value?))));
        let fixed = [
            ("session_id", json!(self.session_id)),
            ("cwd", json!(self.cwd)),
            ("hook_event_name", json!(event)),
        ];
        known.chain(fixed).map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// The recorded checks that are still configured, with today's consequence of a failure. They are not run
/// again.
fn checks(session: &Session, batch: &Batch) -> Vec<Checked> {
    let asked = &session.policy().checks;
    let run = batch.iter().filter_map(|entry| match &entry.fact {
        Fact::Check(run) => Some((run, asked.iter().find(|check| check.id == run.id && check.on == run.on)?)),
        _ => None,
    });
    run.map(|(run, check)| {
        let outcome = if run.failed() { check.outcome.into() } else { PhaseOutcome::Pass };
        Checked { outcome: outcome.into(), ..run.clone() }
    })
    .collect()
}

/// Whether the rebuilt call has the recorded digest, which covers the whole input.
fn is_whole(event: &Event, answered: &Answered) -> bool {
    match (answered.asked, event.call()) {
        (Asked::Call(step), Some(call)) => call.input_sha256 == step.input_sha256,
        (Asked::Call(_), None) => false,
        _ => true,
    }
}

/// Whether a string anywhere in the value was clipped.
fn has_clip(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            members.len() == 3
                && ["clipped", "length", "sha256"].iter().all(|name| members.contains_key(*name))
                || members.values().any(has_clip)
        }
        Value::Array(items) => items.iter().any(has_clip),
        _ => false,
    }
}
