//! `usage`: tokens and cost of many sessions in one table.
//!
//! Reads insights, ledgers and transcripts; writes nothing. Invariants: a session counts on the day it began;
//! what has no price is `unknown`, never free; a session that cannot be read is counted as such.

use super::range::{self, FoundSession, since_option};
use super::table::{Cell, Tone};
use super::{Command, Io, option, text};
use aops_core::host::claude::usage::Sum;
use aops_core::insight::document::{Insights, micros, usd};
use aops_core::model::client::Client;
use aops_core::system::env::Env;
use aops_core::system::threads;
use clap::ArgMatches;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub const COMMAND: Command = Command {
    name: "usage",
    about: "Show tokens and cost by day, project, model or client",
    examples: &[
        ("aops-hook usage", "by day, the last 30 days"),
        ("aops-hook usage --by project --since 7d", "the projects of the last week"),
        ("aops-hook usage --by model --json", "the same for a program"),
    ],
    arguments: |row| {
        let by = option("by", "WHAT", "What a row stands for").value_parser(BY.to_vec()).default_value("day");
        row.arg(by).arg(since_option().default_value("30d"))
    },
    run,
};

const BY: [&str; 4] = ["day", "project", "model", "client"];

/// One row of the table.
#[derive(Clone, Debug, Default)]
struct Usage {
    sessions: u64,
    requests: u64,
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    /// In millionths of a dollar, as far as prices are known.
    cost: Option<u64>,
    /// Part of it has no price.
    unpriced: bool,
}

impl Usage {
    fn add(&mut self, sum: &Sum) {
        self.requests += sum.messages;
        self.input = self.input.saturating_add(sum.input);
        self.output = self.output.saturating_add(sum.output);
        self.cache_read = self.cache_read.saturating_add(sum.cache_read);
        self.cache_write = self.cache_write.saturating_add(sum.cache_write);
        match sum.cost_usd {
            Some(cost) => self.cost = Some(self.cost.unwrap_or(0) + micros(cost)),
            None => self.unpriced |= sum.tokens() > 0,
        }
    }

    /// `$1.20`, `unknown`, or `$1.20 and unknown`.
    fn describe_cost(&self) -> String {
        match (self.cost.map(usd), self.unpriced) {
            (Some(cost), false) => format!("${cost:.2}"),
            (Some(cost), true) => format!("${cost:.2} and unknown"),
            (None, true) => "unknown".to_owned(),
            (None, false) => "$0.00".to_owned(),
        }
    }

    fn to_json(&self, name: Option<&str>) -> Value {
        json!({
            "name": name, "sessions": self.sessions, "requests": self.requests, "input": self.input,
            "output": self.output, "cache_read": self.cache_read, "cache_write": self.cache_write,
            "cost_usd": self.cost.map(usd), "unpriced": self.unpriced,
        })
    }

    fn row(&self, name: &str, tone: Tone) -> [Cell; 8] {
        let number = |n: u64| Cell::from(n.to_string());
        [
            Cell::new(name, tone),
            number(self.sessions),
            number(self.requests),
            number(self.input),
            number(self.output),
            number(self.cache_read),
            number(self.cache_write),
            Cell::new(self.describe_cost(), if self.unpriced { Tone::Warn } else { tone }),
        ]
    }
}

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let by = text(given, "by").unwrap_or("day").to_owned();
    let found = range::all(io.env, range::since(given, io)?);
    let read =
        threads::map(&found, |found| Some((client(io.env, found), found.known_insights(io.env).ok()?)));
    let unreadable = found.len() - read.len();
    let (rows, total) = sums(&by, &read);
    if io.json {
        let rows: Vec<Value> = rows.iter().map(|(name, usage)| usage.to_json(Some(name))).collect();
        return io
            .print(json!({"by": by, "rows": rows, "total": total.to_json(None), "unreadable": unreadable}));
    }
    let mut cells: Vec<[Cell; 8]> = rows.iter().map(|(name, usage)| usage.row(name, Tone::Plain)).collect();
    cells.push(total.row("total", Tone::Strong));
    io.table(
        [by.as_str(), "sessions", "requests", "input", "output", "cache read", "cache written", "cost"],
        cells,
    )?;
    if unreadable > 0 {
        writeln!(io.out, "{unreadable} could not be read")?;
    }
    Ok(0)
}

/// The rows by name, days in order and others by usage; and the total.
fn sums(by: &str, read: &[(Client, Insights)]) -> (Vec<(String, Usage)>, Usage) {
    let mut rows = BTreeMap::<String, Usage>::new();
    let mut total = Usage::default();
    for (client, insights) in read {
        total.sessions += 1;
        let name = match by {
            "project" => insights.project.clone(),
            "client" => client.name().to_owned(),
            _ => insights.date.clone(),
        };
        if by != "model" {
            rows.entry(name.clone()).or_default().sessions += 1;
        }
        for (model, sum) in &insights.tokens.by_model {
            let row = rows.entry(if by == "model" { model.clone() } else { name.clone() }).or_default();
            row.add(sum);
            row.sessions += u64::from(by == "model");
            total.add(sum);
        }
    }
    let mut rows: Vec<(String, Usage)> = rows.into_iter().collect();
    if by != "day" {
        let weight =
            |usage: &Usage| (usage.cost, usage.input + usage.output + usage.cache_read + usage.cache_write);
        rows.sort_by_key(|(_, usage)| std::cmp::Reverse(weight(usage)));
    }
    (rows, total)
}

/// The client of a session: those of other clients are in folders of their own.
fn client(env: &Env, found: &FoundSession) -> Client {
    let path = found.shelved.as_ref().map_or(&found.transcript, |shelved| &shelved.path);
    let is = |client: &Client| path.starts_with(env.data.join("sessions").join(client.name()));
    Client::ALL.into_iter().find(is).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aops_core::host::claude::usage::Tokens;

    fn session(day: &str, model: &str, cost: Option<f64>) -> (Client, Insights) {
        let sum = Sum { input: 10, messages: 1, cost_usd: cost, ..Sum::default() };
        let tokens = Tokens { by_model: [(model.to_owned(), sum)].into(), ..Tokens::default() };
        let date = day.to_owned();
        let project = format!("p-{model}");
        (Client::default(), Insights { date, project, tokens, ..Insights::default() })
    }

    #[test]
    fn what_has_no_price_is_unknown_and_not_free() {
        let all = [
            session("2026-01-13", "priced", Some(1.5)),
            session("2026-01-13", "odd", None),
            session("2026-01-14", "odd", None),
        ];
        let shown = |by: &str| {
            let (rows, total) = sums(by, &all);
            let row = |(name, usage): &(String, Usage)| {
                format!("{name} {} {}", usage.sessions, usage.describe_cost())
            };
            (rows.iter().map(row).collect::<Vec<_>>(), total.describe_cost())
        };
        assert_eq!(shown("day").0, ["2026-01-13 2 $1.50 and unknown", "2026-01-14 1 unknown"]);
        assert_eq!(shown("model").0, ["priced 1 $1.50", "odd 2 unknown"]);
        assert_eq!(shown("project").0, ["p-priced 1 $1.50", "p-odd 2 unknown"]);
        assert_eq!(
            shown("client"),
            (vec!["claude 3 $1.50 and unknown".to_owned()], "$1.50 and unknown".to_owned())
        );
    }
}
