//! Says that a command's result is lost, or that it had no network, because it ran in a throwaway layer.
//!
//! Reads what the end of the command left; writes nothing. Invariants: whoever reads the command's own output
//! also reads that nothing was saved, why, and what to do; the person reads each message once per prompt.

use super::Context;
use crate::model::agent::AgentId;
use crate::model::event::Event;
use crate::model::gate_id::GateId;
use crate::model::outcome::AgentVerdict;
use crate::model::phase::Phase;
use crate::model::profile::{Losses, Profile};
use crate::model::verdict::Verdict;
use crate::session::fold::Session;
use crate::text::json;
use crate::text::template::one_line;

const GATE: GateId = GateId::Jail;

pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    let Some(under) = context.recorded().map(|recorded| &recorded.under) else { return Verdict::pass() };
    let told = match &under.jailed {
        Some(proof) if !proof.lost.is_empty() && proof.profile.is_quiet() => {
            tell_contained(event, &proof.lost)
        }
        Some(proof) if !proof.lost.is_empty() => tell(session, event, context, &proof.lost),
        Some(proof) if proof.profile == Profile::Trial && goes_on(event) => {
            tell_early(session, event, context)
        }
        _ => Verdict::pass(),
    };
    if under.offline { tell_offline(session, event, context).join(told) } else { told }
}

/// The command failed because a throwaway layer has no network: whoever reads its error also reads that.
fn tell_offline(session: &Session, event: &Event, context: &Context) -> Verdict {
    let begin = format!("No network: {} failed in a throwaway layer, which has none", command(event));
    let told = session.memory.progress.told.offline == Some(session.memory.progress.prompts.count);
    let notice = |words: String| {
        if told || context.stage.is_some() { Verdict::pass() } else { Verdict::notice(GATE, words) }
    };
    if let Some(agent) = event.by_our_agent() {
        let begin = format!("{begin}, like every command of `{}`.", context.agent(agent.id));
        let next = "The failure says nothing about the work. Look at it without the network, and name in your report what you could not try.";
        let person = "If its tests need the network, set `[jail] test_network = true`.";
        return Verdict::context(GATE, format!("{begin} {next}")).join(notice(format!("{begin} {person}")));
    }
    let (why, next) = cause(session, event, context);
    let begin = format!("{begin}, because {why}.");
    let person = "The agent got the same message: with a plan its commands have the network.";
    Verdict::feedback(GATE, format!("{begin} {next}")).join(notice(format!("{begin} {person}")))
}

/// The client no longer waits for it.
fn goes_on(event: &Event) -> bool {
    event.call().is_some_and(|call| call.unended)
}

fn tell_early(session: &Session, event: &Event, context: &Context) -> Verdict {
    let begin = format!("Not saved: {} has not ended, and runs in a throwaway layer", command(event));
    let gone = "Its changes are discarded, and no other command can reach it.";
    if let Some(agent) = event.by_our_agent() {
        let agent = context.agent(agent.id);
        return Verdict::context(GATE, format!("{begin}, like every command of `{agent}`. {gone}"));
    }
    let (why, next) = cause(session, event, context);
    Verdict::feedback(GATE, format!("{begin} because {why}. {gone} Stop it. {next}"))
}

fn tell(session: &Session, event: &Event, context: &Context, lost: &Losses) -> Verdict {
    let command = command(event);
    let gone = lost.describe();
    if let Some(agent) = event.by_our_agent() {
        let words = format!(
            "Not saved: {command} ran in a throwaway layer, like every command of `{}`. {gone}",
            context.agent(agent.id)
        );
        return Verdict::context(GATE, words);
    }
    let (why, next) = cause(session, event, context);
    let words = format!("Not saved: {command} ran in a throwaway layer because {why}. {gone} {next}");
    let told = Verdict::feedback(GATE, words);
    if context.stage.is_some()
        || session.memory.progress.told.unsaved == Some(session.memory.progress.prompts.count)
    {
        return told;
    }
    let notice = format!(
        "Not saved: {command} ran in a throwaway layer because {why}. {gone} The agent got the same message. `aops-hook log` marks every such command."
    );
    told.join(Verdict::notice(GATE, notice))
}

/// Only its temporary files are lost; its changes in the project stay.
fn tell_contained(event: &Event, lost: &Losses) -> Verdict {
    let command = command(event);
    let gone = lost.describe();
    let words = format!(
        "Not saved: {command} ran with a temporary folder of its own, since nobody was asked. {gone} Write it into the project, or let the command print it."
    );
    Verdict::context(GATE, words)
}

/// The name of the command in messages.
fn command(event: &Event) -> String {
    let input = event.call().and_then(|call| json::read(&call.input).ok());
    let command = input.and_then(|input| input.text_of("command")).unwrap_or_default();
    format!("\"{}\"", one_line(&command, 120).replace('"', "'"))
}

/// Why it was not saved, and the next step.
fn cause(session: &Session, event: &Event, context: &Context) -> (String, String) {
    if let Some(stage) = &context.stage {
        let step = one_line(&stage.step, 64);
        let next = "Say in your answer what a later step has to change.";
        return (format!("step `{step}` of this run changes nothing"), next.to_owned());
    }
    let progress = &session.memory.progress;
    let (why, agent) = match session.state.phase {
        Phase::Halted => {
            let next = "Tell the user what they have to decide.";
            return ("this task was halted".to_owned(), next.to_owned());
        }
        _ if !session.is_shut() && progress.weight.outgrown.is_none() => {
            return ("this task had no plan when it started".to_owned(), "Run it again.".to_owned());
        }
        Phase::Review => ("the plan of this task is not reviewed yet", AgentId::Critic),
        Phase::Execute
            if session.is_shut() && (progress.weight.outgrown.is_none() || session.is_planned()) =>
        {
            let next = "If the user wants this change, start {} again and choose another workflow, then run it again.";
            let next = next.replace("{}", &context.agent(AgentId::Hydrator));
            return ("a question changes nothing".to_owned(), next);
        }
        Phase::Hydrate if session.state.hydration.critic_said(AgentVerdict::Revise) => {
            ("the review sent the plan of this task back", AgentId::Hydrator)
        }
        _ if progress.weight.outgrown.is_some() => {
            ("this task has outgrown a small edit and has no plan yet", AgentId::Hydrator)
        }
        _ => ("this task has no plan yet", AgentId::Hydrator),
    };
    if event.is_planning() {
        let next = "Finish the plan in plan mode; when the user has approved it, run it again.";
        return ("the user has not approved the plan of this task yet".to_owned(), next.to_owned());
    }
    let call = event.call().map(|call| call.key.id.as_str()).unwrap_or_default();
    let at_work = context.at_work(session, agent, call).is_some();
    let agent = context.agent(agent);
    let next = if at_work { format!("Wait for the report of {agent}") } else { format!("Start {agent}") };
    (why.to_owned(), format!("{next}, then run it again."))
}
