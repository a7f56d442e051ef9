//! The ledger of a session: a chain of entries on disk, its lock, its recovery, and the list of all ledgers.
//!
//! Only this folder writes `ledger.jsonl` and `session-state.json`. The format is in `docs/ledger.md`.

pub use aops_ledger::{entry, lock};

pub mod chain;
pub mod heads;
pub mod session_folder;
pub mod recover;
pub mod exporting;
pub mod index;
pub mod clients;
pub mod recent;
pub mod sessions;
pub mod leases;
pub mod written;
pub mod second;
mod touched;
pub mod held;
pub mod open;
