//! The address of a server, as configuration may name one.
//!
//! Reads a text, writes nothing. Invariants: only `http://`, which is all that is spoken; only numbers and `localhost`, so
//! that nothing is ever looked up; no credentials, since the policy is recorded.

use std::net::SocketAddr;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Tried in this order.
    pub sockets: Vec<SocketAddr>,
    /// As it was written: host and port.
    pub host: String,
    /// With its query.
    pub path: String,
}

impl Address {
    /// The address in a URL, or what is wanted instead.
    pub fn read(url: &str) -> Result<Self, String> {
        let Some(rest) = url.strip_prefix("http://") else {
            return Err("a URL that begins with `http://`; nothing else is spoken".to_owned());
        };
        let (host, path) = rest.find(['/', '?']).map_or((rest, ""), |at| rest.split_at(at));
        if host.contains('@') {
            return Err("a URL without user name and password: the policy is recorded".to_owned());
        }
        if path.bytes().any(|b| b <= b' ' || b == b'#' || !b.is_ascii()) {
            return Err("a URL whose path has no blanks and no signs that must be encoded".to_owned());
        }
        let sockets =
            sockets(host).ok_or("a URL whose host is a number or `localhost`, as `http://127.0.0.1:8765/mcp`")?;
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok(Self { sockets, host: host.to_owned(), path: format!("{slash}{path}") })
    }

    pub fn is_loopback(&self) -> bool {
        self.sockets.iter().all(|socket| socket.ip().is_loopback())
    }
}

fn sockets(host: &str) -> Option<Vec<SocketAddr>> {
    let port = if host.ends_with(']') || !host.contains(':') { ":80" } else { "" };
    let full = format!("{host}{port}");
    let named = match full.strip_prefix("localhost:") {
        Some(port) => vec![format!("127.0.0.1:{port}"), format!("[::1]:{port}")],
        None => vec![full],
    };
    let plain = |socket: &SocketAddr| socket.port() != 0 && !host.contains('%');
    named.iter().map(|socket| socket.parse().ok().filter(plain)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_numbers() {
        for (url, loopback) in [
            ("http://127.0.0.1:8765/mcp", true),
            ("http://127.9.8.7:1", true),
            ("http://[::1]:8765/mcp?x=1", true),
            ("http://localhost:8765/mcp", true),
            ("http://10.1.2.3:8765/mcp", false),
            ("http://[fe80::1]/mcp", false),
            ("http://0.0.0.0:8765/mcp", false),
        ] {
            assert_eq!(Address::read(url).unwrap().is_loopback(), loopback, "{url}");
        }
        for bad in [
            "https://127.0.0.1/mcp",
            "http://example.com/mcp",
            "http://127.0.0.1.example.com/",
            "http://localhost.example.com:1/",
            "http://localhost@example.com/",
            "http://u:p@127.0.0.1/",
            "http://127.1/",
            "http://0x7f.0.0.1/",
            "http://127.0.0.1:0/",
            "http://127.0.0.1:99999/",
            "http://127.0.0.1:+80/",
            "http:///mcp",
            "http://",
            "127.0.0.1:1",
            "http://[::1/",
            "http://::1/",
            "http://127.0.0.1:1/a b",
            "http://127.0.0.1:1/a\r\nX: y",
            "http://127.0.0.1\r\n/",
            "http://127.0.0.1:1/é",
        ] {
            assert!(Address::read(bad).is_err(), "{bad}");
        }
    }
}
