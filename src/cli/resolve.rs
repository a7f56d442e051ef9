//! Decides on a pause of a run: a person's verb.
//!
//! Writes the packet and one line of the attempt ledger. Invariants: a packet that is not what the run wrote is refused;
//! deciding starts nothing.

use super::run::driver::root;
use super::run::next_step;
use super::{Command, Io, Who, refused};
use crate::run::artifacts::Artifacts;
use crate::run::attempt::{Deed, Resolved};
use crate::run::state::RunState;
use crate::run::status::{Decision, Outcome, State};
use crate::text::json::cut;
use crate::text::redact::redact;
use clap::{Arg, ArgAction, ArgGroup, ArgMatches};
use serde_json::json;
use std::path::Path;

pub const COMMAND: Command = Command {
    name: "resolve",
    about: "Decide on a pause of a run (a person's verb)",
    examples: &[
        ("aops-hook resolve CP_20260113-1f3a9c02_build --approve", "let the call that waits be made"),
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
        .arg(flag("approve").help("Go on as asked"))
        .arg(flag("reject").help("Do not; the run ends as BLOCKED"))
        .arg(note.help("Words for the record, and for the agent that goes on"))
        .group(ArgGroup::new("decision").args(["approve", "reject"]).required(true))
}

pub(super) fn name_argument() -> Arg {
    let help = "The packet's id (CP_…), its file, or the run's id; the beginning of one will do";
    Arg::new("name").value_name("CHECKPOINT").required(true).help(help)
}

/// The run that a person means.
pub(super) fn find(artifacts: &Artifacts, name: &str) -> anyhow::Result<RunState> {
    let stem =
        Path::new(name).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = stem.strip_suffix(".yaml").unwrap_or(&stem).to_owned();
    let bare = stem.strip_prefix("CP_").unwrap_or(&stem);
    let mut runs = artifacts.runs()?;
    let means = |record: &RunState| {
        let packet = record.init.steps.iter().any(|step| bare == format!("{}_{step}", record.run_id));
        !bare.is_empty() && (packet || record.run_id.starts_with(bare))
    };
    runs.retain(means);
    match runs.len() {
        1 => Ok(runs.remove(0)),
        0 => refused(format!("no run or packet `{name}` here\nhint: `aops-hook runs` lists what there is")),
        n => refused(format!(
            "`{name}` begins {n} run ids\nhint: type more of it; `aops-hook runs` lists them"
        )),
    }
}

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let name = given.get_one::<String>("name").map_or("", String::as_str);
    let decision = if given.get_flag("approve") { Decision::Approved } else { Decision::Rejected };
    let note = given.get_one::<String>("note").map(|note| cut(&redact(note.trim()), 1000).to_owned());
    let artifacts = Artifacts::of(&root(io.env));
    let record = find(&artifacts, name)?;
    let Some(paused) = record.paused.clone() else {
        let (id, state) = (&record.run_id, record.state.name());
        let outcome =
            record.outcome.map_or(String::new(), |outcome: Outcome| format!(", {}", outcome.name()));
        let hint = if record.state == State::Terminal {
            "it is over"
        } else {
            "`aops-hook runs` shows how it stands"
        };
        return refused(format!("run {id} does not wait for a decision: {state}{outcome}\nhint: {hint}"));
    };
    let mut packet = artifacts.pause(&record)?;
    (packet.resolved, packet.resolution_decision) = (true, Some(decision));
    artifacts.keep_pause(&packet)?;
    let checkpoint_id = paused.checkpoint_id;
    let note = note.filter(|note| !note.is_empty());
    artifacts.append(
        &record.run_id,
        Deed::Resolved(Resolved { checkpoint_id: checkpoint_id.clone(), decision, note }),
    )?;
    if io.json {
        writeln!(
            io.out,
            "{}",
            json!({"checkpoint_id": checkpoint_id, "run_id": record.run_id, "resolution_decision": decision.name()})
        )?;
    } else {
        writeln!(
            io.out,
            "{checkpoint_id} is {}; {}",
            decision.name(),
            next_step(&checkpoint_id, true, Some(decision))
        )?;
    }
    Ok(0)
}
