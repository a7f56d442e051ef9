//! Survives the two ways the system ends a process that could still answer.
//!
//! Changes how this process takes signals and panics. Why: the host lets a call pass whose hook died, so dying is the one
//! thing a guard must not do.

/// A file-size limit becomes an error of `write`, which we refuse on, instead of a kill.
#[cfg(unix)]
pub fn survive_file_size_limit() {
    #[expect(unsafe_code, reason = "no safe crate offers SIG_IGN; the call has no memory effects")]
    // SAFETY: SIG_IGN is a valid disposition and no handler of ours runs.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}
