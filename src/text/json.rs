//! JSON in its canonical form, with every secret redacted.
//!
//! The form itself is `aops_ledger::json`. Invariant: no string is written here before it went through [`redact_under`].

pub use aops_ledger::json::{Json, cut, member, quoted, read};

use crate::text::redact::redact_under;

/// The RFC 8785 form.
pub fn canonical(json: &Json) -> String {
    json.canonical(redact_under)
}

/// The same, at most `bound` bytes, every longer text replaced by its beginning, length and digest.
pub fn clipped(json: &Json, longest_text: usize, bound: usize) -> String {
    json.clipped(redact_under, longest_text, bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_redacted_wherever_they_are() {
        let key = format!("sk-ant-{}", "A1b2C3d4E5f6G7h8I9j0".repeat(2));
        let document = format!(r#"{{"a":["{key}"],"{key}":1,"password":"hunter2hunter2"}}"#);
        for text in [canonical(&read(&document).unwrap()), clipped(&read(&document).unwrap(), 2048, 12_000)] {
            assert!(!text.contains(&key) && !text.contains("hunter2"), "{text}");
        }
    }
}
