//! Checks the whole log: every signed head is the root of the leaves up to its size, so the log only ever grew.
//!
//! Reads keys and log, writes nothing. Invariant: a turn that ends meanwhile, or whose end was killed, is no fault.

use super::append::EVENTS;
use super::keys::Keys;
use super::store::{Seal, Store};
use crate::ledger::entry::Line;
use crate::model::error::Failure;
use crate::system::env::Env;
use crate::text::sha256::{NO_DIGEST, Sum};
use aops_proof::checkpoint::Checkpoint;
use aops_proof::frontier::Frontier;
use aops_proof::key::{PublicKey, Use};
use aops_proof::note::Note;
use aops_proof::seal::SealKey;
use aops_proof::text::from_base64;
use aops_proof::tree::{Hash, leaf_hash};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::OnceLock;

/// A checkpoint that so many witnesses have seen that it counts.
#[derive(Clone, Debug)]
pub struct Witnessed {
    pub size: u64,
    /// When the last of them saw it, in seconds since 1970.
    pub time: u64,
    pub names: Vec<String>,
}

/// With what a log is checked beside its own files.
#[derive(Debug, Default)]
pub struct Trust {
    /// Public keys that must have signed, where they do not come from this machine.
    pub keys: Vec<PublicKey>,
    /// The key of the seal that a person exported.
    pub seal: Option<SealKey>,
    pub witnesses: Vec<PublicKey>,
    /// So many of them must have signed.
    pub quorum: u64,
    /// Checkpoints that were kept elsewhere.
    pub seen: Vec<Note>,
}

/// `aops-seal+17+…`, as `key export --seal` prints it.
pub fn read_seal_key(text: &str) -> Option<SealKey> {
    let (epoch, key) = text.trim().strip_prefix("aops-seal+")?.split_once('+')?;
    Some(SealKey::new(epoch.parse().ok()?, from_base64(key)?.try_into().ok()?))
}

/// What is known of the log.
#[derive(Debug, Default)]
pub struct Examined {
    pub origin: String,
    pub leaves: Vec<Sum>,
    /// The leaf of each digest, by its first eight bytes; made when the first is not where it was looked for.
    places: OnceLock<HashMap<u64, u64>>,
    /// Leaves below this are signed with a key that is known here.
    pub signed: u64,
    pub seals: u64,
    /// The seals were checked with the exported key from this epoch on.
    pub sealed_from: Option<u64>,
    pub witnessed: Option<Witnessed>,
    /// How many checkpoints that were kept elsewhere are ours.
    pub seen: u64,
    /// Why nothing is signed or witnessed.
    pub unsigned: Option<String>,
    pub unwitnessed: Option<String>,
    /// What is wrong with it.
    pub faults: Vec<String>,
    /// Leaves of sessions that a person removed or set aside.
    pub explained: Vec<(u64, u64)>,
}

/// The public keys of the log.
struct LogKeys {
    all: Vec<PublicKey>,
    /// Those that sign together.
    current: Vec<PublicKey>,
}

impl LogKeys {
    fn of(keys: Option<&Keys>, trust: &Trust) -> Self {
        match keys {
            _ if !trust.keys.is_empty() => Self { all: trust.keys.clone(), current: trust.keys.clone() },
            Some(keys) => Self { all: keys.known(), current: keys.current() },
            None => Self { all: Vec::new(), current: Vec::new() },
        }
    }

    /// One of the current keys signed and another did not: a broken algorithm must not be enough to forge a checkpoint.
    fn are_parted(&self, signers: &[(&PublicKey, u64)]) -> bool {
        let signed = self.current.iter().filter(|key| signers.iter().any(|(signer, _)| signer == key)).count();
        signed > 0 && signed < self.current.len()
    }
}

/// A root that the leaves must have at this size, and who says so.
type Claims = BTreeMap<u64, Vec<(String, Hash)>>;

fn short(sum: &Sum) -> u64 {
    sum.0.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// `None`: there is no log.
pub fn examine(env: &Env, trust: &Trust) -> Result<Option<Examined>, Failure> {
    let Some(store) = Store::look(env)? else { return Ok(None) };
    let keys = Keys::open(env)?;
    let (mut examined, mut claims) = (Examined::default(), Claims::new());
    let known = LogKeys::of(keys.as_ref(), trust);
    let state = keys.as_ref().map(Keys::sealed).transpose()?.flatten();
    if let Some(state) = &state {
        let claim = ("what was signed last".to_owned(), state.frontier.root());
        claims.entry(state.frontier.size()).or_default().push(claim);
    }
    let last = state.as_ref().map(|state| state.frontier.size());
    let head = examined.read_checkpoint(&store, &known, last, &mut claims)?;
    examined.read_witnessed(&store, &known, trust, &mut claims)?;
    examined.seen = kept_elsewhere(&trust.seen, &known, &mut claims);
    let seals = store.seals(&state.map(|state| state.rows).unwrap_or_default())?;
    examined.read_seals(&seals, head.as_ref(), trust.seal.as_ref(), &mut claims);
    let size = store.size()?;
    examined.leaves = store.leaves(0, size)?;
    examined.compare(&claims);
    examined.origin = head.map(|head| head.origin).unwrap_or_default();
    examined.sealed_from = trust.seal.as_ref().map(|key| key.epoch);
    if size > 0 {
        examined.read_events(&store)?;
    }
    Ok(Some(examined))
}

/// Each that our key signed must be of this log.
fn kept_elsewhere(seen: &[Note], known: &LogKeys, claims: &mut Claims) -> u64 {
    let ours = |note: &&Note| note.signers(&known.all).is_ok_and(|signers| !signers.is_empty());
    let heads: Vec<_> = seen.iter().filter(ours).filter_map(|note| Checkpoint::parse(&note.text).ok()).collect();
    for head in &heads {
        claims.entry(head.size).or_default().push(("a checkpoint in git".to_owned(), head.root));
    }
    heads.len() as u64
}

impl Examined {
    fn read_checkpoint(
        &mut self,
        store: &Store,
        known: &LogKeys,
        last: Option<u64>,
        claims: &mut Claims,
    ) -> Result<Option<Checkpoint>, Failure> {
        let Some((head, note)) = store.checkpoint()? else {
            self.unsigned =
                Some("the log has no checkpoint that can be read; the next turn's end writes it".to_owned());
            return Ok(None);
        };
        claims.entry(head.size).or_default().push(("the checkpoint".to_owned(), head.root));
        if let Some(last) = last.filter(|last| *last > head.size) {
            // A turn's end that was killed leaves the same.
            let (size, next) = (head.size, "the next turn's end signs again");
            self.unsigned =
                Some(format!("the checkpoint is an old one, of size {size}, where {last} was signed; {next}"));
        }
        match note.signers(&known.all) {
            _ if known.all.is_empty() => {
                self.unsigned = Some("no key can be seen from here, so the signature was not checked".to_owned());
            }
            Ok(signers) if signers.is_empty() => {
                self.faults.push("the checkpoint is signed by a key that is not known here".to_owned());
            }
            Err(why) => self.faults.push(format!("the checkpoint: {why}")),
            Ok(signers) if known.are_parted(&signers) => {
                self.faults
                    .push("the checkpoint is signed by one of the keys of the log, but not by the other".to_owned());
            }
            Ok(_) => self.signed = head.size,
        }
        Ok(Some(head))
    }

    fn read_witnessed(
        &mut self,
        store: &Store,
        known: &LogKeys,
        trust: &Trust,
        claims: &mut Claims,
    ) -> Result<(), Failure> {
        if trust.witnesses.is_empty() {
            self.unwitnessed = Some("no witness is configured".to_owned());
            return Ok(());
        }
        let trouble = store.text(TROUBLE)?;
        self.unwitnessed.clone_from(&trouble);
        let Some((head, note)) = store.signed(WITNESSED)? else {
            self.unwitnessed = Some(trouble.unwrap_or_else(|| "no witness has answered yet".to_owned()));
            return Ok(());
        };
        claims.entry(head.size).or_default().push(("the witnessed checkpoint".to_owned(), head.root));
        let ours = note.signers(&known.all).map(|signers| !signers.is_empty());
        match note.signers(&trust.witnesses) {
            Err(why) => self.faults.push(format!("the witnessed checkpoint: {why}")),
            Ok(_) if ours != Ok(true) => {
                self.unwitnessed = Some("the witnessed checkpoint is not signed by our key".to_owned());
            }
            Ok(signers) if count_witnesses(&signers) < trust.quorum.max(1) => {
                let (has, wants) = (count_witnesses(&signers), trust.quorum.max(1));
                self.unwitnessed = Some(format!("{has} of {wants} witnesses have signed"));
            }
            Ok(signers) => {
                let time = signers.iter().map(|(_, time)| *time).max().unwrap_or(0);
                let names: BTreeSet<String> = signers.iter().map(|(key, _)| key.name.clone()).collect();
                let names = names.into_iter().collect();
                self.witnessed = Some(Witnessed { size: head.size, time, names });
            }
        }
        Ok(())
    }

    /// Counts the seals. Each is of a root; with the exported key each is also known to be ours.
    fn read_seals(&mut self, text: &str, head: Option<&Checkpoint>, key: Option<&SealKey>, claims: &mut Claims) {
        let (mut before, mut key) = (None::<Seal>, key.cloned());
        let lines = text.lines().count() as u64;
        for line in text.lines() {
            let Some(seal) = Seal::parse(line) else {
                self.faults.push(format!("line {} of the list of seals is none", self.seals + 1));
                continue;
            };
            self.seals += 1;
            claims.entry(seal.size).or_default().push((format!("seal {}", seal.epoch), seal.root));
            if let Some(before) = &before
                && (seal.size < before.size || !(before.epoch..=before.epoch + 1).contains(&seal.epoch))
            {
                self.faults.push(format!("seal {} does not follow seal {}", seal.epoch, before.epoch));
            }
            // No epoch is skipped, so none is further away than there are lines.
            let far = key.as_ref().is_some_and(|key| seal.epoch.saturating_sub(key.epoch) > lines);
            if far {
                self.faults.push(format!("seal {} is none of the key that was exported", seal.epoch));
            } else if let Some(known) = key.as_ref().and_then(|key| key.at(seal.epoch)) {
                let origin = head.map(|head| head.origin.clone()).unwrap_or_default();
                let text = Checkpoint { origin, size: seal.size, root: seal.root }.to_string();
                if known.seal(&text) != seal.mac {
                    self.faults.push(format!("seal {} was not made with the key that was exported", seal.epoch));
                }
                key = Some(known);
            }
            before = Some(seal);
        }
        let reached = before.map_or(0, |seal| seal.size);
        if let Some(head) = head.filter(|head| head.size > reached) {
            self.faults.push(format!("the last seal is of size {reached}, the checkpoint of {}", head.size));
        }
    }

    /// Builds the tree once and compares it with every claimed root.
    fn compare(&mut self, claims: &Claims) {
        let (mut tree, mut right) = (Frontier::default(), 0);
        for (size, said) in claims {
            let Some(more) = usize::try_from(*size).ok().and_then(|size| self.leaves.get(right..size)) else {
                let (who, _) = &said[0];
                self.faults.push(format!("the log has {} leaves, but {who} covers {size}", self.leaves.len()));
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

    /// Only what came before counts.
    fn distrust(&mut self, size: u64) {
        self.signed = self.signed.min(size);
        self.witnessed = self.witnessed.take().filter(|witnessed| witnessed.size <= size);
    }
}

/// How many witnesses these are, at the least: one may sign with two kinds of keys, and two may have one name.
pub fn count_witnesses(signers: &[(&PublicKey, u64)]) -> u64 {
    let names: BTreeSet<&str> = signers.iter().map(|(key, _)| key.name.as_str()).collect();
    let of = |used: Use| signers.iter().filter(|(key, _)| key.used == used).count();
    names.len().max(of(Use::Cosignature)).max(of(Use::MlDsa)) as u64
}

/// How many leaves are compared before all are indexed.
const SOON: u64 = 16;

/// The newest checkpoint with enough cosignatures, and why there is none newer.
pub const WITNESSED: &str = "witnessed";
pub const TROUBLE: &str = "witness-trouble";

impl Examined {
    /// The leaf of this digest.
    pub fn place(&self, digest: &Sum) -> Option<u64> {
        let index = || self.leaves.iter().zip(0..).map(|(leaf, at)| (short(leaf), at)).collect();
        let at = *self.places.get_or_init(index).get(&short(digest))?;
        self.has(at, digest).then_some(at)
    }

    /// The leaves of these digests. A session's entries mostly follow each other, so each is first looked for soon after the last.
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

    /// The log's own entries: a chain, each in the log.
    fn read_events(&mut self, store: &Store) -> Result<(), Failure> {
        let text = store.text(EVENTS)?.unwrap_or_default();
        let (mut prev, mut seq) = (NO_DIGEST.to_owned(), 0);
        for line in text.lines() {
            let read =
                Line::read(line.as_bytes()).filter(|line| line.holds() && line.prev == prev && line.seq == seq + 1);
            let placed = read.and_then(|line| Some((line, self.place(&Sum::read(line.digest)?)?)));
            let Some((line, place)) = placed else {
                self.faults.push(format!("entry {} of the log's own is not what was signed", seq + 1));
                return Ok(());
            };
            if matches!(line.kind, "removed" | "aside") && place < self.signed {
                let with: Value = serde_json::from_str(line.with).unwrap_or_default();
                let spans: Vec<(u64, u64)> = serde_json::from_value(with["spans"].clone()).unwrap_or_default();
                self.explained.extend(spans);
            }
            line.digest.clone_into(&mut prev);
            seq = line.seq;
        }
        Ok(())
    }
}
