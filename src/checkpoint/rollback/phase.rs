//! Checkpoints at phase changes, and what the agent is told about a rollback.
//!
//! Compares the state of the loop before and after an event. Invariants: a plain tool call changes no phase and costs
//! nothing here; a failed checkpoint becomes a notice and does not stop the work.

use super::{Order, Wanted, fact, roll_back, run_of, sessions_in, tokens, write};
use crate::checkpoint::capture::{Limits, capture};
use crate::checkpoint::form::{CheckpointKind, Id};
use crate::checkpoint::{store::Store, store::index::IndexRow};
use crate::config::policy::{Interactive, Intervene};
use crate::config::texts;
use crate::ledger::open::Ledger;
use crate::model::verdict::{Ruling, Verdict};
use crate::model::{error::Failure, event::Event, phase::Phase};
use crate::session::state::{RollbackState, Sandbox, Undone};
use crate::session::{fact::Fact, fold::Session};
use crate::system::env::Env;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Before {
    phase: Phase,
    sandbox: Sandbox,
    task: u64,
}

impl Before {
    pub fn of(session: &Session) -> Self {
        let task = session.state.task.as_ref().map_or(0, |task| task.n);
        Self { phase: session.state.phase, sandbox: session.state.sandbox, task }
    }
}

/// Takes the checkpoints that are due after this event, unless that takes longer than `until`. A failure becomes a notice.
pub fn at_phase_change(env: &Env, ledger: &mut Ledger, event: &Event, before: Before, until: Instant) -> Verdict {
    let session = ledger.session();
    let due = due(session.policy().checkpoint.interactive, before, Before::of(session));
    if due.is_empty() || env.dry_run {
        return Verdict::pass();
    }
    let Some(root) = root(env, session, event) else { return Verdict::pass() };
    let mends = session.policy().checkpoint.intervene == Intervene::Rollback;
    let failed = due.iter().any(|(_, _, trigger)| *trigger == "failure") && session.state.phase == Phase::Intervene;
    let done = keep(env, ledger, &root, &due, until)
        .and_then(|()| if mends && failed { by_policy(env, ledger, &root) } else { Ok(Verdict::pass()) });
    match done {
        Ok(said) => said,
        Err(failure) => Verdict::notice(
            "checkpoint",
            format!("no checkpoint was taken; the work goes on: {failure}\nhint: {}", failure.code.way_out()),
        ),
    }
}

type Due = (CheckpointKind, Phase, &'static str);

fn due(when: Interactive, before: Before, now: Before) -> Vec<Due> {
    let (was, is) = (before.phase, now.phase);
    let another_task = now.task != before.task && is == Phase::Execute;
    if when == Interactive::Off || was == is && !another_task {
        return Vec::new();
    }
    let mut due = Vec::new();
    let walked = |phase: Phase| !matches!(phase, Phase::Idle | Phase::Done | Phase::Halted);
    let of_work = |phase: Phase, sandbox| phase == Phase::Execute && sandbox == Sandbox::Open;
    let failed = matches!(is, Phase::Intervene | Phase::Halted);
    if walked(was) && (failed || when == Interactive::All || of_work(was, before.sandbox)) {
        due.push((CheckpointKind::Post, was, if failed { "failure" } else { "phase" }));
    }
    if walked(is) && (when == Interactive::All || of_work(is, now.sandbox)) {
        let approved = was == Phase::Review && is == Phase::Execute;
        due.push((CheckpointKind::Pre, is, if approved { "approval" } else { "phase" }));
    }
    due
}

/// The tree of this session; never a home folder.
fn root(env: &Env, session: &Session, event: &Event) -> Option<PathBuf> {
    let root = match session.memory.root.as_str() {
        "" => texts::project(env, Path::new(&event.cwd)),
        root => PathBuf::from(root),
    };
    let too_wide = env.home.starts_with(&root) || root.starts_with(&env.config) || !root.is_absolute();
    (!too_wide && root.is_dir()).then_some(root)
}

fn keep(env: &Env, ledger: &mut Ledger, root: &Path, due: &[Due], until: Instant) -> Result<(), Failure> {
    let began = Instant::now();
    let store = Store::open(env, root)?;
    let limits = Limits { sync: false, until: Some(until), ..Limits::of(ledger.session().policy()) };
    let artifacts = capture(env, &store, &limits, &[], &[])?;
    let (run, tokens) = (run_of(ledger.session()), tokens(ledger));
    let mut facts = Vec::new();
    for (kind, phase, trigger) in due.iter().copied() {
        let wanted = Wanted { tokens: tokens.clone(), began, ..Wanted::new(&run, kind, phase, trigger) };
        facts.push(fact(&write(env, &store, Some(ledger.session()), &wanted, (artifacts.clone(), None))?));
    }
    ledger.append(env, facts)
}

/// `checkpoint.intervene`: rolls work with issues back to where it began. Configuration and settings stay. Nothing is done
/// if another session works in the tree.
fn by_policy(env: &Env, ledger: &mut Ledger, root: &Path) -> Result<Verdict, Failure> {
    let own = ledger.session().state.session_id.clone();
    let word = |text: String| Ok(Verdict::notice("checkpoint", text));
    if sessions_in(env, root, "").iter().any(|on_disk| on_disk.session_id != own) {
        return word("issues were found; the tree was not rolled back, since another session works in it".to_owned());
    }
    let run = run_of(ledger.session());
    let rows = Store::open(env, root)?.rows()?;
    let began = |row: &&IndexRow| {
        let by_loop = matches!(row.trigger.as_str(), "phase" | "approval");
        row.run() == run && row.kind == CheckpointKind::Pre && row.phase == Phase::Execute && by_loop
    };
    let Some(id) = rows.iter().rfind(began).and_then(|row| Id::read(&row.id)) else {
        return Ok(Verdict::pass());
    };
    let alone = [".aops".to_owned(), ".claude".to_owned()];
    let order = Order { id: &id, alone: &alone, by: "the policy `checkpoint.intervene`", state_only: false };
    let done = roll_back(env, root, &order, Some(ledger), &mut |_| Ok(()))?;
    word(format!(
        "issues were found: the tree was rolled back to `{id}` ({} files)\nhint: to get the work back, run `aops-hook checkpoint rollback {}`",
        done.files, done.archive
    ))
}

/// Tells the main agent about a rollback, once.
pub fn tell(session: &Session, event: &Event, verdict: Verdict) -> (Verdict, Option<Fact>) {
    let Some(undone) = session.memory.undone.as_deref() else { return (verdict, None) };
    let hears = event.kind.row().context && event.agent_id.is_none() && verdict.ruling != Ruling::Deny;
    if !hears || session.blocked().is_some() {
        return (verdict, None);
    }
    let what = if undone.state_only {
        format!("{} put the loop back to the checkpoint `{}`; the files did not change", undone.by, undone.target)
    } else {
        format!(
            "{} rolled the working tree back to the checkpoint `{}`: files are no longer as you last saw them, and what was made since is gone from the tree (kept as `{}`)",
            undone.by, undone.target, undone.archive
        )
    };
    let words = format!("{what}\nhint: read files again before you change them; the later phases have to be repeated");
    let told = Fact::Rollback(Undone { stage: RollbackState::Told, ..undone.clone() });
    (verdict.join(Verdict::context("rollback", words)), Some(told))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(phase: Phase, sandbox: Sandbox, task: u64) -> Before {
        Before { phase, sandbox, task }
    }

    #[test]
    fn checkpoints_are_due_at_phase_changes_only() {
        use Interactive::{All, Execute, Off};
        let (open, shut) = (Sandbox::Open, Sandbox::Shut);
        let (work, plan) = (at(Phase::Execute, open, 1), at(Phase::Hydrate, shut, 1));
        for when in [Off, Execute, All] {
            assert_eq!(due(when, work, work), []);
            assert_eq!(due(when, plan, plan), []);
        }
        assert_eq!(due(Execute, plan, work), [(CheckpointKind::Pre, Phase::Execute, "phase")]);
        assert_eq!(due(Execute, at(Phase::Review, shut, 1), work), [(CheckpointKind::Pre, Phase::Execute, "approval")]);
        assert_eq!(due(Execute, work, at(Phase::Verify, open, 1)), [(CheckpointKind::Post, Phase::Execute, "phase")]);
        assert_eq!(
            due(Execute, at(Phase::Verify, open, 1), at(Phase::Intervene, open, 1)),
            [(CheckpointKind::Post, Phase::Verify, "failure")]
        );
        assert_eq!(due(Execute, plan, at(Phase::Execute, shut, 1)), [], "a question changes nothing");
        assert_eq!(
            due(Execute, work, at(Phase::Execute, open, 2)),
            [(CheckpointKind::Post, Phase::Execute, "phase"), (CheckpointKind::Pre, Phase::Execute, "phase")]
        );
        assert_eq!(due(All, at(Phase::Idle, shut, 0), plan), [(CheckpointKind::Pre, Phase::Hydrate, "phase")]);
        assert_eq!(due(Off, plan, work), []);
    }
}
