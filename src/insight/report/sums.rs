//! Sums over all sessions of a report.
//!
//! Reads cards, gives sums; touches nothing. Invariant: money is added in whole millionths, so the order does not matter.

use super::Card;
use crate::claude::usage::Sum;
use crate::insight::document::{Calls, micros, usd};
use crate::insight::tally::Followed;
use crate::model::phase::Phase;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Default, Serialize)]
pub struct Sums {
    pub sessions: u64,
    pub outcomes: BTreeMap<String, u64>,
    /// Success, partial, failure of each day that had a session, and of the days between.
    pub days: Vec<(String, [u64; 3])>,
    /// In the order of the loop.
    pub phases: Vec<(String, u64)>,
    pub refusals: BTreeMap<String, u64>,
    pub followed: BTreeMap<String, Followed>,
    pub drawn: u64,
    pub done: u64,
    pub blocks: u64,
    pub verdicts: BTreeMap<String, u64>,
    pub tools: BTreeMap<String, Calls>,
    pub calls: Calls,
    pub by_model: BTreeMap<String, Sum>,
    pub by_agent: BTreeMap<String, Sum>,
    pub tokens: u64,
    pub cost_usd: Option<f64>,
    pub files: BTreeMap<String, u64>,
}

const OUTCOMES: [&str; 3] = ["success", "partial", "failure"];
/// More columns are no longer seen.
const MOST_DAYS: u64 = 366;

impl Sums {
    pub fn of(cards: &[Card]) -> Self {
        let mut sums = Self { sessions: cards.len() as u64, ..Self::default() };
        let (mut phases, mut days) = (BTreeMap::<&str, u64>::new(), BTreeMap::<String, [u64; 3]>::new());
        let mut millionths: Option<u64> = None;
        for card in cards {
            let insights = &card.insights;
            *sums.outcomes.entry(insights.outcome.clone()).or_default() += 1;
            let outcome = OUTCOMES.iter().position(|name| *name == insights.outcome).unwrap_or(1);
            days.entry(insights.date.clone()).or_default()[outcome] += 1;
            for (name, ms) in &insights.phase_ms {
                *phases.entry(name.as_str()).or_default() += ms;
            }
            sums.count(card);
            if let Some(cost) = insights.cost_usd {
                *millionths.get_or_insert(0) += micros(cost);
            }
        }
        sums.cost_usd = millionths.map(usd);
        sums.tokens = sums.by_model.values().map(Sum::tokens).fold(0, u64::saturating_add);
        let phase = |phase: &Phase| Some((phase.name().to_owned(), *phases.get(phase.name())?));
        sums.phases = Phase::ALL.iter().filter_map(phase).collect();
        sums.days = fill_days(days);
        sums
    }

    fn count(&mut self, card: &Card) {
        let insights = &card.insights;
        for (gate, n) in &insights.gates {
            *self.refusals.entry(gate.clone()).or_default() += n;
        }
        for (gate, next) in &card.followed {
            let sum = self.followed.entry(gate.clone()).or_default();
            sum.agent += next.agent;
            sum.worked += next.worked;
            sum.again += next.again;
            sum.ended += next.ended;
        }
        self.drawn += insights.audits.drawn;
        self.done += insights.audits.done;
        self.blocks += insights.custodiet_blocks;
        let critic = insights.critic_verdict.iter().map(|verdict| format!("critic {verdict}"));
        for said in critic.chain(insights.qa_verdict.iter().map(|verdict| format!("qa-verifier {verdict}"))) {
            *self.verdicts.entry(said).or_default() += 1;
        }
        for (tool, calls) in &card.tools {
            add_calls(self.tools.entry(tool.clone()).or_default(), calls);
        }
        add_calls(&mut self.calls, &insights.tool_calls);
        for (to, from) in
            [(&mut self.by_model, &insights.tokens.by_model), (&mut self.by_agent, &insights.tokens.by_agent)]
        {
            for (name, sum) in from {
                add_sum(to.entry(name.clone()).or_default(), sum);
            }
        }
        for file in &insights.files_changed {
            *self.files.entry(file.clone()).or_default() += 1;
        }
    }

    pub fn outcome(&self, name: &str) -> u64 {
        self.outcomes.get(name).copied().unwrap_or(0)
    }

    /// The tools that were called most; the rest together.
    pub(super) fn top_tools(&self, most: usize) -> Vec<(String, Calls)> {
        let all = |calls: &Calls| calls.completed + calls.failed + calls.denied;
        let mut sorted: Vec<(String, Calls)> = self.tools.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        sorted.sort_by_key(|(_, calls)| std::cmp::Reverse(all(calls)));
        if sorted.len() > most {
            let mut rest = Calls::default();
            sorted.drain(most - 1..).for_each(|(_, calls)| add_calls(&mut rest, &calls));
            sorted.push(("all others".to_owned(), rest));
        }
        sorted
    }
}

fn add_calls(to: &mut Calls, from: &Calls) {
    to.completed += from.completed;
    to.failed += from.failed;
    to.denied += from.denied;
}

fn add_sum(to: &mut Sum, from: &Sum) {
    to.input = to.input.saturating_add(from.input);
    to.output = to.output.saturating_add(from.output);
    to.cache_read = to.cache_read.saturating_add(from.cache_read);
    to.cache_write = to.cache_write.saturating_add(from.cache_write);
    to.messages += from.messages;
    if let Some(cost) = from.cost_usd {
        to.cost_usd = Some(usd(to.cost_usd.map_or(0, micros) + micros(cost)));
    }
}

/// The days between the first and the last one too, as far as they can be shown.
fn fill_days(mut days: BTreeMap<String, [u64; 3]>) -> Vec<(String, [u64; 3])> {
    const DAY: i64 = 86_400_000;
    let at = |day: &String| crate::text::time::parse(&format!("{day}T00:00:00Z"));
    let ends = days.keys().next().and_then(at).zip(days.keys().next_back().and_then(at));
    if let Some((first, last)) = ends {
        for n in 0..=((last - first) / DAY).min(MOST_DAYS.cast_signed() - 1) {
            let stamp = crate::text::time::timestamp(last - n * DAY);
            days.entry(crate::text::json::cut(&stamp, 10).to_owned()).or_default();
        }
    }
    let skipped = days.len().saturating_sub(usize::try_from(MOST_DAYS).unwrap_or(usize::MAX));
    days.into_iter().skip(skipped).collect()
}
