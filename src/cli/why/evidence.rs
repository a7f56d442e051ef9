//! The evidence in the ledger for a verdict, gate by gate.
//!
//! Reads the batches before it and the session at that time; writes nothing. Invariant: what is missing is given with the
//! entry since which it is missing.

use crate::cli::past::{Answered, Asked, Batch};
use crate::insight::tally::words as text;
use crate::ledger::open::Recent;
use crate::model::call::{CallState, Effect};
use crate::session::describe::describe_fact;
use crate::session::fact::Fact;
use crate::session::fold::Session;
use crate::text::template::one_line;

/// One piece of evidence; without a number it is something that is missing.
#[derive(Debug)]
pub(super) struct Clue {
    pub(super) seq: Option<u64>,
    pub(super) what: String,
}

pub(super) fn of(answered: &Answered, before: &[Batch], session: &Session) -> Vec<Clue> {
    let past = Past { before, session };
    match answered.gate {
        "sandbox" if answered.agent.and_then(crate::model::agent::ours).is_some() => {
            vec![missing("our own agents review and verify; they do not change what they look at")]
        }
        "sandbox" => past.plan(),
        "audit" => past.audit(),
        "block" => past.last(|fact| matches!(fact, Fact::Block(_))).into_iter().collect(),
        "owed" => past.work(),
        "report" => past.report(answered),
        "repeat" => past.same_call(answered),
        "guard" => past.began(answered),
        _ => Vec::new(),
    }
}

fn missing(what: &str) -> Clue {
    Clue { seq: None, what: what.to_owned() }
}

struct Past<'a> {
    before: &'a [Batch],
    session: &'a Session,
}

impl<'a> Past<'a> {
    fn entries(&self) -> impl DoubleEndedIterator<Item = &'a Recent> + use<'a> {
        self.before.iter().flatten()
    }

    /// The last entry of this form, described.
    fn last(&self, like: impl Fn(&Fact) -> bool) -> Option<Clue> {
        let entry = self.entries().rev().find(|entry| like(&entry.fact))?;
        Some(Clue { seq: Some(entry.seq), what: format!("{}  {}", entry.kind, describe_fact(&entry.fact, 240)) })
    }

    /// The last report of one of our agents after this entry.
    fn report_of(&self, name: &str, after: u64) -> Option<Clue> {
        let found =
            self.last(|fact| matches!(fact, Fact::Verdict(report) if report.agent == name && report.finding.is_some()));
        found.filter(|clue| clue.seq > Some(after))
    }

    /// The prompt, its plan, and the review of the plan.
    fn plan(&self) -> Vec<Clue> {
        let prompt = self.entries().rev().find_map(|entry| match &entry.fact {
            Fact::Event(seen) if seen.event == "UserPromptSubmit" => {
                let words = one_line(&text(seen, "prompt").unwrap_or_default(), 120);
                Some((entry.seq, format!("the prompt: {words}")))
            }
            _ => None,
        });
        let since = prompt.as_ref().map_or(0, |(seq, _)| *seq);
        let mut clues: Vec<Clue> = prompt.into_iter().map(|(seq, what)| Clue { seq: Some(seq), what }).collect();
        let Some(plan) = self.report_of("prompt-hydrator", since) else {
            clues.push(missing("no report of `prompt-hydrator`"));
            return clues;
        };
        let planned = plan.seq.unwrap_or_default();
        clues.push(plan);
        if self.session.state.state.current_workflow.as_deref() == Some("simple-question") {
            return clues;
        }
        match self.report_of("critic", planned) {
            Some(review) => clues.push(review),
            None => clues.push(missing("no verdict of `critic` on that plan")),
        }
        clues
    }

    fn audit(&self) -> Vec<Clue> {
        let drawn = self.last(|fact| matches!(fact, Fact::Call(step) if step.drawn == Some(true)));
        let mut clues: Vec<Clue> = drawn
            .into_iter()
            .map(|clue| Clue { what: format!("the lot fell on this change: {}", clue.what), ..clue })
            .collect();
        let writes = self.session.state.audit.writes_since;
        clues.push(missing(&format!("{writes} changes, and no start of `custodiet`")));
        clues
    }

    /// The last change, and which reports came after it.
    fn work(&self) -> Vec<Clue> {
        let wrote = |step: &crate::session::fact::Step| {
            matches!(step.to, CallState::Completed | CallState::Failed)
                && step.agent_type.as_deref().and_then(crate::model::agent::ours).is_none()
        };
        // Only a call's first entry has its effect; its end is found by the key.
        let asked = self.entries().rev().find_map(|entry| match &entry.fact {
            Fact::Call(step) if step.from.is_none() && step.effect == Some(Effect::Write) => {
                self.entries().rev().find_map(|end| match &end.fact {
                    Fact::Call(done) if done.call == step.call && wrote(done) => Some((end.seq, step)),
                    _ => None,
                })
            }
            _ => None,
        });
        let writes = self.session.state.task.as_ref().map_or(0, |task| task.writes);
        let (last, mut clues) = match asked {
            Some((seq, step)) => {
                let input = step.input.as_ref().map_or("", |input| input.get());
                let what = format!("the last of {writes} changes: {} {}", step.call.tool, one_line(input, 160));
                (seq, vec![Clue { seq: Some(seq), what }])
            }
            None => (0, Vec::new()),
        };
        for (agent, owed) in [("qa-verifier", self.session.owes_qa()), ("framework", true)] {
            match self.report_of(agent, last) {
                Some(report) if owed => clues.push(report),
                None if owed => clues.push(missing(&format!("no report of `{agent}`"))),
                _ => {}
            }
        }
        clues
    }

    fn report(&self, answered: &Answered) -> Vec<Clue> {
        let Asked::Event(seen) = answered.asked else { return Vec::new() };
        let same = |fact: &Fact| matches!(fact, Fact::Event(start) if start.event == "SubagentStart" && start.agent_id == seen.agent_id);
        let id = seen.agent_id.as_deref().unwrap_or_default();
        let sent_on =
            |entry: &&Recent| matches!(&entry.fact, Fact::Verdict(report) if report.agent_id == id && report.sent_on);
        let mut clues: Vec<Clue> = self.last(same).into_iter().collect();
        clues.extend(self.entries().filter(sent_on).map(|entry| Clue {
            seq: Some(entry.seq),
            what: format!("it was sent on before: {}", describe_fact(&entry.fact, 200)),
        }));
        clues
    }

    fn same_call(&self, answered: &Answered) -> Vec<Clue> {
        let Asked::Call(asked) = answered.asked else { return Vec::new() };
        let same = |fact: &Fact| matches!(fact, Fact::Call(step) if step.call == asked.call);
        self.last(same).into_iter().collect()
    }

    /// The guard judges the call alone; evidence exists only for a session that was moved.
    fn began(&self, answered: &Answered) -> Vec<Clue> {
        if !answered.reason.contains(crate::gate::moved::WHY) {
            return Vec::new();
        }
        let began = |fact: &Fact| match fact {
            Fact::Open(_) => true,
            Fact::Event(seen) => seen.folders.is_some(),
            _ => false,
        };
        self.last(began).into_iter().collect()
    }
}
