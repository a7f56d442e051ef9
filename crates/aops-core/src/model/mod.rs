//! The types that every other folder uses: errors, events, calls, agents, verdicts, phases.
//!
//! Plain data. Pure: no module here touches files, the clock, the environment or a process.

pub mod named;
pub mod client;
pub mod error;
pub mod outcome;
pub mod trigger;
pub mod start_source;
pub mod permission_mode;
pub mod phase;
pub mod profile;
pub mod worktree;
pub mod agent;
pub mod call;
pub mod event;
pub mod gate_id;
pub mod debt;
pub mod verdict;
