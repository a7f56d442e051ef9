//! What people see of runs: lists, one run, the whole call that waits for them, metrics.
//!
//! Asks the engine. Invariants: nobody sees a run that is not within their roles; the whole call of a
//! question is shown only after the audit has that it was.

use super::door::{Caller, Door, scope_of};
use super::reply::{Said, is_late, passed, problem};
use crate::client::SOON;
use crate::metrics::{self, Told};
use crate::order::{ALL, Standing, path_of, workflow_of};
use crate::tokens::{Person, Role};
use aops_core::system::env::now_ms;
use aops_core::text::time;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::PoisonError;
use std::time::Duration;

/// How long a request that waits for the end of a run is held open.
const HOLD: Duration = Duration::from_secs(5);
/// The maximum length of a list.
const MOST_RUNS: usize = 1000;
/// How many runs a page of the list has.
const PAGE: usize = 20;
const AWAY: &str = "the engine does not answer";

/// Which runs a page of the list has.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Wanted {
    state: String,
    search: String,
    page: usize,
}

impl Wanted {
    fn fits(&self, run: &Value) -> bool {
        let names = ["run_id", "task", "who", "repository", "question", "machine", "outcome", "reason"];
        let search = self.search.trim().to_lowercase();
        let has = |name: &&str| run[*name].as_str().is_some_and(|text| text.to_lowercase().contains(&search));
        (self.state.is_empty() || run["state"] == self.state.as_str())
            && (search.is_empty() || names.iter().any(has))
    }
}

impl Door {
    pub(super) fn status(&self, run: &str) -> Said {
        let path = path_of(run, "status");
        let (status, mut standing) = passed(self.gateway.ingress.ask("POST", &path, None, SOON));
        if status == 200 && standing.is_object() {
            self.say_away(run, &mut standing);
        }
        (status, standing)
    }

    /// Waits for the end of a run; 202 if that takes longer than a request may.
    pub(super) fn wait(&self, run: &str) -> Said {
        let path = format!("/restate/workflow/{}/{run}/attach", workflow_of(run).0);
        match self.gateway.ingress.ask("GET", &path, None, Some(HOLD)) {
            Err(error) if is_late(&error) => (202, json!({"over": false})),
            said => passed(said),
        }
    }

    pub(super) fn list(&self, caller: &Caller) -> Said {
        let Some(mut runs) = self.runs_of(&caller.person) else { return problem(503, AWAY) };
        runs.truncate(MOST_RUNS);
        (200, Value::Array(runs))
    }

    /// A page of the list; questions with the oldest first.
    pub(super) fn list_page(&self, caller: &Caller, body: &[u8]) -> Said {
        let Ok(wanted) = serde_json::from_slice::<Wanted>(body) else {
            return problem(400, "that is not a page of a list");
        };
        let Some(mut runs) = self.runs_of(&caller.person) else { return problem(503, AWAY) };
        let asks = count_questions(&runs);
        let all = runs.len();
        runs.retain(|run| wanted.fits(run));
        if wanted.state == "asks" {
            runs.reverse();
        }
        let total = runs.len();
        let pages = total.div_ceil(PAGE).max(1);
        let page = wanted.page.min(pages - 1);
        let shown: Vec<Value> = runs.into_iter().skip(page * PAGE).take(PAGE).collect();
        (
            200,
            json!({"runs": shown, "total": total, "all": all, "page": page, "pages": pages, "asks": asks, "now_ms": now_ms()}),
        )
    }

    /// One run for its page: its state, its log, its steps, and what this person may do with it.
    pub(super) fn look(&self, caller: &Caller, run: &str) -> Said {
        self.told(caller, run).map_or_else(|said| said, |(_, told)| (200, told))
    }

    /// The whole call that waits for a person.
    pub(super) fn question(&self, caller: &Caller, run: &str) -> Said {
        let (asked, mut told) = match self.told(caller, run) {
            Ok(told) => told,
            Err(said) => return said,
        };
        if !self.note(caller, "read", run, &json!({"about": told["run"]["about"]})) {
            return problem(500, "the audit cannot be written");
        }
        told["asked"] = asked;
        (200, told)
    }

    fn told(&self, caller: &Caller, run: &str) -> Result<(Value, Value), Said> {
        let standing = self.standing(run)?;
        let (status, mut told) = passed(self.gateway.ingress.ask("POST", &path_of(run, "told"), None, SOON));
        if status != 200 {
            return Err((status, told));
        }
        let mut shown = json!(standing);
        self.say_away(run, &mut shown);
        shown["run_id"] = json!(run);
        let asked = told["asked"].take();
        let may = self.may(&caller.person, &standing);
        Ok((
            asked,
            json!({"run": shown, "account": told["account"], "log": told["log"], "may": may, "now_ms": now_ms()}),
        ))
    }

    fn may(&self, person: &Person, standing: &Standing) -> Value {
        let own = (self.gateway.four_eyes || standing.four_eyes) && standing.who == person.name;
        let has = |role| person.may(role, &scope_of(standing));
        json!({"answer": has(Role::Approve) && !own, "own": own, "block": has(Role::Operate)})
    }

    pub(super) fn machines(&self) -> Said {
        passed(self.gateway.ingress.ask("POST", &format!("/Machines/{ALL}/list"), None, SOON))
    }

    /// The metrics for a collector whose token may read.
    pub(super) fn metrics(&self) -> Said {
        let machines = self.gateway.ingress.ask("POST", &format!("/Machines/{ALL}/list"), None, SOON);
        let (Some(runs), Ok(machines)) = (self.runs(), machines) else { return problem(503, AWAY) };
        let (unreached, taken) = self.away.counts();
        let acts = self.acts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let since = |run: &Value| time::parse(run["since"].as_str()?);
        let told = Told {
            runs: &runs,
            machines: &machines.json,
            unreached,
            taken,
            acts: &acts,
            now_ms: now_ms(),
            since_ms: &since,
        };
        (200, Value::String(metrics::text(&told)))
    }
}

pub(super) fn count_questions(runs: &[Value]) -> usize {
    runs.iter().filter(|run| run["state"] == "asks").count()
}
