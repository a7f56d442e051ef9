//! Parses one plain HTTP request: which host it is for, and the same request in our own normal form.
//!
//! Pure. Invariants: the host is named, and always the same; nothing is passed on that two servers could read
//! in two ways.

use crate::body::Body;
use crate::name::Name;
use std::fmt;

const LONGEST_HEAD: usize = 1 << 16;
const HTTP: u16 = 80;

/// How the connection reached us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To an address, at this port.
    Direct(u16),
    /// To the proxy, which some programs have in their own settings.
    Proxy,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A tunnel to this host and port.
    Connect {
        name: Name,
        port: u16,
        head: usize,
    },
    Plain(Plain),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    pub name: Name,
    pub port: u16,
    /// Length of its head in the received bytes.
    pub head: usize,
    /// The head that we pass on.
    pub ours: Vec<u8>,
    pub body: Body,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadRequest {
    /// Not one request of HTTP/1 with plain line ends.
    Form,
    /// No host, two hosts, or an invalid name.
    Host,
    /// Target and `Host` differ.
    Differs,
    /// Its end cannot be determined for sure.
    Body,
    /// A proxy request sent directly, or the other way round.
    Place,
}

impl fmt::Display for BadRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "this is not one plain request of HTTP/1",
            Self::Host => "the request does not name one host",
            Self::Differs => "the request names two hosts",
            Self::Body => "the end of the request is not clear",
            Self::Place => "this is not a request for this place",
        })
    }
}

/// Headers that belong to one connection, or that would change how the server reads it.
const DROPPED: [&[u8]; 8] = [
    b"connection", b"http2-settings", b"keep-alive", b"proxy-authorization", b"proxy-connection", b"te",
    b"trailer", b"upgrade",
];

/// The request at the beginning of these bytes; `None` while its head is incomplete.
pub fn read(bytes: &[u8], way: Way) -> Option<Result<Request, BadRequest>> {
    match bytes.windows(4).position(|four| four == b"\r\n\r\n") {
        Some(end) => Some(parse(&bytes[..end], way)),
        // It cannot become one.
        None if bytes.len() > LONGEST_HEAD || bytes.contains(&0) => Some(Err(BadRequest::Form)),
        None => None,
    }
}

/// `head`: without the empty line at its end.
fn parse(head: &[u8], way: Way) -> Result<Request, BadRequest> {
    let mut lines = lines(head)?.into_iter();
    let first = lines.next().ok_or(BadRequest::Form)?;
    let fields: Vec<(&[u8], &[u8])> = lines.map(field).collect::<Option<_>>().ok_or(BadRequest::Form)?;
    let [method, target, version] = words(first).ok_or(BadRequest::Form)?;
    let length = head.len() + 4;
    if method == b"CONNECT" {
        let (name, port) = Name::with_port(target).ok_or(BadRequest::Host)?;
        return match (way, port) {
            (Way::Proxy, Some(port)) => Ok(Request::Connect { name, port, head: length }),
            (Way::Proxy, None) => Err(BadRequest::Host),
            (Way::Direct(_), _) => Err(BadRequest::Place),
        };
    }
    let (name, port, path) = host(target, &fields, way)?;
    let body = body(&fields)?;
    let shown = if port == HTTP { name.to_string() } else { format!("{name}:{port}") };
    let mut ours = [method, b" ", path, b" ", version, b"\r\nHost: ", shown.as_bytes(), b"\r\n"].concat();
    for (name, value) in fields {
        if !name.eq_ignore_ascii_case(b"host")
            && !DROPPED.iter().any(|known| name.eq_ignore_ascii_case(known))
        {
            ours.extend([name, b": ", value, b"\r\n"].concat());
        }
    }
    ours.extend(b"Connection: close\r\n\r\n");
    Ok(Request::Plain(Plain { name, port, head: length, ours, body }))
}

/// The lines of a head, if each has the only permitted line end and contains nothing that a terminal or
/// server could misread.
fn lines(head: &[u8]) -> Result<Vec<&[u8]>, BadRequest> {
    let mut found = Vec::new();
    let mut rest = head;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\r') {
        found.push(&rest[..at]);
        rest = rest[at..].strip_prefix(b"\r\n").ok_or(BadRequest::Form)?;
    }
    found.push(rest);
    let odd = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
    if found.iter().any(|line| line.iter().any(odd)) { Err(BadRequest::Form) } else { Ok(found) }
}

/// `METHOD TARGET HTTP/1.x`
fn words(line: &[u8]) -> Option<[&[u8]; 3]> {
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let [method, target, version] = words.try_into().ok()?;
    let known = matches!(version, b"HTTP/1.1" | b"HTTP/1.0") && is_token(method) && !target.is_empty();
    (known && target.iter().all(u8::is_ascii_graphic)).then_some([method, target, version])
}

fn is_token(word: &[u8]) -> bool {
    let known = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !word.is_empty() && word.iter().all(known)
}

/// A folded line has no name before its colon, so it is rejected.
fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let name = &line[..colon];
    let value = &line[colon + 1..];
    is_token(name).then(|| (name, value.trim_ascii()))
}

fn all<'a>(fields: &[(&'a [u8], &'a [u8])], name: &[u8]) -> Vec<&'a [u8]> {
    fields.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| *value).collect()
}

/// The host that all parts of the request name, its port, and the path.
fn host<'a>(
    target: &'a [u8],
    fields: &[(&[u8], &[u8])],
    way: Way,
) -> Result<(Name, u16, &'a [u8]), BadRequest> {
    let [field] = all(fields, b"host")[..] else { return Err(BadRequest::Host) };
    let (name, named) = Name::with_port(field).ok_or(BadRequest::Host)?;
    let scheme = target.get(..7).filter(|begin| begin.eq_ignore_ascii_case(b"http://"));
    if scheme.is_none() {
        let in_place = target[0] == b'/' || target == b"*";
        let Way::Direct(at) = way else { return Err(BadRequest::Place) };
        return match in_place {
            false => Err(BadRequest::Form),
            true if named.unwrap_or(HTTP) != at => Err(BadRequest::Differs),
            true => Ok((name, at, target)),
        };
    }
    let rest = &target[7..];
    let end = rest.iter().position(|byte| b"/?#".contains(byte)).unwrap_or(rest.len());
    let (wanted, port) = Name::with_port(&rest[..end]).ok_or(BadRequest::Host)?;
    let port = port.unwrap_or(HTTP);
    let path = &rest[end..];
    let elsewhere = matches!(way, Way::Direct(at) if at != port);
    if wanted != name || named.unwrap_or(HTTP) != port || elsewhere {
        return Err(BadRequest::Differs);
    }
    match path.first() {
        None => Ok((name, port, b"/")),
        Some(b'/') => Ok((name, port, path)),
        // Servers read the target `http://host?x` in different ways.
        Some(_) => Err(BadRequest::Form),
    }
}

fn body(fields: &[(&[u8], &[u8])]) -> Result<Body, BadRequest> {
    match (&all(fields, b"transfer-encoding")[..], &all(fields, b"content-length")[..]) {
        ([], []) => Ok(Body::NONE),
        ([], [length]) => {
            let digits = !length.is_empty() && length.len() < 16 && length.iter().all(u8::is_ascii_digit);
            let number = str::from_utf8(length).ok().filter(|_| digits).and_then(|text| text.parse().ok());
            number.map(Body::Length).ok_or(BadRequest::Body)
        }
        ([coding], []) if coding.eq_ignore_ascii_case(b"chunked") => Ok(Body::CHUNKED),
        _ => Err(BadRequest::Body),
    }
}

impl BadRequest {
    /// The status that a server would answer with.
    pub fn status(self) -> &'static str {
        if self == Self::Body { LENGTH_REQUIRED } else { FORBIDDEN }
    }
}

pub const FORBIDDEN: &str = "403 Forbidden";
const LENGTH_REQUIRED: &str = "411 Length Required";
pub const BAD_GATEWAY: &str = "502 Bad Gateway";

/// An answer of our own, which a person reads in the terminal.
pub fn refusal(status: &str, host: &str, why: &str, hint: &str) -> Vec<u8> {
    let text = format!("aops-hook: `{host}` {why}\n{hint}");
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n");
    format!("{head}Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes()
}

/// The requested tunnel is open.
pub const CONNECTED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

#[cfg(test)]
mod tests;
