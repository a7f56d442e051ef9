//! An agent that decides by what it has heard: it takes the steps of its task, and does what a refusal tells
//! it to.

use super::conversation::{Heard, hear, hear_since};
use super::tasks::{Deed, Task};
use crate::model::{Request, Turn};
use crate::support::fenced;
use aops_core::model::agent::ours;
use serde_json::{Value, json};

/// Whose advice it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Temperament {
    /// Does first what the context of its prompt says.
    Obedient,
    /// Does first what it wants, and what it is told once it is refused.
    Realistic,
}

impl Temperament {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Obedient => "obedient",
            Self::Realistic => "realistic",
        }
    }

    fn heeds(self, heard: &Heard) -> Option<String> {
        if heard.is_refusal() {
            return Some(heard.text().to_owned());
        }
        heard.context().filter(|_| self == Self::Obedient)
    }
}

/// The next turn of the main agent, or of one that it started.
pub(super) fn answer(request: &Request, tasks: &[Task], temperament: Temperament) -> Turn {
    let turn =
        if request.agent.is_some() { report(request, tasks) } else { work(request, tasks, temperament) };
    turn.unwrap_or_else(|| Turn::text("I was not told what to do here."))
}

/// The newest prompt is the task in hand.
fn work(request: &Request, tasks: &[Task], temperament: Temperament) -> Option<Turn> {
    let (task, heard) =
        tasks.iter().rev().find_map(|task| Some((task, hear_since(request, task.prompt)?)))?;
    if let Some(deed) = propose_plan(request, task, &heard) {
        return Some(deed.turn());
    }
    if is_waiting(&heard) {
        return Some(Turn::text("I wait for the agent's report."));
    }
    let told = hear(request).into_iter().find(|heard| heard.text().contains(GUIDE));
    let guide = told.filter(|_| temperament == Temperament::Obedient && task.is_large);
    let deeds = next_deeds(task, &heard, temperament, guide.as_ref().map(Heard::text));
    let turn = deeds.into_iter().fold(None, |turn: Option<Turn>, deed| match turn {
        None => Some(deed.turn()),
        Some(turn) => Some(turn.and(&deed.tool, deed.input)),
    });
    Some(turn.unwrap_or_else(|| Turn::text(task.last_words)))
}

/// The agent that was started last works in the background, and the client has neither told its end nor
/// handed its report over, as it does in auto mode.
fn is_waiting(heard: &[Heard]) -> bool {
    let launched = |heard: &Heard| matches!(heard, Heard::Result { deed, text, .. } if deed.tool == "Agent" && text.contains("Async agent launched"));
    let Some(at) = heard.iter().rposition(launched) else { return false };
    !heard[at..]
        .iter()
        .any(|heard| matches!(heard, Heard::Words(text) if ["<task-notification", "<agent-message"].iter().any(|told| text.contains(told))))
}

const SHOW_PLAN: &str = "ExitPlanMode";

/// In plan mode: the plan written where the client says, then shown to the person.
fn propose_plan(request: &Request, task: &Task, heard: &[Heard]) -> Option<Deed> {
    let words = hear(request).into_iter().map(|heard| heard.text().to_owned()).collect::<Vec<_>>().join("\n");
    let named = words.split_whitespace().find(|word| word.contains("/plans/") && word.contains(".md"))?;
    let path = &named[named.find('/')?..named.find(".md")? + 3];
    let steps = format!("# Plan\n\n{} Then run `sh run-tests.sh`.\n", task.prompt);
    let plan = Deed::new("Write", json!({"file_path": path, "content": steps}));
    // The client adds the plan to what the conversation holds of this call.
    let is_shown = |heard: &Heard| matches!(heard, Heard::Result { deed, is_error: false, .. } if deed.tool == SHOW_PLAN);
    if !task.is_planned_by_person || heard.iter().any(is_shown) {
        return None;
    }
    let is_written = heard.iter().any(|heard| heard.is_success_of(&plan));
    Some(if is_written { Deed::new(SHOW_PLAN, json!({})) } else { plan })
}

/// The title of what a session in mode `loop` is told at its start.
const GUIDE: &str = "# How large tasks work here";
/// Where the advice for the end of the work begins.
const AT_THE_END: &str = "Once all changes are made";

/// The newest advice comes first, then what was advised before, then the steps of the task, then what is
/// advised for its end. An obedient agent plans a large task before it begins, where it was told how.
fn next_deeds(task: &Task, heard: &[Heard], temperament: Temperament, guide: Option<&str>) -> Vec<Deed> {
    let undone = |deed: &Deed, since: usize| !heard[since..].iter().any(|heard| heard.is_success_of(deed));
    let advice = |at: usize| temperament.heeds(&heard[at]);
    let now = |at: usize| {
        let text = advice(at)?;
        let now = text.split(AT_THE_END).next().unwrap_or_default();
        read_advice(now, task).into_iter().find(|deed| undone(deed, at))
    };
    let plan = start("prompt-hydrator");
    let plans = guide.is_some() && !task.is_planned_by_person;
    let first = plans.then_some(plan).filter(|plan| undone(plan, 0));
    let step = || task.steps.iter().find(|step| undone(step, 0)).cloned();
    if let Some(deed) = first.or_else(|| (0..heard.len()).rev().find_map(now)).or_else(step) {
        return vec![deed];
    }
    if task.steps.iter().all(|step| step.tool == "Read") {
        return Vec::new();
    }
    let last_step = heard.iter().rposition(|heard| task.steps.iter().any(|step| heard.is_success_of(step)));
    let at_the_end = |text: String| {
        let later = text.split_once(AT_THE_END)?.1.split(['.', '\n']).next()?;
        let groups = later.split(" then ").map(|group| read_ending(group, task));
        groups
            .map(|group| group.into_iter().filter(|deed| undone(deed, last_step.unwrap_or(0))).collect())
            .find(|group: &Vec<Deed>| !group.is_empty())
    };
    let mut advised = (0..heard.len()).rev().filter_map(advice).chain(guide.map(str::to_owned));
    advised.find_map(at_the_end).unwrap_or_default()
}

/// What a text of ours tells the agent to do, in its order: names and commands stand in backticks, the verb
/// before them.
fn read_advice(text: &str, task: &Task) -> Vec<Deed> {
    let parts: Vec<&str> = text.split('`').collect();
    let quoted = parts.chunks_exact(2).map(|pair| (pair[0].trim_end(), pair[1]));
    let deeds = quoted.filter_map(|(before, quoted)| {
        let mut words = before.strip_suffix(" the agent").unwrap_or(before).split_whitespace().rev();
        match words.next()? {
            "start" if words.next() == Some("not") => None,
            "start" => Some(start(ours(quoted)?.name)),
            "run" => Some(Deed::bash(quoted)),
            _ if quoted == "commit" => Some(commit(task, "")),
            _ => None,
        }
    });
    deeds.collect()
}

/// What belongs into one message at the end of the work: agents to start, and one line that commits, and
/// pushes too.
fn read_ending(text: &str, task: &Task) -> Vec<Deed> {
    let mut deeds = read_advice(text, task);
    if text.contains("commit") && !task.files().is_empty() {
        deeds.push(commit(task, if text.contains("push") { " && git push -q" } else { "" }));
    }
    deeds
}

fn commit(task: &Task, and: &str) -> Deed {
    let files = task.files().join(" ");
    Deed::bash(&format!("git add {files} && git commit -q -m '{}'{and}", task.name))
}

fn start(agent: &str) -> Deed {
    Deed::new("Agent", json!({"description": agent, "prompt": "Do your part.", "subagent_type": agent}))
}

/// What one of our agents reports; the title of its instructions says which it is.
fn report(request: &Request, tasks: &[Task]) -> Option<Turn> {
    let block = match request.system().lines().find_map(|line| line.strip_prefix("# "))? {
        "Prompt hydrator" => plan(request, tasks)?,
        "Critic" => json!({"verdict": "PROCEED", "acceptance_criteria": CRITERIA, "problems": []}),
        "Custodiet" => json!({"verdict": "OK"}),
        "QA verifier" => json!({"verdict": "VERIFIED"}),
        "Framework" => reflection(),
        _ => return None,
    };
    Some(Turn::text(&fenced(block)))
}

const CRITERIA: [&str; 2] =
    ["the prompt's wish is met and can be seen in the files", "`sh run-tests.sh` passes"];

/// The plan for the newest prompt in the hydrator's context.
fn plan(request: &Request, tasks: &[Task]) -> Option<Value> {
    let context = request.pieces().join("\n");
    let task = tasks.iter().rev().find(|task| context.contains(task.prompt))?;
    let kind = if task.is_new { "new" } else { "continue" };
    let steps = ["read what is there", "change it", "run `sh run-tests.sh`", "commit"];
    Some(
        json!({"workflow": task.workflow, "intent": task.prompt, "task": kind, "acceptance_criteria": CRITERIA,
        "steps": steps}),
    )
}

fn reflection() -> Value {
    json!({"reflection": {"request": "as the prompt says", "guidance_received": "the workflow and its criteria",
        "followed": "Yes", "outcome": "success", "accomplishment": "what was asked, and its tests pass",
        "root_cause": "none", "proposed_change": "none"}})
}
