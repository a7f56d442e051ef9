//! Raises the limits of this process: another process of the same user may have lowered them.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limits on writing as far as the hard limits allow.
pub fn raise() {
    for resource in [Resource::Fsize, Resource::Nofile] {
        let maximum = getrlimit(resource).maximum;
        let _ = setrlimit(resource, Rlimit { current: maximum, maximum });
    }
}
