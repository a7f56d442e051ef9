//! The canonical form of a stored type, and the digest of it.
//!
//! Stored types must declare their fields in sorted order: then the plain serialisation is the RFC 8785 form.

use crate::sha256::sha256;
use serde::Serialize;

/// The canonical form. Cannot fail: stored types hold no map whose keys are not strings.
pub fn canonical<T: Serialize>(stored: &T) -> String {
    serde_json::to_string(stored).unwrap_or_default()
}

pub fn digest_of<T: Serialize>(stored: &T) -> String {
    sha256(&[canonical(stored).as_bytes()])
}
