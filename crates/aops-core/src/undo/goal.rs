//! Decides the state of a repository after an undo, from what was kept, what the command left, and what is
//! there now.
//!
//! Asks git, changes nothing. Invariants: no commit that is only on one branch is abandoned unless that is
//! forced; a branch that is checked out somewhere moves only together with its working tree; the index is
//! restored only if `HEAD` is as it was.

use super::form::{KeptRepository, LeftRepository};
use super::git::{Repository, is_of_branch};
use super::plan::{Goal, RefMove};
use crate::model::error::Failure;
use crate::system::files;
use crate::text::sha256::Sum;
use std::collections::BTreeSet;

/// What will change in one repository, which kept parts are not restored, and why.
#[derive(Debug, Default)]
pub struct Decided {
    pub changes: Vec<String>,
    pub conflicts: Vec<String>,
    pub goal: Goal,
    /// The present state, to be kept first; without the contents of the index.
    pub(super) before: KeptRepository,
    /// The commit to which the working tree returns, with its branch.
    pub(super) tree: Option<String>,
}

/// People call `refs/heads/topic` just `topic`.
fn short(name: &str) -> &str {
    ["refs/heads/", "refs/tags/"].iter().find_map(|begins| name.strip_prefix(begins)).unwrap_or(name)
}

fn id(text: &str) -> &str {
    text.get(..10).unwrap_or(text)
}

struct Survey<'a> {
    repository: &'a Repository<'a>,
    kept: &'a KeptRepository,
    /// What the command left, if we saw its end.
    left: Option<LeftRepository<'a>>,
    force: bool,
    said: Decided,
}

pub fn survey(
    repository: &Repository,
    kept: &KeptRepository,
    left: Option<LeftRepository>,
    force: bool,
) -> Result<Decided, Failure> {
    let mut survey = Survey { repository, kept, left, force, said: Decided::default() };
    let (commit, branch) = repository.head();
    let git = repository.git_folder();
    let root = kept.root.clone();
    survey.said.goal = Goal { git: git.clone(), root: root.clone(), ..Goal::default() };
    survey.said.before = KeptRepository {
        git,
        root,
        head: commit.clone(),
        head_ref: branch.clone(),
        ..KeptRepository::default()
    };
    survey.switch(commit.as_deref(), branch.as_deref());
    survey.refs(branch.as_deref())?;
    let is_back = survey.head(commit.as_deref(), branch.as_deref());
    survey.index(is_back);
    survey.stashes()?;
    survey.pins(commit);
    Ok(survey.said)
}

impl Survey<'_> {
    /// The branch of `HEAD` was renamed: it gets its old name back, at the same commit.
    fn switch(&mut self, commit: Option<&str>, branch: Option<&str>) {
        let (Some(was), Some(is)) = (self.kept.head_ref.as_deref(), branch) else { return };
        let is_of_command = self.kept.refs.iter().any(|(name, _)| name == was);
        if was != is && is_of_command && self.kept.head.as_deref() == commit {
            self.said.changes.push(format!("HEAD is on `{}` again", short(was)));
            let [name, new, old] = ["HEAD", was, is].map(str::to_owned);
            self.said.goal.switched = Some(RefMove { name, new, old });
        }
    }

    fn refs(&mut self, branch: Option<&str>) -> Result<(), Failure> {
        let mut stood_on: BTreeSet<String> =
            if self.kept.refs.is_empty() { BTreeSet::new() } else { self.repository.checked_out()? };
        if self.said.goal.switched.is_some() {
            branch.map(|branch| stood_on.remove(branch));
        }
        for (name, wanted) in &self.kept.refs {
            let now = self.repository.value(name);
            if now == *wanted {
                continue;
            }
            let called = short(name);
            let why = if !wanted.is_empty() && !self.repository.has_object(wanted) {
                Some(format!(
                    "`{called}` cannot come back: its commit {} is no longer in the repository",
                    id(wanted)
                ))
            } else if stood_on.contains(name) {
                Some(format!("`{called}` stays: a working tree is on it"))
            } else if !self.force && self.has_new_commits(name, &now, wanted) {
                Some(format!("`{called}` stays: it has new commits that no other branch has"))
            } else {
                None
            };
            if let Some(why) = why {
                self.said.conflicts.push(why);
                continue;
            }
            self.said.changes.push(match (now.as_str(), wanted.as_str()) {
                ("", wanted) => format!("`{called}` comes back at {}", id(wanted)),
                (now, "") => format!("`{called}` at {} goes", id(now)),
                (now, wanted) => format!("`{called}` moves from {} back to {}", id(now), id(wanted)),
            });
            self.settings(name, wanted.is_empty());
            self.said.before.refs.push((name.clone(), now.clone()));
            self.said.goal.refs.push(RefMove { name: name.clone(), new: wanted.clone(), old: now });
        }
        Ok(())
    }

    /// The command did not leave this ref here, and nothing else would preserve its commits.
    fn has_new_commits(&self, name: &str, now: &str, wanted: &str) -> bool {
        let left = |left: LeftRepository| left.refs.iter().any(|(known, id)| known == name && id == now);
        let held = || self.kept.refs.iter().any(|(_, back)| self.repository.is_below(now, back));
        !self.left.is_some_and(left) && self.repository.loses(name, now, wanted) && !held()
    }

    /// A branch's settings are restored and removed together with it.
    fn settings(&mut self, name: &str, goes: bool) {
        let Some(branch) = name.strip_prefix("refs/heads/") else { return };
        let now = self.repository.settings(branch);
        let kept = self.kept.config.iter().filter(|(key, _)| !goes && is_of_branch(key, branch));
        let wanted: Vec<(String, String)> = kept.cloned().collect();
        self.said.before.config.extend_from_slice(&now);
        if now != wanted {
            self.said.goal.config.push((branch.to_owned(), wanted));
        }
    }

    /// Whether `HEAD` is, or will be, where it was.
    fn head(&mut self, commit: Option<&str>, branch: Option<&str>) -> bool {
        if self.kept.index.is_none() {
            return false;
        }
        let was = self.kept.head_ref.as_deref();
        if was != branch && self.said.goal.switched.is_none() {
            let called =
                |name: Option<&str>| name.map_or("no branch".to_owned(), |name| format!("`{}`", short(name)));
            let hint = was.map(|was| format!("; `git switch {}` first brings back both", short(was)));
            let is = called(branch);
            let was = called(was);
            let hint = hint.unwrap_or_default();
            self.said.conflicts.push(format!("the index stays: HEAD is on {is} now and was on {was}{hint}"));
            return false;
        }
        let kept = self.kept.head.as_deref();
        if kept == commit {
            return true;
        }
        let (Some(kept), Some(now)) = (kept, commit) else {
            self.said.conflicts.push("the index stays: there was no commit then, or is none now".to_owned());
            return false;
        };
        let name = branch.unwrap_or("HEAD");
        if !self.repository.has_commit(kept) {
            let words =
                format!("HEAD and the index stay: the commit {} is no longer in the repository", id(kept));
            self.said.conflicts.push(words);
            return false;
        }
        if !self.force && !self.is_of_command(name, kept, now) {
            let words =
                format!("HEAD and the index stay: {} has moved on to {} since", called_head(name), id(now));
            self.said.conflicts.push(words);
            return false;
        }
        self.said.changes.push(format!("{} moves from {} back to {}", called_head(name), id(now), id(kept)));
        let [name, new, old] = [name, kept, now].map(str::to_owned);
        self.said.goal.head = Some(RefMove { name, new, old });
        self.said.tree = Some(kept.to_owned());
        true
    }

    /// The command itself moved `HEAD` here, and returning loses nothing.
    fn is_of_command(&self, name: &str, kept: &str, now: &str) -> bool {
        if let Some(left) = self.left {
            return left.head == Some(now) && left.head != Some(kept);
        }
        // We did not see its end. New commits move `HEAD` forward; a reset moves it back or sideways.
        let repository = self.repository;
        repository.is_below(now, kept)
            || !repository.is_below(kept, now) && !repository.loses(name, now, kept)
    }

    fn index(&mut self, is_back: bool) {
        if self.kept.worktree.is_some() {
            // Its index is among the files; the repository may have lost objects that only that index refers
            // to.
            let lost = self.kept.indexed.iter().filter(|(id, _)| !self.repository.has_object(id));
            self.said.goal.indexed = lost.cloned().collect();
        }
        let Some(wanted) = self.kept.index.filter(|_| is_back) else { return };
        let now = files::read(self.repository.index_file()).map_or(Sum::default(), |bytes| Sum::of(&bytes));
        if now != wanted {
            self.said.changes.push("the index comes back".to_owned());
            self.said.goal.index = Some(wanted);
            self.said.goal.indexed.clone_from(&self.kept.indexed);
        }
    }

    fn stashes(&mut self) -> Result<(), Failure> {
        let Some(kept) = &self.kept.stashes else { return Ok(()) };
        let (there, gone): (Vec<_>, Vec<_>) =
            kept.iter().cloned().partition(|(id, _)| self.repository.has_commit(id));
        if !gone.is_empty() {
            let words = format!("{} cannot come back: no longer in the repository", stashes(gone.len()));
            self.said.conflicts.push(words);
        }
        let now = self.repository.stashes()?;
        let was_left = |id: &String| self.left.is_some_and(|left| left.stashes.contains(id));
        let newer = now.iter().filter(|(id, _)| !there.iter().any(|(known, _)| known == id) && !was_left(id));
        let wanted: Vec<(String, String)> = newer.chain(&there).cloned().collect();
        if wanted != now {
            let more = |all: &[(String, String)], than: &[(String, String)]| {
                all.iter().filter(|(id, _)| !than.iter().any(|(known, _)| known == id)).count()
            };
            self.said.changes.push(match (more(&wanted, &now), more(&now, &wanted)) {
                (0, 0) => "the order of the stashes changes back".to_owned(),
                (0, gone) => format!("back without {}", stashes(gone)),
                (more, _) => format!("back with {}", stashes(more)),
            });
            self.said.before.stashes = Some(now);
            self.said.goal.stashes = Some(wanted);
        }
        Ok(())
    }

    /// Commits that no `git gc` may remove while the present state is kept.
    fn pins(&mut self, commit: Option<String>) {
        let before = &mut self.said.before;
        let moved = self.said.goal.head.is_some() || self.said.goal.index.is_some();
        let stashes = before.stashes.iter().flatten().map(|(id, _)| id.clone());
        let refs = before.refs.iter().map(|(_, id)| id.clone()).filter(|id| !id.is_empty());
        before.pins = commit.filter(|_| moved).into_iter().chain(refs).chain(stashes).collect();
    }
}

fn stashes(n: usize) -> String {
    if n == 1 { "1 stash".to_owned() } else { format!("{n} stashes") }
}

fn called_head(name: &str) -> String {
    if name == "HEAD" { name.to_owned() } else { format!("`{}`", short(name)) }
}
