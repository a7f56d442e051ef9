//! Just enough HTTP/1.1 for one client on loopback: read a request, write a whole answer, keep the
//! connection.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// One request as it came over the wire.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) method: String,
    pub(super) path: String,
    /// Names in lower case.
    pub(super) headers: HashMap<String, String>,
    pub(super) body: Vec<u8>,
}

/// The next request, or nothing when the client hung up.
pub(super) fn receive(from: &mut BufReader<TcpStream>) -> io::Result<Option<Received>> {
    let start = line(from)?;
    let mut words = start.split(' ');
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
    let mut headers = HashMap::new();
    loop {
        let line = line(from)?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let body = body(from, &headers)?;
    Ok(Some(Received { method: method.to_owned(), path: path.to_owned(), headers, body }))
}

/// One answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: &'static str,
    pub(super) kind: &'static str,
    pub(super) body: String,
}

/// A whole answer with its length, so that the connection stays usable; `halfway` happens when half of it is
/// sent.
pub(super) fn send(
    to: &mut TcpStream,
    answer: &Answer,
    head_only: bool,
    halfway: impl FnOnce(),
) -> io::Result<()> {
    let Answer { status, kind, body } = answer;
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nrequest-id: req_scripted\r\n\r\n"
    );
    to.write_all(head.as_bytes())?;
    if head_only {
        return Ok(());
    }
    let (first, second) = body.as_bytes().split_at(length / 2);
    to.write_all(first)?;
    halfway();
    to.write_all(second)
}

fn body(from: &mut BufReader<TcpStream>, headers: &HashMap<String, String>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked") {
        loop {
            let size = usize::from_str_radix(line(from)?.trim(), 16).map_err(io::Error::other)?;
            io::copy(&mut from.take(size as u64), &mut body)?;
            line(from)?;
            if size == 0 {
                return Ok(body);
            }
        }
    }
    let length = headers.get("content-length").map_or(Ok(0), |n| n.parse()).map_err(io::Error::other)?;
    from.take(length).read_to_end(&mut body)?;
    Ok(body)
}

fn line(from: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
