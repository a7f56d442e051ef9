//! One POST over a fresh connection: the answer's head, then its body as it comes.
//!
//! Writes to and reads from one socket. Invariants: before every connect, write and read the time that is left is
//! measured, so a server that drips cannot hold us; head and body are bounded; the connection is closed at the end.

use super::{Server, Trouble};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const LONGEST_HEAD: usize = 16 << 10;
const LONGEST_BODY: usize = 1 << 20;

/// What came back.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    body: Body,
}

impl Reply {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Reads on until `enough` says so of all that has come, or to the end.
    pub(super) fn read_until<T>(
        mut self,
        enough: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<(Vec<u8>, Option<T>), Trouble> {
        let mut text = Vec::new();
        loop {
            let more = self.body.next(&mut text)?;
            if let Some(found) = enough(&text) {
                return Ok((text, Some(found)));
            }
            if text.len() > LONGEST_BODY {
                return Err(Trouble::Said("answered with more than 1 MB".to_owned()));
            }
            if !more {
                return Ok((text, None));
            }
        }
    }
}

/// Send one request and read the head of its answer.
pub(super) fn post(
    server: &Server,
    headers: &[(&str, &str)],
    body: &str,
    deadline: Instant,
) -> Result<Reply, Trouble> {
    let mut stream = connect(server, deadline)?;
    let mut request = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nAccept-Encoding: identity\r\nConnection: close\r\nContent-Length: {}\r\n",
        server.path,
        server.host,
        body.len()
    );
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str("\r\n");
    request.push_str(body);
    write(&mut stream, request.as_bytes(), deadline)?;
    let mut source = Source { stream, held: Vec::new(), deadline };
    let head = source.head()?;
    let (status, headers) =
        parse_head(&head).ok_or_else(|| Trouble::Said("does not speak HTTP".to_owned()))?;
    let body = Body { left: left(&headers), source };
    Ok(Reply { status, headers, body })
}

fn connect(server: &Server, deadline: Instant) -> Result<TcpStream, Trouble> {
    let mut trouble = Trouble::Missing;
    for address in &server.addresses {
        match TcpStream::connect_timeout(address, time_left(deadline)?) {
            Ok(stream) => {
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => return Err(Trouble::Late),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
            Err(error) => trouble = Trouble::Said(error.to_string()),
        }
    }
    Err(trouble)
}

fn write(stream: &mut TcpStream, mut bytes: &[u8], deadline: Instant) -> Result<(), Trouble> {
    while !bytes.is_empty() {
        let _ = stream.set_write_timeout(Some(time_left(deadline)?));
        match stream.write(bytes) {
            Ok(0) => return Err(Trouble::Said("hung up".to_owned())),
            Ok(long) => bytes = &bytes[long..],
            Err(error) => check(&error)?,
        }
    }
    Ok(())
}

fn time_left(deadline: Instant) -> Result<Duration, Trouble> {
    Some(deadline.saturating_duration_since(Instant::now()))
        .filter(|left| !left.is_zero())
        .ok_or(Trouble::Late)
}

/// An interrupted call is tried again; a timeout is the deadline, since no other is ever set.
fn check(error: &std::io::Error) -> Result<(), Trouble> {
    match error.kind() {
        ErrorKind::Interrupted => Ok(()),
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Err(Trouble::Late),
        _ => Err(Trouble::Said(format!("hung up: {error}"))),
    }
}

#[derive(Debug)]
struct Source {
    stream: TcpStream,
    /// Read, and not yet used.
    held: Vec<u8>,
    deadline: Instant,
}

impl Source {
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
    fn head(&mut self) -> Result<Vec<u8>, Trouble> {
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
enum Left {
    Bytes(usize),
    /// Of the chunk at hand.
    Chunk(usize),
    UntilClose,
}

#[derive(Debug)]
struct Body {
    left: Left,
    source: Source,
}

impl Body {
    /// Adds what has come; false when that was all.
    fn next(&mut self, text: &mut Vec<u8>) -> Result<bool, Trouble> {
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
                let size = line
                    .split(|b| *b == b';' || *b == b'\r')
                    .next()
                    .and_then(|size| std::str::from_utf8(size).ok());
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

fn left(headers: &[(String, String)]) -> Left {
    let header =
        |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    if header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        return Left::Chunk(0);
    }
    header("content-length").and_then(|long| long.parse().ok()).map_or(Left::UntilClose, Left::Bytes)
}

fn parse_head(head: &[u8]) -> Option<(u16, Vec<(String, String)>)> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    let header = |line: &str| {
        line.split_once(':').map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
    };
    Some((status, lines.filter_map(header).collect()))
}
