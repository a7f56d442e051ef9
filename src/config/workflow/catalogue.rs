//! All workflows in force, and whether they fit together.
//!
//! Reads workflows, writes nothing. Invariants: the order of everything here is that of ids and lines, never of folders;
//! every link, step and dependency that leads nowhere or in a ring is named.

use super::{Gate, Problem, Workflow, meant, rings};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug)]
pub struct Held {
    /// What to call its file in a problem.
    pub file: String,
    pub workflow: Workflow,
    /// Gates it must have: those of the one it takes the place of, if it may only add.
    pub owed: Vec<Gate>,
}

#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    held: BTreeMap<String, Held>,
    /// There, but not readable as workflows: naming one of them is no dangling link.
    broken: BTreeSet<String>,
}

impl Catalogue {
    pub fn new(held: impl IntoIterator<Item = Held>, broken: impl IntoIterator<Item = String>) -> Self {
        let held = held.into_iter().map(|held| (held.workflow.id.clone(), held)).collect();
        Self { held, broken: broken.into_iter().collect() }
    }

    pub fn get(&self, id: &str) -> Option<&Held> {
        self.held.get(id)
    }

    pub fn all(&self) -> impl Iterator<Item = &Held> {
        self.held.values()
    }

    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.held.keys().map(String::as_str)
    }

    /// Every workflow that `id` contains, through any number of others: depth first, each once, without `id` itself.
    pub fn contained(&self, id: &str) -> Vec<&Held> {
        let Some(held) = self.held.get(id) else { return Vec::new() };
        let mut found = vec![held];
        self.walk(held, &mut found);
        found.remove(0);
        found
    }

    fn walk<'a>(&'a self, held: &Held, found: &mut Vec<&'a Held>) {
        for next in held.workflow.mentions().iter().filter_map(|mention| self.held.get(&mention.to)) {
            if found.iter().all(|known| known.workflow.id != next.workflow.id) {
                found.push(next);
                self.walk(next, found);
            }
        }
    }

    /// Everything that does not fit, by file and line. `agents` are those a step may name.
    pub fn problems(&self, agents: &BTreeSet<String>) -> Vec<Problem> {
        let mut problems: Vec<_> = self.rings();
        for held in self.all() {
            self.check_mentions(held, &mut problems);
            check_agents(held, agents, &mut problems);
            check_gates(held, &mut problems);
        }
        problems.sort();
        problems
    }

    pub fn dangling(&self, file: &str, text: &str) -> Vec<Problem> {
        let links = super::links(text, 1);
        links.iter().filter_map(|link| self.dangles(file, "link", &link.to, link.line)).collect()
    }

    fn dangles(&self, file: &str, what: &str, to: &str, line: usize) -> Option<Problem> {
        if self.held.contains_key(to) || self.broken.contains(to) {
            return None;
        }
        let near = meant(to, self.ids());
        let shown = if what == "link" { format!("[[{to}]]") } else { to.to_owned() };
        Some(Problem::new(file, line, format!("dangling {what} `{shown}`: there is no such workflow{near}")))
    }

    fn check_mentions(&self, held: &Held, problems: &mut Vec<Problem>) {
        let Workflow { dependencies, steps, links, .. } = &held.workflow;
        let dependencies = dependencies.iter().map(|mention| ("dependency", mention));
        let steps = steps.iter().filter_map(|step| Some(("`workflow` of a step,", step.workflow.as_ref()?)));
        let links = links.iter().map(|mention| ("link", mention));
        let all = dependencies.chain(steps).chain(links);
        problems.extend(all.filter_map(|(what, m)| self.dangles(&held.file, what, &m.to, m.line)));
    }

    /// Every ring of workflows that contain each other, told once, at the mention that leaves its first member.
    fn rings(&self) -> Vec<Problem> {
        let mentions = |id| self.held.get(id).map_or(Vec::new(), |held| held.workflow.mentions());
        let next = |id| mentions(id).into_iter().map(|mention| mention.to.as_str()).collect();
        rings(self.ids(), &next).into_iter().filter_map(|ring| self.ring(ring)).collect()
    }

    fn ring(&self, mut ring: Vec<&str>) -> Option<Problem> {
        let smallest = ring.iter().enumerate().min_by_key(|(_, id)| **id)?.0;
        ring.rotate_left(smallest);
        ring.push(ring[0]);
        let held = self.held.get(ring[0])?;
        let line = held.workflow.mentions().iter().find(|mention| mention.to == ring[1])?.line;
        let what = format!("workflows contain each other in a ring: {}", ring.join(" -> "));
        Some(Problem::new(&held.file, line, what))
    }
}

fn check_agents(held: &Held, agents: &BTreeSet<String>, problems: &mut Vec<Problem>) {
    for (step, agent) in held.workflow.steps.iter().filter_map(|step| Some((step, step.agent.as_ref()?))) {
        if !agents.contains(&agent.to) {
            let near = meant(&agent.to, agents.iter().map(String::as_str));
            let what = format!("step `{}` names the agent `{}`, which does not exist{near}", step.id, agent.to);
            problems.push(Problem::new(&held.file, agent.line, what));
        }
    }
}

fn check_gates(held: &Held, problems: &mut Vec<Problem>) {
    let Workflow { id, gates, gates_line, .. } = &held.workflow;
    for gate in held.owed.iter().filter(|gate| !gates.contains(gate)) {
        let gate = gate.name();
        let what = format!("a project's `{id}` may add gates, not drop any: `{gate}` is missing from `gates`");
        problems.push(Problem::new(&held.file, *gates_line, what));
    }
}
