//! Whether a statement is in the signed log, and who saw it there.
//!
//! Invariants: a proof counts only for the exact bytes of the statement, with a checkpoint signed by the keys
//! of the same log; if a log has keys of two algorithms, by both. The position that the statement gives (the
//! last entry, the head of the log before it) matches the entry that names it.

use crate::envelope::ProofLine;
use crate::signers::Signer;
use crate::statement::Statement;
use aops_ledger::entry::Line;
use aops_ledger::sha256::Sum;
use aops_proof::checkpoint::Checkpoint;
use aops_proof::key::{PublicKey, Use};
use aops_proof::proof::Proof;
use aops_proof::text::from_base64;
use aops_proof::tree::leaf_hash;
use serde::Deserialize;
use std::collections::BTreeSet;

/// The kind of ledger entry that names a statement.
pub const ENTRY: &str = "attest";

/// The fields of such an entry, apart from what the ledger adds.
#[derive(Debug, Deserialize)]
struct Attest {
    commit: String,
    /// The last entry that the statement covers.
    last_entry: u64,
    statement_sha256: String,
}

/// The keys that a reader trusts.
#[derive(Debug, Default)]
pub struct Trust {
    pub signers: Vec<Signer>,
    pub witnesses: Vec<PublicKey>,
    /// How many witnesses must have seen it; `None`: all of them.
    pub quorum: Option<u64>,
}

/// A quorum of witnesses saw the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witnessed {
    /// When the last of them did, in seconds since 1970.
    pub time: i64,
    pub count: u64,
}

/// Why a statement is not in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No proof is there.
    Missing,
    /// There are proofs, but all of them are wrong; this is the last fault.
    Log(String),
    /// A trusted witness's cosignature is wrong.
    Witness(String),
}

/// Finds the statement with this digest in the log of this key. The proof with most witnesses counts, then
/// the earliest one.
pub fn find<'p>(
    statement: &Statement,
    digest: &str,
    signer: &PublicKey,
    proofs: impl Iterator<Item = &'p ProofLine>,
    trust: &Trust,
) -> Result<Option<Witnessed>, Fault> {
    let mut found = None;
    let mut fault = Fault::Missing;
    for line in proofs.filter(|line| line.payload == digest) {
        match check(statement, digest, signer, &line.proof, trust) {
            Ok(seen) => found = Some(better(found.flatten(), seen)),
            Err(wrong) => fault = wrong,
        }
    }
    found.ok_or(fault)
}

fn better(one: Option<Witnessed>, other: Option<Witnessed>) -> Option<Witnessed> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.time < one.time { other } else { one }),
        (one, other) => one.or(other),
    }
}

fn check(
    statement: &Statement,
    digest: &str,
    signer: &PublicKey,
    proof: &str,
    trust: &Trust,
) -> Result<Option<Witnessed>, Fault> {
    let proof = Proof::parse(proof).map_err(Fault::Log)?;
    let origin = Checkpoint::parse(&proof.note.text).map_err(Fault::Log)?.origin;
    if origin != signer.name {
        return Err(Fault::Log(format!(
            "the proof is of log `{origin}`, the statement of `{}`",
            signer.name
        )));
    }
    is_signed(&proof, &origin, trust).map_err(Fault::Log)?;
    let wrong = |what: &str| Fault::Log(what.to_owned());
    let entry = std::str::from_utf8(&proof.extra).map_err(|_| wrong("the entry is not text"))?;
    let line = Line::read(entry.as_bytes()).filter(Line::is_sound);
    let line = line.ok_or_else(|| wrong("the entry does not match its digest"))?;
    let named = serde_json::from_str(line.with).ok().filter(|named: &Attest| {
        line.kind == ENTRY && named.commit == statement.commit() && named.statement_sha256 == digest
    });
    let named = named.ok_or_else(|| wrong("the proof is of another entry"))?;
    fits(statement, &named, &line, &proof).map_err(wrong)?;
    let leaf = Sum::read(line.digest).ok_or_else(|| wrong("the entry has no digest"))?;
    let leaf = leaf_hash(&leaf.0);
    proof.check(&leaf, &[]).map_err(Fault::Log)?;
    let shown = proof.note.signers(&trust.witnesses).map_err(Fault::Witness)?;
    Ok(quorum(&shown, trust))
}

/// The statement's claims about its position in the ledger and in the log match the entry that names it and
/// the proof.
fn fits(statement: &Statement, named: &Attest, line: &Line, proof: &Proof) -> Result<(), &'static str> {
    let (product, facts) = statement.session().ok_or("it has no session")?;
    let last = facts.entries.to;
    // Entries between the last one and this one were recorded meanwhile; without any, this entry contains the
    // last one's digest.
    let follows =
        line.seq > last && (line.seq > last + 1 || product.digest.sha256.as_deref() == Some(line.prev));
    if named.last_entry != last || !follows {
        return Err("the statement's last entry is not the one that it names");
    }
    let Some(head) = &facts.log else { return Ok(()) };
    let signed = Checkpoint::parse(&proof.note.text).map_err(|_| "the checkpoint is none")?;
    let is_root = from_base64(&head.root).is_some_and(|root| root.len() == signed.root.len());
    // The head was signed before the entry was written, so it must not be larger than the entry's position.
    // Its root is only the key's word: only a consistency proof to the later head would prove more.
    if head.origin != signed.origin || head.size > proof.index || !is_root {
        return Err("the statement names a head that the log did not have");
    }
    Ok(())
}

/// Signed by one of the log's Ed25519 keys, and if the list contains ML-DSA keys of the log, by one of those,
/// too.
fn is_signed(proof: &Proof, origin: &str, trust: &Trust) -> Result<(), String> {
    let keys = trust.signers.iter().filter_map(Signer::log_key).filter(|key| key.name == origin);
    let keys: Vec<PublicKey> = keys.cloned().collect();
    let signers = proof.note.signers(&keys)?;
    let has = |used: Use| signers.iter().any(|(key, _)| key.used == used);
    let wants_both = keys.iter().any(|key| key.used == Use::MlDsa);
    match (has(Use::Note), has(Use::MlDsa) || !wants_both) {
        (true, true) => Ok(()),
        (false, _) => Err("no key of the log signed the checkpoint".to_owned()),
        (true, false) => Err("the checkpoint lacks the signature of the log's ML-DSA-44 key".to_owned()),
    }
}

/// How many different witnesses these are at least: one may have keys of two kinds, and two may have the same
/// name.
fn count(keys: &[&PublicKey]) -> u64 {
    let names: BTreeSet<&str> = keys.iter().map(|key| key.name.as_str()).collect();
    let of = |used: Use| keys.iter().filter(|key| key.used == used).count();
    names.len().max(of(Use::Cosignature)).max(of(Use::MlDsa)) as u64
}

fn quorum(signers: &[(&PublicKey, u64)], trust: &Trust) -> Option<Witnessed> {
    let seen = count(&signers.iter().map(|(key, _)| *key).collect::<Vec<_>>());
    let all = count(&trust.witnesses.iter().collect::<Vec<_>>());
    let time = signers.iter().map(|(_, time)| i64::try_from(*time).unwrap_or(i64::MAX)).max()?;
    (seen >= trust.quorum.unwrap_or(all).max(1)).then_some(Witnessed { time, count: seen })
}
