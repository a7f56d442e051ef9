//! `replay`: judges a recorded session again under today's gates and policy, and shows each verdict that would change.
//!
//! Reads one ledger and the files that the gates read today; writes nothing. Invariants: each event is judged on the
//! recorded history, so one changed verdict does not change the next; events that the ledger does not hold whole are
//! counted, never guessed.

mod again;

use super::past::{self, Answered};
use super::table::{Tone, clean};
use super::{Command, Io, Who, session, session_argument, standing};
use crate::ledger::sessions;
use crate::model::verdict::Verdict;
use crate::session::fold::Session;
use crate::text::template::one_line;
use again::{Replay, Replayed};
use clap::ArgMatches;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub const COMMAND: Command = Command {
    name: "replay",
    about: "Judge a recorded session again under today's policy: what would change",
    examples: &[
        ("aops-hook replay", "the newest session of this project; exit 0 whether or not something changed"),
        ("aops-hook replay 3f2a --json | jq .changed", "each changed verdict of one session, for a program"),
    ],
    who: Who::Anyone,
    arguments: session_argument,
    run,
};

/// One verdict that would be different today.
struct ChangedVerdict {
    seq: u64,
    ts: String,
    event: String,
    asked: String,
    was: (String, String, String),
    now: Verdict,
}

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let shelved = session(given, io)?;
    let checked = sessions::check(io.env, &shelved)?;
    if let Some(failure) = checked.failure {
        return Err(failure.into());
    }
    let cwd = standing::folder(io.env, &shelved, &checked.session).unwrap_or_else(|| io.env.cwd.clone());
    let mut replay = Replay::new(io.env, &shelved.session_id, &cwd)?;
    let mut session = Session::default();
    let (mut judged, mut changed, mut left_out) = (0_u64, Vec::new(), BTreeMap::<&str, u64>::new());
    for batch in past::batches(&shelved)? {
        if let Some(answered) = past::answered(&batch) {
            match replay.judge(&session, &answered, &batch) {
                Replayed::Verdict(now) => {
                    judged += 1;
                    changed.extend(differs(&answered, now));
                }
                Replayed::LeftOut(why) => *left_out.entry(why).or_default() += 1,
                Replayed::CannotBeRefused => {}
            }
        }
        replay.ended(&batch);
        past::fold(&mut session, &shelved.session_id, &batch);
    }
    if io.json {
        let changed: Vec<Value> = changed.iter().map(value).collect();
        let id = &shelved.session_id;
        let said = json!({"session_id": id, "judged": judged, "changed": changed, "left_out": left_out});
        writeln!(io.out, "{said}")?;
    } else {
        print(io, &shelved.session_id, judged, &changed, &left_out)?;
    }
    Ok(0)
}

/// Another ruling, or another gate that refuses. Other words are no change.
fn differs(answered: &Answered, now: Verdict) -> Option<ChangedVerdict> {
    let silent = |ruling: &str| matches!(ruling, "pass" | "allow");
    let same = answered.ruling == now.ruling.name() || silent(answered.ruling) && silent(now.ruling.name());
    if same && (silent(answered.ruling) || answered.gate == now.gate) {
        return None;
    }
    let was = [answered.ruling, answered.gate, answered.reason].map(str::to_owned);
    Some(ChangedVerdict {
        seq: answered.seq,
        ts: answered.ts.to_owned(),
        event: answered.event.to_owned(),
        asked: past::shown(answered),
        was: was.into(),
        now,
    })
}

fn value(changed: &ChangedVerdict) -> Value {
    let (ruling, gate, reason) = &changed.was;
    let now = &changed.now;
    json!({
        "seq": changed.seq,
        "ts": changed.ts,
        "event": changed.event,
        "asked": changed.asked,
        "was": {"ruling": ruling, "gate": gate, "reason": reason},
        "now": {"ruling": now.ruling.name(), "gate": now.gate, "reason": now.reason},
    })
}

fn print(
    io: &mut Io,
    id: &str,
    judged: u64,
    changed: &[ChangedVerdict],
    left_out: &BTreeMap<&str, u64>,
) -> anyhow::Result<()> {
    let how_many = match changed.len() {
        0 => "none would change".to_owned(),
        n => format!("{n} would change"),
    };
    let tone = if changed.is_empty() { Tone::Good } else { Tone::Warn };
    let how_many = tone.paint(&how_many, io).into_owned();
    writeln!(io.out, "session {id}: {judged} verdicts judged again, {how_many}")?;
    for change in changed {
        let (ruling, gate, reason) = &change.was;
        let now = &change.now;
        let by = |gate: &str| if gate.is_empty() { String::new() } else { format!(" by `{gate}`") };
        let by_now = if now.ruling.name() == "pass" { String::new() } else { by(now.gate) };
        let by_then = if ruling == "pass" { String::new() } else { by(gate) };
        let verdict = format!("{ruling}{by_then} → {}{by_now}", now.ruling.name());
        let verdict = Tone::Strong.paint(&verdict, io).into_owned();
        let time = change.ts.get(11..19).unwrap_or_default();
        writeln!(io.out, "{:>6}  {time}  {verdict}  {}", change.seq, clean(&change.asked))?;
        let why = if now.reason.is_empty() { reason } else { &now.reason };
        writeln!(io.out, "{:16}  {}", "", clean(&one_line(why.lines().next().unwrap_or_default(), 300)))?;
    }
    for (why, count) in left_out {
        writeln!(io.out, "{count} left out: {why}")?;
    }
    Ok(())
}
