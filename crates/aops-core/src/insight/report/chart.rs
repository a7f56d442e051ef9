//! Charts as inline SVG between HTML labels: the bars stretch with the page, the text does not.
//!
//! Writes to a text. Invariant: every bar also has its number as text, for a pointer and for a screen reader.

use super::{Card, short, span};
use crate::insight::document::describe_counts;
use crate::model::outcome::SessionOutcome;
use crate::text::{template::one_line, time};
use std::fmt::Write;

/// Label, pieces and text of a bar; the class of a piece determines its colour.
pub(super) type Bar = (String, Vec<(&'static str, u64)>, String);

/// A bar of one piece, with its number as text.
pub(super) fn plain_bar(name: &str, value: u64) -> Bar {
    (name.to_owned(), vec![("plain", value)], value.to_string())
}

pub(super) fn figure(
    out: &mut String,
    id: &str,
    title: &str,
    colours: &[(&str, &str)],
    rows: &[Bar],
    none: &str,
) {
    let _ = writeln!(out, "<figure id=\"{id}\"><figcaption>{title}</figcaption>");
    legend(out, colours);
    bars(out, rows, none);
    out.push_str("</figure>\n");
}

pub(super) fn legend(out: &mut String, names: &[(&str, &str)]) {
    if names.is_empty() {
        return;
    }
    out.push_str("<ul class=\"legend\">");
    for (class, name) in names {
        let _ = write!(out, "<li><i class=\"{class}\"></i>{name}</li>");
    }
    out.push_str("</ul>\n");
}

fn bars(out: &mut String, rows: &[Bar], none: &str) {
    let total = |parts: &[(&str, u64)]| parts.iter().map(|(_, value)| value).sum::<u64>();
    let most = rows.iter().map(|(_, parts, _)| total(parts)).max().unwrap_or(0);
    if rows.is_empty() {
        let _ = writeln!(out, "<p class=\"quiet\">{none}</p>");
        return;
    }
    out.push_str("<table class=\"bars\"><tbody>\n");
    for (name, parts, words) in rows {
        let name = escape(name);
        let sum = total(parts);
        let many = parts.len() > 1;
        let parts: Vec<_> = parts.iter().filter(|(_, value)| *value > 0).collect();
        let said: Vec<String> = parts.iter().map(|(class, value)| format!("{class} {value}")).collect();
        let said = escape(&if many { said.join(", ") } else { words.clone() });
        let _ = write!(
            out,
            "<tr data-n=\"{sum}\"><th scope=\"row\" title=\"{name}\"><bdi>{name}</bdi></th><td class=\"bar\"><svg viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{name}: {said}\"><title>{name}: {said}</title>"
        );
        let mut x = 0;
        for (class, value) in parts {
            // Even a small value must be visible.
            let wide = scale(*value, most, 1000).max(3);
            let _ = write!(out, "<rect class=\"{class}\" x=\"{x}\" width=\"{wide}\" height=\"10\"/>");
            x += wide;
        }
        let _ = writeln!(out, "</svg></td><td class=\"n\">{}</td></tr>", escape(words));
    }
    out.push_str("</tbody></table>\n");
}

/// A figure with one stacked column per day.
pub(super) fn columns(out: &mut String, id: &str, title: &str, days: &[(String, [u64; 4])]) {
    let _ = writeln!(out, "<figure id=\"{id}\"><figcaption>{title}</figcaption>");
    legend(out, &SessionOutcome::ALL.map(|outcome| (outcome.name(), outcome.name())));
    let (Some((first, _)), Some((last, _))) = (days.first(), days.last()) else {
        out.push_str("<p class=\"quiet\">no session yet</p>\n</figure>\n");
        return;
    };
    let most = days.iter().map(|(_, n)| n.iter().sum::<u64>()).max().unwrap_or(1).max(1);
    let [good, partial, bad, free] = [0, 1, 2, 3].map(|at| days.iter().map(|(_, n)| n[at]).sum::<u64>());
    // If there are only a few columns, they stay slim.
    let slots = days.len().max(14);
    let wide = slots * 10;
    let _ = write!(
        out,
        "<div class=\"columns\"><span class=\"most\">{most}</span><svg viewBox=\"0 0 {wide} 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{good} success, {partial} partial, {bad} failure, {free} completed\" data-success=\"{good}\" data-partial=\"{partial}\" data-failure=\"{bad}\" data-completed=\"{free}\"><line class=\"grid\" x1=\"0\" x2=\"{wide}\" y1=\"0.5\" y2=\"0.5\"/><line class=\"grid\" x1=\"0\" x2=\"{wide}\" y1=\"50\" y2=\"50\"/><line class=\"grid\" x1=\"0\" x2=\"{wide}\" y1=\"99.5\" y2=\"99.5\"/>"
    );
    for (n, (day, counts)) in days.iter().enumerate() {
        if counts.iter().sum::<u64>() == 0 {
            continue;
        }
        let day = escape(day);
        let [good, partial, bad, free] = counts;
        let _ = write!(
            out,
            "<g><title>{day}: {good} success, {partial} partial, {bad} failure, {free} completed</title>"
        );
        let mut from = 100;
        for (class, value) in SessionOutcome::ALL.iter().zip(counts).filter(|(_, value)| **value > 0) {
            let high = scale(*value, most, 99).max(2).min(from);
            from -= high;
            let x = n * 10 + 1;
            let _ =
                write!(out, "<rect class=\"{class}\" x=\"{x}\" y=\"{from}\" width=\"8\" height=\"{high}\"/>");
        }
        out.push_str("</g>");
    }
    let ends =
        if first == last { escape(first) } else { format!("{}</span><span>{}", escape(first), escape(last)) };
    let share = 100 * days.len() / slots;
    let _ = writeln!(
        out,
        "</svg><div class=\"axis\" style=\"width:{}%\"><span>{ends}</span></div></div>\n</figure>",
        share.max(30)
    );
}

fn scale(value: u64, most: u64, to: u64) -> u64 {
    u64::try_from(u128::from(value) * u128::from(to) / u128::from(most.max(1))).unwrap_or(to)
}

/// Safe between tags and inside quotes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push(' '),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('·'),
            c => out.push(c),
        }
    }
    out
}

pub(super) fn write_card(out: &mut String, card: &Card, room: usize, east: fn(i64) -> i32) {
    let began = out.len();
    write_headline(out, card, east);
    strip(out, card);
    facts(out, card);
    out.push_str("<ol class=\"line\">");
    let mut told = 0;
    for moment in &card.story.moments {
        if out.len() - began > room.saturating_sub(260) {
            break;
        }
        told += 1;
        let clock = time::local_clock(moment.at_ms, east(moment.at_ms));
        let text = one_line(&moment.text, (room / 12).clamp(80, 160));
        let _ = write!(out, "<li class=\"{}\"><time>{clock}</time>{}</li>", moment.kind, escape(&text));
    }
    out.push_str("</ol>");
    let more = card.story.left_out + (card.story.moments.len() - told) as u64;
    if more > 0 {
        let _ = write!(
            out,
            "<p class=\"quiet\">{more} more: <code>aops-hook transcript {}</code></p>",
            escape(&one_line(&card.insights.session_id, 64))
        );
    }
    out.push_str("</details>\n");
}

/// Opens the card with what is visible while it is folded.
fn write_headline(out: &mut String, card: &Card, east: fn(i64) -> i32) {
    let insights = &card.insights;
    let summary = insights.summary.as_deref().unwrap_or("no prompt yet");
    let cost = insights.cost_usd.map(|cost| format!("${cost:.2}")).unwrap_or_default();
    let day = insights.started_at.as_deref().and_then(time::parse).map(|ms| time::local_day(ms, east(ms)));
    let mark = match card.damage.as_deref() {
        None => "",
        Some("") => "<span class=\"i\" title=\"the ledger is intact\">✓</span>",
        Some(_) => "<span class=\"i bad\" title=\"the ledger is damaged\">✗ damaged</span>",
    };
    let project = if card.story.root.is_empty() { &insights.project } else { &card.story.root };
    let _ = writeln!(
        out,
        "<details class=\"session\" data-project=\"{4}\" data-cost=\"{5}\" data-refusals=\"{6}\"><summary><b class=\"dot {0}\">{0}</b><time>{1}</time><span class=\"p\" title=\"{4}\">{2}</span><span class=\"s\">{3}</span>{mark}<span class=\"c\">{cost}</span></summary>",
        escape(insights.outcome.name()),
        escape(&day.unwrap_or_else(|| insights.date.clone())),
        escape(&one_line(&insights.project, 40)),
        escape(&one_line(summary, 110)),
        escape(&one_line(project, 200)),
        insights.cost_usd.unwrap_or_default(),
        insights.gates.values().sum::<u64>(),
    );
}

/// How the time was spent, as one strip.
fn strip(out: &mut String, card: &Card) {
    let Some((began, _)) = card.story.phases.first() else { return };
    let whole = u64::try_from(card.story.last_ms - began).unwrap_or(0);
    if whole == 0 {
        return;
    }
    out.push_str(
        "<svg class=\"strip\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"phases\">",
    );
    let ends = card.story.phases.iter().skip(1).map(|(at, _)| *at).chain([card.story.last_ms]);
    for ((from, phase), to) in card.story.phases.iter().zip(ends).take(40) {
        let at = scale(u64::try_from(from - began).unwrap_or(0), whole, 1000);
        let ms = u64::try_from(to - from).unwrap_or(0);
        let wide = scale(ms, whole, 1000);
        if wide > 0 {
            let _ = write!(
                out,
                "<rect class=\"{phase}\" x=\"{at}\" width=\"{wide}\" height=\"10\"><title>{phase} {}</title></rect>",
                span(ms)
            );
        }
    }
    out.push_str("</svg>");
}

fn facts(out: &mut String, card: &Card) {
    let insights = &card.insights;
    let mut facts = vec![
        ("session", one_line(&insights.session_id, 64)),
        ("client", one_line(&insights.client, 40)),
        ("person", one_line(insights.person.as_deref().unwrap_or_default(), 80)),
        ("calls", insights.tool_calls.describe()),
        ("time", span(insights.phase_ms.values().sum())),
    ];
    let tokens: u64 = insights
        .tokens
        .by_model
        .values()
        .map(crate::host::claude::usage::Sum::tokens)
        .fold(0, u64::saturating_add);
    if tokens > 0 {
        let models: Vec<&str> = insights.tokens.by_model.keys().map(String::as_str).collect();
        facts.push(("tokens", format!("{} ({})", short(tokens), one_line(&models.join(", "), 80))));
    }
    if !insights.rehearsed.is_empty() {
        facts.push(("would refuse", one_line(&describe_counts(&insights.rehearsed), 120)));
    }
    if !insights.workflows_used.is_empty() {
        facts.push(("workflows", one_line(&insights.workflows_used.join(", "), 80)));
    }
    if !insights.files_changed.is_empty() {
        let n = insights.files_changed.len();
        facts.push(("files", format!("{n}: {}", one_line(&insights.files_changed.join(", "), 120))));
    }
    facts.extend(card.damage.as_ref().map(|damage| match damage.as_str() {
        "" => ("ledger", "intact".to_owned()),
        damage => ("ledger", format!("damaged: {}", one_line(damage, 120))),
    }));
    facts.extend(insights.stop_reason.as_ref().map(|reason| ("last turn", one_line(reason, 60))));
    facts.extend(insights.end_reason.as_ref().map(|reason| ("ended", one_line(reason, 60))));
    out.push_str("<dl>");
    for (name, words) in facts.into_iter().filter(|(_, words)| !words.is_empty()) {
        let _ = write!(out, "<dt>{name}</dt><dd>{}</dd>", escape(&words));
    }
    out.push_str("</dl>");
}
