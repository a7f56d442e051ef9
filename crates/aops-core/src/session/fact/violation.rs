//! Something that cannot happen while client and hook work correctly. Stored type: fields in sorted order.

use super::{Said, Unasked};
use crate::model::call::CallKey;
use crate::model::event::{Event, EventKind};
use crate::model::named::{Stored, named};
use crate::text::json::cut;
use serde::{Deserialize, Serialize};

named! {
    /// What happened although it cannot.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ViolationKind {
        /// One of our agents ended, and no event reported it.
        AgentLost = "agent_lost",
        /// A call was asked about again after it had ended: it is refused, and its record stays.
        AskedAgain = "asked_again",
        /// The client keeps the transcript in the folder of another project than the session's. Recorded
        /// once.
        Elsewhere = "elsewhere",
        /// A program uses our name but is not ours.
        Impostor = "impostor",
        /// An event could not be recorded when it came.
        Late = "late",
        /// A prompt, start or end of the session came, although the previous turn had no Stop.
        NoStop = "no_stop",
        /// Another hook approved something that needed a person.
        Overridden = "overridden",
        /// A refused call was run.
        RanDenied = "ran_denied",
        /// An ID was used for a second call while the first was running.
        ReusedId = "reused_id",
        /// A call ran that was never asked about.
        #[default]
        Unasked = "unasked",
        /// A command left no proof of the jail that it had to run in.
        Unjailed = "unjailed",
        /// A turn began, but we saw no session start in its client. Recorded once until we see one.
        Unstarted = "unstarted",
    }
}

impl ViolationKind {
    /// It also happens when a client or hook is killed, acts within its rights or finds the disk full.
    /// Nothing ran that we were not asked about, so it does not suggest tampering.
    pub fn is_harmless(self) -> bool {
        matches!(self, Self::AskedAgain | Self::Elsewhere | Self::Late | Self::NoStop | Self::Unstarted)
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Violation {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallKey>,
    pub event: Stored<EventKind>,
    pub kind: ViolationKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Said>,
    /// What the unasked call did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unasked: Option<Unasked>,
    /// The violation in words for people.
    pub violation: String,
}

impl Violation {
    pub const UNJAILED: &str = "a command ran outside the session's jail";
    pub const ENDED: &str = "a call that had ended was asked for again";
    pub const NO_STOP: &str =
        "the previous turn ended without its Stop: its hook was killed or did not run, or the client died";
    pub const UNSTARTED: &str = "the start of the session was not seen: its hook was killed or did not run";
    pub const ELSEWHERE: &str = "project folder mismatch";

    pub fn of(event: &Event, kind: ViolationKind, words: impl Into<String>) -> Self {
        Self {
            agent_id: event.agent_id.clone(),
            event: Stored::of(cut(&event.name, 64)),
            kind,
            violation: words.into(),
            ..Self::default()
        }
    }
}
