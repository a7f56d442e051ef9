//! The canonical form of a stored type, and the digest of it.
//!
//! Reads nothing, writes nothing. Invariant: stored types declare their fields in sorted order, so the plain
//! serialisation is the RFC 8785 form; a test holds every stored type to that.

use crate::text::sha256::sha256;
use serde::Serialize;

/// The canonical form of a stored type. Cannot fail: stored types hold no map with keys that are not text.
pub fn canonical<T: Serialize>(stored: &T) -> String {
    serde_json::to_string(stored).unwrap_or_default()
}

/// The digest of that form.
pub fn digest_of<T: Serialize>(stored: &T) -> String {
    sha256(&[canonical(stored).as_bytes()])
}
