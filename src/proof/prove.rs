//! One entry proven in one file: the entry, its way to the root, and the checkpoint that was signed and perhaps witnessed.
//!
//! Reads ledger and log, writes nothing. Invariant: the file says no more than what holds: it names its tier by what is in it.

use super::check::{Examined, WITNESSED};
use super::store::Store;
use super::tier::Level;
use crate::ledger::entry::Line;
use crate::ledger::recover::LEDGER_FILE;
use crate::model::error::{Code, Failure};
use crate::system::folder;
use crate::text::sha256::Sum;
use aops_proof::checkpoint::Checkpoint;
use aops_proof::note::Note;
use aops_proof::proof::Proof;
use aops_proof::tree::{inclusion, leaf_hash};
use aops_proof::whole::Whole;
use rustix::fs::{CWD, OFlags};
use std::path::Path;

/// The line of an entry, as it is in the ledger.
pub fn entry(folder: &Path, seq: u64) -> Result<Option<String>, Failure> {
    let Some(dir) = folder::enter(CWD, folder, false)? else { return Ok(None) };
    let Some((file, long)) = folder::open(&dir, LEDGER_FILE, OFlags::RDONLY)? else { return Ok(None) };
    let (mut at, mut found) = (0, None);
    folder::each_line(&file, 0, long, |_, line| {
        at += 1;
        if at == seq {
            found = Some(String::from_utf8_lossy(line).trim_end().to_owned());
        }
        found.is_none().then_some(())
    })?;
    Ok(found)
}

/// The file, and which tier it shows. `redacted`: the digest alone, without the entry.
pub fn prove(
    store: Option<&Store>,
    log: Option<&Examined>,
    line: &str,
    redacted: bool,
) -> Result<(String, Level), Failure> {
    let read = Line::read(line.as_bytes()).filter(Line::holds);
    let odd = || Failure::new(Code::ChecksumMismatch, "the entry does not match its digest");
    let digest = read.and_then(|line| Sum::read(line.digest)).ok_or_else(odd)?;
    let extra = if redacted { digest.to_string().into_bytes() } else { line.as_bytes().to_vec() };
    let placed = log.and_then(|log| Some((log, log.place(&digest).filter(|place| *place < log.signed)?)));
    let Some((store, (log, index))) = store.zip(placed) else { return Ok((bare(&extra), Level::Intact)) };
    let cosigned = log.witnessed.as_ref().filter(|seen| index < seen.size);
    let (name, level) =
        if cosigned.is_some() { (WITNESSED, Level::Witnessed) } else { (super::store::CHECKPOINT, Level::Sealed) };
    let text = store.text(name)?.unwrap_or_default();
    let wrong = |what: String| Failure::new(Code::StorageFailed, format!("`{name}`: {what}"));
    let note = Note::parse(&text).map_err(wrong)?;
    let size = Checkpoint::parse(&note.text).map_err(wrong)?.size;
    let tree = Whole::new(log.leaves.iter().map(|leaf| leaf_hash(&leaf.0)).collect());
    let path = inclusion(&tree, index, size).map_err(wrong)?.unwrap_or_default();
    Ok((Proof { extra, index, path, note }.to_string(), level))
}

const BARE: &str = "aops-proof/v1 intact\nextra ";

/// Without a signed log there is nothing but the entry, whose digest holds.
fn bare(extra: &[u8]) -> String {
    format!("{BARE}{}\n", aops_proof::text::base64(extra))
}
