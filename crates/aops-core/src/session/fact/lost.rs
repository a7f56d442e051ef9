//! Whether the result of a command is gone. Reads a step, changes nothing.

use super::Step;
use crate::model::agent::ours;
use crate::model::profile::Losses;

impl Step {
    /// The result of this command is gone with a throwaway layer, as what our own agents try out always is.
    pub fn is_unsaved(&self) -> bool {
        self.lost().is_some()
    }

    pub fn lost(&self) -> Option<&Losses> {
        let ours = self.agent_id.is_some() && self.agent_type.as_deref().is_some_and(|name| ours(name).is_some());
        self.jailed.as_ref().map(|proof| &proof.lost).filter(|lost| !ours && !lost.is_empty())
    }
}
