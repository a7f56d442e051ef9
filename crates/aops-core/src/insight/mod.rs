//! The insights of a session, derived from its ledger and transcript; and the report over many sessions.

pub mod document;
mod hosts;
mod lists;
pub mod timeline;
mod outcome;
pub mod tally;
pub mod week;
pub mod collect;
pub mod report;
