//! Steps whose machine the engine cannot reach, and what is done about them.
//!
//! Asks the engine every two seconds. Invariants: a step is taken from its machine only after twice the time
//! that the machine, even if cut off, needs to end it; a run whose conversation is on that machine is left to
//! a person.

use crate::client::{Address, SOON};
use crate::hold::clock;
use crate::order::{ALL, Machine, Standing, name_of};
use aops_core::system::env::now_ms;
use aops_core::text::time::timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// The time limit of a release, for which a person waits.
const LONGEST_RELEASE: Duration = Duration::from_secs(50);
/// Longer than the engine tries to reach a machine: an attempt that takes longer has reached it.
const LONGEST_TRY: Duration = Duration::from_secs(20);
/// The beginning of the engine's message about an attempt that never reached its machine.
const NOT_REACHED: &str = "error when calling";
/// Running steps with a failed attempt. The failure stays in the record even if a later attempt succeeds.
const TRIED_AGAIN: &str = "select id, target_service_name, target_service_key, status, last_start_at, last_failure \
     from sys_invocation where target_handler_name = 'step' and target_service_name like 'machine-%' \
     and last_failure is not null and status in ('backing-off', 'paused', 'running') limit 10000";

/// A step whose machine cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Unreached {
    invocation: String,
    machine: String,
    /// When the engine tried last.
    tried: String,
    /// Set while an attempt is under way: when it was first seen.
    trying: Option<Duration>,
    began: Duration,
    /// `began` as a time for people.
    since: String,
}

type Steps = BTreeMap<String, Unreached>;

/// The unreachable steps, by run. Anything that may have been contact with the machine restarts the time.
fn follow(known: &Steps, rows: &[Value], now: Duration, since: &str) -> Steps {
    let step_of = |row: &Value| {
        let text = |name: &str| row[name].as_str().map(str::to_owned);
        let run = text("target_service_key")?;
        let invocation = text("id")?;
        let machine = text("target_service_name")?.strip_prefix(&name_of(""))?.to_owned();
        let tried = text("last_start_at").unwrap_or_default();
        let is_trying = row["status"] == "running";
        let was_reached = !text("last_failure").unwrap_or_default().contains(NOT_REACHED);
        let before = known.get(&run).filter(|step| step.invocation == invocation);
        let fresh =
            Unreached { invocation, machine, tried, trying: None, began: now, since: since.to_owned() };
        let step = match before {
            None if is_trying => return None,
            None => fresh,
            Some(before) if is_trying => {
                let is_same = before.tried == fresh.tried;
                let trying = before.trying.filter(|_| is_same).unwrap_or(now);
                if now.saturating_sub(trying) > LONGEST_TRY {
                    return None;
                }
                Unreached { tried: fresh.tried, trying: Some(trying), ..before.clone() }
            }
            Some(before) if was_reached && (before.tried != fresh.tried || before.trying.is_some()) => fresh,
            Some(before) => Unreached { tried: fresh.tried, trying: None, ..before.clone() },
        };
        Some((run, step))
    };
    rows.iter().filter_map(step_of).collect()
}

#[derive(Debug)]
pub struct Away {
    ingress: Address,
    admin: Address,
    lost_after: Duration,
    steps: Mutex<Steps>,
    taken: AtomicU64,
}

impl Away {
    pub fn new(ingress: Address, admin: Address, lost_after: Duration) -> Arc<Self> {
        Arc::new(Self { ingress, admin, lost_after, steps: Mutex::default(), taken: AtomicU64::new(0) })
    }

    pub fn watch(self: Arc<Self>) {
        thread::spawn(move || {
            loop {
                self.look();
                thread::sleep(LOOK_AGAIN);
            }
        });
    }

    /// Since when this machine cannot be reached for this run.
    pub fn since(&self, run: &str, machine: &str) -> Option<String> {
        self.steps().get(run).filter(|step| step.machine == machine).map(|step| step.since.clone())
    }

    /// How many steps are unreachable, and how many were taken from lost machines.
    pub fn counts(&self) -> (usize, u64) {
        (self.steps().len(), self.taken.load(Ordering::Relaxed))
    }

    fn steps(&self) -> MutexGuard<'_, Steps> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self) {
        let Some(rows) = self.query(TRIED_AGAIN) else { return };
        let mut steps = self.steps();
        let now = follow(&steps, &rows, clock(), &timestamp(now_ms()));
        steps.clone_from(&now);
        drop(steps);
        // The attempt under way may still reach the machine.
        let is_gone =
            |step: &Unreached, limit| step.trying.is_none() && clock().saturating_sub(step.began) >= limit;
        if !now.values().any(|step| is_gone(step, self.lost_after)) {
            return;
        }
        let path = format!("/Machines/{ALL}/list");
        let Ok(machines) = self.ingress.ask("POST", &path, None, SOON) else { return };
        for (run, step) in now {
            let machine: Machine =
                serde_json::from_value(machines.json[&step.machine].clone()).unwrap_or_default();
            if is_gone(&step, self.lost_after.max(machine.lets_go_after() * 2)) {
                self.take(&run, &step);
            }
        }
    }

    /// Takes a step from a lost machine.
    fn take(&self, run: &str, step: &Unreached) {
        let standing = self.ingress.ask("POST", &format!("/Run/{run}/status"), None, SOON);
        let standing: Option<Standing> =
            standing.ok().and_then(|said| serde_json::from_value(said.json).ok());
        if standing.is_none_or(|standing| standing.pinned) {
            return;
        }
        let lost =
            self.ingress.ask("POST", &format!("/Machines/{ALL}/lost"), Some(&json!(step.machine)), SOON);
        if lost.is_ok_and(|said| said.status < 300) && kill(&self.admin, &step.invocation) {
            self.taken.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn query(&self, sql: &str) -> Option<Vec<Value>> {
        query(&self.admin, sql)
    }

    /// Takes the step of a run from its machine because a person asked; returns when nothing of it is left
    /// there. `false`: the run has no step, or its machine does not end it.
    pub fn release(&self, run: &str) -> bool {
        let sql = format!(
            "select id from sys_invocation where target_handler_name = 'step' and target_service_key = '{run}' \
             and target_service_name like 'machine-%' and status != 'completed'"
        );
        let under_way = || self.query(&sql).unwrap_or_default();
        let rows = under_way();
        let Some(id) = rows.first().and_then(|row| row["id"].as_str()) else { return false };
        let cancelled = self.admin.ask("PATCH", &format!("/invocations/{id}/cancel"), None, SOON);
        if !cancelled.is_ok_and(|said| said.status < 300) {
            return false;
        }
        let began = Instant::now();
        loop {
            if !under_way().iter().any(|row| row["id"] == id) {
                return true;
            }
            let unreached = self.steps().get(run).cloned();
            let machines = self.ingress.ask("POST", &format!("/Machines/{ALL}/list"), None, SOON);
            let known = |name: &str| machines.as_ref().ok().map(|said| said.json[name].clone());
            let machine = unreached.as_ref().and_then(|step| known(&step.machine));
            let machine: Machine =
                machine.and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default();
            if unreached.is_some_and(|step| clock().saturating_sub(step.began) > machine.lets_go_after()) {
                return kill(&self.admin, id);
            }
            if began.elapsed() > LONGEST_RELEASE {
                return false;
            }
            thread::sleep(LOOK_AGAIN / 4);
        }
    }
}

/// The engine's rows for this query.
pub fn query(admin: &Address, sql: &str) -> Option<Vec<Value>> {
    let said = admin.ask("POST", "/query", Some(&json!({"query": sql})), SOON).ok()?;
    (said.status == 200).then(|| said.json["rows"].as_array().cloned().unwrap_or_default())
}

fn kill(admin: &Address, invocation: &str) -> bool {
    let killed = admin.ask("PATCH", &format!("/invocations/{invocation}/kill"), None, SOON);
    killed.is_ok_and(|said| said.status < 300)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOST: &str = "[500 Internal] error when calling 'http://h/': connection refused";
    const BROKE: &str = "[500 Internal] unexpected error while reading the response body";

    fn row(status: &str, tried: &str, failure: &str) -> Vec<Value> {
        vec![json!({
            "id": "i", "target_service_name": "machine-a", "target_service_key": "r", "status": status,
            "last_start_at": tried, "last_failure": failure
        })]
    }

    /// Applies these observations, one second apart. Returns the second since which the step is unreachable,
    /// and whether an attempt is under way.
    fn seen(looks: &[(&str, &str, &str)]) -> Option<(u64, bool)> {
        let mut steps = Steps::new();
        for (second, (status, tried, failure)) in (0..).zip(looks) {
            steps = follow(&steps, &row(status, tried, failure), Duration::from_secs(second), "");
        }
        steps.get("r").map(|step| (step.began.as_secs(), step.trying.is_some()))
    }

    #[test]
    fn a_machine_is_away_since_the_last_contact() {
        let lost = ("backing-off", "1", BROKE);
        let down = ("backing-off", "2", LOST);
        assert_eq!(seen(&[lost, lost]), Some((0, false)));
        assert_eq!(seen(&[lost, down, ("backing-off", "3", LOST), ("paused", "3", LOST)]), Some((0, false)));
        assert_eq!(
            seen(&[lost, ("running", "2", BROKE), ("backing-off", "2", LOST)]),
            Some((0, false)),
            "tried in vain"
        );
        assert_eq!(
            seen(&[lost, ("running", "2", BROKE), ("backing-off", "2", BROKE)]),
            Some((2, false)),
            "there was contact"
        );
        assert_eq!(seen(&[lost, ("backing-off", "2", "what no version says yet")]), Some((1, false)));
        assert_eq!(seen(&[lost, ("running", "2", BROKE)]), Some((0, true)));
    }

    #[test]
    fn a_step_that_goes_on_is_reached_whatever_failed_before() {
        let on = ("running", "2", BROKE);
        assert_eq!(seen(&[on, on]), None, "this gateway has just been started");
        let mut looks = vec![("backing-off", "1", BROKE)];
        looks.extend([on; 22]);
        assert_eq!(seen(&looks[..20]), Some((0, true)));
        assert_eq!(seen(&looks), None);
    }
}
