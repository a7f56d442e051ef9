//! The address of a server, as configuration may name one.
//!
//! Reads a text, writes nothing. Invariants: only `http://`, which is all that is spoken; only numbers and `localhost`, so
//! that nothing is ever looked up; no credentials, since the policy is recorded.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

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
    let local = if host == "localhost" { Some("80") } else { host.strip_prefix("localhost:") };
    if let Some(port) = local {
        let port = number(port)?;
        let both = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        return Some(both.into_iter().map(|ip| SocketAddr::new(ip, port)).collect());
    }
    let bracket = |host: &str| host.strip_prefix('[')?.strip_suffix(']')?.parse::<Ipv6Addr>().ok();
    let ip = |host: &str| bracket(host).map(IpAddr::V6).or_else(|| host.parse::<Ipv4Addr>().ok().map(IpAddr::V4));
    if let Some(ip) = ip(host) {
        return Some(vec![SocketAddr::new(ip, 80)]);
    }
    let (host, port) = host.rsplit_once(':')?;
    Some(vec![SocketAddr::new(ip(host)?, number(port)?)])
}

fn number(port: &str) -> Option<u16> {
    port.bytes().all(|b| b.is_ascii_digit()).then(|| port.parse().ok())?.filter(|port| *port != 0)
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
