//! The only place where bytes become a host name.
//!
//! Pure. Invariant: two names of the same host are equal byte by byte, and no notation of an address is
//! accepted as a name.

use std::fmt;
use std::sync::Arc;

const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// A host name in lower case, without a trailing dot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

impl Name {
    /// Letters, digits, `-`, `_` and dots. The last label must not begin with a digit: no top-level domain
    /// does, and every notation of an address (`127.1`, `0x7f000001`, `2130706433`) does.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.strip_suffix(b".").unwrap_or(bytes);
        if bytes.len() > LONGEST_NAME {
            return None;
        }
        let mut last = 0;
        for label in bytes.split(|byte| *byte == b'.') {
            let known = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            if label.len() > LONGEST_LABEL || !label.iter().all(known) {
                return None;
            }
            last = *label.first()?;
        }
        let text = str::from_utf8(bytes).ok().filter(|_| !last.is_ascii_digit())?;
        Some(Self(text.to_ascii_lowercase().into()))
    }

    /// `host` or `host:port`; the port as it is written, if there is one.
    pub fn with_port(bytes: &[u8]) -> Option<(Self, Option<u16>)> {
        let Some(colon) = bytes.iter().position(|byte| *byte == b':') else {
            return Some((Self::of(bytes)?, None));
        };
        Some((Self::of(&bytes[..colon])?, Some(port(&bytes[colon + 1..])?)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this name is below the other: `a.b.example` is below `example`; `example` and `b-example` are
    /// not.
    pub fn is_below(&self, other: &Self) -> bool {
        self.0.strip_suffix(&*other.0).is_some_and(|rest| rest.ends_with('.'))
    }
}

/// A port other than 0, consisting only of digits.
pub fn port(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.iter().all(u8::is_ascii_digit) && bytes.len() <= 5;
    str::from_utf8(bytes).ok().filter(|_| digits)?.parse().ok().filter(|port| *port != 0)
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_and_what_is_none() {
        for (text, name) in [
            ("tls.test", "tls.test"),
            ("TLS.Test.", "tls.test"),
            ("localhost", "localhost"),
            ("a_b-c.x1", "a_b-c.x1"),
            ("xn--e1afmkfd.test", "xn--e1afmkfd.test"),
            ("1.2.3.test", "1.2.3.test"),
        ] {
            assert_eq!(
                Name::of(text.as_bytes()).map(|name| name.to_string()).as_deref(),
                Some(name),
                "{text}"
            );
        }
        let long = format!("{}.test", "a".repeat(64));
        let longer = format!("{}test", "abc.".repeat(63));
        for text in [
            "", ".", "..", "a..b", ".a", "a..", "127.0.0.1", "127.1", "2130706433", "0x7f000001",
            "017700000001", "[::1]", "::1", "tls.test\0", "evil.test\0.tls.test", "tls.test@evil.test",
            "evil%2etest", "evil.test#.tls.test", "a b", "\u{435}vil.test", "a/b", "a:1", "a.1b", &long,
            &longer,
        ] {
            assert_eq!(Name::of(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(Name::of(&[b'a', 0xff]), None);
    }

    #[test]
    fn a_port_is_a_number_and_nothing_else() {
        let of = |text: &str| Name::with_port(text.as_bytes()).map(|(name, port)| (name.to_string(), port));
        assert_eq!(of("a.test:443"), Some(("a.test".to_owned(), Some(443))));
        assert_eq!(of("a.test"), Some(("a.test".to_owned(), None)));
        for text in [
            "a.test:", "a.test:0", "a.test:+1", "a.test:65536", "a.test:443@b.test:1", "a.test: 1", ":1",
            "a:00443x",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn below_is_by_labels() {
        let name = |text: &str| Name::of(text.as_bytes()).unwrap();
        assert!(
            name("a.example").is_below(&name("example")) && name("a.b.example").is_below(&name("example"))
        );
        for other in ["example", "bexample", "example.test", "a.example.test"] {
            assert!(!name(other).is_below(&name("example")), "{other}");
        }
    }

    proptest! {
        #[test]
        fn what_comes_out_is_its_own_name(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Some(name) = Name::of(&bytes) {
                prop_assert_eq!(Name::of(name.as_str().as_bytes()), Some(name.clone()));
                prop_assert!(name.as_str().parse::<std::net::IpAddr>().is_err());
                let bare = bytes.strip_suffix(b".").unwrap_or(&bytes);
                prop_assert!(bare.eq_ignore_ascii_case(name.as_str().as_bytes()));
            }
        }

        #[test]
        fn no_address_is_a_name(bits in any::<u32>(), six in any::<u128>()) {
            let four = std::net::Ipv4Addr::from(bits);
            for text in [four.to_string(), format!("{bits}"), format!("{bits:#x}"), format!("0{bits:o}"),
                std::net::Ipv6Addr::from(six).to_string(), format!("[{}]", std::net::Ipv6Addr::from(six))] {
                prop_assert_eq!(Name::of(text.as_bytes()), None, "{}", text);
            }
        }
    }
}
