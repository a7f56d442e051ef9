//! A task as it was when the person interrupted it.
//!
//! Reads nothing, writes nothing. Stored type: fields in sorted order.

use crate::model::phase::{Phase, Sandbox};
use crate::session::hydration::Hydration;
use crate::session::task_progress::TaskProgress;
use serde::{Deserialize, Serialize};

/// At most this many tasks stay parked; the oldest is dropped first.
pub const MOST_PARKED: usize = 4;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    /// A question of the person replaced it; it was not interrupted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub audit_due: bool,
    /// The digest of the uncommitted files that were not its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_sha256: Option<String>,
    /// How many uncommitted files it changed.
    pub files: u64,
    pub hydration: Hydration,
    pub intent: Option<String>,
    /// A limited list of these files: relative to the project's root, absolute outside of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    pub phase: Phase,
    pub progress: Box<TaskProgress>,
    pub sandbox: Sandbox,
    /// The person's last prompt asks to continue it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wanted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    pub writes: u64,
}
