//! The operating system: environment, clock, signals, processes, files, locks, git.
//!
//! Everything above this folder is pure; what is below asks here.

pub mod env;
pub mod random;
pub mod signal;
pub mod lock;
pub mod process;
pub mod files;
pub mod folder;
pub mod git;
