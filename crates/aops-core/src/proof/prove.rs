//! Proves one entry with one file: the entry, its path to the root, and the checkpoint that was signed and
//! perhaps witnessed.
//!
//! Reads ledger and log, writes nothing. Invariant: the file claims only what it proves: its content
//! determines the tier that it names.

use super::check::{Examined, LogKeys, Trust, WITNESSED, count_witnesses};
use super::keys;
use super::store::Store;
use super::tier::Level;
use crate::ledger::entry::Line;
use crate::ledger::recover::LEDGER_FILE;
use crate::model::error::{Code, Failure};
use crate::system::env::Env;
use crate::system::folder;
use crate::text::sha256::Sum;
use aops_proof::checkpoint::Checkpoint;
use aops_proof::key::PublicKey;
use aops_proof::note::Note;
use aops_proof::proof::Proof;
use aops_proof::text::from_base64;
use aops_proof::tree::{inclusion, leaf_hash};
use aops_proof::whole::Whole;
use rustix::fs::{CWD, OFlags};
use std::path::Path;

/// The line of an entry in the ledger.
pub fn entry(folder: &Path, seq: u64) -> Result<Option<String>, Failure> {
    let Some(dir) = folder::enter(CWD, folder, false)? else { return Ok(None) };
    let Some((file, long)) = folder::open(&dir, LEDGER_FILE, OFlags::RDONLY)? else { return Ok(None) };
    let mut at = 0;
    let mut found = None;
    folder::each_line(&file, 0, long, |_, line| {
        at += 1;
        if at == seq {
            found = Some(String::from_utf8_lossy(line).trim_end().to_owned());
        }
        found.is_none().then_some(())
    })?;
    Ok(found)
}

/// The file, and the tier that it proves. `redacted`: only the digest, without the entry.
pub fn prove(
    store: Option<&Store>,
    log: Option<&Examined>,
    line: &str,
    redacted: bool,
) -> Result<(String, Level), Failure> {
    let odd = || Failure::new(Code::ChecksumMismatch, "the entry does not match its digest");
    let digest = digest_of(line).ok_or_else(odd)?;
    let extra = if redacted { digest.to_string().into_bytes() } else { line.as_bytes().to_vec() };
    let placed = log.and_then(|log| Some((log, log.place(&digest).filter(|place| *place < log.signed)?)));
    let Some((store, (log, index))) = store.zip(placed) else { return Ok((bare(&extra), Level::Intact)) };
    let cosigned = log.witnessed.as_ref().filter(|seen| index < seen.size);
    let (name, level) = if cosigned.is_some() {
        (WITNESSED, Level::Witnessed)
    } else {
        (super::store::CHECKPOINT, Level::Sealed)
    };
    let text = store.text(name)?.unwrap_or_default();
    let wrong = |what: String| Failure::new(Code::StorageFailed, format!("`{name}`: {what}"));
    let note = Note::parse(&text).map_err(wrong)?;
    let size = Checkpoint::parse(&note.text).map_err(wrong)?.size;
    let tree = Whole::new(log.leaves.iter().map(|leaf| leaf_hash(&leaf.0)).collect());
    let path = inclusion(&tree, index, size).map_err(wrong)?.unwrap_or_default();
    Ok((Proof { extra, index, path, note }.to_string(), level))
}

/// The same for a reader who might take it for more: if a command of an agent may have read the keys, only
/// the entry.
pub fn prove_held(
    store: Option<&Store>,
    log: Option<&Examined>,
    line: &str,
    redacted: bool,
) -> Result<(String, Level), Failure> {
    let place = |log: &Examined| digest_of(line).and_then(|digest| log.place(&digest));
    let log = log.filter(|log| place(log).is_none_or(|place| place >= log.held.leaf));
    prove(store, log, line, redacted)
}

const BARE: &str = "aops-proof/v1 intact\nextra ";

/// The digest of an intact entry.
fn digest_of(line: &str) -> Option<Sum> {
    Line::read(line.as_bytes()).filter(Line::is_sound).and_then(|line| Sum::read(line.digest))
}

/// What a proof shows.
#[derive(Debug)]
pub struct Proven {
    pub level: Level,
    /// The line, or only its digest.
    pub entry: String,
    /// Its leaf, and how many leaves the log had; `None` without a signed log.
    pub place: Option<(u64, u64)>,
    /// When each witness saw it, in seconds since 1970.
    pub times: Vec<(PublicKey, u64)>,
}

/// Reads a proof, or says why it is none. Its signatures are checked first, then its path to the root, then
/// the entry.
pub fn read(env: &Env, trust: &Trust, text: &str) -> Result<Proven, String> {
    let odd = |what: &str| Err(format!("no proof: {what}"));
    if let Some(bare) = text.strip_prefix(BARE) {
        let extra =
            bare.strip_suffix('\n').and_then(from_base64).and_then(|bytes| String::from_utf8(bytes).ok());
        let Some(entry) = extra else { return odd("the extra data is not base64 of a text") };
        return match digest_of(&entry) {
            Some(_) => Ok(Proven { level: Level::Intact, entry, place: None, times: Vec::new() }),
            None if Sum::read(&entry).is_some() => odd("a digest alone proves nothing without a signed log"),
            None => odd("the entry does not match its digest"),
        };
    }
    let proof = Proof::parse(text)?;
    let known = LogKeys::of(keys::look(env).keys.as_ref(), trust);
    if known.is_empty() {
        return Err("there is no key to check it with\nhint: `--key KEY` names it".to_owned());
    }
    known.accept(&proof.note)?;
    let Ok(entry) = String::from_utf8(proof.extra.clone()) else { return odd("the entry is not text") };
    let Some(digest) = Sum::read(&entry).or_else(|| digest_of(&entry)) else {
        return odd("the entry does not match its digest");
    };
    let shown = proof.check(&leaf_hash(&digest.0), &trust.witnesses)?;
    let enough = !shown.signers.is_empty() && count_witnesses(&shown.signers) >= trust.quorum.max(1);
    let times = shown.signers.iter().map(|(key, time)| ((*key).clone(), *time)).collect();
    let level = if enough { Level::Witnessed } else { Level::Sealed };
    Ok(Proven { level, entry, place: Some((proof.index, shown.checkpoint.size)), times })
}

/// Without a signed log there is only the entry with a matching digest.
fn bare(extra: &[u8]) -> String {
    format!("{BARE}{}\n", aops_proof::text::base64(extra))
}
