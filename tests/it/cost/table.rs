//! The costs of each task with our hooks, beside those of a plain client: for people, and as JSON.

use super::count::Cost;
use super::{CONFIGURATIONS, Measured, Setup};
use serde_json::{Value, json};
use std::fmt::Write;

pub(super) struct Row {
    pub(super) mode: &'static str,
    pub(super) task: &'static str,
    pub(super) agent: &'static str,
    pub(super) ours: Cost,
    pub(super) plain: Cost,
    /// Bytes that the client adds to the first prompt of a session, to list our agents and commands.
    listed: usize,
}

impl Row {
    /// Bytes in the main conversation that are there because of our hooks.
    pub(super) fn added(&self) -> usize {
        self.ours.context.strict_sub(self.plain.context + self.listed)
    }
}

/// One row for each configuration, task and temperament.
pub(super) fn list_rows(measured: &[Measured]) -> Vec<Row> {
    let find = |setup: Setup, task: &str| {
        measured.iter().find(|one| one.setup == setup && one.task == task).unwrap()
    };
    let listed = measured.iter().find(|one| one.setup == Setup::Listed).unwrap();
    let listed = listed.cost.context - find(Setup::Plain, listed.task).cost.context;
    let mut rows = Vec::new();
    for &config in CONFIGURATIONS {
        for plain in measured.iter().filter(|one| one.setup == Setup::Plain) {
            rows.extend(config.2.iter().map(|&temperament| Row {
                mode: config.0,
                task: plain.task,
                agent: temperament.name(),
                ours: find(Setup::Hooked(config, temperament), plain.task).cost,
                plain: plain.cost,
                listed: if plain.is_first_of_session { listed } else { 0 },
            }));
        }
    }
    rows
}

/// A heading, and the cell below it.
type Column = (&'static str, fn(&Row) -> String);

/// The same on every machine.
pub(super) const COUNTS: [Column; 10] = [
    ("mode", |row| row.mode.to_owned()),
    ("task", |row| row.task.to_owned()),
    ("agent", |row| row.agent.to_owned()),
    ("requests", |row| row.ours.requests.to_string()),
    ("plain", |row| row.plain.requests.to_string()),
    ("more", |row| (row.ours.requests - row.plain.requests).to_string()),
    ("subagents", |row| row.ours.subagents.to_string()),
    ("refusals", |row| row.ours.refusals.to_string()),
    ("KB added", |row| in_kb(row.added())),
    ("KB listed", |row| in_kb(row.listed)),
];

/// The client tells the model a little about the machine.
pub(super) const SENT: [Column; 3] = [
    ("KB sent", |row| in_kb(row.ours.sent)),
    ("plain", |row| in_kb(row.plain.sent)),
    ("more", |row| in_kb(row.ours.sent - row.plain.sent)),
];

/// Words to the left, figures to the right.
pub(super) fn to_text(rows: &[Row], columns: &[Column]) -> String {
    let mut lines = vec![Vec::new(); rows.len() + 1];
    for (heading, cell) in columns {
        let mut cells = vec![(*heading).to_owned()];
        cells.extend(rows.iter().map(cell));
        let is_figure = cells.last().unwrap().starts_with(|c: char| c.is_ascii_digit());
        let width = cells.iter().map(String::len).max().unwrap();
        for (line, cell) in lines.iter_mut().zip(cells) {
            line.push(if is_figure { format!("{cell:>width$}") } else { format!("{cell:width$}") });
        }
    }
    lines.iter().map(|cells| cells.join("  ").trim_end().to_owned() + "\n").collect()
}

/// Rounded up to one decimal.
pub(super) fn in_kb(bytes: usize) -> String {
    let tenths = bytes.div_ceil(100);
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// For the documentation: a line per task, a column per mode.
pub(super) fn to_markdown(rows: &[Row]) -> String {
    let modes = ["observe", "guard", "loop", "strict"];
    let cell = |mode: &str, task: &str| {
        let of = rows.iter().filter(|row| row.mode == mode && row.task == task);
        let figures = of.map(|row| {
            let more = row.ours.requests - row.plain.requests;
            format!("{more} / {} / {} / {}", row.ours.subagents, row.ours.refusals, in_kb(row.added()))
        });
        let mut figures: Vec<String> = figures.collect();
        figures.dedup();
        figures.join("; ")
    };
    let mut tasks: Vec<(&str, usize)> = rows.iter().map(|row| (row.task, row.plain.requests)).collect();
    tasks.sort_by_key(|(task, _)| SHOWN.iter().position(|(name, _)| name == task));
    tasks.dedup();
    let mut text =
        format!("| task | requests without | `{}` |\n|---|--:|---|---|---|---|\n", modes.join("` | `"));
    for (task, plain) in tasks {
        let words = SHOWN.iter().find(|(name, _)| *name == task).unwrap().1;
        let cells: Vec<String> = modes.iter().map(|mode| cell(mode, task)).collect();
        writeln!(text, "| {words} | {plain} | {} |", cells.join(" | ")).unwrap();
    }
    text
}

/// The tasks as a reader knows them.
const SHOWN: [(&str, &str); 5] = [
    ("typo", "fix a typo"),
    ("follow-up", "a follow-up (\"Shorter!\")"),
    ("question", "a question"),
    ("tests", "\"Do the tests pass?\""),
    ("feature", "a feature in four files, with a test"),
];

pub(super) fn to_json(rows: &[Row]) -> Value {
    let describe = |cost: &Cost| {
        json!({"requests": cost.requests, "bytes_sent": cost.sent, "subagents": cost.subagents,
            "refusals": cost.refusals, "bytes_of_main_context": cost.context})
    };
    let row = |row: &Row| {
        json!({"mode": row.mode, "task": row.task, "agent": row.agent, "ours": describe(&row.ours),
            "plain": describe(&row.plain), "bytes_added": row.added(), "bytes_listed": row.listed})
    };
    rows.iter().map(row).collect()
}
