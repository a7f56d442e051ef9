//! What a session came to, derived from its ledger and transcript; and the report over many sessions.

pub mod document;
pub mod timeline;
pub mod tally;
pub mod week;
pub mod collect;
pub mod report;
