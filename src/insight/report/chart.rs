//! Charts as inline SVG between labels of HTML: the bars stretch with the page, the words do not.
//!
//! Writes to a text. Invariant: every bar says its number in words, for a pointer and for a reader.

use std::fmt::Write;

/// One piece of a bar; its class is its colour.
#[derive(Debug)]
pub(super) struct Part {
    class: &'static str,
    value: u64,
}

impl Part {
    pub(super) fn new(class: &'static str, value: u64) -> Self {
        Self { class, value }
    }

    pub(super) fn plain(value: u64) -> Self {
        Self::new("plain", value)
    }
}

pub(super) fn legend(out: &mut String, names: &[(&str, &str)]) {
    out.push_str("<ul class=\"legend\">");
    for (class, name) in names {
        let _ = write!(out, "<li><i class=\"{class}\"></i>{name}</li>");
    }
    out.push_str("</ul>\n");
}

/// Rows of label, bar and words.
pub(super) fn bars(out: &mut String, rows: &[(String, Vec<Part>, String)], none: &str) {
    let total = |parts: &[Part]| parts.iter().map(|part| part.value).sum::<u64>();
    let most = rows.iter().map(|(_, parts, _)| total(parts)).max().unwrap_or(0);
    if rows.is_empty() {
        let _ = writeln!(out, "<p class=\"quiet\">{none}</p>");
        return;
    }
    out.push_str("<table class=\"bars\"><tbody>\n");
    for (name, parts, words) in rows {
        let name = escape(name);
        let said: Vec<String> =
            parts.iter().filter(|part| part.value > 0).map(|part| format!("{} {}", part.class, part.value)).collect();
        let said = if parts.len() > 1 { said.join(", ") } else { words.clone() };
        let _ = write!(
            out,
            "<tr data-n=\"{}\"><th scope=\"row\" title=\"{name}\"><bdi>{name}</bdi></th><td class=\"bar\"><svg viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{name}: {}\"><title>{name}: {}</title>",
            total(parts),
            escape(&said),
            escape(&said)
        );
        let mut x = 0;
        for part in parts.iter().filter(|part| part.value > 0) {
            // A little is still something to see.
            let wide = scaled(part.value, most, 1000).max(3);
            let _ = write!(out, "<rect class=\"{}\" x=\"{x}\" width=\"{wide}\" height=\"10\"/>", part.class);
            x += wide;
        }
        let _ = writeln!(out, "</svg></td><td class=\"n\">{}</td></tr>", escape(words));
    }
    out.push_str("</tbody></table>\n");
}

/// One column a day, stacked.
pub(super) fn columns(out: &mut String, days: &[(String, [u64; 3])]) {
    const CLASSES: [&str; 3] = ["success", "partial", "failure"];
    let (Some((first, _)), Some((last, _))) = (days.first(), days.last()) else {
        out.push_str("<p class=\"quiet\">no session yet</p>\n");
        return;
    };
    let most = days.iter().map(|(_, n)| n.iter().sum::<u64>()).max().unwrap_or(1).max(1);
    let sum = |at: usize| days.iter().map(|(_, n)| n[at]).sum::<u64>();
    // A few columns stay slim.
    let slots = days.len().max(14);
    let wide = slots * 10;
    let _ = write!(
        out,
        "<div class=\"columns\"><span class=\"most\">{most}</span><svg viewBox=\"0 0 {wide} 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{} success, {} partial, {} failure\" data-success=\"{}\" data-partial=\"{}\" data-failure=\"{}\"><line class=\"grid\" x1=\"0\" x2=\"{wide}\" y1=\"0.5\" y2=\"0.5\"/><line class=\"grid\" x1=\"0\" x2=\"{wide}\" y1=\"50\" y2=\"50\"/><line class=\"grid\" x1=\"0\" x2=\"{wide}\" y1=\"99.5\" y2=\"99.5\"/>",
        sum(0),
        sum(1),
        sum(2),
        sum(0),
        sum(1),
        sum(2)
    );
    for (n, (day, counts)) in days.iter().enumerate() {
        if counts.iter().sum::<u64>() == 0 {
            continue;
        }
        let _ = write!(
            out,
            "<g><title>{}: {} success, {} partial, {} failure</title>",
            escape(day),
            counts[0],
            counts[1],
            counts[2]
        );
        let mut from = 100;
        for (class, value) in CLASSES.iter().zip(counts).filter(|(_, value)| **value > 0) {
            let high = scaled(*value, most, 99).max(2).min(from);
            from -= high;
            let _ = write!(
                out,
                "<rect class=\"{class}\" x=\"{}\" y=\"{from}\" width=\"8\" height=\"{high}\"/>",
                n * 10 + 1
            );
        }
        out.push_str("</g>");
    }
    let ends = if first == last { escape(first) } else { format!("{}</span><span>{}", escape(first), escape(last)) };
    let share = 100 * days.len() / slots;
    let _ =
        writeln!(out, "</svg><div class=\"axis\" style=\"width:{}%\"><span>{ends}</span></div></div>", share.max(30));
}

pub(super) fn scaled(value: u64, most: u64, to: u64) -> u64 {
    u64::try_from(u128::from(value) * u128::from(to) / u128::from(most.max(1))).unwrap_or(to)
}

/// Safe between tags and inside quotes.
pub(super) fn escape(text: &str) -> String {
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
