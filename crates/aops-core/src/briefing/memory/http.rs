//! One request over a new connection: reads the answer's head, then its body in one of three encodings.
//!
//! Invariants: the remaining time is measured before every connect, write and read, so that a slow server
//! cannot delay the prompt; head and body are bounded; the connection is closed at the end.

use super::Trouble;
use crate::config::policy::Address;
use crate::system::wire::{Encrypt, Timed, Wire, time_left};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

const LONGEST_HEAD: u64 = 16 << 10;
const LONGEST_BODY: usize = 1 << 20;

/// Header names in lower case, and their values.
type Headers = Vec<(String, String)>;

pub(super) struct Reply {
    pub(super) status: u16,
    headers: Headers,
    left: Left,
    from: BufReader<Timed<'static>>,
}

/// How much of the body is still missing.
#[derive(Clone, Copy)]
enum Left {
    Bytes(usize),
    /// Bytes left in the current chunk.
    Chunk(usize),
    UntilClose,
}

/// A timeout always means the deadline, since no other is ever set.
impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Trouble::Late,
            _ => Trouble::Said(format!("hung up: {error}")),
        }
    }
}

/// Sends one request, a GET if it has no body, and reads the head of its answer.
pub(super) fn ask(
    server: &Address,
    tls: Option<&dyn Encrypt>,
    headers: &[(&str, &str)],
    body: Option<&str>,
    deadline: Instant,
) -> Result<Reply, Trouble> {
    let plain = connect(server, deadline)?;
    let _ = plain.set_read_timeout(Some(time_left(deadline)?));
    let stream: Box<dyn Wire> = match tls {
        Some(tls) => tls.encrypt(&server.host, plain).map_err(Trouble::Said)?,
        None => Box::new(plain),
    };
    let mut stream = Timed { stream, deadline };
    stream.write_all(request(server, headers, body).as_bytes())?;
    let mut from = BufReader::with_capacity(16 << 10, stream);
    let (status, headers) =
        head(&mut from)?.ok_or_else(|| Trouble::Said("does not speak HTTP".to_owned()))?;
    let mut reply = Reply { status, headers, left: Left::UntilClose, from };
    if reply.header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        reply.left = Left::Chunk(0);
    } else if let Some(long) = reply.header("content-length").and_then(|long| long.parse().ok()) {
        reply.left = Left::Bytes(long);
    }
    Ok(reply)
}

fn connect(server: &Address, deadline: Instant) -> Result<TcpStream, Trouble> {
    let mut trouble = Trouble::Missing;
    for address in &server.sockets {
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

fn request(server: &Address, headers: &[(&str, &str)], body: Option<&str>) -> String {
    let method = if body.is_some() { "POST" } else { "GET" };
    let body = body.unwrap_or_default();
    let long = body.len().to_string();
    let ours = [
        ("Host", server.host.as_str()),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Accept-Encoding", "identity"),
        ("Connection", "close"),
        ("Content-Length", &long),
    ];
    let lines: Vec<String> =
        ours.iter().chain(headers).map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("{method} {} HTTP/1.1\r\n{}\r\n{body}", server.path, lines.concat())
}

/// Status and headers, up to the empty line; `None` if this is not HTTP.
fn head(from: &mut BufReader<Timed>) -> Result<Option<(u16, Headers)>, Trouble> {
    let mut from = from.take(LONGEST_HEAD);
    let Some(first) = line(&mut from)? else { return Ok(None) };
    let mut headers = Vec::new();
    loop {
        match line(&mut from)? {
            Some(line) if line.is_empty() => break,
            Some(line) => {
                headers.extend(
                    line.split_once(':').map(|(name, v)| (name.to_ascii_lowercase(), v.trim().to_owned())),
                );
            }
            None => return Ok(None),
        }
    }
    let status = first.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1)?.parse().ok());
    Ok(status.map(|status| (status, headers)))
}

/// One line up to its end, which must be there.
fn line(from: &mut impl BufRead) -> Result<Option<String>, Trouble> {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line)?;
    Ok(line.strip_suffix(b"\r\n").map(|line| String::from_utf8_lossy(line).into_owned()))
}

impl Reply {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Reads until `enough` returns something for the text so far, or to the end.
    pub(super) fn read_until<T>(
        mut self,
        enough: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<(Vec<u8>, Option<T>), Trouble> {
        let mut text = Vec::new();
        loop {
            let more = self.read_some(&mut text)?;
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

    /// Adds the next piece; false at the end.
    fn read_some(&mut self, text: &mut Vec<u8>) -> Result<bool, Trouble> {
        let most = match self.left {
            Left::UntilClose => usize::MAX,
            Left::Bytes(0) => return Ok(false),
            Left::Chunk(0) => {
                let line = self.chunk_line()?;
                let size =
                    line.split(';').next().and_then(|size| usize::from_str_radix(size.trim(), 16).ok());
                let size = size.ok_or_else(broken)?;
                self.left = Left::Chunk(size);
                return Ok(size > 0);
            }
            Left::Bytes(left) | Left::Chunk(left) => left,
        };
        let come = self.from.fill_buf()?;
        let long = most.min(come.len());
        text.extend_from_slice(&come[..long]);
        self.from.consume(long);
        if long == 0 && most != usize::MAX {
            return Err(Trouble::Said("hung up in the middle of its answer".to_owned()));
        }
        match &mut self.left {
            Left::UntilClose => Ok(long > 0),
            Left::Bytes(left) => {
                *left -= long;
                Ok(*left > 0)
            }
            Left::Chunk(left) => {
                *left -= long;
                if *left == 0 {
                    self.chunk_line()?;
                }
                Ok(true)
            }
        }
    }

    fn chunk_line(&mut self) -> Result<String, Trouble> {
        line(&mut self.from.by_ref().take(LONGEST_HEAD))?.ok_or_else(broken)
    }
}

fn broken() -> Trouble {
    Trouble::Said("sent a broken answer".to_owned())
}
