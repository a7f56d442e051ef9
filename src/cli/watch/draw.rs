//! Draws the state: only cells and styles.
//!
//! Pure, except for the time zone: the same state gives the same frame. Invariants: every word fits or ends
//! in `…`; without colours the chosen line is marked by `>` and by being reversed; below 80 × 24 it says so,
//! and how to continue.

mod dialog;
mod columns;

use super::model::{Model, View};
use super::row::Row;
use crate::cli::log::wrap;
use crate::cli::table::{Tone, clean, cut};
use aops_core::system::env::east_of_utc;
use aops_core::text::plain::count;
use aops_core::text::time;
use columns::Column;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

/// Lines and columns.
const LEAST: (u16, u16) = (24, 80);

const KEYS_OF_SESSIONS: &str =
    "enter open  n hosts  c checkpoints  b block  u clear  v waive  a x run  ? keys";
const KEYS_OF_TIMELINE: &str =
    "enter whole  r refused  t tool  / text  b block  u clear  v waive  esc  ? keys";

/// An area to write lines into, from top to bottom.
struct Page<'a, 'b> {
    frame: &'a mut Frame<'b>,
    area: Rect,
    color: bool,
    next: u16,
}

impl Page<'_, '_> {
    fn style(&self, tone: Tone) -> Style {
        let style = Style::default();
        let colour = |colour| if self.color { style.fg(colour) } else { style };
        match tone {
            Tone::Plain => style,
            Tone::Strong => style.add_modifier(Modifier::BOLD),
            Tone::Quiet => colour(Color::DarkGray),
            Tone::Good => colour(Color::Green),
            Tone::Warn => colour(Color::Yellow),
            Tone::Bad => colour(Color::Red).add_modifier(Modifier::BOLD),
        }
    }

    fn width(&self) -> usize {
        usize::from(self.area.width)
    }

    fn left(&self) -> usize {
        usize::from(self.area.bottom().saturating_sub(self.next))
    }

    /// Writes a string at this column of the next line.
    fn put(&mut self, column: usize, text: &str, style: Style) {
        let room = self.width().saturating_sub(column);
        if self.left() > 0 && room > 0 {
            let x = self.area.x + u16::try_from(column).unwrap_or(u16::MAX);
            self.frame.buffer_mut().set_stringn(x, self.next, cut(text, room), room, style);
        }
    }

    fn line(&mut self, text: &str, tone: Tone) {
        self.put(0, text, self.style(tone));
        self.next += 1;
    }

    /// Writes a string in as many lines as it needs, at most `most`.
    fn wrapped(&mut self, text: &str, tone: Tone, most: usize) {
        let lines: Vec<String> = text.lines().flat_map(|line| wrap(line, self.width())).collect();
        for line in lines.iter().take(most) {
            self.line(line, tone);
        }
    }

    fn rule(&mut self, title: &str) {
        let title = format!("── {title} ");
        let rest = self.width().saturating_sub(title.chars().count());
        self.line(&format!("{title}{}", "─".repeat(rest)), Tone::Quiet);
    }

    /// Reverses the line that was written last.
    fn choose(&mut self) {
        let line = Rect { y: self.next - 1, height: 1, ..self.area };
        self.frame.buffer_mut().set_style(line, Style::default().add_modifier(Modifier::REVERSED));
    }

    /// The rows of a list around the chosen one, at most this many lines. `row`: writes one line.
    fn list(&mut self, high: usize, long: usize, at: usize, mut row: impl FnMut(&mut Self, usize)) {
        let top = at.saturating_sub(high.saturating_sub(1) / 2).min(long.saturating_sub(high));
        let end = self.next + u16::try_from(high).unwrap_or(u16::MAX);
        for n in (top..long).take(high) {
            row(self, n);
            self.next += 1;
            if n == at {
                self.choose();
            }
        }
        self.next = end;
    }
}

/// Draws the whole screen.
pub(super) fn draw(model: &Model, frame: &mut Frame) {
    let area = frame.area();
    let mut page = Page { color: model.color, next: area.y, area, frame };
    if area.height < LEAST.0 || area.width < LEAST.1 {
        let words = format!(
            "this screen is {} x {}, and this needs 80 x 24: make it larger, or leave with `q` and run \
            `aops-hook watch --plain`",
            area.width, area.height
        );
        return page.wrapped(&words, Tone::Plain, usize::from(area.height));
    }
    match model.view {
        View::Sessions => sessions(model, &mut page),
        View::Timeline => timeline(model, &mut page),
        View::Checkpoints => checkpoints(model, &mut page),
        View::Hosts => hosts(model, &mut page),
    }
    page.next = area.bottom() - 1;
    match (&model.said, &model.view) {
        (Some((words, tone)), _) => page.line(words, *tone),
        (None, View::Sessions) => page.line(KEYS_OF_SESSIONS, Tone::Quiet),
        (None, View::Timeline) => page.line(KEYS_OF_TIMELINE, Tone::Quiet),
        (None, View::Hosts) => page.line("a allow  d never  esc back  ? keys", Tone::Quiet),
        (None, View::Checkpoints) => {
            page.line("enter what changed  R roll back  esc back  ? keys", Tone::Quiet);
        }
    }
    if let Some(shown) = &model.dialog {
        dialog::draw(model, shown, &mut page);
    }
}

/// How many lines the part below the list has.
const DETAIL: usize = 7;

fn sessions(model: &Model, page: &mut Page) {
    let (all, live, waiting) = model.counts();
    let reading = if model.ready { "" } else { ", reading …" };
    let verb = if waiting == 1 { "waits" } else { "wait" };
    let filter = if model.words.is_empty() { String::new() } else { format!("  only `{}`", model.words) };
    let title = format!(
        "aops-hook watch  {}, {live} live, {waiting} {verb} for you{reading}{filter}",
        count(all, "session")
    );
    page.line(&title, Tone::Strong);
    let columns = columns::plan(&columns::SESSIONS, page.width());
    page.line(&columns::head(&columns), Tone::Quiet);
    let listed = model.listed();
    let at = model.at();
    let high = page.left().saturating_sub(DETAIL + 1);
    page.list(high, listed.len(), at, |page, n| session_line(page, &columns, listed[n], n == at));
    if let Some(row) = listed.get(at) {
        detail(page, row);
    } else if model.ready {
        page.line(
            "no session yet: Claude Code makes one when it starts with aops-hook installed",
            Tone::Plain,
        );
    }
}

fn session_line(page: &mut Page, columns: &[Column], row: &Row, chosen: bool) {
    let (ledger, integrity) = row.ledger();
    let waits = row.waits();
    let urgent = tone_of_wait(row);
    let dollars = row.dollars();
    let refusal = row.refusal.as_deref().unwrap_or_default();
    let cells = [
        (row.life.word(), row.life.tone()),
        (&row.project, Tone::Plain),
        (row.phase, Tone::Plain),
        (&waits, urgent),
        (&dollars, Tone::Plain),
        (refusal, Tone::Plain),
        (ledger, integrity),
        (&row.prompt, Tone::Plain),
    ];
    page.put(0, if chosen { ">" } else { " " }, Style::default());
    for (column, (text, tone)) in columns.iter().zip(cells) {
        page.put(column.at, &cut(text, column.wide), page.style(tone));
    }
}

/// What it waits for; for a block, its reason after this word.
fn describe_wait(row: &Row, blocked: &str) -> String {
    let waits = row.blocked.as_ref().map_or_else(|| row.waits(), |reason| format!("{blocked}: {reason}"));
    if waits.is_empty() { "nothing".to_owned() } else { waits }
}

fn tone_of_wait(row: &Row) -> Tone {
    if row.wants_person() { Tone::Warn } else { Tone::Plain }
}

/// Everything known about the chosen session, uncut.
fn detail(page: &mut Page, row: &Row) {
    let mode = if row.mode.is_empty() { String::new() } else { format!("  mode {}", row.mode) };
    page.rule(&format!("{}  {}{mode}", row.id, row.place));
    let waits = describe_wait(row, "blocked");
    let tone = tone_of_wait(row);
    let ledger =
        row.damage.as_ref().map_or_else(|| "intact".to_owned(), |damage| format!("DAMAGED: {damage}"));
    let refusal = row.refusal.as_deref().unwrap_or("none");
    let given = if row.given.is_empty() { "nothing answered, nothing kept" } else { &row.given };
    let bad = if row.damage.is_some() { Tone::Bad } else { Tone::Plain };
    for (name, text, tone) in [
        ("prompt", row.prompt.as_str(), Tone::Plain),
        ("waits for", &waits, tone),
        ("refusal", refusal, Tone::Plain),
        ("for you", given, Tone::Plain),
        ("ledger", &ledger, bad),
    ] {
        page.line(&format!("{name:9} {text}"), tone);
    }
    if let Some(network) = &row.network {
        page.line(&format!("{:9} {network}", "network"), Tone::Plain);
    }
}

fn timeline(model: &Model, page: &mut Page) {
    let timeline = &model.timeline;
    if let Some(row) = model.session() {
        let title = format!(
            "{}  {}  {}  phase {}  mode {}",
            row.short(),
            row.project,
            row.life.word(),
            row.phase,
            row.mode
        );
        page.line(&title, Tone::Strong);
        page.wrapped(&format!("waits for {}", describe_wait(row, "you: blocked")), tone_of_wait(row), 3);
    }
    let filters = timeline.filters();
    let shown = timeline.shown.len();
    let all = timeline.len();
    match (timeline.read, filters.is_empty()) {
        (false, _) => page.line("reading …", Tone::Quiet),
        (true, true) => page.line(&count(all, "line"), Tone::Quiet),
        (true, false) => page.line(&format!("{shown} of {all} lines: {filters}"), Tone::Warn),
    }
    let high = page.left().saturating_sub(DETAIL + 1);
    page.list(high, shown, timeline.at, |page, n| {
        let Some(one) = timeline.shown.get(n).and_then(|place| timeline.line(*place)) else { return };
        let ms = time::parse(&one.ts).unwrap_or_default();
        let mark = if n == timeline.at { '>' } else { ' ' };
        let head = format!("{mark}{:>6} {} {:9} ", one.seq, time::local_clock(ms, east_of_utc(ms)), one.word);
        page.put(0, &head, Style::default());
        let rest = one.reason.as_deref().and_then(|reason| reason.lines().next());
        let gap = if rest.is_some() { "  " } else { "" };
        let text = format!("{}{gap}{}", one.text, rest.unwrap_or_default());
        page.put(head.chars().count(), &text, page.style(one.tone));
    });
    if let Some(one) = timeline.chosen() {
        let ms = time::parse(&one.ts).unwrap_or_default();
        page.rule(&format!("entry {}, {}", one.seq, time::local_stamp(ms, east_of_utc(ms))));
        let reason = one.reason.as_deref().unwrap_or_default();
        page.wrapped(&format!("{}\n{reason}", one.text), one.tone, DETAIL - 2);
    }
}

fn checkpoints(model: &Model, page: &mut Page) {
    let held = &model.checkpoints;
    page.line(&format!("checkpoints of {}", held.folder.display()), Tone::Strong);
    match (held.read, held.rows.len()) {
        (false, _) => page.line("reading …", Tone::Quiet),
        (true, 0) => page.line("this project has no checkpoint yet", Tone::Plain),
        (true, n) => page.line(&count(n, "checkpoint"), Tone::Quiet),
    }
    let columns = columns::plan(&columns::CHECKPOINTS, page.width());
    page.line(&columns::head(&columns), Tone::Quiet);
    let high = page.left().saturating_sub(1);
    page.list(high, held.rows.len(), held.at, |page, n| {
        let row = &held.rows[n];
        page.put(0, if n == held.at { ">" } else { " " }, Style::default());
        for (column, text) in columns.iter().zip([&row.id, &row.name, &row.age, &row.why, &row.changed]) {
            page.put(column.at, &cut(text, column.wide), Style::default());
        }
    });
}

fn hosts(model: &Model, page: &mut Page) {
    let held = &model.hosts;
    if let Some(row) = model.session() {
        page.line(&format!("{}  {}  hosts", row.short(), row.project), Tone::Strong);
        page.line(row.network.as_deref().unwrap_or_default(), Tone::Plain);
    }
    match (held.read, held.rows.len()) {
        (false, _) => page.line("reading …", Tone::Quiet),
        (true, 0) => page.line("its commands have reached no host yet", Tone::Plain),
        (true, _) => page.line("", Tone::Quiet),
    }
    let columns = columns::plan(&columns::HOSTS, page.width());
    page.line(&columns::head(&columns), Tone::Quiet);
    let high = page.left().saturating_sub(1);
    page.list(high, held.rows.len(), held.at, |page, n| {
        let row = &held.rows[n];
        page.put(0, if n == held.at { ">" } else { " " }, Style::default());
        let style = page.style(if row.wanted { Tone::Warn } else { Tone::Plain });
        for (column, text) in columns.iter().zip([&row.rule, &row.by, &row.what]) {
            page.put(column.at, &cut(&clean(text), column.wide), style);
        }
    });
}

#[cfg(test)]
mod tests;
