//! Answers in the person's place if no gate has spoken.

use super::turn::Turn;
use crate::gate::quiet;
use crate::model::verdict::Verdict;

impl Turn<'_> {
    /// An answer only replaces silence: if any gate says anything, the client asks as usual.
    pub(super) fn answer(mut self: Box<Self>) -> Box<Self> {
        let silent = self.verdict == Verdict::pass() && !self.repeated;
        let Some(seen) = self.context.call_mut() else { return self };
        if !silent {
            seen.quiet = None;
        }
        if let Some(found) = seen.quiet.clone() {
            seen.danger.keeps = found.keeps.unwrap_or_else(|| std::mem::take(&mut seen.danger.keeps));
            self.verdict = quiet::answer(self.session(), &found.recorded);
        }
        self
    }
}
