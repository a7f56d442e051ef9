//! The traffic to each host, according to the ledger.
//!
//! Pure.

use super::document::HostCounts;
use crate::session::fact::Reached;
use std::collections::BTreeMap;

/// After a command: new hosts, and refusals. At the session's end (`is_all`): the total traffic to each.
pub(super) fn count(all: &mut BTreeMap<String, HostCounts>, hosts: &[Reached], is_all: bool) {
    if is_all && !hosts.is_empty() {
        all.clear();
    }
    for host in hosts {
        let counts = all.entry(format!("{}:{}", host.host, host.port)).or_default();
        counts.connections += host.connections;
        counts.down += host.down;
        counts.refused += host.refused;
        counts.up += host.up;
    }
}
