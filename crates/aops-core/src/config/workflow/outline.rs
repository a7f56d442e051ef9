//! Describes a workflow: its steps in order, with the steps of the workflows inside them.

use super::{Catalogue, Step};

/// How much of a step is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    Whole,
    /// The first clause of its description.
    Clause,
    Name,
}

impl Catalogue {
    /// One line: `Understand → Agree on the plan (Draft → Review; critic) → …`; `None` for an unknown ID.
    pub fn chain(&self, id: &str) -> Option<String> {
        self.chain_below(id, &mut vec![id])
    }

    fn chain_below<'a>(&'a self, id: &str, path: &mut Vec<&'a str>) -> Option<String> {
        let steps: Vec<String> =
            self.get(id)?.workflow.order().iter().map(|step| self.link(step, path)).collect();
        Some(steps.join(" → "))
    }

    fn link<'a>(&'a self, step: &'a Step, path: &mut Vec<&'a str>) -> String {
        let inner = self.inside(step, path, |catalogue, inner, path| catalogue.chain_below(inner, path));
        let agent = step.agent.as_ref().map(|agent| agent.to.clone());
        let more: Vec<String> = [inner, agent].into_iter().flatten().collect();
        if more.is_empty() { step.name.clone() } else { format!("{} ({})", step.name, more.join("; ")) }
    }

    /// A numbered line for each step, or all names on one line; an inner workflow is only named. `None` for
    /// an unknown ID.
    pub fn steps(&self, id: &str, detail: Detail) -> Option<String> {
        let steps = self.get(id)?.workflow.order();
        let line = |(step, number): (&Step, usize)| {
            let inner =
                step.workflow.as_ref().map(|inner| format!(" (as in `{}`)", inner.to)).unwrap_or_default();
            match detail {
                Detail::Whole => describe_step(step, number, &inner, step.description.trim()),
                Detail::Clause => describe_step(step, number, &inner, first_clause(step.description.trim())),
                Detail::Name => format!("{number}. {}{inner} ", step.name),
            }
        };
        Some(steps.into_iter().zip(1..).map(line).collect())
    }

    /// The same with the steps of inner workflows, indented.
    pub fn outline(&self, id: &str) -> Option<String> {
        self.outline_below(id, &mut vec![id])
    }

    fn outline_below<'a>(&'a self, id: &str, path: &mut Vec<&'a str>) -> Option<String> {
        let indent = "   ".repeat(path.len() - 1);
        let mut text = String::new();
        for (step, number) in self.get(id)?.workflow.order().into_iter().zip(1..) {
            text += &indent;
            text += &describe_step(step, number, "", step.description.trim());
            let inner =
                self.inside(step, path, |catalogue, inner, path| catalogue.outline_below(inner, path));
            text += &inner.unwrap_or_default();
        }
        Some(text)
    }

    /// The description of a step's own workflow, unless that leads back to a workflow that contains it.
    fn inside<'a>(
        &'a self,
        step: &'a Step,
        path: &mut Vec<&'a str>,
        show: impl FnOnce(&'a Self, &'a str, &mut Vec<&'a str>) -> Option<String>,
    ) -> Option<String> {
        let inner =
            step.workflow.as_ref().map(|inner| inner.to.as_str()).filter(|inner| !path.contains(inner))?;
        path.push(inner);
        let shown = show(self, inner, path);
        path.pop();
        shown
    }
}

/// The text up to the first `;` or full stop before a space.
fn first_clause(text: &str) -> &str {
    let end = ["; ", ". "].iter().filter_map(|mark| text.find(mark)).min();
    end.map_or(text, |end| &text[..end])
}

fn describe_step(step: &Step, number: usize, inner: &str, description: &str) -> String {
    let agent = step.agent.as_ref().map(|agent| format!(" (agent `{}`)", agent.to)).unwrap_or_default();
    let run = step.run.as_ref().map(|run| format!(" (run `{run}`)")).unwrap_or_default();
    format!("{number}. {}{agent}{run}{inner}: {description}\n", step.name)
}
