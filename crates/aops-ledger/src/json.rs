//! JSON as borrowed values, and its canonical form (RFC 8785), whole or clipped.
//!
//! Written by hand: a document model refuses depth 128 and lone surrogates, and copies every string. Invariants: nothing
//! recurses deeper than `DEEPEST`; every string passes through the caller's [`Clean`]; an integer that a double cannot
//! hold is written as a string.

mod read;
mod write;

use read::{Reader, unescape};
use std::borrow::Cow;
use write::{Writer, write_clip, write_text};

/// Removes what must not be written, such as secrets.
pub trait Clean {
    fn clean<'a>(&self, text: &'a str) -> Cow<'a, str>;

    /// The value of a member; the name may say that it is secret.
    fn clean_member<'a>(&self, _name: &str, text: &'a str) -> Cow<'a, str> {
        self.clean(text)
    }
}

/// Leaves every string as it is.
#[derive(Clone, Copy, Debug)]
pub struct Unchanged;

impl Clean for Unchanged {
    fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(text)
    }
}

/// One value. Numbers and strings point into the document.
#[derive(Clone, Debug)]
pub enum Json<'a> {
    Null,
    Bool(bool),
    Number(&'a str),
    /// Between the quotes, still escaped.
    Text(&'a str),
    List(Vec<Json<'a>>),
    /// In the document's order; of two equal names the last one counts.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
    /// Nested too deep to be read.
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

    /// The RFC 8785 form.
    pub fn canonical(&self, clean: &impl Clean) -> String {
        Writer { clean, longest: usize::MAX }.text(self)
    }

    /// The same, at most `bound` bytes, every longer text replaced by its beginning, length and digest.
    pub fn clipped(&self, clean: &impl Clean, longest_text: usize, bound: usize) -> String {
        let tries = [longest_text, longest_text / 16].into_iter();
        let mut texts = tries.map(|longest| Writer { clean, longest }.text(self));
        let fits = texts.find(|text| text.len() <= bound);
        fits.unwrap_or_else(|| {
            let mut out = String::new();
            write_clip(&self.canonical(clean), longest_text / 2, &mut out);
            out
        })
    }
}

/// A string in canonical form.
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
