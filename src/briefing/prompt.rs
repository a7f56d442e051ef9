//! Adds context to an answer: the way into the loop for a prompt, the brief for one of our agents.
//!
//! Reads and writes what `briefing::agent` does. Invariants: nothing is added to a refusal or to a plain tool call; our
//! agents get our prompt, whatever prompt the calling agent wrote.

use crate::briefing::agent::brief;
use crate::config::texts;
use crate::gate::Context;
use crate::ledger::open::Ledger;
use crate::model::agent::{meant, ours};
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind};
use crate::model::verdict::{Ruling, Verdict};
use crate::session::prompt::Prompt;
use crate::system::env::Env;
use crate::text::json::{self, quoted};
use crate::text::template::Phrase;

const PROMPT: &str =
    "Do your part as your own instructions say. Your context was handed to you by aops-hook as you started.";

/// The verdict with the context that belongs to this event.
pub fn offer(
    env: &Env,
    ledger: &Ledger,
    event: &Event,
    context: &Context,
    verdict: Verdict,
) -> Result<Verdict, Failure> {
    if verdict.ruling != Ruling::Pass || ledger.session().blocked().is_some() {
        return Ok(verdict);
    }
    if let Some(file) = context.start.shadowed.as_ref().filter(|_| event.kind == EventKind::SessionStart) {
        let name = std::path::Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let values = vec![("file", crate::text::template::one_line(file, 300)), ("agent", name)];
        let words = Phrase::new("", values).fill(&texts::template(env, "refusals/agent-shadowed.md")?);
        return Ok(verdict.join(Verdict::notice("report", words)));
    }
    let agent = event.agent_type.as_deref().and_then(ours);
    let extra = match (event.kind, agent) {
        (EventKind::UserPromptSubmit, _)
            if context.stage.is_none() && Prompt::of(&event.prompt) == Prompt::Ordinary =>
        {
            let Some(hydrator) = ours("prompt-hydrator") else { return Ok(verdict) };
            let file = brief(env, ledger, event, hydrator)?.file;
            let values = vec![("agent", context.agent(hydrator.name)), ("context_file", file)];
            let words = Phrase::new("hydration-instruction.md", values)
                .fill(&texts::template(env, "hydration-instruction.md")?);
            Verdict::context("hydrate", words)
        }
        (EventKind::SubagentStart, Some(agent)) if context.start.shadowed.is_none() => {
            Verdict::context("hydrate", brief(env, ledger, event, agent)?.text)
        }
        (EventKind::PreToolUse, _) => match prompt_of_ours(event) {
            Some(input) => Verdict { input: Some(input), ..Verdict::pass() },
            None => return Ok(verdict),
        },
        (EventKind::PostToolUse | EventKind::PostToolUseFailure, _) if context.ended.drawn == Some(true) => {
            let words = format!(
                "an audit was drawn for this task\nhint: start the agent `{}` now; {} more changes are free before it must have begun",
                context.agent("custodiet"),
                ledger.session().policy().audit.grace,
            );
            Verdict::context("audit", words)
        }
        _ => return Ok(verdict),
    };
    Ok(verdict.join(extra))
}

/// The input of an `Agent` call that starts one of our agents: our prompt, in the foreground, and of the caller's input
/// only the description. A model or a resumed conversation chosen by the caller would influence the reviewer.
fn prompt_of_ours(event: &Event) -> Option<String> {
    let call = event.call.as_ref().filter(|call| matches!(call.key.tool.as_str(), "Agent" | "Task"))?;
    let input = json::read(&call.input).ok()?;
    let name = meant(&input.text_of("subagent_type")?)?;
    let called = quoted(&input.text_of("description").unwrap_or_else(|| name.clone()));
    let (prompt, name) = (quoted(PROMPT), quoted(&name));
    Some(format!(
        "{{\"description\":{called},\"prompt\":{prompt},\"run_in_background\":false,\"subagent_type\":{name}}}"
    ))
}
