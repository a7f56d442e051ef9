//! The metrics that the gateway reports to a collector, as text.
//!
//! Pure. Invariant: labels are only states, outcomes and acts, of which there are a handful each; never a
//! run, a person or a repository.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

const STATES: [&str; 4] = ["waits", "runs", "asks", "over"];
const OUTCOMES: [&str; 3] = ["PASS", "BLOCKED", "other"];
pub const ACTS: [&str; 7] = ["submit", "answer", "block", "release", "read", "login", "refused"];

/// Everything that the metrics report.
#[derive(Clone, Copy)]
pub struct Told<'a> {
    /// The state of each run, as the gateway lists them.
    pub runs: &'a [Value],
    pub machines: &'a Value,
    pub unreached: usize,
    /// How many steps were taken from lost machines since the gateway was started.
    pub taken: u64,
    /// How often each act was done or refused since then.
    pub acts: &'a BTreeMap<&'static str, u64>,
    pub now_ms: i64,
    /// The time at which a run entered its state, to compute the age of a question.
    pub since_ms: &'a dyn Fn(&Value) -> Option<i64>,
}

pub fn text(told: &Told) -> String {
    let mut out = String::new();
    let is = |run: &Value, name: &str, word: &str| run[name] == word;
    let count = |name: &str, word: &str| told.runs.iter().filter(|run| is(run, name, word)).count();
    head(&mut out, "aops_runs", "gauge", "Runs that the engine knows, by state.");
    for state in STATES {
        line(&mut out, "aops_runs", &[("state", state)], count("state", state));
    }
    head(&mut out, "aops_runs_ended", "gauge", "Runs that are over and still known, by outcome.");
    let known: usize = OUTCOMES[..2].iter().map(|outcome| count("outcome", outcome)).sum();
    for outcome in OUTCOMES {
        let ended = if outcome == "other" {
            count("state", "over").saturating_sub(known)
        } else {
            count("outcome", outcome)
        };
        line(&mut out, "aops_runs_ended", &[("outcome", outcome)], ended);
    }
    head(
        &mut out,
        "aops_question_oldest_seconds",
        "gauge",
        "Age of the oldest question that waits for a person.",
    );
    let asked =
        told.runs.iter().filter(|run| is(run, "state", "asks")).filter_map(|run| (told.since_ms)(run)).min();
    line(
        &mut out,
        "aops_question_oldest_seconds",
        &[],
        asked.map_or(0, |at| (told.now_ms - at).max(0) / 1000),
    );
    head(&mut out, "aops_machines", "gauge", "Machines, by whether they get runs.");
    let machines = told.machines.as_object();
    let away = machines.into_iter().flatten().filter(|(_, machine)| machine["away"] == true).count();
    line(&mut out, "aops_machines", &[("state", "here")], machines.map_or(0, serde_json::Map::len) - away);
    line(&mut out, "aops_machines", &[("state", "away")], away);
    head(&mut out, "aops_steps_unreached", "gauge", "Steps whose machine the engine does not reach.");
    line(&mut out, "aops_steps_unreached", &[], told.unreached);
    head(&mut out, "aops_steps_taken_total", "counter", "Steps taken from machines that were lost.");
    line(&mut out, "aops_steps_taken_total", &[], told.taken);
    head(&mut out, "aops_acts_total", "counter", "What people did at the gateway, and what was refused.");
    for act in ACTS {
        line(&mut out, "aops_acts_total", &[("act", act)], told.acts.get(act).copied().unwrap_or_default());
    }
    out
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn line(out: &mut String, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
    let labels: Vec<String> = labels.iter().map(|(name, word)| format!("{name}=\"{word}\"")).collect();
    let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    let _ = writeln!(out, "{name}{labels} {value}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told_of(runs: &[Value]) -> String {
        let acts = BTreeMap::from([("submit", 3), ("refused", 1)]);
        let machines = json!({"a": {"away": false}, "b": {"away": true}, "c": {"away": false}});
        let since = |run: &Value| run["at"].as_i64();
        text(&Told {
            runs,
            machines: &machines,
            unreached: 1,
            taken: 2,
            acts: &acts,
            now_ms: 90_000,
            since_ms: &since,
        })
    }

    #[test]
    fn labels_are_a_handful_whatever_the_runs_are() {
        let runs = [
            json!({"state": "asks", "at": 30_000, "run_id": "secret"}),
            json!({"state": "asks", "at": 60_000, "who": "ann"}),
            json!({"state": "over", "outcome": "PASS"}),
            json!({"state": "over", "outcome": "WHATEVER"}),
        ];
        let said = told_of(&runs);
        for line in [
            "aops_runs{state=\"asks\"} 2",
            "aops_runs{state=\"over\"} 2",
            "aops_runs{state=\"waits\"} 0",
            "aops_runs_ended{outcome=\"PASS\"} 1",
            "aops_runs_ended{outcome=\"other\"} 1",
            "aops_question_oldest_seconds 60",
            "aops_machines{state=\"here\"} 2",
            "aops_machines{state=\"away\"} 1",
            "aops_steps_unreached 1",
            "aops_steps_taken_total 2",
            "aops_acts_total{act=\"submit\"} 3",
            "aops_acts_total{act=\"block\"} 0",
        ] {
            assert!(said.lines().any(|found| found == line), "{line}: {said}");
        }
        let lines = |said: &str| said.lines().count();
        assert_eq!(lines(&said), lines(&told_of(&[])), "as many lines without any run");
        assert!(!said.contains("secret") && !said.contains("ann") && !said.contains("WHATEVER"));
    }

    /// The alerts refer only to metrics that exist.
    #[test]
    fn the_alarms_name_metrics_that_are_told() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/observe");
        let said = told_of(&[]);
        for (file, least) in [("alarms.yaml", 4), ("dashboard.json", 7)] {
            let text = std::fs::read_to_string(folder.join(file)).unwrap();
            let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
            let names: Vec<&str> = text
                .split(|c| !is_name(c))
                .filter(|word| word.starts_with("aops_") && word.len() > 5)
                .collect();
            assert!(names.len() >= least, "{file}: {names:?}");
            for name in names {
                assert!(said.contains(&format!("# TYPE {name} ")), "{file}: `{name}`");
            }
        }
        let dashboard = std::fs::read_to_string(folder.join("dashboard.json")).unwrap();
        assert!(
            serde_json::from_str::<Value>(&dashboard).unwrap()["panels"]
                .as_array()
                .is_some_and(|all| all.len() > 4)
        );
    }
}
