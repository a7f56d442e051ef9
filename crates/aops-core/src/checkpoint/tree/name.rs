//! Stores file names as text, without loss.
//!
//! Pure. A byte that is not UTF-8 becomes one character of a private range (U+F780 to U+F7FF), and so do the
//! bytes of those characters themselves; otherwise two names could become one.

use std::borrow::Cow;

/// Stands for byte 0x80.
const FIRST: u32 = 0xF780;

pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(plain) = std::str::from_utf8(bytes)
        && !plain.chars().any(is_stand_in)
    {
        return Cow::Borrowed(plain);
    }
    let mut text = String::with_capacity(bytes.len() * 2);
    for piece in bytes.utf8_chunks() {
        for c in piece.valid().chars() {
            if is_stand_in(c) {
                text.extend(c.encode_utf8(&mut [0; 4]).bytes().map(stand_in));
            } else {
                text.push(c);
            }
        }
        text.extend(piece.invalid().iter().copied().map(stand_in));
    }
    Cow::Owned(text)
}

pub fn bytes(text: &str) -> Cow<'_, [u8]> {
    if !text.chars().any(is_stand_in) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match u8::try_from(u32::from(c).wrapping_sub(FIRST)) {
            Ok(low) if is_stand_in(c) => bytes.push(low + 0x80),
            _ => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    Cow::Owned(bytes)
}

/// The name for display, without control characters and stand-ins.
pub fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_stand_in(c) { '\u{fffd}' } else { c }).collect()
}

fn is_stand_in(c: char) -> bool {
    (FIRST..FIRST + 0x80).contains(&u32::from(c))
}

fn stand_in(byte: u8) -> char {
    char::from_u32(FIRST + u32::from(byte) - 0x80).unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_names_stay() {
        assert_eq!(text("a b/ü".as_bytes()), "a b/ü");
        assert_eq!(text(b"a\xffb"), "a\u{f7ff}b");
        assert_eq!(shown("a\u{f7ff}\u{1b}b"), "a\u{fffd}\u{fffd}b");
    }

    proptest! {
        #[test]
        fn any_name_comes_back(name in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(bytes(&text(&name)).into_owned(), name);
        }

        #[test]
        fn private_characters_come_back(name in "[a\u{f77f}-\u{f802}]{0,12}") {
            prop_assert_eq!(bytes(&text(name.as_bytes())).into_owned(), name.into_bytes());
        }
    }
}
