//! The client's session: the driver records in its ledger which step runs, and reads the ledger after each step.
//!
//! Appends to the session's ledger. Why there: the hooks read it, and no tool call can write it. Invariant: a session has
//! a step only while its driver works on it.

use super::base::Driver;
use crate::checkpoint;
use crate::checkpoint::capture::Limits;
use crate::checkpoint::form::Kind;
use crate::checkpoint::rollback::Wanted;
use crate::checkpoint::store::Store;
use crate::gate::facts;
use crate::hook;
use crate::ledger::open::Ledger;
use crate::ledger::session_folder::{SessionKey, dashed};
use crate::ledger::sessions;
use crate::model::call::CallState;
use crate::model::error::Failure;
use crate::run::plan::PlannedStep;
use crate::session::fact::{Fact, Staged};
use crate::session::fold::Session;
use crate::session::state::{OpenCall, RunStep};
use crate::system::env::Env;
use crate::text::sha256::sha256;
use std::time::Instant;

impl Driver {
    pub(super) fn session_key<'a>(&'a self, cwd: &'a str) -> SessionKey<'a> {
        SessionKey { session_id: &self.run.init.session_id, transcript_path: "", cwd }
    }

    pub(super) fn cwd(&self) -> String {
        self.root.to_string_lossy().into_owned()
    }

    /// The client has a transcript of the session.
    pub(super) fn is_known(&self) -> bool {
        let file = format!("{}.jsonl", self.run.init.session_id);
        self.env.projects().join(dashed(&self.cwd())).join(file).exists()
    }

    /// The session as the hooks recorded it; `None` before the first step of the client.
    pub(super) fn session(&self) -> Option<Session> {
        sessions::find(&self.env.later(), self.session_key(&self.cwd()))
    }

    /// Records that a step begins. The hooks accept only a client that has the key.
    pub(super) fn enter_step(&self, step: &PlannedStep, key: &str, approved: Option<String>) -> Result<(), Failure> {
        let env = self.env.later();
        let run_step = RunStep {
            agent: step.verdict_of().map(str::to_owned),
            approved,
            closes: step.closes,
            key_sha256: sha256(&[key.as_bytes()]),
            note: self.note.clone(),
            phase: step.phase,
            run_id: self.run.run_id.clone(),
            sandbox: step.sandbox,
            step: step.id.clone(),
            verifies: step.verifies,
            waived: self.run.waived.get(&step.id).cloned().unwrap_or_default(),
            ..RunStep::default()
        };
        self.record_step(&env, Some(run_step)).map(drop)
    }

    /// Records that no step runs any more. Returns the newest digest of the session's ledger, if there is one.
    pub(super) fn leave_step(&self) -> Result<Option<String>, Failure> {
        match self.session() {
            Some(session) if session.memory.run.is_some() => self.record_step(&self.env.later(), None).map(Some),
            Some(session) => Ok(Some(session.head)),
            None => Ok(None),
        }
    }

    fn deferred_call(&self) -> Option<OpenCall> {
        self.session()?.memory.calls.iter().find(|open| open.deferred).cloned()
    }

    /// This call was deferred and has not been made since.
    pub(super) fn is_deferred(&self, id: &str) -> bool {
        self.deferred_call().is_some_and(|open| open.call.id == id && open.state == CallState::Pending)
    }

    /// Records that a person rejected the deferred call.
    pub(super) fn reject_deferred_call(&self, note: Option<&str>) -> Result<(), Failure> {
        let Some(open) = self.deferred_call() else { return Ok(()) };
        let (env, cwd) = (self.env.later(), self.cwd());
        let mut ledger = Ledger::lock(&env, self.session_key(&cwd), true)?;
        let why = note.map(|note| format!(": {note}")).unwrap_or_default();
        ledger.append(&env, facts::rejected(&open, format!("a person rejected it{why}")))
    }

    /// Takes a checkpoint before or after a step, so that a rollback works on runs.
    pub(super) fn take_checkpoint(&self, kind: Kind, step: &PlannedStep, trigger: &str) -> Result<(), Failure> {
        let (env, cwd) = (self.env.later(), self.cwd());
        let mut ledger = match self.session() {
            Some(_) => Some(Ledger::lock(&env, self.session_key(&cwd), true)?),
            None => None,
        };
        let wanted = Wanted {
            run: &self.run.run_id,
            kind,
            phase: step.phase,
            trigger,
            about: vec![("step", step.id.clone())],
            tokens: ledger.as_ref().map(checkpoint::rollback::tokens).unwrap_or_default(),
            parent: None,
            began: Instant::now(),
        };
        let store = Store::open(&env, &self.root)?;
        checkpoint::rollback::take(&env, &store, ledger.as_mut(), &Limits::of(&self.prepared.policy), &wanted).map(drop)
    }

    fn record_step(&self, env: &Env, stage: Option<RunStep>) -> Result<String, Failure> {
        let cwd = self.cwd();
        let mut ledger = Ledger::lock(env, self.session_key(&cwd), true)?;
        let mut facts = Vec::new();
        if ledger.session().is_new() {
            facts.push(Fact::Open(hook::first_entry(env, &self.root, ledger.project())?));
        }
        // Before the step changes: a call that was cut off is not a refusal in the step that begins.
        facts.extend(facts::abandoned(ledger.session()));
        let (run_id, task) = (self.run.run_id.clone(), self.run.init.task.clone());
        facts.push(Fact::Run(Staged { run_id, stage, task }));
        ledger.append(env, facts)?;
        Ok(ledger.session().head.clone())
    }
}
