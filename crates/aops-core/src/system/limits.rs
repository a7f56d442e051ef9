//! Raises the limits of this process: another process of the same user may have lowered them.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Called before keys are read: if this process dies, nothing of it is written to the disk. Nobody in the
/// jail can raise a hard limit.
pub fn keep_secrets() {
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
}

/// Raises the limits on writing as far as the hard limits allow.
pub fn raise() {
    for resource in [Resource::Fsize, Resource::Nofile] {
        let maximum = getrlimit(resource).maximum;
        let _ = setrlimit(resource, Rlimit { current: maximum, maximum });
    }
}
