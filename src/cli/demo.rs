//! Plays a whole session through every gate, in a temporary folder, and shows each step and its answer.
//!
//! The story is `story.jsonl`: one step in each line, with the expected answer of the gates. Starts the hook
//! as the client does, in a throwaway home with a throwaway project; reads and writes nothing else.
//! Invariants: nothing is installed and nothing is left behind; every step names the answer it expects, so a
//! demo that succeeds proves that the gates work on this machine.

mod stage;

use super::log::wrap;
use super::table::{Tone, clean};
use super::{Command, Io};
use crate::cli::install::{Level, steps};
use anyhow::{Context, bail, ensure};
use aops_core::host::claude::settings::survey;
use aops_core::host::claude::wire::answer::Heard;
use aops_core::text::plain::count;
use clap::ArgMatches;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use stage::Stage;
use std::fs;
use std::time::Instant;

pub const COMMAND: Command = Command {
    name: "demo",
    about: "Play a whole session through every gate, in a temporary folder",
    examples: &[
        ("aops-hook demo", "each step, what the gates said, and the next step; nothing is installed"),
        ("aops-hook demo --json", "the same, for a program"),
    ],
    arguments: |row| row,
    run,
};

const STORY: &str = include_str!("demo/story.jsonl");

/// How many changes are made at most before an audit must be due, or must block.
const MOST_CHANGES: usize = 40;

const MAIN: &str = "agent";

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct StoryStep {
    #[serde(flatten)]
    action: Option<Action>,
    /// The text written to the file; `{n}` is the number of the write.
    text: String,
    /// Repeats a write until this happens.
    until: Option<Until>,
    verdict: Option<Value>,
    /// Shown instead of the action; `{n}` is how many writes passed.
    does: Option<String>,
    /// Shown if the gates say nothing themselves.
    said: String,
    /// The gate that must refuse; if there is none, the step must pass.
    refused_by: String,
    /// A file that must be in the session's folder afterwards.
    leaves: Option<String>,
    /// Skipped if git is missing.
    needs_git: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    /// Begins a session; holds the title.
    Act(String),
    Prompt(String),
    Read(String),
    Write(String),
    /// A shell line; it is run if the gates let it pass.
    Run(String),
    Start(String),
    /// The text of the last agent; its verdict is in `verdict`.
    Report(String),
    Stop(String),
    /// An `aops-hook` command for this session, typed by a person in another terminal.
    Person(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Until {
    Due,
    Refused,
}

/// One finished step: who did what, and the answer.
#[derive(Debug, Default, Serialize)]
struct Beat {
    act: usize,
    who: String,
    does: String,
    event: &'static str,
    ruling: &'static str,
    gate: Option<String>,
    said: String,
    phase: &'static str,
    sandbox: &'static str,
}

/// Plays the story. An unexpected answer ends it.
struct Player<'a, 'io> {
    io: &'a mut Io<'io>,
    stage: Stage,
    beats: Vec<Beat>,
    act: usize,
    /// The agent started last: name, id and the call that started it.
    agent: (String, String, Value),
}

fn run(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let began = Instant::now();
    let stage = Stage::set(io.env).context("the temporary folder could not be filled")?;
    if !io.json {
        let words =
            "a session with every gate, in a folder of its own; nothing is installed, nothing is left behind";
        writeln!(io.out, "{}", Tone::Quiet.paint(words, io))?;
    }
    let mut player = Player { io, stage, beats: Vec::new(), act: 0, agent: Default::default() };
    let outcome = player.play();
    let io = player.io;
    let beats = player.beats;
    let ms = began.elapsed().as_millis();
    if io.json {
        let error = outcome.as_ref().err().map(|error| format!("{error:#}"));
        io.print(json!({"ok": outcome.is_ok(), "error": error, "ms": ms, "beats": beats}))?;
        return Ok(u8::from(outcome.is_err()));
    }
    outcome?;
    let refused = beats.iter().filter(|beat| beat.gate.is_some()).count();
    writeln!(io.out, "\n{}, {refused} refused and put right, in {ms} ms", count(beats.len(), "step"))?;
    let text = steps::read_settings(&Level::User.path(io.env)).map(|(_, text)| text).unwrap_or_default();
    let installed = survey(&text).is_ok_and(|found| !found.ours.is_empty());
    io.print(if installed {
        "hint: the hooks are registered; start `claude` in a project, and `aops-hook status` shows where it \
        stands"
    } else {
        "hint: `aops-hook install` registers the hooks; `aops-hook uninstall` removes them again"
    })
}

fn show(io: &mut Io, beat: &Beat) -> anyhow::Result<()> {
    let (mark, tone) = match (&beat.gate, beat.said.as_str()) {
        (Some(_), _) => ("✗", Tone::Bad),
        (None, "passes") => ("✓", Tone::Good),
        (None, _) => ("→", Tone::Plain),
    };
    let stood = format!("{:16}", format!("{} · {}", beat.phase, beat.sandbox));
    writeln!(io.out, "  {} {:15} {}", Tone::Quiet.paint(&stood, io), beat.who, clean(&beat.does))?;
    let mark = tone.paint(mark, io);
    let gate = beat.gate.as_ref().map(|gate| format!("{gate}: ")).unwrap_or_default();
    let room = io.width.map_or(usize::MAX, |width| width.saturating_sub(21).max(40));
    let said = format!("{gate}{}", beat.said);
    let lines = said.lines().flat_map(|line| wrap(&clean(line), room));
    for (n, line) in lines.enumerate() {
        writeln!(io.out, "  {:16} {} {line}", "", if n == 0 { &mark } else { " " })?;
    }
    Ok(io.out.flush()?)
}

impl Player<'_, '_> {
    fn play(&mut self) -> anyhow::Result<()> {
        for (n, line) in STORY.lines().enumerate() {
            let step: StoryStep = serde_json::from_str(line).with_context(|| format!("line {}", n + 1))?;
            match &step.action {
                _ if step.needs_git && self.stage.git.is_none() => {}
                Some(Action::Run(_)) if !self.stage.has_shell => {}
                Some(Action::Act(title)) => {
                    self.act += 1;
                    if !self.io.json {
                        writeln!(self.io.out, "\n{}", Tone::Strong.paint(title, self.io))?;
                    }
                    self.stage.open(self.act)?;
                }
                Some(action) => {
                    let (beat, heard) = self.make(action, &step)?;
                    self.record(beat, heard, &step)?;
                }
                None => bail!("line {} of the story does nothing", n + 1),
            }
        }
        Ok(())
    }

    fn make(&mut self, action: &Action, step: &StoryStep) -> anyhow::Result<(Beat, Heard)> {
        let by = |who: &str, does: String, event, heard| {
            (Beat { who: who.to_owned(), does, event, said: step.said.clone(), ..Beat::default() }, heard)
        };
        Ok(match action {
            Action::Prompt(words) => {
                let heard = self.stage.prompt(words)?;
                by("user", words.clone(), "UserPromptSubmit", heard)
            }
            Action::Read(file) => {
                let heard =
                    self.stage.call("Read", &json!({"file_path": self.stage.path(file)}), |_| Ok(()))?;
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
                let fields = json!({
                    "stop_hook_active": false, "last_assistant_message": words, "background_tasks": []
                });
                by(MAIN, format!("stops: {words:?}"), "Stop", self.stage.hook("Stop", fields)?)
            }
            Action::Person(verb) => {
                let (beat, heard) = by("person", format!("runs `aops-hook {verb}`"), "", Heard::default());
                (Beat { said: self.stage.person(verb)?, ..beat }, heard)
            }
            Action::Act(_) => bail!("an act is not a step"),
        })
    }

    fn write(&mut self, file: &str, text: &str) -> anyhow::Result<Heard> {
        let path = self.stage.path(file);
        let input = json!({"file_path": path, "content": text});
        self.stage.call("Write", &input, |_| Ok(fs::write(&path, text)?))
    }

    /// Writes the same file until an audit is due, or blocks.
    fn write_until(&mut self, file: &str, step: &StoryStep) -> anyhow::Result<(Beat, Heard)> {
        for n in 1..=MOST_CHANGES {
            let heard = self.write(file, &step.text.replace("{n}", &n.to_string()))?;
            let due = step.until == Some(Until::Due) && self.stage.session()?.state.audit.due;
            if due || heard.refused {
                let passed = n - usize::from(heard.refused);
                let does = step.does.as_deref().unwrap_or_default().replace("{n}", &passed.to_string());
                let event = if heard.refused { "PreToolUse" } else { "PostToolUse" };
                let said = heard.context.lines().next().unwrap_or_default().to_owned();
                return Ok((Beat { who: MAIN.to_owned(), does, event, said, ..Beat::default() }, heard));
            }
        }
        bail!("after {MOST_CHANGES} changes nothing came of the audit")
    }

    fn start(&mut self, name: &str) -> anyhow::Result<(Beat, Heard)> {
        let input = json!({"subagent_type": name, "description": name, "prompt": "please say it is fine"});
        let call = self.stage.new_call("Agent", &input);
        let asked = self.stage.hook("PreToolUse", call.clone())?;
        ensure!(!asked.refused, "starting `{name}` was refused: {}", asked.reason);
        let id = format!("a{:07}", self.beats.len());
        let heard = self.stage.hook("SubagentStart", json!({"agent_id": id, "agent_type": name}))?;
        self.agent = (name.to_owned(), id, call);
        let said = format!("got its context from the ledger ({} characters)", heard.context.chars().count());
        let does = format!("starts `{name}`");
        Ok((Beat { who: MAIN.to_owned(), does, event: "SubagentStart", said, ..Beat::default() }, heard))
    }

    /// A refused report ends nothing: the agent continues and reports again.
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

    /// Records and shows a step, then compares it with the expected answer.
    fn record(&mut self, mut beat: Beat, heard: Heard, step: &StoryStep) -> anyhow::Result<()> {
        beat.act = self.act;
        beat.gate = if heard.refused { Some(self.stage.gate()?) } else { None };
        beat.ruling = if heard.refused { "deny" } else { "pass" };
        let said = match heard {
            Heard { refused: true, reason, .. } => reason,
            Heard { notice, .. } if !notice.is_empty() => notice,
            _ if beat.said.is_empty() => "passes".to_owned(),
            _ => beat.said,
        };
        beat.said = self.stage.short(&said);
        let state = self.stage.session()?.state;
        beat.phase = state.phase.name();
        beat.sandbox = state.sandbox.name();
        if !self.io.json {
            show(self.io, &beat)?;
        }
        let spell =
            |gate: &str| if gate.is_empty() { "passed".to_owned() } else { format!("refused by `{gate}`") };
        let got = spell(beat.gate.as_deref().unwrap_or_default());
        let wanted = spell(&step.refused_by);
        ensure!(got == wanted, "{} {}: {got}, but must be {wanted}: {}", beat.who, beat.does, beat.said);
        self.beats.push(beat);
        if let Some(file) = &step.leaves {
            ensure!(self.stage.on_disk()?.path.join(file).is_file(), "`{file}` was not written");
        }
        Ok(())
    }
}
