//! The limits of this process: another one of the same user may have lowered them.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// This process is about to read keys: when it dies, nothing of it is written to the disk. Nobody in the jail can
/// raise a hard limit.
pub fn keep_secrets() {
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
}

/// Raises what keeps us from writing, as far as the hard limit lets us.
pub fn raise() {
    for resource in [Resource::Fsize, Resource::Nofile] {
        let maximum = getrlimit(resource).maximum;
        let _ = setrlimit(resource, Rlimit { current: maximum, maximum });
    }
}
