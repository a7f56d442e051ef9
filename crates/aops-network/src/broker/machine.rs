//! Servers on the machine's own loopback, if every host is only recorded: databases, servers of other
//! programs.
//!
//! Reads the kernel's list of this machine's sockets. Invariant: outside of `observe` only the ports in the
//! list are reachable, and a command's server that is published on this machine never leads back inside.

use super::publish::listening;
use super::state::{Broker, Door};
use crate::list::Mode;
use std::collections::BTreeSet;

/// Ports at a time, since each is a listening socket inside.
const MOST: usize = 256;

impl Broker<'_> {
    /// Ports of this machine's loopback that are reachable inside.
    pub(super) fn local_ports(&self) -> BTreeSet<u16> {
        self.list.local.union(&self.machine).copied().collect()
    }

    /// Finds out what the machine serves now; returns whether that changed.
    pub(super) fn look_at_machine(&mut self) -> bool {
        let now = if self.list.mode == Mode::Observe { self.served_by_machine() } else { BTreeSet::new() };
        let changed = now != self.machine;
        self.machine = now;
        changed
    }

    fn served_by_machine(&self) -> BTreeSet<u16> {
        let lists = ["tcp", "tcp6"].map(|kind| std::fs::read_to_string(format!("/proc/self/net/{kind}")));
        let own = |door: &Door| matches!(door, Door::Served(_));
        let published = self.doors.values().filter(|(_, door)| own(door));
        let published: BTreeSet<u16> =
            published.filter_map(|(listener, _)| Some(listener.local_addr().ok()?.port())).collect();
        let all = lists.iter().flatten().flat_map(|text| listening(text));
        let on_loopback = all.filter(|(address, _)| is_on_loopback(address)).map(|(_, port)| port);
        on_loopback
            .filter(|port| !published.contains(port))
            .collect::<BTreeSet<u16>>()
            .into_iter()
            .take(MOST)
            .collect()
    }
}

/// An address in the kernel's notation that is reached through the loopback: a loopback address, or the
/// wildcard.
fn is_on_loopback(address: &str) -> bool {
    let any = address.bytes().all(|byte| byte == b'0');
    // Groups of four bytes, in which an IPv4 address is reversed.
    any || address.len() == 8 && address.ends_with("7F")
        || address == "00000000000000000000000001000000"
        || address.starts_with("0000000000000000FFFF0000") && address.ends_with("7F")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_listens_on_the_loopback_or_everywhere_is_the_machines() {
        for address in ["0100007F", "3500007F", "00000000", "0".repeat(32).as_str()] {
            assert!(is_on_loopback(address), "{address}");
        }
        assert!(is_on_loopback("00000000000000000000000001000000"));
        assert!(is_on_loopback("0000000000000000FFFF00000100007F"));
        assert!(!is_on_loopback("0501A8C0") && !is_on_loopback("0000000000000000FFFF00000501A8C0"));
    }
}
