//! What an event tells.

use super::Seen;
use crate::model::event::EventKind;
use crate::text::json;

impl Seen {
    /// The end of a turn or of the session.
    pub fn ends_turn(&self) -> bool {
        matches!(EventKind::of(&self.event), EventKind::Stop | EventKind::SessionEnd)
    }

    /// A text field of the event; a clipped one by its beginning.
    pub fn words(&self, name: &str) -> Option<String> {
        json::text_in(self.about.get(), name)
    }
}
