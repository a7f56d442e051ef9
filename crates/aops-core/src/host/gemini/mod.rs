//! Everything that knows Gemini CLI, and Qwen Code, which came out of it: their events and answers, their settings.
//!
//! Both have the same tools; Qwen has Claude's events and answers, Gemini its own. Invariant: measured against the releases
//! that `host::table` names.

pub mod read;
pub mod answer;
pub mod hooks;
