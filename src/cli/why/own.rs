//! The user's rules and checks behind a verdict: where each is configured, and what it matched.
//!
//! Reads the entries of the verdict, the session at that time, and today's configuration for the line. Invariant: a rule
//! or check that was changed since is reported as gone, never shown at a wrong line.

use super::evidence::Clue;
use crate::cli::past::{Answered, Asked, Batch};
use crate::config::in_force::{self, InForce};
use crate::gate::rules;
use crate::model::call::ToolCall;
use crate::model::event::Event;
use crate::observe;
use crate::session::fact::{Checked, Fact, Step};
use crate::session::fold::Session;
use crate::system::env::Env;
use crate::text::template::one_line;
use crate::text::time;
use std::path::Path;

pub(super) fn of(env: &Env, answered: &Answered, batch: &Batch, before: &[Batch], session: &Session) -> Vec<Clue> {
    let failed = batch.iter().filter_map(|entry| match &entry.fact {
        Fact::Check(run) if run.failed() => Some((entry.seq, run)),
        _ => None,
    });
    let failed: Vec<(u64, &Checked)> = failed.collect();
    let of_rules = answered.gate == "rules";
    if failed.is_empty() && !of_rules {
        return Vec::new();
    }
    let now = in_force::look(env, Path::new(&session.memory.root)).ok();
    let mut clues: Vec<Clue> = failed.into_iter().map(|(seq, run)| check(seq, run, session, now.as_ref())).collect();
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
    let input = step.input.as_ref().map_or("{}", |input| input.get()).to_owned();
    let event = Event {
        cwd: session.memory.root.clone(),
        permission_mode: step.mode.clone(),
        agent_id: step.agent_id.clone(),
        agent_type: step.agent_type.clone(),
        call: Some(ToolCall { key: step.call.clone(), input, ..ToolCall::default() }),
        ..Event::named(answered.event)
    };
    let context = observe::call::again(env, session, &event, time::parse(answered.ts).unwrap_or(env.now_ms));
    let Some(called) = rules::called(session, &event, &context) else { return Vec::new() };
    // The configuration at that time is itself an entry.
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
                let what = if pattern == what { String::new() } else { format!(" met `{}`", one_line(&what, 120)) };
                format!("{name} `{pattern}`{what}")
            });
            let met: Vec<String> = met.collect();
            let place = place(&format!("rule.{}", rule.id), there);
            let what = format!("rule `{}` ({}), {place}: {}", rule.id, rule.action.word(), met.join(", "));
            Clue { seq, what }
        })
        .collect()
}

fn check(seq: u64, run: &Checked, session: &Session, now: Option<&InForce>) -> Clue {
    let policy = session.policy();
    let then = policy.checks.iter().find(|check| check.id == run.id);
    let there = now.filter(|now| then.is_some_and(|check| now.policy.checks.contains(check)));
    let place = place(&format!("check.{}", run.id), there);
    let (ending, ms, command) = (&run.ending, run.ms, one_line(&run.run, 120));
    let what = format!("check `{}`, {place}: `{command}` ended with {ending} after {ms} ms", run.id);
    Clue { seq: Some(seq), what }
}

fn place(key: &str, now: Option<&InForce>) -> String {
    let place = now.and_then(|now| now.origins.of(key).first());
    place.map_or_else(|| "no longer in the configuration as it was".to_owned(), ToString::to_string)
}
