//! Which reading lines need the machine's network: they ask another machine, or look at this one's
//! connections.
//!
//! Reads the line, but no file. Invariant: a program that is not in the table reads locally; a program that
//! only the user lists as reading is unknown, and may ask anyone.

use crate::class::LineSetting;
use crate::effect::Effect;
use crate::syntax::{Line, Simple, Word};

/// Programs that contact another machine or a local server, or report this machine's connections, however
/// they are called.
const ALWAYS: &[&str] = &[
    "aws", "az", "bd", "brew", "curl", "dig", "docker", "docker-compose", "fuser", "gcloud", "getent", "gh",
    "glab", "helm", "host", "hostname", "ifconfig", "ip", "kubectl", "lsof", "mb", "nc", "netstat", "nettop",
    "nslookup", "oc", "ping", "podman", "ss", "terraform", "tofu", "tracepath", "traceroute", "wget",
    "whois",
];
/// Programs that need the network with one of these words.
const WITH: &[(&str, &[&str])] = &[
    ("cargo", &["info", "search"]),
    ("conda", &["search"]),
    ("gem", &["-r", "--remote", "info", "search"]),
    ("git", &["ls-remote"]),
    ("go", &["-u", "-versions"]),
    ("mamba", &["search"]),
    ("npm", &["audit", "info", "outdated", "ping", "search", "show", "v", "view", "whoami"]),
    ("pip", &["-o", "--outdated", "index"]),
    ("pip3", &["-o", "--outdated", "index"]),
    ("pnpm", &["audit", "info", "outdated", "search", "show", "view", "whoami"]),
    ("poetry", &["-l", "-o", "--latest", "--outdated", "search"]),
    ("rustup", &["check"]),
    ("uv", &["--outdated"]),
    ("yarn", &["audit", "info", "npm", "outdated"]),
];
/// Programs that start another.
const RUNNERS: &[&str] = &["builtin", "command", "env", "exec", "nice", "time", "timeout", "xargs"];
/// Options of a search that are followed by the program it starts.
const STARTS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
/// Files that describe the machine's connections.
const FILES: &[&str] = &["/proc/net/", "/proc/self/net/", "/sys/class/net"];

/// Whether a line that only reads would read something else without the network.
pub fn needs_network(line: &Line, around: &LineSetting) -> bool {
    line.commands.iter().filter(|simple| !simple.function).any(|simple| asks(simple, around))
}

fn asks(simple: &Simple, around: &LineSetting) -> bool {
    let Some(name) = simple.name() else { return false };
    let arguments = &simple.words[1..];
    let listed = || (around.listed)(name, arguments) == Some(Effect::Read);
    let looks = |word: &Word| FILES.iter().any(|file| word.starts_with(file));
    is_online(name, arguments) || arguments.iter().any(looks) || runs(name, arguments) || listed()
}

fn is_online(name: &str, arguments: &[Word]) -> bool {
    let words = WITH.iter().find(|(known, _)| *known == name).map(|(_, words)| *words).unwrap_or_default();
    let shows_remote =
        || name == "git" && arguments.windows(2).any(|two| two[0].is("remote") && two[1].is("show"));
    let asks =
        |word: &Word| words.iter().any(|known| word.is(known)) || name == "go" && word.lossy().contains('@');
    ALWAYS.contains(&name) || arguments.iter().any(asks) || shows_remote()
}

/// Whether one of these words starts such a program; the words after it are its arguments.
fn runs(name: &str, words: &[Word]) -> bool {
    let is_search = matches!(name, "fd" | "fdfind" | "find");
    let is_started = |at: usize| !is_search || at > 0 && STARTS.iter().any(|start| words[at - 1].is(start));
    let asks = |at: usize| words[at].literal().is_some_and(|name| is_online(&name, &words[at + 1..]));
    (is_search || RUNNERS.contains(&name)) && (0..words.len()).any(|at| is_started(at) && asks(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{Ground, cut};

    fn needs(text: &str) -> bool {
        let ground = Ground { cwd: "/w", home: "/home/me", variables: &[] };
        let listed = |name: &str, _: &[Word]| (name == "lookup").then_some(Effect::Read);
        needs_network(&cut(text, &ground), &LineSetting { ground, project: None, listed: &listed })
    }

    #[test]
    fn a_line_that_asks_elsewhere_needs_the_network() {
        for text in [
            "gh pr list",
            "curl -s https://example.org | head",
            "git ls-remote origin",
            "git remote show origin",
            "npm view left-pad version",
            "echo $(dig +short example.org)",
            "ls && ss -tlnp",
            "cat /proc/net/tcp",
            "echo a b | xargs -n1 curl -s",
            "pip list --outdated",
            "go list -m example.org/x@latest",
            "lookup name",
        ] {
            assert!(needs(text), "{text}");
        }
    }

    #[test]
    fn a_line_that_reads_here_does_not() {
        for text in [
            "git status --short",
            "git log --show-signature -3",
            "git remote -v",
            "git diff | head",
            "rg curl src",
            "npm ls",
            "cargo tree",
            "pip list",
            "go list ./...",
            "find . -name '*.rs' -exec grep -n ping {} +",
            "cat /tmp/x.log",
        ] {
            assert!(!needs(text), "{text}");
        }
    }
}
