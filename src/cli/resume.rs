//! Goes on with a run that paused or whose driver died: a person's verb.
//!
//! Reads the packet and the attempt ledger, then drives. Invariants: packet, tree, policy and decision are checked before
//! anything is started; a finished run stays finished.

use super::resolve::{find, name_argument};
use super::run::driver::{Driver, Finish, alone, root, terminate};
use super::run::{budget, concluded, limits, next_step, progress, step_timeout};
use super::{Command, Io, Refused, Who, refused};
use crate::run::artifacts::Artifacts;
use crate::run::attempt::{Deed, Paused, Resolved, Resumed};
use crate::run::status::{Decision, Outcome, State, Trigger};
use crate::system::git;
use crate::system::signal;
use clap::ArgMatches;

pub const COMMAND: Command = Command {
    name: "resume",
    about: "Go on with a run that paused (a person's verb)",
    examples: &[
        ("aops-hook resume CP_20260113-1f3a9c02_build", "with the very call that waited"),
        ("aops-hook resume 20260113-1f3a9c02", "the same by the run's id"),
        ("aops-hook resume 20260113-1f3a9c02 --budget-usd 5", "with more money"),
    ],
    who: Who::OutsideClient,
    arguments: |row| row.arg(name_argument()).args(limits()),
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let name = given.get_one::<String>("name").cloned().unwrap_or_default();
    let limits = (budget(given)?, step_timeout(given)?);
    signal::note_interrupts();
    let ended = concluded(io, |io| resumed(io, &name, limits))?;
    Ok(ended.outcome.exit())
}

fn resumed(io: &mut Io, name: &str, limits: (Option<u64>, Option<u64>)) -> anyhow::Result<Finish> {
    let root = root(io.env);
    let artifacts = Artifacts::of(&root);
    find(&artifacts, name)?;
    let alone = alone(&artifacts)?;
    // Looked at again, now that nobody else can be at it.
    let mut record = find(&artifacts, name)?;
    if record.state == State::Terminal {
        let outcome = record.outcome.map_or("", Outcome::name);
        return refused(format!(
            "run {} is finished: {outcome}, {}\nhint: begin a new one with `aops-hook run`",
            record.run_id, record.reason
        ));
    }
    if record.state.is_driven() {
        let env = io.env.later();
        let id = record.run_id.clone();
        // A step that outlived its driver is taken over, so it is no reason to refuse.
        let marked = terminate(io, &env, &root, &artifacts, record);
        record = marked.or_else(|_| find(&artifacts, &id))?;
    }
    let packet = artifacts.pause(&record)?;
    let Some(paused) = record.paused.clone() else {
        return refused(format!("run {} does not wait", record.run_id));
    };
    let mut driver = Driver::again(io, artifacts, alone, record)?;
    driver.check_tree(&paused)?;
    if let Some(reason) = driver.policy_changed() {
        return driver.finish(io, Outcome::Blocked, reason);
    }
    match packet.decision() {
        None if paused.trigger.wants_decision() => {
            let hint = next_step(&paused.checkpoint_id, true, None);
            let words =
                format!("`{}` waits for a decision: {}\nhint: {hint}", paused.checkpoint_id, paused.question);
            return Err(Refused { code: 3, words }.into());
        }
        Some(Decision::Rejected) => {
            let note = driver.note_of(Decision::Rejected)?;
            driver.deny_waiting(note.as_deref())?;
            let why = note.map(|note| format!(": {note}")).unwrap_or_default();
            return driver.finish(
                io,
                Outcome::Blocked,
                format!("a person rejected step `{}`{why}", paused.step),
            );
        }
        Some(Decision::Approved) => driver.note = driver.note_of(Decision::Approved)?,
        None => {}
    }
    driver.go_on(&paused, limits)?;
    progress::words(io, &format!("resumed at step `{}`", paused.step));
    driver.announce(io);
    driver.walk(io)
}

impl Driver {
    /// The working tree is the one the packet was made with; a step that was still at work then may have gone on.
    fn check_tree(&self, paused: &Paused) -> anyhow::Result<()> {
        let in_flight = self.record.current.is_some();
        let now = git::tree(&self.env, &self.root).unwrap_or_default();
        if in_flight || now == paused.tree {
            return Ok(());
        }
        refused(format!(
            "the working tree is not the one that run {} paused with\nhint: `git status` shows what changed; put it back, then resume again",
            self.record.run_id
        ))
    }

    /// The person's note. A decision that stands only in the packet was made by hand, and is recorded now.
    fn note_of(&mut self, decision: Decision) -> anyhow::Result<Option<String>> {
        let known = self.record.resolved.clone().filter(|resolved| resolved.decision == decision);
        if let Some(resolved) = known {
            return Ok(resolved.note);
        }
        let checkpoint_id = self.record.paused.as_ref().map(|paused| paused.checkpoint_id.clone());
        let checkpoint_id = checkpoint_id.unwrap_or_default();
        self.tell(Deed::Resolved(Resolved { checkpoint_id, decision, note: None }))?;
        Ok(None)
    }

    fn go_on(
        &mut self,
        paused: &Paused,
        (budget, timeout): (Option<u64>, Option<u64>),
    ) -> anyhow::Result<()> {
        let record = &self.record;
        let granted = match paused.trigger {
            // Approved without an amount: as much again.
            Trigger::BudgetExhausted => record.init.budget.map(|first| record.cost + first),
            _ => record.budget,
        };
        let resumed = Resumed {
            budget: budget.or(granted),
            checkpoint_id: paused.checkpoint_id.clone(),
            step_timeout_ms: timeout.unwrap_or(record.step_timeout_ms),
        };
        self.tell(Deed::Resumed(resumed))?;
        // Also where a driver or a client was killed between the decision and the call.
        self.approved = self.record.approved.clone().filter(|id| self.waits(id));
        Ok(())
    }
}
