//! The outcome with which a phase of the loop ends: one of four, stored as `ended` in the entry that ends it.
//! `also_ended` is a second one: work that is verified without a refused stop ends both its own phase and
//! `verify` with one verdict. `entered` is the phase that begins.
//!
//! Reads nothing, writes nothing. Invariants: a phase that was entered ends with exactly one outcome; only
//! `PASS` is success; between tasks (`idle`, `done`, `halted`) nothing ends; in a step of a run only the
//! driver's decision ends the phase. The fold does not read it.

use crate::model::agent::AgentId;
use crate::model::event::EventKind;
use crate::model::named::Stored;
use crate::model::outcome::{AgentVerdict, PhaseOutcome};
use crate::model::phase::Phase;
use crate::session::fact::{Fact, Reported, Staged};
use crate::text::stored::canonical;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseEnd {
    pub outcome: Stored<PhaseOutcome>,
    pub phase: Phase,
}

/// The loop's phase before or after a fact.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    pub phase: Phase,
    /// The task has a plan.
    pub planned: bool,
    /// The phase of the current step of a run.
    pub step: Option<Phase>,
    /// The session and its phase have ended; the phase is entered again when the session is resumed.
    pub over: bool,
}

/// The phases that one fact ended and began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also_ended: Option<PhaseEnd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<PhaseEnd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entered: Option<Phase>,
}

impl PhaseEnd {
    fn new(phase: Phase, outcome: PhaseOutcome) -> Self {
        Self { outcome: outcome.into(), phase }
    }

    /// The phase that this fact ended, if it did.
    fn of(standing: Standing, after: Phase, fact: &Fact) -> Option<Self> {
        let before = standing.phase;
        let event = if let Fact::Event(seen) = fact { seen.kind() } else { EventKind::Other };
        if !is_walked(before) || before == after && event != EventKind::SessionEnd {
            return None;
        }
        let outcome = match (event, after) {
            (_, Phase::Halted) => PhaseOutcome::Halt,
            // The user has decided, or has to decide, what comes next.
            (EventKind::SessionEnd | EventKind::UserPromptSubmit, _) => PhaseOutcome::AskUser,
            (_, Phase::Intervene) => MENDS,
            // A person approved the plan in plan mode.
            _ if before == Phase::Review && matches!(fact, Fact::Call(_)) => PhaseOutcome::AskUser,
            _ if before == Phase::Review && !is_reviewed(fact) => MENDS,
            // The work that needed no plan is over; from here on it has one.
            _ if before == Phase::Execute && after == Phase::Review && !standing.planned => {
                PhaseOutcome::Pass
            }
            _ if goes_on(before, after) => PhaseOutcome::Pass,
            _ => MENDS,
        };
        Some(Self::new(before, outcome))
    }

    /// The verifier's verdict ends `verify`, and before that the phase in which the loop was.
    fn of_verdict(before: Phase, after: Phase, verified: bool) -> [Option<Self>; 2] {
        let verify = Self::new(Phase::Verify, if verified { PhaseOutcome::Pass } else { MENDS });
        let own = match before {
            Phase::Verify => None,
            // The work was sent back after the verification; or a newer prompt waits for its plan, and the
            // verdict is about the task before it.
            Phase::Hydrate | Phase::Reflect | Phase::Close if before == after => None,
            Phase::Reflect | Phase::Close => Some(Self::new(before, MENDS)),
            _ => is_walked(before).then(|| Self::new(before, PhaseOutcome::Pass)),
        };
        match own {
            Some(own) => [Some(own), Some(verify)],
            None => [Some(verify), None],
        }
    }
}

const MENDS: PhaseOutcome = PhaseOutcome::InterventionRequired;

impl PhaseChange {
    pub fn of(before: Standing, after: Standing, fact: &Fact) -> Self {
        if let Fact::Run(Staged { outcome, stage, .. }) = fact {
            // The driver ended without a decision, and a person let the run continue.
            let outcome = outcome.clone().unwrap_or(PhaseOutcome::AskUser.into());
            let ended = before.step.map(|phase| PhaseEnd { outcome, phase });
            return Self { ended, entered: stage.as_ref().map(|stage| stage.phase), ..Self::default() };
        }
        if before.step.is_some() || before.over && after.over {
            return Self::default();
        }
        let entered = Some(after.phase).filter(|phase| is_walked(*phase));
        if before.over {
            return Self { entered, ..Self::default() };
        }
        let verdict = verdict(fact).filter(|_| before.phase != Phase::Halted);
        let [ended, also_ended] = match verdict {
            Some(verified) => PhaseEnd::of_verdict(before.phase, after.phase, verified),
            None => [PhaseEnd::of(before, after.phase, fact), None],
        };
        let again = verdict == Some(false) && before.phase == after.phase && after.phase != Phase::Hydrate;
        Self { also_ended, ended, entered: entered.filter(|_| again || before.phase != after.phase) }
    }

    /// The stored form of an entry with these changes added.
    pub fn join(&self, with: String) -> String {
        if *self == Self::default() {
            return with;
        }
        let read = |text: &str| serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(text);
        let (Ok(mut fields), Ok(own)) = (read(&with), read(&canonical(self))) else { return with };
        fields.extend(own);
        canonical(&fields)
    }

    /// The changes in a stored entry.
    pub fn read(with: &str) -> Self {
        // Most entries change no phase.
        let changes = with.contains("\"ended\":{") || with.contains("\"entered\":\"");
        if changes { serde_json::from_str(with).unwrap_or_default() } else { Self::default() }
    }

    pub fn ends(&self) -> impl Iterator<Item = &PhaseEnd> {
        self.ended.iter().chain(&self.also_ended)
    }
}

/// For a verdict of the verifier that counts: whether it verified.
fn verdict(fact: &Fact) -> Option<bool> {
    match fact {
        Fact::Verdict(Reported { agent, finding: Some(finding), sent_on: false, .. })
            if *agent == AgentId::QaVerifier =>
        {
            Some(finding.says(AgentVerdict::Verified))
        }
        _ => None,
    }
}

fn is_walked(phase: Phase) -> bool {
    !matches!(phase, Phase::Idle | Phase::Done | Phase::Halted)
}

/// A critic accepted the plan. In a run the driver's decision ends the step instead.
fn is_reviewed(fact: &Fact) -> bool {
    let proceeds = |report: &Reported| {
        let proceeds = report.finding.as_ref().is_some_and(|finding| finding.says(AgentVerdict::Proceed));
        report.agent == AgentId::Critic && proceeds
    };
    matches!(fact, Fact::Verdict(report) if proceeds(report))
}

/// Forward in the loop, to its end, or back from repairing to verifying.
fn goes_on(before: Phase, after: Phase) -> bool {
    let place = |phase: Phase| Phase::ALL.iter().position(|one| *one == phase);
    before == Phase::Intervene || after == Phase::Idle || place(after) > place(before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::agent_report::AgentReport;
    use crate::session::fact::{Seen, Step, Unblocked};
    use crate::session::memory::RunStep;

    fn event(name: &str) -> Fact {
        Fact::Event(Box::new(Seen::of(EventKind::of(name))))
    }

    fn change(before: Phase, after: Phase, fact: &Fact) -> PhaseChange {
        let at = |phase| Standing { phase, planned: true, ..Standing::default() };
        PhaseChange::of(at(before), at(after), fact)
    }

    fn outcome(before: Phase, after: Phase, fact: &Fact) -> Option<&'static str> {
        change(before, after, fact).ended.and_then(|end| Some(end.outcome.known()?.name()))
    }

    #[test]
    fn each_end_has_one_outcome() {
        let any = event("SubagentStop");
        for (before, after, wanted) in [
            (Phase::Hydrate, Phase::Review, "PASS"),
            (Phase::Review, Phase::Verify, "INTERVENTION_REQUIRED"),
            (Phase::Review, Phase::Done, "INTERVENTION_REQUIRED"),
            (Phase::Review, Phase::Hydrate, "INTERVENTION_REQUIRED"),
            (Phase::Review, Phase::Halted, "HALT"),
            (Phase::Execute, Phase::Verify, "PASS"),
            (Phase::Execute, Phase::Intervene, "INTERVENTION_REQUIRED"),
            (Phase::Verify, Phase::Intervene, "INTERVENTION_REQUIRED"),
            (Phase::Intervene, Phase::Verify, "PASS"),
            (Phase::Reflect, Phase::Close, "PASS"),
            (Phase::Reflect, Phase::Verify, "INTERVENTION_REQUIRED"),
            (Phase::Close, Phase::Done, "PASS"),
            (Phase::Execute, Phase::Idle, "PASS"),
        ] {
            assert_eq!(outcome(before, after, &any), Some(wanted), "{before:?} to {after:?}");
        }
        for (agent, verdict, wanted) in
            [("critic", "PROCEED", "PASS"), ("prompt-hydrator", "PROCEED", "INTERVENTION_REQUIRED")]
        {
            let finding = Some(AgentReport { verdict: Some(Stored::of(verdict)), ..AgentReport::default() });
            let said = Fact::Verdict(Reported { agent: Stored::of(agent), finding, ..Reported::default() });
            assert_eq!(outcome(Phase::Review, Phase::Execute, &said), Some(wanted), "{agent}");
        }
        let approved = Fact::Call(Step::default());
        assert_eq!(outcome(Phase::Review, Phase::Execute, &approved), Some("ASK_USER"));
        let prompt = event("UserPromptSubmit");
        let end = event("SessionEnd");
        assert_eq!(outcome(Phase::Execute, Phase::Hydrate, &prompt), Some("ASK_USER"));
        assert_eq!(outcome(Phase::Verify, Phase::Verify, &end), Some("ASK_USER"));
        for before in [Phase::Idle, Phase::Done, Phase::Halted] {
            assert_eq!(outcome(before, Phase::Hydrate, &prompt), None, "{before:?}");
            assert_eq!(outcome(before, before, &end), None, "{before:?}");
        }
        assert_eq!(outcome(Phase::Halted, Phase::Idle, &Fact::Unblock(Unblocked { by: "p".into() })), None);
        assert_eq!(outcome(Phase::Verify, Phase::Verify, &any), None);
    }

    /// Mode `loop`: the plan of a task that began small.
    #[test]
    fn a_first_plan_is_no_failure_of_the_work_before_it() {
        let planned = Fact::Verdict(Reported { agent: AgentId::Hydrator.into(), ..Reported::default() });
        for (has_plan, wanted) in [(false, PhaseOutcome::Pass), (true, MENDS)] {
            let before = Standing { phase: Phase::Execute, planned: has_plan, ..Standing::default() };
            let after = Standing { phase: Phase::Review, planned: true, ..Standing::default() };
            let change = PhaseChange::of(before, after, &planned);
            assert_eq!(change.ended, Some(PhaseEnd::new(Phase::Execute, wanted)));
            assert_eq!(change.entered, Some(Phase::Review));
        }
    }

    #[test]
    fn a_verdict_ends_verify_wherever_the_loop_stood() {
        let said = |verdict: &str| {
            let finding = Some(AgentReport { verdict: Some(Stored::of(verdict)), ..AgentReport::default() });
            Fact::Verdict(Reported { agent: AgentId::QaVerifier.into(), finding, ..Reported::default() })
        };
        let good = said("VERIFIED");
        let bad = said("ISSUES");
        for (before, after, fact, wanted, entered) in [
            (Phase::Verify, Phase::Reflect, &good, "verify PASS", "reflect"),
            (Phase::Execute, Phase::Reflect, &good, "execute PASS, verify PASS", "reflect"),
            (
                Phase::Execute,
                Phase::Intervene,
                &bad,
                "execute PASS, verify INTERVENTION_REQUIRED",
                "intervene",
            ),
            (
                Phase::Intervene,
                Phase::Intervene,
                &bad,
                "intervene PASS, verify INTERVENTION_REQUIRED",
                "intervene",
            ),
            (Phase::Reflect, Phase::Reflect, &good, "verify PASS", ""),
            (Phase::Done, Phase::Reflect, &good, "verify PASS", "reflect"),
        ] {
            let change = change(before, after, fact);
            let ends: Vec<String> =
                change.ends().map(|end| format!("{} {}", end.phase.name(), end.outcome)).collect();
            assert_eq!(ends.join(", "), wanted, "{before:?}");
            assert_eq!(change.entered.map_or("", Phase::name), entered, "{before:?}");
        }
    }

    #[test]
    fn in_a_run_only_the_driver_ends_a_phase() {
        let stage = |phase| Some(RunStep { phase, ..RunStep::default() });
        let run = |word: Option<&str>, stage| {
            Fact::Run(Staged { outcome: word.map(Stored::of), stage, ..Staged::default() })
        };
        let within =
            Standing { phase: Phase::Execute, step: Some(Phase::Review), over: true, ..Standing::default() };
        let next = PhaseChange::of(within, within, &run(Some("PASS"), stage(Phase::Execute)));
        assert_eq!(
            next.ended,
            Some(PhaseEnd::new(Phase::Review, PhaseOutcome::Pass)),
            "also after the client's session end"
        );
        assert_eq!(next.entered, Some(Phase::Execute));
        let cut_off = PhaseChange::of(within, within, &run(None, stage(Phase::Review)));
        assert_eq!(cut_off.ended, Some(PhaseEnd::new(Phase::Review, PhaseOutcome::AskUser)));
        let between = Standing { step: None, ..within };
        assert_eq!(PhaseChange::of(between, within, &run(None, stage(Phase::Review))).ended, None);
        let moved = Standing { phase: Phase::Reflect, ..within };
        for fact in [event("SessionEnd"), event("UserPromptSubmit"), event("SubagentStop")] {
            assert_eq!(PhaseChange::of(within, moved, &fact), PhaseChange::default());
        }
    }

    #[test]
    fn an_ended_session_ends_nothing_until_it_is_resumed() {
        let over = Standing { phase: Phase::Execute, over: true, ..Standing::default() };
        assert_eq!(PhaseChange::of(over, over, &event("SessionEnd")), PhaseChange::default());
        let back = PhaseChange::of(over, Standing { over: false, ..over }, &event("SessionStart"));
        assert_eq!((back.ended, back.entered), (None, Some(Phase::Execute)));
    }

    #[test]
    fn an_entry_says_it_in_its_place() {
        let end = PhaseEnd { outcome: PhaseOutcome::Pass.into(), phase: Phase::Hydrate };
        let change = PhaseChange { ended: Some(end), entered: Some(Phase::Review), also_ended: None };
        let with = change.join(r#"{"about":{"z":1,"a":2},"event":"Stop"}"#.to_owned());
        let wanted = r#"{"about":{"z":1,"a":2},"ended":{"outcome":"PASS","phase":"hydrate"},"entered":"review","event":"Stop"}"#;
        assert_eq!(with, wanted);
        assert_eq!(PhaseChange::read(&with), change);
        let quoted = r#"{"about":"\"ended\":{","event":"Stop"}"#;
        assert_eq!(PhaseChange::read(quoted), PhaseChange::default());
        assert_eq!(PhaseChange::default().join(quoted.to_owned()), quoted);
    }
}
