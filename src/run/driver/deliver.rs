//! The end of a run whose last step passed: its work is delivered, or the run is blocked and says where the
//! work is.
//!
//! Writes the attempt ledger, and a bundle below the run's folder. Invariant: a run does not pass if its
//! changes exist only in its working tree, unless `[deliver] branch = "none"` says so.

use super::base::Driver;
use super::{Finish, Reporter};
use crate::attest;
use crate::run::artifacts::RunArtifacts;
use crate::run::attempt::{AttemptFact, Decision, Delivered, RunOutcome};
use crate::run::deliver::forge::{self, Request};
use crate::run::deliver::{Work, bundle, deliver};
use crate::run::plan::PlannedStep;
use crate::run::state::RunState;
use aops_core::config::policy::Policy;
use aops_core::model::error::Failure;
use aops_core::session::fact::Fact;
use aops_core::session::observed::{Committed, CommittedBy};
use aops_core::system::git::{self, HeadFiles};
use aops_core::text::redact::redact;
use aops_core::text::template::one_line;
use std::fmt::Write;

const PASSED: &str = "every step passed";
/// Without a session, no ledger says how the commit was made.
const UNATTESTED: &str = "attest: no step of this run had a session, so its commit has no attestation";
/// The maximum length of a commit's subject and a pull request's title.
const LONGEST_TITLE: usize = 72;
/// The maximum length of one line in a pull request's text.
const LONGEST_WORDS: usize = 300;

impl Driver {
    pub(super) fn deliver(mut self, reporter: &mut dyn Reporter) -> anyhow::Result<Finish> {
        let branch = self.prepared.policy.deliver.branch_of(&self.run.run_id);
        let (Some(branch), Some(base)) = (branch, self.run.init.base.clone()) else {
            return self.finish(reporter, RunOutcome::Pass, PASSED.to_owned());
        };
        let (title, body) = self.report()?;
        let began_on = self.run.init.branch.clone().unwrap_or_default();
        let env = self.env.clone();
        let root = self.root.clone();
        let message = format!("{title}\n\n{body}");
        let work = Work {
            env: &env,
            root: &root,
            base: &base,
            began_on: &began_on,
            branch: &branch,
            message: &message,
        };
        let delivered = match deliver(&work, &|commit, before| self.attest_commit(commit, before)) {
            Ok(Some(delivered)) => delivered,
            Ok(None) => return self.finish(reporter, RunOutcome::Pass, format!("{PASSED}; nothing changed")),
            Err(why) => return self.leave_undelivered(reporter, &work, &why),
        };
        let mut reason = format!("{PASSED}; {}", describe(&delivered));
        // The notes are published after the work.
        self.attest();
        if self.prepared.policy.witness.attests() && self.session().is_none() {
            reporter.told(UNATTESTED);
        }
        let known = self.run.delivered.replace(delivered.clone());
        self.append(AttemptFact::Delivered(delivered.clone()))?;
        // If a step pushed to a branch of its own choice, the pull request is that step's business.
        if let Some(remote) = delivered.remote.as_ref().filter(|_| delivered.branch == branch) {
            let is_again = known.is_some_and(|known| known.commit == delivered.commit);
            let request = Request {
                branch: &branch,
                base: self.base_branch(&began_on),
                title: &title,
                body: &body,
                command: &self.prepared.policy.deliver.pull_request.clone(),
                remote: &self.address(remote),
                is_again,
            };
            match forge::request(&env, &root, &request) {
                Ok(None) => {}
                Ok(Some(address)) => {
                    let _ = write!(reason, "; pull request {address}");
                    let pull_request = Some(address);
                    self.append(AttemptFact::Delivered(Delivered { pull_request, ..delivered }))?;
                }
                Err(why) => {
                    let _ = write!(reason, "; no pull request: {why}");
                }
            }
        }
        self.finish(reporter, RunOutcome::Pass, reason)
    }

    /// The delivered commit belongs to the session: it is recorded and attested before it is pushed. A
    /// failure does not prevent the delivery; `aops-hook attest` can catch up later.
    fn attest_commit(&self, commit: &str, before: &str) {
        if !self.prepared.policy.witness.attests() || self.session().is_none() {
            return;
        }
        let root = HeadFiles::around(&self.root).map_or_else(|| self.root.clone(), |files| files.root);
        let made = Committed {
            before: Some(before.to_owned()).filter(|before| !before.is_empty()),
            by: CommittedBy::Outside,
            commit: commit.to_owned(),
            root: root.to_string_lossy().into_owned(),
        };
        let env = self.env.later();
        let recorded =
            self.lock_ledger(&env).and_then(|mut ledger| ledger.append(&env, vec![Fact::Commit(made)]));
        if recorded.is_ok() {
            self.attest();
        }
    }

    /// Makes the missing statements, and publishes them with the work.
    fn attest(&self) {
        if !self.prepared.policy.witness.attests() || self.session().is_none() {
            return;
        }
        let env = self.env.later();
        let place = self.lock_ledger(&env).map(|ledger| ledger.place().path.clone());
        let _ = place.and_then(|folder| attest::attest(&env, &folder, &self.run.init.session_id));
    }

    fn leave_undelivered(
        self,
        reporter: &mut dyn Reporter,
        work: &Work,
        why: &str,
    ) -> anyhow::Result<Finish> {
        let file = self.folder.join("work.bundle");
        let kept = match bundle(work, &self.run.run_id, file) {
            Ok(file) => format!(" and in the bundle `{}`", file.display()),
            Err(why) => format!(", and in no bundle: {why}"),
        };
        let reason = format!("UNDELIVERED: {why}; the work is in `{}`{kept}", self.root.display());
        let remote = git::remote(work.env, work.root, work.began_on);
        let hint = remote.map(|remote| {
            format!("once `{remote}` takes it: `git push -u {remote} {}` in that folder", work.branch)
        });
        self.finish_with(reporter, RunOutcome::Blocked, reason, hint)
    }

    /// The branch on which the run began, if the remote may have it.
    fn base_branch<'a>(&self, began_on: &'a str) -> &'a str {
        let tracked = format!("branch.{began_on}.merge");
        let has_upstream =
            git::run(&self.env, &self.root, &["config", "--get", &tracked], b"", QUICK).is_ok();
        if has_upstream { began_on } else { "" }
    }

    fn address(&self, remote: &str) -> String {
        let said = git::run(&self.env, &self.root, &["remote", "get-url", "--push", remote], b"", QUICK);
        said.map_or_else(|_| remote.to_owned(), |said| String::from_utf8_lossy(&said).trim_end().to_owned())
    }

    /// Title and text of the commit and the pull request.
    fn report(&self) -> Result<(String, String), Failure> {
        report(
            &self.run,
            &self.artifacts,
            &self.prepared.policy,
            self.prepared.plan.iter().any(PlannedStep::is_client),
        )
    }
}

const QUICK: std::time::Duration = std::time::Duration::from_secs(10);

fn describe(Delivered { branch, commit, remote, .. }: &Delivered) -> String {
    let short = &commit[..commit.len().min(12)];
    match remote {
        Some(remote) => format!("{short} is on branch `{branch}` of `{remote}`"),
        None => format!("{short} is on branch `{branch}` of this repository, which has no remote"),
    }
}

/// Task, steps, checks, approvals and cost.
fn report(
    run: &RunState,
    artifacts: &RunArtifacts,
    policy: &Policy,
    used_model: bool,
) -> Result<(String, String), Failure> {
    let plain = |text: &str| one_line(&redact(text), LONGEST_WORDS);
    let task = redact(&run.init.task).into_owned();
    let title = one_line(task.lines().next().unwrap_or_default(), LONGEST_TITLE);
    let mut text = format!("{task}\n\nRun {}, workflow {}.\n\nSteps:\n", run.run_id, run.init.workflow);
    for step in &run.init.steps {
        let Some(done) = run.done.get(step) else { continue };
        let _ = writeln!(text, "- {step}: {}, {} s", done.outcome.name(), done.duration_ms / 1000);
    }
    let waived: Vec<&String> = run.waived.values().flatten().collect();
    if !policy.checks.is_empty() {
        text += "\nChecks:\n";
        for check in &policy.checks {
            let how = if waived.contains(&&check.id) { "waived by a person" } else { "in force" };
            let _ = writeln!(text, "- {}: {how}", check.id);
        }
    }
    let decided = artifacts.decisions(&run.run_id)?;
    let approved: Vec<_> = decided.iter().filter(|(_, one)| one.decision == Decision::Approved).collect();
    if !approved.is_empty() {
        text += "\nApprovals:\n";
        for (question, one) in approved {
            let who = one.by.as_deref().unwrap_or("a person at the machine");
            let note = one.note.as_deref().map(|note| format!(" ({})", plain(note))).unwrap_or_default();
            let _ = writeln!(text, "- {}: approved by {}{note}", plain(question), plain(who));
        }
    }
    let cost = match (used_model, run.cost) {
        (false, _) => "none, no model was asked".to_owned(),
        (true, 0) => format!("unknown, {} tokens", run.tokens),
        (true, cost) => {
            format!("${}.{:02}, {} tokens", cost / 1_000_000, cost % 1_000_000 / 10_000, run.tokens)
        }
    };
    let _ = writeln!(text, "\nCost: {cost}");
    Ok((title, text))
}
