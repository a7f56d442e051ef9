//! Arranges the steps of a workflow in rows, and draws them with box characters.
//!
//! Reads a workflow, writes nothing. Invariants: every line leads from one row to the next, since a longer
//! one passes through a slot of its own in each row between; a line never runs through a box; if the lines
//! between two rows could be read in more than one way, the boxes below name the steps they follow; lines of
//! one owner join where they meet, and where lines of two owners cross, the vertical one covers the
//! horizontal one.

use super::{done_by, phase};
use crate::cli::table::{clean, cut};
use aops_core::config::workflow::{Step, Workflow};
use std::collections::BTreeMap;

/// Columns between two boxes. Odd, like every width here, so that centres align.
const GAP: usize = 3;
/// The maximum width of a line in a box.
const LONGEST: usize = 30;

/// A finished drawing: for each line the phase in the margin, and the rest.
#[derive(Debug)]
pub(super) struct Drawing {
    labels: Vec<String>,
    canvas: Canvas,
}

impl Drawing {
    fn margin(&self) -> usize {
        self.labels.iter().map(|label| label.chars().count()).max().map_or(0, |widest| widest + 2)
    }

    pub(super) fn width(&self) -> usize {
        self.margin() + self.canvas.width
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = (String, String)> {
        let margin = self.margin();
        self.labels
            .iter()
            .zip(self.canvas.lines())
            .map(move |(label, line)| (format!("{label:<margin$}"), line))
    }
}

struct PlacedSlot {
    left: usize,
    width: usize,
    /// The text in the box; empty for a line that passes through.
    words: Vec<String>,
}

impl PlacedSlot {
    fn middle(&self) -> usize {
        self.left + self.width / 2
    }
}

pub(super) fn draw(workflow: &Workflow) -> Drawing {
    let layout = Layout::of(workflow);
    let bands: Vec<_> = layout.lines.iter().map(|lines| bundles(lines)).collect();
    let rows = places(workflow, &layout, &bands);
    let width = rows.iter().flatten().map(|place| place.left + place.width).max().unwrap_or(0);
    let mut drawing = Drawing { labels: Vec::new(), canvas: Canvas { width, rows: Vec::new() } };
    let mut last = String::new();
    for (n, row) in rows.iter().enumerate() {
        let top = drawing.canvas.rows.len();
        let tall = row.iter().map(|place| place.words.len()).max().unwrap_or(0) + 2;
        drawing.canvas.grow(tall);
        for place in row {
            draw_slot(&mut drawing.canvas, place, top, tall);
        }
        let label = phases(workflow, &layout.rows[n]);
        drawing.labels.resize(top + tall, String::new());
        if label != last {
            drawing.labels[top + 1].clone_from(&label);
            last = label;
        }
        if let Some(band) = bands.get(n) {
            draw_band(&mut drawing.canvas, row, &rows[n + 1], band);
            drawing.labels.resize(drawing.canvas.rows.len(), String::new());
        }
    }
    drawing
}

fn draw_slot(canvas: &mut Canvas, place: &PlacedSlot, top: usize, tall: usize) {
    if place.words.is_empty() {
        canvas.down(place.middle(), top, top + tall - 1, usize::MAX);
        return;
    }
    canvas.frame(place.left, top, place.width, tall);
    for (n, words) in place.words.iter().enumerate() {
        canvas.write(place.left + 2, top + 1 + n, words);
    }
}

/// Connected lines: those that share an end, directly or through others.
struct Bundle {
    from: Vec<usize>,
    to: Vec<usize>,
    /// Every one of `from` leads to every one of `to`, so the drawing is unambiguous.
    full: bool,
}

fn bundles(lines: &[(usize, usize)]) -> Vec<Bundle> {
    let mut left = lines.to_vec();
    let mut bundles = Vec::new();
    while let Some(first) = left.first().copied() {
        let mut from = vec![first.0];
        let mut to = vec![first.1];
        loop {
            type Lines = Vec<(usize, usize)>;
            let (near, far): (Lines, Lines) =
                left.iter().copied().partition(|(a, b)| from.contains(a) || to.contains(b));
            from.extend(near.iter().map(|line| line.0));
            to.extend(near.iter().map(|line| line.1));
            left = far;
            if near.is_empty() {
                break;
            }
        }
        for ends in [&mut from, &mut to] {
            ends.sort_unstable();
            ends.dedup();
        }
        let own = lines.iter().filter(|(a, _)| from.contains(a)).count();
        bundles.push(Bundle { full: own == from.len() * to.len(), from, to });
    }
    bundles
}

fn draw_band(canvas: &mut Canvas, above: &[PlacedSlot], below: &[PlacedSlot], bundles: &[Bundle]) {
    let reach = |bundle: &Bundle| {
        let from = bundle.from.iter().map(|n| above[*n].middle());
        let ends: Vec<_> = from.chain(bundle.to.iter().map(|n| below[*n].middle())).collect();
        (ends.iter().copied().min().unwrap_or(0), ends.iter().copied().max().unwrap_or(0))
    };
    let reaches: Vec<_> = bundles.iter().map(reach).collect();
    let tracks = tracks(&reaches);
    let top = canvas.rows.len();
    let turning = reaches.iter().zip(&tracks).filter(|((first, last), _)| first < last);
    let bottom = top + turning.map(|(_, track)| track + 1).max().unwrap_or(0);
    canvas.grow(bottom - top + 1);
    for (owner, (bundle, track)) in bundles.iter().zip(&tracks).enumerate() {
        let (first, last) = reaches[owner];
        let line = top + track;
        for n in &bundle.from {
            canvas.down(above[*n].middle(), top - 1, line, owner);
        }
        canvas.across(first, last, line, owner);
        for n in &bundle.to {
            canvas.down(below[*n].middle(), line, bottom, owner);
            if !below[*n].words.is_empty() {
                canvas.write(below[*n].middle(), bottom, "▼");
            }
        }
    }
}

/// The track on which each bundle turns, chosen so that no two overlap. A straight bundle does not turn.
fn tracks(reaches: &[(usize, usize)]) -> Vec<usize> {
    let mut tracks: Vec<usize> = Vec::new();
    for (n, (first, last)) in reaches.iter().enumerate() {
        let meets = |(a, b): (usize, usize)| a < b && first < last && a <= *last && b >= *first;
        let taken = |track: usize| (0..n).any(|m| tracks[m] == track && meets(reaches[m]));
        let free = (0..n).find(|track| !taken(*track)).unwrap_or(n);
        tracks.push(free);
    }
    tracks
}

fn places(workflow: &Workflow, layout: &Layout, bands: &[Vec<Bundle>]) -> Vec<Vec<PlacedSlot>> {
    let vague = |row: usize, slot: usize| {
        let band = row.checked_sub(1).and_then(|above| bands.get(above));
        band.is_some_and(|band| band.iter().any(|bundle| !bundle.full && bundle.to.contains(&slot)))
    };
    let words = |row: usize, (n, slot): (usize, &Slot)| match slot {
        Slot::Step(step) => words(workflow, *step, vague(row, n)),
        Slot::Pass(..) => Vec::new(),
    };
    let rows = layout.rows.iter().enumerate();
    let rows: Vec<Vec<_>> =
        rows.map(|(row, slots)| slots.iter().enumerate().map(|slot| words(row, slot)).collect()).collect();
    // All boxes of a row are as wide as its widest, so that the middle one is centred.
    let width =
        |words: &Vec<String>| words.iter().map(|line| line.chars().count() + 4).max().unwrap_or(1) | 1;
    let widest = |row: &[Vec<String>]| row.iter().map(width).max().unwrap_or(1);
    let own = |words: &Vec<String>, widest: usize| if words.is_empty() { 1 } else { widest };
    let whole = |row: &Vec<Vec<String>>| {
        row.iter().map(|words| own(words, widest(row)) + GAP).sum::<usize>().saturating_sub(GAP)
    };
    let sheet = rows.iter().map(whole).max().unwrap_or(0);
    let place = |row: Vec<Vec<String>>| {
        let mut left = (sheet - whole(&row)) / 2;
        let widest = widest(&row);
        let place = |words: Vec<String>| {
            let place = PlacedSlot { left, width: own(&words, widest), words };
            left += place.width + GAP;
            place
        };
        row.into_iter().map(place).collect()
    };
    rows.into_iter().map(place).collect()
}

fn words(workflow: &Workflow, step: usize, vague: bool) -> Vec<String> {
    let step = &workflow.steps[step];
    let after =
        || format!("after {}", step.needs.iter().map(|need| need.to.as_str()).collect::<Vec<_>>().join(", "));
    let lines = [step.name.clone(), done_by(step), if vague { after() } else { String::new() }];
    lines.iter().filter(|line| !line.is_empty()).map(|line| cut(&clean(line), LONGEST).into_owned()).collect()
}

fn phases(workflow: &Workflow, row: &[Slot]) -> String {
    let mut names: Vec<String> = Vec::new();
    for slot in row {
        let Slot::Step(step) = slot else { continue };
        let name = phase(&workflow.steps[*step]);
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

const UP: u8 = 1;
const DOWN: u8 = 2;
const LEFT: u8 = 4;
const RIGHT: u8 = 8;

/// The owner of frames, which join every line.
const SHARED: usize = usize::MAX;

#[derive(Clone, Copy, Debug)]
struct Dot {
    ways: u8,
    owner: usize,
    letter: Option<char>,
}

const BLANK: Dot = Dot { ways: 0, owner: SHARED, letter: None };

/// A sheet of characters on which lines join automatically.
#[derive(Debug)]
struct Canvas {
    width: usize,
    rows: Vec<Vec<Dot>>,
}

impl Canvas {
    fn grow(&mut self, rows: usize) {
        self.rows.resize(self.rows.len() + rows, vec![BLANK; self.width]);
    }

    fn write(&mut self, left: usize, row: usize, text: &str) {
        for (n, letter) in text.chars().enumerate() {
            self.rows[row][left + n].letter = Some(letter);
        }
    }

    fn frame(&mut self, left: usize, top: usize, width: usize, tall: usize) {
        let right = left + width - 1;
        let bottom = top + tall - 1;
        self.across(left, right, top, SHARED);
        self.across(left, right, bottom, SHARED);
        self.down(left, top, bottom, SHARED);
        self.down(right, top, bottom, SHARED);
    }

    fn across(&mut self, first: usize, last: usize, row: usize, owner: usize) {
        for column in first..=last {
            let right = if column < last { RIGHT } else { 0 };
            let left = if column > first { LEFT } else { 0 };
            self.join(column, row, left | right, owner);
        }
    }

    fn down(&mut self, column: usize, first: usize, last: usize, owner: usize) {
        for row in first..=last {
            let down = if row < last { DOWN } else { 0 };
            let up = if row > first { UP } else { 0 };
            self.join(column, row, up | down, owner);
        }
    }

    fn join(&mut self, column: usize, row: usize, ways: u8, owner: usize) {
        let dot = &mut self.rows[row][column];
        let strangers = dot.ways != 0 && dot.owner != SHARED && owner != SHARED && dot.owner != owner;
        if !strangers {
            dot.ways |= ways;
            dot.owner = if owner == SHARED { dot.owner } else { owner };
        } else if ways & (UP | DOWN) != 0 {
            dot.ways = ways;
            dot.owner = owner;
        }
    }

    fn lines(&self) -> impl Iterator<Item = String> {
        self.rows.iter().map(|row| row.iter().map(|dot| dot.letter.unwrap_or(joint(dot.ways))).collect())
    }
}

fn joint(ways: u8) -> char {
    const JOINTS: [char; 16] =
        [' ', '│', '│', '│', '─', '╯', '╮', '┤', '─', '╰', '╭', '├', '─', '┴', '┬', '┼'];
    JOINTS[usize::from(ways & 15)]
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) rows: Vec<Vec<Slot>>,
    /// For each row but the last: from which slot of it to which slot of the next.
    pub(super) lines: Vec<Vec<(usize, usize)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// A step, by its index in `Workflow::steps`.
    Step(usize),
    /// A line that passes through on its way from the first step to the second.
    Pass(usize, usize),
}

/// How often rows are sorted by their neighbours; more has no effect for graphs of this size.
const SWEEPS: usize = 4;

impl Layout {
    pub(super) fn of(workflow: &Workflow) -> Self {
        let needs = needs(workflow);
        let ranks = ranks(&needs);
        let mut rows = vec![Vec::new(); ranks.iter().max().map_or(0, |last| last + 1)];
        for (step, rank) in ranks.iter().enumerate() {
            rows[*rank].push(Slot::Step(step));
        }
        let edges = direct(&needs);
        for (from, to) in &edges {
            for row in &mut rows[ranks[*from] + 1..ranks[*to]] {
                row.push(Slot::Pass(*from, *to));
            }
        }
        let mut layout = Self { rows, lines: Vec::new() };
        for _ in 0..SWEEPS {
            layout.sort(&edges, true);
            layout.sort(&edges, false);
        }
        layout.lines = (1..layout.rows.len()).map(|row| layout.between(row, &edges)).collect();
        layout
    }

    /// Moves each slot towards the middle of its neighbours, in the row above or below.
    fn sort(&mut self, edges: &[(usize, usize)], down: bool) {
        for n in 1..self.rows.len() {
            let row = if down { n } else { self.rows.len() - n };
            let lines = self.between(row, edges);
            let (sorted, other) = if down { (row, 0) } else { (row - 1, 1) };
            let mut sums: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
            for (from, to) in lines {
                let (own, joined) = if other == 0 { (to, from) } else { (from, to) };
                let sum = sums.entry(own).or_default();
                *sum = (sum.0 + joined, sum.1 + 1);
            }
            // Integer thousandths, so that rounding cannot differ between machines; a slot without lines
            // stays in place.
            let place = |n: usize| sums.get(&n).map_or(n * 1000, |(sum, count)| sum * 1000 / count);
            let mut order: Vec<_> = (0..self.rows[sorted].len()).collect();
            order.sort_by_key(|n| place(*n));
            self.rows[sorted] = order.iter().map(|n| self.rows[sorted][*n]).collect();
        }
    }

    fn between(&self, row: usize, edges: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let place = |row: usize, end: usize, edge: (usize, usize)| {
            let pass = Slot::Pass(edge.0, edge.1);
            self.rows[row].iter().position(|slot| *slot == Slot::Step(end) || *slot == pass)
        };
        let lines = edges
            .iter()
            .filter_map(|edge| Some((place(row - 1, edge.0, *edge)?, place(row, edge.1, *edge)?)));
        let mut lines: Vec<_> = lines.collect();
        lines.sort_unstable();
        lines
    }
}

fn needs(workflow: &Workflow) -> Vec<Vec<usize>> {
    let places: BTreeMap<_, _> =
        workflow.steps.iter().enumerate().map(|(n, step)| (step.id.as_str(), n)).collect();
    let of =
        |step: &Step| step.needs.iter().filter_map(|need| places.get(need.to.as_str()).copied()).collect();
    workflow.steps.iter().map(of).collect()
}

/// Each rank is one more than the highest among the steps it needs.
fn ranks(needs: &[Vec<usize>]) -> Vec<usize> {
    let mut ranks = vec![0; needs.len()];
    // The needs have no cycle, so as many rounds as steps are enough.
    for _ in 0..needs.len() {
        for (step, needs) in needs.iter().enumerate() {
            ranks[step] = needs.iter().map(|need| ranks[*need] + 1).max().unwrap_or(0);
        }
    }
    ranks
}

/// The needs as edges, without those that another need implies.
fn direct(needs: &[Vec<usize>]) -> Vec<(usize, usize)> {
    let mut all: Vec<Vec<bool>> = vec![vec![false; needs.len()]; needs.len()];
    for _ in 0..needs.len() {
        for (step, own) in needs.iter().enumerate() {
            for need in own {
                let theirs = all[*need].clone();
                all[step][*need] = true;
                all[step].iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine |= theirs);
            }
        }
    }
    let implied = |step: usize, need: usize| needs[step].iter().any(|other| all[*other][need]);
    let edges = needs.iter().enumerate().flat_map(|(step, own)| own.iter().map(move |need| (*need, step)));
    edges.filter(|(need, step)| !implied(*step, *need)).collect()
}
