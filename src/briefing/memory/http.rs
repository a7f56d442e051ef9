//! One POST over a fresh connection: the answer's head, then its body as it comes.
//!
//! Writes to and reads from one socket. Invariants: before every connect, write and read the time that is left is
//! measured, so a slow server cannot hold the prompt; head and body are bounded; the connection is closed at the end.

use super::Trouble;
use super::body::{Body, Source, check, left, time_left};
use crate::config::policy::Address;
use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::time::Instant;

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
    server: &Address,
    headers: &[(&str, &str)],
    body: &str,
    deadline: Instant,
) -> Result<Reply, Trouble> {
    let mut stream = connect(server, deadline)?;
    let request = request(server, headers, body);
    write(&mut stream, request.as_bytes(), deadline)?;
    let mut source = Source::new(stream, deadline);
    let head = source.head()?;
    let (status, headers) = parse_head(&head).ok_or_else(|| Trouble::Said("does not speak HTTP".to_owned()))?;
    let body = Body::new(left(&headers), source);
    Ok(Reply { status, headers, body })
}

fn request(server: &Address, headers: &[(&str, &str)], body: &str) -> String {
    let long = body.len().to_string();
    let ours = [
        ("Host", server.host.as_str()),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Accept-Encoding", "identity"),
        ("Connection", "close"),
        ("Content-Length", &long),
    ];
    let lines: Vec<String> = ours.iter().chain(headers).map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("POST {} HTTP/1.1\r\n{}\r\n{body}", server.path, lines.concat())
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

fn parse_head(head: &[u8]) -> Option<(u16, Vec<(String, String)>)> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    let header =
        |line: &str| line.split_once(':').map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
    Some((status, lines.filter_map(header).collect()))
}
