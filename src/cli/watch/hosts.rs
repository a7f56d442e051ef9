//! The hosts that a session's commands reached or were refused, as the cockpit lists them.
//!
//! Reads the session's list and counts. Invariant: a host that waits for a person comes first.

use super::model::Host;
use crate::cli::network;
use aops_core::jail::network as jail;
use aops_network::list::{List, Pass, Verdict, spelt};
use aops_network::name::Name;
use std::path::Path;

pub(super) fn read(session: &Path) -> Vec<Host> {
    let counts = jail::counts(session).unwrap_or_default();
    let list = jail::list(session);
    let wanted = list.as_ref().map(|list| network::wanted(list, &counts)).unwrap_or_default();
    let mut all: Vec<Host> = counts
        .rows()
        .map(|(host, port, row)| {
            let rule = spelt(host, port);
            let by = list.as_ref().and_then(|list| by(list, host, port)).unwrap_or_default();
            Host { wanted: wanted.contains(&rule), rule, by, what: row.describe() }
        })
        .collect();
    all.sort_by(|one, other| (!one.wanted, &one.rule).cmp(&(!other.wanted, &other.rule)));
    let served =
        counts.served.iter().map(|served| Host { what: "served".to_owned(), ..Host::of(served.place()) });
    all.extend(served);
    all
}

/// What the list says about it now, which may differ from when it was reached.
fn by(list: &List, host: &str, port: u16) -> Option<String> {
    let said = match list.judge(&Name::of(host.as_bytes())?, port) {
        Verdict::Pass(Pass::Listed(word)) => word.to_string(),
        Verdict::Pass(Pass::Observed) => "noted".to_owned(),
        Verdict::Refuse(_) => "refused".to_owned(),
    };
    Some(said)
}
