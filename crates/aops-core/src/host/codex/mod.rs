//! Codex CLI: what it sends, how it wants to be answered, and the files it keeps.
//!
//! It speaks Claude's words with other tools, and fails open on everything but exit 2 with a reason on stderr.

pub mod read;
pub mod answer;
pub mod trust;
pub mod hooks;
pub mod rollout;
pub mod past;
