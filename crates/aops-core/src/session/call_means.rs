//! What a call means to the gates, from its question to its end. Stored types: fields in sorted order.

use super::growth::ChangedFile;
use super::quieted::Quieted;
use crate::config::policy::is_default;
use crate::model::call::Effect;
use crate::model::profile::Profile;
use crate::tool::tracking::Tracks;
use serde::{Deserialize, Serialize};

/// What the gates need to know about a call until it has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallMeans {
    /// A run paused for it: it will come again under the same ID.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deferred: bool,
    /// It changes something, and so counts as work when it has ended; `None` if it only reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// It is the command of `close.format`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub formats: bool,
    /// The file as the edit will leave it, if that is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grows: Option<ChangedFile>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub jailing: Jailing,
    /// It was answered in the person's place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<Box<Quieted>>,
    /// When it was asked about, if its changes are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<i64>,
    /// Its success is the evidence that `evidence.test` requires.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tests: bool,
    /// What it does to issues in the tracker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tracks: Vec<Tracks>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jailing {
    /// The danger rules that found a loss. If set, what it would lose is kept before it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps: Option<Vec<String>>,
    /// Digest of the command without its secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_sha256: Option<String>,
    /// It only reads, but needs the network for that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub online: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Hosts that a person is asked about: if the command starts, it may reach them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wants: Vec<String>,
}
