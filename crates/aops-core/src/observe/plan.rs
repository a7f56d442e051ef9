//! A plan that a person approved in plan mode: the text that they were shown.
//!
//! Reads one file below the client's `plans` folder if the client's question contains no text. Invariants: it
//! is the plan of a call that a person was asked about; text written into the file after the question does
//! not count; its workflow is `feature-dev` unless a line about the workflow names another known one; the
//! person's approval is the review.

use crate::config::workflow::Gate;
use crate::model::event::Event;
use crate::model::named::Stored;
use crate::session::agent_report::{AgentReport, PlanFor};
use crate::session::fold::Session;
use crate::session::memory::PlanShown;
use crate::system::env::Env;
use crate::system::files::read_short;
use crate::text::json::{self, cut};
use crate::text::redact::redact;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const WORKFLOW: &str = "feature-dev";
const LONGEST: usize = 2000;
const MOST: usize = 40;

/// The plan that the person reads when asked about it: the text in the question, or else the plan's file as
/// it is now.
pub(super) fn shown(
    env: &Env,
    event: &Event,
    workflows: impl FnOnce() -> BTreeMap<String, Vec<Gate>>,
) -> PlanShown {
    let input = event.call().and_then(|call| json::read(&call.input).ok());
    let text = input.and_then(|input| input.text_of("plan")).filter(|text| !text.trim().is_empty());
    text.map_or(PlanShown::File(env.now_ms), |text| {
        PlanShown::Text(Box::new(of_text(&redact(&text), &workflows())))
    })
}

/// The approved plan as a report for the session; `None` for any other call, and if the person was shown
/// another text.
pub(super) fn approved(
    env: &Env,
    session: &Session,
    event: &Event,
    workflows: impl FnOnce() -> BTreeMap<String, Vec<Gate>>,
) -> Option<AgentReport> {
    let call = event.call().filter(|call| call.key.tool == "ExitPlanMode" && event.agent_id.is_none())?;
    let progress = &session.memory.progress;
    let asked = progress.plan.asked.as_deref() == Some(call.key.id.as_str());
    let plan = call.plan.as_ref().filter(|_| asked)?;
    match progress.plan.shown.as_ref()? {
        PlanShown::Text(shown) => Some((**shown).clone()),
        PlanShown::File(asked_ms) => {
            let text = read_unchanged(env, &plan.file, *asked_ms)?;
            let text = redact(&text);
            (!text.trim().is_empty()).then(|| of_text(&text, &workflows()))
        }
    }
}

/// The plan's file, unless it was changed after this time: nobody can set a file's change time back.
fn read_unchanged(env: &Env, file: &str, asked_ms: i64) -> Option<String> {
    let plans = env.config.join("plans").canonicalize().ok()?;
    let path = Path::new(file).canonicalize().ok().filter(|path| path.starts_with(&plans))?;
    let about = path.metadata().ok()?;
    let changed_ms = about.ctime().saturating_mul(1000) + about.ctime_nsec() / 1_000_000;
    read_short(&path).filter(|_| changed_ms < asked_ms)
}

fn of_text(text: &str, workflows: &BTreeMap<String, Vec<Gate>>) -> AgentReport {
    let workflow = named_workflow(text, workflows).unwrap_or(WORKFLOW);
    let gates = workflows.get(workflow).into_iter().flatten().filter(|gate| **gate != Gate::Critic);
    let gates = gates.copied().map(Stored::from).collect();
    let (criteria, steps) = items(text);
    let criteria = if criteria.is_empty() { vec![cut(text.trim(), LONGEST).to_owned()] } else { criteria };
    AgentReport {
        acceptance_criteria: criteria,
        gates,
        intent: Some(cut(text.trim(), LONGEST).to_owned()),
        steps,
        task: Some(PlanFor::New.into()),
        workflow: Some(workflow.to_owned()),
        ..AgentReport::default()
    }
}

/// The known workflow that a line with the word `workflow` names.
fn named_workflow<'a>(text: &str, workflows: &'a BTreeMap<String, Vec<Gate>>) -> Option<&'a str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let about = text.lines().filter(|line| line.to_ascii_lowercase().contains("workflow"));
    let mut words = about.flat_map(|line| line.split(move |c| !plain(c)));
    words.find_map(|word| workflows.get_key_value(word)).map(|(id, _)| id.as_str())
}

/// The items of its lists: those under a heading about criteria or verification, and the others.
fn items(text: &str) -> (Vec<String>, Vec<String>) {
    let mut criteria = Vec::new();
    let mut steps = Vec::new();
    let mut verifies = false;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with('#') {
            let title = line.to_ascii_lowercase();
            verifies =
                ["criteria", "verif", "accept", "test", "done"].iter().any(|word| title.contains(word));
            continue;
        }
        let Some(item) = item(line) else { continue };
        let list = if verifies { &mut criteria } else { &mut steps };
        if list.len() < MOST {
            list.push(cut(item, LONGEST).to_owned());
        }
    }
    (criteria, steps)
}

/// The text of `- item`, `* item`, `1. item`, `- [ ] item`.
fn item(line: &str) -> Option<&str> {
    let number = line.find(|c: char| !c.is_ascii_digit()).filter(|at| *at > 0);
    let rest = match number {
        Some(at) => line[at..].strip_prefix(". ").or_else(|| line[at..].strip_prefix(") "))?,
        None => line.strip_prefix("- ").or_else(|| line.strip_prefix("* "))?,
    };
    let rest = ["[ ] ", "[x] "].iter().find_map(|tick| rest.strip_prefix(tick)).unwrap_or(rest);
    Some(rest.trim()).filter(|rest| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> BTreeMap<String, Vec<Gate>> {
        [("feature-dev", vec![Gate::Critic, Gate::Qa]), ("debugging", vec![Gate::Qa])]
            .map(|(id, gates)| (id.to_owned(), gates))
            .into()
    }

    #[test]
    fn a_plan_is_read_as_a_person_wrote_it() {
        let plan = of_text(
            "# Greet\n\nSay hello.\n\n## Steps\n1. write it\n- [ ] show it\n\n## Verification\n* it greets\n- \n",
            &known(),
        );
        assert_eq!(
            (plan.workflow.as_deref(), &plan.gates[..]),
            (Some("feature-dev"), &[Stored::Known(Gate::Qa)][..])
        );
        assert_eq!((plan.acceptance_criteria, plan.steps.len()), (vec!["it greets".to_owned()], 2));
        assert!(plan.intent.unwrap().starts_with("# Greet"));
    }

    #[test]
    fn a_plan_may_name_its_workflow_and_without_lists_is_its_own_criterion() {
        let plan = of_text("Find the bug.\nWorkflow: `debugging`.\n", &known());
        assert_eq!(plan.workflow.as_deref(), Some("debugging"));
        assert_eq!(plan.acceptance_criteria, ["Find the bug.\nWorkflow: `debugging`."]);
        assert_eq!(
            of_text("debugging by workflow of another kind", &known()).workflow.as_deref(),
            Some("debugging")
        );
        assert_eq!(of_text("debugging\nno other word", &known()).workflow.as_deref(), Some("feature-dev"));
    }
}
