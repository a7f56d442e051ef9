//! A step of a call, and what it says by itself.

use super::{CallAsked, CallDenied, CallEnded, CallMeans, Said};
use crate::model::agent::ours;
use crate::model::call::{CallKey, CallState, Effect};
use crate::model::gate_id::GateId;
use crate::model::named::Stored;
use crate::model::profile::Losses;
use crate::session::observed::Observed;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::sync::LazyLock;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Step {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// With PENDING.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<Box<CallAsked>>,
    pub call: CallKey,
    /// With DENIED.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<CallDenied>,
    /// With COMPLETED and FAILED.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Box<CallEnded>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<CallState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Stored<GateId>>,
    pub input_sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// For the attestation of commits, where they are attested: before the call with PENDING, else after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Box<Observed>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// With PENDING, in mode `observe`: what the mode that is rehearsed would have said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsed: Option<Said>,
    pub to: CallState,
}

impl Step {
    /// What the call means, where this step asks for it.
    pub fn means(&self) -> &CallMeans {
        static NOTHING: LazyLock<CallMeans> = LazyLock::new(CallMeans::default);
        self.asks.as_deref().map_or_else(|| &*NOTHING, |asks| &asks.means)
    }

    pub fn effect(&self) -> Option<Effect> {
        self.means().effect
    }

    pub fn input(&self) -> Option<&RawValue> {
        self.asks.as_deref()?.input.as_deref()
    }

    /// What the call came to, where this step ends it.
    pub fn ended(&self) -> &CallEnded {
        static NOTHING: LazyLock<CallEnded> = LazyLock::new(CallEnded::default);
        self.end.as_deref().unwrap_or_else(|| &*NOTHING)
    }

    /// The rule that refused it.
    pub fn rule(&self) -> Option<&str> {
        self.denied.as_ref()?.rule.as_deref()
    }

    /// The result of this command is gone with a throwaway layer, as what our own agents try out always is.
    pub fn is_unsaved(&self) -> bool {
        self.lost().is_some()
            && self.ended().under.jailed.as_ref().is_some_and(|proof| !proof.profile.is_quiet())
    }

    pub fn lost(&self) -> Option<&Losses> {
        let ours = self.is_by_ours();
        self.ended().under.jailed.as_ref().map(|proof| &proof.lost).filter(|lost| !ours && !lost.is_empty())
    }

    /// The call was made by one of our agents.
    pub fn is_by_ours(&self) -> bool {
        self.agent_id.is_some() && self.agent_type.as_deref().is_some_and(|name| ours(name).is_some())
    }
}
