//! Claude Code: what it sends, how it wants to be answered, and the files it keeps.
//!
//! No other folder knows its JSON. Another client is a folder beside this one.

pub mod wire;
pub mod settings;
pub mod disarm;
pub mod usage;
pub mod transcript;
pub mod past;
