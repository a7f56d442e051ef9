//! How much the attestations of one commit prove together.
//!
//! A session that did nothing to the commit neither raises nor lowers the result. Among several statements of
//! one session the best counts: a later one only ever adds to an earlier one, so removing one is of no
//! advantage.

use crate::level::{Level, Properties, Property, capped, claimed};
use crate::logged::Trust;
use crate::pool::{Attested, Pool};
use crate::statement::{Author, File};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weight {
    pub level: Level,
    pub properties: Properties,
    /// The statements that count.
    pub counted: Vec<usize>,
}

/// The weight of all changes in a commit is the lowest of their weights.
pub fn weigh(parts: &[Vec<usize>], approved: &[bool], pool: &Pool, trust: &Trust) -> Option<Weight> {
    let each = parts.iter().zip(approved).map(|(part, approved)| weigh_change(part, *approved, pool, trust));
    each.collect::<Option<Vec<_>>>()?.into_iter().reduce(|one, other| Weight {
        level: one.level.min(other.level),
        properties: one.properties.intersection(&other.properties).copied().collect(),
        counted: one.counted.into_iter().chain(other.counted).collect(),
    })
}

/// One statement, with what it proves by itself.
struct Said<'a> {
    at: usize,
    one: &'a Attested,
    may: Level,
    properties: Properties,
}

impl Said<'_> {
    fn files(&self) -> &[File] {
        self.one.facts().and_then(|facts| facts.files.as_deref()).unwrap_or_default()
    }

    /// It wrote part of the change, or lists no files.
    fn takes_part(&self) -> bool {
        let lists = self.one.facts().is_some_and(|facts| facts.files.is_some());
        !lists || self.files().is_empty() || self.files().iter().any(|file| file.by != Author::Outside)
    }

    fn wrote_alone(&self, path: &str) -> bool {
        self.files().iter().any(|file| file.path == path && file.by == Author::Session)
    }

    /// Paths that were not written by calls of its session.
    fn left_to_others(&self) -> BTreeSet<&str> {
        let outside = self.one.facts().into_iter().flat_map(|facts| &facts.outside).map(String::as_str);
        let files =
            self.files().iter().filter(|file| file.by != Author::Session).map(|file| file.path.as_str());
        outside.chain(files).collect()
    }
}

fn weigh_change(part: &[usize], approved: bool, pool: &Pool, trust: &Trust) -> Option<Weight> {
    let mut best: BTreeMap<(usize, &str), Said> = BTreeMap::new();
    for at in part {
        let one = &pool.attested[*at];
        let facts = one.facts()?;
        let may = trust.signers[one.signer].may;
        let mut properties = claimed(facts, may);
        if one.witnessed.is_some() {
            properties.insert(Property::Witnessed);
        }
        let said = Said { at: *at, one, may, properties };
        let session = (one.signer, one.statement.predicate.run_details.metadata.invocation_id.as_str());
        let is_better = |known: &Said| rank(&said) > rank(known);
        if best.get(&session).is_none_or(is_better) {
            best.insert(session, said);
        }
    }
    let all: Vec<Said> = best.into_values().collect();
    let taking: Vec<&Said> = all.iter().filter(|said| said.takes_part()).collect();
    let counted = if taking.is_empty() { all.iter().collect() } else { taking };
    Some(join(&counted, approved))
}

fn rank(said: &Said) -> (usize, std::cmp::Reverse<usize>, u64) {
    let to = said.one.facts().map_or(0, |facts| facts.entries.to);
    (said.properties.len(), std::cmp::Reverse(said.left_to_others().len()), to)
}

fn join(counted: &[&Said], approved: bool) -> Weight {
    let may = counted.iter().map(|said| said.may).min().unwrap_or(Level::Recorded);
    let all = counted.iter().map(|said| said.properties.clone());
    let mut properties = all.reduce(|one, other| &one & &other).unwrap_or_default();
    // If one session calls a path another's, it counts as the other's if that session says the same.
    let is_claimed =
        |path: &str, not: usize| counted.iter().any(|said| said.at != not && said.wrote_alone(path));
    let lists = |said: &&&Said| said.one.facts().is_some_and(|facts| facts.files.is_some());
    let is_whole =
        counted.iter().all(|said| said.left_to_others().iter().all(|path| is_claimed(path, said.at)));
    if is_whole && counted.iter().all(|said| lists(&said)) {
        properties.insert(Property::NoOutside);
    }
    if approved {
        properties.insert(Property::Approved);
    }
    capped(&mut properties, may);
    let level = Level::reached(&properties).min(may);
    Weight { level, properties, counted: counted.iter().map(|said| said.at).collect() }
}
