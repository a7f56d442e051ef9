//! The canonical form (RFC 8785) of what was read, whole or clipped.

use super::read::unescape;
use super::{Clean, Json, cut};
use crate::sha256::sha256;
use std::borrow::Cow;

/// How values are written: cleaned, and longer texts clipped.
pub(super) struct Writer<'c, C> {
    pub(super) clean: &'c C,
    pub(super) longest: usize,
}

impl<C: Clean> Writer<'_, C> {
    pub(super) fn text(&self, json: &Json) -> String {
        let mut out = String::new();
        self.write(json, &mut out);
        out
    }

    fn write(&self, json: &Json, out: &mut String) {
        match json {
            Json::Null => out.push_str("null"),
            Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Json::Number(text) => write_number(text, out),
            Json::Text(raw) => self.write_clean(&self.clean.clean(&unescape(raw)), out),
            Json::Deep(raw) => {
                let clean = self.clean.clean(raw);
                write_clip(&clean, clean.len().min(self.longest / 4), out);
            }
            Json::List(items) => {
                out.push('[');
                for (n, item) in items.iter().enumerate() {
                    if n > 0 {
                        out.push(',');
                    }
                    self.write(item, out);
                }
                out.push(']');
            }
            Json::Object(members) => self.write_object(members, out),
        }
    }

    fn write_object(&self, members: &[(Cow<str>, Json)], out: &mut String) {
        let mut sorted: Vec<_> = members.iter().map(|(name, value)| (self.member_name(name), value)).collect();
        sorted.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
        let mut first = true;
        out.push('{');
        for (n, (name, value)) in sorted.iter().enumerate() {
            if sorted.get(n + 1).is_some_and(|(next, _)| next == name) {
                continue;
            }
            if !std::mem::take(&mut first) {
                out.push(',');
            }
            write_text(name, out);
            out.push(':');
            match value {
                Json::Text(raw) => self.write_clean(&self.clean.clean_member(name, &unescape(raw)), out),
                value => self.write(value, out),
            }
        }
        out.push('}');
    }

    fn write_clean(&self, clean: &str, out: &mut String) {
        if clean.len() <= self.longest {
            write_text(clean, out);
        } else {
            write_clip(clean, self.longest / 4, out);
        }
    }

    /// Names are clipped before they are sorted: the output must be in order, and two long names must stay different.
    fn member_name<'a>(&self, name: &'a str) -> Cow<'a, str> {
        let clean = self.clean.clean(name);
        if clean.len() <= self.longest {
            return clean;
        }
        let digest = sha256(&[clean.as_bytes()]);
        Cow::Owned(format!("{}~{}", cut(&clean, self.longest / 4), &digest[..16]))
    }
}

pub(super) fn write_clip(text: &str, keep: usize, out: &mut String) {
    out.push_str("{\"clipped\":");
    write_text(cut(text, keep), out);
    out.push_str(",\"length\":");
    out.push_str(&text.len().to_string());
    out.push_str(",\"sha256\":\"");
    out.push_str(&sha256(&[text.as_bytes()]));
    out.push_str("\"}");
}

pub(super) fn write_text(text: &str, out: &mut String) {
    out.push('"');
    let mut kept = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[kept..at]);
        kept = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            other => {
                out.push_str("\\u00");
                out.push(if other < 16 { '0' } else { '1' });
                out.push(char::from_digit(u32::from(other & 15), 16).unwrap_or('0'));
            }
        }
    }
    out.push_str(&text[kept..]);
    out.push('"');
}

fn write_number(text: &str, out: &mut String) {
    const LARGEST: u64 = 1 << 53;
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        return match digits.parse::<u64>() {
            Ok(0) => out.push('0'),
            Ok(n) if n <= LARGEST => out.push_str(text),
            _ => write_text(text, out),
        };
    }
    match text.parse::<f64>() {
        Ok(n) if n.is_finite() => out.push_str(ryu_js::Buffer::new().format_finite(n)),
        _ => write_text(text, out),
    }
}
