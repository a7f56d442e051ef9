//! Which entries have their head exported, and whether a ledger has entries whose required head is missing.

use crate::ledger::entry::Line;
use crate::model::call::CallState;
use crate::model::error::{Code, Failure};
use crate::session::fact::Fact;
use crate::system::folder;
use std::fs::File;

/// The head is exported with every entry that somebody might want to undo: a refusal, a block and its end, a
/// verdict, a waiver, a violation; and at the end of a turn.
pub fn exports(fact: &Fact) -> bool {
    match fact {
        Fact::Block(_)
        | Fact::Unblock(_)
        | Fact::Verdict(_)
        | Fact::Waive(_)
        | Fact::Task(_)
        | Fact::Violation(_)
        | Fact::Insights(_) => true,
        Fact::Call(step) => step.to == CallState::Denied,
        Fact::Event(seen) => seen.ends_turn() || seen.is_refused(),
        _ => false,
    }
}

/// The exported heads of a ledger end at entry `newest`, although later entries were flushed to the disk and
/// required an export. A killed hook can leave out only the last one; not even that one if its entry, up to
/// `sealed_to`, is in the log.
pub fn check_heads(ledger: &File, long: u64, newest: u64, sealed_to: u64) -> Result<(), Failure> {
    let mut owed = Vec::new();
    let mut export = false;
    let mut synced = false;
    folder::each_line(ledger, start_of_unexported(ledger, long, newest)?, long, |_, line| {
        let Some(line) = line.strip_suffix(b"\n").and_then(Line::read) else { return Some(()) };
        if let Some(fact) = Fact::read(line.kind, line.with) {
            export |= exports(&fact);
            synced |= fact.must_sync();
        }
        if line.mark.is_some() {
            owed.extend(Some(line.seq).filter(|seq| export && synced && *seq > newest));
            export = false;
            synced = false;
        }
        Some(())
    })?;
    let seq = match owed.as_slice() {
        [.., seq, last] => {
            if *last <= sealed_to {
                last
            } else {
                seq
            }
        }
        [only] if *only <= sealed_to => only,
        _ => return Ok(()),
    };
    let left =
        if newest == 0 { "holds none of this session".to_owned() } else { format!("ends at entry {newest}") };
    let what = format!("`heads.jsonl` {left}, but the head of entry {seq} was exported: it was removed");
    Err(Failure::new(Code::RecoveryFailed, what))
}

/// Position of a line of entry `newest` or an earlier one, so that all later entries follow it; searched from
/// the end.
fn start_of_unexported(ledger: &File, long: u64, newest: u64) -> Result<u64, Failure> {
    let mut window = 64 << 10;
    while window < long {
        let bytes = folder::read_at(ledger, "lines", long - window, window)?;
        let line = bytes.iter().position(|b| *b == b'\n').map(|end| end + 1);
        let first = line.and_then(|start| {
            Some((start, bytes[start..].split(|b| *b == b'\n').next().and_then(Line::read)?))
        });
        if let Some((start, line)) = first
            && line.seq <= newest
        {
            return Ok(long - window + start as u64);
        }
        window *= 4;
    }
    Ok(0)
}
