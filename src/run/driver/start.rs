//! Starts the program of a step, through its watcher.
//!
//! Appends to the attempt ledger, writes the job's files. Invariant: the attempt is recorded before anything is started,
//! and every attempt of a step has the same idempotency key.

use super::base::{Driver, random_hex};
use crate::model::call::CallKey;
use crate::model::error::Failure;
use crate::run::attempt::{Begun, Deed};
use crate::run::client::usd;
use crate::run::job::{Job, JobFiles};
use crate::run::plan::{PlannedStep, StepAction};
use crate::system::env::{RUN, RUN_KEY};
use crate::system::git;
use crate::text::sha256::sha256;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

impl Driver {
    pub(super) fn start_step(&mut self, index: usize, step: &PlannedStep) -> anyhow::Result<Begun> {
        let attempt = self.run.begun.get(&step.id).map_or(0, |begun| begun.attempt) + 1;
        let id = sha256(&[self.run.run_id.as_bytes(), b"\0", step.id.as_bytes()])[..32].to_owned();
        let tool = if matches!(step.does, StepAction::Run(_)) { "run" } else { "claude" };
        let call = CallKey { id, server: "aops-hook".to_owned(), tool: tool.to_owned() };
        let tree = git::tree(&self.env, &self.root).unwrap_or_default();
        let begun = Begun { attempt, call, step: step.id.clone(), tree };
        self.append(Deed::Step(begun.clone()))?;
        let key = random_hex(16)?;
        let job = self.job(index, step, attempt, &key)?;
        let variables = self.variables(step, &begun.call.id, key);
        let variables: Vec<(&str, &OsStr)> = variables.iter().map(|(n, v)| (n.as_str(), v.as_os_str())).collect();
        let started = JobFiles::of(&self.folder, &begun).start(&job, &variables);
        started.map_err(|e| Failure::storage(self.folder.display(), e))?;
        Ok(begun)
    }

    /// The environment of a step's program.
    fn variables(&self, step: &PlannedStep, idempotency_key: &str, key: String) -> Vec<(String, OsString)> {
        let mut own: Vec<(&str, OsString)> = vec![
            (RUN, self.run.run_id.clone().into()),
            ("AOPS_STEP", step.id.clone().into()),
            ("AOPS_IDEMPOTENCY_KEY", idempotency_key.into()),
        ];
        match step.does {
            StepAction::Client { .. } => own.push((RUN_KEY, key.into())),
            StepAction::Run(_) => {
                own.extend([("AOPS_TASK", self.run.init.task.clone().into()), ("PATH", self.path_with_us())]);
            }
        }
        let mut all = self.env.variables(|name| name != RUN_KEY && own.iter().all(|(own, _)| *own != name));
        all.extend(own.into_iter().map(|(name, value)| (name.to_owned(), value)));
        all
    }

    fn job(&mut self, index: usize, step: &PlannedStep, attempt: u64, key: &str) -> anyhow::Result<Job> {
        let timeout_ms = self.run.step_timeout_ms;
        let folder = self.root.clone();
        if let StepAction::Run(line) = &step.does {
            let args = vec!["-c".to_owned(), line.clone()];
            return Ok(Job { args, folder, program: PathBuf::from("/bin/sh"), timeout_ms });
        }
        let approved = self.approved.take();
        self.enter_step(step, key, approved.clone())?;
        self.note = None;
        let known = self.is_known();
        let prompt = approved.is_none().then(|| self.prompt(index, step, attempt > 1 && known)).transpose()?;
        let mut args = self.kit.arguments(step, &self.run.init.session_id, known, prompt.as_deref());
        if let Some(left) = self.run.budget.map(|budget| budget.saturating_sub(self.run.cost)) {
            args.extend(["--max-budget-usd".to_owned(), usd(left).to_string()]);
        }
        Ok(Job { args, folder, program: self.prepared.client.clone(), timeout_ms })
    }

    /// `PATH` with our own folder last, so that a command step can run `aops-hook`.
    fn path_with_us(&self) -> OsString {
        let own = self.env.program().ok().and_then(|program| Some(program.parent()?.to_owned()));
        let path = self.env.search_path();
        let all: Vec<PathBuf> = std::env::split_paths(&path).chain(own).collect();
        std::env::join_paths(all).unwrap_or(path)
    }
}
