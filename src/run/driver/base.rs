//! `Driver`: the state of one run's driver, and how it records: in the attempt ledger and in the session's
//! ledger.
//!
//! Writes the client's settings and agents into the run's folder. The current step is in the session's
//! ledger, because the hooks read it and no tool call can write it. Invariant: a session has a step only
//! while its driver works on it.

use super::prepare::Prepared;
use crate::run::attempt::{AttemptFact, Init, POLICY_CHANGED, RunOutcome};
use crate::run::client::{Kit, Stream};
use crate::run::{artifacts::RunArtifacts, plan::PlannedStep, state::RunState};
use aops_core::config::in_force::{self, InForce};
use aops_core::gate::{self, facts};
use aops_core::hook;
use aops_core::host::table::adapter;
use aops_core::insight::collect;
use aops_core::jail::network::run_folder;
use aops_core::ledger::session_folder::{SessionKey, dashed};
use aops_core::ledger::{open::Ledger, sessions};
use aops_core::model::error::Failure;
use aops_core::session::fact::{Fact, Staged};
use aops_core::session::fold::Session;
use aops_core::session::memory::{OpenCall, RunStep};
use aops_core::system::{env::Env, files::make_all};
use aops_core::text::sha256::sha256;
use std::fs::File;
use std::path::PathBuf;

pub(super) struct Driver {
    pub(super) env: Env,
    pub(super) root: PathBuf,
    pub(super) artifacts: RunArtifacts,
    pub(super) run: RunState,
    pub(super) prepared: Prepared,
    pub(super) folder: PathBuf,
    pub(super) kit: Kit,
    /// The call that a person approved, for the first step after a resume; `note` is their note.
    pub(super) approved: Option<String>,
    pub(super) note: Option<String>,
    pub(super) resumed: bool,
    /// What a person approved before this resume, with their note, for the first checkpoint after it.
    pub(super) approval: Option<(String, Option<String>)>,
    _lock: File,
}

impl Driver {
    pub(super) fn new(
        env: Env,
        root: PathBuf,
        (artifacts, lock): (RunArtifacts, File),
        run: RunState,
        prepared: Prepared,
    ) -> Result<Self, Failure> {
        let folder = run_folder(&env, &run.run_id);
        make_all(&folder)?;
        let kit = Kit::write(&env, &prepared.policy, &prepared.texts, &folder)
            .map_err(|e| Failure::storage(folder.display(), e))?;
        let approved = None;
        let note = None;
        let resumed = false;
        let approval = None;
        Ok(Self {
            env,
            root,
            artifacts,
            run,
            prepared,
            folder,
            kit,
            approved,
            note,
            resumed,
            approval,
            _lock: lock,
        })
    }

    pub(super) fn append(&mut self, deed: AttemptFact) -> Result<(), Failure> {
        let told = self.artifacts.append(&self.run.run_id, deed)?;
        self.run.apply(&told);
        Ok(())
    }

    /// Why the policy differs from the one at the start of the run, if it does.
    pub(super) fn policy_changed(&self) -> Option<String> {
        let init = &self.run.init;
        let now = in_force::load(&self.env, &self.root).map(|now| digest_like(init, &now));
        describe_policy_change(init.decides.as_ref().unwrap_or(&init.policy_hash), now)
    }
}

/// The digest of what is in force, computed the way this run recorded it at its start.
pub(super) fn digest_like(init: &Init, now: &InForce) -> String {
    if init.decides.is_some() { now.decides() } else { now.hash.clone() }
}

fn describe_policy_change(began_with: &str, now: Result<String, Failure>) -> Option<String> {
    match now {
        Ok(now) if now == began_with => None,
        Ok(now) => {
            let short = |hash: &str| hash.chars().take(12).collect::<String>();
            Some(format!(
                "{POLICY_CHANGED}: the policy hash was {} and is {}",
                short(began_with),
                short(&now)
            ))
        }
        Err(failure) => Some(format!("{POLICY_CHANGED}: {}", failure.what)),
    }
}

impl Driver {
    pub(super) fn session_key<'a>(&'a self, cwd: &'a str) -> SessionKey<'a> {
        SessionKey { session_id: &self.run.init.session_id, transcript_path: "", cwd }
    }

    pub(super) fn cwd(&self) -> String {
        self.root.to_string_lossy().into_owned()
    }

    /// Whether the client has a transcript of the session.
    pub(super) fn is_known(&self) -> bool {
        let session = &self.run.init.session_id;
        if self.env.host.is_registered_by_name() {
            return adapter(self.env.host).transcript(&self.env, session).is_some();
        }
        let file = format!("{session}.jsonl");
        self.env.projects().join(dashed(&self.cwd())).join(file).exists()
    }

    /// The session as the hooks recorded it; `None` before the first step of the client.
    pub(super) fn session(&self) -> Option<Session> {
        sessions::find(&self.env.later(), self.session_key(&self.cwd()))
    }

    /// Records that a step begins. The hooks accept only a client that has the key.
    pub(super) fn enter_step(
        &self,
        step: &PlannedStep,
        key: &str,
        approved: Option<String>,
    ) -> Result<(), Failure> {
        let run_step = RunStep {
            agent: step.verdict_of().map(Into::into),
            approved,
            closes: step.closes,
            key_sha256: sha256(&[key.as_bytes()]),
            note: self.note.clone(),
            phase: step.phase,
            run_id: self.run.run_id.clone(),
            sandbox: step.sandbox,
            step: step.id.clone(),
            verifies: step.verifies,
            waived: self.run.waived.get(step.mends.as_ref().unwrap_or(&step.id)).cloned().unwrap_or_default(),
            ..RunStep::default()
        };
        self.record_step(Some(run_step), None).map(drop)
    }

    /// Records that no step runs any more, and the outcome of the run. Returns the newest digest of the
    /// session's ledger, if there is one.
    pub(super) fn leave_step(&self, outcome: RunOutcome) -> Result<Option<String>, Failure> {
        match self.session() {
            Some(_) => self.record_step(None, Some(outcome)).map(Some),
            None => Ok(None),
        }
    }

    /// The first call that was deferred and has not been made since.
    pub(super) fn waiting_call(&self) -> Option<OpenCall> {
        self.session()?.memory.calls.into_iter().find(gate::is_waiting)
    }

    /// The id of the call that the client left undone: the one it names, or the one that waits.
    pub(super) fn undone(&self, stream: &Stream) -> Option<String> {
        let named = stream.result.as_ref().and_then(|result| result.deferred.clone());
        named.filter(|id| !id.is_empty()).or_else(|| self.waiting_call().map(|open| open.call.id))
    }

    /// Whether this call was deferred and has not been made since.
    pub(super) fn is_deferred(&self, id: &str) -> bool {
        self.session().is_some_and(|session| {
            session.memory.calls.iter().any(|open| open.call.id == id && gate::is_waiting(open))
        })
    }

    /// Rejects every waiting call: only one was asked about, but no answer to the others will come.
    pub(super) fn reject_deferred_call(&self, note: Option<&str>) -> Result<(), Failure> {
        let waiting =
            |session: Session| session.memory.calls.into_iter().filter(gate::is_waiting).collect::<Vec<_>>();
        let Some(calls) = self.session().map(waiting).filter(|calls| !calls.is_empty()) else {
            return Ok(());
        };
        let env = self.env.later();
        let mut ledger = self.lock_ledger(&env)?;
        let why = note.map(|note| format!(": {note}")).unwrap_or_default();
        let rejected = |open: &OpenCall| facts::rejected(open, format!("a person rejected it{why}"));
        ledger.append(&env, calls.iter().flat_map(rejected).collect::<Vec<_>>())
    }

    pub(super) fn lock_ledger(&self, env: &Env) -> Result<Ledger, Failure> {
        Ledger::lock(env, self.session_key(&self.cwd()), true)
    }

    fn record_step(
        &self,
        stage: Option<RunStep>,
        run_outcome: Option<RunOutcome>,
    ) -> Result<String, Failure> {
        let env = &self.env.later();
        let mut ledger = self.lock_ledger(env)?;
        let mut facts = Vec::new();
        if ledger.session().is_new() {
            facts.push(Fact::Open(hook::first_entry(env, &self.root, ledger.project(), None)?));
        }
        // Done before the step changes: a call that was cut off must not count as refused in the new step.
        facts.extend(facts::abandoned(ledger.session()));
        let run_id = self.run.run_id.clone();
        let task = self.describe_task();
        let open = ledger.session().memory.run.as_ref();
        let outcome =
            open.and_then(|open| self.run.outcome_of(&open.step)).map(|outcome| outcome.of_phase().into());
        let workflow = Some(self.run.init.workflow.clone());
        let ends = run_outcome.is_some();
        let run_outcome = run_outcome.map(Into::into);
        facts.push(Fact::Run(Staged { outcome, run_id, run_outcome, stage, task, workflow }));
        ledger.append(env, facts)?;
        if ends {
            // Insights from the client's last turn do not yet say how the run ended. The run has ended even
            // if they fail.
            let place = &ledger.place().path;
            let transcript = collect::transcript_at(env, place, &ledger.session().state.session_id);
            let _ = collect::conclude(env, &mut ledger, &transcript, None);
        }
        Ok(ledger.session().head.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hash comes from a file: it may have any length.
    #[test]
    fn a_policy_change_is_described_whatever_the_hashes_are() {
        let hash = "0123456789abcdef";
        assert_eq!(describe_policy_change(hash, Ok(hash.to_owned())), None);
        let told = describe_policy_change("", Ok(hash.to_owned())).unwrap();
        assert_eq!(told, "POLICY_CHANGED_MID_RUN: the policy hash was  and is 0123456789ab");
        let told = describe_policy_change("zwölfzwölfzw", Ok("short".to_owned())).unwrap();
        assert_eq!(told, "POLICY_CHANGED_MID_RUN: the policy hash was zwölfzwölfzw and is short");
    }
}
