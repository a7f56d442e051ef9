//! What the log proves about one session, and which of its leaves belong to no session.
//!
//! Reads ledgers and records, writes nothing. Invariant: a tier is reached only if every entry of the ledger
//! reaches it; how far the next tier goes is reported in addition.

use super::append::{EVENTS, LOG};
use super::check::Examined;
use super::record::Record;
use super::store::Store;
use crate::ledger::entry::Line;
use crate::ledger::recover::LEDGER_FILE;
use crate::ledger::sessions::SessionOnDisk;
use crate::model::error::Failure;
use crate::model::named::named;
use crate::system::folder;
use crate::text::sha256::Sum;
use crate::text::time::timestamp;
use rustix::fs::{CWD, OFlags};
use serde_json::{Value, json};
use std::path::Path;

named! {
    /// What is proven; each level includes the one before.
    pub enum Level {
        Intact = "intact",
        Sealed = "sealed",
        Witnessed = "witnessed",
    }
}

#[derive(Debug)]
pub struct Tier {
    pub level: Level,
    /// Why the next level is not reached.
    pub why: Option<String>,
    /// The last signed and the last witnessed entry.
    pub sealed_to: u64,
    pub witnessed_to: u64,
    /// When the witnesses saw them.
    pub witnessed_at: Option<String>,
    pub entries: u64,
    /// Entries of this session that are in the log but not in its ledger.
    pub missing: u64,
}

/// The digests of a ledger's entries, in order.
pub fn digests(folder: &Path) -> Result<Vec<Sum>, Failure> {
    let Some(dir) = folder::enter(CWD, folder, false)? else { return Ok(Vec::new()) };
    let Some((file, long)) = folder::open(&dir, LEDGER_FILE, OFlags::RDONLY)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    folder::each_line(&file, 0, long, |_, line| {
        const BEGINS: usize = "{\"_digest\":\"".len();
        let digest =
            line.get(BEGINS..BEGINS + 64).and_then(|text| Sum::read(std::str::from_utf8(text).ok()?));
        found.push(digest.unwrap_or_default());
        Some(())
    })?;
    Ok(found)
}

impl Tier {
    /// The tier without a log.
    pub fn without(entries: u64, why: &str) -> Self {
        let why = Some(why.to_owned());
        Self {
            level: Level::Intact,
            why,
            sealed_to: 0,
            witnessed_to: 0,
            witnessed_at: None,
            entries,
            missing: 0,
        }
    }

    pub fn of(log: &Examined, record: &Record, digests: &[Sum]) -> Self {
        let places = log.places(digests);
        let up_to = |size: u64| {
            places.iter().take_while(|place| place.is_some_and(|place| place < size)).count() as u64
        };
        let sealed_to = up_to(log.signed);
        let entries = digests.len() as u64;
        let witnessed_to = log.witnessed.as_ref().map_or(0, |witnessed| up_to(witnessed.size));
        let is_held = places.iter().flatten().all(|place| *place >= log.held.leaf);
        let level = match (sealed_to == entries, witnessed_to == entries) {
            _ if !is_held => Level::Intact,
            (_, true) if entries > 0 => Level::Witnessed,
            (true, _) if entries > 0 => Level::Sealed,
            _ => Level::Intact,
        };
        let why =
            match level {
                Level::Intact if !is_held && log.faults.is_empty() => Some(log.told_unheld()),
                Level::Intact => {
                    Some(log.faults.first().cloned().or_else(|| log.unsigned.clone()).unwrap_or_else(|| {
                        format!(
                            "entry {} is not in the signed log: the turn has not ended, or it was not added",
                            sealed_to + 1
                        )
                    }))
                }
                Level::Sealed => Some(log.unwitnessed.clone().unwrap_or_else(|| {
                    format!("entry {} was not seen by the witnesses yet", witnessed_to + 1)
                })),
                Level::Witnessed => None,
            };
        let time = log.witnessed.as_ref().filter(|_| witnessed_to > 0).map(|witnessed| witnessed.time);
        let witnessed_at = time.map(|time| timestamp(i64::try_from(time).unwrap_or(0).saturating_mul(1000)));
        let missing = missing(log, record, &places);
        Self { level, why, sealed_to, witnessed_to, witnessed_at, entries, missing }
    }

    /// The first entry after the last witnessed one.
    pub fn unwitnessed(&self) -> Option<u64> {
        (self.witnessed_to < self.entries).then_some(self.witnessed_to + 1)
    }

    /// `holds`: nothing is damaged; otherwise there is no tier.
    pub fn to_json(&self, holds: bool) -> Value {
        json!({
            "tier": holds.then(|| self.level.name()), "why_not_next": self.why, "sealed_to": self.sealed_to,
            "witnessed_to": self.witnessed_to, "witnessed_at": self.witnessed_at,
            "first_unwitnessed": self.unwitnessed(), "missing": self.missing,
        })
    }
}

/// Leaves that belong to this session according to its record, but to no entry of the ledger.
fn missing(log: &Examined, record: &Record, places: &[Option<u64>]) -> u64 {
    let mut has: Vec<u64> = places.iter().flatten().copied().collect();
    has.sort_unstable();
    let size = log.leaves.len() as u64;
    let leaves = record.spans.iter().flat_map(|span| span.first..span.end().min(size));
    leaves.filter(|leaf| has.binary_search(leaf).is_err() && !log.is_explained(*leaf)).count() as u64
}

impl Examined {
    fn told_unheld(&self) -> String {
        let session = self.held.session.as_deref().unwrap_or_default();
        format!(
            "the commands of session `{session}` were judged only by their text, so one may have \
             read the key; `aops-hook key rotate` makes new keys for later entries"
        )
    }

    /// A person removed or set aside the session of this leaf.
    pub fn is_explained(&self, leaf: u64) -> bool {
        self.explained.iter().any(|(first, count)| (*first..first + count).contains(&leaf))
    }
}

/// Which leaves belong to known sessions.
#[derive(Debug)]
pub struct Account<'a> {
    log: &'a Examined,
    seen: Vec<bool>,
}

impl<'a> Account<'a> {
    pub fn new(log: &'a Examined) -> Self {
        let mut seen = vec![false; log.leaves.len()];
        for (first, count) in &log.explained {
            let range = usize::try_from(*first).unwrap_or(usize::MAX)
                ..usize::try_from(first + count).unwrap_or(usize::MAX);
            seen.get_mut(range).into_iter().flatten().for_each(|leaf| *leaf = true);
        }
        Self { log, seen }
    }

    pub fn add(&mut self, digests: &[Sum]) {
        for place in self.log.places(digests).into_iter().flatten() {
            if let Some(leaf) = usize::try_from(place).ok().and_then(|at| self.seen.get_mut(at)) {
                *leaf = true;
            }
        }
    }

    /// Sessions whose entries are gone, with their number; without a name if nothing names them.
    pub fn lost(&self, store: &Store) -> Vec<(String, u64)> {
        let mut left: Vec<u64> =
            (0..).zip(&self.seen).filter(|(_, seen)| !**seen).map(|(leaf, _)| leaf).collect();
        let mut lost = Vec::new();
        for record in Record::all(store) {
            let before = left.len();
            left.retain(|leaf| !record.spans.iter().any(|span| (span.first..span.end()).contains(leaf)));
            if left.len() < before {
                lost.push((record.trace, (before - left.len()) as u64));
            }
        }
        if !left.is_empty() {
            lost.push((String::new(), left.len() as u64));
        }
        lost
    }
}

/// A lost session: its ID if known, how many of its entries were recorded, and who says so.
pub type Lost = (Option<String>, u64, &'static str);
/// Who remembers what is lost.
pub const THE_LOG: &str = "the log";

/// Sessions with entries in the log that exist nowhere else.
pub fn lost(log: &Examined, store: &Store, all: &[SessionOnDisk]) -> Vec<Lost> {
    let mut account = Account::new(log);
    for found in all {
        // A ledger that cannot be read is damaged, and contributes nothing here.
        account.add(&digests(&found.path).unwrap_or_default());
    }
    let events = store.text(EVENTS).ok().flatten().unwrap_or_default();
    let own = events.lines().filter_map(|line| Sum::read(Line::read(line.as_bytes())?.digest));
    account.add(&own.collect::<Vec<_>>());
    let name = |trace: String| Some(trace).filter(|trace| !trace.is_empty() && trace != LOG);
    account.lost(store).into_iter().map(|(trace, n)| (name(trace), n, THE_LOG)).collect()
}

/// The leaves of a session as ranges, from its record and from what is left of its ledger.
pub fn spans(log: &Examined, record: &Record, digests: &[Sum]) -> Vec<(u64, u64)> {
    let placed = log.places(digests).into_iter().flatten();
    let recorded = record.spans.iter().flat_map(|span| span.first..span.end());
    let mut leaves: Vec<u64> =
        placed.chain(recorded).filter(|leaf| *leaf < log.leaves.len() as u64).collect();
    leaves.sort_unstable();
    leaves.dedup();
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for leaf in leaves {
        match spans.last_mut() {
            Some((first, count)) if *first + *count == leaf => *count += 1,
            _ => spans.push((leaf, 1)),
        }
    }
    spans
}
