//! The row of `status` about saved data.

use crate::cli::table::{NamedFact, Tone};
use aops_core::checkpoint::store::Store;
use aops_core::session::fold::Session;
use aops_core::text::plain::count;
use aops_core::undo::shelf;
use std::path::Path;

/// How often data was saved before a command ran, and how to restore the last unless that was done.
pub(super) fn describe_kept(session: &Session, project: Option<&Path>) -> Option<NamedFact> {
    let kept = session.memory.undo.kept?;
    let store = project.and_then(|project| Store::look(project).ok()?);
    let undone = store.and_then(|store| shelf::undone(&store, kept.newest).ok()?).is_some();
    let last = if undone {
        format!("the last, {}, was brought back", kept.newest)
    } else {
        format!("`aops-hook undo {}` brings back the last", kept.newest)
    };
    let words = format!("{}; {last}; `aops-hook undo list` shows all", count(kept.times, "time"));
    Some(("kept", words, Tone::Plain))
}
