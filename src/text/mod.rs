//! Text and bytes: forms that need no knowledge of the loop.
//!
//! JSON in its canonical form (RFC 8785), SHA-256, redaction of secrets, times, templates, YAML and diffs. Pure: no
//! module here touches files, the clock, the environment or a process.

pub mod time;
pub mod diff;
pub mod template;
pub mod sha256;
pub mod stored;
pub mod redact;
pub mod json;
pub mod yaml;
