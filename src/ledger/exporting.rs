//! Which entries have their head exported, and whether a ledger has entries whose head must be there and is not.

use crate::ledger::entry::Line;
use crate::model::call::CallState;
use crate::model::error::{Code, Failure};
use crate::session::fact::Fact;
use crate::system::folder;
use std::fs::File;

/// The head is exported with everything that would be worth taking back: a refusal, a block and its end, a verdict, a
/// waiver, a violation; and at the end of a turn.
pub fn exports(fact: &Fact) -> bool {
    match fact {
        Fact::Block(_)
        | Fact::Unblock(_)
        | Fact::Verdict(_)
        | Fact::Waive(_)
        | Fact::Violation(_)
        | Fact::Insights(_) => true,
        Fact::Call(step) => step.to == CallState::Denied,
        Fact::Event(seen) => seen.ends_turn() || seen.said.as_ref().is_some_and(|said| said.ruling == "deny"),
        _ => false,
    }
}

/// The exported heads of a ledger end at entry `newest`, but later ones were forced to the disk. A hook that is killed can
/// leave the last one out, and no other.
pub fn check_heads(ledger: &File, long: u64, newest: u64) -> Result<(), Failure> {
    let (mut owed, mut export, mut synced) = (Vec::new(), false, false);
    folder::each_line(ledger, 0, long, |_, line| {
        let Some(line) = line.strip_suffix(b"\n").and_then(Line::read) else { return Some(()) };
        if let Some(fact) = Fact::read(line.kind, line.with) {
            export |= exports(&fact);
            synced |= fact.must_sync();
        }
        if line.mark.is_some() {
            owed.extend(Some(line.seq).filter(|seq| export && synced && *seq > newest));
            (export, synced) = (false, false);
        }
        Some(())
    })?;
    let [.., seq, _] = owed.as_slice() else { return Ok(()) };
    let left = if newest == 0 { "holds none of this session".to_owned() } else { format!("ends at entry {newest}") };
    let what = format!("`heads.jsonl` {left}, but the head of entry {seq} was exported: it was removed");
    Err(Failure::new(Code::RecoveryFailed, what))
}
