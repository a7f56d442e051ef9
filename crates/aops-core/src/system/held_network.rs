//! The network of a session, in the form that we pass to the programs that we start on an agent's files.
//!
//! Pure: converts it to a string and back.

use std::path::PathBuf;

/// The network of a session, for the programs that we start on an agent's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldNetwork {
    /// Sockets of outside programs are hidden too, and without the session's network there is none at all.
    pub closes: bool,
    /// The folder of the session, or of the run; `None` if it is unknown.
    pub session: Option<PathBuf>,
    /// Sockets that stay visible.
    pub sockets: Vec<PathBuf>,
}

impl HeldNetwork {
    const SHUT: &str = "shut";

    /// One line for each part. A path that is not UTF-8 is changed by the conversion and then leads to no
    /// network.
    pub fn to_text(&self) -> String {
        let told = |path: &PathBuf| path.to_string_lossy().into_owned();
        let session = self.session.as_ref().map(told).unwrap_or_default();
        let first = [if self.closes { Self::SHUT } else { "open" }.to_owned(), session];
        first.into_iter().chain(self.sockets.iter().map(told)).collect::<Vec<_>>().join("\n")
    }

    pub fn of_text(text: &str) -> Self {
        let mut lines = text.split('\n');
        let closes = lines.next() == Some(Self::SHUT);
        let session = lines.next().filter(|path| !path.is_empty()).map(PathBuf::from);
        Self { closes, session, sockets: lines.map(PathBuf::from).collect() }
    }
}
