//! The operating system: environment, clock, signals, processes, files, locks, git.
//!
//! Everything above this folder is pure; what is below asks here.

pub use aops_ledger::{folder, lock};

pub mod env;
pub mod random;
pub mod signal;
pub mod process;
pub mod files;
pub mod git;
