//! `fleet status`: what waits, runs and is asked at the engine, and which machines are there;
//! `fleet sessions`: the sessions in the database.

use super::{MOST, nothing_shared, open};
use crate::cli::fleet::on;
use crate::cli::table::{Cell, Tone};
use crate::cli::{Io, policy_here, refused};
use aops_core::text::redact::redact;
use aops_core::text::template::one_line;
use aops_core::text::time::{self, age};
use aops_fleet::overview::{MachineRow, Overview, SessionRow};
use clap::ArgMatches;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The states of a run on the engine, in the order in which they are shown.
const STATES: [&str; 4] = ["waits", "runs", "asks", "over"];

pub(super) fn run(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let wanted = policy_here(io)?.policy.fleet;
    if wanted.url.is_none() && wanted.engine.is_none() {
        return nothing_shared();
    }
    let gateway = on::gateway(io)?;
    let engine = match &gateway {
        None => None,
        Some(gateway) => {
            let runs = gateway.list("runs").or_else(refused)?;
            let machines = gateway.list("machines").or_else(refused)?;
            Some(engine(io, &runs, &machines))
        }
    };
    let seen = if wanted.url.is_some() { Some(open(io)?.overview(MOST)?) } else { None };
    if io.json {
        let mut told = seen.map_or_else(|| json!({}), |seen| of_database(&seen));
        if let Some(engine) = engine {
            told["engine"] = engine;
        }
        return io.print(told);
    }
    if let Some(seen) = seen {
        show_database(io, &seen)?;
    }
    if let Some(engine) = engine {
        show_engine(io, &engine)?;
    }
    Ok(0)
}

/// Runs by state, questions with their age, and machines.
fn engine(io: &Io, runs: &Value, machines: &Value) -> Value {
    let runs: Vec<&Value> = runs.as_array().into_iter().flatten().collect();
    let count = |state: &str| runs.iter().filter(|run| run["state"] == state).count();
    let counts: Value = STATES.iter().map(|state| ((*state).to_owned(), json!(count(state)))).collect();
    let age_s = |since: &Value| Some((io.env.now_ms - time::parse(since.as_str()?)?).max(0) / 1000);
    let words = |value: &Value| one_line(&redact(value.as_str().unwrap_or_default()), 300);
    let asks = runs.iter().filter(|run| run["state"] == "asks");
    let questions: Value = asks
        .map(|run| {
            json!({
                "id": run["run_id"], "age_s": age_s(&run["since"]), "repository": words(&run["repository"]),
                "question": words(&run["question"])
            })
        })
        .collect();
    let mut machines: Vec<Value> = machines
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, one)| {
            // A machine is lost after a while; before that its runs say that they wait for it.
            let waits = runs.iter().filter_map(|run| run["waits_for"].as_str());
            let since = waits.filter_map(|words| words.strip_prefix(&format!("machine {name} since "))).min();
            let since = since.map_or_else(|| one["since"].clone(), |since| json!(since));
            let since = if one["away"] == true || since.is_string() { since } else { Value::Null };
            json!({
                "name": name, "labels": one["labels"], "runs": one["runs"], "away": one["away"] == true,
                "away_since": since, "away_s": age_s(&since), "bundle": one["bundle"]
            })
        })
        .collect();
    tell_stale(&mut machines);
    json!({"runs": counts, "questions": questions, "machines": machines})
}

fn show_engine(io: &mut Io, engine: &Value) -> anyhow::Result<()> {
    let counts: Vec<String> =
        STATES.iter().map(|state| format!("{} {}", engine["runs"][state], word_of(state))).collect();
    let questions = engine["questions"].as_array().cloned().unwrap_or_default();
    let asks = if questions.is_empty() { Tone::Plain } else { Tone::Warn };
    io.facts([
        ("engine", counts.join(", "), Tone::Plain),
        ("questions", format!("{} open", questions.len()), asks),
    ])?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let ago = |value: &Value| value.as_i64().map(|s| age(s * 1000)).unwrap_or_default();
    if !questions.is_empty() {
        let row = |one: &Value| {
            [text(&one["id"]), ago(&one["age_s"]), text(&one["repository"]), text(&one["question"])]
                .map(Cell::from)
        };
        io.table(["id", "age", "repository", "question"], questions.iter().map(row).collect())?;
    }
    let machines = engine["machines"].as_array().cloned().unwrap_or_default();
    let newest = Newest::of(machines.iter().map(|machine| machine["bundle"].clone()));
    let row = |one: &Value| {
        let labels: Vec<&str> =
            one["labels"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let (state, tone) = match (&one["away_since"], one["away"] == true) {
            (Value::String(since), _) => {
                (format!("away since {since} ({})", ago(&one["away_s"])), Tone::Warn)
            }
            (_, true) => ("away".to_owned(), Tone::Warn),
            _ => ("here".to_owned(), Tone::Plain),
        };
        [
            text(&one["name"]).into(),
            Cell::new(state, tone),
            one["runs"].to_string().into(),
            labels.join(",").into(),
            newest.shown(&one["bundle"]),
        ]
    };
    io.table(["machine", "state", "runs", "labels", "bundle"], machines.iter().map(row).collect())?;
    Ok(())
}

fn word_of(state: &str) -> &str {
    match state {
        "waits" => "waiting",
        "runs" => "running",
        "asks" => "asking",
        _ => "over",
    }
}

fn of_database(seen: &Overview) -> Value {
    let machine = |one: &MachineRow| {
        json!({
            "name": one.name, "version": one.version, "policy": one.policy, "bundle": bundle(one),
            "age_s": one.age_s
        })
    };
    let mut machines: Vec<_> = seen.machines.iter().map(machine).collect();
    tell_stale(&mut machines);
    json!({"sessions": seen.sessions, "policies": seen.policies, "machines": machines})
}

fn show_database(io: &mut Io, seen: &Overview) -> anyhow::Result<u8> {
    io.facts([
        ("sessions", seen.sessions.to_string(), Tone::Plain),
        ("policies", format!("{} in force in the last day", seen.policies), Tone::Plain),
    ])?;
    let newest = Newest::of(seen.machines.iter().map(bundle));
    let row = |one: &MachineRow| {
        let policy: String = one.policy.chars().take(12).collect();
        let age = age(one.age_s * 1000);
        let [name, version, age, policy] =
            [one.name.clone(), one.version.clone(), age, policy].map(Cell::from);
        [name, version, age, policy, newest.shown(&bundle(one))]
    };
    io.table(["machine", "version", "seen", "policy", "bundle"], seen.machines.iter().map(row).collect())
}

/// `fleet sessions`: what machines reported of their sessions.
pub(super) fn sessions(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let all = open(io)?.sessions(MOST)?;
    if io.json {
        let one = |one: &SessionRow| {
            json!({
                "session_id": one.id, "machine": one.machine, "project": one.project, "entries": one.entries,
                "phase": one.phase, "mode": one.mode, "age_s": one.age_s,
                "cost_usd": one.cost.map(dollars)
            })
        };
        return io.print(all.iter().map(one).collect::<Value>());
    }
    let row = |one: &SessionRow| {
        let cost = one.cost.map_or_else(|| "-".to_owned(), |cost| format!("${:.2}", dollars(cost)));
        let SessionRow { machine, id, project, phase, mode, .. } = one;
        [machine, id, project, phase, mode, &age(one.age_s * 1000), &cost].map(Cell::from)
    };
    let names = ["machine", "session", "project", "phase", "mode", "changed", "cost"];
    io.table(names, all.iter().map(row).collect())
}

#[expect(clippy::cast_precision_loss, reason = "a price")]
fn dollars(millionths: i64) -> f64 {
    millionths as f64 / 1_000_000.0
}

/// The newest version of each bundle that any of the machines runs.
struct Newest(BTreeMap<String, u64>);

impl Newest {
    fn of(bundles: impl Iterator<Item = Value>) -> Self {
        let mut newest = BTreeMap::new();
        for bundle in bundles {
            if let (Some(name), Some(version)) = (bundle["name"].as_str(), bundle["version"].as_u64()) {
                let known: &mut u64 = newest.entry(name.to_owned()).or_default();
                *known = version.max(*known);
            }
        }
        Self(newest)
    }

    /// The newer version that another machine runs.
    fn newer(&self, bundle: &Value) -> Option<u64> {
        let newest = *self.0.get(bundle["name"].as_str()?)?;
        Some(newest).filter(|newest| bundle["version"].as_u64().is_some_and(|version| version < *newest))
    }

    fn shown(&self, bundle: &Value) -> Cell {
        let Some(name) = bundle["name"].as_str() else {
            let words = if bundle.is_null() { "-" } else { "damaged" };
            return Cell::new(words, if bundle.is_null() { Tone::Plain } else { Tone::Warn });
        };
        let own = format!("{name} {}", bundle["version"]);
        match self.newer(bundle) {
            Some(newer) => Cell::new(format!("{own}, stale: others run {newer}"), Tone::Warn),
            None => own.into(),
        }
    }
}

fn tell_stale(machines: &mut [Value]) {
    let newest = Newest::of(machines.iter().map(|machine| machine["bundle"].clone()));
    for machine in machines {
        machine["stale"] = json!(newest.newer(&machine["bundle"]).is_some());
    }
}

/// Which bundle a machine runs.
fn bundle(machine: &MachineRow) -> Value {
    serde_json::from_str(&machine.bundle).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_with_an_older_bundle_than_others_is_stale() {
        let bundle = |name: &str, version: u64| json!({"name": name, "version": version});
        let machine = |bundle: Value| json!({"bundle": bundle});
        let mut machines = [
            machine(bundle("a", 1)),
            machine(bundle("a", 3)),
            machine(bundle("b", 1)),
            machine(json!({"problem": "damaged"})),
            machine(Value::Null),
        ];
        tell_stale(&mut machines);
        let stale: Vec<_> = machines.iter().map(|machine| machine["stale"] == true).collect();
        assert_eq!(stale, [true, false, false, false, false]);
    }
}
