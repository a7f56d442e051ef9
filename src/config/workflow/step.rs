//! Reads the steps of a workflow and checks that they can be walked.
//!
//! Reads the frontmatter's nodes, writes nothing. Invariant: steps without a problem have one fixed order.

use super::frontmatter::{Fields, plain, unknown};
use super::{Problem, Step, is_plain, meant};
use crate::model::phase::Phase;
use crate::text::yaml::{Node, Value};
use std::collections::BTreeSet;

/// Nobody walks more; and a graph of more is no picture.
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

pub(super) fn steps(file: &str, fields: &mut Fields, problems: &mut Vec<Problem>) -> Vec<Step> {
    let line = fields.line;
    let items: &[Node] = match fields.node("steps") {
        None => &[],
        Some(Node { value: Value::List(items), .. }) => items,
        Some(node) => {
            let what = format!("`steps` must be a list, not {}", node.value.kind());
            problems.push(Problem::new(file, node.line, what));
            return Vec::new();
        }
    };
    if items.is_empty() {
        problems.push(Problem::new(file, line, "`steps` is missing or empty"));
    }
    if let Some(extra) = items.get(MOST) {
        let what = format!("more than {MOST} steps: cut the workflow in parts that contain each other");
        problems.push(Problem::new(file, extra.line, what));
        return Vec::new();
    }
    let numbered = items.iter().enumerate();
    let steps: Vec<_> = numbered.filter_map(|(n, node)| step(file, n + 1, node, problems)).collect();
    check_steps(file, &steps, problems);
    steps
}

fn step(file: &str, number: usize, node: &Node, problems: &mut Vec<Problem>) -> Option<Step> {
    let mut fields = Fields::new(file, node, &format!(" of step {number}"), problems)?;
    let line = fields.line;
    let id = fields.required("id", problems);
    if is_plain(&id.to) {
        fields.of = format!(" of step `{}`", id.to);
    } else if !id.to.is_empty() {
        problems.push(Problem::new(file, id.line, plain("step id", &id.to)));
    }
    let step = Step {
        name: fields.required("name", problems).to,
        description: fields.required("description", problems).to,
        workflow: fields.mention("workflow", problems),
        needs: fields.list("needs", problems).unwrap_or_default(),
        agent: fields.mention("agent", problems),
        run: fields.text("run", problems),
        tools: fields.list("tools", problems).map(|tools| tools.into_iter().map(|tool| tool.to).collect()),
        phase: phase(file, &mut fields, problems),
        id: id.to,
        line,
    };
    if step.run.is_some() && (step.agent.is_some() || step.tools.is_some()) {
        let what = format!("step `{}` has `run`, so it can have neither `agent` nor `tools`", step.id);
        problems.push(Problem::new(file, line, what));
    }
    fields.end(problems);
    Some(step)
}

fn phase(file: &str, fields: &mut Fields, problems: &mut Vec<Problem>) -> Option<Phase> {
    let given = fields.mention("phase", problems)?;
    let found = PHASES.iter().find(|(name, _)| *name == given.to).map(|(_, phase)| *phase);
    if found.is_none() {
        let known: Vec<_> = PHASES.iter().map(|(name, _)| *name).collect();
        problems.push(Problem::new(file, given.line, unknown("phase", &given.to, &known)));
    }
    found
}

/// Ids are unique; what a step needs is there, is not itself, and leads back to it by no way.
fn check_steps(file: &str, steps: &[Step], problems: &mut Vec<Problem>) {
    let mut known = BTreeSet::new();
    for step in steps.iter().filter(|step| !step.id.is_empty()) {
        if !known.insert(step.id.as_str()) {
            problems.push(Problem::new(file, step.line, format!("step `{}` is there twice", step.id)));
        }
    }
    let before = problems.len();
    for step in steps {
        for need in step.needs.iter().filter(|need| !known.contains(need.to.as_str())) {
            let near = meant(&need.to, known.iter().copied());
            let what = format!("step `{}` needs `{}`, which is no step here{near}", step.id, need.to);
            problems.push(Problem::new(file, need.line, what));
        }
    }
    if problems.len() > before || known.len() < steps.len() {
        return;
    }
    if let Some(ring) = ring(steps) {
        let line = steps.iter().find(|step| step.id == ring[0]).map_or(0, |step| step.line);
        let what = format!("steps need each other in a ring: {}", ring.join(" -> "));
        problems.push(Problem::new(file, line, what));
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
    // Whoever is left needs somebody who is left: walking on from any of them must come back.
    let mut path = vec![left.first()?.id.as_str()];
    loop {
        let here = left.iter().find(|step| Some(&step.id.as_str()) == path.last())?;
        let next = here.needs.iter().find_map(|need| left.iter().find(|step| step.id == need.to))?;
        let seen = path.iter().position(|id| *id == next.id);
        path.push(&next.id);
        if let Some(at) = seen {
            let mut ring = path.split_off(at);
            ring.pop();
            let first =
                ring.iter().enumerate().min_by_key(|(_, id)| steps.iter().position(|s| s.id == **id))?.0;
            ring.rotate_left(first);
            ring.push(ring[0]);
            return Some(ring);
        }
    }
}
