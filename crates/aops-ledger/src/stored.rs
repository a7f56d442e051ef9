//! The canonical form of a stored type, and the digest of it.
//!
//! Stored types must declare their fields in sorted order: then the plain serialisation is the RFC 8785 form,
//! except for maps with names from outside (such as files), whose order by UTF-16 units may differ. Those are
//! sorted again.

use crate::json::{read, unchanged};
use crate::page::Page;
use crate::sha256::sha256;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// The canonical form. Cannot fail: stored types contain no map with keys other than strings.
pub fn canonical<T: Serialize>(stored: &T) -> String {
    let plain = serde_json::to_string(stored).unwrap_or_default();
    sorted(plain.as_bytes()).unwrap_or(plain)
}

/// The canonical form as a value of its own: whoever stores it writes it as it is, however often.
pub fn canonical_value<T: Serialize>(stored: &T) -> Box<RawValue> {
    let plain = to_raw_value(stored).unwrap_or_default();
    let sorted = sorted(plain.get().as_bytes()).and_then(|text| RawValue::from_string(text).ok());
    sorted.unwrap_or(plain)
}

/// Adds the canonical form to this page.
pub fn write_canonical<T: Serialize>(stored: &T, to: &mut Page) {
    let before = to.bytes().len();
    let _ = serde_json::to_writer(&mut *to, stored); // writing to a page cannot fail
    if let Some(text) = sorted(&to.bytes()[before..]) {
        to.rewrite(before, text.as_bytes());
    }
}

/// The same with its names in order; `None` if they already are. The orders by bytes and by UTF-16 units
/// differ only for two characters of which one is beyond U+FFFF, and the other from U+E000 on.
fn sorted(plain: &[u8]) -> Option<String> {
    // Both checks read whole words; most texts end here.
    if plain.is_ascii() || plain.iter().fold(0, |most, byte| most.max(*byte)) < 0xF0 {
        return None;
    }
    if !plain.iter().any(|byte| matches!(byte, 0xEE | 0xEF)) {
        return None;
    }
    Some(read(std::str::from_utf8(plain).ok()?).ok()?.canonical(unchanged))
}

pub fn digest_of<T: Serialize>(stored: &T) -> String {
    sha256(&[canonical(stored).as_bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected order comes from another author's library.
    #[test]
    fn names_stand_in_the_order_of_their_utf_16_units() {
        let names = ["\u{fb33}", "\u{1f602}", "a", "\u{e000}", "\u{d7ff}", "\u{1d11e}x"];
        let map: std::collections::BTreeMap<&str, f64> =
            names.into_iter().zip([1.0, 2.5, 0.0, 4.0, 5.0, 6.0]).collect();
        let stored = (1, &map, "\u{1f602}");
        assert_eq!(canonical(&stored), serde_json_canonicalizer::to_string(&stored).unwrap());
        let mut page = Page::default();
        write_canonical(&7, &mut page);
        write_canonical(&map, &mut page);
        assert_eq!(page.bytes(), format!("7{}", canonical(&map)).as_bytes());
    }

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
