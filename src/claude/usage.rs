//! Tokens: what one message used, and sums by model, agent and phase.
//!
//! Reads nothing, writes nothing. Stored types: fields in sorted order. Invariant: money is counted in whole picodollars
//! per message, so sums do not depend on their order; a model without a price adds tokens and no money.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one request to a model used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    /// All that was written to the cache, of which `cache_write_1h` for an hour.
    pub cache_write: u64,
    pub cache_write_1h: u64,
    pub web_searches: u64,
}

impl Usage {
    /// Everything the model was given.
    pub fn prompt(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }
}

/// A sum over messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    pub cache_read: u64,
    pub cache_write: u64,
    /// Left out where no message had a price.
    pub cost_usd: Option<f64>,
    pub input: u64,
    pub messages: u64,
    pub output: u64,
    /// Exact while it is summed.
    #[serde(skip)]
    pub picodollars: Option<u128>,
}

impl Sum {
    pub fn add(&mut self, usage: &Usage, picodollars: Option<u128>) {
        self.messages += 1;
        self.input = self.input.saturating_add(usage.input);
        self.output = self.output.saturating_add(usage.output);
        self.cache_read = self.cache_read.saturating_add(usage.cache_read);
        self.cache_write = self.cache_write.saturating_add(usage.cache_write);
        if let Some(cost) = picodollars {
            let sum = self.picodollars.unwrap_or(0).saturating_add(cost);
            self.picodollars = Some(sum);
            self.cost_usd = Some(dollars(sum));
        }
    }

    pub fn tokens(&self) -> u64 {
        [self.input, self.output, self.cache_read, self.cache_write].iter().fold(0, |a, b| a.saturating_add(*b))
    }
}

/// To a millionth of a dollar.
#[expect(clippy::cast_precision_loss, reason = "a sum of money that a double cannot hold does not occur here")]
pub fn dollars(picodollars: u128) -> f64 {
    ((picodollars + 500_000) / 1_000_000) as f64 / 1e6
}

/// Sums by model, agent and phase: each message is in one of each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tokens {
    pub by_agent: BTreeMap<String, Sum>,
    pub by_model: BTreeMap<String, Sum>,
    pub by_phase: BTreeMap<String, Sum>,
}

impl Tokens {
    pub fn add(&mut self, key: [&str; 3], usage: &Usage, picodollars: Option<u128>) {
        let [model, agent, phase] = key;
        for (sums, name) in [(&mut self.by_model, model), (&mut self.by_agent, agent), (&mut self.by_phase, phase)] {
            match sums.get_mut(name) {
                Some(sum) => sum.add(usage, picodollars),
                None => sums.entry(name.to_owned()).or_default().add(usage, picodollars),
            }
        }
    }

    /// What all models cost together; nothing where none has a price.
    pub fn cost(&self) -> Option<f64> {
        self.by_model.values().filter_map(|sum| sum.picodollars).reduce(u128::saturating_add).map(dollars)
    }
}
