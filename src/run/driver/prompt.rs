//! The prompt of a client step, with the calls of an earlier attempt from the session's ledger.
//!
//! Invariants: the task is quoted, so that it cannot end its own quotation; earlier calls are listed only if
//! they change something, each once, oldest first, even if a killed client did not record how they ended.

use super::base::Driver;
use crate::run::{attempt::ContextRef, plan::PlannedStep};
use aops_core::config::texts::{self, Library, Reading};
use aops_core::gate::sandbox;
use aops_core::insight::collect;
use aops_core::ledger::recover::LEDGER_FILE;
use aops_core::model::call::{CallState, Effect, ToolCall};
use aops_core::model::error::Failure;
use aops_core::model::phase::Sandbox;
use aops_core::session::fact::{Fact, NO_EFFECT, Step};
use aops_core::system::files;
use aops_core::text::json::cut;
use aops_core::text::template::{Phrase, one_line, quote};
use std::path::PathBuf;

const INNER: usize = 6_000;

const TAKEN_BACK: &str = "A person took this run back to before this step: the files are as they were then, \
    and what you did in it since is undone. Look at what is there, and do the step anew.";

const SENT_BACK: &str = "The critic sent the plan back, so the steps from the plan to the review are done \
    anew. Look at what is there, and settle what it found:";

const ANSWERED: &str = "You ended this step with a question, and a person answered it: the answer stands \
    below the task. Look at what is done already, and do what is missing.";

/// How much of the task and the answers our agents get; answers get their share first.
const LONGEST_TASK: usize = 2_048;
const LONGEST_ANSWERS: usize = 1_200;

impl Driver {
    /// The task as our agents see it: with its files, and with a person's answers, which are never cut
    /// because of a long task.
    pub(super) fn describe_task(&self) -> String {
        let task = self.run.init.task.clone() + &self.describe_context();
        let answers = self.describe_answers();
        if answers.is_empty() { task } else { cut(&task, LONGEST_TASK - answers.len()).to_owned() + &answers }
    }

    /// A person's answers in this run, the newest that fit; empty if nothing was asked.
    fn describe_answers(&self) -> String {
        let heading = "\n\nWhat the user answered since:\n";
        let mut told = String::new();
        for one in self.run.answers.iter().rev() {
            let said = format!("{}\n{}\n", one_line(&one.question, 300), quote(cut(&one.answer, 600)));
            if heading.len() + told.len() + said.len() > LONGEST_ANSWERS {
                break;
            }
            told = said + &told;
        }
        if told.is_empty() { told } else { format!("{heading}{told}") }
    }

    /// The prompt of this step. `again`: an earlier attempt did not end.
    pub(super) fn prompt(&self, index: usize, step: &PlannedStep, again: bool) -> Result<String, Failure> {
        let library = Library::of(&self.env, &self.prepared.texts);
        let inner = step.inner.as_deref().and_then(|id| library.workflow(id));
        let inner = inner.map_or(String::new(), |workflow| {
            format!("Do it as the workflow `{}` says:\n\n{}\n", workflow.id, cut(workflow.body.trim(), INNER))
        });
        let may = match step.sandbox {
            Sandbox::Open => "You may change files here.",
            Sandbox::Shut => "You may read here, and change nothing.",
        };
        let prefix = if self.env.host.is_registered_by_name() { "" } else { "aops:" };
        let verified = format!(
            "First, if anything was changed since the last verification, start the agent \
            `{prefix}qa-verifier` in the foreground."
        );
        let committed = "Before you end, commit what is not committed and push it where there is a remote.";
        let closes = [(step.verifies, verified.as_str()), (step.closes, committed)];
        let closes: Vec<&str> = closes.iter().filter(|(asked, _)| *asked).map(|(_, words)| *words).collect();
        let begun = match (again, self.run.sent_back.get(&step.id)) {
            _ if self.run.is_answered(&step.id) => ANSWERED.to_owned(),
            (true, _) => self.describe_earlier_attempt(step),
            (false, Some(problems)) => format!("{SENT_BACK}\n{}\n", quote(problems)),
            (false, None) if self.run.taken_back.contains(&step.id) => TAKEN_BACK.to_owned(),
            (false, None) => String::new(),
        };
        let agent = step.verdict_of().map(|name| format!("{prefix}{name}")).unwrap_or_default();
        let template = if agent.is_empty() { "run-step.md" } else { "run-step-agent.md" };
        let values = vec![
            ("index", (index + 1).to_string()),
            ("count", self.prepared.plan.len().to_string()),
            ("name", step.name.clone()),
            ("description", step.description.clone()),
            ("task", quote(&self.run.init.task) + &self.describe_context() + &self.describe_answers()),
            ("inner", inner),
            ("may", may.to_owned()),
            ("closes", closes.join(" ")),
            ("again", begun),
            ("agent", agent),
        ];
        Ok(Phrase::new(template, values)
            .fill(&texts::template(&Reading::new(&self.env, &self.env.cwd), template)?))
    }

    /// The files that belong to the task; empty if there are none.
    pub(super) fn describe_context(&self) -> String {
        let files: Vec<String> = self.run.init.context.iter().map(|file| self.describe_file(file)).collect();
        let heading = "\n\nFiles that belong to the task; read them first:\n";
        if files.is_empty() { String::new() } else { format!("{heading}{}", files.join("\n")) }
    }

    fn describe_file(&self, ContextRef { path, sha256 }: &ContextRef) -> String {
        let now = files::read(self.root.join(path)).map(|bytes| aops_core::text::sha256::sha256(&[&bytes]));
        let since = match now {
            Ok(now) if now == *sha256 => "",
            Ok(_) => " (changed since the run began)",
            Err(_) => " (deleted since the run began)",
        };
        format!("- `{}`{since}", one_line(path, 300).replace('`', "'"))
    }

    fn describe_earlier_attempt(&self, step: &PlannedStep) -> String {
        let words = "You began this step before and were interrupted: look at what is done already, and do \
            only what is missing.";
        match self.list_earlier_calls(&step.id) {
            none if none.is_empty() => words.to_owned(),
            calls => format!("{words} What aops-hook recorded of it:\n\n{calls}"),
        }
    }
}

/// The maximum number of calls listed; the newest are kept.
const MOST: usize = 20;

struct MadeCall {
    id: String,
    shown: String,
    ending: &'static str,
}

impl Driver {
    /// A list of calls that were made or cut off; empty if there are none.
    pub(super) fn list_earlier_calls(&self, step: &str) -> String {
        let mut made: Vec<MadeCall> = Vec::new();
        let run = &self.run.run_id;
        let read = self.ledger_file().map(|ledger| {
            collect::entries(&ledger, |_, fact| match fact {
                Fact::Run(staged)
                    if staged
                        .stage
                        .as_ref()
                        .is_some_and(|other| other.step != step || other.run_id != *run) =>
                {
                    made.clear();
                }
                Fact::Call(call) => add_call(&mut made, call),
                _ => {}
            })
        });
        if !matches!(read, Some(Ok(()))) {
            return String::new();
        }
        let ended: Vec<&MadeCall> = made.iter().filter(|call| !call.ending.is_empty()).collect();
        let newest = &ended[ended.len().saturating_sub(MOST)..];
        newest
            .iter()
            .map(|call| format!("- {}: `{}`", call.ending, call.shown))
            .collect::<Vec<_>>()
            .join("\n")
    }

    pub(super) fn ledger_file(&self) -> Option<PathBuf> {
        let env = self.env.later();
        let cwd = self.cwd();
        let (place, _) = self.session_key(&cwd).search(&env).next_place().ok()??;
        Some(place.path.join(LEDGER_FILE))
    }
}

fn add_call(made: &mut Vec<MadeCall>, step: &Step) {
    if step.to == CallState::Pending {
        if step.effect().is_some_and(Effect::is_write) {
            let input = step.input().map_or("{}", |input| input.get()).to_owned();
            let shown = sandbox::shown(&ToolCall { key: step.call.clone(), input, ..ToolCall::default() });
            made.push(MadeCall { id: step.call.id.clone(), shown, ending: "" });
        }
        return;
    }
    let Some(call) = made.iter_mut().rev().find(|call| call.id == step.call.id) else { return };
    call.ending = match step.to {
        CallState::Completed => "done",
        CallState::Failed if step.reason.as_deref() == Some(NO_EFFECT) => {
            "cut off, so look whether it took effect"
        }
        CallState::Failed => "failed",
        _ => "",
    };
}
