//! The operating system: environment, clock, random bytes, signals, processes, files, locks, git.
//!
//! The folders above this one are pure.

pub use aops_ledger::{folder, lock};

pub mod held_network;
mod started;
pub mod files;
pub mod glob;
pub mod disk;
pub mod leading;
mod moved;
pub mod env;
pub mod random;
pub mod limits;
#[cfg(test_switches)]
pub mod switched_off;
pub mod signal;
pub mod threads;
pub mod superusers;
#[cfg(target_os = "linux")]
pub mod channel;
pub mod process;
pub mod git;
pub mod lookup;
pub mod fleet_home;
pub mod wire;
pub mod ssh_agent;
