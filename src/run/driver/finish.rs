//! How a run ended or paused, and what a person does next.
//!
//! Reads nothing, writes nothing.

use crate::run::status::{Decision, Outcome};
use std::path::PathBuf;

/// The end of a run, or of this part of it.
#[derive(Clone, Debug)]
pub struct Finish {
    pub run_id: String,
    pub outcome: Outcome,
    pub reason: String,
    pub packet: PathBuf,
    /// What to do next.
    pub hint: Option<String>,
}

/// The commands that continue a paused run, on one line.
pub fn describe_next_step(checkpoint_id: &str, wants_decision: bool, decided: Option<Decision>) -> String {
    match decided {
        None if wants_decision => format!(
            "decide with `aops-hook resolve {checkpoint_id} --approve` or `--reject`, then `aops-hook resume {checkpoint_id}`"
        ),
        _ => format!("go on with `aops-hook resume {checkpoint_id}`"),
    }
}
