//! The driver: validates, hands out one step after another, records, and halts on anything else.
//!
//! Reads and writes `artifacts/` and the run's folder. It neither reasons nor retries. Invariants: the policy is the same
//! before and after every step, or the run is over; a step that passed is never handed out again.

use super::super::{Io, refused};
use super::judged::Judged;
use super::progress::{self, Progress};
use super::{next_step, notice, planned};
use crate::config::in_force;
use crate::config::policy::Policy;
use crate::config::texts::{self, Texts};
use crate::model::error::{Code, Failure};
use crate::run::artifacts::Artifacts;
use crate::run::attempt::{Deed, Ended, Init};
use crate::run::client::{self, Kit};
use crate::run::job::{Place, Standing};
use crate::run::packet::End;
use crate::run::plan::{Does, Planned};
use crate::run::state::RunState;
use crate::run::status::{Outcome, POLICY_CHANGED, Trigger};
use crate::system::env::Env;
use crate::system::files::make_all;
use crate::system::git;
use crate::system::signal;
use crate::text::sha256::sha256;
use crate::text::time::{day, timestamp};
use serde_json::json;
use std::fs::File;
use std::path::{Path, PathBuf};

/// What somebody wants done.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Wants {
    pub task: String,
    pub workflow: String,
    pub project_type: Option<String>,
    /// Millionths of a dollar.
    pub budget: Option<u64>,
    pub step_timeout_ms: u64,
}

/// How a run ended, or where it pauses.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Finish {
    pub run_id: String,
    pub outcome: Outcome,
    pub reason: String,
    pub packet: PathBuf,
    /// What to do next.
    pub hint: Option<String>,
}

pub(in crate::cli) struct Driver {
    pub(in crate::cli) env: Env,
    pub(in crate::cli) root: PathBuf,
    pub(super) artifacts: Artifacts,
    pub(in crate::cli) record: RunState,
    pub(super) plan: Vec<Planned>,
    pub(super) policy: Policy,
    pub(super) texts: Texts,
    /// Of the run, below our own part of the host's folder.
    pub(super) folder: PathBuf,
    pub(super) client: PathBuf,
    pub(super) kit: Kit,
    pub(super) progress: Progress,
    /// The call a person approved, and their note: for the first step after a resume.
    pub(in crate::cli) approved: Option<String>,
    pub(in crate::cli) note: Option<String>,
    _alone: File,
}

/// Where a project's runs are driven from.
pub(in crate::cli) fn root(env: &Env) -> PathBuf {
    let project = texts::project(env, &env.cwd);
    project.canonicalize().unwrap_or(project)
}

/// A second driver is refused, not broken.
pub(in crate::cli) fn alone(artifacts: &Artifacts) -> anyhow::Result<File> {
    match artifacts.drive() {
        Err(failure) if failure.code == Code::ConcurrentExecution => {
            refused(format!("{failure}\nhint: `aops-hook runs` shows it; wait for it, or end it with Ctrl-C"))
        }
        other => Ok(other?),
    }
}

impl Driver {
    /// A new run, where everything allows it.
    pub(in crate::cli) fn begin(io: &mut Io, wants: &Wants) -> anyhow::Result<Self> {
        let env = io.env.later();
        let root = root(&env);
        check_clean(&env, &root)?;
        let ground = Ground::of(&env, &root, wants)?;
        let artifacts = Artifacts::of(&root);
        artifacts.prepare(&env, &root)?;
        let alone = alone(&artifacts)?;
        for record in artifacts.runs()?.into_iter().filter(|record| record.state.is_driven()) {
            terminate(io, &env, &root, &artifacts, record)?;
        }
        let run_id = format!("{}-{}", day(env.now_ms), random(4)?);
        let init = Init {
            budget: wants.budget,
            policy_hash: ground.policy_hash.clone(),
            project_type: wants.project_type.clone(),
            session_id: uuid()?,
            step_timeout_ms: wants.step_timeout_ms,
            steps: ground.plan.iter().map(|step| step.id.clone()).collect(),
            task: wants.task.clone(),
            workflow: wants.workflow.clone(),
        };
        let record = RunState { run_id, ..RunState::default() };
        let mut driver = Self::of(env, root, artifacts, alone, record, ground)?;
        driver.tell(Deed::Init(init))?;
        driver.announce(io);
        Ok(driver)
    }

    /// A run that paused, its packet checked by whoever calls.
    pub(in crate::cli) fn again(
        io: &mut Io,
        artifacts: Artifacts,
        alone: File,
        record: RunState,
    ) -> anyhow::Result<Self> {
        let env = io.env.later();
        let root = root(&env);
        let wants = Wants {
            task: record.init.task.clone(),
            workflow: record.init.workflow.clone(),
            project_type: record.init.project_type.clone(),
            budget: record.budget,
            step_timeout_ms: record.step_timeout_ms,
        };
        let ground = match Ground::of(&env, &root, &wants) {
            // Rules that cannot be read are not those it began with, and that is the end of it.
            Err(_) if is_other(&env, &root, &record) => Ground::default(),
            ground => ground?,
        };
        Self::of(env, root, artifacts, alone, record, ground)
    }

    fn of(
        env: Env,
        root: PathBuf,
        artifacts: Artifacts,
        alone: File,
        record: RunState,
        Ground { plan, policy, texts, client, .. }: Ground,
    ) -> anyhow::Result<Self> {
        let (folder, kit) = equipped(&env, &texts, &record.run_id)?;
        Ok(Self {
            env,
            root,
            artifacts,
            record,
            plan,
            policy,
            texts,
            folder,
            client,
            kit,
            progress: Progress::default(),
            approved: None,
            note: None,
            _alone: alone,
        })
    }

    pub(in crate::cli) fn announce(&self, io: &mut Io) {
        let RunState { run_id, init, .. } = &self.record;
        let left: Vec<&String> = init.steps.iter().filter(|step| !self.record.has_passed(step)).collect();
        let said = json!({"event": "run", "run_id": run_id, "workflow": init.workflow, "session_id": init.session_id, "steps": left});
        progress::line(io, &said);
        progress::words(io, &format!("run {run_id}: {} steps of `{}`", left.len(), init.workflow));
    }

    pub(in crate::cli) fn walk(mut self, io: &mut Io) -> anyhow::Result<Finish> {
        loop {
            if let Some(reason) = self.policy_changed() {
                return self.finish(io, Outcome::Blocked, reason);
            }
            let Some((index, _)) = self.record.next_step() else {
                return self.finish(io, Outcome::Pass, "every step passed".to_owned());
            };
            let judged = if signal::interrupted() {
                Judged::pause(Trigger::Interrupted, "the run was interrupted between two steps")
            } else {
                self.step(io, index)?
            };
            match judged {
                Judged::Pass => {}
                Judged::Blocked(reason) => return self.finish(io, Outcome::Blocked, reason),
                Judged::Pause(asked) => return self.pause(io, index, asked),
            }
        }
    }

    pub(in crate::cli) fn tell(&mut self, deed: Deed) -> Result<(), Failure> {
        let told = self.artifacts.append(&self.record.run_id, deed)?;
        self.record.take(&told);
        Ok(())
    }

    /// The rules are not those the run began with, or cannot be read any more.
    pub(in crate::cli) fn policy_changed(&self) -> Option<String> {
        match in_force::load(&self.env, &self.root) {
            Ok(now) if now.hash == self.record.init.policy_hash => None,
            Ok(now) => {
                let (old, new) = (&self.record.init.policy_hash[..12], &now.hash[..12]);
                Some(format!("{POLICY_CHANGED}: the policy hash was {old} and is {new}"))
            }
            Err(failure) => Some(format!("{POLICY_CHANGED}: {}", failure.what)),
        }
    }

    /// The end. The packet comes first: a driver that dies in between ends the run once more, with the same words.
    pub(in crate::cli) fn finish(
        mut self,
        io: &mut Io,
        outcome: Outcome,
        reason: String,
    ) -> anyhow::Result<Finish> {
        let head = self.leave_session()?.unwrap_or_else(|| self.artifacts.head());
        let status = git::status(&self.env, &self.root).unwrap_or_default();
        let end = End {
            commit_hash: status.head,
            ledger_head: head,
            outcome,
            policy_hash: self.record.init.policy_hash.clone(),
            reason: reason.clone(),
            run_id: self.record.run_id.clone(),
            steps_executed: self.record.executed(),
            timestamp: timestamp(crate::system::env::now_ms()),
            workflow: self.record.init.workflow.clone(),
        };
        let packet = self.artifacts.keep_end(&end)?;
        self.tell(Deed::Terminal(Ended { outcome, reason: reason.clone() }))?;
        if outcome == Outcome::Pass {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
        let finish = Finish { run_id: self.record.run_id.clone(), outcome, reason, packet, hint: None };
        notice::send(io, &self.policy, &self.root, &finish);
        Ok(finish)
    }
}

fn is_other(env: &Env, root: &Path, record: &RunState) -> bool {
    in_force::load(env, root).map_or(true, |now| now.hash != record.init.policy_hash)
}

fn check_clean(env: &Env, root: &Path) -> anyhow::Result<()> {
    let Some(status) = git::status(env, root) else {
        return refused(
            "a run needs a git repository with a clean tree, and this is none\nhint: `git init`, then commit",
        );
    };
    if status.dirty.is_empty() {
        return Ok(());
    }
    let some: Vec<&str> = status.dirty.iter().take(5).map(String::as_str).collect();
    let more = status.dirty.len() - some.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    refused(format!(
        "the repository is not clean: {}{more}\nhint: commit or stash first; nothing was run",
        some.join(", ")
    ))
}

/// What a run stands on.
#[derive(Default)]
struct Ground {
    plan: Vec<Planned>,
    policy: Policy,
    policy_hash: String,
    texts: Texts,
    client: PathBuf,
}

impl Ground {
    fn of(env: &Env, root: &Path, wants: &Wants) -> anyhow::Result<Self> {
        let (_, plan, in_force) = planned(env, root, wants)?;
        let client = client_for(env, &plan, &in_force.policy)?;
        Ok(Self { plan, policy: in_force.policy, policy_hash: in_force.hash, texts: in_force.texts, client })
    }
}

fn client_for(env: &Env, plan: &[Planned], policy: &Policy) -> anyhow::Result<PathBuf> {
    if plan.iter().all(|step| matches!(step.does, Does::Run(_))) {
        return Ok(PathBuf::new());
    }
    client::find(env, policy).or_else(refused)
}

/// The run's own folder with what the client is given.
fn equipped(env: &Env, texts: &Texts, run_id: &str) -> anyhow::Result<(PathBuf, Kit)> {
    let folder = env.config.join("aops/runs").join(run_id);
    make_all(&folder)?;
    let kit = Kit::write(env, texts, &folder).map_err(|e| Failure::storage(folder.display(), e))?;
    Ok((folder, kit))
}

/// A run whose driver died is marked so, and waits for somebody to resume it. One whose step still runs is in the way.
pub(in crate::cli) fn terminate(
    io: &mut Io,
    env: &Env,
    root: &Path,
    artifacts: &Artifacts,
    record: RunState,
) -> anyhow::Result<RunState> {
    let folder = env.config.join("aops/runs").join(&record.run_id);
    let running = record.current.as_ref().is_some_and(|begun| {
        Place::new(&folder, &format!("{}-{}", begun.step, begun.attempt)).look() == Standing::Running
    });
    let (record, packet) = super::pausing::terminated(env, root, artifacts, record)?;
    let hint = next_step(&packet.checkpoint_id, false, None);
    progress::words(io, &format!("run {} was TERMINATED: its driver is gone; {hint}", record.run_id));
    if running {
        return refused(format!("a step of run {} is still running\nhint: {hint}", record.run_id));
    }
    Ok(record)
}

/// So many random bytes, as hex.
pub(super) fn random(bytes: usize) -> Result<String, Failure> {
    let mut all = [0_u8; 32];
    crate::system::random::fill(&mut all).map_err(|e| Failure::storage("the system's random bytes", e))?;
    Ok(sha256(&[&all])[..bytes * 2].to_owned())
}

/// An id in the client's form.
fn uuid() -> Result<String, Failure> {
    let hex = random(16)?;
    Ok(format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..]))
}
