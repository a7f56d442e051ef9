//! The canonical form of a stored type, and the digest of it.
//!
//! Stored types must declare their fields in sorted order: then the plain serialisation is the RFC 8785 form.

use crate::page::Page;
use crate::sha256::sha256;
use serde::Serialize;

/// The canonical form. Cannot fail: stored types hold no map whose keys are not strings.
pub fn canonical<T: Serialize>(stored: &T) -> String {
    serde_json::to_string(stored).unwrap_or_default()
}

/// Adds the canonical form to this page.
pub fn write_canonical<T: Serialize>(stored: &T, to: &mut Page) {
    let _ = serde_json::to_writer(to, stored); // a page takes everything
}

pub fn digest_of<T: Serialize>(stored: &T) -> String {
    sha256(&[canonical(stored).as_bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_holds_what_was_written_since_it_was_cleared() {
        let mut page = Page::default();
        for long in [0, 1, 7, 4096, 3] {
            let text = "\"x".repeat(long);
            page.clear();
            write_canonical(&text, &mut page);
            assert_eq!(page.bytes(), canonical(&text).as_bytes());
            write_canonical(&long, &mut page);
            assert_eq!(page.bytes(), (canonical(&text) + &long.to_string()).as_bytes());
        }
    }
}
