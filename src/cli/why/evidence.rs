//! The evidence for a verdict: in the ledger, gate by gate, and in the user's rules and checks.
//!
//! Reads the entries of the verdict and before it, the session at that time, and today's configuration for
//! the line number.
//! Invariants: missing evidence is shown with the entry since which it is missing; a rule or check that was
//! changed since is reported as gone, never shown at a wrong line.

use crate::cli::past::{Answered, Asked, Batch};
use aops_core::config::in_force::{self, InForce};
use aops_core::gate::{moved, rules};
use aops_core::ledger::open::Recent;
use aops_core::model::agent::{AgentId, ours};
use aops_core::model::call::ToolCall;
use aops_core::model::event::{Event, EventKind};
use aops_core::model::gate_id::GateId;
use aops_core::observe;
use aops_core::session::describe::{describe_call, describe_fact};
use aops_core::session::fact::{Checked, Fact, Step};
use aops_core::session::fold::Session;
use aops_core::system::env::Env;
use aops_core::text::plain::count;
use aops_core::text::template::one_line;
use aops_core::text::time;
use serde::Serialize;
use std::path::Path;

/// One piece of evidence; without an entry number, it is missing.
#[derive(Debug, Serialize)]
pub(super) struct Clue {
    pub(super) seq: Option<u64>,
    pub(super) what: String,
}

pub(super) fn of_ledger(answered: &Answered, before: &[Batch], session: &Session) -> Vec<Clue> {
    let past = Past { before, session };
    match answered.gate.known() {
        Some(GateId::Sandbox) if answered.agent.and_then(ours).is_some() => {
            vec![missing("our own agents review and verify; they do not change what they look at")]
        }
        Some(GateId::Sandbox) => past.plan(),
        Some(GateId::Audit) => past.audit(),
        Some(GateId::Block) => past.last(|fact| matches!(fact, Fact::Block(_))).into_iter().collect(),
        Some(GateId::Owed | GateId::Qa | GateId::Reflect | GateId::Commit | GateId::Push) => past.work(),
        Some(GateId::Report) => past.report(answered),
        Some(GateId::Repeat) => past.same_call(answered),
        Some(GateId::Guard) => past.began(answered),
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

    fn last(&self, like: impl Fn(&Fact) -> bool) -> Option<Clue> {
        let entry = self.entries().rev().find(|entry| like(&entry.fact))?;
        Some(Clue {
            seq: Some(entry.seq),
            what: format!("{}  {}", entry.kind, describe_fact(&entry.fact, 240)),
        })
    }

    /// The last report of one of our agents after this entry.
    fn report_of(&self, agent: AgentId, after: u64) -> Option<Clue> {
        let found = self.last(
            |fact| matches!(fact, Fact::Verdict(report) if report.agent == agent && report.finding.is_some()),
        );
        found.filter(|clue| clue.seq > Some(after))
    }

    /// The prompt, its plan, and the review of the plan.
    fn plan(&self) -> Vec<Clue> {
        let prompt = self.entries().rev().find_map(|entry| match &entry.fact {
            Fact::Event(seen) if seen.is_persons_prompt() => {
                let words = one_line(&seen.words("prompt").unwrap_or_default(), 120);
                Some(Clue { seq: Some(entry.seq), what: format!("the prompt: {words}") })
            }
            _ => None,
        });
        let since = prompt.as_ref().and_then(|clue| clue.seq).unwrap_or(0);
        let mut clues: Vec<Clue> = prompt.into_iter().collect();
        let Some(plan) = self.report_of(AgentId::Hydrator, since) else {
            clues.push(missing("no report of `prompt-hydrator`"));
            return clues;
        };
        let planned = plan.seq.unwrap_or_default();
        clues.push(plan);
        if self.session.state.state.current_workflow.as_deref() == Some("simple-question") {
            return clues;
        }
        let review = self.report_of(AgentId::Critic, planned);
        clues.push(review.unwrap_or_else(|| missing("no verdict of `critic` on that plan")));
        clues
    }

    fn audit(&self) -> Vec<Clue> {
        let drawn = self.last(|fact| matches!(fact, Fact::Call(step) if step.ended().drawn == Some(true)));
        let drawn = drawn.map(|clue| Clue { what: format!("this change was drawn: {}", clue.what), ..clue });
        let writes = self.session.state.audit.writes_since;
        let late = missing(&format!("{}, and no start of `custodiet`", count(writes, "change")));
        drawn.into_iter().chain([late]).collect()
    }

    /// The last change, and the reports after it.
    fn work(&self) -> Vec<Clue> {
        let asked = self.last_write();
        let writes = self.session.state.task.as_ref().map_or(0, |task| task.writes);
        let (last, mut clues) = match asked {
            Some((seq, step)) => {
                let which = if writes > 1 {
                    format!("the last of {writes} changes")
                } else {
                    "the change".to_owned()
                };
                let call = one_line(&describe_call(step, &self.session.memory.place.root), 200);
                (seq, vec![Clue { seq: Some(seq), what: format!("{which}: {call}") }])
            }
            None => (0, Vec::new()),
        };
        let wanted =
            self.session.owes_qa().then_some(AgentId::QaVerifier).into_iter().chain([AgentId::Framework]);
        let report = |agent| {
            self.report_of(agent, last).unwrap_or_else(|| missing(&format!("no report of `{agent}`")))
        };
        clues.extend(wanted.map(report));
        clues
    }

    /// The end of the last call that counts as a change, and its beginning: only that one has its input. A
    /// command that left the tree as it was does not count.
    fn last_write(&self) -> Option<(u64, &'a Step)> {
        let trace = &self.session.state.session_id;
        let count = |session: &Session| session.state.task.as_ref().map(|task| (task.n, task.writes));
        let mut then = Session::default();
        let mut last = None;
        for entry in self.entries() {
            let before = count(&then);
            let _ = then.apply(trace, &entry.ts, &entry.fact);
            if let (Fact::Call(step), Some((n, writes))) = (&entry.fact, count(&then)) {
                let known = before.filter(|(task, _)| *task == n).map_or(0, |(_, writes)| writes);
                last = if writes > known { Some((entry.seq, &step.call)) } else { last };
            }
        }
        let (seq, call) = last?;
        let begun = self.entries().find_map(|entry| match &entry.fact {
            Fact::Call(step) if step.from.is_none() && step.call == *call => Some(step),
            _ => None,
        });
        Some((seq, begun?))
    }

    fn report(&self, answered: &Answered) -> Vec<Clue> {
        let Asked::Event(seen) = answered.asked else { return Vec::new() };
        let same = |fact: &Fact| match fact {
            Fact::Event(start) => start.kind() == EventKind::SubagentStart && start.agent_id == seen.agent_id,
            _ => false,
        };
        let id = seen.agent_id.as_deref().unwrap_or_default();
        let sent_on = |entry: &&Recent| match &entry.fact {
            Fact::Verdict(report) => report.agent_id == id && report.sent_on,
            _ => false,
        };
        let mut clues: Vec<Clue> = self.last(same).into_iter().collect();
        clues.extend(self.entries().filter(sent_on).map(|entry| Clue {
            seq: Some(entry.seq),
            what: format!("it was sent on before: {}", describe_fact(&entry.fact, 200)),
        }));
        clues
    }

    fn same_call(&self, answered: &Answered) -> Vec<Clue> {
        let asked = match answered.asked {
            Asked::Call(step) => Some(&step.call),
            Asked::Again(second) => second.call.as_ref(),
            Asked::Event(_) => None,
        };
        let same = |fact: &Fact| matches!(fact, Fact::Call(step) if Some(&step.call) == asked);
        self.last(same).into_iter().collect()
    }

    /// The guard judges only the call; evidence exists only if the session had moved to another folder.
    fn began(&self, answered: &Answered) -> Vec<Clue> {
        if !answered.reason.contains(moved::WHY) {
            return Vec::new();
        }
        let began = |fact: &Fact| match fact {
            Fact::Open(_) => true,
            Fact::Event(seen) => seen.session_start().is_some(),
            _ => false,
        };
        self.last(began).into_iter().collect()
    }
}

pub(super) fn own(
    env: &Env,
    answered: &Answered,
    batch: &Batch,
    before: &[Batch],
    session: &Session,
) -> Vec<Clue> {
    let failed = batch.iter().filter_map(|entry| match &entry.fact {
        Fact::Check(run) if run.failed() => Some((entry.seq, run)),
        _ => None,
    });
    let failed: Vec<(u64, &Checked)> = failed.collect();
    let of_rules = answered.gate == GateId::Rules;
    if failed.is_empty() && !of_rules {
        return Vec::new();
    }
    let now = in_force::look(env, Path::new(&session.memory.place.root)).ok();
    let mut clues: Vec<Clue> =
        failed.into_iter().map(|(seq, run)| check(seq, run, session, now.as_ref())).collect();
    if let (Asked::Call(step), true) = (answered.asked, of_rules) {
        clues.extend(matching(env, answered, step, before, session, now.as_ref()));
    }
    clues
}

/// Every rule that the call matched, under the policy at that time.
fn matching(
    env: &Env,
    answered: &Answered,
    step: &Step,
    before: &[Batch],
    session: &Session,
    now: Option<&InForce>,
) -> Vec<Clue> {
    let input = step.input().map_or("{}", |input| input.get()).to_owned();
    let event = Event {
        cwd: session.memory.place.root.clone(),
        permission_mode: step.mode.clone(),
        agent_id: step.agent_id.clone(),
        agent_type: step.agent_type.clone(),
        ..Event::named(answered.event)
    };
    let event = event.with_call(ToolCall { key: step.call.clone(), input, ..ToolCall::default() });
    let context = observe::call::again(env, session, &event, time::parse(answered.ts).unwrap_or(env.now_ms));
    let Some(called) = rules::called(session, &event, &context) else { return Vec::new() };
    // The configuration of that time is an entry of the ledger.
    let set = |fact: &Fact| match fact {
        Fact::Open(_) => true,
        Fact::Event(seen) => seen.policy_hash.is_some(),
        _ => false,
    };
    let seq = before.iter().flatten().rev().find(|entry| set(&entry.fact)).map(|entry| entry.seq);
    let policy = session.policy();
    let matching = policy.rules.iter().filter(|rule| rule.matches(&called));
    matching
        .map(|rule| {
            let there = now.filter(|now| now.policy.rules.contains(rule));
            let met = rule.found(&called).into_iter().map(|(name, pattern, what)| {
                let what =
                    if pattern == what { String::new() } else { format!(" met `{}`", one_line(&what, 120)) };
                format!("{name} `{pattern}`{what}")
            });
            let met: Vec<String> = met.collect();
            let place = place(&format!("rule.{}", rule.id), there);
            let what = format!("rule `{}` ({}), {place}: {}", rule.id, rule.action.name(), met.join(", "));
            Clue { seq, what }
        })
        .collect()
}

fn check(seq: u64, run: &Checked, session: &Session, now: Option<&InForce>) -> Clue {
    let policy = session.policy();
    let then = policy.checks.iter().find(|check| check.id == run.id);
    let there = now.filter(|now| then.is_some_and(|check| now.policy.checks.contains(check)));
    let place = place(&format!("check.{}", run.id), there);
    let ending = &run.ending;
    let ms = run.ms;
    let command = one_line(&run.run, 120);
    let what = format!("check `{}`, {place}: `{command}` ended with {ending} after {ms} ms", run.id);
    Clue { seq: Some(seq), what }
}

fn place(key: &str, now: Option<&InForce>) -> String {
    let place = now.and_then(|now| now.origins.of(key).first());
    place.map_or_else(|| "no longer in the configuration as it was".to_owned(), ToString::to_string)
}
