//! One step of a run, as its driver began it and as it went so far.
//!
//! Reads nothing, writes nothing. Stored types: fields in sorted order.

use crate::model::agent::AgentId;
use crate::model::gate_id::GateId;
use crate::model::named::Stored;
use crate::model::phase::{Phase, Sandbox};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStep {
    /// Which of our agents owes the step its verdict.
    pub agent: Option<Stored<AgentId>>,
    /// The deferred call that a person approved.
    pub approved: Option<String>,
    /// What was done is committed and pushed here.
    pub closes: bool,
    /// Checks of the user that failed and have not passed since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<String>,
    /// Hash of the key that only the driver and its client know.
    pub key_sha256: String,
    /// A note of the person who decided.
    pub note: Option<String>,
    pub phase: Phase,
    /// The step's prompt was seen.
    pub prompted: bool,
    /// The last refusal, as long as nothing was done after it.
    pub refused: Option<StepRefusal>,
    pub run_id: String,
    /// What the step's agent said: a verdict, the workflow of a plan, the outcome of a reflection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    pub sandbox: Sandbox,
    pub step: String,
    /// What was changed since the last verification is verified here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verifies: bool,
    /// Checks that a person lets this step go without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waived: Vec<String>,
}

/// What was refused in a step, or was not run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRefusal {
    /// The gate that refused it; nothing where the client did not run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Stored<GateId>>,
    pub what: Option<String>,
}
