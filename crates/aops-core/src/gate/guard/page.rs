//! Finds a call that names the page on which people answer questions. Its token is what holds; this only says so earlier.

use crate::config::policy::fleet::{Fleet, LISTEN};
use crate::tool::table::{ToolTouches, tool};

/// Names of this machine, beside a port that stands apart: `nc localhost 7390`.
const HERE: [&str; 4] = ["localhost", "127.", "::1", "0.0.0.0"];

/// The address that this call names, of the page that `fleet serve` serves.
pub fn named(fleet: &Fleet, name: &str, input: &str) -> Option<String> {
    fleet.url.as_ref()?;
    let touches = tool(name).touches;
    let runs = matches!(touches, ToolTouches::Line | ToolTouches::PowerShell | ToolTouches::Strings(_));
    if !runs && name != "WebFetch" {
        return None;
    }
    let page = fleet.page.as_deref().and_then(|page| page.split_once("://"));
    let page = page.map(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default().to_lowercase());
    let page = page.map(|host| host.strip_suffix(":443").map(str::to_owned).unwrap_or(host));
    if let Some(host) = page.filter(|host| !host.is_empty() && input.to_lowercase().contains(host)) {
        return Some(host);
    }
    let listen = fleet.listen.as_deref().unwrap_or(LISTEN);
    let (host, port) = listen.rsplit_once(':')?;
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let mut ports = input.match_indices(port).map(|(at, _)| (&input[..at], &input[at + port.len()..]));
    let here = || input.contains(host) || HERE.iter().any(|name| input.contains(name));
    let names = ports.any(|(before, after)| {
        let last = before.chars().last();
        !is_digit(last) && !is_digit(after.chars().next()) && (last == Some(':') || here())
    });
    names.then(|| listen.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_address_is_found_in_what_runs_or_fetches() {
        let url = Some("postgresql://a@h/d".to_owned());
        let fleet = Fleet { url, page: Some("https://Approve.example:443/x".to_owned()), ..Fleet::default() };
        let names = |tool: &str, text: &str| named(&fleet, tool, text).is_some();
        for text in [
            "curl http://127.0.0.1:7390/",
            "curl localhost:7390",
            "curl http://[::1]:7390/x",
            "curl http://0:7390",
            "nc 127.0.0.1 7390",
            "echo > /dev/tcp/localhost/7390",
            "curl https://approve.example/answer",
            "curl https://APPROVE.example",
        ] {
            assert!(names("Bash", text) && names("WebFetch", text) && names("mcp__web__post", text), "{text}");
            assert!(!names("Write", text) && !names("Read", text), "a file may name it: {text}");
            assert!(named(&Fleet::default(), "Bash", text).is_none(), "there is no such page");
        }
        for text in ["curl localhost:7391", "curl localhost:73900", "seq 7390", "ls x7390 localhost"] {
            assert!(!names("Bash", text), "{text}");
        }
        let nowhere = Fleet { listen: Some("7390".to_owned()), ..fleet };
        assert_eq!(named(&nowhere, "Bash", "curl localhost:7390"), None, "it serves no page");
    }
}
