//! Where a memory server is, and who said so.
//!
//! Reads nothing; parses an address from our configuration or a project's `.mcp.json`. Invariants: only `http://`; only
//! numbers and `localhost`, so that nothing is ever looked up; from a project's file nothing but loopback.

use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// An address to ask at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Tried in this order.
    pub(super) addresses: Vec<SocketAddr>,
    /// As the user wrote it: host and port.
    pub(super) host: String,
    /// With its query.
    pub(super) path: String,
}

impl Server {
    /// From the user's own configuration, which may name any machine by its number.
    pub fn from_config(url: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("`{url}` {why}");
        let rest = url.strip_prefix("http://").ok_or_else(|| wrong("does not begin with `http://`"))?;
        let (host, path) = rest.find(['/', '?']).map_or((rest, ""), |at| rest.split_at(at));
        if path.bytes().any(|b| b <= b' ' || b == b'#' || !b.is_ascii()) {
            return Err(wrong("has a path with blanks or signs that must be encoded"));
        }
        let addresses = addresses(host)
            .ok_or_else(|| wrong("names no address: use a number or `localhost`, with a port"))?;
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok(Self { addresses, host: host.to_owned(), path: format!("{slash}{path}") })
    }

    /// The memory servers of a project's `.mcp.json`: those on loopback HTTP whose name says memory.
    pub fn from_project(mcp_json: &str) -> Vec<Self> {
        let Ok(file) = serde_json::from_str::<Value>(mcp_json) else { return Vec::new() };
        let entries = file["mcpServers"].as_object().into_iter().flatten();
        let named = entries.filter(|(name, _)| name.to_ascii_lowercase().contains("memory"));
        let http =
            named.filter(|(_, entry)| matches!(entry["type"].as_str(), Some("http" | "streamable-http")));
        let found = http.filter_map(|(_, entry)| Self::from_config(entry["url"].as_str()?).ok());
        found.filter(Self::is_loopback).collect()
    }

    pub fn is_loopback(&self) -> bool {
        self.addresses.iter().all(|address| address.ip().is_loopback())
    }
}

fn addresses(host: &str) -> Option<Vec<SocketAddr>> {
    let local = if host == "localhost" { Some("80") } else { host.strip_prefix("localhost:") };
    if let Some(port) = local {
        let port = number(port)?;
        let both = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        return Some(both.into_iter().map(|ip| SocketAddr::new(ip, port)).collect());
    }
    let bracket = |host: &str| host.strip_prefix('[')?.strip_suffix(']')?.parse::<Ipv6Addr>().ok();
    let ip =
        |host: &str| bracket(host).map(IpAddr::V6).or_else(|| host.parse::<Ipv4Addr>().ok().map(IpAddr::V4));
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
            assert_eq!(Server::from_config(url).unwrap().is_loopback(), loopback, "{url}");
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
            assert!(Server::from_config(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_project_names_loopback_only() {
        let file = r#"{"mcpServers": {
            "memory": {"type": "http", "url": "http://127.0.0.1:8765/mcp"},
            "Team-Memory": {"type": "http", "url": "http://10.0.0.1:8765/mcp"},
            "memory-names": {"type": "http", "url": "http://memory.local:8765/mcp"},
            "memory-stdio": {"command": "memory", "args": []},
            "other": {"type": "http", "url": "http://127.0.0.1:9999/mcp"}
        }}"#;
        assert_eq!(Server::from_project(file), [Server::from_config("http://127.0.0.1:8765/mcp").unwrap()]);
        for odd in ["", "[]", "{\"mcpServers\": []}", "{\"mcpServers\": {\"memory\": 3}}"] {
            assert_eq!(Server::from_project(odd), []);
        }
    }
}
