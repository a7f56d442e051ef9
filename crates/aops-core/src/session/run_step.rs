//! One step of a run, as its driver began it, and its progress so far.
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
    /// This step must commit and push the work.
    pub closes: bool,
    /// User's checks that failed and have not passed since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<String>,
    /// Hash of the key that only the driver and its client know.
    pub key_sha256: String,
    /// A note by the person who decided.
    pub note: Option<String>,
    pub phase: Phase,
    /// The step's prompt was seen.
    pub prompted: bool,
    /// The last refusal, if nothing was done after it.
    pub refused: Option<StepRefusal>,
    pub run_id: String,
    /// What the step's agent reported: a verdict, the workflow of a plan, the outcome of a reflection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    pub sandbox: Sandbox,
    pub step: String,
    /// This step verifies the changes since the last verification.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verifies: bool,
    /// Checks that a person waived for this step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waived: Vec<String>,
}

/// What was refused in a step, or was not run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRefusal {
    /// The gate that refused it; `None` if the client did not run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Stored<GateId>>,
    pub what: Option<String>,
}
