//! `why`: explains a verdict: the gate, the question, the evidence, and the next step.
//!
//! Reads one ledger, writes nothing. Invariant: every line of evidence is an entry of the ledger, or the absence of one
//! since an entry.

mod evidence;

use super::past::{self, Answered, Batch};
use super::table::{Tone, clean};
use super::{Command, Io, operand, refused, session, session_option, status};
use crate::model::event::EventKind;
use crate::session::describe::describe_fact;
use crate::session::fold::Session;
use crate::text::template::one_line;
use clap::{ArgMatches, value_parser};
use evidence::Clue;
use serde_json::{Value, json};

pub const COMMAND: Command = Command {
    name: "why",
    about: "Explain a verdict: gate, evidence, next step",
    examples: &[
        ("aops-hook why", "the last refusal of the newest session of this project"),
        ("aops-hook why 42", "what was answered at entry 42 (`aops-hook log` numbers them)"),
        ("aops-hook why --session 3f2a --json", "the last refusal of one session, for a program"),
    ],
    arguments: |row| {
        let seq = operand("seq", "SEQ", "An entry's number; without one, the last refusal");
        row.arg(seq.value_parser(value_parser!(u64))).arg(session_option())
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let shelved = session(given, io)?;
    let id = &shelved.session_id;
    let batches = past::batches(&shelved)?;
    let at = match given.get_one::<u64>("seq") {
        Some(seq) => match batches.iter().position(|batch| batch.iter().any(|entry| entry.seq == *seq)) {
            Some(at) => at,
            None => return refuse_unknown(*seq, &batches),
        },
        None => match batches.iter().rposition(|batch| past::find_answer(batch).is_some_and(|a| objected(&a))) {
            Some(at) => at,
            None => return print_nothing(io, id),
        },
    };
    let Some(answered) = past::find_answer(&batches[at]) else { return print_entry(io, id, &batches[at]) };
    let answered = answered.as_rehearsed();
    let mut before = Session::default();
    batches[..at].iter().for_each(|batch| past::fold(&mut before, id, batch));
    let mut clues = evidence::own(io.env, &answered, &batches[at], &batches[..at], &before);
    clues.extend(evidence::of_ledger(&answered, &batches[..at], &before));
    if io.json {
        return io.print(to_json(id, &answered, &clues, &before));
    }
    print(io, &answered, &clues, &before)
}

/// It was refused, or the mode that is rehearsed would have refused it.
fn objected(answered: &Answered) -> bool {
    answered.refused() || answered.rehearsed.is_some()
}

fn refuse_unknown(seq: u64, batches: &[Batch]) -> anyhow::Result<u8> {
    let last = batches.last().and_then(|batch| batch.last()).map_or(0, |entry| entry.seq);
    refused(format!("no entry {seq}: this ledger ends at {last}\nhint: `aops-hook log` numbers them"))
}

fn print_nothing(io: &mut Io, id: &str) -> anyhow::Result<u8> {
    let value = json!({"session_id": id, "seq": null, "ruling": null});
    io.answer(&value, format!("nothing was refused in session {id}"))
}

/// An entry that is not an answer to an event.
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

fn to_json(id: &str, answered: &Answered, clues: &[Clue], before: &Session) -> Value {
    let (said, next) = split_hint(answered.reason);
    json!({
        "session_id": id, "seq": answered.seq, "ts": answered.ts,
        "event": answered.event, "asked": past::describe_question(answered), "by": describe_speaker(answered),
        "ruling": answered.ruling, "rehearsed": answered.rehearsed.map(|would| &would.ruling), "gate": Some(answered.gate).filter(|gate| !gate.is_empty()),
        "evidence": clues, "reason": said, "next": next,
        "phase": before.state.phase, "sandbox": status::sandbox(before),
    })
}

fn print(io: &mut Io, answered: &Answered, clues: &[Clue], before: &Session) -> anyhow::Result<u8> {
    let (said, next) = split_hint(answered.reason);
    let (verdict, tone) = match answered.ruling {
        "deny" => ("refused", Tone::Bad),
        "ask" => ("asked a person about", Tone::Warn),
        _ => ("let pass", Tone::Good),
    };
    let would = answered.rehearsed.map(|would| format!("would {} this, but mode `observe` let it pass", would.verb()));
    let (gate, verdict, tone) = match (answered.gate, &would) {
        ("", _) => ("no gate objected, so it".to_owned(), "passed", tone),
        (gate, Some(would)) => (format!("`{gate}`"), would.as_str(), Tone::Warn),
        (gate, None) => (format!("`{gate}`"), verdict, tone),
    };
    let (time, verdict) = (answered.ts.get(11..19).unwrap_or(answered.ts), tone.paint(verdict, io));
    writeln!(io.out, "entry {} at {time}: {gate} {verdict}", answered.seq)?;
    let asked = format!("{} by {}: {}", answered.event, describe_speaker(answered), past::describe_question(answered));
    let stood =
        format!("phase {}, sandbox {}", before.state.phase.name(), status::sandbox_word(status::sandbox(before)));
    let because = clues.iter().map(|clue| {
        let seq = clue.seq.map_or_else(|| "since".to_owned(), |seq| format!("entry {seq}"));
        format!("{seq}: {}", clue.what)
    });
    let said = said.lines().filter(|line| !line.is_empty()).map(str::to_owned);
    let next = next.map(str::to_owned).into_iter();
    let parts: [(&str, Vec<String>); 5] = [
        ("asked", vec![asked]),
        ("stood", vec![stood]),
        ("because", because.collect()),
        ("said", said.collect()),
        ("next", next.collect()),
    ];
    for (name, lines) in parts {
        for (n, line) in lines.iter().enumerate() {
            writeln!(io.out, "  {:8} {}", if n == 0 { name } else { "" }, clean(line))?;
        }
    }
    Ok(0)
}
