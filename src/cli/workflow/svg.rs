//! Draws a workflow as a picture that needs nothing else: no network, no font of its own, light and dark.
//!
//! Reads a layout, writes nothing. Invariants: whole numbers only, so the same workflow gives the same bytes everywhere;
//! no ids, so several pictures can stand in one page; whatever a text holds, it stays text.

use super::{done_by, gates, phase};
use crate::config::workflow::{Layout, Slot, Step, Workflow};
use std::fmt::Write;

const MARGIN: usize = 28;
const HEAD: usize = 92;
/// Room on the left for the names of phases.
const LANE: usize = 92;
const TALL: usize = 58;
const ROW_GAP: usize = 50;
const GAP: usize = 28;
const PASS: usize = 16;
/// How far a phase's ground reaches beyond its boxes.
const GROUND: usize = 16;
/// Widths of boxes, in letters of the name.
const NARROW: usize = 16;
const WIDE: usize = 32;

const STYLE: &str = "\
    .page{fill:#fff} .ground{fill:#f4f5f8} .box{fill:#fff;stroke:#cdd3dc}
    .line{fill:none;stroke:#8a93a3;stroke-width:1.6} .tip{fill:#8a93a3}
    text{font-family:ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;fill:#1f2430}
    .title{font-size:20px;font-weight:650} .name{font-size:14px;font-weight:600}
    .by,.id,.phase,.gate{font-size:12px} .by,.id,.phase{fill:#667085} .phase{font-weight:600;letter-spacing:.04em}
    .chip{fill:none;stroke:#cdd3dc}
    .hydrate{fill:#3b82f6} .review{fill:#8b5cf6} .execute{fill:#10b981} .verify{fill:#f59e0b}
    .intervene{fill:#ef4444} .reflect{fill:#ec4899} .close{fill:#64748b} .free{fill:#a3acba}
    @media (prefers-color-scheme:dark){
    .page{fill:#0f1218} .ground{fill:#171b23} .box{fill:#202632;stroke:#3c4656} .chip{stroke:#3c4656}
    .line{stroke:#7b8698} .tip{fill:#7b8698} text{fill:#e6e9ef} .by,.id,.phase{fill:#9aa4b4}
    }";

/// Where everything goes.
struct Sheet<'a> {
    workflow: &'a Workflow,
    layout: Layout,
    /// Of every box.
    wide: usize,
    /// Middles of the slots of each row.
    middles: Vec<Vec<usize>>,
    width: usize,
    height: usize,
    lane: usize,
}

pub(super) fn draw(workflow: &Workflow) -> String {
    let sheet = Sheet::new(workflow);
    let Sheet { width, height, .. } = sheet;
    let mut svg = String::new();
    let label = escaped(&format!("Workflow {}", workflow.title));
    let _ = writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">"#
    );
    let _ = writeln!(svg, "<style>\n{STYLE}\n</style>");
    let _ = writeln!(svg, r#"<rect class="page" width="{width}" height="{height}" rx="14"/>"#);
    sheet.head(&mut svg);
    sheet.grounds(&mut svg);
    sheet.lines(&mut svg);
    sheet.boxes(&mut svg);
    svg.push_str("</svg>\n");
    svg
}

impl<'a> Sheet<'a> {
    fn new(workflow: &'a Workflow) -> Self {
        let layout = Layout::of(workflow);
        let letters = |step: &Step| {
            step.name.chars().count().max(done_by(step).chars().count() * 5 / 6).clamp(NARROW, WIDE)
        };
        let wide = workflow.steps.iter().map(letters).max().unwrap_or(NARROW) * 8 + 40;
        let slot = |slot: &Slot| if matches!(slot, Slot::Step(_)) { wide } else { PASS };
        let whole = |row: &Vec<Slot>| row.iter().map(|s| slot(s) + GAP).sum::<usize>().saturating_sub(GAP);
        let heading =
            workflow.title.chars().count().max(workflow.id.chars().count() + 8 * workflow.gates.len()) * 11;
        let lane = if workflow.steps.iter().any(|step| step.phase.is_some()) { LANE } else { 0 };
        let widest = layout.rows.iter().map(whole).max().unwrap_or(0).max(heading.saturating_sub(lane));
        let start = MARGIN + lane + GROUND;
        let middles = |row: &Vec<Slot>| {
            let mut left = start + (widest - whole(row)) / 2;
            let middle = |s: &Slot| {
                let middle = left + slot(s) / 2;
                left += slot(s) + GAP;
                middle
            };
            row.iter().map(middle).collect()
        };
        let middles = layout.rows.iter().map(middles).collect();
        let rows = layout.rows.len();
        let height = HEAD + GROUND + rows * TALL + rows.saturating_sub(1) * ROW_GAP + GROUND + MARGIN;
        Self { workflow, wide, middles, width: start + widest + GROUND + MARGIN, height, lane, layout }
    }

    fn top(row: usize) -> usize {
        HEAD + GROUND + row * (TALL + ROW_GAP)
    }

    fn head(&self, svg: &mut String) {
        let title = escaped(&self.workflow.title);
        let id = escaped(&self.workflow.id);
        let _ = writeln!(svg, r#"<text class="title" x="{MARGIN}" y="45">{title}</text>"#);
        let _ = writeln!(svg, r#"<text class="id" x="{MARGIN}" y="71">{id}</text>"#);
        let mut left = MARGIN + self.workflow.id.chars().count() * 7 + 14;
        let chips: Vec<_> = self.workflow.gates.iter().map(|gate| gate.name().to_owned()).collect();
        let chips = if chips.is_empty() { vec![format!("gates: {}", gates(&[]))] } else { chips };
        for chip in chips {
            let wide = chip.chars().count() * 7 + 18;
            let middle = left + wide / 2;
            let _ =
                writeln!(svg, r#"<rect class="chip" x="{left}" y="57" width="{wide}" height="20" rx="10"/>"#);
            let _ =
                writeln!(svg, r#"<text class="gate" x="{middle}" y="71" text-anchor="middle">{chip}</text>"#);
            left += wide + 8;
        }
    }

    /// The phases of a row, each once.
    fn phases(&self, row: usize) -> String {
        let mut names = Vec::new();
        for slot in &self.layout.rows[row] {
            if let Slot::Step(step) = slot {
                let name = phase(&self.workflow.steps[*step]);
                if !name.is_empty() && !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names.join(", ")
    }

    /// One ground under all rows of a phase that follow each other.
    fn grounds(&self, svg: &mut String) {
        if self.lane == 0 {
            return;
        }
        let mut row = 0;
        while row < self.layout.rows.len() {
            let name = self.phases(row);
            let same = (row..self.layout.rows.len()).take_while(|n| self.phases(*n) == name).count();
            let (top, bottom) = (Self::top(row) - GROUND, Self::top(row + same - 1) + TALL + GROUND);
            let (wide, tall) = (self.width - 2 * MARGIN, bottom - top);
            let _ = writeln!(
                svg,
                r#"<rect class="ground" x="{MARGIN}" y="{top}" width="{wide}" height="{tall}" rx="12"/>"#
            );
            let (x, y) = (MARGIN + 16, top + GROUND + TALL / 2 + 4);
            let _ = writeln!(svg, r#"<text class="phase" x="{x}" y="{y}">{}</text>"#, escaped(&name));
            row += same;
        }
    }

    fn lines(&self, svg: &mut String) {
        for (row, lines) in self.layout.lines.iter().enumerate() {
            let (start, end) = (Self::top(row) + TALL, Self::top(row + 1));
            for (from, to) in lines {
                let (a, b) = (self.middles[row][*from], self.middles[row + 1][*to]);
                let arrives = matches!(self.layout.rows[row + 1][*to], Slot::Step(_));
                let last = if arrives { end - 7 } else { end };
                let half = usize::midpoint(start, end);
                let _ = writeln!(
                    svg,
                    r#"<path class="line" d="M{a} {start}C{a} {half} {b} {half} {b} {last}"/>"#
                );
                if arrives {
                    let (left, right, base) = (b - 5, b + 5, end - 9);
                    let _ = writeln!(svg, r#"<path class="tip" d="M{left} {base}H{right}L{b} {end}Z"/>"#);
                }
            }
        }
    }

    fn boxes(&self, svg: &mut String) {
        for (row, slots) in self.layout.rows.iter().enumerate() {
            let top = Self::top(row);
            for (slot, middle) in slots.iter().zip(&self.middles[row]) {
                match slot {
                    Slot::Step(step) => self.step(svg, &self.workflow.steps[*step], *middle, top),
                    Slot::Pass(..) => {
                        let bottom = top + TALL;
                        let _ = writeln!(svg, r#"<path class="line" d="M{middle} {top}V{bottom}"/>"#);
                    }
                }
            }
        }
    }

    fn step(&self, svg: &mut String, step: &Step, middle: usize, top: usize) {
        let (wide, left, by) = (self.wide, middle - self.wide / 2, done_by(step));
        let phase = Some(phase(step)).filter(|phase| !phase.is_empty()).unwrap_or("free".to_owned());
        let room = (wide - 40) / 8;
        let _ = writeln!(svg, "<g><title>{}</title>", escaped(&step.description));
        let _ = writeln!(
            svg,
            r#"<rect class="box" x="{left}" y="{top}" width="{wide}" height="{TALL}" rx="10"/>"#
        );
        let (bar, bar_top, bar_tall) = (left + 10, top + 12, TALL - 24);
        let _ = writeln!(
            svg,
            r#"<rect class="{phase}" x="{bar}" y="{bar_top}" width="4" height="{bar_tall}" rx="2"/>"#
        );
        let text = left + 24;
        let first = top + if by.is_empty() { 34 } else { 26 };
        let _ =
            writeln!(svg, r#"<text class="name" x="{text}" y="{first}">{}</text>"#, short(&step.name, room));
        if !by.is_empty() {
            let second = top + 44;
            let _ = writeln!(
                svg,
                r#"<text class="by" x="{text}" y="{second}">{}</text>"#,
                short(&by, room * 6 / 5)
            );
        }
        svg.push_str("</g>\n");
    }
}

fn short(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return escaped(text);
    }
    let kept: String = text.chars().take(room.saturating_sub(1)).collect();
    format!("{}…", escaped(kept.trim_end()))
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
