//! Adds context to an answer: for a prompt, how to enter the loop; for one of our agents, its brief.
//!
//! Reads and writes the same as `briefing::agent`. Invariants: nothing is added to a refusal or to a plain
//! tool call; no text asks for something that is not enforced; our agents get our prompt, whatever prompt the
//! calling agent wrote.

use crate::briefing::agent::brief;
use crate::briefing::handed_back::with_report;
use crate::briefing::hits;
use crate::briefing::sources::Found;
use crate::briefing::tracker;
use crate::config::policy::{Level, ModeLevel, Policy};
use crate::config::texts::{self, Library, Reading};
use crate::gate::{Context, owed, way_out};
use crate::ledger::open::Ledger;
use crate::model::agent::{Agent, AgentId, meant, ours};
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind};
use crate::model::gate_id::GateId;
use crate::model::permission_mode::PermissionMode;
use crate::model::phase::{Phase, Sandbox};
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fold::Session;
use crate::session::prompt::Prompt;
use crate::text::json::{self, cut, quoted};
use crate::text::plain::shell_word;
use crate::text::template::{Phrase, one_line};

/// The agent that makes the plan.
const PLANS: AgentId = AgentId::Hydrator;

const PROMPT: &str =
    "Do your part as your own instructions say. Your context was handed to you by aops-hook as you started.";

/// The verdict with the context for this event, under the policy from now on.
pub fn offer(
    env: &Reading,
    policy: &Policy,
    ledger: &Ledger,
    event: &Event,
    context: &Context,
    verdict: Verdict,
    found: Option<Found>,
) -> Result<Verdict, Failure> {
    if way_out::is_told(ledger.session(), event, context, &verdict) {
        return Ok(verdict.join(Verdict::notice(GateId::Hydrate, way_out::WORDS)));
    }
    if verdict.ruling != Ruling::Pass || ledger.session().blocked().is_some() {
        return Ok(verdict);
    }
    if let Some(notice) = notice_shadowed(env, event, context)? {
        return Ok(verdict.join(notice));
    }
    let context_of = |words| Verdict::context(GateId::Hydrate, words);
    let extra = match event.kind() {
        EventKind::UserPromptSubmit if context.prompt() == Prompt::Machine => {
            let ahead = with_report(env, ledger.session(), event, PLANS);
            let session = ahead.as_ref().unwrap_or_else(|| ledger.session());
            let brings = ahead.is_some() || brings_plan(session, event);
            brings.then(|| plan_in_force(env, policy, session, context)).flatten().map(context_of)
        }
        EventKind::UserPromptSubmit => Some(with_prompt(env, policy, ledger, event, context, found)?),
        EventKind::SubagentStart => match started(policy, event, context) {
            Some(agent) => Some(context_of(brief(env, ledger, event, agent, found)?.text)),
            None => None,
        },
        EventKind::PreToolUse => prompt_of_ours(policy, event, context).map(|input| {
            // In auto mode the client has the call judged as the model wrote it, and refuses one that a hook
            // then replaced. What is left of this call is ours: our agent, and our words.
            let judged = event.permission_mode() == Some(PermissionMode::Auto);
            let ruling = if judged { Ruling::Allow } else { Ruling::Pass };
            Verdict { ruling, input: Some(input), ..Verdict::pass() }
        }),
        EventKind::PostToolUse | EventKind::PostToolUseFailure
            if context.recorded().is_some_and(|end| end.drawn == Some(true))
                && policy.gates.audit == Level::Enforce =>
        {
            Some(announce_audit(policy, context))
        }
        EventKind::PostToolUse => {
            let session = ledger.session();
            let brings = brings_plan(session, event);
            let plan = brings.then(|| plan_in_force(env, policy, session, context)).flatten();
            plan.or_else(|| ending(env, policy, session, context)).map(context_of)
        }
        _ => None,
    };
    Ok(match extra {
        Some(extra) => verdict.join(extra),
        None => verdict,
    })
}

/// At the start of a session: warns that a file of the project takes the place of one of our agents.
fn notice_shadowed(env: &Reading, event: &Event, context: &Context) -> Result<Option<Verdict>, Failure> {
    let start = context.start().filter(|_| event.kind() == EventKind::SessionStart);
    let Some((start, file)) = start.and_then(|start| Some((start, start.shadowed.as_ref()?))) else {
        return Ok(None);
    };
    let name = start.clashes.first().cloned().unwrap_or_default();
    let values = vec![("file", one_line(file, 300)), ("agent", name)];
    let words = Phrase::new("", values).fill(&texts::template(env, "refusals/agent-shadowed.md")?);
    Ok(Some(Verdict::notice(GateId::Report, words)))
}

fn announce_audit(policy: &Policy, context: &Context) -> Verdict {
    let words = format!(
        "an audit was drawn for this task\nhint: start the agent `{}` in one message with the next agent that you start, or by itself before {} more changes are made",
        context.agent(AgentId::Custodiet),
        policy.audit.grace,
    );
    Verdict::context(GateId::Audit, words)
}

/// The call that made a plan has ended, or the client reports the end of the agent that made it in the
/// background.
fn brings_plan(session: &Session, event: &Event) -> bool {
    let agents = &session.memory.progress.agents;
    let planned =
        |id: &String| agents.iter().any(|agent| agent.agent_id == *id && agent.name == PLANS && agent.done);
    if event.kind() == EventKind::UserPromptSubmit {
        return event.ends().iter().filter_map(|end| end.agent_id.as_ref()).any(planned);
    }
    // An agent that was only started in the background has no plan yet, and the previous plan is not meant.
    let call = event.call().filter(|call| !call.launched);
    let call = call.filter(|call| matches!(call.key.tool.as_str(), "Agent" | "Task"));
    let input = call.and_then(|call| json::read(&call.input).ok());
    let kind = input.and_then(|input| input.text_of("subagent_type")).and_then(|kind| meant(&kind));
    kind.and_then(|kind| ours(&kind)).is_some_and(|agent| agent.id == PLANS)
}

/// After the call that made a plan: the steps of its workflow, and who must review it.
fn plan_in_force(env: &Reading, policy: &Policy, session: &Session, context: &Context) -> Option<String> {
    // The agent may have ended without a plan; the previous plan is not meant.
    let pending = session.state.state.hydration_pending;
    if !session.is_planned() || pending {
        return None;
    }
    let id = session.state.state.current_workflow.as_deref().unwrap_or_default();
    let library = Library::read(env);
    let chain = library.catalogue.chain(id);
    let steps =
        chain.map(|chain| format!("the plan in force follows workflow `{id}`: {}", cut(&chain, CHAIN)));
    let waits = session.state.phase == Phase::Review;
    let review = waits
        .then(|| format!("the plan needs a review: start the agent `{}`", context.agent(AgentId::Critic)));
    let works = waits || session.state.sandbox == Sandbox::Open;
    let tracker = if works { tracking(env, policy, session) } else { None };
    Some([steps, review, tracker].into_iter().flatten().collect::<Vec<_>>().join("\n"))
        .filter(|words| !words.is_empty())
}

/// How many bytes of a workflow's steps the main agent reads.
const CHAIN: usize = 600;

/// After a person approved a plan: what the task owes at its end. In mode `strict` the prompt already said
/// so.
fn ending(env: &Reading, policy: &Policy, session: &Session, context: &Context) -> Option<String> {
    context.recorded()?.plan.as_ref()?;
    let announced = (policy.mode.level() == ModeLevel::Loop).then(|| owed::announce(policy, context));
    let words = announced.into_iter().chain(tracking(env, policy, session));
    Some(words.filter(|words| !words.is_empty()).collect::<Vec<_>>().join("\n"))
        .filter(|words| !words.is_empty())
}

/// How work is tracked here; `None` if no tracker answered.
fn tracking(env: &Reading, policy: &Policy, session: &Session) -> Option<String> {
    if policy.tracker.is_none() {
        return None;
    }
    tracker::snapshot(env, env.root()).tool?;
    let program = shell_word(&policy.tracker.command);
    let issue = session.memory.progress.closing.issues.last().map(|issue| issue.id.as_str());
    let about = issue
        .map_or("if a tracked issue is about this".to_owned(), |id| format!("this task is issue `{id}`"));
    let id = issue.unwrap_or("ID");
    Some(format!(
        "{about}: `{program} update {id} --claim` before the first change, `{program} close {id}` when it is done"
    ))
}

/// The agent of ours that starts here and needs a brief.
fn started(policy: &Policy, event: &Event, context: &Context) -> Option<&'static Agent> {
    let agent = event.agent_type.as_deref().and_then(ours).filter(|_| {
        context.start().is_none_or(|start| start.shadowed.is_none()) && context.unproven.is_none()
    })?;
    is_briefed(policy, context, agent).then_some(agent)
}

/// At this event tracker, memory and notes are asked.
pub fn asks_sources(policy: &Policy, event: &Event, context: &Context) -> bool {
    match event.kind() {
        EventKind::UserPromptSubmit => is_hydrated(policy, context),
        EventKind::SubagentStart => {
            started(policy, event, context).is_some_and(|agent| agent.id == AgentId::Hydrator)
        }
        _ => false,
    }
}

/// The person's own words, in a mode that adds to them.
fn is_hydrated(policy: &Policy, context: &Context) -> bool {
    let ordinary = context.stage.is_none() && context.prompt() == Prompt::Ordinary;
    ordinary && policy.mode.level() >= ModeLevel::Loop
}

/// In mode `strict` how to get a plan; if no plan is needed, pieces that are relevant for the prompt.
fn with_prompt(
    env: &Reading,
    policy: &Policy,
    ledger: &Ledger,
    event: &Event,
    context: &Context,
    found: Option<Found>,
) -> Result<Verdict, Failure> {
    let hydrator = ours(AgentId::Hydrator.name()).filter(|_| is_hydrated(policy, context));
    let Some(hydrator) = hydrator else { return Ok(Verdict::pass()) };
    let brief = brief(env, ledger, event, hydrator, found)?;
    if policy.mode.level() != ModeLevel::Strict || !holds_sandbox(policy, ledger.session(), context) {
        let hits = hits::choose(event.prompt(), &brief.leads);
        return Ok(hits.map_or_else(Verdict::pass, |hits| Verdict::context(GateId::Hydrate, hits)));
    }
    if let Some(why) = &ledger.session().memory.client.agentless {
        let words = format!(
            "Reading and answering are free. Changes are refused in this session: they need a plan, only an agent can make one, and this client cannot start agents ({why}). If the prompt asks for a change, say plainly that you cannot make it."
        );
        return Ok(Verdict::context(GateId::Hydrate, words));
    }
    if event.is_planning() {
        let words = format!(
            "Reading is free. Make the plan in plan mode and show it with `ExitPlanMode`: the plan that the user approves is the plan of this task, and no agent has to be started for it. {}",
            owed::announce(policy, context)
        );
        return Ok(Verdict::context(GateId::Hydrate, words.trim_end()));
    }
    let end = ("at_the_end", owed::announce(policy, context));
    let values = vec![("agent", context.agent(hydrator.id)), ("context_file", brief.file), end];
    let words = Phrase::new("hydration-instruction.md", values)
        .fill(&texts::template(env, "hydration-instruction.md")?);
    Ok(Verdict::context(GateId::Hydrate, words))
}

/// Changes of a task without a plan are refused, and no person waived that.
fn holds_sandbox(policy: &Policy, session: &Session, context: &Context) -> bool {
    policy.gates.sandbox == Level::Enforce && !session.is_waived_by_person(GateId::Sandbox, context.now_ms)
}

/// Below mode `loop` our agents are like any others, unless a gate that waits for this one was switched on.
fn is_briefed(policy: &Policy, context: &Context, agent: &Agent) -> bool {
    let gates = &policy.gates;
    let awaited = match agent.id {
        AgentId::Hydrator => gates.sandbox,
        AgentId::Critic => gates.critic,
        AgentId::Custodiet => gates.audit,
        AgentId::QaVerifier => gates.qa,
        AgentId::Framework => gates.reflect,
    };
    context.stage.is_some() || policy.mode.level() >= ModeLevel::Loop || awaited != Level::Off
}

/// The input of an `Agent` call that starts one of our agents: our prompt, in the foreground, and nothing of
/// the caller's input. Words, a model or a resumed conversation chosen by the caller would influence the
/// reviewer.
fn prompt_of_ours(policy: &Policy, event: &Event, context: &Context) -> Option<String> {
    let call = event.call().filter(|call| matches!(call.key.tool.as_str(), "Agent" | "Task"))?;
    let input = json::read(&call.input).ok()?;
    let name = meant(&input.text_of("subagent_type")?)?;
    ours(&name).filter(|agent| is_briefed(policy, context, agent))?;
    let prompt = quoted(PROMPT);
    let name = quoted(&name);
    Some(format!(
        "{{\"description\":{name},\"prompt\":{prompt},\"run_in_background\":false,\"subagent_type\":{name}}}"
    ))
}
