//! A step of a call, and its details.

use super::{CallAsked, CallDenied, CallEnded, CallMeans, Said};
use crate::model::agent::ours;
use crate::model::call::{CallKey, CallState, Effect};
use crate::model::gate_id::GateId;
use crate::model::named::Stored;
use crate::model::permission_mode::PermissionMode;
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
    /// Set when `to` is PENDING.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<Box<CallAsked>>,
    pub call: CallKey,
    /// Set when `to` is DENIED.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<CallDenied>,
    /// Set when `to` is COMPLETED or FAILED.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Box<CallEnded>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<CallState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Stored<GateId>>,
    pub input_sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Stored<PermissionMode>>,
    /// For the attestation of commits, if they are attested: the state before the call at PENDING, otherwise
    /// after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Box<Observed>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// At PENDING in mode `observe`: what the rehearsed mode would have said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsed: Option<Said>,
    pub to: CallState,
}

impl Step {
    /// What the call means, if this step asks for it; otherwise the default.
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

    /// The call's results, if this step ends it; otherwise the default.
    pub fn ended(&self) -> &CallEnded {
        static NOTHING: LazyLock<CallEnded> = LazyLock::new(CallEnded::default);
        self.end.as_deref().unwrap_or_else(|| &*NOTHING)
    }

    /// The user's rules that warned about it, if this step asks for it.
    pub fn warned(&self) -> &[String] {
        self.asks.as_deref().map_or(&[], |asks| &asks.warned)
    }

    /// The rule that refused it.
    pub fn rule(&self) -> Option<&str> {
        self.denied.as_ref()?.rule.as_deref()
    }

    /// The result of this command was lost with a throwaway layer. What our own agents try out is always
    /// lost.
    pub fn is_unsaved(&self) -> bool {
        self.lost().is_some()
            && self.ended().under.jailed.as_ref().is_some_and(|proof| !proof.profile.is_quiet())
    }

    pub fn lost(&self) -> Option<&Losses> {
        let ours = self.is_by_ours();
        self.ended().under.jailed.as_ref().map(|proof| &proof.lost).filter(|lost| !ours && !lost.is_empty())
    }

    /// One of our agents made the call.
    pub fn is_by_ours(&self) -> bool {
        self.agent_id.is_some() && self.agent_type.as_deref().is_some_and(|name| ours(name).is_some())
    }
}
