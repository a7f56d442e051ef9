//! Whether a ledger is what was recorded, for the commands that show sessions, apart from `verify`.
//!
//! Reads ledgers, records and log, writes nothing. Invariant: no damage that we see is kept silent; if a
//! history is too large to check quickly, only its end is checked, while `verify --all` checks everything.

use super::check::{self, Examined, Trust};
use super::judge;
use super::record::Record;
use super::store::Store;
use super::tier::{Tier, digests};
use crate::ledger::entry::Line;
use crate::ledger::heads::{self, Head};
use crate::ledger::recover::LEDGER_FILE;
use crate::ledger::sessions::{self, SessionOnDisk};
use crate::system::env::Env;
use crate::system::files;
use crate::text::plain::count;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;

/// How much can be checked in a fifth of a second.
pub const QUICK: u64 = 64 << 20;

pub struct Health<'a> {
    env: &'a Env,
    store: Option<Store>,
    /// Every exported head, read at the first use; `None` if they cannot be read.
    heads: OnceCell<Option<BTreeMap<String, Vec<Head>>>>,
    /// The log, read at the first session that remembers another one.
    log: OnceCell<Option<Examined>>,
    /// How many bytes of ledgers may still be checked completely.
    budget: u64,
}

impl<'a> Health<'a> {
    pub fn new(env: &'a Env, budget: u64) -> Self {
        let store = Store::look(env).ok().flatten().map(Store::unlocked);
        Self { env, store, heads: OnceCell::new(), log: OnceCell::new(), budget }
    }

    /// What is wrong with this session, as text.
    pub fn damage(&mut self, found: &SessionOnDisk) -> Option<String> {
        let long = std::fs::metadata(found.path.join(LEDGER_FILE)).map_or(0, |meta| meta.len());
        if let Some(left) = self.budget.checked_sub(long) {
            self.budget = left;
            if !self.is_whole(found) {
                // A session that was started again since the heads were read is intact.
                match sessions::check(self.env, found) {
                    Ok(checked) if checked.failure.is_none() => {}
                    Ok(checked) => return checked.failure.map(|failure| failure.to_string()),
                    Err(failure) => return Some(failure.to_string()),
                }
            }
        } else if sessions::session(found).is_none() {
            return Some("its state cannot be read".to_owned());
        }
        self.contradicted(found).or_else(|| self.forgotten(found))
    }

    /// Its heads are missing, although its entries up to this one are in the log, to which they were added
    /// later.
    fn headless(&self, found: &SessionOnDisk, sealed_to: u64) -> Option<String> {
        let session = sessions::session(found)?;
        let heads = self.heads.get_or_init(|| heads::at(self.env).all_by_id().ok()).as_ref()?;
        let newest = heads.get(&found.session_id).and_then(|heads| heads.last()).map_or(0, |head| head.seq);
        if newest >= session.memory.proof.synced {
            return None;
        }
        sessions::check_heads(self.env, found, &session, sealed_to).err().map(|failure| failure.to_string())
    }

    /// It remembers a log that no longer exists.
    fn forgotten(&self, found: &SessionOnDisk) -> Option<String> {
        let signed = sessions::session(found)?.memory.proof.log?;
        let store = self.store.as_ref();
        let head = store.and_then(|store| store.checkpoint().ok()?).map(|(head, _)| head);
        if head.is_some_and(|head| head.origin == signed.origin && head.size >= signed.size) {
            return None;
        }
        let log = self.log.get_or_init(|| check::examine(self.env, &Trust::default()));
        judge::lacks(log.as_ref(), &signed.origin, signed.size, &found.session_id)
    }

    /// Nothing is wrong with it, judging by heads that may be slightly old.
    fn is_whole(&self, found: &SessionOnDisk) -> bool {
        let Some(heads) = self.heads.get_or_init(|| heads::at(self.env).all_by_id().ok()) else {
            return false;
        };
        let own = heads.get(&found.session_id).map_or(&[][..], Vec::as_slice);
        sessions::check_against(own, found, false).is_ok_and(|checked| checked.failure.is_none())
    }

    /// Its last entry in the log is not where it was. All entries must then be checked.
    fn contradicted(&self, found: &SessionOnDisk) -> Option<String> {
        let record = Record::of(self.store.as_ref()?, &found.session_id);
        let span = record.spans.last()?;
        let mut line = vec![0; usize::try_from(span.last).ok()?];
        let file = files::open(found.path.join(LEDGER_FILE)).ok();
        let at = span.bytes.saturating_sub(span.last);
        let read = file.and_then(|file| file.read_exact_at(&mut line, at).ok());
        let same = read
            .and_then(|()| Line::read(line.strip_suffix(b"\n")?))
            .is_some_and(|line| line.digest == span.digest);
        if same {
            return self.headless(found, span.seq);
        }
        let log = check::examine(self.env, &Trust::default())?;
        let missing = Tier::of(&log, &record, &digests(&found.path).ok()?).missing;
        (missing > 0)
            .then(|| format!("the log has {} of it that its ledger does not have", count(missing, "entry")))
    }
}

/// What is wrong with the log itself, or missing, as text.
pub fn log_damage(env: &Env) -> Option<String> {
    let log = check::examine(env, &Trust::default());
    let gone = judge::gone(env, log.as_ref());
    log.into_iter().flat_map(|log| log.faults).chain(gone).next()
}
