//! JSON as borrowed values, and its canonical form (RFC 8785), whole or clipped.
//!
//! Written by hand: a document model refuses depth 128 and lone surrogates, and copies every string.
//! Invariants: nothing recurses deeper than `DEEPEST`; every string passes through the caller's [`Clean`]; an
//! integer that a double cannot hold is written as a string.

use crate::sha256::sha256;
use std::borrow::Cow;

/// Below this depth a value is not parsed but kept as text.
const DEEPEST: usize = 64;

/// Removes what must not be written, such as secrets, from a text. The name of the text's member, if it has
/// one, may show that it is secret.
pub type Clean = for<'a> fn(&str, &'a str) -> Cow<'a, str>;

pub fn unchanged<'a>(_name: &str, text: &'a str) -> Cow<'a, str> {
    Cow::Borrowed(text)
}

/// One value. Numbers and strings point into the document.
#[derive(Clone, Debug)]
pub enum Json<'a> {
    Null,
    Bool(bool),
    Number(&'a str),
    /// The content between the quotes, still escaped.
    Text(&'a str),
    List(Vec<Json<'a>>),
    /// In the document's order; if a name occurs twice, the last one counts.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
    /// Nested too deep to be parsed.
    Deep(&'a str),
}

pub fn read(document: &str) -> Result<Json<'_>, String> {
    let raw: &serde_json::value::RawValue = serde_json::from_str(document).map_err(|e| e.to_string())?;
    Ok(Reader { text: raw.get(), at: 0 }.value(0))
}

/// A member's value in its written form, from a document that is known to be a valid object.
pub fn member<'a>(document: &'a str, name: &str) -> Option<&'a str> {
    let mut reader = Reader { text: document, at: 0 };
    if reader.peek() != b'{' {
        return None;
    }
    let spans = reader.items(b'}', |r| {
        let key = unescaped(r.string());
        r.peek();
        r.at += 1; // the colon
        (key, r.span())
    });
    spans.into_iter().rev().find(|(key, _)| key == name).map(|(_, span)| span)
}

impl<'a> Json<'a> {
    pub fn get(&self, name: &str) -> Option<&Json<'a>> {
        let Json::Object(members) = self else { return None };
        members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The text without escapes; lone surrogates become U+FFFD.
    pub fn text(&self) -> Option<Cow<'a, str>> {
        let Json::Text(raw) = self else { return None };
        Some(unescaped(raw))
    }

    pub fn text_of(&self, name: &str) -> Option<String> {
        Some(self.get(name)?.text()?.into_owned())
    }

    pub fn number_of(&self, name: &str) -> Option<u64> {
        let Some(Json::Number(text)) = self.get(name) else { return None };
        text.parse().ok()
    }

    /// The RFC 8785 form.
    pub fn canonical(&self, clean: Clean) -> String {
        Writer { clean, longest: usize::MAX }.text(self)
    }

    /// The same in at most `bound` bytes, with every longer text replaced by its beginning, length and
    /// digest.
    pub fn clipped(&self, clean: Clean, longest_text: usize, bound: usize) -> String {
        let tries = [longest_text, longest_text / 16].into_iter();
        let mut texts = tries.map(|longest| Writer { clean, longest }.text(self));
        let fits = texts.find(|text| text.len() <= bound);
        fits.unwrap_or_else(|| {
            let mut out = Vec::new();
            write_clip(&self.canonical(clean), longest_text / 2, &mut out);
            String::from_utf8(out).unwrap_or_default()
        })
    }
}

pub fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// At most `longest` bytes of a string, cut between characters.
pub fn cut(text: &str, longest: usize) -> &str {
    &text[..text.floor_char_boundary(longest)]
}

/// A position in a document that is known to be valid.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&mut self) -> u8 {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        bytes.get(self.at).copied().unwrap_or(0)
    }

    fn value(&mut self, depth: usize) -> Json<'a> {
        match self.peek() {
            b'{' | b'[' if depth >= DEEPEST => Json::Deep(self.skip()),
            b'{' => Json::Object(self.items(b'}', |r| {
                let name = unescaped(r.string());
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

    /// Steps over one value.
    fn span(&mut self) -> &'a str {
        let first = self.peek();
        let start = self.at;
        match first {
            b'{' | b'[' => drop(self.skip()),
            b'"' => drop(self.string()),
            _ => drop(self.plain()),
        }
        &self.text[start..self.at.min(self.text.len())]
    }

    /// Steps over one nested value without recursion.
    fn skip(&mut self) -> &'a str {
        let start = self.at;
        let mut open = 0_usize;
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

pub(crate) fn unescaped(raw: &str) -> Cow<'_, str> {
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

struct Writer {
    clean: Clean,
    longest: usize,
}

impl Writer {
    fn text(&self, json: &Json) -> String {
        let mut out = Vec::new();
        self.write(json, &mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    fn write(&self, json: &Json, out: &mut Vec<u8>) {
        match json {
            Json::Null => out.extend_from_slice(b"null"),
            Json::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Json::Number(text) => write_number(text, out),
            Json::Text(raw) => self.write_clean(&(self.clean)("", &unescaped(raw)), out),
            Json::Deep(raw) => {
                let clean = (self.clean)("", raw);
                write_clip(&clean, clean.len().min(self.longest / 4), out);
            }
            Json::List(items) => {
                out.push(b'[');
                for (n, item) in items.iter().enumerate() {
                    if n > 0 {
                        out.push(b',');
                    }
                    self.write(item, out);
                }
                out.push(b']');
            }
            Json::Object(members) => self.write_object(members, out),
        }
    }

    fn write_object(&self, members: &[(Cow<str>, Json)], out: &mut Vec<u8>) {
        let mut sorted: Vec<_> =
            members.iter().map(|(name, value)| (self.member_name(name), value)).collect();
        sorted.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
        let mut first = true;
        out.push(b'{');
        for (n, (name, value)) in sorted.iter().enumerate() {
            if sorted.get(n + 1).is_some_and(|(next, _)| next == name) {
                continue;
            }
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            write_text(name, out);
            out.push(b':');
            match value {
                Json::Text(raw) => self.write_clean(&(self.clean)(name, &unescaped(raw)), out),
                value => self.write(value, out),
            }
        }
        out.push(b'}');
    }

    fn write_clean(&self, clean: &str, out: &mut Vec<u8>) {
        if clean.len() <= self.longest {
            write_text(clean, out);
        } else {
            write_clip(clean, self.longest / 4, out);
        }
    }

    /// Names are clipped before they are sorted: the output must be in order, and two long names must stay
    /// different.
    fn member_name<'a>(&self, name: &'a str) -> Cow<'a, str> {
        let clean = (self.clean)("", name);
        if clean.len() <= self.longest {
            return clean;
        }
        let digest = sha256(&[clean.as_bytes()]);
        Cow::Owned(format!("{}~{}", cut(&clean, self.longest / 4), &digest[..16]))
    }
}

fn write_clip(text: &str, keep: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"clipped\":");
    write_text(cut(text, keep), out);
    let rest = format!(",\"length\":{},\"sha256\":\"{}\"}}", text.len(), sha256(&[text.as_bytes()]));
    out.extend_from_slice(rest.as_bytes());
}

/// The escapes of `serde_json` are those of RFC 8785.
fn write_text(text: &str, out: &mut Vec<u8>) {
    let _ = serde_json::to_writer(out, text); // writing to memory does not fail
}

fn write_number(text: &str, out: &mut Vec<u8>) {
    const LARGEST: u64 = 1 << 53;
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        return match digits.parse::<u64>() {
            Ok(0) => out.push(b'0'),
            Ok(n) if n <= LARGEST => out.extend_from_slice(text.as_bytes()),
            _ => write_text(text, out),
        };
    }
    match text.parse::<f64>() {
        Ok(n) if n.is_finite() => out.extend_from_slice(ryu_js::Buffer::new().format_finite(n).as_bytes()),
        _ => write_text(text, out),
    }
}

#[cfg(test)]
mod tests;
