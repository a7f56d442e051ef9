//! What a call means to the gates, from its question to its end. Stored types: fields in sorted order.

use super::growth::ChangedFile;
use super::quieted::Quieted;
use crate::config::policy::is_default;
use crate::model::call::Effect;
use crate::model::profile::Profile;
use crate::tool::tracking::Tracks;
use serde::{Deserialize, Serialize};

/// What the gates need to know of a call until it has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallMeans {
    /// A run paused for it: it comes up again under the same id.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deferred: bool,
    /// It changes something, and so counts as work when it has ended; nothing where it is plain reading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// It is the command of `close.format`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub formats: bool,
    /// What the file of an edit will be, where that is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grows: Option<ChangedFile>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub jailing: Jailing,
    /// It was answered in the person's place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<Box<Quieted>>,
    /// When it was asked about, where what it changes is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<i64>,
    /// Its success is the evidence that `evidence.test` asks for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tests: bool,
    /// What it does to issues of the tracker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tracks: Vec<Tracks>,
}

/// How a command is to be jailed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jailing {
    /// What it would lose is kept before it runs; the danger rules that found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps: Option<Vec<String>>,
    /// The command without its secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_sha256: Option<String>,
    /// It only reads, and cannot without the network.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub online: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Hosts that a person is asked about: if it starts, it was allowed to reach them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wants: Vec<String>,
}
