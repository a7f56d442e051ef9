//! Puts the steps of a workflow in rows, to be drawn.
//!
//! Reads a workflow, writes nothing. Invariants: every line leads from one row to the next, since a longer one passes
//! through a slot of its own in each row between; the same workflow always gives the same rows.

use super::Workflow;
use std::collections::BTreeMap;

/// Steps in rows, and the lines between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    pub rows: Vec<Vec<Slot>>,
    /// For each row but the last: from which slot of it to which slot of the next.
    pub lines: Vec<Vec<(usize, usize)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// A step, by its place in `Workflow::steps`.
    Step(usize),
    /// A line on its way from the first step to the second.
    Pass(usize, usize),
}

/// How often rows are sorted by their neighbours; more changes nothing in graphs of this size.
const SWEEPS: usize = 4;

impl Layout {
    pub fn of(workflow: &Workflow) -> Self {
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

    /// Moves each slot towards the middle of those it is joined to: in the row above, or in the one below.
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
            // In thousandths, so that no rounding of the machine decides; a slot without lines stays where it is.
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
        let lines = edges.iter().filter_map(|edge| Some((place(row - 1, edge.0, *edge)?, place(row, edge.1, *edge)?)));
        let mut lines: Vec<_> = lines.collect();
        lines.sort_unstable();
        lines
    }
}

fn needs(workflow: &Workflow) -> Vec<Vec<usize>> {
    let places: BTreeMap<_, _> = workflow.steps.iter().enumerate().map(|(n, step)| (step.id.as_str(), n)).collect();
    let of = |step: &super::Step| step.needs.iter().filter_map(|need| places.get(need.to.as_str()).copied()).collect();
    workflow.steps.iter().map(of).collect()
}

/// One more than the last of those it needs.
fn ranks(needs: &[Vec<usize>]) -> Vec<usize> {
    let mut ranks = vec![0; needs.len()];
    // Steps need each other in no ring, so as many rounds as steps are enough.
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
