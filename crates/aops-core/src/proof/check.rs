//! Checks the whole log: every signed head is the root of the leaves up to its size, so the log has only ever
//! grown.
//!
//! Reads keys and log, writes nothing. Invariant: a turn that ends meanwhile, or whose end was interrupted,
//! is not reported as a fault.

mod entries;
mod tiles;

use super::keys::{self, Keys, Sight, Signers, Stray};
use super::store::{CHECKPOINT, Kept, Seal, Store};
use super::unheld::HeldFrom;
use crate::model::error::Failure;
use crate::system::env::{Env, boot_id};
use crate::text::plain::count;
use crate::text::sha256::Sum;
use aops_proof::checkpoint::Checkpoint;
use aops_proof::frontier::Frontier;
use aops_proof::key::{PublicKey, Use};
use aops_proof::note::Note;
use aops_proof::seal::SealKey;
use aops_proof::text::from_base64;
use aops_proof::tree::{Hash, leaf_hash};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem;
use std::sync::OnceLock;

/// A checkpoint that enough witnesses have seen.
#[derive(Clone, Debug)]
pub struct Witnessed {
    pub size: u64,
    /// When the last of them saw it, in seconds since 1970.
    pub time: u64,
    pub names: Vec<String>,
}

/// What a log is compared with, apart from its own files.
#[derive(Debug, Default)]
pub struct Trust {
    /// Public keys that must have signed, if they do not come from this machine.
    pub keys: Vec<PublicKey>,
    /// The seal's key that a person exported.
    pub seal: Option<SealKey>,
    pub witnesses: Vec<PublicKey>,
    /// How many of the witnesses must have signed.
    pub quorum: u64,
    /// Checkpoints that were stored elsewhere.
    pub seen: Vec<Note>,
}

/// `aops-seal+17+…`, as `key export --seal` prints it.
pub fn read_seal_key(text: &str) -> Option<SealKey> {
    let (epoch, key) = text.trim().strip_prefix("aops-seal+")?.split_once('+')?;
    Some(SealKey::new(epoch.parse().ok()?, from_base64(key)?.try_into().ok()?))
}

/// What we found out about the log.
#[derive(Debug, Default)]
pub struct Examined {
    pub origin: String,
    pub leaves: Vec<Sum>,
    /// The leaf of each digest, by its first eight bytes; built when a digest is not where it was expected.
    places: OnceLock<HashMap<u64, u64>>,
    /// Leaves below this are signed with a key that we know.
    pub signed: u64,
    pub seals: u64,
    /// From this epoch on, the seals were checked with the exported key.
    pub sealed_from: Option<u64>,
    pub witnessed: Option<Witnessed>,
    /// How many of the checkpoints stored elsewhere belong to this log.
    pub seen: u64,
    /// Why the log is not signed, and why not witnessed.
    pub unsigned: Option<String>,
    pub unwitnessed: Option<String>,
    pub faults: Vec<String>,
    /// Leaves of sessions that a person removed or set aside.
    pub explained: Vec<(u64, u64)>,
    /// Logs that no longer existed when a person began this one.
    pub instead: Vec<String>,
    pub held: HeldFrom,
    /// The keys in the last signed event about keys.
    named: Option<Signers>,
}

pub(super) struct LogKeys {
    all: Vec<PublicKey>,
    /// The keys that sign together.
    current: Vec<PublicKey>,
}

impl LogKeys {
    pub(super) fn of(keys: Option<&Keys>, trust: &Trust) -> Self {
        match keys {
            _ if !trust.keys.is_empty() => Self { all: trust.keys.clone(), current: trust.keys.clone() },
            Some(keys) => Self { all: keys.known(), current: keys.current() },
            None => Self { all: Vec::new(), current: Vec::new() },
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Why this note does not belong to this log. A signature by only one of the current keys is not enough:
    /// one broken algorithm must not suffice to forge a checkpoint.
    pub(super) fn accept(&self, note: &Note) -> Result<(), String> {
        let signers = note.signers(&self.all)?;
        let signed =
            self.current.iter().filter(|key| signers.iter().any(|(signer, _)| signer == key)).count();
        if signers.is_empty() {
            return Err("it is signed by a key that is not known here".to_owned());
        }
        if signed > 0 && signed < self.current.len() {
            return Err("it is signed by one of the keys of the log, but not by the other".to_owned());
        }
        Ok(())
    }
}

/// The hint for a person.
const WITHOUT_KEYS: &str = "`aops-hook key init` makes new ones";

/// The root that the leaves must have at each size, and who says so.
type Claims = BTreeMap<u64, Vec<(String, Hash)>>;

fn short(sum: &Sum) -> u64 {
    sum.0.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// `None`: there is no log, and neither the keys nor anything stored elsewhere remembers one. A file that
/// cannot be read is a fault, and the rest is checked anyway.
pub fn examine(env: &Env, trust: &Trust) -> Option<Examined> {
    let sight = keys::look(env);
    let mut examined = Examined::default();
    let mut claims = Claims::new();
    examined.faults.extend(sight.broken.clone());
    let known = LogKeys::of(sight.keys.as_ref(), trust);
    examined.origin = sight.keys.as_ref().map(Keys::origin).unwrap_or_default();
    if let Some(state) = &sight.sealed {
        let claim = ("what was signed last".to_owned(), state.frontier.root());
        claims.entry(state.frontier.size()).or_default().push(claim);
    }
    let seen = if sight.is_hidden { &[][..] } else { &trust.seen[..] };
    examined.seen = examined.kept_elsewhere(seen, &known, &mut claims);
    let store = Store::look(env).unwrap_or_else(|failure| {
        examined.faults.push(failure.to_string());
        None
    });
    match store {
        Some(store) => examined.look(&store, &sight, (&known, trust), &mut claims),
        None => examined.look_for_nothing(&sight, &claims),
    }
    examined.look_at_keys(&sight, trust);
    let is_nothing = examined.origin.is_empty() && examined.faults.is_empty() && examined.leaves.is_empty();
    Some(examined).filter(|_| !is_nothing)
}

impl Examined {
    /// A file that cannot be read counts as damaged.
    fn unless_odd<T: Default>(&mut self, read: Result<T, Failure>) -> T {
        read.unwrap_or_else(|failure| {
            self.faults.push(failure.to_string());
            T::default()
        })
    }

    fn look(
        &mut self,
        store: &Store,
        sight: &Sight,
        (known, trust): (&LogKeys, &Trust),
        claims: &mut Claims,
    ) {
        let (rows, last) =
            sight.sealed.as_ref().map_or((&[][..], None), |s| (&s.rows[..], Some(s.frontier.size())));
        let head = self.read_checkpoint(store, known, last, claims);
        self.read_witnessed(store, known, trust, claims);
        let seals = self.unless_odd(store.seals(rows));
        self.read_seals(&seals, head.as_ref(), trust.seal.as_ref(), claims);
        let is_same_boot =
            sight.sealed.as_ref().is_none_or(|sealed| sealed.boot.as_ref() == Some(&boot_id()));
        let on_disk = if is_same_boot { store.seals(&[]).unwrap_or_default() } else { seals.clone() };
        self.compare_seals(&on_disk, head.as_ref());
        // There may be another seal of the same epoch in between, whose state was lost in a power failure.
        if !rows.iter().all(|row| seals.lines().rev().any(|line| line == row)) {
            self.faults.push("the last seals are not those that the keys made".to_owned());
        }
        let size = self.unless_odd(store.size());
        let remains = store.remains();
        self.leaves = self.unless_odd(store.leaves(0, size));
        self.compare(claims);
        if let (0, Some(name)) = (size, remains.first()) {
            self.faults.push(format!("its leaves are missing, but `{name}` is still there"));
        }
        // The end of the first turn may have been interrupted before it wrote a checkpoint.
        if self.seals > 1 && !remains.iter().any(|name| name == CHECKPOINT) {
            self.faults.push("the checkpoint is missing".to_owned());
        }
        let is_signed = !remains.is_empty() && (head.is_some() || self.seals > 0);
        if is_signed && known.is_empty() && !sight.is_hidden && sight.broken.is_none() {
            self.faults
                .push(format!("the keys that signed it are no longer on this machine; {WITHOUT_KEYS}"));
        } else if is_signed && sight.keys.is_some() && sight.sealed.is_none() && self.seals > 1 {
            self.faults.push(
                "`seal.json`, the keys' record of it, is missing; the end of the next turn starts a new one"
                    .to_owned(),
            );
        }
        // A rotation makes all tiles again, and so does a process that completes an interrupted one.
        if sight.keys.as_ref().is_none_or(|keys| keys.unsettled().is_none()) {
            self.look_at_tiles(store, head.as_ref().map_or(0, |head| head.size));
        }
        self.origin = head.map_or(mem::take(&mut self.origin), |head| head.origin);
        self.sealed_from = trust.seal.as_ref().map(|key| key.epoch);
        self.read_events(store);
    }

    /// Checks that exactly the expected keys are here. Both the log and the state of the seal say which these
    /// are.
    fn look_at_keys(&mut self, sight: &Sight, trust: &Trust) {
        let last = sight.sealed.as_ref().and_then(|sealed| sealed.signers.as_ref());
        let Some(keys) = &sight.keys else {
            // If somebody passes the keys, they may be on another machine; the state of the seal is only on
            // this one.
            if sight.sealed.is_some() && sight.broken.is_none() && !trust.keys.is_empty() {
                self.faults
                    .push(format!("the keys that signed it are no longer on this machine; {WITHOUT_KEYS}"));
            }
            return;
        };
        self.explain_announced(keys.announced());
        // During a rotation, the entry that names its keys may not be signed yet.
        let named = self.named.as_ref().filter(|_| keys.unsettled().is_none());
        let strays = last.into_iter().chain(named).flat_map(|expected| keys.strays(expected));
        let strays: BTreeSet<_> = strays.collect();
        let told =
            |stray: &Stray| format!("{stray}, so nothing is signed; `aops-hook key rotate` makes new keys");
        // Listed before the faults that follow from it.
        self.faults.splice(0..0, strays.iter().map(told));
    }

    /// There is no log, so nothing may have been signed.
    fn look_for_nothing(&mut self, sight: &Sight, claims: &Claims) {
        let signed = claims.last_key_value().map(|(size, said)| (*size, said[0].0.clone()));
        match signed.filter(|(size, _)| *size > 0) {
            Some((size, who)) => {
                self.faults.push(format!("it is missing, but {who} covers {}", count(size, "entry")));
            }
            None if sight.keys.is_some() => {
                self.faults.push("it is missing, but its key is still there".to_owned());
            }
            None => {}
        }
    }
}

impl Examined {
    /// Each note that our key signed must belong to this log. Without a key, any note may be ours.
    fn kept_elsewhere(&mut self, seen: &[Note], known: &LogKeys, claims: &mut Claims) -> u64 {
        let ours = |note: &&Note| {
            known.is_empty() || note.signers(&known.all).is_ok_and(|signers| !signers.is_empty())
        };
        let heads: Vec<_> =
            seen.iter().filter(ours).filter_map(|note| Checkpoint::parse(&note.text).ok()).collect();
        for head in heads.iter().filter(|_| !known.is_empty()) {
            claims.entry(head.size).or_default().push(("a checkpoint in git".to_owned(), head.root));
        }
        if let (true, Some(head)) = (known.is_empty(), heads.last()) {
            let origin = &head.origin;
            let size = count(head.size, "entry");
            self.faults.push(format!(
                "git has a checkpoint of `{origin}` over {size}, and no key here can check it"
            ));
        }
        heads.len() as u64
    }
}

impl Examined {
    fn read_checkpoint(
        &mut self,
        store: &Store,
        known: &LogKeys,
        last: Option<u64>,
        claims: &mut Claims,
    ) -> Option<Checkpoint> {
        let (head, note) = match kept(store, CHECKPOINT) {
            Some(Ok(kept)) => kept,
            Some(Err(why)) => {
                self.faults.push(format!("the checkpoint cannot be read: {why}"));
                return None;
            }
            None => {
                self.unsigned =
                    Some("the log has no checkpoint; the end of the next turn writes it".to_owned());
                return None;
            }
        };
        claims.entry(head.size).or_default().push(("the checkpoint".to_owned(), head.root));
        if let Some(last) = last.filter(|last| *last > head.size) {
            // An interrupted end of a turn leaves the same.
            let size = head.size;
            let next = "the end of the next turn signs it again";
            self.unsigned = Some(format!(
                "the checkpoint is old: it covers {size} leaves, but {last} were signed; {next}"
            ));
        }
        match known.accept(&note) {
            _ if known.is_empty() => {
                self.unsigned =
                    Some("no key can be seen from here, so the signature was not checked".to_owned());
            }
            Err(why) => self.faults.push(format!("the checkpoint: {why}")),
            Ok(()) => self.signed = head.size,
        }
        Some(head)
    }

    fn read_witnessed(&mut self, store: &Store, known: &LogKeys, trust: &Trust, claims: &mut Claims) {
        let trouble = self.unless_odd(store.text(TROUBLE));
        let (head, note) = match kept(store, WITNESSED) {
            Some(Ok(kept)) => kept,
            Some(Err(why)) => {
                self.faults.push(format!("the witnessed checkpoint cannot be read: {why}"));
                return;
            }
            None if trust.witnesses.is_empty() => {
                self.unwitnessed = Some("no witness is configured".to_owned());
                return;
            }
            None => {
                self.unwitnessed = Some(trouble.unwrap_or_else(|| "no witness has answered yet".to_owned()));
                return;
            }
        };
        claims.entry(head.size).or_default().push(("the witnessed checkpoint".to_owned(), head.root));
        if let Err(why) = known.accept(&note)
            && !known.is_empty()
        {
            self.faults.push(format!("the witnessed checkpoint: {why}"));
        }
        self.unwitnessed = trouble.filter(|_| !trust.witnesses.is_empty());
        match note.signers(&trust.witnesses) {
            _ if trust.witnesses.is_empty() => self.unwitnessed = Some("no witness is configured".to_owned()),
            Err(why) => self.faults.push(format!("the witnessed checkpoint: {why}")),
            Ok(signers) if count_witnesses(&signers) < trust.quorum.max(1) => {
                let has = count_witnesses(&signers);
                let wants = trust.quorum.max(1);
                self.unwitnessed = Some(format!("{has} of {wants} witnesses have signed"));
            }
            Ok(signers) => {
                let time = signers.iter().map(|(_, time)| *time).max().unwrap_or(0);
                let names: BTreeSet<String> = signers.iter().map(|(key, _)| key.name.clone()).collect();
                let names = names.into_iter().collect();
                self.witnessed = Some(Witnessed { size: head.size, time, names });
            }
        }
    }

    /// Counts the seals. Each belongs to a root; with the exported key we also know that each is ours.
    fn read_seals(
        &mut self,
        text: &str,
        head: Option<&Checkpoint>,
        key: Option<&SealKey>,
        claims: &mut Claims,
    ) {
        let mut before = None::<Seal>;
        let mut key = key.cloned();
        let lines = text.split('\n').count() as u64;
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n').filter(|_| !text.is_empty()) {
            let Some(seal) = Seal::parse(line) else {
                self.faults.push(format!("line {} of the list of seals is not a seal", self.seals + 1));
                continue;
            };
            self.seals += 1;
            if before.is_none() && seal.epoch > 0 {
                self.faults.push(format!("the list of seals begins with seal {}", seal.epoch));
            }
            claims.entry(seal.size).or_default().push((format!("seal {}", seal.epoch), seal.root));
            if let Some(before) = &before
                && (seal.size < before.size
                    || !(before.epoch..=before.epoch + 1).contains(&seal.epoch)
                    || seal == *before)
            {
                self.faults.push(format!("seal {} does not follow seal {}", seal.epoch, before.epoch));
            }
            // No epoch is skipped, so none can be further away than the number of lines.
            let far = key.as_ref().is_some_and(|key| seal.epoch.saturating_sub(key.epoch) > lines);
            if far {
                self.faults.push(format!("seal {} does not belong to the key that was exported", seal.epoch));
            } else if let Some(known) = key.as_ref().and_then(|key| key.at(seal.epoch)) {
                let origin = head.map(|head| head.origin.clone()).unwrap_or_default();
                let text = Checkpoint { origin, size: seal.size, root: seal.root }.to_string();
                if known.seal(&text) != seal.mac {
                    self.faults
                        .push(format!("seal {} was not made with the key that was exported", seal.epoch));
                }
                key = Some(known);
            }
            before = Some(seal);
        }
        if !text.is_empty() && !text.ends_with('\n') {
            self.faults.push("the list of seals is cut short".to_owned());
        }
    }

    /// A checkpoint is written after its seal, so the list on the disk contains that; but a power loss may
    /// have removed rows that the keys remember.
    fn compare_seals(&mut self, list: &str, head: Option<&Checkpoint>) {
        let mut seals = list.split_inclusive('\n').filter_map(|line| Seal::parse(line.strip_suffix('\n')?));
        let reached = seals.next_back().map_or(0, |seal| seal.size);
        if let Some(head) = head.filter(|head| head.size > reached) {
            self.faults.push(format!("the last seal is of size {reached}, the checkpoint of {}", head.size));
        }
    }

    /// Builds the tree once and compares it with every claimed root.
    fn compare(&mut self, claims: &Claims) {
        let mut tree = Frontier::default();
        let mut right = 0;
        for (size, said) in claims {
            let Some(more) = usize::try_from(*size).ok().and_then(|size| self.leaves.get(right..size)) else {
                let (who, _) = &said[0];
                self.faults
                    .push(format!("the log has {} leaves, but {who} covers {size}", self.leaves.len()));
                return self.distrust(right as u64);
            };
            for leaf in more {
                tree.push(leaf_hash(&leaf.0));
            }
            if let Some((who, _)) = said.iter().find(|(_, root)| *root != tree.root()) {
                self.faults.push(format!("leaves below {size} are not those of {who}"));
                return self.distrust(right as u64);
            }
            right += more.len();
        }
    }

    /// From this size on nothing counts as signed.
    fn distrust(&mut self, size: u64) {
        self.signed = self.signed.min(size);
        self.witnessed = self.witnessed.take().filter(|witnessed| witnessed.size <= size);
    }
}

/// The checkpoint in this file, or why it cannot be read, even if it is not a plain file.
fn kept(store: &Store, name: &str) -> Option<Result<Kept, String>> {
    store.kept(name).unwrap_or_else(|failure| Some(Err(failure.to_string())))
}

/// How many different witnesses these are at least: one may sign with two kinds of keys, and two may have the
/// same name.
pub fn count_witnesses(signers: &[(&PublicKey, u64)]) -> u64 {
    let names: BTreeSet<&str> = signers.iter().map(|(key, _)| key.name.as_str()).collect();
    let of = |used: Use| signers.iter().filter(|(key, _)| key.used == used).count();
    names.len().max(of(Use::Cosignature)).max(of(Use::MlDsa)) as u64
}

/// Names of the files with the newest checkpoint that has enough cosignatures, and with the reason why there
/// is none newer.
pub const WITNESSED: &str = "witnessed";
pub const TROUBLE: &str = "witness-trouble";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_a_fault_that_is_told() {
        let mut examined = Examined::default();
        assert_eq!((examined.unless_odd(Ok(7)), examined.faults.len()), (7, 0));
        let odd = Failure::new(crate::model::error::Code::ChecksumMismatch, "`seals` is a folder");
        assert_eq!(examined.unless_odd::<u64>(Err(odd)), 0);
        assert!(
            examined.faults.len() == 1 && examined.faults[0].contains("`seals` is a folder"),
            "{:?}",
            examined.faults
        );
    }
}
