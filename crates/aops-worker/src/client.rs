//! Asks the engine's server over HTTP: by TCP or by a socket in a folder.
//!
//! Blocks. Invariant: the answer is complete, or there is an error.

use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// An address of the server: `http://127.0.0.1:8080` or `unix:/run/aops/ingress.sock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Tcp(String),
    Unix(PathBuf),
}

/// The server's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub status: u16,
    /// Null if the body is not JSON.
    pub json: Value,
    pub text: String,
}

/// The time limit for an answer that the server can give immediately.
pub const SOON: Option<Duration> = Some(Duration::from_secs(30));
/// The maximum size of an answer.
const LONGEST_ANSWER: u64 = 8 << 20;

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

impl Address {
    pub fn read(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| path.starts_with('/')) {
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        let host = text.strip_prefix("http://").map(|host| host.trim_end_matches('/'));
        let host = host.filter(|host| host.contains(':') && !host.contains(['/', '@', ' ']));
        host.map(|host| Self::Tcp(host.to_owned())).ok_or_else(|| {
            format!("`{text}` is not an address\nhint: write `http://HOST:PORT` or `unix:/PATH`")
        })
    }

    /// One request. Without `patience`, there is no time limit.
    pub fn ask(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        patience: Option<Duration>,
    ) -> io::Result<Answer> {
        let mut stream: Box<dyn Stream> = match self {
            Self::Tcp(host) => {
                let stream = TcpStream::connect(host)?;
                stream.set_read_timeout(patience)?;
                Box::new(stream)
            }
            Self::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(patience)?;
                Box::new(stream)
            }
        };
        let body = body.map(Value::to_string).unwrap_or_default();
        let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
        let head = format!("{method} {path} HTTP/1.1\r\nhost: engine\r\naccept: application/json\r\n{kind}");
        write!(stream, "{head}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())?;
        let mut said = Vec::new();
        stream.take(LONGEST_ANSWER).read_to_end(&mut said)?;
        read_answer(&said)
    }
}

pub(crate) fn read_answer(said: &[u8]) -> io::Result<Answer> {
    let odd = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("the engine {what}"));
    let end =
        said.windows(4).position(|four| four == b"\r\n\r\n").ok_or_else(|| odd("broke off its answer"))?;
    let head = String::from_utf8_lossy(&said[..end]).to_ascii_lowercase();
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|word| word.parse().ok())
        .ok_or_else(|| odd("does not speak HTTP"))?;
    let body = &said[end + 4..];
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let body = if field("transfer-encoding:") == Some("chunked") {
        unchunk(body).ok_or_else(|| odd("broke off its answer"))?
    } else {
        let long = field("content-length:").and_then(|long| long.parse::<usize>().ok());
        if long.is_some_and(|long| long != body.len()) {
            return Err(odd("broke off its answer"));
        }
        body.to_owned()
    };
    let text = String::from_utf8_lossy(&body).into_owned();
    Ok(Answer { status, json: serde_json::from_str(&text).unwrap_or_default(), text })
}

fn unchunk(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let size = std::str::from_utf8(&rest[..end]).ok()?.split(';').next()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        rest = &rest[end + 2..];
        if size == 0 {
            return Some(whole);
        }
        whole.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size + 2..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_or_an_error() {
        let good = b"HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{\"a\"\r\n3\r\n:1}\r\n0\r\n\r\n";
        let answer = read_answer(good).unwrap();
        assert_eq!((answer.status, answer.json["a"].as_u64()), (202, Some(1)));
        let plain = b"HTTP/1.1 409 Conflict\r\ncontent-length: 2\r\n\r\nno";
        assert_eq!(read_answer(plain).unwrap().text, "no");
        for cut in [&good[..good.len() - 9], &plain[..plain.len() - 1], b"HTTP/1.1 200", b"\r\n\r\n"] {
            assert!(read_answer(cut).is_err());
        }
    }

    #[test]
    fn an_address_is_tcp_or_a_socket() {
        assert_eq!(Address::read("http://127.0.0.1:8080/"), Ok(Address::Tcp("127.0.0.1:8080".to_owned())));
        assert_eq!(Address::read("unix:/run/x"), Ok(Address::Unix("/run/x".into())));
        for odd in ["https://h:1", "http://h", "unix:x", "http://a@h:1", "h:1"] {
            assert!(Address::read(odd).unwrap_err().contains("hint:"), "{odd}");
        }
    }
}
