//! A PID namespace for a program that holds others: when its first process ends, the kernel kills all of
//! them.
//!
//! Changes this process alone. Invariant: process IDs and `/proc` belong to the same namespace, or there is
//! no namespace at all.

#[cfg(target_os = "linux")]
use super::{namespaces, user};

/// The next child of this process becomes the first process of a new PID namespace. After an error this
/// process must exit.
#[cfg(target_os = "linux")]
pub fn separate() -> Result<(), String> {
    user::unshare_as_allowed(libc::CLONE_NEWNS | libc::CLONE_NEWPID)
}

#[cfg(not(target_os = "linux"))]
pub fn separate() -> Result<(), String> {
    Err("only Linux has namespaces of processes".to_owned())
}

/// Called by that first process: mounts the namespace's own `/proc`. Returns false where that is impossible,
/// as in some containers.
pub fn see_own() -> bool {
    #[cfg(target_os = "linux")]
    return rustix::process::getpid().is_init() && namespaces::own_proc();
    #[cfg(not(target_os = "linux"))]
    false
}
