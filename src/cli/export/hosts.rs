//! The traffic with each host, as sums for a collector.
//!
//! Pure. Names follow the conventions for networks: `server.address`, `server.port`, `network.io.direction`.
//! Invariant: at most `MOST_NAMED` hosts of one session are named, since an agent chooses their names; all
//! others share one sum, so nothing is left out.

use super::form::attribute;
use aops_core::insight::document::{HostCounts, Insights};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How many hosts of one session have their own sums: those with the most traffic.
const MOST_NAMED: usize = 20;
/// The name for all other hosts.
const OTHERS: &str = "other";

/// The attributes of each count, and the count.
type Counts = Vec<(Vec<Value>, u64)>;

/// `labels`: the labels that every metric has.
pub(super) fn counts(insights: &Insights, labels: &[Value]) -> [(&'static str, &'static str, Counts); 3] {
    let hosts = bounded(&insights.hosts);
    let about = |host: &str| -> Vec<Value> {
        let (name, port) = host.rsplit_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
        let port = port.map(|port| attribute("server.port", port));
        labels.iter().cloned().chain([attribute("server.address", name)]).chain(port).collect()
    };
    let each = |of: fn(&HostCounts) -> u64| -> Counts {
        let all = hosts.iter().map(|(host, counts)| (about(host), of(counts)));
        all.filter(|(_, n)| *n > 0).collect()
    };
    let way = |direction: &str, of| -> Counts {
        let with = |(about, n): (Vec<Value>, u64)| {
            ([about, vec![attribute("network.io.direction", direction)]].concat(), n)
        };
        each(of).into_iter().map(with).collect()
    };
    let bytes = [way("receive", |host| host.down), way("transmit", |host| host.up)].concat();
    [
        ("aops.network.connections", "{connection}", each(|host| host.connections)),
        ("aops.network.io", "By", bytes),
        ("aops.network.refusals", "{refusal}", each(|host| host.refused)),
    ]
}

/// The hosts with the most traffic, and the sum of the others.
fn bounded(all: &BTreeMap<String, HostCounts>) -> Vec<(&str, HostCounts)> {
    let mut hosts: Vec<(&str, HostCounts)> =
        all.iter().map(|(host, counts)| (host.as_str(), counts.clone())).collect();
    hosts.sort_by_key(|(_, counts)| {
        Reverse((counts.up.saturating_add(counts.down), counts.connections, counts.refused))
    });
    let rest = hosts.split_off(MOST_NAMED.min(hosts.len()));
    let add = |mut sum: HostCounts, (_, one): &(&str, HostCounts)| {
        sum.connections += one.connections;
        sum.down += one.down;
        sum.refused += one.refused;
        sum.up += one.up;
        sum
    };
    if !rest.is_empty() {
        hosts.push((OTHERS, rest.iter().fold(HostCounts::default(), add)));
    }
    hosts
}
