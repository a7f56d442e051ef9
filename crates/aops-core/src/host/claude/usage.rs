//! Tokens: what one message used, what that costs, and sums by model, agent and phase.
//!
//! Prices come from a dated list, which is shipped as `prices.json` and overridden by the user's. Stored
//! types: fields in sorted order. Invariants: money is counted in whole picodollars per message, so sums do
//! not depend on their order; a model that is not on the list adds tokens but no cost; its name is looked up
//! without date, region and provider.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    /// All tokens written to the cache; `cache_write_1h` of them for an hour.
    pub cache_write: u64,
    pub cache_write_1h: u64,
    pub web_searches: u64,
}

impl Usage {
    /// For clients whose input count includes the tokens read from or written to the cache.
    pub fn of_whole_input(input: u64, output: u64, [cache_read, cache_write]: [u64; 2]) -> Self {
        let input = input.saturating_sub(cache_read).saturating_sub(cache_write);
        Self { input, output, cache_read, cache_write, ..Self::default() }
    }

    /// All tokens that the model was given.
    pub fn prompt(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    pub cache_read: u64,
    pub cache_write: u64,
    /// Left out if no message had a price.
    pub cost_usd: Option<f64>,
    pub input: u64,
    pub messages: u64,
    pub output: u64,
    /// The exact sum.
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
        [self.input, self.output, self.cache_read, self.cache_write]
            .iter()
            .fold(0, |a, b| a.saturating_add(*b))
    }
}

/// Rounded to a millionth of a dollar.
#[expect(
    clippy::cast_precision_loss,
    reason = "a sum of money that a double cannot hold does not occur here"
)]
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
        for (sums, name) in
            [(&mut self.by_model, model), (&mut self.by_agent, agent), (&mut self.by_phase, phase)]
        {
            match sums.get_mut(name) {
                Some(sum) => sum.add(usage, picodollars),
                None => sums.entry(name.to_owned()).or_default().add(usage, picodollars),
            }
        }
    }

    /// The cost of all models together; `None` if no model has a price.
    pub fn cost(&self) -> Option<f64> {
        self.by_model.values().filter_map(|sum| sum.picodollars).reduce(u128::saturating_add).map(dollars)
    }
}

pub const SHIPPED: &str = include_str!("../../../prices.json");

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    #[serde(default)]
    pub date: String,
    #[serde(default)]
    pub source: String,
    #[serde(default)]
    pub unit: String,
    #[serde(default)]
    pub geo: BTreeMap<String, f64>,
    pub models: BTreeMap<String, Price>,
}

/// Dollars per million tokens.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write_5m: f64,
    pub cache_write_1h: f64,
    #[serde(default)]
    pub web_search: f64,
    /// The price for prompts above a certain length.
    pub long_prompt: Option<Long>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Long {
    pub above: u64,
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write_5m: f64,
    pub cache_write_1h: f64,
}

impl Price {
    fn rates(&self) -> [f64; 5] {
        [self.input, self.output, self.cache_read, self.cache_write_5m, self.cache_write_1h]
    }
}

impl Prices {
    /// The shipped list; models of the user's own list take precedence.
    pub fn read(own: Option<&str>) -> Result<Self, String> {
        let mut prices: Prices = serde_json::from_str(SHIPPED).map_err(|e| e.to_string())?;
        if let Some(own) = own {
            let own: Prices = serde_json::from_str(own).map_err(|e| e.to_string())?;
            let bad = |n: &f64| !(0.0..=1e6).contains(n);
            if own.models.values().any(|price| price.rates().iter().chain([&price.web_search]).any(bad)) {
                return Err("a price is below 0 or above a million".to_owned());
            }
            prices.models.extend(own.models);
            prices.geo.extend(own.geo);
            if !own.date.is_empty() {
                prices.date = own.date;
            }
        }
        Ok(prices)
    }

    pub fn of(&self, model: &str) -> Option<&Price> {
        self.models.get(model).or_else(|| self.models.get(plain(model)))
    }

    /// Picodollars of one message. `fast` is the client's quicker mode, which has its own prices.
    pub fn cost(&self, model: &str, usage: &Usage, region: &str, fast: bool) -> Option<u128> {
        let price = if fast { self.models.get(&format!("{}@fast", plain(model)))? } else { self.of(model)? };
        let long = price.long_prompt.as_ref().filter(|long| usage.prompt() > long.above);
        let [input, output, read, write, hour] = match long {
            Some(long) => {
                [long.input, long.output, long.cache_read, long.cache_write_5m, long.cache_write_1h]
            }
            None => price.rates(),
        };
        let hours = usage.cache_write_1h.min(usage.cache_write);
        let tokens = [
            (usage.input, input),
            (usage.output, output),
            (usage.cache_read, read),
            (usage.cache_write - hours, write),
            (hours, hour),
        ];
        let sum: u128 = tokens.iter().map(|(n, price)| u128::from(*n) * per_token(*price)).sum();
        let factor = self.geo.get(region).copied().unwrap_or(1.0);
        let sum = sum * per_token(factor) / 1_000_000;
        Some(sum + u128::from(usage.web_searches) * per_token(price.web_search) * 1_000_000)
    }
}

/// A dollar per million tokens is a million picodollars per token.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "prices are small and not negative"
)]
fn per_token(price: f64) -> u128 {
    (price * 1e6).round() as u128
}

/// `us.anthropic.claude-opus-4-5-20251101-v1:0` becomes `claude-opus-4-5`.
fn plain(model: &str) -> &str {
    let model = model.find("claude-").map_or(model, |at| &model[at..]);
    let end = model.find(['@', '[', ':']).unwrap_or(model.len());
    let model = &model[..end];
    let model = model.strip_suffix("-v1").or_else(|| model.strip_suffix("-v2")).unwrap_or(model);
    let dated = |rest: &str| rest.len() == 8 && rest.bytes().all(|b| b.is_ascii_digit());
    match model.rsplit_once('-') {
        Some((name, date)) if dated(date) || date == "latest" => name,
        _ => model,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_client_reckons() {
        let prices = Prices::read(None).unwrap();
        // The client's own sum for the recorded session: `cost-state` in
        // `tests/fixtures/transcripts/main.jsonl`.
        let usage = Usage { input: 950, output: 171, cache_read: 1000, cache_write: 50, ..Usage::default() };
        assert_eq!(prices.cost("claude-opus-5-5", &usage, "", false), Some(7_670_000_000));
        assert_eq!(prices.cost("claude-opus-5-5", &usage, "us", false), Some(8_437_000_000));
        assert_eq!(prices.cost("claude-opus-5-5", &usage, "", true), None, "no price is guessed");
        assert_eq!(prices.cost("gpt-9", &usage, "", false), None);
    }

    #[test]
    fn long_prompts_hours_and_searches() {
        let prices = Prices::read(None).unwrap();
        let usage = Usage { input: 100_001, cache_write: 0, web_searches: 2, ..Usage::default() };
        assert_eq!(prices.cost("claude-haiku-5-5", &usage, "", false), Some(70_000_500_000));
        let usage = Usage { cache_write: 3_000_000, cache_write_1h: 1_000_000, ..Usage::default() };
        assert_eq!(prices.cost("claude-sonnet-4-5", &usage, "", false), Some(13_500_000_000_000));
    }

    #[test]
    fn names_without_date_and_region() {
        for name in [
            "claude-opus-4-5",
            "claude-opus-4-5-20251101",
            "us.anthropic.claude-opus-4-5-20251101-v1:0",
            "claude-opus-4-5@20251101",
            "claude-opus-4-5[1m]",
        ] {
            assert!(
                plain(name).starts_with("claude-opus-4-5") && Prices::read(None).unwrap().of(name).is_some(),
                "{name}: {}",
                plain(name)
            );
        }
    }

    #[test]
    fn the_users_list_goes_first() {
        let own = r#"{"models": {"mine": {"input": 1, "output": 2, "cache_read": 0, "cache_write_5m": 0, "cache_write_1h": 0}}}"#;
        let prices = Prices::read(Some(own)).unwrap();
        assert!(prices.of("mine").is_some() && prices.of("claude-opus-5").is_some());
        assert!(Prices::read(Some("{\"models\": {\"x\": {}}}")).unwrap_err().contains("input"));
        assert!(Prices::read(Some(&own.replace(": 1,", ": -1,"))).is_err());
    }
}
