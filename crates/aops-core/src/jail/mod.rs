//! The jail: the kernel enforces what the gates decided about a shell command.
//!
//! The client starts every command through `aops-hook shell`, which looks up the decision, enters namespaces
//! of its own (or Landlock, where those are forbidden) and becomes the shell. Invariants: a command runs at
//! least as confined as was decided for it, or it does not run; when its last process has ended, nothing of
//! the jail is left.

mod mounts;
pub mod wishes;
pub mod ground;
mod guarded;
pub mod plan;
pub mod environment;
pub mod line;
pub mod receipt;
mod program;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod changes;
#[cfg(target_os = "linux")]
mod layer;
#[cfg(target_os = "linux")]
mod user;
#[cfg(target_os = "linux")]
mod namespaces;
pub mod apart;
#[cfg(target_os = "linux")]
mod follow;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod prepared;
#[cfg(target_os = "linux")]
pub mod enter;
#[cfg(any(not(target_os = "linux"), test))]
mod seatbelt;
#[cfg(any(not(target_os = "linux"), test))]
pub mod elsewhere;
mod own;
pub mod unheld;
mod to_keep;
pub mod network;
pub mod confined;
pub mod shell;

#[cfg(not(target_os = "linux"))]
pub use elsewhere as enter;
