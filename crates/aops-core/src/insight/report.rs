//! The report page over many sessions: outcomes, time, cost, refusals.
//!
//! Pure. Invariants: the page is self-contained (no external script, font or picture); every text from
//! outside is escaped; its length is bounded by `LARGEST`, whatever the sessions contain; money is added in
//! whole millionths, so the order does not matter.

mod chart;

use crate::host::claude::usage::Sum;
use crate::insight::document::{Calls, Insights, QuestionCounts, RuleCounts, Worth, micros, usd};
use crate::insight::tally::{Followed, Story};
use crate::model::outcome::SessionOutcome;
use crate::model::phase::Phase;
use crate::text::plain::count;
use crate::text::time;
pub use chart::escape;

use chart::{Bar, columns, figure, legend, plain_bar, write_card};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

const STYLE: &str = include_str!("report/page.css");
const SCRIPT: &str = include_str!("report/page.js");

/// How many bytes all sessions together may take.
const LARGEST: usize = 2_500_000;

/// One session, with details that only its ledger knows.
#[derive(Debug, Default)]
pub struct Card {
    pub insights: Insights,
    pub story: Story,
    /// What is wrong with its ledger; empty if it is intact, `None` if there is none.
    pub damage: Option<String>,
}

#[derive(Debug)]
pub struct Heading {
    pub made_ms: i64,
    pub since_ms: Option<i64>,
    pub prices: String,
    pub unreadable: usize,
    /// How many seconds east of UTC the reader is, at a given time.
    pub east: fn(i64) -> i32,
}

impl Heading {
    fn stamp(&self, ms: i64) -> String {
        time::local_stamp(ms, (self.east)(ms))
    }
}

pub fn page(cards: &[Card], heading: &Heading) -> String {
    let sums = Sums::of(cards, heading.made_ms);
    let mut out = String::with_capacity(64 << 10);
    out.push_str("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.push_str(
        "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n",
    );
    let _ = write!(
        out,
        "<title>aops report: {}</title>\n<style>{STYLE}</style></head><body>\n",
        count(cards.len() as u64, "session")
    );
    head(&mut out, &sums, heading);
    out.push_str("<main id=\"main\">\n<section class=\"charts\" aria-label=\"All sessions\">\n");
    columns(&mut out, "outcomes", "Outcome over time", &sums.days);
    phases(&mut out, &sums);
    refusals(&mut out, &sums);
    questions(&mut out, &sums);
    rehearsed(&mut out, &sums);
    audits(&mut out, &sums);
    tools(&mut out, &sums);
    tokens(&mut out, &sums);
    files(&mut out, &sums);
    out.push_str("</section>\n");
    sessions(&mut out, cards, heading);
    let _ = write!(
        out,
        "</main>\n<footer>Prices of {}. Times are local to where this page was made ({}).</footer>\n<script>{SCRIPT}</script>\n</body></html>\n",
        escape(&heading.prices),
        time::zone((heading.east)(heading.made_ms))
    );
    out
}

fn head(out: &mut String, sums: &Sums, heading: &Heading) {
    out.push_str("<a class=\"skip\" href=\"#sessions\">Skip to the sessions</a>\n<header><h1>Session report</h1>\n<p class=\"quiet\">");
    let since = heading.since_ms.map(|since| format!(" since {}", heading.stamp(since))).unwrap_or_default();
    let _ =
        write!(out, "{}{since} · made {}", count(sums.sessions, "session"), heading.stamp(heading.made_ms));
    if sums.damaged > 0 {
        let _ = write!(out, " · <b class=\"dot failure\">{}</b>", count(sums.damaged, "damaged ledger"));
    }
    if heading.unreadable > 0 {
        let _ = write!(out, " · {} could not be read", heading.unreadable);
    }
    out.push_str("</p>\n");
    if let Some(worth) = sums.week.describe() {
        let _ = writeln!(out, "<p id=\"week\">this week: {worth}</p>");
    }
    out.push_str("<dl class=\"tiles\">");
    let cost = sums.cost_usd.map_or("–".to_owned(), |cost| format!("${cost:.2}"));
    // Without a loop there is nothing to verify.
    let judged = sums.sessions - sums.outcome(SessionOutcome::Completed);
    let share =
        (sums.outcome(SessionOutcome::Success) * 100).checked_div(judged).map(|share| format!("{share}%"));
    let tiles = share.map(|share| ("verified and closed", share)).into_iter().chain([
        ("halted", sums.outcome(SessionOutcome::Failure).to_string()),
        ("refusals", sums.refusals.values().sum::<u64>().to_string()),
        ("files changed", sums.files.len().to_string()),
        ("tokens", short(sums.tokens)),
        ("cost", cost),
    ]);
    for (name, value) in tiles {
        let _ = write!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    out.push_str("</dl></header>\n");
}

fn phases(out: &mut String, sums: &Sums) {
    let bar = |(name, ms): &(String, u64)| (name.clone(), vec![("plain", *ms)], span(*ms));
    let rows: Vec<Bar> = sums.phases.iter().map(bar).collect();
    figure(out, "phases", "Time in each phase", &[], &rows, "no session has spent any time yet");
}

fn refusals(out: &mut String, sums: &Sums) {
    let colours = [
        ("agent", "an agent of the loop"),
        ("worked", "other work"),
        ("again", "the same again"),
        ("ended", "the end"),
    ];
    let bar = |(gate, n): (&String, &u64)| {
        let Followed { agent, worked, again, ended } = sums.followed.get(gate).cloned().unwrap_or_default();
        let ended = ended + n.saturating_sub(agent + worked + again + ended);
        let parts = vec![("agent", agent), ("worked", worked), ("again", again), ("ended", ended)];
        (gate.clone(), parts, n.to_string())
    };
    let rows: Vec<Bar> = sums.refusals.iter().map(bar).collect();
    figure(out, "refusals", "Refusals by gate, and what followed", &colours, &rows, "nothing was refused");
}

/// What needed a person's approval, by rule. Left out if nothing did.
fn questions(out: &mut String, sums: &Sums) {
    let asked = sums.rules.iter().filter(|(_, counts)| counts.asked > 0);
    let bar = |(rule, counts): (&String, &RuleCounts)| {
        let no = counts.asked.saturating_sub(counts.allowed);
        (rule.clone(), vec![("plain", counts.allowed), ("failure", no)], counts.asked.to_string())
    };
    let rows: Vec<Bar> = asked.map(bar).collect();
    if !rows.is_empty() {
        let colours = [("plain", "approved"), ("failure", "rejected")];
        figure(out, "questions", "What needed approval, by rule, and the answers", &colours, &rows, "");
    }
}

/// Left out if no session was observed.
fn rehearsed(out: &mut String, sums: &Sums) {
    if sums.rehearsed.is_empty() {
        return;
    }
    let rows: Vec<Bar> = sums.rehearsed.iter().map(|(gate, n)| plain_bar(gate, *n)).collect();
    figure(out, "rehearsed", "In mode observe: what would have been refused, by gate", &[], &rows, "");
}

fn audits(out: &mut String, sums: &Sums) {
    let mut rows = vec![plain_bar("audits drawn", sums.drawn), plain_bar("audits done", sums.done)];
    let by = |(by, n): (&String, &u64)| (format!("blocks by {by}"), vec![("failure", *n)], n.to_string());
    rows.extend(sums.blocks_by.iter().map(by));
    rows.extend(sums.verdicts.iter().map(|(name, n)| plain_bar(name, *n)));
    figure(out, "audits", "Audits, blocks and verdicts", &[], &rows, "");
}

fn tools(out: &mut String, sums: &Sums) {
    let colours = [("plain", "completed"), ("failure", "failed"), ("denied", "denied")];
    let bar = |(name, Calls { completed, failed, denied, .. }): (String, Calls)| {
        let bad = if failed > 0 { format!(" ({failed} failed)") } else { String::new() };
        let parts = vec![("plain", completed), ("failure", failed), ("denied", denied)];
        (name, parts, format!("{}{bad}", completed + failed + denied))
    };
    let rows: Vec<Bar> = sums.top_tools(12).into_iter().map(bar).collect();
    figure(out, "tools", "Tool calls", &colours, &rows, "no tool was called");
}

fn tokens(out: &mut String, sums: &Sums) {
    let colours = [
        ("input", "input"),
        ("output", "output"),
        ("cache_read", "cache read"),
        ("cache_write", "cache written"),
    ];
    let bar = |(name, sum): (&String, &Sum)| {
        let cost = sum.cost_usd.map_or("no price".to_owned(), |cost| format!("${cost:.2}"));
        let values = [sum.input, sum.output, sum.cache_read, sum.cache_write];
        let parts = colours.iter().zip(values).map(|((class, _), value)| (*class, value)).collect();
        (name.clone(), parts, format!("{} · {cost}", short(sum.tokens())))
    };
    for (id, title, by) in [
        ("models", "Tokens and cost by model", &sums.by_model),
        ("agents", "Tokens and cost by agent", &sums.by_agent),
    ] {
        let mut sorted: Vec<_> = by.iter().collect();
        sorted.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.tokens()));
        let rows: Vec<Bar> = sorted.into_iter().take(12).map(bar).collect();
        figure(out, id, title, &colours, &rows, "no transcript was found");
    }
}

fn files(out: &mut String, sums: &Sums) {
    let mut sorted: Vec<_> = sums.files.iter().collect();
    sorted.sort_by_key(|(name, n)| (std::cmp::Reverse(**n), (*name).clone()));
    let rows: Vec<Bar> = sorted.into_iter().take(12).map(|(name, n)| plain_bar(name, *n)).collect();
    figure(out, "files", "Files changed in most sessions", &[], &rows, "no file was changed");
}

/// What the colours of a session's strip and timeline mean.
const LEGEND: [(&str, &str); 11] = [
    ("hydrate", "hydrate, review"),
    ("execute", "execute"),
    ("verify", "verify, reflect, close"),
    ("intervene", "intervene, halted"),
    ("done", "done"),
    ("idle", "idle"),
    ("key plain", "a prompt"),
    ("key success", "a verdict"),
    ("key partial", "a refusal, an audit drawn"),
    ("key failure", "a failure, a block"),
    ("key denied", "the end of a turn"),
];

fn sessions(out: &mut String, cards: &[Card], heading: &Heading) {
    out.push_str("<section id=\"sessions\"><h2>Sessions</h2>\n");
    out.push_str("<p class=\"find\"><label>Find <input id=\"find\" type=\"search\" placeholder=\"words, a project, an outcome\"></label> <label>Order <select id=\"order\"><option value=\"new\">newest first</option><option value=\"project\">by project</option><option value=\"cost\">by cost</option><option value=\"refusals\">by refusals</option></select></label> <span id=\"found\" role=\"status\"></span></p>\n");
    legend(out, &LEGEND);
    out.push_str("<div id=\"list\">\n");
    if cards.is_empty() {
        out.push_str("<p class=\"quiet\">There is none yet.</p>\n");
    }
    let room = LARGEST / cards.len().max(1);
    for card in cards {
        write_card(out, card, room.min(40_000), heading.east);
    }
    out.push_str("</div>\n</section>\n");
}

/// `1.2 M`
fn short(n: u64) -> String {
    match n {
        0..10_000 => n.to_string(),
        10_000..1_000_000 => format!("{} k", n / 1000),
        1_000_000..1_000_000_000 => format!("{}.{} M", n / 1_000_000, n % 1_000_000 / 100_000),
        _ => format!("{}.{} G", n / 1_000_000_000, n % 1_000_000_000 / 100_000_000),
    }
}

/// `2 h 5 min`
fn span(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0 => format!("{ms} ms"),
        1..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

#[derive(Debug, Default, Serialize)]
pub struct Sums {
    pub sessions: u64,
    pub outcomes: BTreeMap<String, u64>,
    /// Success, partial, failure, completed: for each day with a session, and the days in between.
    pub days: Vec<(String, [u64; 4])>,
    /// In the order of the loop.
    pub phases: Vec<(String, u64)>,
    pub refusals: BTreeMap<String, u64>,
    pub questions: QuestionCounts,
    pub rules: BTreeMap<String, RuleCounts>,
    /// What was done for the person in the sessions of the last seven days.
    pub week: Worth,
    /// What the rehearsed mode would have refused, by gate.
    pub rehearsed: BTreeMap<String, u64>,
    pub followed: BTreeMap<String, Followed>,
    pub drawn: u64,
    pub done: u64,
    /// Set by anybody.
    pub blocks: u64,
    pub blocks_by: BTreeMap<String, u64>,
    /// Number of ledgers that are not intact.
    pub damaged: u64,
    pub verdicts: BTreeMap<String, u64>,
    pub tools: BTreeMap<String, Calls>,
    pub calls: Calls,
    pub by_model: BTreeMap<String, Sum>,
    pub by_agent: BTreeMap<String, Sum>,
    pub tokens: u64,
    pub cost_usd: Option<f64>,
    pub files: BTreeMap<String, u64>,
}

/// More columns would be invisible.
const MOST_DAYS: u64 = 366;

impl Sums {
    pub fn of(cards: &[Card], now_ms: i64) -> Self {
        let mut sums = Self { sessions: cards.len() as u64, ..Self::default() };
        let mut phases = BTreeMap::<&str, u64>::new();
        let mut days = BTreeMap::<String, [u64; 4]>::new();
        let mut millionths: Option<u64> = None;
        for card in cards {
            let insights = &card.insights;
            *sums.outcomes.entry(insights.outcome.to_string()).or_default() += 1;
            let outcome = insights.outcome.known().unwrap_or(SessionOutcome::Partial);
            days.entry(insights.date.clone()).or_default()[outcome as usize] += 1;
            for (name, ms) in &insights.phase_ms {
                *phases.entry(name.as_str()).or_default() += ms;
            }
            sums.count(card);
            if insights.is_recent(now_ms) {
                sums.week.add(insights.worth());
            }
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
        add_counts(&mut self.refusals, &insights.gates);
        add_counts(&mut self.rehearsed, &insights.rehearsed);
        self.questions.add(&insights.questions);
        for (rule, counts) in &insights.rules {
            self.rules.entry(rule.clone()).or_default().add(counts);
        }
        add_counts(&mut self.blocks_by, &card.story.blocks);
        self.blocks += card.story.blocks.values().sum::<u64>();
        for (gate, next) in &card.story.followed {
            let sum = self.followed.entry(gate.clone()).or_default();
            sum.agent += next.agent;
            sum.worked += next.worked;
            sum.again += next.again;
            sum.ended += next.ended;
        }
        self.drawn += insights.audits.drawn;
        self.done += insights.audits.done;
        self.damaged += u64::from(card.damage.as_ref().is_some_and(|damage| !damage.is_empty()));
        let all = &card.story.verdicts;
        add_counts(&mut self.verdicts, &if all.is_empty() { insights.last_verdicts() } else { all.clone() });
        if insights.custodiet_blocks > 0 {
            *self.verdicts.entry("custodiet BLOCK".to_owned()).or_default() += insights.custodiet_blocks;
        }
        for (tool, calls) in &card.story.tools {
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

    fn outcome(&self, outcome: SessionOutcome) -> u64 {
        self.outcomes.get(outcome.name()).copied().unwrap_or(0)
    }

    /// The tools that were called most, and the sum of the others.
    fn top_tools(&self, most: usize) -> Vec<(String, Calls)> {
        let all = |calls: &Calls| calls.completed + calls.failed + calls.denied;
        let mut sorted: Vec<(String, Calls)> =
            self.tools.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        sorted.sort_by_key(|(_, calls)| std::cmp::Reverse(all(calls)));
        if sorted.len() > most {
            let mut rest = Calls::default();
            sorted.drain(most - 1..).for_each(|(_, calls)| add_calls(&mut rest, &calls));
            sorted.push(("all others".to_owned(), rest));
        }
        sorted
    }
}

fn add_counts(to: &mut BTreeMap<String, u64>, from: &BTreeMap<String, u64>) {
    for (name, n) in from {
        *to.entry(name.clone()).or_default() += n;
    }
}

fn add_calls(to: &mut Calls, from: &Calls) {
    to.completed += from.completed;
    to.failed += from.failed;
    to.denied += from.denied;
    to.unsaved += from.unsaved;
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

/// Adds the days between the first and the last one, as far as they can be shown.
fn fill_days(mut days: BTreeMap<String, [u64; 4]>) -> Vec<(String, [u64; 4])> {
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
