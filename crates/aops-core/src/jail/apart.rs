//! A namespace of processes for a program that holds others: the kernel ends all of them with its first one.
//!
//! Changes this process alone. Invariant: numbers of processes and what `/proc` shows are of the same
//! namespace, or there is none.

#[cfg(target_os = "linux")]
use super::{namespaces, user};

/// The next process that this one starts is the first of a namespace of its own. After an error this process
/// must end.
#[cfg(target_os = "linux")]
pub fn separate() -> Result<(), String> {
    user::unshare_as_allowed(libc::CLONE_NEWNS | libc::CLONE_NEWPID)
}

#[cfg(not(target_os = "linux"))]
pub fn separate() -> Result<(), String> {
    Err("only Linux has namespaces of processes".to_owned())
}

/// For that first process: shows `/proc` of the namespace. False where it cannot, as in some containers.
pub fn see_own() -> bool {
    #[cfg(target_os = "linux")]
    return rustix::process::getpid().is_init() && namespaces::own_proc();
    #[cfg(not(target_os = "linux"))]
    false
}
