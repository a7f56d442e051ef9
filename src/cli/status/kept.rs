//! The row of `status` about saved data.

use crate::cli::table::{NamedFact, Tone};
use aops_core::session::fold::Session;
use aops_core::text::plain::count;

/// How often data was saved before a command ran.
pub(super) fn describe_kept(session: &Session) -> Option<NamedFact> {
    let kept = session.memory.undo.kept?;
    let words = format!(
        "{}; `aops-hook undo {}` brings back the last, `aops-hook undo list` shows all",
        count(kept.times, "time"),
        kept.newest
    );
    Some(("kept", words, Tone::Plain))
}
