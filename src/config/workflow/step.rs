//! Reads the steps of a workflow and checks that they can be walked.
//!
//! Reads the frontmatter's nodes, writes nothing. Invariant: steps without a problem have one fixed order.

use super::frontmatter::{Fields, Report, plain, unknown};
use super::{Step, is_plain, meant};
use crate::model::phase::Phase;
use crate::text::yaml::Node;
use std::collections::BTreeSet;

/// A workflow with more is too long to follow, and to draw.
const MOST: usize = 100;

/// Phases in which a step can be done.
const PHASES: [(&str, Phase); 7] = [
    ("hydrate", Phase::Hydrate),
    ("review", Phase::Review),
    ("execute", Phase::Execute),
    ("verify", Phase::Verify),
    ("intervene", Phase::Intervene),
    ("reflect", Phase::Reflect),
    ("close", Phase::Close),
];

pub(super) fn steps(fields: &mut Fields) -> Vec<Step> {
    let (line, report, before) = (fields.line, fields.report, fields.report.len());
    let items = fields.nodes("steps").unwrap_or_default();
    if items.is_empty() && report.len() == before {
        report.add(line, "`steps` is missing or empty");
    }
    if let Some(extra) = items.get(MOST) {
        let what = format!("more than {MOST} steps: cut the workflow in parts that contain each other");
        report.add(extra.line, what);
        return Vec::new();
    }
    let numbered = items.iter().enumerate();
    let steps: Vec<_> = numbered.filter_map(|(n, node)| step(report, n + 1, node)).collect();
    check_steps(report, &steps);
    steps
}

fn step(report: &Report, number: usize, node: &Node) -> Option<Step> {
    let mut fields = Fields::new(report, node, &format!(" of step {number}"))?;
    let line = fields.line;
    let id = fields.required("id");
    if is_plain(&id.to) {
        fields.of = format!(" of step `{}`", id.to);
    } else if !id.to.is_empty() {
        report.add(id.line, plain("step id", &id.to));
    }
    let step = Step {
        name: fields.required("name").to,
        description: fields.required("description").to,
        workflow: fields.mention("workflow"),
        needs: fields.list("needs").unwrap_or_default(),
        agent: fields.mention("agent"),
        run: fields.text("run"),
        tools: fields.list("tools").map(|tools| tools.into_iter().map(|tool| tool.to).collect()),
        phase: phase(&mut fields),
        id: id.to,
        line,
    };
    if step.run.is_some() && (step.agent.is_some() || step.tools.is_some()) {
        report.add(line, format!("step `{}` has `run`, so it can have neither `agent` nor `tools`", step.id));
    }
    fields.end();
    Some(step)
}

fn phase(fields: &mut Fields) -> Option<Phase> {
    let given = fields.mention("phase")?;
    let found = PHASES.iter().find(|(name, _)| *name == given.to).map(|(_, phase)| *phase);
    if found.is_none() {
        let known: Vec<_> = PHASES.iter().map(|(name, _)| *name).collect();
        fields.report.add(given.line, unknown("phase", &given.to, &known));
    }
    found
}

/// Ids are unique; what a step needs exists and does not lead back to it.
fn check_steps(report: &Report, steps: &[Step]) {
    let mut known = BTreeSet::new();
    for step in steps.iter().filter(|step| !step.id.is_empty()) {
        if !known.insert(step.id.as_str()) {
            report.add(step.line, format!("step `{}` is there twice", step.id));
        }
    }
    let before = report.len();
    for step in steps {
        for need in step.needs.iter().filter(|need| !known.contains(need.to.as_str())) {
            let near = meant(&need.to, known.iter().copied());
            let what = format!("step `{}` needs `{}`, which is no step here{near}", step.id, need.to);
            report.add(need.line, what);
        }
    }
    if report.len() > before || known.len() < steps.len() {
        return;
    }
    if let Some(ring) = ring(steps) {
        let line = steps.iter().find(|step| step.id == ring[0]).map_or(0, |step| step.line);
        report.add(line, format!("steps need each other in a ring: {}", ring.join(" -> ")));
    }
}

/// Steps that need each other, the first one again at the end; begins with the one written first.
fn ring(steps: &[Step]) -> Option<Vec<&str>> {
    let mut left: Vec<&Step> = steps.iter().collect();
    loop {
        let ids: BTreeSet<_> = left.iter().map(|step| step.id.as_str()).collect();
        let before = left.len();
        left.retain(|step| step.needs.iter().any(|need| ids.contains(need.to.as_str())));
        if left.len() == before {
            break;
        }
    }
    // Each step that is left needs another that is left: following the needs from any of them ends in a ring.
    let mut path = vec![left.first()?.id.as_str()];
    loop {
        let here = left.iter().find(|step| Some(&step.id.as_str()) == path.last())?;
        let next = here.needs.iter().find_map(|need| left.iter().find(|step| step.id == need.to))?;
        let seen = path.iter().position(|id| *id == next.id);
        path.push(&next.id);
        if let Some(at) = seen {
            let mut ring = path.split_off(at);
            ring.pop();
            let first = ring.iter().enumerate().min_by_key(|(_, id)| steps.iter().position(|s| s.id == **id))?.0;
            ring.rotate_left(first);
            ring.push(ring[0]);
            return Some(ring);
        }
    }
}
