//! What a person reads about a run: the whole call that waits for them, and the result of each step.
//!
//! Reads the run's record, its session and what the client printed. Invariants: secrets are redacted; where a
//! text is cut, it says so.

use super::place::Place;
use crate::run::client::Stream;
use crate::run::job::JobFiles;
use crate::run::state::RunState;
use aops_core::config::policy::rule::Rule;
use aops_core::jail::network::run_folder;
use aops_core::ledger::session_folder::SessionKey;
use aops_core::ledger::sessions;
use aops_core::model::gate_id::GateId;
use aops_core::system::env::Env;
use aops_core::system::files;
use aops_core::text::diff::unified;
use aops_core::text::json::cut;
use aops_core::text::redact::redact;
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::Path;

/// A text of a question; together they stay below what an engine keeps in its journal.
const LONGEST_TEXT: usize = 60 << 10;
/// A file that a call replaces and that is longer is shown by its new text alone.
const LONGEST_FILE: u64 = 1 << 20;

/// What waits for a person.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Asked {
    step: String,
    trigger: String,
    tool: String,
    /// The command, or the file.
    call: String,
    diff: String,
    /// The other fields of the call.
    more: String,
    /// What asks: the gate, and its rule.
    gate: String,
    rule: String,
    why: String,
    /// Whoever asked for the run may not answer.
    four_eyes: bool,
    /// The answer is one in words.
    wants_words: bool,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct StepTold {
    step: String,
    outcome: String,
    reason: String,
    duration_ms: Option<u64>,
}

/// What became of a run so far.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Account {
    steps: Vec<StepTold>,
    /// Millionths of a dollar; none: it is not known.
    cost: Option<u64>,
    tokens: u64,
}

impl Account {
    pub(super) fn of(run: &RunState) -> Self {
        let told = |step: &String| {
            let done = run.done.get(step);
            StepTold {
                step: step.clone(),
                outcome: done.map(|done| done.outcome.name().to_owned()).unwrap_or_default(),
                reason: done.map(|done| plain(&done.reason)).unwrap_or_default(),
                duration_ms: done.map(|done| done.duration_ms),
            }
        };
        // A client that tells its tokens and no price has one that is not known.
        let is_known = run.cost > 0 || run.tokens == 0;
        Self {
            steps: run.init.steps.iter().map(told).collect(),
            cost: is_known.then_some(run.cost),
            tokens: run.tokens,
        }
    }
}

fn plain(text: &str) -> String {
    let text = redact(text);
    let kept = cut(&text, LONGEST_TEXT);
    match text.len() - kept.len() {
        0 => kept.to_owned(),
        more => format!("{kept}\n[… {more} more bytes are not shown …]"),
    }
}

impl Asked {
    /// The present question of this run.
    pub(super) fn of(env: &Env, place: &Place, run: &RunState) -> Self {
        let Some(paused) = &run.paused else { return Self::default() };
        let trigger = serde_json::to_value(paused.trigger).unwrap_or_default();
        let mut asked = Self {
            step: paused.step.clone(),
            trigger: trigger.as_str().unwrap_or_default().to_owned(),
            wants_words: paused.trigger.wants_answer(),
            ..Self::default()
        };
        if let Some(id) = &paused.tool_use_id {
            asked.add_call(env, place, run, id);
        }
        asked
    }

    fn add_call(&mut self, env: &Env, place: &Place, run: &RunState, id: &str) {
        let env = Env { cwd: place.root.clone(), ..env.later().for_project(Path::new("")) };
        let cwd = place.root.to_string_lossy();
        let key = SessionKey { session_id: &run.init.session_id, transcript_path: "", cwd: &cwd };
        let Some(session) = sessions::find(&env, key) else { return };
        let Some(open) = session.memory.calls.iter().find(|open| open.call.id == id) else { return };
        self.tool.clone_from(&open.call.tool);
        self.why = plain(open.reason.as_deref().unwrap_or_default());
        if let Some(question) = &open.question {
            self.gate = question.gate.to_string();
            self.rule = question.rule.clone().unwrap_or_default();
        }
        let rules = &session.policy().rules;
        // A deferred call has no question of its own; its reason names the rule.
        let is_it = |rule: &&Rule| self.rule == rule.id || self.why.contains(&format!("rule `{}`", rule.id));
        let found = rules.iter().find(is_it);
        // If the rule is not known, the strictest one counts.
        self.four_eyes = found
            .map_or(self.rule.is_empty() && rules.iter().any(|rule| rule.four_eyes), |rule| rule.four_eyes);
        if let Some(rule) = found {
            self.gate = GateId::Rules.to_string();
            self.rule.clone_from(&rule.id);
        }
        let input = run.begun.get(&self.step).and_then(|begun| {
            let files = JobFiles::of(&run_folder(&env, &run.run_id), begun);
            let mut stream = Stream::of(files.file("out"));
            stream.follow();
            stream.result?.input
        });
        match input.and_then(|input| serde_json::from_str::<Map<String, Value>>(&input).ok()) {
            Some(input) => self.add_input(&place.root, input),
            None => {
                self.call =
                    plain(&open.question.as_ref().map(|asked| asked.line.clone()).unwrap_or_default());
            }
        }
    }

    fn add_input(&mut self, root: &Path, mut input: Map<String, Value>) {
        // The model's own description of a command is not the command.
        if matches!(self.tool.as_str(), "Bash" | "Monitor") {
            input.remove("description");
        }
        let mut take = |name: &str| match input.remove(name) {
            Some(Value::String(text)) => Some(text),
            Some(other) => {
                input.insert(name.to_owned(), other);
                None
            }
            None => None,
        };
        let call =
            ["command", "file_path", "notebook_path"].into_iter().find_map(&mut take).unwrap_or_default();
        let is_file = self.tool != "Bash" && !call.is_empty();
        let old = take("old_string").filter(|_| is_file);
        let new = take("new_string").or_else(|| take("content")).filter(|_| is_file);
        if let Some(new) = new {
            let old = old.unwrap_or_else(|| present(root, &call));
            self.diff = plain(&unified(&call, &call, &old, &new));
        }
        self.call = plain(&call);
        if !input.is_empty() {
            self.more = plain(&serde_json::to_string_pretty(&input).unwrap_or_default());
        }
    }
}

/// The text of a file of the project; empty if there is none.
fn present(root: &Path, file: &str) -> String {
    let of = |file: &Path| {
        let real = files::real(file).ok()?;
        let is_own = real.starts_with(files::real(root).ok()?);
        let is_short = real.metadata().ok()?.len() <= LONGEST_FILE;
        files::read_text(&real).ok().filter(|_| is_own && is_short)
    };
    of(&root.join(file)).unwrap_or_default()
}
