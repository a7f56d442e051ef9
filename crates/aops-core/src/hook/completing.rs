//! Adds to an event's own fact what the gates do not know: the boot, the project's root, guarded files, the
//! policy in force.
//!
//! Reads the working tree, the settings and the log. Invariant: nothing here changes what was decided.

use super::turn::Turn;
use super::work;
use crate::ledger::clients;
use crate::observe::{self, client, real_paths, tampering};
use crate::session::fact::{Baseline, Happened, PromptHeard, Seen, SessionStarted, TurnBefore};
use crate::session::prompt::Prompt;
use crate::session::watched::Watched;
use crate::system::env::boot_id;
use crate::system::git;
use crate::text::stored::digest_of;
use std::path::Path;

impl Turn<'_> {
    /// A new task begins, and the previous one is over, was given up or is parked: its changes do not belong
    /// to the new task.
    fn begins_after_work(&self, prompt: &PromptHeard) -> bool {
        let ordinary = prompt.means == Prompt::Ordinary;
        let over = || self.session().memory.progress.let_go || self.session().left_work();
        self.context.stage.is_none() && (is_ended(prompt.before.as_ref()) || ordinary && over())
    }

    /// Adds what the gates' context lacks: the boot, the project's root, guarded files, the policy in force.
    pub(super) fn complete(&self, seen: &mut Seen) {
        let session = self.session();
        let first = session.memory.place.baseline_sha256.is_none();
        match &mut seen.what {
            Happened::SessionStarted(start) => {
                self.complete_start(start);
                start.baseline = if first { self.baseline() } else { None };
            }
            Happened::Prompted(prompt) if self.begins_after_work(prompt) => {
                let let_go = session.memory.progress.let_go && !is_ended(prompt.before.as_ref());
                let done = let_go || session.left_work();
                let before = session.memory.place.baseline_sha256.clone().filter(|_| done);
                prompt.baseline = self.baseline().map(|baseline| Baseline { before, ..baseline });
            }
            Happened::Stopped(end) => {
                end.changed = work::changed_files(self.env, &self.ledger, self.event);
                end.log = crate::proof::store::signed_so_far(self.env);
            }
            Happened::SessionEnded(end) => end.log = crate::proof::store::signed_so_far(self.env),
            _ => {}
        }
        if let Some(renewed) = &self.found_anew.policy {
            seen.policy.clone_from(&renewed.policy);
            seen.policy_hash = Some(renewed.hash.clone());
        }
    }

    fn complete_start(&self, start: &mut SessionStarted) {
        let env = self.env;
        let cwd = Path::new(&self.event.cwd);
        start.boot = boot_id();
        start.jail.clone_from(&self.found_anew.jail);
        start.traceparent.clone_from(&env.client.traceparent);
        start.client = client::process(env);
        start.greets = observe::brought::greets(env, cwd);
        start.plan_hook = observe::brought::approves(env, cwd);
        if let Some(client) = &start.client {
            clients::remember(env, client, &self.event.session_id);
        }
        start.root = env.root().display().to_string();
        let protected = &self.found_anew.registered.protected;
        start.watched = Watched {
            folders: self.context.folders.clone(),
            held: self.found_anew.registered.held.clone(),
            linked: real_paths::links(protected),
            marks: tampering::marks(protected, &self.session().memory.watched.marks),
        };
    }

    fn baseline(&self) -> Option<Baseline> {
        let files = git::baseline(self.env, Path::new(&self.event.cwd))?;
        Some(Baseline { before: None, sha256: digest_of(&files), files })
    }
}

fn is_ended(before: Option<&TurnBefore>) -> bool {
    before.is_some_and(TurnBefore::ends_task)
}
