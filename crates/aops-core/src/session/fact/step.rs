//! What a step of a call says by itself.

use super::Step;
use crate::model::agent::ours;
use crate::model::profile::Losses;

impl Step {
    /// The result of this command is gone with a throwaway layer, as what our own agents try out always is.
    pub fn is_unsaved(&self) -> bool {
        self.lost().is_some() && self.jailed.as_ref().is_some_and(|proof| !proof.profile.is_quiet())
    }

    pub fn lost(&self) -> Option<&Losses> {
        let ours = self.agent_id.is_some() && self.agent_type.as_deref().is_some_and(|name| ours(name).is_some());
        self.jailed.as_ref().map(|proof| &proof.lost).filter(|lost| !ours && !lost.is_empty())
    }
}
