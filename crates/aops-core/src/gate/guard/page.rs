//! Finds a call that names an address of the engine: its gateway, on which people answer questions, this
//! machine's worker, and the addresses of the engine's server, which have no login. The real protection is
//! tokens and signatures; this check only refuses earlier.

use crate::config::policy::fleet::Fleet;
use crate::tool::table::{ToolTouches, tool};

/// Names of this machine, next to a separate port: `nc localhost 9443`.
const HERE: [&str; 4] = ["localhost", "127.", "::1", "0.0.0.0"];

/// Addresses that only the engine's server has: its port, or a socket in its folder.
const ADMIN_PORT: &str = "9070";
const SOCKETS: [&str; 3] = ["ingress.sock", "admin.sock", "fabric.sock"];
/// Many servers use this port, but only the engine's server has these paths.
const INGRESS_PORT: &str = ":8080/";
const ASKED: [&str; 6] = ["Run/", "Machines/", "Question/", "Slots/", "machine-", "restate/"];

/// What this call names: the engine's gateway, this machine's worker, or an address of the engine's server.
pub fn named(fleet: &Fleet, name: &str, input: &str) -> Option<String> {
    let touches = tool(name).touches;
    let runs = matches!(touches, ToolTouches::Line | ToolTouches::PowerShell | ToolTouches::Strings(_));
    if !runs && name != "WebFetch" {
        return None;
    }
    let page = fleet.page.as_deref().and_then(host_of).filter(|host| has(input, host));
    let worker = || fleet.listen.clone().filter(|listen| names_port(input, listen));
    page.or_else(worker).or_else(|| engine(fleet, input))
}

fn engine(fleet: &Fleet, input: &str) -> Option<String> {
    let url = fleet.engine.as_deref()?;
    let host = host_of(url)?;
    // If the host serves several things, the path says which one is meant.
    let path = url.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
    let path = path.trim_end_matches('/').to_lowercase();
    let whole = if path.is_empty() { host.clone() } else { format!("{host}/{path}") };
    let is_here = HERE.iter().any(|name| host.starts_with(name.trim_end_matches('.')));
    if has(input, &whole) || is_here && names_port(input, &host) {
        return Some(whole);
    }
    if names_port(input, &format!("127.0.0.1:{ADMIN_PORT}")) {
        return Some(format!("127.0.0.1:{ADMIN_PORT}"));
    }
    let asked = input.split(INGRESS_PORT).skip(1).any(|rest| ASKED.iter().any(|path| rest.starts_with(path)));
    if asked && HERE.iter().any(|name| input.contains(name)) {
        return Some(format!("127.0.0.1{}", INGRESS_PORT.trim_end_matches('/')));
    }
    SOCKETS.iter().find(|socket| input.contains(*socket)).map(|socket| (*socket).to_owned())
}

fn host_of(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default().to_lowercase();
    let host = host.strip_suffix(":443").map(str::to_owned).unwrap_or(host);
    (!host.is_empty()).then_some(host)
}

fn has(input: &str, host: &str) -> bool {
    input.to_lowercase().contains(host)
}

/// The text contains this address's port, preceded by a name of this machine.
fn names_port(input: &str, address: &str) -> bool {
    let Some((host, port)) = address.rsplit_once(':') else { return false };
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let mut ports = input.match_indices(port).map(|(at, _)| (&input[..at], &input[at + port.len()..]));
    let here = || input.contains(host) || HERE.iter().any(|name| input.contains(name));
    ports.any(|(before, after)| {
        let last = before.chars().last();
        !is_digit(last) && !is_digit(after.chars().next()) && (last == Some(':') || here())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_and_the_workers_address_are_found_in_what_runs_or_fetches() {
        let page = Some("https://Approve.example:443/x".to_owned());
        let fleet = Fleet { listen: Some("127.0.0.1:7390".to_owned()), page, ..Fleet::default() };
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
            assert!(
                names("Bash", text) && names("WebFetch", text) && names("mcp__web__post", text),
                "{text}"
            );
            assert!(!names("Write", text) && !names("Read", text), "a file may name it: {text}");
            assert!(named(&Fleet::default(), "Bash", text).is_none(), "there is no such address");
        }
        for text in ["curl localhost:7391", "curl localhost:73900", "seq 7390", "ls x7390 localhost"] {
            assert!(!names("Bash", text), "{text}");
        }
        let nowhere = Fleet { listen: Some("7390".to_owned()), ..fleet };
        assert_eq!(named(&nowhere, "Bash", "curl localhost:7390"), None, "it is no address");
    }
    #[test]
    fn the_gateway_and_the_servers_doors_are_found() {
        let fleet = |engine: &str| Fleet { engine: Some(engine.to_owned()), ..Fleet::default() };
        let names = |engine: &str, text: &str| named(&fleet(engine), "Bash", text).is_some();
        for (engine, text) in [
            ("https://runs.example", "curl -X POST https://runs.example/v1/runs/r/answer"),
            ("https://Runs.example:443/", "curl https://RUNS.example"),
            ("https://tools.example/runs", "curl https://tools.example/runs/v1"),
            ("http://127.0.0.1:7391", "curl localhost:7391/v1/runs/r"),
            ("http://127.0.0.1:7391", "nc 127.0.0.1 7391"),
            ("https://runs.example", "curl localhost:9070/deployments"),
            ("https://runs.example", "curl -d {} http://127.0.0.1:8080/Run/r/answer"),
            ("https://runs.example", "curl http://[::1]:8080/restate/health"),
            ("https://runs.example", "curl --unix-socket /var/lib/restate/n/ingress.sock http://x/Run/r/run"),
            ("https://runs.example", "socat - UNIX:/var/lib/restate/n/admin.sock"),
        ] {
            assert!(names(engine, text), "{engine}: {text}");
            assert!(named(&Fleet::default(), "Bash", text).is_none(), "there is no engine");
            assert!(named(&fleet(engine), "Write", text).is_none(), "a file may name it: {text}");
        }
        for (engine, text) in [
            ("https://tools.example/runs", "git clone https://tools.example/repository"),
            ("https://runs.example", "curl localhost:8080/api/users"),
            ("https://runs.example", "curl localhost:3000/Run/x"),
            ("https://runs.example", "seq 9070"),
        ] {
            assert!(!names(engine, text), "{engine}: {text}");
        }
    }
}
