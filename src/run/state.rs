//! What is known of one run: its deeds folded.
//!
//! Reads nothing, writes nothing. Invariants: the same deeds give the same record; a step that passed stays passed, so
//! nobody hands it out again.

use super::attempt::{Begun, Deed, Done, Init, Paused, Resolved, Told};
use super::status::{Outcome, State};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub struct RunState {
    pub run_id: String,
    pub init: Init,
    pub state: State,
    pub outcome: Option<Outcome>,
    pub reason: String,
    /// By step: what the last time brought.
    pub done: BTreeMap<String, Done>,
    /// The step that was handed out and has not ended.
    pub current: Option<Begun>,
    /// The last time each step was handed out.
    pub begun: BTreeMap<String, Begun>,
    pub paused: Option<Paused>,
    pub resolved: Option<Resolved>,
    /// The call a person approved last; whether it was made since, the session's ledger says.
    pub approved: Option<String>,
    /// By step: the checks that a person lets it go without.
    pub waived: BTreeMap<String, Vec<String>>,
    /// Millionths of a dollar, so far.
    pub cost: u64,
    pub budget: Option<u64>,
    pub step_timeout_ms: u64,
    pub tokens: u64,
    pub began_at: String,
    pub changed_at: String,
}

impl RunState {
    pub fn has_passed(&self, step: &str) -> bool {
        self.done.get(step).is_some_and(|done| done.outcome == Outcome::Pass)
    }

    /// Steps that were carried out, in the plan's order.
    pub fn executed(&self) -> Vec<String> {
        self.init.steps.iter().filter(|step| self.begun.contains_key(*step)).cloned().collect()
    }

    /// The first step of the plan that has not passed.
    pub fn next_step(&self) -> Option<(usize, &str)> {
        let steps = self.init.steps.iter().enumerate();
        steps.map(|(at, step)| (at, step.as_str())).find(|(_, step)| !self.has_passed(step))
    }

    pub fn take(&mut self, told: &Told) {
        told.ts.clone_into(&mut self.changed_at);
        match &told.deed {
            Deed::Init(init) => {
                told.ts.clone_into(&mut self.began_at);
                self.run_id.clone_from(&told.run_id);
                (self.budget, self.step_timeout_ms) = (init.budget, init.step_timeout_ms);
                self.init = init.clone();
            }
            Deed::Step(begun) => {
                self.state = State::Running;
                self.current = Some(begun.clone());
                self.begun.insert(begun.step.clone(), begun.clone());
            }
            Deed::Done(done) => {
                self.current = None;
                (self.cost, self.tokens) = (done.cost, done.tokens);
                self.done.insert(done.step.clone(), done.clone());
            }
            Deed::Checkpoint(paused) => {
                (self.state, self.outcome) = (State::Checkpoint, Some(paused.outcome));
                if paused.trigger == super::status::Trigger::Terminated {
                    // Its step may have come to its end meanwhile; whoever resumes looks.
                    self.state = State::Terminated;
                } else {
                    self.current = None;
                }
                (self.cost, self.tokens) = (self.cost.max(paused.cost), self.tokens.max(paused.tokens));
                self.reason.clone_from(&paused.question);
                (self.paused, self.resolved) = (Some(paused.clone()), None);
            }
            Deed::Resolved(resolved) => self.resolved = Some(resolved.clone()),
            Deed::Resumed(resumed) => {
                if let Some(paused) = self.paused.as_ref().filter(|paused| !paused.checks.is_empty()) {
                    self.waived.entry(paused.step.clone()).or_default().extend(paused.checks.clone());
                }
                let waited = self.paused.as_ref().and_then(|paused| paused.tool_use_id.clone());
                self.approved = waited.or(self.approved.take());
                (self.state, self.outcome, self.paused) = (State::Resumed, None, None);
                (self.budget, self.step_timeout_ms) = (resumed.budget, resumed.step_timeout_ms);
                self.reason.clear();
            }
            Deed::Terminal(ended) => {
                (self.state, self.outcome) = (State::Terminal, Some(ended.outcome));
                self.reason.clone_from(&ended.reason);
                self.paused = None;
            }
        }
    }
}

/// Every run of a ledger, oldest first.
pub fn fold(told: &[Told]) -> Vec<RunState> {
    let mut records: Vec<RunState> = Vec::new();
    for one in told {
        let at = records.iter().position(|record| record.run_id == one.run_id).unwrap_or_else(|| {
            records.push(RunState { run_id: one.run_id.clone(), ..RunState::default() });
            records.len() - 1
        });
        records[at].take(one);
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::call::CallKey;

    fn done(step: &str, outcome: Outcome) -> Deed {
        Deed::Done(Done {
            call: CallKey::default(),
            cost: 5,
            duration_ms: 1,
            outcome,
            reason: String::new(),
            step: step.to_owned(),
            tokens: 7,
        })
    }

    #[test]
    fn a_passed_step_is_passed_over() {
        let steps = ["a", "b"].map(str::to_owned).to_vec();
        let begun = |step: &str| Deed::Step(Begun { step: step.to_owned(), ..Begun::default() });
        let deeds =
            [Deed::Init(Init { steps, ..Init::default() }), begun("a"), done("a", Outcome::Pass), begun("b")];
        let told: Vec<_> =
            deeds.into_iter().map(|deed| Told { run_id: "r".to_owned(), ts: "t".to_owned(), deed }).collect();
        let records = fold(&told);
        let record = &records[0];
        assert_eq!((record.next_step(), record.state), (Some((1, "b")), State::Running));
        assert_eq!(record.executed(), ["a", "b"]);
        assert_eq!((record.cost, record.current.as_ref().map(|c| c.step.as_str())), (5, Some("b")));
    }
}
