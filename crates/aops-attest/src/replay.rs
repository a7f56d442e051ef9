//! Finds attested commits that, merged by git onto a commit's parent, give exactly its tree: one by one, or
//! those that follow each other at once.
//!
//! Asks in rounds: all merges of a round at once. Invariant: whole trees are compared.

use crate::code::Trouble;
use crate::world::{Commit, Merge, World};
use std::collections::{BTreeSet, HashMap, HashSet};

/// How many single commits are tried for one, in rounds: the likeliest first.
const ROUNDS: [usize; 3] = [1, 7, 24];
/// How many branches are tried for one squashed commit.
const MOST_TIPS: usize = 8;
const MOST_ORIGINALS: usize = 2000;
/// Longer branches are only replayed from their beginning.
const LONGEST_LINE: usize = 24;
/// How many runs are tried for one squashed commit.
const MOST_RUNS: usize = 32;
/// How many originals are chosen for one commit, and how many choices are tried in a round.
const MOST_CHOSEN: usize = 4;
const MOST_CHOICES: usize = 200;

type Paths<'a> = BTreeSet<&'a [u8]>;

fn paths(commit: &Commit) -> Paths<'_> {
    commit.change.records.iter().map(|record| &record.path[..]).collect()
}

fn step(base: &Commit, onto: &str) -> Merge {
    Merge { base: Some(base.parent_tree.clone()), ours: onto.to_owned(), theirs: base.tree.clone() }
}

/// For each of these commits the originals (by ID) that give it; `None` if there are none.
pub fn find(
    wanted: &[&Commit],
    originals: &[Commit],
    outside: &[String],
    world: &mut dyn World,
) -> Result<Vec<Option<Vec<String>>>, Trouble> {
    let originals = &originals[..originals.len().min(MOST_ORIGINALS)];
    let mut found: Vec<Option<Vec<String>>> = vec![None; wanted.len()];
    find_single(wanted, originals, &mut found, world)?;
    if found.iter().any(Option::is_none) && originals.len() > 1 {
        find_squashed(wanted, originals, outside, &mut found, world)?;
    }
    Ok(found)
}

fn find_single(
    wanted: &[&Commit],
    originals: &[Commit],
    found: &mut [Option<Vec<String>>],
    world: &mut dyn World,
) -> Result<(), Trouble> {
    let lists: Vec<Vec<&Commit>> = wanted.iter().map(|commit| likely(commit, originals)).collect();
    let mut from = 0;
    for many in ROUNDS {
        let mut merges = Vec::new();
        let mut of = Vec::new();
        for (at, commit) in wanted.iter().enumerate().filter(|(at, _)| found[*at].is_none()) {
            for original in lists[at].iter().skip(from).take(many) {
                merges.push(step(original, &commit.parent_tree));
                of.push((at, *original));
            }
        }
        if merges.is_empty() {
            break;
        }
        for ((at, original), tree) in of.into_iter().zip(world.merges(&merges)?) {
            if found[at].is_none() && tree.as_ref() == Some(&wanted[at].tree) {
                found[at] = Some(vec![original.id.clone()]);
            }
        }
        from += many;
    }
    Ok(())
}

/// Originals that touch at least the same paths, or others if the base renamed a file: those have the same
/// author, time and message. They come first, then the smaller ones.
fn likely<'a>(commit: &Commit, originals: &'a [Commit]) -> Vec<&'a Commit> {
    let its = paths(commit);
    let fits = |one: &&Commit| !its.is_empty() && (one.origin == commit.origin || its.is_subset(&paths(one)));
    let mut list: Vec<&Commit> = originals.iter().filter(fits).collect();
    list.sort_by_key(|one| (one.origin != commit.origin, one.change.records.len()));
    list
}

/// A branch that may have been squashed: its originals in order, and all of their paths.
struct Branch<'a> {
    steps: Vec<&'a Commit>,
    paths: Paths<'a>,
}

/// Originals that are being replayed onto a commit's parent.
#[derive(Clone)]
struct Attempt<'a> {
    of: usize,
    steps: Vec<&'a Commit>,
    next: usize,
    tree: String,
    used: Vec<String>,
}

impl<'a> Attempt<'a> {
    fn new(of: usize, commit: &Commit, steps: Vec<&'a Commit>) -> Self {
        Self { of, steps, next: 0, tree: commit.parent_tree.clone(), used: Vec::new() }
    }
}

fn find_squashed(
    wanted: &[&Commit],
    originals: &[Commit],
    outside: &[String],
    found: &mut [Option<Vec<String>>],
    world: &mut dyn World,
) -> Result<(), Trouble> {
    let ids: Vec<String> = originals.iter().map(|one| one.id.clone()).collect();
    let branches = branches(&world.history(&ids, outside)?, originals);
    let mut open: Vec<Attempt> = Vec::new();
    for (of, commit) in wanted.iter().enumerate().filter(|(at, _)| found[*at].is_none()) {
        let branches = fitting(commit, &branches).into_iter();
        open.extend(branches.map(|branch| Attempt::new(of, commit, branch.steps.clone())));
    }
    while !open.is_empty() {
        open = advance(open, wanted, found, world)?;
    }
    find_runs(wanted, &branches, found, world)?;
    find_chosen(wanted, &branches, found, world)
}

/// The branches that touch all paths of a commit, the smallest first.
fn fitting<'b, 'a>(commit: &Commit, branches: &'b [Branch<'a>]) -> Vec<&'b Branch<'a>> {
    let its = paths(commit);
    let is_fit = |branch: &&Branch| !its.is_empty() && its.is_subset(&branch.paths);
    let mut fits: Vec<&Branch> = branches.iter().filter(is_fit).collect();
    fits.sort_by_key(|branch| branch.paths.len());
    fits.truncate(MOST_TIPS);
    fits
}

/// Merges the next step of each attempt. Returns the unfinished ones: they have more steps, and their commit
/// is not found yet.
fn advance<'a>(
    open: Vec<Attempt<'a>>,
    wanted: &[&Commit],
    found: &mut [Option<Vec<String>>],
    world: &mut dyn World,
) -> Result<Vec<Attempt<'a>>, Trouble> {
    let merges: Vec<Merge> = open.iter().map(|one| step(one.steps[one.next], &one.tree)).collect();
    let trees = world.merges(&merges)?;
    let mut open: Vec<Attempt> =
        open.into_iter().zip(trees).filter_map(|(attempt, tree)| attempt.go_on(tree)).collect();
    // Only the beginning of a branch may have been squashed.
    for there in open.iter().filter(|one| one.tree == wanted[one.of].tree && !one.used.is_empty()) {
        found[there.of].get_or_insert_with(|| there.used.clone());
    }
    open.retain(|one| one.next < one.steps.len() && found[one.of].is_none());
    Ok(open)
}

impl Attempt<'_> {
    fn skip_to(&self, next: usize) -> Self {
        Self { next, ..self.clone() }
    }

    /// Continues after one step. A step that changed nothing is already in the parent, and adds nothing.
    fn go_on(mut self, tree: Option<String>) -> Option<Self> {
        let tree = tree?;
        if tree != self.tree {
            self.used.push(self.steps[self.next].id.clone());
        }
        self.tree = tree;
        self.next += 1;
        Some(self)
    }
}

/// Originals that follow each other, merged as one change: one by one they may conflict on the new parent,
/// but not together, since a later one can remove the cause of the conflict.
fn find_runs(
    wanted: &[&Commit],
    branches: &[Branch],
    found: &mut [Option<Vec<String>>],
    world: &mut dyn World,
) -> Result<(), Trouble> {
    let mut merges = Vec::new();
    let mut of = Vec::new();
    for (at, commit) in wanted.iter().enumerate().filter(|(at, _)| found[*at].is_none()) {
        let its = paths(commit);
        let mut runs: Vec<(usize, &[&Commit])> = Vec::new();
        for branch in fitting(commit, branches) {
            let lines = branch.steps.chunk_by(|one, next| next.parents == [one.id.clone()]);
            for line in lines.filter(|line| line.len() <= LONGEST_LINE) {
                let parts =
                    (0..line.len()).flat_map(|from| (from + 2..=line.len()).map(move |to| (from, to)));
                for run in parts.map(|(from, to)| &line[from..to]) {
                    let all: Paths = run.iter().flat_map(|one| paths(one)).collect();
                    runs.extend(its.is_subset(&all).then_some((all.len(), run)));
                }
            }
        }
        runs.sort_by_key(|(paths, run)| (*paths, std::cmp::Reverse(run.len())));
        for (_, run) in runs.into_iter().take(MOST_RUNS) {
            merges
                .push(Merge { theirs: run[run.len() - 1].tree.clone(), ..step(run[0], &commit.parent_tree) });
            of.push((at, run));
        }
    }
    for ((at, run), tree) in of.into_iter().zip(world.merges(&merges)?) {
        if found[at].is_none() && tree.as_ref() == Some(&wanted[at].tree) {
            found[at] = Some(run.iter().map(|one| one.id.clone()).collect());
        }
    }
    Ok(())
}

/// A few originals of a branch without those between them, as `git rebase --autosquash` takes them.
fn find_chosen(
    wanted: &[&Commit],
    branches: &[Branch],
    found: &mut [Option<Vec<String>>],
    world: &mut dyn World,
) -> Result<(), Trouble> {
    let mut open: Vec<Attempt> = Vec::new();
    for (of, commit) in wanted.iter().enumerate().filter(|(at, _)| found[*at].is_none()) {
        let its = paths(commit);
        for branch in fitting(commit, branches) {
            let steps: Vec<&Commit> =
                branch.steps.iter().copied().filter(|one| paths(one).is_subset(&its)).collect();
            open.extend(
                (1 < steps.len() && steps.len() <= LONGEST_LINE).then(|| Attempt::new(of, commit, steps)),
            );
        }
    }
    for _ in 0..MOST_CHOSEN {
        let each = open.iter().flat_map(|one| (one.next..one.steps.len()).map(|next| one.skip_to(next)));
        let tried: Vec<Attempt> = each.take(MOST_CHOICES).collect();
        open = advance(tried, wanted, found, world)?;
    }
    Ok(())
}

/// The branches of several originals that are not the beginning of another branch.
fn branches<'a>(history: &[(String, Vec<String>)], originals: &'a [Commit]) -> Vec<Branch<'a>> {
    let known: HashMap<&str, &Commit> = originals.iter().map(|one| (one.id.as_str(), one)).collect();
    let parents: HashMap<&str, &[String]> =
        history.iter().map(|(id, above)| (id.as_str(), &above[..])).collect();
    let mut found = Vec::new();
    let mut inner = HashSet::new();
    // The last first: its predecessors do not form a branch of their own.
    for tip in history.iter().rev().filter_map(|(id, _)| known.get(id.as_str())) {
        if inner.contains(tip.id.as_str()) {
            continue;
        }
        let mut seen = HashSet::new();
        let mut open = vec![tip.id.as_str()];
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                open.extend(parents.get(id).into_iter().flat_map(|above| above.iter().map(String::as_str)));
            }
        }
        let line = history.iter().filter(|(id, _)| seen.contains(id.as_str()));
        let steps: Vec<&Commit> = line.filter_map(|(id, _)| known.get(id.as_str()).copied()).collect();
        let all = steps.iter().flat_map(|one| paths(one)).collect();
        inner.extend(steps.iter().map(|one| one.id.as_str()));
        if steps.len() > 1 {
            found.push(Branch { steps, paths: all });
        }
    }
    found
}
