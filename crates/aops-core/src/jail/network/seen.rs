//! Summarises which hosts commands reached while the network was open, as a proposal for a list.
//!
//! Reads the notes of all sessions; remembers when a person was told. Invariant: it contains only hosts that
//! were really reached.

use super::counts;
use crate::ledger::sessions;
use crate::system::env::Env;
use crate::system::files;
use crate::text::plain::count;
use aops_network::list::spelt;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// Sessions after which we know what is needed; a week is enough, too.
const SESSIONS: usize = 20;
/// Name that stands for this machine's own ports.
pub const LOCALHOST: &str = "localhost";
const WEEK: u64 = 7 * 24 * 3600;

/// The traffic to one host in all sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub sessions: usize,
    pub up: u64,
    pub down: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Sessions that reached some host.
    pub sessions: usize,
    /// When the first of them did, in seconds since 1970.
    pub first: u64,
    /// By rule: `host`, `host:port`.
    pub hosts: BTreeMap<String, Traffic>,
}

/// What all sessions of this machine reached.
pub fn look(env: &Env) -> Seen {
    let mut seen = Seen::default();
    for session in sessions::all(env) {
        let counts = counts(&session.path).unwrap_or_default();
        let mut reached = counts.rows().filter(|(.., row)| row.connections > 0).peekable();
        if reached.peek().is_none() {
            continue;
        }
        seen.sessions += 1;
        for (host, port, row) in reached {
            seen.first = if seen.first == 0 { row.first } else { seen.first.min(row.first) };
            let rule = if host == LOCALHOST { format!("{host}:{port}") } else { spelt(host, port) };
            let traffic = seen.hosts.entry(rule).or_default();
            traffic.sessions += 1;
            traffic.up += row.up;
            traffic.down += row.down;
        }
    }
    seen
}

impl Seen {
    /// `in 23 sessions your commands reached 11 hosts`
    pub fn describe(&self) -> String {
        let sessions = count(self.sessions, "session");
        let hosts = count(self.hosts.len(), "host");
        format!("in {sessions} your commands reached {hosts}")
    }

    fn is_enough(&self, now: u64) -> bool {
        !self.hosts.is_empty() && (self.sessions >= SESSIONS || now.saturating_sub(self.first) >= WEEK)
    }
}

fn told_file(env: &Env) -> PathBuf {
    env.data.join("network.told")
}

/// Tells a person whose sessions only record hosts that a list could restrict them. At most once a week.
pub fn propose(env: &Env) -> Option<String> {
    let now = u64::try_from(env.now_ms / 1000).ok()?;
    let told = files::read_short(&told_file(env)).and_then(|text| text.trim().parse::<u64>().ok());
    if told.is_some_and(|at| now.saturating_sub(at) < WEEK) {
        return None;
    }
    let seen = look(env);
    if !seen.is_enough(now) {
        return None;
    }
    // If saving fails, we tell again tomorrow, which is better than never.
    let _: io::Result<()> = files::replace_private(&told_file(env), now.to_string().as_bytes());
    Some(format!(
        "network: {}; `aops-hook network hold` shows them and holds commands to them",
        seen.describe()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enough_is_twenty_sessions_or_a_week_and_something_that_was_reached() {
        let one = BTreeMap::from([("a.test".to_owned(), Traffic::default())]);
        let seen = |sessions, hosts: &BTreeMap<_, _>| Seen { sessions, first: 1000, hosts: hosts.clone() };
        assert!(!seen(19, &one).is_enough(1000 + WEEK - 1));
        assert!(seen(20, &one).is_enough(1000) && seen(1, &one).is_enough(1000 + WEEK));
        assert!(!seen(20, &BTreeMap::new()).is_enough(1000 + WEEK));
        assert_eq!(seen(1, &one).describe(), "in 1 session your commands reached 1 host");
    }
}
