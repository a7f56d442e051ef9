//! `resolve`: records a person's decision on a paused run.
//!
//! Writes the packet and one line of the attempt ledger. Invariants: a packet that is not what the run wrote is refused;
//! a decision starts nothing.

use super::{Command, Io, Who, refused};
use crate::run::artifacts::RunArtifacts;
use crate::run::attempt::{AttemptFact, Resolved};
use crate::run::attempt::{Decision, RunStatus};
use crate::run::driver::{describe_next_step, project_root};
use crate::run::state::{RunState, pick};
use crate::text::json::cut;
use crate::text::redact::redact;
use clap::{Arg, ArgAction, ArgGroup, ArgMatches};
use serde_json::json;

pub const COMMAND: Command = Command {
    name: "resolve",
    about: "Decide on a paused run (needs a person at a terminal)",
    examples: &[
        ("aops-hook resolve CP_20260113-1f3a9c02_build --approve", "allow the deferred call"),
        (
            "aops-hook resolve CP_20260113-1f3a9c02_build --reject --note 'not on a Friday'",
            "end the run when it is resumed",
        ),
    ],
    who: Who::AtTerminal,
    arguments,
    run,
};

fn arguments(row: clap::Command) -> clap::Command {
    let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    let note = Arg::new("note").long("note").value_name("TEXT");
    row.arg(name_argument())
        .arg(flag("approve").help("Allow it"))
        .arg(flag("reject").help("Refuse it; the run ends as BLOCKED"))
        .arg(note.help("A note for the record and for the agent that continues"))
        .group(ArgGroup::new("decision").args(["approve", "reject"]).required(true))
}

pub(super) fn name_argument() -> Arg {
    let help = "The packet's id (CP_…), its file, or the run's id; a unique beginning is enough";
    Arg::new("name").value_name("CHECKPOINT").required(true).help(help)
}

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let name = given.get_one::<String>("name").map_or("", String::as_str);
    let decision = if given.get_flag("approve") { Decision::Approved } else { Decision::Rejected };
    let note = given.get_one::<String>("note").map(|note| cut(&redact(note.trim()), 1000).to_owned());
    let note = note.filter(|note| !note.is_empty());
    let artifacts = RunArtifacts::of(&project_root(io.env));
    let run = pick(artifacts.runs()?, name).or_else(refused)?;
    let Some(paused) = run.paused.clone() else { return not_paused(&run) };
    let mut packet = artifacts.pause(&run)?;
    (packet.resolved, packet.resolution_decision) = (true, Some(decision));
    artifacts.keep_pause(&packet)?;
    let checkpoint_id = paused.checkpoint_id;
    let resolved = Resolved { checkpoint_id: checkpoint_id.clone(), decision, note };
    artifacts.append(&run.run_id, AttemptFact::Resolved(resolved))?;
    let decided = decision.name();
    if io.json {
        let said = json!({"checkpoint_id": checkpoint_id, "run_id": run.run_id, "resolution_decision": decided});
        writeln!(io.out, "{said}")?;
    } else {
        let next = describe_next_step(&checkpoint_id, true, Some(decision));
        writeln!(io.out, "{checkpoint_id} is {decided}; {next}")?;
    }
    Ok(0)
}

fn not_paused(run: &RunState) -> anyhow::Result<u8> {
    let (id, status) = (&run.run_id, run.status.name());
    let outcome = run.outcome.map(|outcome| format!(", {}", outcome.name())).unwrap_or_default();
    let hint = if run.status == RunStatus::Terminal { "it is over" } else { "`aops-hook runs` shows its state" };
    refused(format!("run {id} does not wait for a decision: {status}{outcome}\nhint: {hint}"))
}
