//! The outcome with which a phase of the loop ends: one of four, stored as `ended` in the entry that ends it.
//!
//! Reads nothing, writes nothing. Invariants: a phase ends with exactly one outcome; only `PASS` is success; between tasks
//! (`idle`, `done`, `halted`) nothing ends. The fold does not read it: older ledgers have none.

use crate::model::event::EventKind;
use crate::model::phase::Phase;
use crate::session::fact::{Fact, Reported};
use crate::text::stored::canonical;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

pub const KEY: &str = "ended";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseEnd {
    /// `PASS`, `ASK_USER`, `INTERVENTION_REQUIRED` or `HALT`.
    pub outcome: String,
    pub phase: Phase,
}

impl PhaseEnd {
    /// The phase that this fact ended, if it did.
    pub fn of(before: Phase, after: Phase, fact: &Fact) -> Option<Self> {
        let rests = matches!(before, Phase::Idle | Phase::Done | Phase::Halted);
        let event = if let Fact::Event(seen) = fact { EventKind::of(&seen.event) } else { EventKind::Other };
        if rests || before == after && event != EventKind::SessionEnd {
            return None;
        }
        let outcome = match (event, after) {
            (_, Phase::Halted) => "HALT",
            // What comes next is for the user to say, or they have said it.
            (EventKind::SessionEnd | EventKind::UserPromptSubmit, _) => "ASK_USER",
            (_, Phase::Intervene) => "INTERVENTION_REQUIRED",
            // A person approved the plan in plan mode.
            _ if before == Phase::Review && matches!(fact, Fact::Call(_)) => "ASK_USER",
            _ if before == Phase::Review && !is_reviewed(fact) => "INTERVENTION_REQUIRED",
            _ if goes_on(before, after) => "PASS",
            _ => "INTERVENTION_REQUIRED",
        };
        Some(Self { outcome: outcome.to_owned(), phase: before })
    }

    /// The stored form of an entry with this in it.
    pub fn join(&self, with: String) -> String {
        let Ok(mut fields) = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(&with) else { return with };
        let Ok(ended) = RawValue::from_string(canonical(self)) else { return with };
        fields.insert(KEY.to_owned(), ended);
        canonical(&fields)
    }

    /// What a stored entry says.
    pub fn read(with: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Held {
            ended: Option<PhaseEnd>,
        }
        // Most entries end none.
        with.contains("\"ended\":{").then(|| serde_json::from_str::<Held>(with).ok()?.ended)?
    }
}

/// A critic let the plan go; in a run the driver says that its step has ended.
fn is_reviewed(fact: &Fact) -> bool {
    let proceeds = |report: &Reported| {
        let verdict = report.finding.as_ref().and_then(|finding| finding.verdict.as_deref());
        report.agent == "critic" && verdict == Some("PROCEED")
    };
    matches!(fact, Fact::Run(_)) || matches!(fact, Fact::Verdict(report) if proceeds(report))
}

/// Forward in the loop, to its end, or from mending back to verifying.
fn goes_on(before: Phase, after: Phase) -> bool {
    let place = |phase: Phase| Phase::ALL.iter().position(|one| *one == phase);
    before == Phase::Intervene || after == Phase::Idle || place(after) > place(before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::agent_report::AgentReport;
    use crate::session::fact::{Seen, Staged, Step, Unblocked};

    fn event(name: &str) -> Fact {
        Fact::Event(Box::new(Seen { event: name.to_owned(), ..Seen::default() }))
    }

    fn outcome(before: Phase, after: Phase, fact: &Fact) -> Option<String> {
        PhaseEnd::of(before, after, fact).map(|end| end.outcome)
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
            assert_eq!(outcome(before, after, &any).as_deref(), Some(wanted), "{before:?} to {after:?}");
        }
        for (agent, verdict, wanted) in
            [("critic", "PROCEED", "PASS"), ("prompt-hydrator", "PROCEED", "INTERVENTION_REQUIRED")]
        {
            let finding = Some(AgentReport { verdict: Some(verdict.to_owned()), ..AgentReport::default() });
            let said = Fact::Verdict(Reported { agent: agent.to_owned(), finding, ..Reported::default() });
            assert_eq!(outcome(Phase::Review, Phase::Execute, &said).as_deref(), Some(wanted), "{agent}");
        }
        let step = Fact::Run(Staged::default());
        assert_eq!(outcome(Phase::Review, Phase::Execute, &step).as_deref(), Some("PASS"));
        let approved = Fact::Call(Step::default());
        assert_eq!(outcome(Phase::Review, Phase::Execute, &approved).as_deref(), Some("ASK_USER"));
        let (prompt, end) = (event("UserPromptSubmit"), event("SessionEnd"));
        assert_eq!(outcome(Phase::Execute, Phase::Hydrate, &prompt).as_deref(), Some("ASK_USER"));
        assert_eq!(outcome(Phase::Verify, Phase::Verify, &end).as_deref(), Some("ASK_USER"));
        for before in [Phase::Idle, Phase::Done, Phase::Halted] {
            assert_eq!(outcome(before, Phase::Hydrate, &prompt), None, "{before:?}");
            assert_eq!(outcome(before, before, &end), None, "{before:?}");
        }
        assert_eq!(outcome(Phase::Halted, Phase::Idle, &Fact::Unblock(Unblocked { by: "p".into() })), None);
        assert_eq!(outcome(Phase::Verify, Phase::Verify, &any), None);
    }

    #[test]
    fn an_entry_says_it_in_its_place() {
        let end = PhaseEnd { outcome: "PASS".to_owned(), phase: Phase::Hydrate };
        let with = end.join(r#"{"about":{"z":1,"a":2},"event":"Stop"}"#.to_owned());
        assert_eq!(with, r#"{"about":{"z":1,"a":2},"ended":{"outcome":"PASS","phase":"hydrate"},"event":"Stop"}"#);
        assert_eq!(PhaseEnd::read(&with), Some(end));
        assert_eq!(PhaseEnd::read(r#"{"about":"\"ended\":{","event":"Stop"}"#), None);
    }
}
