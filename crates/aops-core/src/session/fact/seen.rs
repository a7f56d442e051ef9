//! An event of the client, and the details that every event has.

use super::{Baseline, Happened, PromptHeard, Said, SessionStarted, TurnBefore, TurnEnded};
use crate::config::policy::{Policy, is_default};
use crate::model::debt::DebtId;
use crate::model::event::EventKind;
use crate::model::named::Stored;
use crate::model::permission_mode::PermissionMode;
use crate::session::memory::Signed;
use crate::session::observed::Observed;
use crate::session::prompt::Prompt;
use crate::session::timer::TimerMark;
use crate::text::json;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// An event of the client that is not a step of a call.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Seen {
    /// The event's own fields: canonical, redacted, clipped.
    pub about: Box<RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    pub event: Stored<EventKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Stored<PermissionMode>>,
    /// For the attestation of commits, if they are attested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Box<Observed>>,
    /// With a new hash: its configuration, unless that is the shipped one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Box<Policy>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    /// Mode `observe`: what the rehearsed mode would have said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsed: Option<Said>,
    /// The run whose driver started the client, if that is proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Said>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub timers: TimersHeard,
    /// Why this start or prompt does not count as a person's, or why this agent's verdict does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unproven: Option<String>,
    #[serde(default, skip_serializing_if = "Happened::is_other")]
    pub what: Happened,
}

/// New prompts that timers will send: listed at the end of a turn, or set by a call that we were not asked
/// about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimersHeard {
    /// There are more timers than we remember.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new: Vec<TimerMark>,
}

impl Seen {
    /// An event of this kind without any details.
    pub fn of(kind: EventKind) -> Self {
        Self { event: kind.into(), what: Happened::of(kind), ..Self::default() }
    }

    pub fn kind(&self) -> EventKind {
        self.event.known().unwrap_or_default()
    }

    /// Also true at the end of the session.
    pub fn ends_turn(&self) -> bool {
        matches!(self.kind(), EventKind::Stop | EventKind::SessionEnd)
    }

    pub fn is_refused(&self) -> bool {
        self.said.as_ref().is_some_and(Said::refuses)
    }

    /// A prompt that the client did not make itself, unlike the notice that an agent has ended.
    pub fn is_persons_prompt(&self) -> bool {
        self.means().is_some_and(|means| means != Prompt::Machine)
    }

    pub fn means(&self) -> Option<Prompt> {
        self.prompt().map(|prompt| prompt.means)
    }

    pub fn prompt(&self) -> Option<&PromptHeard> {
        match &self.what {
            Happened::Prompted(prompt) => Some(prompt),
            _ => None,
        }
    }

    pub fn session_start(&self) -> Option<&SessionStarted> {
        match &self.what {
            Happened::SessionStarted(start) => Some(start),
            _ => None,
        }
    }

    pub fn turn_end(&self) -> Option<&TurnEnded> {
        match &self.what {
            Happened::Stopped(end) => Some(end),
            _ => None,
        }
    }

    /// At a prompt, start or end of the session: how the previous turn ended without its Stop.
    pub fn before(&self) -> Option<&TurnBefore> {
        match &self.what {
            Happened::Prompted(prompt) => prompt.before.as_ref(),
            Happened::SessionEnded(end) => end.before.as_ref(),
            Happened::SessionStarted(start) => start.before.as_ref(),
            _ => None,
        }
    }

    /// The uncommitted files from which on a task's own changes count.
    pub fn baseline(&self) -> Option<&Baseline> {
        match &self.what {
            Happened::Prompted(prompt) => prompt.baseline.as_ref(),
            Happened::SessionStarted(start) => start.baseline.as_ref(),
            _ => None,
        }
    }

    pub fn into_baseline(self) -> Option<Baseline> {
        match self.what {
            Happened::Prompted(prompt) => prompt.baseline,
            Happened::SessionStarted(start) => start.baseline,
            _ => None,
        }
    }

    /// What was still owed at a Stop, or because a Stop is missing.
    pub fn owed(&self) -> Option<&[Stored<DebtId>]> {
        match (self.turn_end(), self.before()) {
            (Some(end), _) => end.owed.as_deref(),
            (None, Some(TurnBefore::Owing(owed))) => Some(owed),
            _ => None,
        }
    }

    /// The signed state of the log at the end of a turn or of the session.
    pub fn log(&self) -> Option<&Signed> {
        match &self.what {
            Happened::Stopped(end) => end.log.as_ref(),
            Happened::SessionEnded(end) => end.log.as_ref(),
            _ => None,
        }
    }

    /// A string field of the event; if it was clipped, its beginning.
    pub fn words(&self, name: &str) -> Option<String> {
        json::text_in(self.about.get(), name)
    }
}
