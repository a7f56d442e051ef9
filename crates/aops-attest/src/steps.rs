//! Finds attested changes that together make one commit: each path goes from old to new only by attested
//! steps, and every attested change is used completely.

use crate::change::{Change, Record};
use crate::statement::Side;
use std::collections::{BTreeMap, HashMap};

/// After this many tries the search is given up: a forger could make any number of changes with many possible
/// combinations.
const MOST_TRIES: usize = 1024;

/// The changes that may be combined, indexed by the state with which they begin.
#[derive(Debug)]
pub struct Steps<'a> {
    changes: &'a [&'a Change],
    from: HashMap<(&'a [u8], &'a Side), Vec<usize>>,
}

#[derive(Clone)]
struct State<'a> {
    /// Each path: its present state, and the state it must reach.
    paths: BTreeMap<&'a [u8], (&'a Side, &'a Side)>,
    /// Steps of chosen changes that do not connect yet.
    pending: Vec<&'a Record>,
    used: Vec<usize>,
}

impl<'a> Steps<'a> {
    pub fn new(changes: &'a [&'a Change]) -> Self {
        let mut from: HashMap<(&[u8], &Side), Vec<usize>> = HashMap::new();
        for (at, change) in changes.iter().enumerate() {
            for record in &change.records {
                from.entry((&record.path, &record.before)).or_default().push(at);
            }
        }
        Self { changes, from }
    }

    /// Which of the changes make this one; `None` if none do.
    pub fn find(&self, wanted: &'a Change) -> Option<Vec<usize>> {
        let paths = wanted.records.iter().map(|record| (&record.path[..], (&record.before, &record.after)));
        let state = State { paths: paths.collect(), pending: Vec::new(), used: Vec::new() };
        if state.paths.is_empty() {
            return None;
        }
        let mut tries = MOST_TRIES;
        self.search(state, &mut tries)
    }

    fn search(&self, mut state: State<'a>, tries: &mut usize) -> Option<Vec<usize>> {
        *tries = tries.checked_sub(1)?;
        state.connect();
        let Some((path, side)) = state.open() else { return Some(state.used) };
        for at in self.from.get(&(path, side))? {
            if state.used.contains(at) {
                continue;
            }
            let mut next = state.clone();
            next.take(*at, self.changes[*at]);
            if let Some(found) = self.search(next, tries) {
                return Some(found);
            }
        }
        None
    }
}

impl<'a> State<'a> {
    fn take(&mut self, at: usize, change: &'a Change) {
        self.used.push(at);
        for record in &change.records {
            // A path that the commit does not change must return to its old state.
            self.paths.entry(&record.path).or_insert((&record.before, &record.before));
            self.pending.push(record);
        }
    }

    /// Takes every step that begins at its path's present state.
    fn connect(&mut self) {
        let is_next = |paths: &BTreeMap<&[u8], (&Side, &Side)>, record: &Record| {
            paths.get(&record.path[..]).is_some_and(|(is, _)| **is == record.before)
        };
        while let Some(at) = self.pending.iter().position(|record| is_next(&self.paths, record)) {
            let record = self.pending.remove(at);
            if let Some(path) = self.paths.get_mut(&record.path[..]) {
                path.0 = &record.after;
            }
        }
    }

    /// A path that has not reached its required state, or whose steps do not connect.
    fn open(&self) -> Option<(&'a [u8], &'a Side)> {
        let away = self.paths.iter().find(|(_, (is, must))| is != must).map(|(path, (is, _))| (*path, *is));
        let loose = || {
            self.pending
                .first()
                .and_then(|record| Some((&record.path[..], self.paths.get(&record.path[..])?.0)))
        };
        away.or_else(loose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a:1>2 b:0>1`: path, state before, state after.
    fn change(text: &str) -> Change {
        let side = |state: &str| Side("100644".to_owned(), state.to_owned());
        let record = |word: &str| {
            let (path, states) = word.split_once(':').unwrap();
            let (before, after) = states.split_once('>').unwrap();
            Record { path: path.as_bytes().to_vec(), before: side(before), after: side(after) }
        };
        Change { records: text.split_whitespace().map(record).collect() }
    }

    fn found(steps: &[&str], wanted: &str) -> Option<Vec<usize>> {
        let changes: Vec<Change> = steps.iter().map(|text| change(text)).collect();
        let changes: Vec<&Change> = changes.iter().collect();
        let wanted: Change = change(wanted);
        let mut used = Steps::new(&changes).find(&wanted)?;
        used.sort_unstable();
        Some(used)
    }

    #[test]
    fn paths_go_by_attested_steps_alone() {
        let steps = ["a:1>2 b:0>1", "a:2>3", "a:3>4 c:1>2", "d:1>2"];
        assert_eq!(found(&steps, "a:1>4 b:0>1 c:1>2"), Some(vec![0, 1, 2]));
        assert_eq!(found(&steps, "a:2>4 c:1>2 d:1>2"), Some(vec![1, 2, 3]));
        assert_eq!(found(&steps, "d:1>2"), Some(vec![3]));
        // A partly used step, a missing one, one that nobody attested.
        for wrong in
            ["a:1>4 c:1>2", "a:1>2", "a:1>3", "a:1>4 b:0>1", "a:1>5 b:0>1", "a:1>4 b:0>1 c:1>2 e:0>1", ""]
        {
            assert_eq!(found(&steps, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_undone_again_leaves_no_trace() {
        let steps = ["a:1>2 t:0>1", "t:1>0", "a:2>3"];
        assert_eq!(found(&steps, "a:1>2"), Some(vec![0, 1]));
        assert_eq!(found(&steps, "a:1>3"), Some(vec![0, 1, 2]));
        assert_eq!(found(&steps[..1], "a:1>2"), None, "the other file would be left out");
        // There are two ways; the first is a dead end.
        assert_eq!(found(&["a:1>2 x:0>1", "a:1>2", "a:2>3"], "a:1>3"), Some(vec![1, 2]));
    }

    #[test]
    fn a_search_without_end_is_given_up() {
        let many: Vec<String> =
            (0..60).flat_map(|n| ["x", "y"].map(|b| format!("a:{n}>{} {b}{n}:0>1", n + 1))).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(found(&many, "a:0>60"), None);
    }
}
