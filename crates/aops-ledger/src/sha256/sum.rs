//! A digest as 32 bytes, for lists of many thousands. It is serialised as 64 lower-case hex digits.

use super::{DIGITS, hex, spell};
use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// The value of each hex digit; 255 for every other byte.
const VALUES: [u8; 256] = {
    let (mut values, mut n) = ([0xff; 256], 0_u8);
    while n < 16 {
        values[DIGITS[n as usize] as usize] = n;
        n += 1;
    }
    values
};

/// A SHA-256 digest.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sum(pub [u8; 32]);

impl Sum {
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// `None` for anything but 64 lower-case digits.
    pub fn read(text: &str) -> Option<Self> {
        let digits = <&[u8; 64]>::try_from(text.as_bytes()).ok()?;
        let (mut sum, mut odd) = ([0; 32], 0);
        for at in 0..32 {
            let (high, low) = (VALUES[usize::from(digits[2 * at])], VALUES[usize::from(digits[2 * at + 1])]);
            odd |= high | low;
            sum[at] = high << 4 | low & 15;
        }
        (odd < 16).then_some(Self(sum))
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for Sum {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Sum {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut text = [0; 64];
        spell(&self.0, &mut text);
        to.serialize_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Sum {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Digits;
        impl Visitor<'_> for Digits {
            type Value = Sum;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("64 lower-case hex digits")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Sum, E> {
                Sum::read(text).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }
        from.deserialize_str(Digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sha256::sha256;

    #[test]
    fn sums_are_written_as_digits() {
        let sum = Sum::of(b"abc");
        let text = serde_json::to_string(&sum).unwrap();
        assert_eq!(text, format!("\"{}\"", sha256(&[b"abc"])));
        assert_eq!(serde_json::from_str::<Sum>(&text).unwrap(), sum);
        for odd in ["\"\"", "\"ba78\"", "7", &text.to_uppercase(), &text.replace("ba", "xy")] {
            assert!(serde_json::from_str::<Sum>(odd).is_err(), "{odd}");
        }
    }
}
