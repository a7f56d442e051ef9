//! What a task should achieve: the prompt, the plan's intent and criteria, and the review of the plan.
//!
//! Reads nothing, writes nothing. Stored type: fields in sorted order.

use crate::model::named::Stored;
use crate::model::outcome::AgentVerdict;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hydration {
    pub acceptance_criteria: Vec<String>,
    pub critic_verdict: Option<Stored<AgentVerdict>>,
    pub hydrated_intent: Option<String>,
    pub original_prompt: Option<String>,
}

impl Hydration {
    pub fn critic_said(&self, verdict: AgentVerdict) -> bool {
        self.critic_verdict.as_ref().is_some_and(|said| *said == verdict)
    }
}
