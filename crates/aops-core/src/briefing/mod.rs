//! What the model is told: at the start of a session, with a prompt, and when one of our agents starts.
//!
//! Asks tracker, memory server and notes, each under a deadline.

pub mod tracker;
pub mod notes;
pub mod hits;
pub mod memory;
pub mod past;
pub mod sources;
pub mod session_start;
pub mod agent;
mod handed_back;
pub mod prompt;
pub mod reflections;
pub mod learnings;
pub mod refresh;
