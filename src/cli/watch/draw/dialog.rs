//! Draws a dialog over the view: something to read, a line to type, a question.

use super::Page;
use crate::cli::log::wrap;
use crate::cli::table::{Tone, clean};
use crate::cli::watch::model::{Dialog, Entry, Model};
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::widgets::Clear;

pub(super) fn draw(model: &Model, dialog: &Dialog, page: &mut Page) {
    match dialog {
        Dialog::Text { title, lines, top } => {
            let end = "any other key closes this";
            text(page, title, lines, *top, end);
        }
        Dialog::Type { entry, typed, key } => line(model, page, *entry, typed, key),
        Dialog::Sure { order, lines, top } => {
            let mut all = vec![format!("$ {}", order.line()), String::new()];
            all.extend(lines.iter().cloned());
            text(page, "are you sure?", &all, *top, "y does it, any other key does not");
        }
    }
}

fn clear(page: &mut Page, high: u16) {
    let area = page.frame.area();
    let high = high.min(area.height);
    let box_ = Rect { y: area.bottom() - high, height: high, ..area };
    page.frame.render_widget(Clear, box_);
    page.next = box_.y;
}

fn text(page: &mut Page, title: &str, lines: &[String], top: usize, end: &str) {
    let width = page.width();
    let all: Vec<String> = lines.iter().flat_map(|line| wrap(&clean(line), width)).collect();
    let most = usize::from(page.frame.area().height).saturating_sub(3);
    let high = all.len().min(most);
    clear(page, u16::try_from(high + 2).unwrap_or(u16::MAX));
    let top = top.min(all.len().saturating_sub(high));
    let place = if all.len() > high {
        format!(" ({} to {} of {})", top + 1, top + high, all.len())
    } else {
        String::new()
    };
    page.rule(&format!("{}{place}", clean(title)));
    for line in all.iter().skip(top).take(high) {
        let tone = match line.as_bytes().first() {
            Some(b'+') => Tone::Good,
            Some(b'-') => Tone::Bad,
            _ => Tone::Plain,
        };
        page.line(line, tone);
    }
    page.line(end, Tone::Strong);
}

fn line(model: &Model, page: &mut Page, entry: Entry, typed: &str, key: &str) {
    let who = model.find(key).map(super::Row::short).unwrap_or_default();
    let label = match entry {
        Entry::Sessions => "only sessions with these words".to_owned(),
        Entry::Words => "only lines with these words".to_owned(),
        Entry::Tool => "only this tool, such as `Bash`".to_owned(),
        Entry::Block => format!("block {who}, because"),
        Entry::Waive => format!("waive in {who}: gate, time, reason, such as `qa 10m a typo`"),
        Entry::Approve => format!("approve what the run of {who} waits for; a note, or nothing"),
        Entry::Reject => format!("reject what the run of {who} waits for; a note, or nothing"),
    };
    clear(page, 3);
    page.rule(&label);
    // Shows the end of a long line, where the person is typing.
    let room = page.width().saturating_sub(4);
    let shown: String = typed.chars().skip(typed.chars().count().saturating_sub(room)).collect();
    page.put(0, &format!("> {shown}"), Style::default());
    page.put(2 + shown.chars().count(), " ", Style::default().add_modifier(Modifier::REVERSED));
    page.next += 1;
    page.line("enter: continue, esc: go back", Tone::Strong);
}
