//! The steps of a run in order: what each does, and what it may change.
//!
//! Reads a workflow, writes nothing. Invariants: the order is the workflow's own and fixed; every gate of the
//! workflow is met by a step, or there is no plan.

use crate::run::state::{MOST_ROUNDS, intervention_id};
use aops_core::config::policy::{Gates, Level};
use aops_core::config::workflow::{Gate, Step, Workflow};
use aops_core::model::agent::AgentId;
use aops_core::model::client::Client;
use aops_core::model::phase::Sandbox;
use aops_core::model::{agent::ours, phase::Phase, profile::Profile};
use aops_core::text::template::quote;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedStep {
    pub id: String,
    pub name: String,
    pub description: String,
    /// The workflow that describes how to do it.
    pub inner: Option<String>,
    pub does: StepAction,
    /// The model to use; `None` means the run's model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub phase: Phase,
    pub sandbox: Sandbox,
    /// The work is committed and pushed in this step.
    pub closes: bool,
    /// Changes since the last verification are verified in this step, before it closes.
    pub verifies: bool,
    /// The step whose verifier found what this one fixes.
    #[serde(skip)]
    pub mends: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StepAction {
    /// A shell command.
    Run(String),
    /// The client: for the verdict of one of our agents, as another agent, or without an agent.
    Client { agent: Option<String>, tools: Option<Vec<String>> },
}

/// Tools that change something.
const CHANGING: [&str; 6] = ["Write", "Edit", "MultiEdit", "NotebookEdit", "Bash", "PowerShell"];

impl PlannedStep {
    /// Our agent whose verdict the step owes.
    pub fn verdict_of(&self) -> Option<AgentId> {
        match &self.does {
            StepAction::Client { agent: Some(agent), .. } => ours(agent).map(|agent| agent.id),
            _ => None,
        }
    }

    pub fn is_client(&self) -> bool {
        matches!(self.does, StepAction::Client { .. })
    }

    /// An agent that is not ours; it owes no verdict.
    pub fn foreign_agent(&self) -> Option<&str> {
        match &self.does {
            StepAction::Client { agent: Some(agent), .. } if ours(agent).is_none() => Some(agent),
            _ => None,
        }
    }

    /// How its commands are jailed: only a step that works or closes changes the tree.
    pub fn profile(&self) -> Profile {
        if self.sandbox == Sandbox::Open || self.closes { Profile::Work } else { Profile::Trial }
    }

    /// What runs, for a table: a command line, an agent, or the client.
    pub fn by(&self, client: Client) -> String {
        match &self.does {
            StepAction::Run(line) => format!("$ {line}"),
            StepAction::Client { agent: Some(agent), .. } => agent.clone(),
            StepAction::Client { agent: None, .. } => client.name().to_owned(),
        }
    }
}

/// The plan of this workflow, or why there is none: each owed gate must be met by a step.
pub fn plan(workflow: &Workflow, owed: &[Gate], gates: &Gates) -> Result<Vec<PlannedStep>, String> {
    let mut steps: Vec<PlannedStep> = workflow.order().into_iter().map(planned).collect();
    let open =
        |step: &PlannedStep| step.sandbox == Sandbox::Open && matches!(step.does, StepAction::Client { .. });
    let by = |steps: &[PlannedStep], agent| steps.iter().any(|step| step.verdict_of() == Some(agent));
    let (Some(first), Some(last)) = (steps.iter().position(open), steps.iter().rposition(open)) else {
        return Ok(steps);
    };
    for gate in owed {
        let (level, agent, when) = match gate {
            Gate::Critic => (gates.critic, AgentId::Critic, "before its first change"),
            Gate::Qa => (gates.qa, AgentId::QaVerifier, "after its last change"),
        };
        let served = match gate {
            _ if level != Level::Enforce => true,
            Gate::Critic => by(&steps[..first], agent),
            Gate::Qa => {
                by(&steps[last..], agent) || by(&steps[first..], agent) && verify_at_close(&mut steps[last..])
            }
        };
        if !served {
            return Err(format!(
                "`{}` has the gate `{}`, but no step by `{agent}` {when}\nhint: add one, or run `build-loop`",
                workflow.id,
                gate.name()
            ));
        }
    }
    Ok(steps)
}

/// Makes the closing step verify the changes made after the verification. Returns `false` if no step closes.
fn verify_at_close(after: &mut [PlannedStep]) -> bool {
    let closes = after.iter_mut().find(|step| step.closes && matches!(step.does, StepAction::Client { .. }));
    closes.map(|step| step.verifies = true).is_some()
}

fn planned(step: &Step) -> PlannedStep {
    let agent = step.agent.as_ref().map(|agent| agent.to.clone());
    let does = match &step.run {
        Some(line) => StepAction::Run(line.clone()),
        None => StepAction::Client { agent, tools: step.tools.clone() },
    };
    let reviewer = matches!(&does, StepAction::Client { agent: Some(agent), .. } if ours(agent).is_some());
    let reads = step.tools.as_ref().is_some_and(|tools| {
        tools.iter().all(|tool| CHANGING.iter().all(|changing| !tool.starts_with(changing)))
    });
    let phase = step.phase.unwrap_or(if reads || reviewer { Phase::Review } else { Phase::Execute });
    let working = matches!(phase, Phase::Execute | Phase::Intervene);
    PlannedStep {
        id: step.id.clone(),
        name: step.name.clone(),
        description: step.description.clone(),
        inner: step.workflow.as_ref().map(|inner| inner.to.clone()),
        does,
        model: step.model.clone(),
        phase,
        sandbox: if working && !reads && !reviewer { Sandbox::Open } else { Sandbox::Shut },
        closes: matches!(phase, Phase::Reflect | Phase::Close),
        verifies: false,
        mends: None,
    }
}

/// The index of the step that makes the plan a critic reviews, among the steps before that review: the first
/// client step of phase `hydrate` after the last planner's, or the planner's itself.
pub fn plan_step(before: &[PlannedStep]) -> Option<usize> {
    let is_planner = |step: &PlannedStep| step.verdict_of() == Some(AgentId::Hydrator);
    let plans =
        |step: &PlannedStep| step.phase == Phase::Hydrate && matches!(step.does, StepAction::Client { .. });
    let planner = before.iter().rposition(is_planner);
    let after = planner.map_or(0, |at| at + 1);
    before[after..].iter().position(plans).map(|at| after + at).or(planner)
}

/// The step that fixes what the verifier found in this one.
pub fn intervention(verify: &PlannedStep, round: u64, issues: &str) -> PlannedStep {
    PlannedStep {
        id: intervention_id(&verify.id, round),
        name: format!("Intervention {round} of {MOST_ROUNDS}"),
        description: format!("Repair what the verification found, and nothing else:\n{}", quote(issues)),
        inner: None,
        does: StepAction::Client {
            agent: None,
            tools: Some(["Read", "Grep", "Glob", "Edit", "Write", "Bash"].map(str::to_owned).to_vec()),
        },
        model: None,
        phase: Phase::Intervene,
        sandbox: Sandbox::Open,
        closes: false,
        verifies: false,
        mends: Some(verify.id.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aops_core::config::workflow;

    fn of(gates: &str, steps: &str) -> Result<Vec<PlannedStep>, String> {
        let text = format!(
            "---\nid: w\ntitle: W\ntype: workflow\ncategory: test\ndependencies: []\ngates: \
            [{gates}]\nsteps:\n{steps}---\n\n# W\n\n## Overview\n\nx\n\n## When to Use\n\nx\n\n## Steps\n\n\
            x\n\n## Success Metrics\n\nx\n"
        );
        let workflow = workflow::read("w.md", &text).unwrap();
        plan(&workflow, &workflow.gates, &Gates::default())
    }

    fn step(id: &str, more: &str) -> String {
        format!("  - {{id: {id}, name: {id}, description: do {id}{more}}}\n")
    }

    #[test]
    fn what_a_step_may_change() {
        let steps = [
            step("plain", ""),
            step("reads", ", tools: [Read, Grep]"),
            step("works", ", tools: [Read, Bash]"),
            step("plans", ", phase: hydrate"),
            step("runs", ", run: echo hi"),
            step("judges", ", agent: critic"),
            step("closes", ", phase: close"),
        ];
        let steps = of("", &steps.concat()).unwrap();
        let open: Vec<_> =
            steps.iter().filter(|step| step.sandbox == Sandbox::Open).map(|step| step.id.as_str()).collect();
        assert_eq!(open, ["plain", "works", "runs"]);
        assert!(steps[6].closes && !steps[0].closes);
        assert_eq!((steps[5].verdict_of(), steps[0].verdict_of()), (Some(AgentId::Critic), None));
    }

    #[test]
    fn every_gate_is_met_by_a_step() {
        let build = step("build", ", phase: execute");
        assert!(of("critic", &build).unwrap_err().contains("`critic`"));
        assert!(of("qa", &(step("check", ", agent: qa-verifier") + &build)).is_err(), "verified too early");
        assert!(of("qa", &(build.clone() + &step("check", ", agent: qa-verifier"))).is_ok());
        let qa = step("check", ", agent: qa-verifier");
        let docs = step("docs", ", phase: execute");
        let wrong = of("qa", &[&*build, &*qa, &*docs].concat()).unwrap_err();
        assert!(wrong.contains("after its last change"), "{wrong}");
        let end = step("end", ", agent: framework, phase: reflect");
        let steps = of("qa", &[&*build, &*qa, &*docs, &*end].concat()).unwrap();
        assert_eq!(steps.iter().map(|step| step.verifies).collect::<Vec<_>>(), [false, false, false, true]);
        let steps = of("qa", &[&*build, &*docs, &*qa, &*end].concat()).unwrap();
        assert!(steps.iter().all(|step| !step.verifies), "nothing is changed after it");
        assert!(of("critic, qa", &step("make", ", run: make")).is_ok(), "no agent changes anything");
    }
}
