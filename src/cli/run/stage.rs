//! The client's session as the driver sees it: begun and ended step by step in its ledger, and read after each.
//!
//! Appends to the session's ledger. Why there: it is what the hooks believe, and no tool call can write it. Invariant: a
//! session has a step only while its driver is at it.

use super::driver::Driver;
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
use crate::run::plan::Planned;
use crate::session::fact::{Fact, Staged};
use crate::session::fold::Session;
use crate::session::state::{OpenCall, RunStep};
use crate::system::env::Env;
use crate::text::sha256::sha256;
use std::time::Instant;

impl Driver {
    pub(super) fn whose<'a>(&'a self, cwd: &'a str) -> SessionKey<'a> {
        SessionKey { session_id: &self.record.init.session_id, transcript_path: "", cwd }
    }

    pub(super) fn cwd(&self) -> String {
        self.root.to_string_lossy().into_owned()
    }

    /// The client knows the session already.
    pub(super) fn is_known(&self) -> bool {
        let file = format!("{}.jsonl", self.record.init.session_id);
        self.env.projects().join(dashed(&self.cwd())).join(file).exists()
    }

    /// What the hooks made of it so far; nothing before the first step of the client.
    pub(super) fn session(&self) -> Option<Session> {
        sessions::find(&self.env.later(), self.whose(&self.cwd()))
    }

    /// Begins a step. Only who knows the key is in it.
    pub(super) fn enter(&self, step: &Planned, key: &str, approved: Option<String>) -> Result<(), Failure> {
        let env = self.env.later();
        let stage = RunStep {
            agent: step.verdict_of().map(str::to_owned),
            approved,
            closes: step.closes,
            key_sha256: sha256(&[key.as_bytes()]),
            note: self.note.clone(),
            phase: step.phase,
            run_id: self.record.run_id.clone(),
            sandbox: step.sandbox,
            step: step.id.clone(),
            verifies: step.verifies,
            waived: self.record.waived.get(&step.id).cloned().unwrap_or_default(),
            ..RunStep::default()
        };
        self.say(&env, Some(stage)).map(drop)
    }

    /// No step is under way any more; the newest digest of the session's ledger, if there is one.
    pub(super) fn leave_session(&self) -> Result<Option<String>, Failure> {
        match self.session() {
            Some(session) if session.memory.run.is_some() => self.say(&self.env.later(), None).map(Some),
            Some(session) => Ok(Some(session.head)),
            None => Ok(None),
        }
    }

    fn waiting(&self) -> Option<OpenCall> {
        self.session()?.memory.calls.iter().find(|open| open.deferred).cloned()
    }

    /// This call was put off and has not been made since.
    pub(in crate::cli) fn waits(&self, id: &str) -> bool {
        self.waiting().is_some_and(|open| open.call.id == id && open.state == CallState::Pending)
    }

    /// The call that waited is not to be made.
    pub(in crate::cli) fn deny_waiting(&self, note: Option<&str>) -> Result<(), Failure> {
        let Some(open) = self.waiting() else { return Ok(()) };
        let (env, cwd) = (self.env.later(), self.cwd());
        let mut ledger = Ledger::lock(&env, self.whose(&cwd), true)?;
        let why = note.map(|note| format!(": {note}")).unwrap_or_default();
        ledger.append(&env, facts::rejected(&open, format!("a person rejected it{why}")))
    }

    /// Keeps the working tree before or after a step, so that a rollback works on runs.
    pub(super) fn keep_tree(&self, kind: Kind, step: &Planned, trigger: &str) -> Result<(), Failure> {
        let (env, cwd) = (self.env.later(), self.cwd());
        let mut ledger = match self.session() {
            Some(_) => Some(Ledger::lock(&env, self.whose(&cwd), true)?),
            None => None,
        };
        let wanted = Wanted {
            run: &self.record.run_id,
            kind,
            phase: step.phase,
            trigger,
            about: vec![("step", step.id.clone())],
            tokens: ledger.as_ref().map(checkpoint::rollback::tokens).unwrap_or_default(),
            parent: None,
            began: Instant::now(),
        };
        let vault = Store::open(&env, &self.root)?;
        checkpoint::rollback::take(&env, &vault, ledger.as_mut(), &Limits::of(&self.policy), &wanted)
            .map(drop)
    }

    fn say(&self, env: &Env, stage: Option<RunStep>) -> Result<String, Failure> {
        let cwd = self.cwd();
        let mut ledger = Ledger::lock(env, self.whose(&cwd), true)?;
        let mut facts = Vec::new();
        if ledger.session().is_new() {
            facts.push(Fact::Open(hook::first_entry(env, &self.root, ledger.project())?));
        }
        // Before the step changes: a call that was cut off is no refusal of the one that begins.
        facts.extend(facts::abandoned(ledger.session()));
        let (run_id, task) = (self.record.run_id.clone(), self.record.init.task.clone());
        facts.push(Fact::Run(Staged { run_id, stage, task }));
        ledger.append(env, facts)?;
        Ok(ledger.session().head.clone())
    }
}
