//! One request and one answer of HTTP/1.1 on one connection.
//!
//! Reads and writes a stream. Invariant: no read or write waits longer than ten seconds, and a request has a bounded size.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);
const LONGEST_HEAD: u64 = 16 << 10;

#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    headers: Vec<(String, String)>,
    pub(super) body: String,
}

/// The status, a line for each header, and the body.
pub(super) type Answer = (u16, String, String);

impl Request {
    /// By its name in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A field of the form that is its body.
    #[cfg(feature = "fleet")]
    pub(super) fn field(&self, name: &str) -> String {
        let mut pairs = self.body.split('&').filter_map(|pair| pair.split_once('='));
        let value = pairs.find(|(known, _)| *known == name).map_or("", |(_, value)| value);
        unescape(&value.replace('+', " "))
    }

    fn read(stream: &TcpStream, longest_body: usize) -> io::Result<Self> {
        let odd = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let mut from = BufReader::new(stream);
        let mut head = from.by_ref().take(LONGEST_HEAD);
        let mut line = String::new();
        head.read_line(&mut line)?;
        let mut words = line.split_whitespace().map(str::to_owned);
        let (Some(method), Some(path)) = (words.next(), words.next()) else { return Err(odd("this is no request")) };
        let mut request = Self { method, path, ..Self::default() };
        loop {
            line.clear();
            if head.read_line(&mut line)? == 0 {
                return Err(odd("the request ends in its head"));
            }
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            request.headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        let long = request.header("content-length").map_or(Ok(0), str::parse);
        let long: usize = long.map_err(|_| odd("the length is no number"))?;
        if long > longest_body {
            return Err(odd("the request is too long"));
        }
        let mut body = vec![0; long];
        from.read_exact(&mut body)?;
        request.body = String::from_utf8(body).map_err(|_| odd("the request is no text"))?;
        Ok(request)
    }
}

/// `%20` is a blank.
pub(super) fn unescape(text: &str) -> String {
    let mut parts = text.split('%');
    let mut out = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                out.extend_from_slice(&part.as_bytes()[2..]);
            }
            None => out.extend([b"%", part.as_bytes()].concat()),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Reads one request and answers it.
pub(super) fn serve(
    mut stream: TcpStream,
    longest_body: usize,
    judge: impl FnOnce(&Request) -> Answer,
) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (status, headers, body) = match Request::read(&stream, longest_body) {
        Ok(request) => judge(&request),
        Err(error) => (400, "Content-Type: text/plain\r\n".to_owned(), format!("{error}\n")),
    };
    let long = body.len();
    let head = format!("HTTP/1.1 {status} -\r\n{headers}Content-Length: {long}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}
