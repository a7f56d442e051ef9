//! How a session starts, according to the client.

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
    /// The client's process is new: timers and hooks of the previous one are gone.
    pub fn is_new_client(self) -> bool {
        matches!(self, Self::Startup | Self::Resume)
    }
}
