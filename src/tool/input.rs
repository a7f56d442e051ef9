//! Reads a tool's input: the few fields that matter, or every string literal; and a string as a path.

use aops_shell::syntax::{Bit, Ground, Word};
use serde::Deserialize;
use std::borrow::Cow;

/// The fields of built-in tools that name files or commands.
#[derive(Debug, Default, Deserialize)]
pub(super) struct InputFields<'a> {
    #[serde(borrow, default)]
    pub(super) file_path: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) notebook_path: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) path: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) command: Option<Cow<'a, str>>,
}

impl<'a> InputFields<'a> {
    pub(super) fn read(input: &'a str) -> Option<Self> {
        serde_json::from_str(input).ok()
    }

    /// The paths of files it names.
    pub(super) fn paths(self) -> impl Iterator<Item = String> {
        [self.file_path, self.notebook_path, self.path].into_iter().flatten().map(Cow::into_owned)
    }
}

/// The line that the input of a tool holds.
pub(super) fn command(input: &str) -> Option<String> {
    InputFields::read(input)?.command.map(Cow::into_owned)
}

/// The path of the file that the input of a tool names.
pub(super) fn file_path(input: &str) -> Option<String> {
    InputFields::read(input)?.file_path.map(Cow::into_owned)
}

/// No system takes a longer path.
pub(super) const LONGEST_PATH: usize = 4096;

/// Every string literal in text that is nearly JSON, read leniently.
pub(super) fn literals(input: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut chars = input.chars();
    while chars.any(|c| c == '"') {
        let mut text = String::new();
        while let Some(c) = chars.next() {
            match c {
                '"' => break,
                '\\' => match chars.next() {
                    Some('u') => {
                        let code: String = chars.by_ref().take(4).collect();
                        let value = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32);
                        text.push(value.unwrap_or('\u{fffd}'));
                    }
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some(other) => text.push(other),
                    None => {}
                },
                _ => text.push(c),
            }
        }
        all.push(text);
    }
    all
}

/// A string as a path: a `file:` address without its scheme, `~` and known variables filled in.
pub(super) fn path(text: &str, ground: &Ground) -> Word {
    let text = text.trim();
    let address = text.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("file:")).map(|_| &text[5..]);
    if let Some(address) = address {
        // `file:///x`, `file:/x`, `file://localhost/x`.
        let path = address.strip_prefix("//").and_then(|rest| rest.find('/').map(|at| &rest[at..]));
        let path = path.unwrap_or(address);
        let path = path.split(['?', '#']).next().unwrap_or(path);
        return tidy(Word { bits: decoded(path), ..Word::default() });
    }
    let variables = ground.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in variables.chain([("HOME", ground.home), ("PWD", ground.cwd)]) {
        let plain = text.strip_prefix('$').and_then(|rest| rest.strip_prefix(name));
        let braced = text.strip_prefix("${").and_then(|rest| rest.strip_prefix(name)?.strip_prefix('}'));
        if let Some(rest) = plain.or(braced).filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            return tidy(Word::of(&format!("{value}{rest}")));
        }
    }
    match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => tidy(Word::of(&format!("{}{rest}", ground.home))),
        _ => tidy(Word::of(text)),
    }
}

/// A path too long for any system can only be used after it is shortened.
fn tidy(word: Word) -> Word {
    if word.bits.len() > LONGEST_PATH { word.tidied() } else { word }
}

/// A file address as the disk would have it: `%2E` is a dot.
fn decoded(text: &str) -> Vec<Bit> {
    let bytes = text.as_bytes();
    let mut all = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let code = text.get(at + 1..at + 3).filter(|_| byte == b'%');
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        all.push(code.unwrap_or(byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&all).chars().map(Bit::Char).collect()
}
