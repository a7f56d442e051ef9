//! `why`: explains a verdict: the gate, the question, the evidence, and the next step.
//!
//! Reads one ledger, writes nothing. Invariant: every line of evidence is an entry of the ledger, or the absence of one
//! since an entry.

mod evidence;
mod own;

use super::past::{self, Answered, Batch};
use super::table::{Tone, clean};
use super::{Command, Io, Who, refused, session, standing};
use crate::session::describe::describe_fact;
use crate::session::fold::Session;
use crate::text::template::one_line;
use clap::{Arg, ArgMatches, value_parser};
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
    who: Who::Anyone,
    arguments: |row| {
        let seq = Arg::new("seq").value_name("SEQ").value_parser(value_parser!(u64));
        let session = Arg::new("session").long("session").value_name("ID");
        row.arg(seq.help("An entry's number; without one, the last refusal"))
            .arg(session.help("A session's id or the beginning of one; else the newest in this project"))
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let shelved = session(given, io)?;
    let batches = past::batches(&shelved)?;
    let at = match given.get_one::<u64>("seq") {
        Some(seq) => match batches.iter().position(|batch| batch.iter().any(|entry| entry.seq == *seq)) {
            Some(at) => at,
            None => return refused(describe_unknown(*seq, &batches)),
        },
        None => match batches.iter().rposition(|batch| past::answered(batch).is_some_and(|a| a.refused())) {
            Some(at) => at,
            None => return print_nothing(io, &shelved.session_id),
        },
    };
    let Some(answered) = past::answered(&batches[at]) else {
        return print_entry(io, &shelved.session_id, &batches[at]);
    };
    let mut before = Session::default();
    batches[..at].iter().for_each(|batch| past::fold(&mut before, &shelved.session_id, batch));
    let mut clues = own::of(io.env, &answered, &batches[at], &batches[..at], &before);
    clues.extend(evidence::of(&answered, &batches[..at], &before));
    if io.json {
        writeln!(io.out, "{}", value(&shelved.session_id, &answered, &clues, &before))?;
    } else {
        print(io, &answered, &clues, &before)?;
    }
    Ok(0)
}

fn describe_unknown(seq: u64, batches: &[Batch]) -> String {
    let last = batches.last().and_then(|batch| batch.last()).map_or(0, |entry| entry.seq);
    format!("no entry {seq}: this ledger ends at {last}\nhint: `aops-hook log` numbers them")
}

fn print_nothing(io: &mut Io, id: &str) -> anyhow::Result<u8> {
    if io.json {
        writeln!(io.out, "{}", json!({"session_id": id, "seq": null, "ruling": null}))?;
    } else {
        writeln!(io.out, "nothing was refused in session {id}")?;
    }
    Ok(0)
}

/// An entry that is not an answer to an event.
fn print_entry(io: &mut Io, id: &str, batch: &Batch) -> anyhow::Result<u8> {
    let Some(entry) = batch.last() else { return Ok(0) };
    let what = describe_fact(&entry.fact, 300);
    if io.json {
        let said = json!({"session_id": id, "seq": entry.seq, "type": entry.kind, "ruling": null, "what": what});
        writeln!(io.out, "{said}")?;
    } else {
        writeln!(io.out, "entry {} answers no event: {}  {}", entry.seq, entry.kind, clean(&what))?;
    }
    Ok(0)
}

/// The reason without its hint, and the hint.
fn split_hint(reason: &str) -> (&str, Option<&str>) {
    match reason.rsplit_once("\nhint: ") {
        Some((said, next)) => (said, Some(next)),
        None => (reason, None),
    }
}

fn describe_speaker(answered: &Answered) -> String {
    match answered.agent {
        Some(name) => format!("the agent `{}`", one_line(name, 64)),
        None if answered.event == "UserPromptSubmit" => "the user".to_owned(),
        None => "the main agent".to_owned(),
    }
}

fn value(id: &str, answered: &Answered, clues: &[Clue], before: &Session) -> Value {
    let (said, next) = split_hint(answered.reason);
    let clues: Vec<Value> = clues.iter().map(|clue| json!({"seq": clue.seq, "what": clue.what})).collect();
    json!({
        "session_id": id,
        "seq": answered.seq,
        "ts": answered.ts,
        "event": answered.event,
        "asked": past::shown(answered),
        "by": describe_speaker(answered),
        "ruling": answered.ruling,
        "gate": Some(answered.gate).filter(|gate| !gate.is_empty()),
        "evidence": clues,
        "reason": said,
        "next": next,
        "phase": before.state.phase,
        "sandbox": before.state.sandbox,
    })
}

fn print(io: &mut Io, answered: &Answered, clues: &[Clue], before: &Session) -> anyhow::Result<()> {
    let (said, next) = split_hint(answered.reason);
    let (verb, tone) = match answered.ruling {
        "deny" => ("refused", Tone::Bad),
        "ask" => ("asked a person about", Tone::Warn),
        _ => ("let pass", Tone::Good),
    };
    let gate = match answered.gate {
        "" => "no gate objected, so it".to_owned(),
        gate => format!("`{gate}`"),
    };
    let verdict = if answered.gate.is_empty() { "passed" } else { verb };
    let time = answered.ts.get(11..19).unwrap_or(answered.ts);
    let verdict = tone.paint(verdict, io).into_owned();
    writeln!(io.out, "entry {} at {time}: {gate} {verdict}", answered.seq)?;
    row(io, "asked", &format!("{} by {}: {}", answered.event, describe_speaker(answered), past::shown(answered)))?;
    let phase = standing::phase(before.state.phase);
    let sandbox = standing::sandbox(before.state.sandbox);
    row(io, "stood", &format!("phase {phase}, sandbox {sandbox}"))?;
    let mut name = "because";
    for clue in clues {
        let seq = clue.seq.map_or_else(|| "since".to_owned(), |seq| format!("entry {seq}"));
        row(io, name, &format!("{seq}: {}", clue.what))?;
        name = "";
    }
    let mut name = "said";
    for line in said.lines().filter(|line| !line.is_empty()) {
        row(io, name, line)?;
        name = "";
    }
    next.map_or(Ok(()), |next| row(io, "next", next))
}

fn row(io: &mut Io, name: &str, words: &str) -> anyhow::Result<()> {
    Ok(writeln!(io.out, "  {name:8} {}", clean(words))?)
}
