//! Reads the server's name from the first bytes of a TLS connection.
//!
//! Pure; nothing is decrypted. Invariant: a hello is complete, alone in its records and names exactly one
//! host, or it is refused.

use crate::name::Name;
use std::fmt;

/// Largest hello with its records; more than any library sends.
const LONGEST: usize = 1 << 16;
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const LONGEST_RECORD: usize = 1 << 14;
const SERVER_NAME: u16 = 0;
/// The extension for an encrypted inner hello (ECH), and its old draft.
const ENCRYPTED: [u16; 2] = [0xfe0d, 0xffce];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    pub name: Name,
    /// It contains a second, encrypted hello that only the server can read.
    pub hides_one: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadHello {
    NoHello,
    NoName,
    /// Two names, or an invalid one.
    BadName,
}

impl fmt::Display for BadHello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoHello => "this is not TLS",
            Self::NoName => "the TLS hello names no host",
            Self::BadName => "the TLS hello does not name one host",
        })
    }
}

/// What the first bytes of a connection say; `None` while more are needed.
pub fn read(bytes: &[u8]) -> Option<Result<Hello, BadHello>> {
    let mut hello = Vec::new();
    let mut rest = bytes;
    loop {
        match whole(&hello) {
            Ok(true) => return Some(name_in(&hello[4..])),
            Ok(false) if bytes.len() > LONGEST => return Some(Err(BadHello::NoHello)),
            Ok(false) => {}
            Err(bad) => return Some(Err(bad)),
        }
        match record(rest) {
            Ok(Some((part, after))) => {
                hello.extend_from_slice(part);
                rest = after;
            }
            Ok(None) if bytes.len() > LONGEST => return Some(Err(BadHello::NoHello)),
            Ok(None) => return None,
            Err(bad) => return Some(Err(bad)),
        }
    }
}

/// The content of a record, and the bytes after it.
type Cut<'a> = (&'a [u8], &'a [u8]);

/// The next record; `None` if it is incomplete. Bytes that cannot become one fail at the first wrong byte.
fn record(bytes: &[u8]) -> Result<Option<Cut<'_>>, BadHello> {
    let is = |at: usize, wanted: u8| bytes.get(at).is_none_or(|byte| *byte == wanted);
    if !is(0, HANDSHAKE) || !is(1, 3) {
        return Err(BadHello::NoHello);
    }
    let Some(&[high, low]) = bytes.get(3..5) else { return Ok(None) };
    let length = usize::from(high) << 8 | usize::from(low);
    if length == 0 || length > LONGEST_RECORD {
        return Err(BadHello::NoHello);
    }
    Ok(bytes.get(5..5 + length).map(|part| (part, &bytes[5 + length..])))
}

/// Whether the message is complete. Further bytes in its records would be another message.
fn whole(hello: &[u8]) -> Result<bool, BadHello> {
    if hello.first().is_some_and(|kind| *kind != CLIENT_HELLO) {
        return Err(BadHello::NoHello);
    }
    let Some(&[a, b, c]) = hello.get(1..4) else { return Ok(false) };
    let end = 4 + (usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c));
    if end > LONGEST || hello.len() > end { Err(BadHello::NoHello) } else { Ok(hello.len() == end) }
}

/// Reads from the front; each step fails if too little is left.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (part, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(part)
    }

    fn number(&mut self) -> Option<u16> {
        self.take(2).map(|two| u16::from_be_bytes([two[0], two[1]]))
    }

    fn short(&mut self) -> Option<&'a [u8]> {
        let length = self.take(1)?[0];
        self.take(length.into())
    }

    fn long(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(length.into())
    }
}

fn name_in(body: &[u8]) -> Result<Hello, BadHello> {
    let mut reader = Reader(body);
    let extensions = extensions(&mut reader).filter(|_| reader.0.is_empty()).ok_or(BadHello::NoHello)?;
    let mut reader = Reader(extensions);
    let mut name = None;
    let mut hides_one = false;
    while !reader.0.is_empty() {
        let (Some(kind), Some(content)) = (reader.number(), reader.long()) else {
            return Err(BadHello::NoHello);
        };
        hides_one |= ENCRYPTED.contains(&kind);
        if kind == SERVER_NAME {
            let one = one_name(content).filter(|_| name.is_none()).ok_or(BadHello::BadName)?;
            name = Some(one);
        }
    }
    name.map(|name| Hello { name, hides_one }).ok_or(BadHello::NoName)
}

/// Skips version, random, session, ciphers and compression; a hello without extensions ends there.
fn extensions<'a>(reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    reader.take(2 + 32)?;
    reader.short()?;
    reader.long()?;
    reader.short()?;
    if reader.0.is_empty() { Some(&[]) } else { reader.long() }
}

/// A list with one entry, of the only kind that exists.
fn one_name(content: &[u8]) -> Option<Name> {
    let mut outer = Reader(content);
    let mut list = Reader(outer.long()?);
    let kind = list.take(1)?[0];
    let name = list.long()?;
    let alone = outer.0.is_empty() && list.0.is_empty() && kind == 0;
    Name::of(name).filter(|_| alone)
}

#[cfg(test)]
mod tests;
