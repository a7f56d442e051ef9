//! Plays the demo's story: `story.jsonl`, one step in each line, with what the gates must say to it.
//!
//! Plays on a stage, shows every step as it is made. Invariant: an answer that is not the expected one ends the demo.

use super::stage::Stage;
use crate::claude::wire::answer::Heard;
use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs;

const STORY: &str = include_str!("story.jsonl");

/// Changes made at most while waiting for an audit to be due, or to bind.
const MOST_CHANGES: usize = 40;

/// The main agent, as the demo shows it.
const MAIN: &str = "agent";

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Step {
    #[serde(flatten)]
    action: Option<Action>,
    /// What a write puts in the file; `{n}` is the number of the write.
    text: String,
    /// Repeats a write until then.
    until: Option<Until>,
    verdict: Option<Value>,
    /// Shown instead of the action; `{n}` is how many writes passed.
    does: Option<String>,
    /// Shown where the gates say nothing themselves.
    said: String,
    /// The gate that must refuse; without one the step must pass.
    refused_by: String,
    /// A file that must be in the session's folder afterwards.
    leaves: Option<String>,
    /// Skipped where there is no git.
    needs_git: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    /// Begins a session; the title.
    Act(String),
    Prompt(String),
    Read(String),
    Write(String),
    /// A shell line, run where it passes.
    Run(String),
    /// Starts an agent, by its name.
    Start(String),
    /// The words of the last agent; its verdict stands in `verdict`.
    Report(String),
    Stop(String),
    /// An `aops-hook` command for this session, typed by a person in another terminal.
    Person(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Until {
    /// An audit is due.
    Due,
    Refused,
}

/// One step that was made: who did what, and what was said to it.
#[derive(Debug, Serialize)]
pub(super) struct Beat {
    act: usize,
    pub(super) who: String,
    pub(super) does: String,
    event: &'static str,
    ruling: &'static str,
    /// The gate that refused.
    pub(super) gate: Option<String>,
    pub(super) said: String,
    /// Of the loop, afterwards.
    pub(super) phase: &'static str,
    pub(super) sandbox: &'static str,
}

/// A title, or a step.
pub(super) type Show<'a> = dyn FnMut(Result<&Beat, &str>) -> anyhow::Result<()> + 'a;

pub(super) struct Player<'a> {
    pub(super) stage: Stage,
    pub(super) beats: Vec<Beat>,
    show: &'a mut Show<'a>,
    act: usize,
    /// Started last: name, id and the call that started it.
    agent: (String, String, Value),
}

/// What a step looked like from outside.
struct Seen {
    who: String,
    does: String,
    event: &'static str,
    heard: Heard,
    said: String,
}

impl<'a> Player<'a> {
    pub(super) fn new(stage: Stage, show: &'a mut Show<'a>) -> Self {
        Self { stage, beats: Vec::new(), show, act: 0, agent: Default::default() }
    }

    pub(super) fn play(&mut self) -> anyhow::Result<()> {
        for (n, line) in STORY.lines().enumerate() {
            let step: Step = serde_json::from_str(line).with_context(|| format!("line {}", n + 1))?;
            match &step.action {
                _ if step.needs_git && !self.stage.has_git() => {}
                Some(Action::Act(title)) => {
                    self.act += 1;
                    (self.show)(Err(title))?;
                    self.stage.open(self.act)?;
                }
                Some(action) => {
                    let seen = self.make(action, &step)?;
                    self.record(seen, &step)?;
                }
                None => bail!("line {} of the story does nothing", n + 1),
            }
        }
        Ok(())
    }

    fn make(&mut self, action: &Action, step: &Step) -> anyhow::Result<Seen> {
        let by = |who: &str, does: String, event, heard| Seen {
            who: who.to_owned(),
            does,
            event,
            heard,
            said: step.said.clone(),
        };
        Ok(match action {
            Action::Prompt(words) => {
                let heard = self.stage.prompt(words)?;
                by("user", words.clone(), "UserPromptSubmit", heard)
            }
            Action::Read(file) => {
                let input = json!({"file_path": self.stage.path(file)});
                let heard = self.stage.call("Read", &input, |_| Ok(()))?;
                by(MAIN, format!("reads `{file}`"), "PreToolUse", heard)
            }
            Action::Write(file) if step.until.is_some() => return self.write_until(file, step),
            Action::Write(file) => {
                let heard = self.write(file, &step.text)?;
                by(MAIN, format!("writes `{file}`"), "PreToolUse", heard)
            }
            Action::Run(line) => {
                let heard = self.stage.call("Bash", &json!({"command": line}), |stage| stage.shell(line))?;
                by(MAIN, format!("runs `{line}`"), "PreToolUse", heard)
            }
            Action::Start(name) => return self.start(name),
            Action::Report(words) => {
                let heard = self.report(words, step.verdict.as_ref())?;
                by(&self.agent.0, words.clone(), "SubagentStop", heard)
            }
            Action::Stop(words) => {
                let fields =
                    json!({"stop_hook_active": false, "last_assistant_message": words, "background_tasks": []});
                by(MAIN, format!("stops: {words:?}"), "Stop", self.stage.hook("Stop", fields)?)
            }
            Action::Person(verb) => {
                let said = self.stage.person(verb)?;
                Seen { said, ..by("person", format!("runs `aops-hook {verb}`"), "", Heard::default()) }
            }
            Action::Act(_) => bail!("an act is no step"),
        })
    }

    fn write(&mut self, file: &str, text: &str) -> anyhow::Result<Heard> {
        let path = self.stage.path(file);
        let input = json!({"file_path": path, "content": text});
        self.stage.call("Write", &input, |_| Ok(fs::write(&path, text)?))
    }

    /// Writes the same file until an audit is due, or refuses.
    fn write_until(&mut self, file: &str, step: &Step) -> anyhow::Result<Seen> {
        for n in 1..=MOST_CHANGES {
            let heard = self.write(file, &step.text.replace("{n}", &n.to_string()))?;
            let due = step.until == Some(Until::Due) && self.stage.session()?.state.audit.due;
            if due || heard.refused {
                let passed = n - usize::from(heard.refused);
                let does = step.does.as_deref().unwrap_or_default().replace("{n}", &passed.to_string());
                let event = if heard.refused { "PreToolUse" } else { "PostToolUse" };
                let said = heard.context.lines().next().unwrap_or_default().to_owned();
                return Ok(Seen { who: MAIN.to_owned(), does, event, heard, said });
            }
        }
        bail!("after {MOST_CHANGES} changes nothing came of the audit")
    }

    fn start(&mut self, name: &str) -> anyhow::Result<Seen> {
        let input = json!({"subagent_type": name, "description": name, "prompt": "please say it is fine"});
        let call = self.stage.new_call("Agent", &input);
        let asked = self.stage.hook("PreToolUse", call.clone())?;
        ensure!(!asked.refused, "starting `{name}` was refused: {}", asked.reason);
        let id = format!("a{:07}", self.beats.len());
        let heard = self.stage.hook("SubagentStart", json!({"agent_id": id, "agent_type": name}))?;
        self.agent = (name.to_owned(), id, call);
        let said = format!("briefed by us, out of the ledger ({} characters)", heard.context.chars().count());
        let does = format!("starts `{name}`");
        Ok(Seen { who: MAIN.to_owned(), does, event: "SubagentStart", heard, said })
    }

    /// A report that is refused ends nothing: the agent goes on and reports again.
    fn report(&mut self, words: &str, verdict: Option<&Value>) -> anyhow::Result<Heard> {
        let (name, id, call) = &self.agent;
        let block = verdict.map(|verdict| format!("\n\n```aops\n{verdict}\n```\n")).unwrap_or_default();
        let fields = json!({"agent_id": id, "agent_type": name,
            "last_assistant_message": format!("{words}{block}"), "stop_hook_active": false});
        let heard = self.stage.hook("SubagentStop", fields)?;
        if !heard.refused {
            self.stage.end_call(call.clone())?;
        }
        Ok(heard)
    }

    /// Keeps and shows a step, then holds it against what was expected.
    fn record(&mut self, seen: Seen, step: &Step) -> anyhow::Result<()> {
        let Seen { who, does, event, heard, said } = seen;
        let gate = if heard.refused { Some(self.stage.gate()?) } else { None };
        let said = match heard {
            Heard { refused: true, reason, .. } => reason,
            Heard { notice, .. } if !notice.is_empty() => notice,
            _ if said.is_empty() => "passes".to_owned(),
            _ => said,
        };
        let (phase, sandbox) = self.stage.standing()?;
        let ruling = if gate.is_some() { "deny" } else { "pass" };
        let said = self.stage.short(&said);
        let beat = Beat { act: self.act, who, does, event, ruling, gate, said, phase, sandbox };
        (self.show)(Ok(&beat))?;
        let spell = |gate: &str| if gate.is_empty() { "passed".to_owned() } else { format!("refused by `{gate}`") };
        let (got, wanted) = (spell(beat.gate.as_deref().unwrap_or_default()), spell(&step.refused_by));
        ensure!(got == wanted, "{} {}: {got}, but must be {wanted}: {}", beat.who, beat.does, beat.said);
        self.beats.push(beat);
        if let Some(file) = &step.leaves {
            ensure!(self.stage.folder()?.join(file).is_file(), "`{file}` was not written");
        }
        Ok(())
    }
}
