//! Finds attested commits that are not here again: git merges what a rebase or a squash made of them back
//! onto their old parent, and the result must be the attested tree.
//!
//! Invariant: nobody's word is taken for a tree. A tree counts only if its own name is attested, and the
//! change that leads to it too: then it is the original commit, and is merged forward like one that is here
//! (`replay`).

use crate::change::{Change, Record};
use crate::code::Trouble;
use crate::pool::Pool;
use crate::statement::{Side, is_object_id};
use crate::world::{Commit, Merge, World};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// How many are tried for one commit, in rounds, the likeliest first: attested commits, then runs of them.
const ROUNDS: [usize; 3] = [1, SINGLE - 1, RUNS];
const SINGLE: usize = 8;
const RUNS: usize = 8;
const MOST_ORIGINALS: usize = 2000;
/// How many attested commits may lie between one and a commit that is here.
const LONGEST_BRANCH: usize = 500;

type Paths<'a> = BTreeSet<&'a [u8]>;

fn paths(change: &Change) -> Paths<'_> {
    change.records.iter().map(|record| &record.path[..]).collect()
}

/// An attested commit, as its statement tells it.
struct Original<'a> {
    /// Its place in the pool.
    at: usize,
    /// The parent's id, and its own tree.
    base: &'a str,
    tree: &'a str,
    change: &'a Change,
    paths: Paths<'a>,
}

/// By id.
type Originals<'a> = BTreeMap<&'a str, Original<'a>>;

fn originals(pool: &Pool) -> Originals<'_> {
    let mut found = Originals::new();
    for (at, one) in pool.attested.iter().enumerate() {
        let target = &one.statement.predicate.build_definition.external_parameters.target;
        let id = one.statement.commit();
        let base = target.base_commit.as_deref().filter(|base| is_object_id(base) && base.len() == id.len());
        let (Some(base), Some(facts), Some(change)) = (base, one.facts(), &one.change) else { continue };
        let original = || Original { at, base, tree: &facts.tree, change, paths: paths(change) };
        if found.len() < MOST_ORIGINALS {
            found.entry(id).or_insert_with(original);
        }
    }
    found
}

/// The number of attested commits up to and including it, and the tree below them, which is here.
struct Branch<'a> {
    long: usize,
    below: &'a str,
}

fn branch<'a>(of: &Original, all: &Originals, here: &'a HashMap<String, String>) -> Option<Branch<'a>> {
    let mut base = of.base;
    for long in 1..=LONGEST_BRANCH {
        if let Some(below) = here.get(base) {
            return Some(Branch { long, below });
        }
        base = all.get(base)?.base;
    }
    None
}

/// The `long` attested commits that end with this one, oldest first; `None` if there are fewer.
fn run_to<'a>(last: &'a Original<'a>, long: usize, all: &'a Originals<'a>) -> Option<Vec<&'a Original<'a>>> {
    let above = |one: &&'a Original<'a>| all.get(one.base);
    let mut run: Vec<&Original> = std::iter::successors(Some(last), above).take(long).collect();
    run.reverse();
    (run.len() == long).then_some(run)
}

/// What the changes of a run do together; `None` if one does not begin where the one before it ends.
fn together(run: &[&Original]) -> Option<Vec<Record>> {
    let mut sides: BTreeMap<&[u8], (&Side, &Side)> = BTreeMap::new();
    for record in run.iter().flat_map(|one| &one.change.records) {
        let known = sides.entry(&record.path).or_insert((&record.before, &record.before));
        if *known.1 != record.before {
            return None;
        }
        known.1 = &record.after;
    }
    let changed = sides.into_iter().filter(|(_, (before, after))| before != after);
    let record = |(path, (before, after)): (&[u8], (&Side, &Side))| Record {
        path: path.to_vec(),
        before: before.clone(),
        after: after.clone(),
    };
    Some(changed.map(record).collect())
}

/// The commits of the range, by first parents.
struct Range<'a> {
    commits: &'a [Commit],
    places: HashMap<&'a str, usize>,
}

impl<'a> Range<'a> {
    fn new(commits: &'a [Commit]) -> Self {
        let places = commits.iter().enumerate().map(|(at, commit)| (commit.id.as_str(), at)).collect();
        Self { commits, places }
    }

    fn above(&self, at: usize) -> Option<usize> {
        self.places.get(self.commits[at].parents.first()?.as_str()).copied()
    }

    /// The number of commits of the range up to and including this one.
    fn depth(&self, at: usize) -> usize {
        std::iter::successors(Some(at), |at| self.above(*at)).take(LONGEST_BRANCH).count()
    }

    /// The tree below so many of them, of which this one is the last.
    fn below(&self, at: usize, many: usize) -> Option<&'a str> {
        let first = std::iter::successors(Some(at), |at| self.above(*at)).nth(many.checked_sub(1)?)?;
        Some(&self.commits[first].parent_tree)
    }
}

/// One commit of the range, taken for these originals.
struct Attempt<'a> {
    /// Its place among those that are asked for.
    of: usize,
    commit: &'a Commit,
    /// One after the other, the oldest first.
    run: Vec<&'a Original<'a>>,
    /// Of the parent of the first.
    parent_tree: String,
    /// Merges that must give these trees.
    back: Vec<(Merge, String)>,
}

fn merge(base: &str, ours: &str, theirs: &str) -> Merge {
    Merge { base: Some(base.to_owned()), ours: ours.to_owned(), theirs: theirs.to_owned() }
}

/// For each of these commits of the range the places of statements whose commits give it.
pub fn find(
    open: &[usize],
    commits: &[Commit],
    pool: &Pool,
    world: &mut dyn World,
) -> Result<Vec<Option<Vec<usize>>>, Trouble> {
    let mut found = vec![None; open.len()];
    let all = originals(pool);
    let touched: Vec<Paths> = open.iter().map(|at| paths(&commits[*at].change)).collect();
    if touched.iter().all(BTreeSet::is_empty) || all.is_empty() {
        return Ok(found);
    }
    let bases: BTreeSet<&str> = all.values().map(|one| one.base).collect();
    let bases: Vec<String> = bases.into_iter().map(str::to_owned).collect();
    let trees = world.trees(&bases)?;
    let here: HashMap<String, String> =
        bases.into_iter().zip(trees).filter_map(|(id, tree)| Some((id, tree?))).collect();
    let branches: Vec<(&Original, Branch)> =
        all.values().filter_map(|one| Some((one, branch(one, &all, &here)?))).collect();
    let range = Range::new(commits);
    let mut lists: Vec<Vec<Attempt>> = Vec::new();
    for (of, paths) in touched.iter().enumerate() {
        let about = About { of, at: open[of], paths, range: &range };
        lists.push(about.single(&branches, &all).into_iter().chain(about.runs(&branches, &all)).collect());
    }
    for many in ROUNDS {
        let tried = lists.iter_mut().enumerate().filter(|(of, _)| found[*of].is_none());
        let tried = tried.flat_map(|(_, list)| list.drain(..many.min(list.len()))).collect();
        for attempt in holding(tried, world)? {
            found[attempt.of].get_or_insert_with(|| attempt.run.iter().map(|one| one.at).collect());
        }
    }
    Ok(found)
}

/// A commit of the range for which originals are looked for.
struct About<'a> {
    of: usize,
    at: usize,
    paths: &'a Paths<'a>,
    range: &'a Range<'a>,
}

impl<'a> About<'a> {
    fn fits(&self, paths: &Paths) -> bool {
        !self.paths.is_empty() && self.paths.is_subset(paths)
    }

    /// One original, with its branch as it was rebased.
    fn single(&self, branches: &[(&'a Original<'a>, Branch)], all: &Originals) -> Vec<Attempt<'a>> {
        let depth = self.range.depth(self.at);
        // Where the base renamed a file, the commit has other paths, but its place in the branch.
        let fits = |one: &Original, branch: &Branch| {
            self.fits(&one.paths) || !self.paths.is_empty() && branch.long == depth
        };
        let mut likely: Vec<&(&Original, Branch)> =
            branches.iter().filter(|(one, branch)| fits(one, branch)).collect();
        likely.sort_by_key(|(one, branch)| {
            let is_same = one.paths.len() == self.paths.len();
            (!self.fits(&one.paths), !is_same, branch.long.abs_diff(depth))
        });
        let attempt = |(one, branch): &&(&'a Original<'a>, Branch)| {
            let parent = if branch.long > 1 { Some(all.get(one.base)?.tree) } else { None };
            self.attempt(vec![*one], branch, parent)
        };
        likely.iter().take(SINGLE).filter_map(attempt).collect()
    }

    /// A branch or its beginning, squashed to this one commit.
    fn runs(&self, branches: &[(&'a Original<'a>, Branch)], all: &'a Originals<'a>) -> Vec<Attempt<'a>> {
        let mut runs: Vec<(usize, Vec<&Original>, &Branch)> = Vec::new();
        for (last, branch) in branches.iter().filter(|(_, branch)| branch.long > 1) {
            let Some(run) = run_to(last, branch.long, all) else { continue };
            let paths: Paths = run.iter().flat_map(|one| &one.paths).copied().collect();
            runs.extend(self.fits(&paths).then_some((paths.len(), run, branch)));
        }
        runs.sort_by_key(|(paths, run, _)| (*paths, std::cmp::Reverse(run.len())));
        let attempt = |(_, run, branch): (usize, Vec<&'a Original<'a>>, &Branch)| {
            self.attempt(run, &Branch { long: 1, below: branch.below }, None)
        };
        runs.into_iter().take(RUNS).filter_map(attempt).collect()
    }

    /// `parent`: the attested tree of the first one's parent, if that is not here.
    fn attempt(
        &self,
        run: Vec<&'a Original<'a>>,
        branch: &Branch,
        parent: Option<&str>,
    ) -> Option<Attempt<'a>> {
        let commit = &self.range.commits[self.at];
        let onto = self.range.below(self.at, branch.long)?;
        let mut back = vec![(merge(onto, branch.below, &commit.tree), run.last()?.tree.to_owned())];
        back.extend(parent.map(|tree| (merge(onto, branch.below, &commit.parent_tree), tree.to_owned())));
        let parent_tree = parent.unwrap_or(branch.below).to_owned();
        Some(Attempt { of: self.of, commit, run, parent_tree, back })
    }
}

/// Those whose originals come back whole, and then give the commit.
fn holding<'a>(tried: Vec<Attempt<'a>>, world: &mut dyn World) -> Result<Vec<Attempt<'a>>, Trouble> {
    // Of a branch the way back of one commit is that of the next one's parent.
    let merges: HashSet<&Merge> = tried.iter().flat_map(|one| &one.back).map(|(merge, _)| merge).collect();
    let merges: Vec<Merge> = merges.into_iter().cloned().collect();
    let trees: HashMap<&Merge, Option<String>> = merges.iter().zip(world.merges(&merges)?).collect();
    let leads_to = |merge: &Merge, wanted: &String| trees.get(merge).and_then(Option::as_ref) == Some(wanted);
    let is_back = |one: &Attempt| one.back.iter().all(|(merge, wanted)| leads_to(merge, wanted));
    let back: Vec<Attempt> = tried.into_iter().filter(is_back).collect();
    let last = |one: &Attempt| one.run.last().map_or_else(String::new, |last| last.tree.to_owned());
    let pairs: Vec<(String, String)> = back.iter().map(|one| (one.parent_tree.clone(), last(one))).collect();
    let is_attested = |mut change: Change, one: &Attempt| {
        change.records.sort();
        together(&one.run).is_some_and(|records| records == change.records)
    };
    let same = world.changes(&pairs)?.into_iter().zip(back);
    let back: Vec<Attempt> =
        same.filter_map(|(change, one)| is_attested(change, &one).then_some(one)).collect();
    let forward = |one: &Attempt| merge(&one.parent_tree, &one.commit.parent_tree, &last(one));
    let merges: Vec<Merge> = back.iter().map(forward).collect();
    let given = world.merges(&merges)?.into_iter().zip(back);
    Ok(given.filter(|(tree, one)| tree.as_ref() == Some(&one.commit.tree)).map(|(_, one)| one).collect())
}
