//! The state of one run, folded from its lines in the attempt ledger.
//!
//! Pure. Invariant: a step that passed stays passed, so it is not started again, unless a person takes the
//! run back.

use super::attempt::{
    AttemptEntry, AttemptFact, Begun, Decision, Delivered, Done, Init, Paused, Resolved, Resumed, Revised,
    RunOutcome, RunStatus, TakenBack, Trigger,
};
use aops_core::checkpoint::form::describe::RunView;
use aops_core::checkpoint::form::{CheckpointKind, GateOutcome, Intake};
use aops_core::text::json::cut;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

#[derive(Clone, Debug, Default)]
pub struct RunState {
    pub run_id: String,
    pub init: Init,
    pub status: RunStatus,
    pub outcome: Option<RunOutcome>,
    pub reason: String,
    /// By step: how its last attempt ended.
    pub done: BTreeMap<String, Done>,
    pub current: Option<Begun>,
    /// When the current step began.
    pub current_since: String,
    /// The step that ended last, and how; a step that paused does not count.
    pub last: Option<(String, RunOutcome)>,
    /// The last attempt of each step since the run last went back, if it ever did.
    pub begun: BTreeMap<String, Begun>,
    /// How often each step was handed out in total.
    pub attempts: BTreeMap<String, u64>,
    /// How each step last passed, including steps that were undone since.
    pub passed: BTreeMap<String, Done>,
    /// Steps that were undone and have not passed since.
    pub taken_back: BTreeSet<String>,
    /// By step: how often its verifier found issues or its critic wanted a revision; `granted` says how often
    /// a person granted more of these rounds.
    pub rounds: BTreeMap<String, u64>,
    pub granted: BTreeMap<String, u64>,
    /// How often the run went back to a checkpoint.
    pub rollbacks: u64,
    /// By step: how often it is repeated because the critic sent the plan back.
    pub revisions: BTreeMap<String, u64>,
    /// By step being repeated: what the critic found, until the step has passed.
    pub sent_back: BTreeMap<String, String>,
    /// How often steps were undone or sent back: the version number of their old files.
    pub versions: u64,
    /// What a person answered, oldest first.
    pub answers: Vec<Answered>,
    pub paused: Option<Paused>,
    pub resolved: Option<Resolved>,
    pub delivered: Option<Delivered>,
    /// The call that a person last approved. The session's ledger says whether it was made since.
    pub approved: Option<String>,
    /// By step: the checks that a person waived.
    pub waived: BTreeMap<String, Vec<String>>,
    /// Millionths of a dollar, so far.
    pub cost: u64,
    pub budget: Option<u64>,
    pub step_timeout_ms: u64,
    pub tokens: u64,
    /// Its files were removed by `runs gc`.
    pub removed: bool,
    pub began_at: String,
    pub changed_at: String,
}

/// A question of the run, and what a person said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    pub answer: String,
    pub question: String,
    pub step: String,
    pub trigger: Trigger,
}

impl RunState {
    pub fn has_passed(&self, step: &str) -> bool {
        self.done.get(step).is_some_and(|done| done.outcome == RunOutcome::Pass)
    }

    /// The completed steps, in the order of the plan.
    pub fn executed(&self) -> Vec<String> {
        self.init.steps.iter().filter(|step| self.has_passed(step)).cloned().collect()
    }

    /// The round of intervention that a step waits for: its verifier found issues that are not fixed yet.
    pub fn mending(&self, step: &str) -> Option<u64> {
        let round = *self.rounds.get(step)?;
        let found = self.done.get(step).is_some_and(|done| done.outcome == RunOutcome::InterventionRequired);
        (found && !self.has_passed(&intervention_id(step, round))).then_some(round)
    }

    /// Whether the verifier found issues more often than interventions are allowed.
    pub fn is_beyond_mending(&self, step: &str) -> bool {
        let allowed = MOST_ROUNDS * (1 + self.granted.get(step).unwrap_or(&0));
        self.rounds.get(step).is_some_and(|rounds| *rounds > allowed)
    }

    /// What the critic in this step found, if the plan must be made again.
    pub fn sends_back(&self, step: &str) -> Option<&Done> {
        let sent = [RunOutcome::InterventionRequired, RunOutcome::EscalationRequested];
        self.done.get(step).filter(|done| sent.contains(&done.outcome))
    }

    /// Whether the plan may be made again without asking a person. `has_plan`: there is a step that makes it.
    pub fn may_revise(&self, step: &str, has_plan: bool) -> bool {
        let rounds = self.rounds.get(step).unwrap_or(&0);
        let granted = self.granted.get(step).unwrap_or(&0);
        let allowed = if has_plan { MOST_ROUNDS * (1 + granted) } else { *granted };
        let halted = self.done.get(step).is_some_and(|done| done.outcome == RunOutcome::EscalationRequested);
        !halted && *rounds <= allowed
    }

    /// How this step ended, if it was the last one.
    pub fn outcome_of(&self, step: &str) -> Option<RunOutcome> {
        self.last.as_ref().filter(|(last, _)| last == step).map(|(_, outcome)| *outcome)
    }

    /// Whether a person answered the question with which this step ended, and it has not passed since.
    pub fn is_answered(&self, step: &str) -> bool {
        let asked = |answered: &Answered| answered.step == step && answered.trigger == Trigger::Question;
        !self.has_passed(step) && self.answers.last().is_some_and(asked)
    }

    /// Whether nothing in it waits for a person or can be continued: it passed, or a person rejected what it
    /// paused for.
    pub fn is_settled(&self) -> bool {
        let rejected = self.resolved.as_ref().is_some_and(|resolved| resolved.decision == Decision::Rejected);
        rejected || self.status == RunStatus::Terminal && self.outcome == Some(RunOutcome::Pass)
    }

    /// The first step of the plan that has not passed.
    pub fn next_step(&self) -> Option<(usize, &str)> {
        let steps = self.init.steps.iter().enumerate();
        steps.map(|(at, step)| (at, step.as_str())).find(|(_, step)| !self.has_passed(step))
    }

    pub fn apply(&mut self, told: &AttemptEntry) {
        told.ts.clone_into(&mut self.changed_at);
        match &told.deed {
            AttemptFact::Init(init) => {
                told.ts.clone_into(&mut self.began_at);
                self.run_id.clone_from(&told.run_id);
                self.budget = init.budget;
                self.step_timeout_ms = init.step_timeout_ms;
                self.init = init.clone();
            }
            AttemptFact::Step(begun) => {
                self.status = RunStatus::Running;
                self.current = Some(begun.clone());
                told.ts.clone_into(&mut self.current_since);
                self.last.take_if(|(step, _)| *step == begun.step);
                self.begun.insert(begun.step.clone(), begun.clone());
                self.attempts.insert(begun.step.clone(), begun.attempt);
            }
            AttemptFact::Done(done) => self.end_step(done),
            AttemptFact::Checkpoint(paused) => self.pause(paused),
            AttemptFact::Resolved(resolved) => self.resolved = Some(resolved.clone()),
            AttemptFact::Resumed(resumed) => self.go_on(resumed),
            AttemptFact::Terminal(ended) => {
                self.status = RunStatus::Terminal;
                self.outcome = Some(ended.outcome);
                self.reason.clone_from(&ended.reason);
                self.paused = None;
            }
            AttemptFact::Rollback(back) => self.take_back(back),
            AttemptFact::Revised(revised) => self.revise(revised),
            AttemptFact::Delivered(delivered) => self.delivered = Some(delivered.clone()),
            AttemptFact::Removed(_) => self.removed = true,
        }
    }

    fn end_step(&mut self, done: &Done) {
        self.current = None;
        self.cost = done.cost;
        self.tokens = done.tokens;
        self.last = Some((done.step.clone(), done.outcome));
        self.done.insert(done.step.clone(), done.clone());
        if done.outcome == RunOutcome::InterventionRequired {
            *self.rounds.entry(done.step.clone()).or_default() += 1;
        }
        if done.outcome == RunOutcome::Pass {
            self.taken_back.remove(&done.step);
            self.sent_back.remove(&done.step);
            self.passed.insert(done.step.clone(), done.clone());
        }
    }

    fn pause(&mut self, paused: &Paused) {
        self.status = RunStatus::Checkpoint;
        self.outcome = Some(paused.outcome);
        if paused.trigger == Trigger::Terminated {
            // Its step may have ended since; `resume` checks that.
            self.status = RunStatus::Terminated;
        } else {
            self.current = None;
        }
        self.cost = self.cost.max(paused.cost);
        self.tokens = self.tokens.max(paused.tokens);
        self.reason.clone_from(&paused.question);
        self.paused = Some(paused.clone());
        self.resolved = None;
    }

    /// Settles what the pause was about: its checks are waived, a failed verification or review gets more
    /// rounds, and an answer is kept.
    fn go_on(&mut self, resumed: &Resumed) {
        if let Some(paused) = self.paused.take() {
            if !paused.checks.is_empty() {
                self.waived.entry(paused.step.clone()).or_default().extend(paused.checks.clone());
            }
            if paused.trigger.wants_answer() {
                self.take_answer(&paused);
            }
            match paused.trigger {
                Trigger::VerificationFailed | Trigger::CriticRevise => {
                    *self.granted.entry(paused.step.clone()).or_default() += 1;
                }
                Trigger::CriticHalt => {
                    // With the person's answer, the plan can be revised.
                    if let Some(halted) = self.done.get_mut(&paused.step) {
                        halted.outcome = RunOutcome::InterventionRequired;
                    }
                }
                _ => {}
            }
            self.approved = paused.tool_use_id.or(self.approved.take());
        }
        self.status = RunStatus::Resumed;
        self.outcome = None;
        self.budget = resumed.budget;
        self.step_timeout_ms = resumed.step_timeout_ms;
        self.reason.clear();
    }

    fn take_answer(&mut self, paused: &Paused) {
        let said = self.resolved.as_ref().filter(|resolved| resolved.decision == Decision::Approved);
        let answer =
            said.and_then(|resolved| resolved.note.clone()).unwrap_or_else(|| "yes, go on".to_owned());
        let question = paused.question.clone();
        let step = paused.step.clone();
        let trigger = paused.trigger;
        self.answers.push(Answered { answer, question, step, trigger });
    }

    fn revise(&mut self, revised: &Revised) {
        self.versions += 1;
        for step in &revised.again {
            self.forget(step);
            if *step != revised.by {
                self.rounds.remove(step);
                self.granted.remove(step);
            }
            *self.revisions.entry(step.clone()).or_default() += 1;
            self.sent_back.insert(step.clone(), revised.problems.clone());
        }
    }

    /// Neither the step nor its interventions count as begun or done any more. Returns whether it was begun.
    fn forget(&mut self, step: &str) -> bool {
        self.done.remove(step);
        self.done.retain(|id, _| !is_intervention(id, step));
        self.begun.retain(|id, _| !is_intervention(id, step));
        self.begun.remove(step).is_some()
    }

    /// Steps that were not completed at the checkpoint are incomplete again. Going back to a later checkpoint
    /// can complete steps.
    fn take_back(&mut self, back: &TakenBack) {
        self.rollbacks += 1;
        self.versions += 1;
        self.current = None;
        self.approved = None;
        self.resolved = None;
        self.paused = None;
        for step in &self.init.steps.clone() {
            if back.completed.contains(step) {
                self.taken_back.remove(step);
                if let Some(done) = self.passed.get(step) {
                    self.done.insert(step.clone(), done.clone());
                }
            } else {
                self.waived.remove(step);
                self.rounds.remove(step);
                self.granted.remove(step);
                self.sent_back.remove(step);
                if self.forget(step) {
                    self.taken_back.insert(step.clone());
                }
            }
        }
    }

    /// The run as its checkpoints have it, at this step.
    pub fn view(&self, current: &str) -> RunView {
        let gate = |step: &String| {
            let done = self.done.get(step)?;
            let reason = Some(done.reason.clone()).filter(|reason| !reason.is_empty());
            Some(GateOutcome { name: step.clone(), outcome: done.outcome.of_phase().into(), reason })
        };
        let (completed, incomplete) = self.init.steps.iter().cloned().partition(|step| self.has_passed(step));
        RunView {
            completed,
            current_phase: current.to_owned(),
            incomplete,
            intake: Intake {
                context_refs: self.init.context.iter().map(|file| file.path.clone()).collect(),
                project_type: self.init.project_type.clone(),
                prompt: Some(cut(&self.init.task, 2048).to_owned()),
                workflow: Some(self.init.workflow.clone()),
                ..Intake::default()
            },
            gates: self.init.steps.iter().filter_map(gate).collect(),
            waived: self.waived.values().flatten().cloned().collect(),
            kind: if self.begun.contains_key(current) { CheckpointKind::Post } else { CheckpointKind::Pre },
        }
    }
}

/// How many interventions follow each other before a person is asked.
pub const MOST_ROUNDS: u64 = 3;

/// The id of the step that fixes what the verifier of `step` found. Step ids have at most 64 characters.
pub fn intervention_id(step: &str, round: u64) -> String {
    format!("{}-intervene-{round}", cut(step, 40))
}

pub fn is_intervention(id: &str, of: &str) -> bool {
    id.strip_prefix(cut(of, 40)).is_some_and(|rest| rest.starts_with("-intervene-"))
}

/// The one run that a person names: by its packet's id or file, or by the beginning of its own id.
pub fn pick(mut runs: Vec<RunState>, name: &str) -> Result<RunState, String> {
    let file = Path::new(name).file_name().and_then(|file| file.to_str()).unwrap_or_default();
    let stem = file.strip_suffix(".yaml").unwrap_or(file);
    let bare = stem.strip_prefix("CP_").unwrap_or(stem);
    runs.retain(|run| {
        let names_packet = run.init.steps.iter().any(|step| bare == format!("{}_{step}", run.run_id));
        !bare.is_empty() && (names_packet || run.run_id.starts_with(bare))
    });
    match runs.len() {
        1 => Ok(runs.remove(0)),
        0 => Err(format!("no run or packet `{name}` here\nhint: `aops-hook runs` lists them")),
        n => Err(format!(
            "{n} run ids begin with `{name}`\nhint: type more of it; `aops-hook runs` lists them"
        )),
    }
}

pub fn fold(told: &[AttemptEntry]) -> Vec<RunState> {
    let mut runs: Vec<RunState> = Vec::new();
    for one in told {
        let at = runs.iter().position(|run| run.run_id == one.run_id).unwrap_or_else(|| {
            runs.push(RunState { run_id: one.run_id.clone(), ..RunState::default() });
            runs.len() - 1
        });
        runs[at].apply(one);
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::attempt::Ended;
    use aops_core::model::call::CallKey;

    fn done(step: &str, outcome: RunOutcome) -> AttemptFact {
        AttemptFact::Done(Done {
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
    fn a_step_that_passed_is_skipped() {
        let steps = ["a", "b"].map(str::to_owned).to_vec();
        let begun = |step: &str| AttemptFact::Step(Begun { step: step.to_owned(), ..Begun::default() });
        let deeds = [
            AttemptFact::Init(Init { steps, ..Init::default() }),
            begun("a"),
            done("a", RunOutcome::Pass),
            begun("b"),
        ];
        let told: Vec<_> = deeds
            .into_iter()
            .map(|deed| AttemptEntry { run_id: "r".to_owned(), ts: "t".to_owned(), deed })
            .collect();
        let run = &fold(&told)[0];
        assert_eq!((run.next_step(), run.status), (Some((1, "b")), RunStatus::Running));
        assert_eq!(run.executed(), ["a"], "`b` has begun and is not completed");
        assert_eq!((run.cost, run.current.as_ref().map(|c| c.step.as_str())), (5, Some("b")));
    }

    #[test]
    fn each_deed_leads_to_its_state() {
        let paused = |trigger: Trigger| {
            AttemptFact::Checkpoint(Paused {
                checkpoint_id: String::new(),
                checks: Vec::new(),
                cost: 0,
                digest: String::new(),
                outcome: trigger.outcome(),
                question: String::new(),
                step: "a".to_owned(),
                tokens: 0,
                tool_use_id: None,
                tree: String::new(),
                trigger,
            })
        };
        let resumed = || {
            AttemptFact::Resumed(Resumed { budget: None, checkpoint_id: String::new(), step_timeout_ms: 1 })
        };
        let ended = Ended { outcome: RunOutcome::Pass, reason: String::new() };
        let mut run = RunState::default();
        for (deed, state) in [
            (AttemptFact::Init(Init::default()), "INIT"),
            (AttemptFact::Step(Begun { step: "a".to_owned(), ..Begun::default() }), "RUNNING"),
            (paused(Trigger::AskUser), "CHECKPOINT"),
            (resumed(), "RESUMED"),
            (paused(Trigger::Terminated), "TERMINATED"),
            (resumed(), "RESUMED"),
            (AttemptFact::Terminal(ended), "TERMINAL"),
        ] {
            run.apply(&AttemptEntry { run_id: "r".to_owned(), ts: "t".to_owned(), deed });
            assert_eq!(run.status.name(), state);
        }
    }

    #[test]
    fn a_run_is_named_by_its_id_or_its_packet() {
        let run = |id: &str| RunState {
            run_id: id.to_owned(),
            init: Init { steps: vec!["build".to_owned()], ..Init::default() },
            ..RunState::default()
        };
        let runs = vec![run("20260113-aa"), run("20260113-ab")];
        let find = |name: &str| pick(runs.clone(), name).map(|run| run.run_id);
        for name in ["20260113-aa", "CP_20260113-aa_build", "artifacts/checkpoints/CP_20260113-aa_build.yaml"]
        {
            assert_eq!(find(name).unwrap(), "20260113-aa", "{name}");
        }
        assert!(find("20260113").unwrap_err().starts_with("2 run ids"));
        for none in ["", "CP_", "CP_20260113-aa_other", "x"] {
            assert!(find(none).unwrap_err().starts_with("no run"), "{none}");
        }
    }
}
