//! The operating system: environment, clock, random bytes, signals, processes, files, locks, git.
//!
//! The folders above this one are pure.

pub mod env;
pub mod random;
pub mod signal;
pub mod lock;
pub mod process;
pub mod files;
pub mod folder;
pub mod git;
