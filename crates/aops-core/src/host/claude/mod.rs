//! Claude Code: the events it sends, the answers it expects, and the files it keeps.
//!
//! No other folder knows its JSON. Each other client has a folder next to this one.

pub mod wire;
pub mod settings;
pub mod disarm;
pub mod usage;
pub mod transcript;
pub mod past;
