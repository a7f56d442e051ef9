//! Describes one fact on one line, for people and for reviewers.
//!
//! Reads nothing, writes nothing. Invariants: always one line; a reviewer sees what was done, but nothing
//! that the agent under review wrote about it: no prompt for another agent, no description, no message.

use crate::model::call::{CallKey, ToolResult};
use crate::session::fact::{Fact, Said, Step};
use crate::session::memory::{RollbackState, Undone};
use crate::session::observed::CommittedBy;
use crate::text::json::{self, Json, cut};
use crate::text::plain::count;
use crate::text::template::one_line;

/// The fact on one line of at most this many characters.
pub fn describe_fact(fact: &Fact, longest: usize) -> String {
    let text = match fact {
        Fact::Open(open) => format!("aops-hook {}, project {}", open.binary, open.project),
        Fact::Event(seen) => {
            let who = seen.agent_type.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
            let said = seen.said.as_ref().map(describe_answer).unwrap_or_default();
            format!("{}{who}{said}{}", seen.event, describe_rehearsal(seen.rehearsed.as_ref()))
        }
        Fact::Call(step) => {
            describe_step(step, Some(describe_input(step, "")).filter(|input| !input.is_empty()))
        }
        Fact::Question(asked) => format!("{} asks a person about {}", asked.gate, asked.line),
        Fact::Answer(answered) => answered.tell(longest),
        Fact::Block(block) => format!("by {}: {}", block.by, block.reason),
        Fact::Unblock(unblock) => format!("by {}", unblock.by),
        Fact::Verdict(report) => {
            let said = report
                .finding
                .as_ref()
                .and_then(|f| f.verdict.as_ref().map(ToString::to_string).or_else(|| f.workflow.clone()));
            let said = said.or_else(|| report.problem.clone()).unwrap_or_else(|| "a reflection".to_owned());
            format!("{}: {said}", report.agent)
        }
        Fact::Mode(asked) => match &asked.refused {
            _ if asked.asked.is_empty() => "as the configuration says".to_owned(),
            Some(why) => format!("`AOPS_MODE={}` has no effect: {why}", asked.asked),
            None => format!("{}, by `AOPS_MODE`", asked.asked),
        },
        Fact::Run(staged) => match &staged.stage {
            Some(stage) => format!("{} begins step {}", staged.run_id, stage.step),
            None => format!("{} ends its step", staged.run_id),
        },
        Fact::Waive(waiver) => format!("{}: {}", waiver.gate, waiver.reason),
        Fact::Task(chosen) => format!("{} {}", chosen.by, chosen.how.words()),
        Fact::Check(run) => {
            format!("{} before {}: {} ({}, {} ms)", run.id, run.on.name(), run.outcome, run.ending, run.ms)
        }
        Fact::Violation(violation) => format!("{}: {}", violation.event, violation.violation),
        Fact::Recovery(recovery) => recovery.what.clone(),
        Fact::Checkpoint(taken) => format!("{} ({})", taken.id, taken.trigger),
        Fact::Rollback(undone) => describe_rollback(undone),
        Fact::Undo(brought) => {
            let told = if brought.told { ", told to the session" } else { "" };
            format!("{}: {}{told}", brought.number, count(brought.files, "file"))
        }
        Fact::Commit(made) => match &made.by {
            CommittedBy::Call(call) => format!("{} by {} {}", made.commit, call.tool, call.id),
            CommittedBy::Outside => format!("{} outside of any call", made.commit),
        },
        Fact::Attest(made) => format!("{} by statement {}", made.commit, made.statement_sha256),
        Fact::Network(changed) => changed.describe(),
        Fact::Insights(_) => "the session's insights so far".to_owned(),
        Fact::Snapshot(_) => "the whole state, to recover from".to_owned(),
    };
    one_line(&text, longest)
}

/// The same for a reviewer.
pub fn describe_deed(fact: &Fact, longest: usize) -> String {
    let Fact::Call(step) = fact else { return describe_fact(fact, longest) };
    let deed = describe_step(step, step.input().and_then(|input| keep_deed(&step.call, input.get())));
    let deed = one_line(&deed, longest);
    let printed = step.ended().result.as_ref().filter(|_| !TELLS.contains(&step.call.tool.as_str()));
    // The beginning of the result is already the reason of the failure.
    let printed = printed.map(|result| match step.reason {
        Some(_) => ToolResult { head: String::new(), ..result.clone() }.lines(),
        None => result.lines(),
    });
    let printed = printed.filter(|lines| !lines.is_empty());
    let printed = printed.map(|lines| format!("  => {}", both_ends(&lines, longest))).unwrap_or_default();
    deed + &printed
}

/// A call as people name it: `Write src/a.rs`, `Bash cargo test`. Paths below `root` are relative to it.
pub fn describe_call(step: &Step, root: &str) -> String {
    let tool = one_line(&step.call.tool, 64);
    match describe_input(step, root) {
        input if input.is_empty() => tool,
        input => format!("{tool} {input}"),
    }
}

/// What a call is about, on one line: its command, file, agent or question; for an unknown tool, every text
/// in its input.
fn describe_input(step: &Step, root: &str) -> String {
    let Some(Json::Object(members)) = step.input().and_then(|input| json::read(input.get()).ok()) else {
        return String::new();
    };
    let told = |value: &Json| match value {
        clipped @ Json::Object(_) => clipped.text_of("clipped").map(|text| text + "…"),
        value => value.text().map(std::borrow::Cow::into_owned),
    };
    let named = |name: &&str| {
        members.iter().find(|(known, _)| known.as_ref() == *name).and_then(|(_, value)| told(value))
    };
    let builtin = step.call.server == "builtin";
    let text = ABOUT.iter().find_map(named).filter(|_| builtin).unwrap_or_else(|| {
        let texts = members.iter().filter_map(|(name, value)| Some(format!("{name}: {}", told(value)?)));
        if builtin { String::new() } else { texts.collect::<Vec<_>>().join(", ") }
    });
    let inside = text.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')).filter(|_| !root.is_empty());
    one_line(inside.unwrap_or(&text), 300)
}

/// For the client's own tools: the most informative field; the first that exists is used.
const ABOUT: [&str; 14] = [
    "command", "file_path", "notebook_path", "subagent_type", "pattern", "query", "url", "skill", "path",
    "to", "task_id", "subject", "plan", "prompt",
];

/// Shortens a long line in its middle.
fn both_ends(line: &str, longest: usize) -> String {
    let line = one_line(line, usize::MAX - 1);
    if line.len() <= longest {
        return line;
    }
    let from = line.ceil_char_boundary(line.len() - longest * 2 / 3);
    format!("{} … {}", cut(&line, longest / 3), &line[from..])
}

/// Tools whose result is a message, or a file's text that the diff shows anyway.
const TELLS: [&str; 9] =
    ["Agent", "Task", "Read", "Write", "Edit", "MultiEdit", "NotebookEdit", "TodoWrite", "SendMessage"];

/// For the client's own tools: fields that name what they act on. A file's new text is in the diff.
const DEEDS: [&str; 11] = [
    "command", "cwd", "file_path", "glob", "notebook_path", "path", "pattern", "query", "skill",
    "subagent_type", "url",
];
/// For any other tool: fields in which the agent talks about the call.
const WORDS: [&str; 6] = ["comment", "description", "explanation", "prompt", "reason", "summary"];

/// The input of a call without the words of the agent that made it.
fn keep_deed(call: &CallKey, input: &str) -> Option<String> {
    let Json::Object(members) = json::read(input).ok()? else { return None };
    let builtin = call.server == "builtin";
    let keeps = |name: &str| if builtin { DEEDS.contains(&name) } else { !WORDS.contains(&name) };
    let kept: Vec<_> = members.into_iter().filter(|(name, _)| keeps(name.as_ref())).collect();
    (!kept.is_empty()).then(|| cut(&json::canonical(&Json::Object(kept)), 300).to_owned())
}

fn describe_rollback(undone: &Undone) -> String {
    let how = match undone.stage {
        RollbackState::Begun => "begun",
        RollbackState::Done => "done",
        RollbackState::Dropped => "dropped before anything was changed",
        RollbackState::Told => "told to the session",
    };
    format!("to {} by {}, {how}; the present is kept as {}", undone.target, undone.by, undone.archive)
}

fn describe_answer(said: &Said) -> String {
    let reason = said.reason.replace("\nhint: ", "; ");
    format!("  {} {}{}{reason}", said.gate, said.ruling, if reason.is_empty() { "" } else { ": " })
}

fn describe_step(step: &Step, input: Option<String>) -> String {
    let who = step.agent_type.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
    let input = input.map(|input| format!("  {input}")).unwrap_or_default();
    let why =
        step.reason.as_ref().map(|why| format!("  {}", why.replace("\nhint: ", "; "))).unwrap_or_default();
    let would = describe_rehearsal(step.rehearsed.as_ref());
    let warned = describe_warnings(step.warned()).map(|words| format!("  {words}")).unwrap_or_default();
    format!("{} {} {}{who}{input}{why}{would}{warned}", step.to.name(), step.call.tool, step.call.id)
}

/// Which of the user's rules warned about a call.
pub fn describe_warnings(rules: &[String]) -> Option<String> {
    let names: Vec<String> = rules.iter().map(|rule| format!("`{rule}`")).collect();
    (!names.is_empty()).then(|| format!("warned by your rule {}", names.join(", ")))
}

/// What the rehearsed mode would have done, without the way out.
fn describe_rehearsal(rehearsed: Option<&Said>) -> String {
    let Some(would) = rehearsed else { return String::new() };
    let reason = would.reason.lines().next().unwrap_or_default();
    format!("  `{}` would {} this: {reason}", would.gate, would.verb())
}
