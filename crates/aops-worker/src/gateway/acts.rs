//! What people do with runs: submit, answer, block, release.
//!
//! Asks the engine. Invariants: who submits or answers is decided by the token, whatever the request says; an
//! act is in the audit before it is passed on; an answer is signed.

use super::door::{Caller, Door};
use super::reply::{Said, is_late, passed, problem};
use crate::away;
use crate::client::SOON;
use crate::order::{Decision, Order, path_of, workflow_of};
use crate::request::Request;
use crate::tokens::{Role, Scope};
use aops_core::system::env::now_ms;
use aops_core::text::time::timestamp;
use serde_json::{Value, json};

const UNWRITTEN: &str = "the audit cannot be written";

impl Door {
    pub(super) fn submit(&self, caller: &Caller, run: &str, request: &Request) -> Said {
        if !caller.person.may_at_all(Role::Submit) {
            return self.refuse(caller, &request.path);
        }
        let Ok(order) = serde_json::from_slice::<Order>(&request.body) else {
            return problem(400, "that is not an order");
        };
        let repository = order.run["repository"].as_str().unwrap_or_default();
        if !caller.person.may(Role::Submit, &Scope { repository, labels: &order.labels }) {
            return self.refuse(caller, &request.path);
        }
        let order = Order { who: caller.person.name.clone(), ..order };
        if !self.note(caller, "submit", run, &order.run) {
            return problem(500, UNWRITTEN);
        }
        passed(self.gateway.ingress.ask(
            "POST",
            &format!("{}/send", path_of(run, workflow_of(run).1)),
            Some(&json!(order)),
            SOON,
        ))
    }

    pub(super) fn decide(&self, caller: &Caller, run: &str, request: &Request) -> Said {
        let Ok(mut said) = serde_json::from_slice::<Value>(&request.body) else {
            return problem(400, "that is not an answer");
        };
        said["who"] = json!(caller.person.name);
        said["issuer"] = json!(caller.person.issuer);
        said["from"] = json!(caller.from);
        said["at"] = json!(timestamp(now_ms()));
        let Ok(decision) = serde_json::from_value::<Decision>(said) else {
            return problem(400, "that is not an answer");
        };
        let standing = match self.standing(run) {
            Ok(standing) => standing,
            Err(said) => return said,
        };
        if (self.gateway.four_eyes || standing.four_eyes) && standing.who == caller.person.name {
            self.note(caller, "refused", &request.path, &json!(decision));
            return problem(403, "you asked for this run, so somebody else must answer it");
        }
        // What was checked is what is answered.
        if standing.about.as_deref().is_some_and(|about| about != decision.about) {
            return problem(409, "the run does not ask this question");
        }
        let decision = self.signer.sign(run, decision);
        if !self.note(caller, "answer", run, &json!(decision)) {
            return problem(500, UNWRITTEN);
        }
        passed(self.gateway.ingress.ask("POST", &path_of(run, "answer"), Some(&json!(decision)), SOON))
    }

    /// Takes a step from its machine, so that it begins again on another one.
    pub(super) fn release(&self, caller: &Caller, run: &str) -> Said {
        if !self.note(caller, "release", run, &Value::Null) {
            return problem(500, UNWRITTEN);
        }
        if self.away.release(run) {
            (200, json!({"released": true}))
        } else {
            problem(409, "no step of it is under way, or its machine has not ended it yet")
        }
    }

    /// Whether it is the question of a session of theirs, which they may withdraw.
    pub(super) fn is_own_question(&self, caller: &Caller, run: &str) -> bool {
        workflow_of(run).0 == "Question"
            && self.standing(run).is_ok_and(|standing| standing.who == caller.person.name)
    }

    /// Cancels the run and waits for its end: the run first ends its step, or says by when it will have
    /// ended.
    pub(super) fn block(&self, caller: &Caller, run: &str, request: &Request) -> Said {
        let reason: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        if !self.note(caller, "block", run, &reason["note"]) {
            return problem(500, UNWRITTEN);
        }
        let (service, handler) = workflow_of(run);
        let sql = format!(
            "select id from sys_invocation where target_service_name = '{service}' and target_service_key = '{run}' and target_handler_name = '{handler}' and status != 'completed'"
        );
        let found = away::query(&self.gateway.admin, &sql).unwrap_or_default();
        let Some(id) = found.first().and_then(|row| row["id"].as_str()) else {
            return problem(404, "no run with this id is active");
        };
        match self.gateway.admin.ask("PATCH", &format!("/invocations/{id}/cancel"), None, SOON) {
            Ok(said) if said.status < 300 => {}
            other => return passed(other),
        }
        match self.gateway.ingress.ask("GET", &format!("/restate/invocation/{id}/attach"), None, SOON) {
            Err(error) if is_late(&error) => {
                problem(503, "it was asked to end, but has not ended yet: ask for its status")
            }
            said => passed(said),
        }
    }
}
