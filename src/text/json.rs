//! A look at JSON text known to be valid, and its canonical form (RFC 8785), whole or clipped.
//!
//! Reads nothing, writes nothing. Why by hand: a document model refuses depth 128 and lone surrogates, both of which the
//! host sends on, and copies what we only pass over. Invariants: nothing recurses deeper than `DEEPEST`; every text that
//! comes out is redacted; integers a double cannot hold come out as text.

mod read;
mod write;

use read::{Reader, unescape};
use std::borrow::Cow;
use write::{write, write_clip, write_text};

/// One value. Numbers and texts point into the document.
#[derive(Clone, Debug)]
pub enum Json<'a> {
    Null,
    Bool(bool),
    Number(&'a str),
    /// Between the quotes, escapes untouched.
    Text(&'a str),
    List(Vec<Json<'a>>),
    /// In the document's order; of two equal names the last counts.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
    Deep(&'a str),
}

/// The document as values, or what is wrong with it.
pub fn read(document: &str) -> Result<Json<'_>, String> {
    let raw: &serde_json::value::RawValue = serde_json::from_str(document).map_err(|e| e.to_string())?;
    Ok(Reader { text: raw.get(), at: 0 }.value(0))
}

impl<'a> Json<'a> {
    pub fn get(&self, name: &str) -> Option<&Json<'a>> {
        let Json::Object(members) = self else { return None };
        members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The text without escapes; lone surrogates become U+FFFD.
    pub fn text(&self) -> Option<Cow<'a, str>> {
        let Json::Text(raw) = self else { return None };
        Some(unescape(raw))
    }

    pub fn text_of(&self, name: &str) -> Option<String> {
        Some(self.get(name)?.text()?.into_owned())
    }

    pub fn number_of(&self, name: &str) -> Option<u64> {
        let Some(Json::Number(text)) = self.get(name) else { return None };
        text.parse().ok()
    }

    /// RFC 8785, secrets redacted, nothing left out.
    pub fn canonical(&self) -> String {
        let mut out = String::new();
        write(self, usize::MAX, &mut out);
        out
    }

    /// The same with every long text cut down to its beginning, length and digest, and no longer than `bound` in all.
    pub fn clipped(&self, longest_text: usize, bound: usize) -> String {
        for longest in [longest_text, longest_text / 16] {
            let mut out = String::new();
            write(self, longest, &mut out);
            if out.len() <= bound {
                return out;
            }
        }
        let mut out = String::new();
        write_clip(&self.canonical(), longest_text / 2, &mut out);
        out
    }
}

/// A text of ours in canonical form.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_text(text, &mut out);
    out
}

/// At most `longest` bytes of a text, cut between characters.
pub fn cut(text: &str, longest: usize) -> &str {
    &text[..text.floor_char_boundary(longest)]
}

#[cfg(test)]
mod tests;
