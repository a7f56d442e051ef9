//! The log's own entries, and the position of an entry in the log.

use super::{Examined, short};
use crate::ledger::entry::Line;
use crate::proof::append::{EVENTS, LOG, named};
use crate::proof::record::Record;
use crate::proof::store::Store;
use crate::proof::unheld::{HeldFrom, UNHELD};
use crate::text::plain::count;
use crate::text::sha256::{NO_DIGEST, Sum};
use serde_json::Value;
use std::collections::BTreeSet;

/// How many leaves are compared before all are indexed.
const SOON: u64 = 16;

impl Examined {
    /// The leaf of this digest.
    pub fn place(&self, digest: &Sum) -> Option<u64> {
        let index = || self.leaves.iter().zip(0..).map(|(leaf, at)| (short(leaf), at)).collect();
        let at = *self.places.get_or_init(index).get(&short(digest))?;
        self.has(at, digest).then_some(at)
    }

    /// The leaves of these digests. A session's entries usually follow each other, so each is first searched
    /// for shortly after the previous one.
    pub fn places(&self, digests: &[Sum]) -> Vec<Option<u64>> {
        let mut next = 0;
        let mut find = |digest: &Sum| {
            let soon = (next..next + SOON).find(|at| self.has(*at, digest));
            let at = soon.or_else(|| self.place(digest))?;
            next = at + 1;
            Some(at)
        };
        digests.iter().map(&mut find).collect()
    }

    fn has(&self, at: u64, digest: &Sum) -> bool {
        usize::try_from(at).ok().and_then(|at| self.leaves.get(at)) == Some(digest)
    }

    /// The leaf of an interrupted rotation: its line is stored with the new keys.
    pub(super) fn explain_announced(&mut self, line: Option<&str>) {
        let read = line.and_then(|line| Line::read(line.trim_end().as_bytes()));
        let place = read.and_then(|line| self.place(&Sum::read(line.digest)?));
        self.explained.extend(place.map(|at| (at, 1)));
    }

    /// Checks the log's own entries: a chain, each of them in the log, and as many as the log has.
    pub(super) fn read_events(&mut self, store: &Store) {
        let text = self.unless_odd(store.text(EVENTS)).unwrap_or_default();
        let mut prev = NO_DIGEST.to_owned();
        let mut seq = 0;
        let mut own = BTreeSet::new();
        for line in text.strip_suffix('\n').unwrap_or(&text).split('\n').filter(|_| !text.is_empty()) {
            let read = Line::read(line.as_bytes())
                .filter(|line| line.is_sound() && line.prev == prev && line.seq == seq + 1);
            let placed = read.and_then(|line| Some((line, self.place(&Sum::read(line.digest)?)?)));
            let Some((line, place)) = placed else {
                return self
                    .faults
                    .push(format!("entry {} of the log's own is not what was signed", seq + 1));
            };
            if matches!(line.kind, "removed" | "aside" | "key") && place < self.signed {
                let with: Value = serde_json::from_str(line.with).unwrap_or_default();
                let spans: Vec<(u64, u64)> =
                    serde_json::from_value(with["spans"].clone()).unwrap_or_default();
                self.explained.extend(spans);
                let instead: Vec<String> =
                    serde_json::from_value(with["instead"].clone()).unwrap_or_default();
                self.instead.extend(instead);
                self.named = named(&with).filter(|_| line.kind == "key").or(self.named.take());
            }
            match line.kind {
                UNHELD => {
                    let with: Value = serde_json::from_str(line.with).unwrap_or_default();
                    let session = with["session"].as_str().map(str::to_owned);
                    self.held = HeldFrom { leaf: u64::MAX, session };
                }
                // Keys that such a command may have read no longer prove anything.
                "key" if self.held.leaf == u64::MAX && place < self.signed => self.held.leaf = place,
                _ => {}
            }
            own.insert(place);
            line.digest.clone_into(&mut prev);
            seq = line.seq;
        }
        if !text.is_empty() && !text.ends_with('\n') {
            self.faults.push(format!("`{EVENTS}` is cut short"));
        }
        let size = self.leaves.len() as u64;
        let spans = Record::of(store, LOG).spans;
        let recorded = spans.iter().flat_map(|span| span.first..span.end().min(size));
        let gone = recorded.filter(|leaf| !own.contains(leaf)).count();
        if gone > 0 {
            self.faults.push(format!(
                "{} of the log's own entries are missing from `{EVENTS}`",
                count(gone, "entry")
            ));
        }
    }
}
