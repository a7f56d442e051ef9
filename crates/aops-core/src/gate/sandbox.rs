//! The plan gate: refuses changes until the task has a plan, reviewed if its workflow requires that.
//!
//! Invariant: reading, the tracker, starting agents and asking the user are never refused here, so everything
//! that this gate requires can be done while it is closed. Way out: each refusal names the agent to start.

use super::report::wait_for;
use super::{CallContext, Context, Evidence, is_waived, jail, level, owed};
use crate::config::policy::Level;
use crate::config::workflow::Gate;
use crate::model::agent::{AgentId, May};
use crate::model::call::{Effect, ToolCall};
use crate::model::event::Event;
use crate::model::gate_id::GateId;
use crate::model::outcome::AgentVerdict;
use crate::model::phase::{Phase, Sandbox};
use crate::model::verdict::Verdict;
use crate::session::fold::Session;
use crate::text::plain::count;
use crate::text::template::{Phrase, one_line, whole_line};
use crate::tool::table::looks;
use crate::tool::tracking::How;
use serde_json::{Map, Value};

const GATE: GateId = GateId::Sandbox;

pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    let (Some(call), Some(seen)) = (event.call(), context.call()) else { return Verdict::pass() };
    let effect = seen.does.effect;
    let shut = is_shut(session, context, effect);
    if let Some(agent) = event.by_our_agent() {
        // Changes in a throwaway layer do not last.
        let gone = jail::tries(session, context);
        let may = if shut && !is_started(session, event) { May::OnlyRead } else { agent.may };
        return if gone { Verdict::pass() } else { judge_our_agent(agent.name, may, call, seen) };
    }
    if let Some(what) = seen.guard.brought.as_ref().filter(|_| shut && !is_waived(session, context, GATE)) {
        let values =
            vec![("call", shown(call)), ("what", what.clone()), ("agent", context.agent(AgentId::Hydrator))];
        return Verdict::refuse(GATE, Phrase::new("refusals/sandbox-brought.md", values));
    }
    if !effect.is_write()
        || is_waived(session, context, GATE)
        || context.stage.is_none() && is_free(session, seen)
        || jail::tries(session, context) && is_held(session, event, context)
    {
        return Verdict::pass();
    }
    if let Some(why) = outgrown(session, seen).filter(|_| context.stage.is_none()) {
        let waits = wait_for(session, context, AgentId::Hydrator, &call.key.id);
        let words = waits.or_else(|| unapproved(event, call, seen));
        return Verdict::refuse(GATE, words.unwrap_or_else(|| refuse_outgrown(why, session, context)));
    }
    if !shut {
        return if context.stage.is_none() && unreviewed(session) {
            Verdict::refuse(GATE, review(session, call, seen, context)).soften()
        } else {
            Verdict::pass()
        };
    }
    if let Some(stage) = &context.stage {
        let values = vec![
            ("step", one_line(&stage.step, 64)),
            ("call", shown(call)),
            ("effect", seen.does.why.clone()),
        ];
        return Verdict::refuse(GATE, Phrase::new("refusals/sandbox-step.md", values));
    }
    let verdict = Verdict::refuse(GATE, words(session, event, (call, seen), context));
    match &session.memory.client.names_taken {
        Some(taken) => verdict.join(Verdict::context(GATE, shadowed(&taken.path))),
        None => verdict,
    }
}

/// We saw this agent start. Another agent may use one of our names; while the plan gate is closed, that one
/// may only read.
fn is_started(session: &Session, event: &Event) -> bool {
    let started = |id: &String| session.memory.progress.agents.iter().any(|agent| agent.agent_id == *id);
    event.agent_id.as_ref().is_some_and(started)
}

fn is_shut(session: &Session, context: &Context, effect: Effect) -> bool {
    match &context.stage {
        Some(stage) => stage.sandbox == Sandbox::Shut && !(stage.closes && effect == Effect::Close),
        None => session.is_shut(),
    }
}

/// Changes are refused here, so a line that we do not know runs in a throwaway layer, and one that reads runs
/// where nothing can be changed.
pub fn is_held(session: &Session, event: &Event, context: &Context) -> bool {
    let Some(seen) = context.call() else { return false };
    let enforced = level(session.policy(), GATE) == Level::Enforce;
    let free = context.stage.is_none() && (is_free(session, seen) || event.by_our_agent().is_some());
    let outgrown = context.stage.is_none() && outgrown(session, seen).is_some();
    enforced
        && !is_waived(session, context, GATE)
        && !free
        && (outgrown || is_shut(session, context, seen.does.effect))
}

/// Scratch files are always free. If work is weighed, closing it and running the user's tests add nothing to
/// it.
fn is_free(session: &Session, seen: &CallContext) -> bool {
    let halted = session.state.phase == Phase::Halted;
    let ends = seen.does.effect == Effect::Close || seen.task.tests == Evidence::Is;
    !halted && (seen.does.scratch || session.weighs() && ends)
}

/// Why this change is more than a task without a plan may make; `None` if it is small or there is a plan.
pub fn outgrown(session: &Session, seen: &CallContext) -> Option<String> {
    let progress = &session.memory.progress;
    let halted = session.state.phase == Phase::Halted;
    if !session.weighs() || halted || !progress.weight.unplanned || !seen.does.effect.is_write() {
        return None;
    }
    let grown = seen.does.grows.clone().map(|file| progress.weight.grown.with(file));
    grown.and_then(|growth| session.weigh(&growth)).or_else(|| progress.weight.outgrown.clone())
}

fn refuse_outgrown(why: String, session: &Session, context: &Context) -> Phrase {
    let plan = ("agent", context.agent(AgentId::Hydrator));
    let end = ("at_the_end", owed::announce(session.policy(), context));
    // Without the jail only the user's own test command is known to add nothing.
    let tests = jail::is_on(session) || session.policy().evidence.test.is_some();
    let may = if tests { "tested and committed" } else { "committed" };
    let critic = ("critic", context.agent(AgentId::Critic));
    Phrase::new("refusals/outgrown.md", vec![("why", why), plan, critic, ("may", may.to_owned()), end])
}

/// The workflow requires a review, but the critic gate only warns, and there was no review.
fn unreviewed(session: &Session) -> bool {
    let warns = level(session.policy(), GateId::Critic) == Level::Warn;
    let reviewed = session.state.hydration.critic_said(AgentVerdict::Proceed);
    warns && !reviewed && session.memory.progress.wants(Gate::Critic)
}

fn review(session: &Session, call: &ToolCall, seen: &CallContext, context: &Context) -> Phrase {
    let workflow = ("workflow", session.state.state.current_workflow.clone().unwrap_or_default());
    let call = ("call", shown(call));
    let effect = ("effect", seen.does.why.clone());
    Phrase::new(
        "refusals/sandbox-review.md",
        vec![call, effect, workflow, ("agent", context.agent(AgentId::Critic))],
    )
}

/// Why the hint names one of our agents with a prefix.
fn shadowed(file: &str) -> String {
    let file = one_line(file, 300);
    format!(
        "`{file}` defines an agent under one of our names and is not ours, so reports under that name do not count\nhint: start `aops-` with that name; if it is not there, ask the user to run `aops-hook install` in this folder"
    )
}

/// In plan mode: the plan is made by the client and the person.
fn unapproved(event: &Event, call: &ToolCall, seen: &CallContext) -> Option<Phrase> {
    let values = || vec![("call", shown(call)), ("effect", seen.does.why.clone())];
    event.is_planning().then(|| Phrase::new("refusals/sandbox-planning.md", values()))
}

fn words(
    session: &Session,
    event: &Event,
    (call, seen): (&ToolCall, &CallContext),
    context: &Context,
) -> Phrase {
    let hydrator = ("agent", context.agent(AgentId::Hydrator));
    let awaited = if session.state.phase == Phase::Review { AgentId::Critic } else { AgentId::Hydrator };
    if let Some(phrase) =
        wait_for(session, context, awaited, &call.key.id).filter(|_| session.state.phase != Phase::Halted)
    {
        return phrase;
    }
    if session.state.phase == Phase::Review {
        return review(session, call, seen, context);
    }
    if let Some(phrase) = unapproved(event, call, seen).filter(|_| session.state.phase != Phase::Halted) {
        return phrase;
    }
    let call = ("call", shown(call));
    let effect = ("effect", seen.does.why.clone());
    let problems = &session.memory.progress.plan.problems;
    match session.state.phase {
        Phase::Halted => {
            Phrase::new("refusals/halted.md", vec![("reason", one_line(&problems.join("; "), 600))])
        }
        Phase::Hydrate if session.state.hydration.critic_said(AgentVerdict::Revise) => {
            let lines: Vec<String> =
                problems.iter().map(|problem| format!("- {}", one_line(problem, 300))).collect();
            Phrase::new("refusals/sandbox-revise.md", vec![("problems", lines.join("\n")), hydrator])
        }
        Phase::Execute => Phrase::new("refusals/sandbox-question.md", vec![call, effect, hydrator]),
        _ => {
            let end = ("at_the_end", owed::announce(session.policy(), context));
            Phrase::new("refusals/sandbox.md", vec![call, effect, hydrator, end])
        }
    }
}

/// Reviewers change nothing; the verifier may run tests, the others may use tracker and memory. Each of them
/// may comment on an issue.
fn judge_our_agent(name: &str, may: May, call: &ToolCall, seen: &CallContext) -> Verdict {
    let effect = seen.does.effect;
    let tests =
        may == May::RunTests && call.key.tool == "Bash" && effect == Effect::Write && !seen.does.touches_tree;
    let by_server = call.key.tool.starts_with("mcp__") && !looks(&call.key.tool);
    let comments =
        !seen.task.tracks.is_empty() && seen.task.tracks.iter().all(|tracks| tracks.how == How::Comments);
    let only_reads = may == May::OnlyRead && (by_server || !comments && !seen.task.looks);
    let tracks = effect == Effect::Tracker && (only_reads || may == May::RunTests && by_server);
    if tests || !(effect.is_write() || tracks) {
        return Verdict::pass();
    }
    let also = match may {
        May::OnlyRead => ", comment on issues",
        May::Track => ", the tracker and the memory",
        May::RunTests => ", run the tests",
    };
    let agent = ("agent", name.to_owned());
    let also = ("also", also.to_owned());
    let values = vec![agent, ("call", shown(call)), ("effect", seen.does.why.clone()), also];
    Verdict::refuse(GATE, Phrase::new("refusals/agent-write.md", values))
}

/// The whole call for a question to a person, from the input in the ledger: first what it runs or names, then
/// every other field. Parts that are not shown are counted.
pub fn shown_whole(tool: &str, input: &str) -> String {
    const LONGEST: usize = 2_000;
    let mut fields: Map<String, Value> = serde_json::from_str(input).unwrap_or_default();
    // The model's own description of a command is not the command.
    if matches!(tool, "Bash" | "Monitor") {
        fields.remove("description");
    }
    let first = ["command", "file_path", "notebook_path"].into_iter().find_map(|name| {
        let text = text_of(fields.get(name)?)?;
        fields.remove(name);
        Some(text)
    });
    let rest = (!fields.is_empty()).then(|| Value::Object(fields).to_string());
    let parts: Vec<String> = [Some(one_line(tool, 64)), first, rest].into_iter().flatten().collect();
    let line = parts.join(" ");
    let secrets = line.matches("[redacted:").count();
    let hidden =
        if secrets == 0 { String::new() } else { format!(" [{} hidden]", count(secrets as u64, "secret")) };
    // This character looks like a backquote but means nothing to a shell.
    whole_line(&line, LONGEST).replace('`', "ˋ") + &hidden
}

/// A string, or the beginning of one that was too long for the ledger.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(cut) => {
            let begin = cut.get("clipped")?.as_str()?;
            let length = cut.get("length")?.as_u64()?;
            let more = length.saturating_sub(begin.len() as u64);
            Some(format!("{begin} [… {more} more bytes are not shown …]"))
        }
        _ => None,
    }
}

/// The short form of a call for refusals.
pub fn shown(call: &ToolCall) -> String {
    let json = crate::text::json::read(&call.input).ok();
    let of = |name: &str| json.as_ref().and_then(|json| json.text_of(name));
    let what = of("command").or_else(|| of("file_path")).or_else(|| of("notebook_path")).unwrap_or_default();
    let tool = one_line(&call.key.tool, 64);
    let text = if what.is_empty() { tool } else { format!("{tool}: {what}") };
    one_line(&text, 160).replace('`', "'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_shows_the_whole_call() {
        let of = |tool, input: Value| shown_whole(tool, &input.to_string());
        assert_eq!(
            of("Bash", serde_json::json!({"command": "ls `x`", "description": "harmless"})),
            "Bash ls ˋxˋ"
        );
        let of_others = of("mcp__gh__issue", serde_json::json!({"command": "create", "description": "all"}));
        assert_eq!(of_others, "mcp__gh__issue create {\"description\":\"all\"}");
        assert_eq!(
            of("shell", serde_json::json!({"command": ["rm", "x"]})),
            "shell {\"command\":[\"rm\",\"x\"]}"
        );
        let secret = of("Bash", serde_json::json!({"command": "curl http://u:[redacted:password]@h"}));
        assert!(secret.ends_with("@h [1 secret hidden]"), "{secret}");
        // A string that was too long, in the form in which the ledger stores it.
        let long =
            serde_json::json!({"command": format!("git reset --hard; {}touch evil", "true; ".repeat(420))});
        let kept =
            crate::text::json::clipped(&crate::text::json::read(&long.to_string()).unwrap(), 2048, 12_000);
        let shown = shown_whole("Bash", &kept);
        assert!(
            shown.starts_with("Bash git reset --hard; true;") && shown.contains("more bytes are not shown"),
            "{shown}"
        );
        let whole = of("Bash", serde_json::json!({"command": "touch x", "run_in_background": true}));
        assert_eq!(whole, "Bash touch x {\"run_in_background\":true}");
        assert_eq!(of("mcp__db__run", serde_json::json!({"sql": "drop"})), "mcp__db__run {\"sql\":\"drop\"}");
        assert_eq!(
            of("Write", serde_json::json!({"file_path": "/x", "content": "y"})),
            "Write /x {\"content\":\"y\"}"
        );
        let padded = format!("echo {} && touch evil", "x".repeat(5_000));
        let shown = of("Bash", serde_json::json!({ "command": padded }));
        assert!(
            shown.contains("3024 characters are not shown") && shown.ends_with("&& touch evil"),
            "{shown}"
        );
    }
}
