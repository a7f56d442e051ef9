//! Keeps what a call would lose, before it is answered.

use super::turn::Turn;
use crate::gate::{Keeps, danger, profile};
use crate::model::gate_id::GateId;
use crate::model::verdict::{Ruling, Verdict};
use crate::observe::keeping;

impl Turn<'_> {
    /// Keeps what the call would lose, unless another process does so right before the call runs. A dry run
    /// only says so.
    pub(super) fn keep(mut self: Box<Self>) -> Box<Self> {
        if self.env.dry_run {
            let passes = self.verdict.ruling <= Ruling::Allow;
            let seen = self.context.call().filter(|_| passes);
            if let Some(kept) = seen.and_then(|seen| danger::kept_first(self.session(), seen)) {
                let _ = self.env.told.kept.set(kept);
            }
            return self;
        }
        let is_last = self.verdict.ruling != Ruling::Deny && !self.repeated;
        let rules = match self.context.call().map(|seen| &seen.danger.keeps) {
            Some(Keeps::All { rules, .. }) if is_last => rules.clone(),
            _ => return self,
        };
        if profile::of_call(self.session(), self.event, &self.context).is_some() {
            return self;
        }
        if let Err(why) = keeping::keep(self.env, self.session(), self.event, &rules) {
            let hint = "hint: commit it or copy it below `/tmp` first, or ask the user to run the command";
            self.add(Verdict::deny(
                GateId::Danger,
                format!("what this would lose could not be kept: {why}\n{hint}"),
            ));
        }
        self
    }
}
