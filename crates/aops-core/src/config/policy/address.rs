//! The address of a server, in the forms that a configuration file and a command line allow.
//!
//! Reads a text, writes nothing. Invariants: a configuration file allows only `http://` with numbers or
//! `localhost`, so that nothing is ever looked up; credentials are never allowed, since the policy is
//! recorded and a command line is visible.

use std::net::{IpAddr, SocketAddr};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Tried in this order.
    pub sockets: Vec<SocketAddr>,
    /// Host and port as they were written.
    pub host: String,
    /// Including the query.
    pub path: String,
}

impl Address {
    /// The address in a URL, or what is expected instead.
    pub fn read(url: &str) -> Result<Self, String> {
        let Some(rest) = url.strip_prefix("http://") else {
            return Err("a URL that begins with `http://`; no other protocol is supported".to_owned());
        };
        let (host, path) = split(rest)?;
        let sockets = sockets(host, 80)
            .ok_or("a URL whose host is a number or `localhost`, such as `http://127.0.0.1:8765/mcp`")?;
        Ok(Self { sockets, host: host.to_owned(), path })
    }

    /// The address that a person gives: also with a host name, which `look_up` resolves, and for TLS.
    pub fn of_person(url: &str, look_up: &dyn Fn(&str) -> Vec<IpAddr>) -> Result<Self, String> {
        let secure = url.strip_prefix("https://").map(|rest| (443, rest));
        let Some((port, rest)) = secure.or_else(|| url.strip_prefix("http://").map(|rest| (80, rest))) else {
            return Err(format!("`{url}` is not a URL that begins with `https://` or `http://`"));
        };
        let (host, path) = split(rest)?;
        if let Some(sockets) = sockets(host, port) {
            return Ok(Self { sockets, host: host.to_owned(), path });
        }
        let (name, port) = match host.rsplit_once(':') {
            Some((name, given)) => {
                (name, given.parse().map_err(|_| format!("`{host}`: its port is not a number"))?)
            }
            None => (host, port),
        };
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'.' || b == b'-';
        if name.is_empty() || name.starts_with('-') || !name.bytes().all(plain) {
            return Err(format!("`{name}` is not a host name"));
        }
        let sockets: Vec<SocketAddr> =
            look_up(name).into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
        if sockets.is_empty() {
            return Err(format!("`{name}` cannot be resolved: it is unknown here or misspelt"));
        }
        Ok(Self { sockets, host: host.to_owned(), path })
    }

    pub fn is_loopback(&self) -> bool {
        self.sockets.iter().all(|socket| socket.ip().is_loopback())
    }
}

/// Host and path; the path includes the query and begins with a slash.
fn split(rest: &str) -> Result<(&str, String), String> {
    let (host, path) = rest.find(['/', '?']).map_or((rest, ""), |at| rest.split_at(at));
    if host.contains('@') {
        return Err("a URL without user name and password: the policy is recorded".to_owned());
    }
    if path.bytes().any(|b| b <= b' ' || b == b'#' || !b.is_ascii()) {
        return Err("a URL whose path has no blanks and no signs that must be encoded".to_owned());
    }
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok((host, format!("{slash}{path}")))
}

fn sockets(host: &str, port: u16) -> Option<Vec<SocketAddr>> {
    let port = if host.ends_with(']') || !host.contains(':') { format!(":{port}") } else { String::new() };
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
    fn a_person_may_name_a_host() {
        let look_up =
            |name: &str| if name == "otlp.example.org" { vec![[192, 0, 2, 7].into()] } else { Vec::new() };
        let of = |url: &str| Address::of_person(url, &look_up);
        let found = of("https://otlp.example.org/v1/traces").unwrap();
        assert_eq!(
            (found.sockets[0].to_string().as_str(), found.host.as_str()),
            ("192.0.2.7:443", "otlp.example.org")
        );
        assert_eq!(of("http://otlp.example.org:4318/x").unwrap().sockets[0].port(), 4318);
        assert_eq!(of("https://127.0.0.1").unwrap().sockets[0].port(), 443);
        for bad in [
            "otlp.example.org",
            "ftp://otlp.example.org",
            "https://other.example.org",
            "https://u@otlp.example.org",
            "https://otlp.example.org:x",
            "https://-x",
            "https://",
            "https://a b/",
        ] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }

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
