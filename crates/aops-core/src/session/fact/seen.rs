//! What an event tells.

use super::{Said, Seen};
use crate::model::event::EventKind;
use crate::session::prompt::Prompt;
use crate::text::json;

impl Seen {
    /// The end of a turn or of the session.
    pub fn ends_turn(&self) -> bool {
        matches!(EventKind::of(&self.event), EventKind::Stop | EventKind::SessionEnd)
    }

    pub fn is_refused(&self) -> bool {
        self.said.as_ref().is_some_and(Said::refuses)
    }

    /// A prompt that the client did not make itself, such as the notice that an agent has ended.
    pub fn is_persons_prompt(&self) -> bool {
        let meant = || self.meant.unwrap_or_else(|| Prompt::of(&self.words("prompt").unwrap_or_default()));
        EventKind::of(&self.event) == EventKind::UserPromptSubmit && meant() != Prompt::Machine
    }

    /// A text field of the event; a clipped one by its beginning.
    pub fn words(&self, name: &str) -> Option<String> {
        json::text_in(self.about.get(), name)
    }
}
