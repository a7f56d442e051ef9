//! Reads an answer from a socket as it comes: lines of the head, then a body in one of three forms.
//!
//! Reads one socket. Invariant: before every read the time that is left is measured.

use super::Trouble;
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const LONGEST_HEAD: usize = 16 << 10;

pub(super) fn time_left(deadline: Instant) -> Result<Duration, Trouble> {
    Some(deadline.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero()).ok_or(Trouble::Late)
}

/// An interrupted call is tried again; a timeout is the deadline, since no other is ever set.
pub(super) fn check(error: &std::io::Error) -> Result<(), Trouble> {
    match error.kind() {
        ErrorKind::Interrupted => Ok(()),
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Err(Trouble::Late),
        _ => Err(Trouble::Said(format!("hung up: {error}"))),
    }
}

#[derive(Debug)]
pub(super) struct Source {
    stream: TcpStream,
    /// Read, and not yet used.
    held: Vec<u8>,
    deadline: Instant,
}

impl Source {
    pub(super) fn new(stream: TcpStream, deadline: Instant) -> Self {
        Self { stream, held: Vec::new(), deadline }
    }

    /// Reads once more; false at the end.
    fn fill(&mut self) -> Result<bool, Trouble> {
        let mut block = [0; 16 << 10];
        loop {
            let _ = self.stream.set_read_timeout(Some(time_left(self.deadline)?));
            match self.stream.read(&mut block) {
                Ok(0) => return Ok(false),
                Ok(long) => {
                    self.held.extend_from_slice(&block[..long]);
                    return Ok(true);
                }
                Err(error) => check(&error)?,
            }
        }
    }

    /// Up to the empty line.
    pub(super) fn head(&mut self) -> Result<Vec<u8>, Trouble> {
        loop {
            if let Some(at) = self.held.windows(4).position(|four| four == b"\r\n\r\n") {
                let behind = self.held.split_off(at + 4);
                return Ok(std::mem::replace(&mut self.held, behind));
            }
            if self.held.len() > LONGEST_HEAD || !self.fill()? {
                return Err(Trouble::Said("does not speak HTTP".to_owned()));
            }
        }
    }

    fn line(&mut self) -> Result<Vec<u8>, Trouble> {
        loop {
            if let Some(at) = self.held.windows(2).position(|two| two == b"\r\n") {
                let behind = self.held.split_off(at + 2);
                return Ok(std::mem::replace(&mut self.held, behind));
            }
            if self.held.len() > LONGEST_HEAD || !self.fill()? {
                return Err(Trouble::Said("sent a broken answer".to_owned()));
            }
        }
    }
}

/// How much of the body is still to come.
#[derive(Clone, Copy, Debug)]
pub(super) enum Left {
    Bytes(usize),
    /// Of the chunk at hand.
    Chunk(usize),
    UntilClose,
}

#[derive(Debug)]
pub(super) struct Body {
    left: Left,
    source: Source,
}

impl Body {
    pub(super) fn new(left: Left, source: Source) -> Self {
        Self { left, source }
    }

    /// Adds what has come; false when that was all.
    pub(super) fn next(&mut self, text: &mut Vec<u8>) -> Result<bool, Trouble> {
        match self.left {
            Left::UntilClose => {
                let more = !self.source.held.is_empty() || self.source.fill()?;
                text.append(&mut self.source.held);
                Ok(more)
            }
            Left::Bytes(left) => {
                let left = left - self.take(left, text)?;
                self.left = Left::Bytes(left);
                Ok(left > 0)
            }
            Left::Chunk(0) => {
                let line = self.source.line()?;
                let size =
                    line.split(|b| *b == b';' || *b == b'\r').next().and_then(|size| std::str::from_utf8(size).ok());
                let size = size.and_then(|size| usize::from_str_radix(size.trim(), 16).ok());
                let size = size.ok_or_else(|| Trouble::Said("sent a broken answer".to_owned()))?;
                self.left = Left::Chunk(size);
                Ok(size > 0)
            }
            Left::Chunk(left) => {
                let left = left - self.take(left, text)?;
                if left == 0 {
                    self.source.line()?;
                }
                self.left = Left::Chunk(left);
                Ok(true)
            }
        }
    }

    fn take(&mut self, most: usize, text: &mut Vec<u8>) -> Result<usize, Trouble> {
        if most > 0 && self.source.held.is_empty() && !self.source.fill()? {
            return Err(Trouble::Said("hung up in the middle of its answer".to_owned()));
        }
        let long = most.min(self.source.held.len());
        text.extend(self.source.held.drain(..long));
        Ok(long)
    }
}

/// What the headers say of the body's length.
pub(super) fn left(headers: &[(String, String)]) -> Left {
    let header = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    if header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        return Left::Chunk(0);
    }
    header("content-length").and_then(|long| long.parse().ok()).map_or(Left::UntilClose, Left::Bytes)
}
