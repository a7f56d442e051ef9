//! From text to values: one pass over a document that is known to be valid. Recurses at most `DEEPEST` levels.

use super::Json;
use std::borrow::Cow;

/// Below this depth a value is kept as text.
const DEEPEST: usize = 64;

/// A position in a valid document.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&mut self) -> u8 {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        bytes.get(self.at).copied().unwrap_or(0)
    }

    pub(super) fn value(&mut self, depth: usize) -> Json<'a> {
        match self.peek() {
            b'{' | b'[' if depth >= DEEPEST => Json::Deep(self.skip()),
            b'{' => Json::Object(self.items(b'}', |r| {
                let name = unescape(r.string());
                r.peek();
                r.at += 1; // the colon
                (name, r.value(depth + 1))
            })),
            b'[' => Json::List(self.items(b']', |r| r.value(depth + 1))),
            b'"' => Json::Text(self.string()),
            _ => self.plain(),
        }
    }

    fn items<T>(&mut self, end: u8, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let mut items = Vec::new();
        self.at += 1;
        while self.peek() != end && self.at < self.text.len() {
            items.push(item(self));
            if self.peek() == b',' {
                self.at += 1;
                self.peek();
            }
        }
        self.at += 1;
        items
    }

    fn string(&mut self) -> &'a str {
        self.peek();
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let mut end = start;
        while end < bytes.len() && bytes[end] != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        self.at = end + 1;
        &self.text[start..end.min(bytes.len())]
    }

    fn plain(&mut self) -> Json<'a> {
        let rest = &self.text[self.at..];
        let long = rest.find([',', ']', '}', ' ', '\n', '\r', '\t']).unwrap_or(rest.len());
        self.at += long;
        match &rest[..long] {
            "null" => Json::Null,
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            number => Json::Number(number),
        }
    }

    /// Steps over one nested value without recursion.
    fn skip(&mut self) -> &'a str {
        let (start, mut open) = (self.at, 0_usize);
        loop {
            match self.peek() {
                b'"' => {
                    self.string();
                    continue;
                }
                b'{' | b'[' => open += 1,
                b'}' | b']' => open = open.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if open == 0 || self.at >= self.text.len() {
                return &self.text[start..self.at.min(self.text.len())];
            }
        }
    }
}

pub(super) fn unescape(raw: &str) -> Cow<'_, str> {
    let Some(first) = raw.find('\\') else { return Cow::Borrowed(raw) };
    let mut out = String::with_capacity(raw.len());
    out.push_str(&raw[..first]);
    let mut rest = &raw[first..];
    while let Some(slash) = rest.find('\\') {
        out.push_str(&rest[..slash]);
        let escape = rest.as_bytes().get(slash + 1).copied().unwrap_or(b'\\');
        rest = rest.get(slash + 2..).unwrap_or("");
        match escape {
            b'b' => out.push('\u{8}'),
            b'f' => out.push('\u{c}'),
            b'n' => out.push('\n'),
            b'r' => out.push('\r'),
            b't' => out.push('\t'),
            b'u' => rest = unescape_unit(rest, &mut out),
            other => out.push(char::from(other)),
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Reads the four digits after `\u`, and the second half of a surrogate pair.
fn unescape_unit<'a>(rest: &'a str, out: &mut String) -> &'a str {
    let unit = |text: &str| u16::from_str_radix(text.get(..4)?, 16).ok();
    let Some(high) = unit(rest) else { return rest };
    let after = &rest[4..];
    let low = after.strip_prefix("\\u").and_then(unit).filter(|low| (0xDC00..0xE000).contains(low));
    if let (0xD800..0xDC00, Some(low)) = (high, low) {
        let pair = 0x10000 + ((u32::from(high) - 0xD800) << 10) + (u32::from(low) - 0xDC00);
        out.push(char::from_u32(pair).unwrap_or('\u{FFFD}'));
        &after[6..]
    } else {
        out.push(char::from_u32(u32::from(high)).unwrap_or('\u{FFFD}'));
        after
    }
}
