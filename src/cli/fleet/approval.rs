//! `fleet approvals|approve|reject|block`, and how `resolve` and `runs --fleet` treat runs of the database.

use super::{MOST, on, open};
use crate::cli::table::{Cell, Tone};
use crate::cli::{Command, Io, operand, option, refused, text};
use crate::run::fleet::place;
use aops_core::system::env;
use aops_core::text::json::cut;
use aops_core::text::redact::redact;
use aops_core::text::template::one_line;
use aops_core::text::time::age;
use aops_fleet::Fleet;
use aops_fleet::approval::{Answer, Approval};
use aops_fleet::overview::RunRow;
use clap::ArgMatches;
use serde_json::{Value, json};
use std::collections::BTreeSet;

type Run = fn(&ArgMatches, &mut Io) -> anyhow::Result<u8>;

/// Defines a verb that answers a question.
pub(super) const fn verb(
    name: &'static str,
    about: &'static str,
    examples: &'static [(&'static str, &'static str)],
    run: Run,
) -> Command {
    let arguments = |row: clap::Command| {
        row.arg(
            operand("id", "ID", "The question's id, that of its run, or the token of its announcement")
                .required(true),
        )
        .arg(option("note", "TEXT", "Why; the run is told, and it is recorded"))
    };
    Command { name, about, examples, arguments, run }
}

pub(super) fn list(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let gateway = on::gateway(io)?;
    let asked = gateway.as_ref().map(on::asking).transpose()?.unwrap_or_default();
    let open =
        if gateway.is_some() && !is_configured(io) { Vec::new() } else { open(io)?.approvals(MOST)? };
    if io.json {
        let one = |one: &Approval| {
            json!({
                "id": one.id, "run_id": one.run, "question": one.question, "age_s": one.age_s,
                "repository": redact(&one.repository), "machine": one.machine,
            })
        };
        return io.print(open.iter().map(one).chain(asked).collect::<Value>());
    }
    let row = |one: &Approval| {
        let what = one_line(&one.question, 500);
        [
            Cell::from(&one.id),
            age(one.age_s * 1000).into(),
            redact(&one.repository).into_owned().into(),
            Cell::new(what, Tone::Warn),
        ]
    };
    let of_engine = |run: &Value| {
        let [id, age, repository, question] = on::question(io, run);
        [id.into(), age.into(), repository.into(), Cell::new(question, Tone::Warn)]
    };
    let rows = open.iter().map(row).chain(asked.iter().map(of_engine)).collect();
    io.table(["id", "age", "repository", "question"], rows)
}

pub(super) fn answer(given: &ArgMatches, io: &mut Io, answer: Answer) -> anyhow::Result<u8> {
    let id = text(given, "id").unwrap_or_default();
    if let Some(gateway) = on::gateway(io)?
        && (!is_configured(io) || on::knows(&gateway, id))
    {
        match answer {
            Answer::Block => {
                if let Some(later) = on::block(&gateway, id)? {
                    let value = json!({"id": id, "decision": answer.name(), "later": later});
                    return io.answer(&value, format!("{id}: {}; {later}", answer.name()));
                }
            }
            _ => on::answer(&gateway, id, answer == Answer::Approve, text(given, "note"))?,
        }
        return said(io, id, answer);
    }
    if decide_here(io, id, answer, text(given, "note"))? {
        return said(io, id, answer);
    }
    refused(format!("`{id}` is not open\nhint: `aops-hook fleet approvals` lists what is"))
}

fn said(io: &mut Io, id: &str, answer: Answer) -> anyhow::Result<u8> {
    let next = match answer {
        Answer::Approve => "the next worker goes on with it",
        Answer::Reject => "the next worker ends it",
        Answer::Block => "it is over",
    };
    io.answer(&json!({"id": id, "decision": answer.name()}), format!("{id}: {}; {next}", answer.name()))
}

/// Records the decision of the person at this terminal.
fn decide_here(io: &Io, id: &str, answer: Answer, note: Option<&str>) -> anyhow::Result<bool> {
    let mut fleet = open(io)?;
    let by_token = fleet.approval_of_token(id)?;
    decide(&mut fleet, by_token.as_deref().unwrap_or(id), answer, &person(), note)
}

/// Records the decision about a question, or about a run that asks nothing. `false`: it is not open.
pub(super) fn decide(
    fleet: &mut Fleet,
    id: &str,
    answer: Answer,
    who: &str,
    note: Option<&str>,
) -> anyhow::Result<bool> {
    let note = note.map(|note| cut(&redact(note.trim()), 1000).to_owned()).filter(|note| !note.is_empty());
    let done = fleet.answer(id, answer, who, note.as_deref())?;
    Ok(done || (answer == Answer::Block && fleet.block(id, who, note.as_deref())?))
}

/// The person at this terminal: the user of this process, whatever its variables say, and the machine.
pub(super) fn person() -> String {
    format!("{}@{}", env::user_name(), rustix::system::uname().nodename().to_string_lossy())
}

/// `resolve` for a run that does not belong to this project; `false` if the database does not know it either.
pub(in crate::cli) fn resolve(
    io: &mut Io,
    id: &str,
    approved: bool,
    note: Option<&str>,
) -> anyhow::Result<Option<u8>> {
    if !is_configured(io) {
        return Ok(None);
    }
    let answer = if approved { Answer::Approve } else { Answer::Reject };
    if decide_here(io, id, answer, note)? { said(io, id, answer).map(Some) } else { Ok(None) }
}

pub(super) fn is_configured(io: &Io) -> bool {
    crate::cli::policy_here(io).is_ok_and(|in_force| in_force.policy.fleet.url.is_some())
}

/// The trees on this machine of runs that ended long enough ago, whatever their outcome. The database knows,
/// or else the run's own record in the tree, which is all that an engine leaves here.
pub(in crate::cli) fn old_trees(io: &Io, age_ms: i64) -> anyhow::Result<Vec<String>> {
    let trees = place::trees(io.env);
    let mut old: BTreeSet<String> =
        trees.iter().filter(|run| place::is_over(io.env, run, age_ms)).cloned().collect();
    if !trees.is_empty() && is_configured(io) {
        #[expect(clippy::cast_precision_loss, reason = "a length of time")]
        let seconds = age_ms as f64 / 1000.0;
        old.extend(open(io)?.over(&trees, Some(seconds))?);
    }
    Ok(old.into_iter().collect())
}

/// `runs --fleet`
pub(in crate::cli) fn runs(io: &mut Io) -> anyhow::Result<u8> {
    if let Some(gateway) = on::gateway(io)? {
        return on::runs(io, &gateway);
    }
    let runs = open(io)?.runs(MOST)?;
    if io.json {
        return io.print(runs.iter().map(to_json).collect::<Value>());
    }
    let row = |run: &RunRow| {
        let machine = run.machine.clone().unwrap_or_default();
        let words = if run.reason.is_empty() { task(run) } else { format!("{} ({})", task(run), run.reason) };
        let outcome = run.outcome.clone().unwrap_or_else(|| "-".to_owned());
        [run.id.clone(), run.state.clone(), outcome, age(run.age_s * 1000), machine, one_line(&words, 300)]
            .map(Cell::from)
    };
    io.table(["run", "state", "outcome", "changed", "machine", "task"], runs.iter().map(row).collect())
}

fn task(run: &RunRow) -> String {
    let request: Value = serde_json::from_str(&run.request).unwrap_or_default();
    request["run"]["task"].as_str().unwrap_or_default().to_owned()
}

fn to_json(run: &RunRow) -> Value {
    json!({
        "run_id": run.id, "state": run.state, "outcome": run.outcome, "reason": run.reason,
        "age_s": run.age_s,
        "repository": redact(&run.repository), "machine": run.machine, "priority": run.priority,
        "labels": run.labels,
        "task": task(run), "lines": run.steps,
    })
}
