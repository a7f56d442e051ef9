//! Workflows: the kinds of work, the gates of each, its steps in order, and whether everything fits together.
//!
//! Reads markdown with YAML frontmatter, writes nothing. Invariants: a `Workflow` is valid (IDs are plain,
//! steps are unique, `needs` resolve and form no cycle); all problems of a text are reported at once, each
//! with its line; text in a fence or in backticks is an example, not a link; every link, step and dependency
//! that leads nowhere or into a cycle is reported, in the order of IDs and lines.

mod outline;
mod read;
#[cfg(test)]
mod tests;

pub use outline::Detail;
pub use read::read;

pub use crate::config::problem::{Problem, meant};

use crate::model::named::named;
use crate::model::phase::Phase;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Workflow {
    pub id: String,
    pub title: String,
    pub category: String,
    pub dependencies: Vec<Mention>,
    pub gates: Vec<Gate>,
    /// The line of the gates, or of the beginning of the frontmatter.
    #[serde(skip)]
    pub gates_line: usize,
    /// In the order in which they are written.
    pub steps: Vec<Step>,
    pub variants: Vec<Variant>,
    pub body: String,
    pub links: Vec<Mention>,
}

named! {
    /// A gate that a workflow can require.
    #[derive(PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Gate {
        /// The plan is reviewed before anything may be changed.
        Critic = "critic",
        /// The result is verified before the turn may end.
        Qa = "qa",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    pub id: String,
    pub name: String,
    pub description: String,
    pub workflow: Option<Mention>,
    pub needs: Vec<Mention>,
    pub agent: Option<Mention>,
    pub run: Option<String>,
    /// Tools that the step may use; `None`: those of its agent.
    pub tools: Option<Vec<String>>,
    /// The model of this step in a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub phase: Option<Phase>,
    #[serde(skip)]
    pub line: usize,
}

/// The same workflow with some steps left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Variant {
    pub name: String,
    pub skip: Vec<Mention>,
}

/// A reference to something else, and where it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Mention {
    pub to: String,
    #[serde(skip)]
    pub line: usize,
}

impl Workflow {
    /// Every other workflow that it mentions, by the line of the first mention.
    pub fn mentions(&self) -> Vec<&Mention> {
        let steps = self.steps.iter().filter_map(|step| step.workflow.as_ref());
        let mut all: Vec<_> = self.dependencies.iter().chain(steps).chain(&self.links).collect();
        all.sort_by_key(|mention| mention.line);
        let mut seen = BTreeSet::new();
        all.retain(|mention| seen.insert(mention.to.as_str()));
        all
    }

    /// The steps in the order of execution: one at a time, each after those it needs, otherwise as written.
    pub fn order(&self) -> Vec<&Step> {
        let mut done = BTreeSet::new();
        let mut order = Vec::new();
        while let Some(step) = self.steps.iter().find(|step| {
            !done.contains(step.id.as_str()) && step.needs.iter().all(|need| done.contains(need.to.as_str()))
        }) {
            done.insert(step.id.as_str());
            order.push(step);
        }
        order
    }

    /// This workflow without the steps that the variant skips; a step that needs a skipped one inherits its
    /// needs.
    #[must_use]
    pub fn variant(&self, name: &str) -> Option<Self> {
        let skip = &self.variants.iter().find(|variant| variant.name == name)?.skip;
        let mut whole = self.clone();
        for gone in skip {
            let at = whole.steps.iter().position(|step| step.id == gone.to)?;
            let needed = whole.steps.remove(at).needs;
            for step in &mut whole.steps {
                let Some(at) = step.needs.iter().position(|need| need.to == gone.to) else { continue };
                step.needs.remove(at);
                let new = needed.iter().filter(|n| step.needs.iter().all(|have| have.to != n.to));
                let new: Vec<_> = new.cloned().collect();
                step.needs.splice(at..at, new);
            }
        }
        Some(whole)
    }
}

/// An ID that is safe as a file name, in a graph and in a sentence.
pub fn is_plain(id: &str) -> bool {
    let fits = (1..=64).contains(&id.len()) && !id.starts_with('-');
    fits && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// Every cycle that can be reached from these nodes: each node leads to the next one, and the last to the
/// first.
fn rings<'a>(
    nodes: impl Iterator<Item = &'a str>,
    next: &dyn Fn(&'a str) -> Vec<&'a str>,
) -> Vec<Vec<&'a str>> {
    fn follow<'a>(
        node: &'a str,
        next: &dyn Fn(&'a str) -> Vec<&'a str>,
        path: &mut Vec<&'a str>,
        done: &mut BTreeSet<&'a str>,
        found: &mut Vec<Vec<&'a str>>,
    ) {
        if let Some(at) = path.iter().position(|step| *step == node) {
            found.push(path[at..].to_vec());
        } else if !done.contains(node) {
            path.push(node);
            for other in next(node) {
                follow(other, next, path, done, found);
            }
            path.pop();
            done.insert(node);
        }
    }
    let mut done = BTreeSet::new();
    let mut found = Vec::new();
    for node in nodes {
        follow(node, next, &mut Vec::new(), &mut done, &mut found);
    }
    found
}

/// A piece of plain text, or a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    Text(&'a str),
    /// `[[to]]`, `[[to#part]]` or `[[to|label]]`.
    Link {
        to: &'a str,
        label: &'a str,
        line: usize,
    },
}

/// Every link outside of code, in the order of the text, which begins in line `first` of the file.
pub fn links(text: &str, first: usize) -> Vec<Mention> {
    let link = |piece| match piece {
        Piece::Link { to, line, .. } => Some(Mention { to: to.to_owned(), line }),
        Piece::Text(_) => None,
    };
    pieces(text, first).into_iter().filter_map(link).collect()
}

/// The text split at its links; joined again, the pieces are the text except for the brackets.
pub fn pieces(text: &str, first: usize) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (n, line) in text.split_inclusive('\n').enumerate() {
        let start = line.trim_start();
        match (fence, mark(start)) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if closes(open, mark, start) => fence = None,
            (None, None) => {
                in_line(line, first + n, &mut found);
                continue;
            }
            _ => {}
        }
        found.push(Piece::Text(line));
    }
    found
}

/// The backticks or tildes that begin or end a fence.
fn mark(line: &str) -> Option<&str> {
    let sign = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let long = line.chars().take_while(|c| *c == sign).count();
    // With a backtick in its info string, it is a code span in a line of text.
    let fence = long >= 3 && !(sign == '`' && line[long..].contains('`'));
    fence.then(|| &line[..long])
}

fn closes(open: &str, mark: &str, line: &str) -> bool {
    mark.starts_with(open) && line[mark.len()..].trim().is_empty()
}

fn in_line<'a>(line: &'a str, number: usize, found: &mut Vec<Piece<'a>>) {
    let mut from = 0;
    let mut at = 0;
    while let Some(next) = line[at..].find(['`', '[']) {
        let here = &line[at + next..];
        if here.starts_with('`') {
            at = line.len() - after_code(here).len();
        } else if let Some((inside, after)) = bracketed(here) {
            found.push(Piece::Text(&line[from..at + next]));
            let (place, label) = inside.split_once('|').unwrap_or((inside, inside));
            let to = place.split('#').next().unwrap_or_default().trim();
            found.push(Piece::Link { to, label: label.trim(), line: number });
            at = line.len() - after.len();
            from = at;
        } else {
            at += next + 1;
        }
    }
    found.push(Piece::Text(&line[from..]));
}

/// The text between double brackets, and the rest. It contains no bracket, so no line is read twice.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix("[[")?;
    let end = inside.find(['[', ']'])?;
    Some((&inside[..end], inside[end..].strip_prefix("]]")?))
}

/// The text after a code span, or after backticks that open none.
fn after_code(text: &str) -> &str {
    let long = text.bytes().take_while(|b| *b == b'`').count();
    let mut rest = &text[long..];
    while let Some(at) = rest.find('`') {
        let run = rest[at..].bytes().take_while(|b| *b == b'`').count();
        if run == long {
            return &rest[at + run..];
        }
        rest = &rest[at + run..];
    }
    &text[long..]
}

#[derive(Clone, Debug)]
pub struct Held {
    /// The name of its file in problems.
    pub file: String,
    pub workflow: Workflow,
    /// Gates that it must have: those of the workflow it replaces, if it may only add gates.
    pub owed: Vec<Gate>,
}

#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    held: BTreeMap<String, Held>,
    /// Files that exist but are not readable as workflows: naming one of them is not a dangling link.
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

    /// Every workflow that `id` contains, directly or indirectly: depth first, each once, without `id`
    /// itself.
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

    /// Everything that does not fit together, by file and line. `agents`: those that a step may name.
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
        let links = links(text, 1);
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

    /// Every cycle of workflows that contain each other, reported once, at the mention in its first member.
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
            let what =
                format!("step `{}` names the agent `{}`, which does not exist{near}", step.id, agent.to);
            problems.push(Problem::new(&held.file, agent.line, what));
        }
    }
}

fn check_gates(held: &Held, problems: &mut Vec<Problem>) {
    let Workflow { id, gates, gates_line, .. } = &held.workflow;
    for gate in held.owed.iter().filter(|gate| !gates.contains(gate)) {
        let gate = gate.name();
        let what =
            format!("a project's `{id}` may add gates, not drop any: `{gate}` is missing from `gates`");
        problems.push(Problem::new(&held.file, *gates_line, what));
    }
}
