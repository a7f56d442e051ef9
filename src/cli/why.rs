//! `why`: explains a verdict: the gate, the question, the evidence, and the next step.
//!
//! Reads one ledger, writes nothing. Invariant: every line of evidence is an entry of the ledger, or the
//! absence of one since an entry.

mod evidence;

use super::past::{self, Answered, Batch};
use super::sessions::changed_ms;
use super::table::{Tone, clean};
use super::{Command, Io, operand, refused, session_option, status, text};
use aops_core::ledger::sessions::{self, SessionOnDisk};
use aops_core::model::event::EventKind;
use aops_core::model::verdict::Ruling;
use aops_core::session::describe::{describe_fact, describe_warnings};
use aops_core::session::fact::Fact;
use aops_core::session::fold::Session;
use aops_core::session::question::Answered as HumanAnswer;
use aops_core::system::env::east_of_utc;
use aops_core::text::template::one_line;
use aops_core::text::time;
use clap::ArgMatches;
use evidence::Clue;
use serde_json::{Value, json};

pub const COMMAND: Command = Command {
    name: "why",
    about: "Explain a verdict: gate, evidence, next step",
    examples: &[
        (
            "aops-hook why",
            "the last refusal or question of the session that `status` shows; without any, of the project",
        ),
        ("aops-hook why 42", "what was answered at entry 42 (`aops-hook log` numbers them)"),
        ("aops-hook why 3f2a", "the last refusal of the session whose id begins with 3f2a"),
        ("aops-hook why 42 --session 3f2a --json", "an entry of that session, for a program"),
    ],
    arguments: |row| {
        let help = "An entry's number, or a session's id or the beginning of one (eight digits that begin an \
            id are one); without it, the last refusal or question";
        row.arg(operand("what", "SEQ|SESSION", help)).arg(session_option())
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let what = text(given, "what");
    let seq = what.filter(|what| !is_id(io, what)).and_then(|what| what.parse::<u64>().ok());
    let named = match (what.filter(|_| seq.is_none()), text(given, "session")) {
        (Some(_), Some(_)) => return refused("the session is named twice\nhint: `aops-hook why SESSION`"),
        (one, other) => one.or(other),
    };
    let found = match (seq, named) {
        (None, None) => last_in_project(io)?,
        (seq, _) => {
            let shelved = sessions::pick(io.env, named).or_else(refused)?;
            let batches = past::batches(&shelved)?;
            let at = match seq {
                Some(seq) => {
                    match batches.iter().position(|batch| batch.iter().any(|entry| entry.seq == seq)) {
                        Some(at) => Some(answer_of(&batches, at)),
                        None => return refuse_unknown(seq, &batches),
                    }
                }
                None => last_refusal(&batches).or_else(|| last_remark(&batches)),
            };
            Looked { shelved, batches, at }
        }
    };
    let id = &found.shelved.session_id;
    let batches = &found.batches;
    let Some(at) = found.at else { return print_nothing(io, id) };
    let Some(answered) = past::find_answer(&batches[at]) else { return print_entry(io, id, &batches[at]) };
    let answered = answered.as_rehearsed();
    let mut before = Session::default();
    batches[..at].iter().for_each(|batch| past::fold(&mut before, id, batch));
    let mut clues = evidence::own(io.env, &answered, &batches[at], &batches[..at], &before);
    clues.extend(evidence::of_ledger(&answered, &batches[..at], &before));
    let human = past::human_answer(&answered, &batches[at..]);
    if io.json {
        let mut value = to_json(id, &answered, &clues, &before);
        value["answer"] = json!(human);
        return io.print(value);
    }
    print(io, id, &answered, &clues, &before)?;
    io.beside("answer", human.map(HumanAnswer::describe))?;
    let shown = sessions::pick(io.env, None).ok().filter(|shown| named.is_none() && shown.session_id != *id);
    let other = |shown: SessionOnDisk| {
        format!("another session than `aops-hook status` shows: in {} nothing was refused", shown.session_id)
    };
    io.beside("note", shown.map(other))?;
    Ok(0)
}

/// Whether this is a session id: at least as many digits as the short ids of `sessions`, which no entry
/// number reaches.
fn is_id(io: &Io, what: &str) -> bool {
    const SHORT: usize = 8;
    what.len() >= SHORT && sessions::pick(io.env, Some(what)).is_ok()
}

/// A session that was read back, and the batch to explain.
struct Looked {
    shelved: SessionOnDisk,
    batches: Vec<Batch>,
    at: Option<usize>,
}

/// The last refusal or question of the session that `status` shows; if there is none, the last one of any
/// session in this project; otherwise what the newest session rehearsed.
fn last_in_project(io: &Io) -> anyhow::Result<Looked> {
    let newest = sessions::pick(io.env, None).or_else(refused)?;
    let batches = past::batches(&newest)?;
    if let at @ Some(_) = last_refusal(&batches) {
        return Ok(Looked { shelved: newest, batches, at });
    }
    let mut all = sessions::beside(&newest);
    all.sort_by_key(|one| std::cmp::Reverse(one.changed));
    let mut best: Option<Looked> = None;
    let mut best_ms: i64 = i64::MIN;
    for shelved in all {
        if best_ms >= changed_ms(&shelved) {
            break;
        }
        let batches = past::batches(&shelved).unwrap_or_default();
        let Some(at) = last_refusal(&batches) else { continue };
        let ms =
            past::find_answer(&batches[at]).and_then(|answered| time::parse(answered.ts)).unwrap_or_default();
        if ms > best_ms {
            best = Some(Looked { shelved, batches, at: Some(at) });
            best_ms = ms;
        }
    }
    if let Some(found) = best {
        return Ok(found);
    }
    let at = last_remark(&batches);
    Ok(Looked { shelved: newest, batches, at })
}

fn last_refusal(batches: &[Batch]) -> Option<usize> {
    let stops = |answered: Answered| answered.refused() || answered.ruling == Ruling::Ask;
    batches.iter().rposition(|batch| past::find_answer(batch).is_some_and(stops))
}

/// The last batch that the rehearsed mode would have refused, or that a rule of the user warned about.
fn last_remark(batches: &[Batch]) -> Option<usize> {
    let is_remarked = |answered: Answered| answered.rehearsed.is_some() || !answered.warned().is_empty();
    batches.iter().rposition(|batch| past::find_answer(batch).is_some_and(is_remarked))
}

/// If the batch ends a call, the batch that let the call pass.
fn answer_of(batches: &[Batch], at: usize) -> usize {
    let call = batches[at].iter().find_map(|entry| match &entry.fact {
        Fact::Call(step) if step.from.is_some() => Some(&step.call),
        _ => None,
    });
    let begins = |batch: &Batch| {
        batch.iter().any(|entry| match &entry.fact {
            Fact::Call(step) => step.from.is_none() && Some(&step.call) == call,
            _ => false,
        })
    };
    if past::find_answer(&batches[at]).is_some() || call.is_none() {
        return at;
    }
    batches[..at].iter().rposition(begins).unwrap_or(at)
}

fn refuse_unknown(seq: u64, batches: &[Batch]) -> anyhow::Result<u8> {
    let last = batches.last().and_then(|batch| batch.last()).map_or(0, |entry| entry.seq);
    refused(format!("no entry {seq}: this ledger ends at {last}\nhint: `aops-hook log` numbers them"))
}

fn print_nothing(io: &mut Io, id: &str) -> anyhow::Result<u8> {
    let value = json!({"session_id": id, "seq": null, "ruling": null});
    io.answer(&value, format!("nothing was refused or needed approval in session {id}"))
}

/// Prints an entry that is not an answer to an event.
fn print_entry(io: &mut Io, id: &str, batch: &Batch) -> anyhow::Result<u8> {
    let Some(entry) = batch.last() else { return Ok(0) };
    let what = describe_fact(&entry.fact, 300);
    let said = json!({"session_id": id, "seq": entry.seq, "type": entry.kind, "ruling": null, "what": what});
    io.answer(&said, format!("entry {} answers no event: {}  {}", entry.seq, entry.kind, clean(&what)))
}

/// The reason without its hint, and the hint.
fn split_hint(reason: &str) -> (&str, Option<&str>) {
    reason.rsplit_once("\nhint: ").map_or((reason, None), |(said, next)| (said, Some(next)))
}

fn describe_speaker(answered: &Answered) -> String {
    match answered.agent {
        Some(name) => format!("the agent `{}`", one_line(name, 64)),
        None if EventKind::of(answered.event) == EventKind::UserPromptSubmit => "the user".to_owned(),
        None => "the main agent".to_owned(),
    }
}

fn time_of(answered: &Answered) -> i64 {
    time::parse(answered.ts).unwrap_or(i64::MAX)
}

fn to_json(id: &str, answered: &Answered, clues: &[Clue], before: &Session) -> Value {
    let (said, next) = split_hint(answered.reason);
    json!({
        "session_id": id, "seq": answered.seq, "ts": answered.ts,
        "event": answered.event, "asked": past::describe_question(answered), "by": describe_speaker(answered),
        "ruling": answered.ruling, "rehearsed": answered.rehearsed.map(|would| &would.ruling),
        "gate": Some(&answered.gate).filter(|gate| !gate.name().is_empty()),
        "warned": answered.warned(), "evidence": clues, "reason": said, "next": next,
        "phase": before.state.phase, "sandbox": status::sandbox(before, time_of(answered)),
    })
}

/// The gate and what it did.
fn describe_ruling(answered: &Answered, io: &Io) -> String {
    let (verdict, tone) = match answered.ruling.known() {
        Some(Ruling::Deny) => ("refused", Tone::Bad),
        Some(Ruling::Ask) => ("asked a person about", Tone::Warn),
        _ => ("let pass", Tone::Good),
    };
    let gate = &answered.gate;
    match answered.rehearsed {
        _ if !answered.warned().is_empty() && !answered.refused() => {
            format!("`rules` {}", Tone::Warn.paint("warned about this, and it passed", io))
        }
        _ if gate.name().is_empty() => format!("no gate objected, so it {}", tone.paint("passed", io)),
        Some(would) => {
            let words = format!("would {} this, but mode `observe` let it pass", would.verb());
            format!("`{gate}` {}", Tone::Warn.paint(&words, io))
        }
        None => format!("`{gate}` {}", tone.paint(verdict, io)),
    }
}

fn print(io: &mut Io, id: &str, answered: &Answered, clues: &[Clue], before: &Session) -> anyhow::Result<u8> {
    let (said, next) = split_hint(answered.reason);
    let at = time::parse(answered.ts).map(|ms| time::local_stamp(ms, east_of_utc(ms)));
    let time = at.unwrap_or_default();
    let ruled = describe_ruling(answered, io);
    writeln!(io.out, "entry {} at {time}: {ruled}", answered.seq)?;
    let asked = format!(
        "{} by {}: {}",
        answered.event,
        describe_speaker(answered),
        past::describe_question(answered)
    );
    let stood = format!(
        "phase {}, sandbox {}",
        before.state.phase.name(),
        status::sandbox(before, time_of(answered)).name()
    );
    let because = clues.iter().map(|clue| {
        let seq = clue.seq.map_or_else(|| "since".to_owned(), |seq| format!("entry {seq}"));
        format!("{seq}: {}", clue.what)
    });
    io.beside("session", [id])?;
    io.beside("asked", [asked])?;
    io.beside("stood", [stood])?;
    io.beside("because", because)?;
    io.beside("warned", describe_warnings(answered.warned()))?;
    io.beside("said", said.lines().filter(|line| !line.is_empty()))?;
    io.beside("next", next)?;
    Ok(0)
}
