//! Everything that knows OpenCode: the plugin that asks us, its events in our words, what it is answered.
//!
//! OpenCode has no hooks of its own that run commands: its plugin starts us for each event and throws our refusals.
//! Invariant: measured against the release that `host::table` names.

pub mod read;
pub mod answer;
pub mod plugin;
