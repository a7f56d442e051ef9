//! The limits of this process: another one of the same user may have lowered them.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises what keeps us from writing, as far as the hard limit lets us.
pub fn raise() {
    for resource in [Resource::Fsize, Resource::Nofile] {
        let maximum = getrlimit(resource).maximum;
        let _ = setrlimit(resource, Rlimit { current: maximum, maximum });
    }
}
