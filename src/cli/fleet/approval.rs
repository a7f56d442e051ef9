//! `fleet approvals|approve|reject|block`, and how `resolve` treats runs of the engine.

use super::on;
use crate::cli::table::{Cell, Tone};
use crate::cli::{Command, Io, operand, option, text};
use clap::ArgMatches;
use serde_json::{Value, json};

#[derive(Clone, Copy)]
pub(super) enum Answer {
    /// The run continues with exactly the call or step it asked about.
    Approve,
    /// The run continues to its end, and learns that a person said no.
    Reject,
    /// The run ends now, whatever it is doing.
    Block,
}

type Run = fn(&ArgMatches, &mut Io) -> anyhow::Result<u8>;

/// Defines a verb that answers a question.
pub(super) const fn verb(
    name: &'static str,
    about: &'static str,
    examples: &'static [(&'static str, &'static str)],
    run: Run,
) -> Command {
    let arguments = |row: clap::Command| {
        row.arg(operand("id", "ID", "The id of the run or of the session's question").required(true))
            .arg(option("note", "TEXT", "Why; the run is told, and it is recorded"))
    };
    Command { name, about, examples, arguments, run }
}

pub(super) fn list(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let asked = on::asking(&on::wanted(io)?)?;
    if io.json {
        return io.print(Value::Array(asked));
    }
    let row = |run: &Value| {
        let [id, age, repository, question] = on::question(io, run);
        [id.into(), age.into(), repository.into(), Cell::new(question, Tone::Warn)]
    };
    let rows = asked.iter().map(row).collect();
    io.table(["id", "age", "repository", "question"], rows)
}

pub(super) fn answer(given: &ArgMatches, io: &mut Io, answer: Answer) -> anyhow::Result<u8> {
    let id = text(given, "id").unwrap_or_default();
    let gateway = on::wanted(io)?;
    let say = |approve| on::answer(&gateway, id, approve, text(given, "note")).map(|()| None::<String>);
    let (name, words, later) = match answer {
        Answer::Approve => ("approve", "it continues", say(true)?),
        Answer::Reject => ("reject", "it ends", say(false)?),
        Answer::Block => ("block", "it is over", on::block(&gateway, id)?),
    };
    match later {
        Some(later) => {
            let value = json!({"id": id, "decision": name, "later": later});
            io.answer(&value, format!("{id}: {name}; {later}"))
        }
        None => io.answer(&json!({"id": id, "decision": name}), format!("{id}: {name}; {words}")),
    }
}

/// `resolve` for a run that does not belong to this project. `None`: the engine does not know it either.
pub(in crate::cli) fn resolve(
    io: &mut Io,
    id: &str,
    approved: bool,
    note: Option<&str>,
) -> anyhow::Result<Option<u8>> {
    let Some(gateway) = on::gateway(io).ok().flatten().filter(|gateway| on::knows(gateway, id)) else {
        return Ok(None);
    };
    on::answer(&gateway, id, approved, note)?;
    let decision = if approved { "approve" } else { "reject" };
    io.answer(&json!({"id": id, "decision": decision}), format!("{id}: {decision}")).map(Some)
}
