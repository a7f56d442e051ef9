//! The details of a session's start: its client, and what the guard watches. Stored types: fields in sorted
//! order.

use super::{Baseline, TurnBefore};
use crate::model::named::Stored;
use crate::model::profile::JailState;
use crate::model::start_source::StartSource;
use crate::session::memory::ClientProcess;
use crate::session::names_taken::NamesTaken;
use crate::session::watched::Watched;
use serde::{Deserialize, Serialize};

/// `SessionStart`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SessionStarted {
    /// Why this client cannot start agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agentless: Option<String>,
    /// What was uncommitted at the first start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// The previous turn had no Stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<TurnBefore>,
    /// Another client of this session is alive, and the session stays that client's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beside: bool,
    pub boot: String,
    /// The client that sends the events, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientProcess>,
    /// The project's file with a hook of its own for this event; the hook may send the first prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub greets: Option<String>,
    /// The jail for shell commands, if the client starts them through us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jail: Option<JailState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names_taken: Option<NamesTaken>,
    /// A file with a hook that may answer in a person's place when the client asks about a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_hook: Option<String>,
    pub root: String,
    pub source: Stored<StartSource>,
    /// The span of the client's own trace, as it passed it on (`00-trace-span-flags`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    pub watched: Watched,
}
