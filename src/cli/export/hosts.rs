//! What went to each host, as sums for a collector.
//!
//! Pure. Names follow the conventions for networks: `server.address`, `server.port`, `network.io.direction`.

use super::form::attribute;
use aops_core::insight::document::{HostCounts, Insights};
use serde_json::Value;

/// The attributes of each count, and the count.
type Counts = Vec<(Vec<Value>, u64)>;

pub(super) fn counts(insights: &Insights) -> [(&'static str, &'static str, Counts); 3] {
    let about = |host: &str| -> Vec<Value> {
        let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
        let session = attribute("gen_ai.conversation.id", &insights.session_id);
        vec![session, attribute("server.address", name), attribute("server.port", port)]
    };
    let each = |of: fn(&HostCounts) -> u64| -> Counts {
        let all = insights.hosts.iter().map(|(host, counts)| (about(host), of(counts)));
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
