//! One session of a report: a line, and behind it its phases and its timeline.
//!
//! Writes to a text. Invariant: what it writes stays within the room it is given, give or take a line.

use super::chart::{escape, scaled};
use super::{Card, short, span};
use crate::text::template::one_line;
use crate::text::time;
use std::fmt::Write;

pub(super) fn write(out: &mut String, card: &Card, room: usize) {
    let insights = &card.insights;
    let began = out.len();
    let summary = insights.summary.as_deref().unwrap_or("no prompt yet");
    let cost = insights.cost_usd.map(|cost| format!("${cost:.2}")).unwrap_or_default();
    let _ = writeln!(
        out,
        "<details class=\"session\"><summary><b class=\"dot {0}\">{0}</b><time>{1}</time><span class=\"p\">{2}</span><span class=\"s\">{3}</span><span class=\"c\">{cost}</span></summary>",
        escape(&insights.outcome),
        escape(&insights.date),
        escape(&one_line(&insights.project, 40)),
        escape(&one_line(summary, 110)),
    );
    strip(out, card);
    facts(out, card);
    out.push_str("<ol class=\"line\">");
    let mut told = 0;
    for moment in &card.moments {
        if out.len() - began > room.saturating_sub(260) {
            break;
        }
        told += 1;
        let stamp = time::timestamp(moment.at_ms);
        let text = one_line(&moment.text, (room / 12).clamp(60, 160));
        let _ = write!(
            out,
            "<li class=\"{}\"><time>{}</time>{}</li>",
            moment.kind.name(),
            stamp.get(11..19).unwrap_or_default(),
            escape(&text)
        );
    }
    out.push_str("</ol>");
    let more = card.left_out + (card.moments.len() - told) as u64;
    if more > 0 {
        let _ = write!(
            out,
            "<p class=\"quiet\">{more} more: <code>aops-hook transcript {}</code></p>",
            escape(&one_line(&insights.session_id, 64))
        );
    }
    out.push_str("</details>\n");
}

/// Where the time went, as one strip.
fn strip(out: &mut String, card: &Card) {
    let Some((began, _)) = card.phases.first() else { return };
    let whole = u64::try_from(card.last_ms - began).unwrap_or(0);
    if whole == 0 {
        return;
    }
    out.push_str(
        "<svg class=\"strip\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"phases\">",
    );
    let ends = card.phases.iter().skip(1).map(|(at, _)| *at).chain([card.last_ms]);
    for ((from, phase), to) in card.phases.iter().zip(ends).take(40) {
        let at = scaled(u64::try_from(from - began).unwrap_or(0), whole, 1000);
        let ms = u64::try_from(to - from).unwrap_or(0);
        let wide = scaled(ms, whole, 1000);
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
    let calls = &insights.tool_calls;
    let mut facts = vec![
        ("session", one_line(&insights.session_id, 64)),
        ("calls", format!("{} completed, {} failed, {} denied", calls.completed, calls.failed, calls.denied)),
        ("time", span(insights.phase_ms.values().sum())),
    ];
    let tokens: u64 =
        insights.tokens.by_model.values().map(crate::claude::usage::Sum::tokens).fold(0, u64::saturating_add);
    if tokens > 0 {
        let models: Vec<&str> = insights.tokens.by_model.keys().map(String::as_str).collect();
        facts.push(("tokens", format!("{} ({})", short(tokens), one_line(&models.join(", "), 80))));
    }
    if !insights.workflows_used.is_empty() {
        facts.push(("workflows", one_line(&insights.workflows_used.join(", "), 80)));
    }
    if !insights.files_changed.is_empty() {
        let n = insights.files_changed.len();
        facts.push(("files", format!("{n}: {}", one_line(&insights.files_changed.join(", "), 120))));
    }
    facts.extend(insights.stop_reason.as_ref().map(|reason| ("ended", one_line(reason, 60))));
    out.push_str("<dl>");
    for (name, words) in facts {
        let _ = write!(out, "<dt>{name}</dt><dd>{}</dd>", escape(&words));
    }
    out.push_str("</dl>");
}
