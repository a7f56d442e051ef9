//! Attested commits that are not here are found again: what a rebase made of one, taken back by git's merge
//! onto what the attested one stood on, is the attested tree.
//!
//! Invariant: nobody's word is taken for a tree. It counts only under its own name, which is attested, and
//! only where the digest of its change is attested too: then it is the commit as it was, and is merged
//! forward like one that is here (`replay`).

use crate::change::Change;
use crate::code::Trouble;
use crate::pool::Pool;
use crate::statement::is_object_id;
use crate::world::{Commit, Merge, World};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Attested commits that are tried for one, in rounds: the likeliest first.
const ROUNDS: [usize; 2] = [1, 7];
const MOST_ORIGINALS: usize = 2000;
/// Attested commits between one and a commit that is here.
const LONGEST_BRANCH: usize = 500;

type Paths<'a> = BTreeSet<&'a [u8]>;

fn paths(change: &Change) -> Paths<'_> {
    change.records.iter().map(|record| &record.path[..]).collect()
}

/// An attested commit, as its statement tells it.
struct Original<'a> {
    /// Its place in the pool.
    at: usize,
    /// The parent's id, and its own tree and digest of the change.
    base: &'a str,
    tree: &'a str,
    digest: &'a str,
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
        let digest = one.statement.change();
        let original = || Original { at, base, tree: &facts.tree, digest, paths: paths(change) };
        if found.len() < MOST_ORIGINALS {
            found.entry(id).or_insert_with(original);
        }
    }
    found
}

/// On how many attested commits it stands, itself counted, and the tree below them, which is here.
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

    /// On how many commits of the range this one stands, itself counted.
    fn depth(&self, at: usize) -> usize {
        std::iter::successors(Some(at), |at| self.above(*at)).take(LONGEST_BRANCH).count()
    }

    /// The tree on which so many of them stand, this one the last.
    fn below(&self, at: usize, many: usize) -> Option<&'a str> {
        let first = std::iter::successors(Some(at), |at| self.above(*at)).nth(many.checked_sub(1)?)?;
        Some(&self.commits[first].parent_tree)
    }
}

/// One commit of the range, taken for this original.
struct Attempt<'a> {
    /// Its place among those that are asked for.
    of: usize,
    commit: &'a Commit,
    original: &'a Original<'a>,
    /// Of the original's parent.
    parent_tree: String,
    /// Merges that must give these trees.
    back: Vec<(Merge, String)>,
}

fn merge(base: &str, ours: &str, theirs: &str) -> Merge {
    Merge { base: Some(base.to_owned()), ours: ours.to_owned(), theirs: theirs.to_owned() }
}

/// For each of these commits of the range the place of a statement whose commit gives it.
pub fn find(
    open: &[usize],
    commits: &[Commit],
    pool: &Pool,
    world: &mut dyn World,
) -> Result<Vec<Option<usize>>, Trouble> {
    let mut found = vec![None; open.len()];
    let all = originals(pool);
    let touched: Vec<Paths> = open.iter().map(|at| paths(&commits[*at].change)).collect();
    let fits = |paths: &Paths, one: &Original| !paths.is_empty() && paths.is_subset(&one.paths);
    if !touched.iter().any(|paths| all.values().any(|one| fits(paths, one))) {
        return Ok(found);
    }
    let bases: BTreeSet<&str> = all.values().map(|one| one.base).collect();
    let bases: Vec<String> = bases.into_iter().map(str::to_owned).collect();
    let trees = world.trees(&bases)?;
    let here: HashMap<String, String> =
        bases.into_iter().zip(trees).filter_map(|(id, tree)| Some((id, tree?))).collect();
    let range = Range::new(commits);
    let mut lists: Vec<Vec<Attempt>> = Vec::new();
    for (of, paths) in touched.iter().enumerate() {
        let likely = all.values().filter(|one| fits(paths, one));
        let branches = likely.filter_map(|one| Some((one, branch(one, &all, &here)?)));
        let mut branches: Vec<(&Original, Branch)> = branches.collect();
        let depth = range.depth(open[of]);
        branches.sort_by_key(|(one, branch)| (one.paths.len() != paths.len(), branch.long.abs_diff(depth)));
        let most = ROUNDS.iter().sum();
        let attempt = |(one, branch)| Attempt::new(of, open[of], &range, (one, branch), &all);
        lists.push(branches.into_iter().take(most).filter_map(attempt).collect());
    }
    for many in ROUNDS {
        let tried = lists.iter_mut().enumerate().filter(|(of, _)| found[*of].is_none());
        let tried = tried.flat_map(|(_, list)| list.drain(..many.min(list.len()))).collect();
        for attempt in holding(tried, world)? {
            found[attempt.of].get_or_insert(attempt.original.at);
        }
    }
    Ok(found)
}

impl<'a> Attempt<'a> {
    fn new(
        of: usize,
        at: usize,
        range: &Range<'a>,
        (original, branch): (&'a Original<'a>, Branch),
        all: &Originals,
    ) -> Option<Self> {
        let commit = &range.commits[at];
        let onto = range.below(at, branch.long)?;
        let mut back = vec![(merge(onto, branch.below, &commit.tree), original.tree.to_owned())];
        let parent_tree = if branch.long == 1 {
            branch.below.to_owned()
        } else {
            let parent = all.get(original.base)?.tree.to_owned();
            back.push((merge(onto, branch.below, &commit.parent_tree), parent.clone()));
            parent
        };
        Some(Self { of, commit, original, parent_tree, back })
    }
}

/// Those whose original comes back whole, and then gives the commit.
fn holding<'a>(tried: Vec<Attempt<'a>>, world: &mut dyn World) -> Result<Vec<Attempt<'a>>, Trouble> {
    // Of a branch the way back of one commit is that of the next one's parent.
    let merges: HashSet<&Merge> = tried.iter().flat_map(|one| &one.back).map(|(merge, _)| merge).collect();
    let merges: Vec<Merge> = merges.into_iter().cloned().collect();
    let trees: HashMap<&Merge, Option<String>> = merges.iter().zip(world.merges(&merges)?).collect();
    let leads_to = |merge: &Merge, wanted: &String| trees.get(merge).and_then(Option::as_ref) == Some(wanted);
    let is_back = |one: &Attempt| one.back.iter().all(|(merge, wanted)| leads_to(merge, wanted));
    let back: Vec<Attempt> = tried.into_iter().filter(is_back).collect();
    let pairs: Vec<(String, String)> =
        back.iter().map(|one| (one.parent_tree.clone(), one.original.tree.to_owned())).collect();
    let same = world.changes(&pairs)?.into_iter().zip(back);
    let back: Vec<Attempt> =
        same.filter(|(change, one)| change.digest() == one.original.digest).map(|(_, one)| one).collect();
    let forward = |one: &Attempt| merge(&one.parent_tree, &one.commit.parent_tree, one.original.tree);
    let merges: Vec<Merge> = back.iter().map(forward).collect();
    let given = world.merges(&merges)?.into_iter().zip(back);
    Ok(given.filter(|(tree, one)| tree.as_ref() == Some(&one.commit.tree)).map(|(_, one)| one).collect())
}
