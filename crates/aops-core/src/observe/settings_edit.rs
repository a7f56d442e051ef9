//! Predicts whether an edit of one of the client's settings files keeps our hooks.
//!
//! Reads that file, for a call that edits it. Invariant: if the new text cannot be predicted for sure,
//! nothing is said about it.

use crate::gate::SettingsEdit;
use crate::gate::guard::{self, Protected};
use crate::host::claude::disarm;
use crate::model::call::ToolCall;
use crate::observe::checks::{current_text, proposed_text};
use crate::tool::targets::Targets;
use std::path::Path;

pub(super) fn of_call(protected: &Protected, call: &ToolCall, reach: &Targets) -> Option<SettingsEdit> {
    if !guard::edits_settings(protected, reach) {
        return None;
    }
    let target = reach.paths.first()?;
    let path = target.real.as_ref().unwrap_or(&target.path).literal()?;
    let path = Path::new(&path);
    let tool = &call.key.tool;
    let new = String::from_utf8(proposed_text(tool, &call.input, path)?).ok()?;
    let old = current_text(path)?;
    Some(disarm::alters(&old, &new).map_or(SettingsEdit::Keeps, SettingsEdit::Loses))
}
