//! Text and bytes: formats that know nothing about the loop.
//!
//! JSON in its canonical form (RFC 8785), SHA-256, redaction of secrets, printable text, times, templates,
//! YAML and diffs. Pure: no module here touches files, the clock, the environment or a process. Digests and
//! stored types are `aops-ledger`'s.

pub use aops_ledger::{sha256, stored};

pub mod plain;
pub mod time;
pub mod diff;
pub mod git_object;
pub mod template;
pub mod redact;
pub mod json;
pub mod yaml;
pub mod frontmatter;
