//! Adds to an event's facts what the attestation of commits needs: where `HEAD` is, what changed in the tree,
//! how a command ended.
//!
//! Reads `HEAD`'s files and, around a call that may write, the working tree. Does nothing if `[witness]
//! attest` is off. Invariants: nothing is looked at for a call that only reads; changes made while a call of
//! the session ran belong to the session, all others do not; no event fails because of this.

use super::turn::Turn;
use crate::model::call::{CallKey, CallState, Effect};
use crate::model::client::Ability;
use crate::model::event::EventKind;
use crate::model::profile::Hold;
use crate::observe::jailed::{exit_code, is_background};
use crate::observe::tree_look::TreeLook;
use crate::session::fact::{Fact, Step};
use crate::session::memory::OpenCall;
use crate::session::observed::{
    Committed, CommittedBy, ExitSeen, ExitWitness, FileSeen, HeadSeen, Observed, PromptSeen,
};
use crate::system::git::{self, HeadFiles, HeadPlace};
use crate::system::random;
use crate::text::git_object::ObjectFormat;
use crate::text::sha256::sha256;
use crate::text::stored::canonical;
use crate::tool::table::{self, ToolTouches};
use serde_json::json;
use std::path::Path;

/// Length in bytes of a prompt's salt.
const SALT: usize = 16;

/// When an event happens, relative to the session's calls.
enum Moment {
    /// A call that may write is about to run; the index of its fact.
    Before(usize),
    /// A call has ended; the index of its fact, and how much to look at.
    After(usize, Ended),
    /// No call, but a start, a prompt or an end; the index of the event's fact.
    Between(usize),
}

struct Ended {
    wrote: bool,
    tests: bool,
    exit: Option<ExitSeen>,
    call: CallKey,
}

/// What is found out once for all facts of the event.
struct Sight {
    observed: Observed,
    /// Commits that were made, each with the previous position of `HEAD`.
    commits: Vec<(String, Option<String>)>,
    root: String,
}

impl Turn<'_> {
    pub(super) fn observe(&self, facts: &mut Vec<Fact>) {
        if !self.session().policy().witness.attests() || self.env.dry_run || self.repeated {
            return;
        }
        let Some(moment) = self.moment(facts) else { return };
        let (mut sight, by) = match &moment {
            Moment::Before(_) => self.before_call(),
            Moment::After(_, ended) => self.after_call(ended),
            Moment::Between(_) => self.between_calls(),
        };
        let (Moment::Before(at) | Moment::After(at, _) | Moment::Between(at)) = moment;
        let commits = std::mem::take(&mut sight.commits).into_iter().map(|(commit, before)| {
            Fact::Commit(Committed { before, by: by.clone(), commit, root: sight.root.clone() })
        });
        let commits: Vec<Fact> = commits.collect();
        match facts.get_mut(at) {
            Some(Fact::Call(step)) => step.observed = sight.observed.unless_empty(),
            Some(Fact::Event(seen)) => seen.observed = sight.observed.unless_empty(),
            _ => {}
        }
        // Commits made before a call are recorded before it, commits made by a call after it.
        let at = if self.event.kind() == EventKind::PreToolUse { at } else { facts.len() };
        facts.splice(at..at, commits);
    }

    fn moment(&self, facts: &[Fact]) -> Option<Moment> {
        let key = self.event.call().map(|call| &call.key);
        let of_call = |fact: &&Fact| matches!(fact, Fact::Call(step) if Some(&step.call) == key);
        match self.event.kind() {
            EventKind::PreToolUse => {
                let runs = |step: &Step| may_write(step.effect()) && !is_denied(facts, step);
                let begins = |fact: &Fact| matches!(fact, Fact::Call(step) if runs(step));
                facts.iter().position(|fact| of_call(&fact) && begins(fact)).map(Moment::Before)
            }
            EventKind::PostToolUse | EventKind::PostToolUseFailure => {
                let at = facts.iter().rposition(|fact| of_call(&fact))?;
                let Fact::Call(step) = &facts[at] else { return None };
                Some(Moment::After(at, self.ended(step)?))
            }
            EventKind::SessionStart
            | EventKind::UserPromptSubmit
            | EventKind::Stop
            | EventKind::SessionEnd => {
                facts.iter().position(|fact| matches!(fact, Fact::Event(_))).map(Moment::Between)
            }
            _ => None,
        }
    }

    /// What to look at for the call that has ended; `None` if it only read.
    fn ended(&self, step: &Step) -> Option<Ended> {
        let call = self.event.call()?;
        let open = self.session().open_call(&call.key)?;
        let is_line =
            matches!(table::tool(&call.key.tool).touches, ToolTouches::Line | ToolTouches::PowerShell);
        let tells =
            is_line && self.env.host.can(Ability::TellsExits) && !call.unended && !is_background(call);
        let code = match self.event.kind() {
            EventKind::PostToolUse => Some(0),
            _ => exit_code(&call.error),
        };
        let told = code.map(|code| ExitSeen { code, seen: ExitWitness::Client });
        let proof = step.ended().under.jailed.as_ref().filter(|proof| proof.hold != Hold::Words);
        let seen = proof.and_then(|proof| proof.exit).map(|code| ExitSeen { code, seen: ExitWitness::Jail });
        let exit = seen.or(told).filter(|_| tells);
        let wrote = may_write(open.means.effect);
        // A failed test counts too, for comparison with one that passed on the same tree.
        let tests = open.means.tests && exit.is_some();
        (wrote || exit.is_some()).then(|| Ended { wrote, tests, exit, call: call.key.clone() })
    }

    fn before_call(&self) -> (Sight, CommittedBy) {
        let mut sight = self.look_at_head();
        let files = self.look_at_tree(&mut sight);
        let running = self.running();
        match running {
            Some(_) => sight.observed.files = files,
            None => sight.observed.outside = files,
        }
        (sight, running.map_or(CommittedBy::Outside, |open| CommittedBy::Call(open.call.clone())))
    }

    fn after_call(&self, ended: &Ended) -> (Sight, CommittedBy) {
        let mut sight = Sight { observed: Observed::default(), commits: Vec::new(), root: String::new() };
        if ended.wrote {
            sight = self.look_at_head();
            sight.observed.files = self.look_at_tree(&mut sight);
        }
        if ended.tests {
            let root = HeadFiles::around(Path::new(&self.event.cwd)).map(|files| files.root);
            sight.observed.tree = root.and_then(|root| git::tree(self.env, &root));
        }
        sight.observed.exit.clone_from(&ended.exit);
        (sight, CommittedBy::Call(ended.call.clone()))
    }

    fn between_calls(&self) -> (Sight, CommittedBy) {
        let mut sight = self.look_at_head();
        let running = self.running();
        if !sight.commits.is_empty() && running.is_none() {
            sight.observed.outside = self.look_at_tree(&mut sight);
        }
        if self.event.kind() == EventKind::UserPromptSubmit {
            sight.observed.prompt = random::hex(SALT).ok().map(|salt| {
                let text = canonical(&json!({"salt": salt, "text": self.event.prompt()}));
                PromptSeen { attended: self.context.attended, salt, sha256: sha256(&[text.as_bytes()]) }
            });
        }
        (sight, running.map_or(CommittedBy::Outside, |open| CommittedBy::Call(open.call.clone())))
    }

    /// Another call of the session that may write and has not ended.
    fn running(&self) -> Option<&OpenCall> {
        let own = self.event.call().map(|call| &call.key);
        let runs = |open: &&OpenCall| {
            open.state == CallState::Executing && may_write(open.means.effect) && Some(&open.call) != own
        };
        self.session().memory.calls.iter().find(runs)
    }

    fn look_at_head(&self) -> Sight {
        let trail = &self.session().memory.proof.trail;
        let cwd = Path::new(&self.event.cwd);
        let here = trail.heads.iter().find(|known| Path::new(&known.root) == cwd);
        let files = match here {
            Some(known) => Some(HeadFiles { git: known.git.clone().into(), root: known.root.clone().into() }),
            None => HeadFiles::around(cwd),
        };
        let mut sight = Sight { observed: Observed::default(), commits: Vec::new(), root: String::new() };
        let Some(files) = files else { return sight };
        sight.root = files.root.to_string_lossy().into_owned();
        let git = files.git.to_string_lossy().into_owned();
        let known = trail.head(&git);
        if known.is_some_and(|known| known.stamp == files.stamp(known.branch.as_deref())) {
            return sight;
        }
        let HeadPlace { branch, commit, log } = files.look(self.env);
        if let Some(known) = known {
            sight.commits = commits_since(&files, known, commit.as_deref());
        }
        let stamp = files.stamp(branch.as_deref());
        sight.observed.head = Some(HeadSeen { branch, commit, git, log, root: sight.root.clone(), stamp });
        sight
    }

    fn look_at_tree(&self, sight: &mut Sight) -> Vec<FileSeen> {
        let trail = &self.session().memory.proof.trail;
        let known = trail.heads.iter().find(|known| known.root == sight.root);
        let commit = sight.observed.head.as_ref().or(known).and_then(|head| head.commit.as_deref());
        if sight.root.is_empty() {
            return Vec::new();
        }
        // In a repository without commits, assume the most common object format.
        let format = commit.and_then(ObjectFormat::of_id).unwrap_or(ObjectFormat::Sha1);
        let policy = self.session().policy();
        let session = self.ledger.place().path.as_path();
        let look = TreeLook { env: self.env, policy, session, root: Path::new(&sight.root), format };
        let changed = look.take(known.is_none());
        sight.observed.unseen = changed.unseen.is_some();
        sight.observed.unseen_why = changed.unseen;
        changed.files
    }
}

/// The commits made since `HEAD` was last seen, the oldest first. A commit that was amended since is left
/// out.
fn commits_since(files: &HeadFiles, known: &HeadSeen, now: Option<&str>) -> Vec<(String, Option<String>)> {
    let from = |old: &str| Some(old.to_owned()).filter(|old| old.bytes().any(|digit| digit != b'0'));
    let Some(moves) = known.log.and_then(|long| files.moves_since(long)) else {
        // Without a log we do not know how it moved; git's objects show later whether that commit is new.
        let new = now.filter(|now| Some(*now) != known.commit.as_deref());
        return new.map(|new| (new.to_owned(), known.commit.clone())).into_iter().collect();
    };
    let mut made: Vec<(String, Option<String>)> = Vec::new();
    for one in moves.iter().filter(|one| one.makes_commit()) {
        let mut before = from(&one.old);
        if one.amends && made.last().is_some_and(|(last, _)| *last == one.old) {
            before = made.pop().and_then(|(_, before)| before);
        }
        made.push((one.new.clone(), before));
    }
    made
}

fn may_write(effect: Option<Effect>) -> bool {
    effect.is_some_and(Effect::is_write)
}

/// A later step refuses the call of this step.
fn is_denied(facts: &[Fact], step: &Step) -> bool {
    let denied = |last: &Step| last.call == step.call && last.to == CallState::Denied;
    facts.iter().any(|fact| matches!(fact, Fact::Call(last) if denied(last)))
}
