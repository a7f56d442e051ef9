//! The commands of `aops-hook`: everything that a person asks for, and everything that talks to another
//! machine.
//!
//! What runs at every event is in the crate [`aops_core`], which does not depend on this one. **A folder may
//! use only folders declared above it, and inside a folder a file may use only files declared above it.** A
//! test reads every list.
//! `docs/architecture.md` has the picture.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "a test is a story, told in one go"))]

pub mod refusal; // a command that is refused, and its exit code
pub mod remote; // other machines: encrypted connections, the shared database, copies of a repository
pub mod attest; // statements about commits: made, signed, published
pub mod refresh; // the background worker: tracker, witnesses, sending results
pub mod run; // unattended runs
pub mod cli; // one file or folder per command
