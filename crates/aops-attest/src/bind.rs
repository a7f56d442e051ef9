//! Which attestations a commit has. They are found by content: notes get lost and copied, the content does
//! not.
//!
//! Invariant: the first matching binding is taken, in the order of `Binding`.

use crate::change::Change;
use crate::code::Trouble;
use crate::pool::{Attested, Pool};
use crate::replay;
use crate::restore;
use crate::steps::Steps;
use crate::world::{Commit, Merge, World};
use std::collections::{BTreeMap, BTreeSet};

/// Of more statements only those are tried whose paths are in the range.
const MOST_READ: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// The statement names this commit.
    Commit,
    /// The change has the same records: path, both modes, both blobs.
    Change,
    /// Attested changes together give this one.
    Steps,
    /// Attested commits that git merges to this tree: they are here, or can be restored.
    Replay,
    /// A merge that adds nothing.
    Merge,
}

impl Binding {
    pub fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Change => "change",
            Self::Steps => "steps",
            Self::Replay => "replay",
            Self::Merge => "merge",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    pub binding: Binding,
    /// For each attested change contained in it: the statements about that change.
    pub parts: Vec<Vec<usize>>,
}

fn places(pool: &Pool, is: impl Fn(&Attested) -> bool) -> Vec<usize> {
    pool.attested.iter().enumerate().filter(|(_, one)| is(one)).map(|(at, _)| at).collect()
}

/// The statement names this very commit, and describes it as git does.
fn is_about(one: &Attested, commit: &Commit) -> bool {
    let is_same = one.statement.commit() == commit.id && one.statement.change() == commit.digest;
    is_same && one.facts().is_some_and(|facts| facts.tree == commit.tree)
}

fn speaks_of_the_same(one: &Attested, other: &Attested) -> bool {
    let tree = |of: &Attested| of.facts().map(|facts| facts.tree.clone());
    let is_same_commit = one.statement.commit() == other.statement.commit();
    is_same_commit && one.statement.change() == other.statement.change() && tree(one) == tree(other)
}

/// The bindings of these commits, in their order.
pub fn bind(commits: &[Commit], pool: &Pool, world: &mut dyn World) -> Result<Vec<Option<Bound>>, Trouble> {
    let mut bound: Vec<Option<Bound>> = commits.iter().map(|commit| by_itself(commit, pool)).collect();
    by_merge(commits, &mut bound, world)?;
    by_steps(commits, pool, &mut bound);
    by_replay(commits, pool, &mut bound, world)?;
    by_restoring(commits, pool, &mut bound, world)?;
    Ok(bound)
}

fn by_itself(commit: &Commit, pool: &Pool) -> Option<Bound> {
    let bound = |binding, part: Vec<usize>| (!part.is_empty()).then(|| Bound { binding, parts: vec![part] });
    let same = || bound(Binding::Commit, places(pool, |one| is_about(one, commit)));
    // Another merge with the same change against its first parent could revert its second one.
    let change = || {
        let is_same = |one: &Attested| one.statement.change() == commit.digest;
        bound(Binding::Change, places(pool, is_same).into_iter().filter(|_| !commit.is_merge()).collect())
    };
    same().or_else(change)
}

fn by_merge(commits: &[Commit], bound: &mut [Option<Bound>], world: &mut dyn World) -> Result<(), Trouble> {
    let open: Vec<usize> =
        (0..commits.len()).filter(|at| bound[*at].is_none() && commits[*at].parents.len() == 2).collect();
    if open.is_empty() {
        return Ok(());
    }
    let merge = |at: &usize| {
        let [ours, theirs] = &commits[*at].parents[..] else { unreachable!("it has two parents") };
        Merge { base: None, ours: ours.clone(), theirs: theirs.clone() }
    };
    let merges: Vec<Merge> = open.iter().map(merge).collect();
    for (at, tree) in open.into_iter().zip(world.merges(&merges)?) {
        if tree.as_ref() == Some(&commits[at].tree) {
            bound[at] = Some(Bound { binding: Binding::Merge, parts: Vec::new() });
        }
    }
    Ok(())
}

/// Commits that nothing binds yet, without merges.
fn open(commits: &[Commit], bound: &[Option<Bound>]) -> Vec<usize> {
    (0..commits.len()).filter(|at| bound[*at].is_none() && !commits[*at].is_merge()).collect()
}

fn by_steps(commits: &[Commit], pool: &Pool, bound: &mut [Option<Bound>]) {
    let open = open(commits, bound);
    if open.is_empty() {
        return;
    }
    let mut changes: BTreeMap<&str, &Change> = BTreeMap::new();
    for one in &pool.attested {
        if let Some(change) = &one.change {
            changes.insert(one.statement.change(), change);
        }
    }
    let (digests, changes): (Vec<&str>, Vec<&Change>) = changes.into_iter().unzip();
    let steps = Steps::new(&changes);
    for at in open {
        let Some(used) = steps.find(&commits[at].change) else { continue };
        let part = |used: &usize| places(pool, |one| one.statement.change() == digests[*used]);
        bound[at] = Some(Bound { binding: Binding::Steps, parts: used.iter().map(part).collect() });
    }
}

fn by_replay(
    commits: &[Commit],
    pool: &Pool,
    bound: &mut [Option<Bound>],
    world: &mut dyn World,
) -> Result<(), Trouble> {
    let open = open(commits, bound);
    let wanted: Vec<&Commit> = open.iter().map(|at| &commits[*at]).collect();
    let touched: BTreeSet<&[u8]> =
        wanted.iter().flat_map(|commit| &commit.change.records).map(|record| &record.path[..]).collect();
    let is_near = |one: &Attested| {
        let listed = one.change.as_ref().map(|change| &change.records[..]);
        listed.is_none_or(|records| records.iter().any(|record| touched.contains(&record.path[..])))
    };
    // Where the base renamed a file, a commit has other paths than its original.
    let is_small = pool.attested.len() <= MOST_READ;
    let may_count = |one: &&Attested| is_small || is_near(one);
    let ids: BTreeSet<&str> =
        pool.attested.iter().filter(may_count).map(|one| one.statement.commit()).collect();
    if touched.is_empty() || ids.is_empty() {
        return Ok(());
    }
    let ids: Vec<String> = ids.into_iter().map(str::to_owned).collect();
    let here = world.commits(&ids)?.into_iter().flatten().filter(|commit| commit.parents.len() < 2);
    let originals: Vec<Commit> =
        here.filter(|commit| pool.attested.iter().any(|one| is_about(one, commit))).collect();
    let inside: BTreeSet<&str> = commits.iter().map(|commit| commit.id.as_str()).collect();
    let outside: BTreeSet<&String> = commits
        .iter()
        .flat_map(|commit| &commit.parents)
        .filter(|id| !inside.contains(id.as_str()))
        .collect();
    let outside: Vec<String> = outside.into_iter().cloned().collect();
    for (at, used) in open.iter().zip(replay::find(&wanted, &originals, &outside, world)?) {
        let Some(used) = used else { continue };
        let part =
            |id: &String| places(pool, |one| originals.iter().any(|o| o.id == *id && is_about(one, o)));
        bound[*at] = Some(Bound { binding: Binding::Replay, parts: used.iter().map(part).collect() });
    }
    Ok(())
}

/// The same, where the attested commits are not here.
fn by_restoring(
    commits: &[Commit],
    pool: &Pool,
    bound: &mut [Option<Bound>],
    world: &mut dyn World,
) -> Result<(), Trouble> {
    let open = open(commits, bound);
    for (at, used) in open.iter().zip(restore::find(&open, commits, pool, world)?) {
        let Some(used) = used else { continue };
        let part = |used: &usize| places(pool, |one| speaks_of_the_same(one, &pool.attested[*used]));
        bound[*at] = Some(Bound { binding: Binding::Replay, parts: used.iter().map(part).collect() });
    }
    Ok(())
}
