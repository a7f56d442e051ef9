//! How a session starts, as the client says it.

use crate::model::named::named;

named! {
    pub enum StartSource {
        Startup = "startup",
        Resume = "resume",
        Clear = "clear",
        Compact = "compact",
        Fork = "fork",
    }
}

impl StartSource {
    /// The client's process is a new one: timers and hooks of the one before it are gone.
    pub fn is_new_client(self) -> bool {
        matches!(self, Self::Startup | Self::Resume)
    }
}
