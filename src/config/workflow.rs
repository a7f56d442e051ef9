//! Workflows: what kinds of work there are, which gates each has, and its steps in order.
//!
//! Reads markdown with YAML frontmatter, writes nothing. Invariants: a `Workflow` is whole (ids are plain, steps are
//! unique, `needs` resolve and form no ring); all problems of a text are reported at once, each with its line.

mod catalogue;
mod layout;
mod link;
mod read;
#[cfg(test)]
mod tests;

pub use catalogue::{Catalogue, Held};
pub use layout::{Layout, Slot};
pub use link::{Piece, links, pieces};
pub use read::read;

pub use crate::config::problem::{Problem, meant};

use crate::model::phase::Phase;
use serde::Serialize;
use std::collections::BTreeSet;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Workflow {
    pub id: String,
    pub title: String,
    pub category: String,
    pub dependencies: Vec<Mention>,
    pub gates: Vec<Gate>,
    /// Where the gates are said, or the frontmatter begins.
    #[serde(skip)]
    pub gates_line: usize,
    /// As written.
    pub steps: Vec<Step>,
    pub variants: Vec<Variant>,
    pub body: String,
    pub links: Vec<Mention>,
}

/// A gate that a workflow can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Gate {
    /// The plan is reviewed before anything may be changed.
    Critic,
    /// The result is verified before the turn may end.
    Qa,
}

impl Gate {
    pub const ALL: [Gate; 2] = [Gate::Critic, Gate::Qa];

    pub fn name(self) -> &'static str {
        match self {
            Gate::Critic => "critic",
            Gate::Qa => "qa",
        }
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
    /// What the step may use; `None`: as its agent says.
    pub tools: Option<Vec<String>>,
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

/// A name of something else, and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    pub to: String,
    pub line: usize,
}

impl Serialize for Mention {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to)
    }
}

impl Workflow {
    /// Every other workflow it names, by the line of the first mention.
    pub fn mentions(&self) -> Vec<&Mention> {
        let steps = self.steps.iter().filter_map(|step| step.workflow.as_ref());
        let mut all: Vec<_> = self.dependencies.iter().chain(steps).chain(&self.links).collect();
        all.sort_by_key(|mention| mention.line);
        let mut seen = BTreeSet::new();
        all.retain(|mention| seen.insert(mention.to.as_str()));
        all
    }

    /// The steps as they are walked: one at a time, each after what it needs, otherwise as written.
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

    /// This workflow without the steps that the variant skips; a step that needs a skipped one inherits its needs.
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

/// An id that is safe as a file name, in a graph and in a sentence.
pub fn is_plain(id: &str) -> bool {
    let fits = (1..=64).contains(&id.len()) && !id.starts_with('-');
    fits && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// Every ring that is met on the way from these nodes: each leads to the next one, and the last to the first.
fn rings<'a>(nodes: impl Iterator<Item = &'a str>, next: &dyn Fn(&'a str) -> Vec<&'a str>) -> Vec<Vec<&'a str>> {
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
    let (mut done, mut found) = (BTreeSet::new(), Vec::new());
    for node in nodes {
        follow(node, next, &mut Vec::new(), &mut done, &mut found);
    }
    found
}
