//! Reads `events.jsonl` of a Copilot session: the tokens that it used, by model, agent and phase.
//!
//! Reads the session's file, which also contains its subagents. Invariants: each answer of the model counts
//! once; a line that cannot be read is counted as unknown.

use crate::host::claude::transcript::entry::Lines;
use crate::host::claude::transcript::scan::{Lens, MAIN, Scan, phase_at};
use crate::host::claude::usage::Usage;
use crate::text::json::{self, Json};
use crate::text::time;
use std::collections::HashMap;
use std::io;
use std::path::Path;

/// This is Copilot's file about a session.
pub fn is_events(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "events.jsonl")
}

/// Scans the whole session. A missing file gives an empty scan.
pub fn scan(path: &Path, lens: &Lens) -> io::Result<Scan> {
    let mut scan = Scan::default();
    let mut lines = match Lines::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(scan),
        opened => opened?,
    };
    lines.until = lens.until;
    let mut agents: HashMap<String, String> = HashMap::new();
    while let Some(line) = lines.next_line()? {
        let Some(record) = std::str::from_utf8(line).ok().and_then(|text| json::read(text).ok()) else {
            scan.unknown += 1;
            continue;
        };
        add(&mut scan, &mut agents, &record, lens);
    }
    scan.bytes += lines.bytes;
    scan.cut_short |= lines.gave_up;
    Ok(scan)
}

fn add(scan: &mut Scan, agents: &mut HashMap<String, String>, record: &Json, lens: &Lens) {
    let (Some(kind), Some(data)) = (record.text_of("type"), record.get("data")) else { return };
    let agent = record.text_of("agentId");
    let at = record.text_of("timestamp");
    match (kind.as_str(), agent) {
        ("session.start", _) => {
            scan.cwd = data.get("context").and_then(|context| context.text_of("cwd")).unwrap_or_default();
            scan.began.clone_from(&at);
        }
        ("subagent.started", Some(agent)) => {
            agents.insert(agent, data.text_of("agentName").unwrap_or_default());
        }
        ("session.usage_record", agent) => {
            let Some(used) = data.get("usage") else { return };
            let name = agent.map_or(MAIN, |id| agents.get(&id).map_or("agent", String::as_str));
            let usage = usage(used);
            let model = used.text_of("model").unwrap_or_default();
            let when = at.as_deref().and_then(time::parse);
            let cost = lens.prices.cost(&model, &usage, "", false);
            if lens.covers(when) {
                scan.tokens.add(
                    [&model, name, phase_at(lens.phases, when.unwrap_or_default())],
                    &usage,
                    cost,
                );
            }
        }
        _ => {}
    }
    scan.records += 1;
    scan.ended = at.or(scan.ended.take());
}

fn usage(json: &Json) -> Usage {
    let of = |name: &str| json.number_of(name).unwrap_or(0);
    let cache = ["cacheReadTokens", "cacheWriteTokens"].map(of);
    Usage::of_whole_input(of("inputTokens"), of("outputTokens"), cache)
}
