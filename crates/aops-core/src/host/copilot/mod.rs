//! Everything that knows Copilot CLI: its events and answers, its registration, the file of a session's events.
//!
//! Its events carry Claude's names where they are registered by them, and Claude's answers are read at `PreToolUse`.
//! Invariant: measured against the release that `host::table` names.

pub mod read;
pub mod answer;
pub mod hooks;
pub mod usage;
pub mod past;
