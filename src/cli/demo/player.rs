//! The moves of a session: prompts, calls, agents, stops; each with what the gates are expected to say.
//!
//! Plays on a stage, tells every step as it is made. Invariant: an answer that is not the expected one ends the demo.

use super::Scene;
use super::beat::Word;
use super::stage::Stage;
use crate::claude::wire::heard::Heard;
use anyhow::ensure;
use serde_json::{Value, json};
use std::fs;

/// What the gates are to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expect {
    Passes,
    RefusedBy(&'static str),
}

pub(super) struct Player<'a> {
    pub(super) stage: &'a mut Stage,
    pub(super) show: &'a mut dyn FnMut(Scene) -> anyhow::Result<()>,
    agents: u32,
}

/// An agent that was started and has not ended.
pub(super) struct Agent {
    name: &'static str,
    id: String,
    call: Value,
}

const MAIN: &str = "agent";

impl<'a> Player<'a> {
    pub(super) fn new(stage: &'a mut Stage, show: &'a mut dyn FnMut(Scene) -> anyhow::Result<()>) -> Self {
        Self { stage, show, agents: 0 }
    }

    pub(super) fn act(&mut self, n: usize, title: &str) -> anyhow::Result<()> {
        (self.show)(Scene::Act(title))?;
        self.stage.open(n)
    }

    pub(super) fn prompt(&mut self, words: &str, said: &str, expect: Expect) -> anyhow::Result<()> {
        self.stage.next_prompt();
        let heard = self.stage.hook("UserPromptSubmit", json!({"prompt": words}))?;
        self.tell("user", words, "UserPromptSubmit", &heard, said, expect)
    }

    /// A change of a file, made where it passes.
    pub(super) fn write(&mut self, file: &str, text: &str, expect: Expect) -> anyhow::Result<()> {
        let heard = self.written(file, text)?;
        self.tell(MAIN, &format!("writes `{file}`"), "PreToolUse", &heard, "", expect)
    }

    /// The same without a word; whether it passed.
    pub(super) fn written(&mut self, file: &str, text: &str) -> anyhow::Result<Heard> {
        let path = self.stage.project().join(file);
        let input = json!({"file_path": path, "content": text});
        self.call("Write", &input, || Ok(fs::write(&path, text)?))
    }

    pub(super) fn reads(&mut self, file: &str) -> anyhow::Result<()> {
        let input = json!({"file_path": self.stage.project().join(file)});
        let heard = self.call("Read", &input, || Ok(()))?;
        self.tell(MAIN, &format!("reads `{file}`"), "PreToolUse", &heard, "reading is free", Expect::Passes)
    }

    /// A change of a file that is not the project's: never made, whatever is said.
    pub(super) fn reaches_for(&mut self, path: &str, shown: &str, expect: Expect) -> anyhow::Result<()> {
        let heard = self.call("Write", &json!({"file_path": path, "content": "{}"}), || Ok(()))?;
        self.tell(MAIN, &format!("writes `{shown}`"), "PreToolUse", &heard, "", expect)
    }

    /// A shell line with git in it, run where it passes.
    pub(super) fn git(&mut self, line: &str, words: &[&[&str]], expect: Expect) -> anyhow::Result<()> {
        let id = self.stage.next_call();
        let fields = json!({"tool_name": "Bash", "tool_input": {"command": line}, "tool_use_id": id});
        let heard = self.stage.hook("PreToolUse", fields.clone())?;
        if !heard.refused {
            words.iter().try_for_each(|words| self.stage.git(words))?;
            self.ended(fields)?;
        }
        self.tell(MAIN, &format!("runs `{line}`"), "PreToolUse", &heard, "", expect)
    }

    /// A shell line that removes a file of the project.
    pub(super) fn removes(&mut self, file: &str) -> anyhow::Result<()> {
        let path = self.stage.project().join(file);
        let line = format!("rm {file}");
        let heard = self.call("Bash", &json!({"command": line}), || Ok(fs::remove_file(&path)?))?;
        self.tell(MAIN, &format!("runs `{line}`"), "PreToolUse", &heard, "", Expect::Passes)
    }

    fn call(
        &mut self,
        tool: &str,
        input: &Value,
        done: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<Heard> {
        let id = self.stage.next_call();
        let fields = json!({"tool_name": tool, "tool_input": input, "tool_use_id": id});
        let heard = self.stage.hook("PreToolUse", fields.clone())?;
        if heard.refused {
            return Ok(heard);
        }
        done()?;
        self.ended(fields)
    }

    /// The call is over; what was said then stands for the whole.
    fn ended(&mut self, mut fields: Value) -> anyhow::Result<Heard> {
        fields["tool_response"] = json!({"success": true});
        fields["duration_ms"] = json!(1);
        self.stage.hook("PostToolUse", fields)
    }

    /// Starts an agent; it gets its context from us.
    pub(super) fn start(&mut self, name: &'static str) -> anyhow::Result<Agent> {
        self.agents += 1;
        let (id, call) = (format!("a{:07}", self.agents), self.stage.next_call());
        let input = json!({"subagent_type": name, "description": name, "prompt": "please say it is fine"});
        let call = json!({"tool_name": "Agent", "tool_input": input, "tool_use_id": call});
        let asked = self.stage.hook("PreToolUse", call.clone())?;
        ensure!(!asked.refused, "starting `{name}` was refused: {}", asked.reason);
        let heard = self.stage.hook("SubagentStart", json!({"agent_id": id, "agent_type": name}))?;
        let said = format!("briefed by us, out of the ledger ({} characters)", heard.context.chars().count());
        self.tell(MAIN, &format!("starts `{name}`"), "SubagentStart", &heard, &said, Expect::Passes)?;
        Ok(Agent { name, id, call })
    }

    /// Its report, and what comes of it. One without a verdict is refused: the agent goes on and reports again.
    pub(super) fn report(
        &mut self,
        agent: &Agent,
        words: &str,
        verdict: Option<&Value>,
        comes_of_it: &str,
    ) -> anyhow::Result<()> {
        let block = verdict.map(|verdict| format!("\n\n```aops\n{verdict}\n```\n")).unwrap_or_default();
        let fields = json!({"agent_id": agent.id, "agent_type": agent.name,
            "last_assistant_message": format!("{words}{block}"), "stop_hook_active": false});
        let heard = self.stage.hook("SubagentStop", fields)?;
        if !heard.refused {
            self.ended(agent.call.clone())?;
        }
        let expect = if verdict.is_some() { Expect::Passes } else { Expect::RefusedBy("report") };
        self.tell(agent.name, words, "SubagentStop", &heard, comes_of_it, expect)
    }

    pub(super) fn stop(&mut self, expect: Expect) -> anyhow::Result<()> {
        let fields =
            json!({"stop_hook_active": false, "last_assistant_message": "All done!", "background_tasks": []});
        let heard = self.stage.hook("Stop", fields)?;
        self.tell(MAIN, "stops: \"All done!\"", "Stop", &heard, "", expect)
    }

    /// What a person does in a terminal of their own.
    pub(super) fn person(&mut self, words: &[&str], shown: &str) -> anyhow::Result<()> {
        let said = self.stage.person(words)?;
        self.tell("person", &format!("runs `{shown}`"), "", &Heard::default(), &said, Expect::Passes)
    }

    /// A step somebody else made.
    pub(super) fn tell(
        &mut self,
        who: &str,
        does: &str,
        event: &'static str,
        heard: &Heard,
        said: &str,
        expect: Expect,
    ) -> anyhow::Result<()> {
        self.stage.beat(who, does, event, heard, said)?;
        let Some(beat) = self.stage.last() else { return Ok(()) };
        (self.show)(Scene::Beat(beat))?;
        let got = match beat.word {
            Word::Refused => format!("refused by `{}`", beat.gate),
            _ => "passed".to_owned(),
        };
        let wanted = match expect {
            Expect::Passes => "passed".to_owned(),
            Expect::RefusedBy(gate) => format!("refused by `{gate}`"),
        };
        ensure!(got == wanted, "{who} {does}: {got}, but this step is to be {wanted}: {}", beat.said);
        Ok(())
    }
}
