//! A plan that a person approved in plan mode, read from its file.
//!
//! Reads one file below the client's `plans` folder. Invariants: it is the plan of a call that a person was asked about;
//! its workflow is `feature-dev` unless a line about the workflow names another that is known; the review was the person's.

use crate::model::event::Event;
use crate::session::agent_report::AgentReport;
use crate::session::fold::Session;
use crate::system::env::Env;
use crate::system::files;
use crate::text::json::cut;
use crate::text::redact::redact;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

const WORKFLOW: &str = "feature-dev";
const LARGEST: u64 = 256 << 10;
const LONGEST: usize = 2000;
const MOST: usize = 40;

/// The approved plan as a report that moves the loop; nothing for any other call.
pub(super) fn approved(
    env: &Env,
    session: &Session,
    event: &Event,
    workflows: impl FnOnce() -> BTreeMap<String, Vec<String>>,
) -> Option<AgentReport> {
    let call = event.call.as_ref().filter(|call| call.key.tool == "ExitPlanMode" && event.agent_id.is_none())?;
    let asked = session.memory.progress.plan_asked.as_deref() == Some(call.key.id.as_str());
    let plan = call.plan.as_ref().filter(|_| asked)?;
    let text = read(env, &plan.file).unwrap_or_else(|| plan.text.clone());
    let text = redact(&text).into_owned();
    (!text.trim().is_empty()).then(|| of_text(&text, &workflows()))
}

fn read(env: &Env, file: &str) -> Option<String> {
    let plans = env.config.join("plans").canonicalize().ok()?;
    let path = Path::new(file).canonicalize().ok().filter(|path| path.starts_with(&plans))?;
    let mut text = String::new();
    let file = files::open(path).ok()?;
    file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    file.take(LARGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

fn of_text(text: &str, workflows: &BTreeMap<String, Vec<String>>) -> AgentReport {
    let workflow = named_workflow(text, workflows).unwrap_or(WORKFLOW);
    let gates = workflows.get(workflow).into_iter().flatten().filter(|gate| *gate != "critic").cloned().collect();
    let (criteria, steps) = items(text);
    let criteria = if criteria.is_empty() { vec![cut(text.trim(), LONGEST).to_owned()] } else { criteria };
    AgentReport {
        acceptance_criteria: criteria,
        gates,
        intent: Some(cut(text.trim(), LONGEST).to_owned()),
        steps,
        task: Some("new".to_owned()),
        workflow: Some(workflow.to_owned()),
        ..AgentReport::default()
    }
}

/// The known workflow that a line with the word `workflow` names.
fn named_workflow<'a>(text: &str, workflows: &'a BTreeMap<String, Vec<String>>) -> Option<&'a str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let about = text.lines().filter(|line| line.to_ascii_lowercase().contains("workflow"));
    let mut words = about.flat_map(|line| line.split(move |c| !plain(c)));
    words.find_map(|word| workflows.get_key_value(word)).map(|(id, _)| id.as_str())
}

/// The items of its lists: those under a heading about criteria or verification, and the others.
fn items(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut criteria, mut steps, mut verifies) = (Vec::new(), Vec::new(), false);
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with('#') {
            let title = line.to_ascii_lowercase();
            verifies = ["criteria", "verif", "accept", "test", "done"].iter().any(|word| title.contains(word));
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

    fn known() -> BTreeMap<String, Vec<String>> {
        let gates = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        [("feature-dev", gates(&["critic", "qa"])), ("debugging", gates(&["qa"]))]
            .map(|(id, gates)| (id.to_owned(), gates))
            .into()
    }

    #[test]
    fn a_plan_is_read_as_a_person_wrote_it() {
        let plan = of_text(
            "# Greet\n\nSay hello.\n\n## Steps\n1. write it\n- [ ] show it\n\n## Verification\n* it greets\n- \n",
            &known(),
        );
        assert_eq!((plan.workflow.as_deref(), &plan.gates[..]), (Some("feature-dev"), &["qa".to_owned()][..]));
        assert_eq!((plan.acceptance_criteria, plan.steps.len()), (vec!["it greets".to_owned()], 2));
        assert!(plan.intent.unwrap().starts_with("# Greet"));
    }

    #[test]
    fn a_plan_may_name_its_workflow_and_without_lists_is_its_own_criterion() {
        let plan = of_text("Find the bug.\nWorkflow: `debugging`.\n", &known());
        assert_eq!(plan.workflow.as_deref(), Some("debugging"));
        assert_eq!(plan.acceptance_criteria, ["Find the bug.\nWorkflow: `debugging`."]);
        assert_eq!(of_text("debugging by workflow of another kind", &known()).workflow.as_deref(), Some("debugging"));
        assert_eq!(of_text("debugging\nno other word", &known()).workflow.as_deref(), Some("feature-dev"));
    }
}
