//! Parses the fenced block that each of our agents must end its report with.
//!
//! Reads nothing, writes nothing. Invariants: exactly one fence with the info string `aops`, followed by
//! nothing but white space; a missing or ill-typed key is an error, an unknown key is ignored. The error
//! tells the agent what to fix.

use crate::config::workflow::Gate;
use crate::model::agent::{Agent, AgentId};
use crate::model::named::{Stored, named};
use crate::model::outcome::AgentVerdict;
use crate::session::reflection::FIELDS;
use crate::text::json::{self, Json};
use crate::text::redact::redact;
use crate::tool::tracking::is_id;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The parsed report of one of our agents. Stored: fields in sorted order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentReport {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptance_criteria: Vec<String>,
    /// Hydrator: the workflow's gates at that time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Stored<Gate>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// Hydrator: the tracker's issue that the task is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
    /// Hydrator: the kind of work whose result is worth remembering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Stored<WorkKind>>,
    /// Hydrator: the parked task to continue, by its number in the list, the newest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked: Option<u64>,
    /// Framework: patterns that appeared in more than one session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
    /// The critic's problems, the verifier's issues, or custodiet's violation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reflection: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// Hydrator: whether the current task continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Stored<PlanFor>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Stored<AgentVerdict>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
}

named! {
    /// The task that a plan is for.
    pub enum PlanFor {
        New = "new",
        Continue = "continue",
    }
}

impl AgentReport {
    pub fn continues(&self) -> bool {
        self.task.as_ref().is_some_and(|task| *task == PlanFor::Continue)
    }

    pub fn says(&self, verdict: AgentVerdict) -> bool {
        self.verdict.as_ref().is_some_and(|said| *said == verdict)
    }
}

named! {
    /// A kind of work after which the memory is updated.
    pub enum WorkKind {
        Architecture = "architecture",
        Domain = "domain",
        Refactor = "refactor",
    }
}

/// Longer texts and lists of a report are cut off.
const LONGEST: usize = 2000;
const MOST: usize = 40;

/// Parses this agent's report. `workflows` are the IDs and gates from which a hydrator may choose.
pub fn read(
    agent: &Agent,
    report: &str,
    workflows: &BTreeMap<String, Vec<Gate>>,
) -> Result<AgentReport, String> {
    let block = fenced(report)?;
    let json = json::read(block).map_err(|e| format!("the `aops` block is not JSON: {e}"))?;
    let Json::Object(_) = json else { return Err("the `aops` block is not one JSON object".to_owned()) };
    if let Some(name) = said_twice(&json) {
        return Err(format!(
            "`{}` appears twice in the `aops` block; it must appear once",
            json::cut(&name, 64)
        ));
    }
    match agent.id {
        AgentId::Hydrator => hydration(&json, workflows),
        AgentId::Critic => critic(&json),
        AgentId::Custodiet => custodiet(&json),
        AgentId::QaVerifier => qa(&json),
        AgentId::Framework => reflection(&json),
    }
}

/// Finds a refusing verdict in a report that came without an event of its own: BLOCK, HALT, REVISE, ISSUES.
/// Nothing else in it counts, so its form does not matter: a BLOCK in prose or between two blocks counts,
/// too.
pub fn read_refusal(agent: &Agent, report: &str) -> Option<AgentReport> {
    let forbids: &[AgentVerdict] = match agent.id {
        AgentId::Custodiet => &[AgentVerdict::Block],
        AgentId::Critic => &[AgentVerdict::Halt, AgentVerdict::Revise],
        AgentId::QaVerifier => &[AgentVerdict::Issues],
        AgentId::Hydrator | AgentId::Framework => return None,
    };
    let whole = read(agent, report, &BTreeMap::new());
    if let Ok(finding) = whole {
        let refuses = forbids.iter().any(|verdict| finding.says(*verdict));
        return refuses.then_some(finding);
    }
    let (verdict, at) = forbids.iter().find_map(|verdict| Some((*verdict, says(report, verdict.name())?)))?;
    let object = object_around(report, at);
    let listed = |name: &str| object.as_ref().and_then(|json| texts(json, name).ok()).unwrap_or_default();
    let violation = object.as_ref().and_then(|json| text(json, "violation").ok());
    let mut problems: Vec<String> =
        violation.into_iter().chain(listed("problems")).chain(listed("issues")).collect();
    problems.retain(|problem| !problem.trim().is_empty());
    if problems.is_empty() {
        problems.push(format!("`{}` said {verdict}; its report was not delivered whole", agent.name));
    }
    Some(AgentReport { problems, verdict: Some(verdict.into()), ..AgentReport::default() })
}

/// Position of `"verdict": "WORD"`, with any white space.
fn says(report: &str, word: &str) -> Option<usize> {
    let name = "\"verdict\"";
    report.match_indices(name).map(|(at, _)| at).find(|at| {
        let value = report[at + name.len()..].trim_start().strip_prefix(':').unwrap_or_default();
        value.trim_start().strip_prefix('"').is_some_and(|rest| rest.starts_with(&format!("{word}\"")))
    })
}

/// The JSON object that begins before this place, if it can be parsed.
fn object_around(report: &str, at: usize) -> Option<Json<'_>> {
    let open = report[..at].rfind('{')?;
    let mut ends = report[at..].match_indices('}').take(MOST).map(|(end, _)| at + end);
    ends.find_map(|end| json::read(&report[open..=end]).ok())
}

/// A name that occurs twice in one object of the block: readers differ in which one they use.
fn said_twice(json: &Json) -> Option<String> {
    match json {
        Json::Object(members) => {
            let again = |at: usize| members[..at].iter().any(|(name, _)| *name == members[at].0);
            let twice = (0..members.len()).find(|at| again(*at)).map(|at| members[at].0.clone().into_owned());
            twice.or_else(|| members.iter().find_map(|(_, value)| said_twice(value)))
        }
        Json::List(items) => items.iter().find_map(said_twice),
        _ => None,
    }
}

/// A line with this indentation is code in Markdown, so it is not a fence.
fn is_code(line: &str) -> bool {
    let indent = line.chars().take_while(|c| matches!(c, ' ' | '\t'));
    indent.map(|c| if c == '\t' { 4 } else { 1 }).sum::<usize>() >= 4
}

/// The text inside the only `aops` fence, which must end the report.
fn fenced(report: &str) -> Result<&str, String> {
    let mut found: Option<(usize, usize)> = None;
    let mut open: Option<(usize, bool, usize)> = None; // ticks, whether it is `aops`, start of its text
    let mut at = 0;
    let mut after = "";
    for line in report.split_inclusive('\n') {
        let text = line.trim();
        let end = at + line.len();
        let ticks = if is_code(line) { 0 } else { text.bytes().take_while(|b| *b == b'`').count() };
        match open {
            None if ticks >= 3 && !text[ticks..].contains('`') => {
                let ours = text[ticks..].trim() == "aops";
                if ours && found.is_some() {
                    return Err(
                        "the report has more than one `aops` block; it must have exactly one".to_owned()
                    );
                }
                open = Some((ticks, ours, end));
            }
            Some((width, ours, from)) if ticks >= width && text[ticks..].is_empty() => {
                if ours {
                    found = Some((from, at));
                    after = &report[end..];
                }
                open = None;
            }
            _ => {}
        }
        at = end;
    }
    match (found, open) {
        (None, Some((_, true, _))) => Err("the `aops` block is not closed".to_owned()),
        (None, _) => Err("the report has no block fenced with the info string `aops`".to_owned()),
        (Some(_), _) if !after.trim().is_empty() => {
            Err("something follows the `aops` block, which must come last".to_owned())
        }
        (Some((from, to)), _) => Ok(&report[from..to]),
    }
}

fn hydration(json: &Json, workflows: &BTreeMap<String, Vec<Gate>>) -> Result<AgentReport, String> {
    let workflow = text(json, "workflow")?;
    let Some(gates) = workflows.get(&workflow) else {
        let known: Vec<&str> = workflows.keys().map(String::as_str).collect();
        let asked = json::cut(&workflow, 64);
        let known = known.join(", ");
        return Err(format!("there is no workflow `{asked}`; choose one of: {known}"));
    };
    let (task, parked) = task(json)?;
    Ok(AgentReport {
        acceptance_criteria: texts(json, "acceptance_criteria")?,
        gates: gates.iter().copied().map(Stored::from).collect(),
        intent: Some(text(json, "intent")?),
        issue: json.text_of("issue").filter(|id| is_id(id)),
        kind: json.text_of("kind").and_then(|kind| WorkKind::of(&kind)).map(Stored::from),
        parked,
        steps: texts(json, "steps")?,
        task: Some(task.into()),
        workflow: Some(workflow),
        ..AgentReport::default()
    })
}

/// `new`, `continue`, or `parked N`, which continues the parked task with this number.
fn task(json: &Json) -> Result<(PlanFor, Option<u64>), String> {
    let said = text(json, "task")?;
    match said.strip_prefix("parked ").map(|n| n.trim().parse::<u64>()) {
        Some(Ok(n)) if n > 0 => Ok((PlanFor::Continue, Some(n))),
        _ => PlanFor::of(&said).map(|task| (task, None)).ok_or_else(|| {
            "`task` must be one of new, continue, parked N (the number of a parked task)".to_owned()
        }),
    }
}

fn critic(json: &Json) -> Result<AgentReport, String> {
    Ok(AgentReport {
        acceptance_criteria: texts(json, "acceptance_criteria")?,
        problems: texts(json, "problems")?,
        verdict: Some(
            verdict(json, &[AgentVerdict::Proceed, AgentVerdict::Revise, AgentVerdict::Halt])?.into(),
        ),
        ..AgentReport::default()
    })
}

fn custodiet(json: &Json) -> Result<AgentReport, String> {
    let verdict = verdict(json, &[AgentVerdict::Ok, AgentVerdict::Block])?;
    let problems = match json.get("violation") {
        None | Some(Json::Null) if verdict == AgentVerdict::Ok => Vec::new(),
        _ => vec![text(json, "violation")?],
    };
    if verdict == AgentVerdict::Block && problems.iter().all(|violation| violation.trim().is_empty()) {
        return Err("`violation` is empty; BLOCK must say what was violated".to_owned());
    }
    Ok(AgentReport { problems, verdict: Some(verdict.into()), ..AgentReport::default() })
}

fn qa(json: &Json) -> Result<AgentReport, String> {
    let verdict = verdict(json, &[AgentVerdict::Verified, AgentVerdict::Issues])?;
    let problems = match json.get("issues") {
        None if verdict == AgentVerdict::Verified => Vec::new(),
        _ => texts(json, "issues")?,
    };
    if verdict == AgentVerdict::Issues && problems.is_empty() {
        return Err("`issues` is empty; ISSUES must list at least one".to_owned());
    }
    Ok(AgentReport { problems, verdict: Some(verdict.into()), ..AgentReport::default() })
}

fn reflection(json: &Json) -> Result<AgentReport, String> {
    let Some(fields @ Json::Object(_)) = json.get("reflection") else {
        return Err("`reflection` is missing".to_owned());
    };
    let mut reflection = BTreeMap::new();
    for (name, _) in FIELDS {
        reflection.insert(name.to_owned(), text(fields, name)?);
    }
    let said = |name: &str| reflection[name].trim().to_lowercase();
    if !["yes", "no", "partial"].iter().any(|word| said("followed").starts_with(word)) {
        return Err("`followed` must begin with Yes, No or Partial".to_owned());
    }
    if !matches!(said("outcome").as_str(), "success" | "partial" | "failure") {
        return Err("`outcome` must be success, partial or failure".to_owned());
    }
    let patterns = if json.get("patterns").is_some() { texts(json, "patterns")? } else { Vec::new() };
    Ok(AgentReport { patterns, reflection, ..AgentReport::default() })
}

fn text(json: &Json, name: &str) -> Result<String, String> {
    let text = json.get(name).ok_or_else(|| format!("`{name}` is missing"))?;
    kept(text, LONGEST).ok_or_else(|| format!("`{name}` must be text"))
}

fn texts(json: &Json, name: &str) -> Result<Vec<String>, String> {
    let list = json.get(name).ok_or_else(|| format!("`{name}` is missing"))?;
    let texts = if let Json::List(items) = list {
        items.iter().take(MOST).map(|item| kept(item, LONGEST / 4)).collect()
    } else {
        None
    };
    texts.ok_or_else(|| format!("`{name}` must be a list of texts"))
}

fn kept(text: &Json, longest: usize) -> Option<String> {
    Some(json::cut(&redact(&text.text()?), longest).to_owned())
}

fn verdict(json: &Json, of: &[AgentVerdict]) -> Result<AgentVerdict, String> {
    let said = AgentVerdict::of(&text(json, "verdict")?).filter(|said| of.contains(said));
    let names = || of.iter().map(|verdict| verdict.name()).collect::<Vec<_>>().join(", ");
    said.ok_or_else(|| format!("`verdict` must be one of {}", names()))
}

#[cfg(test)]
mod tests;
