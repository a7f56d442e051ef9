//! Gathers the context of one event before any gate decides.
//!
//! Reads heads, the call index, the working tree and agent files, each only for the events that need it.
//! Invariants: a plain tool call costs one look into the index and nothing else; if there is no randomness,
//! an audit is drawn.

use crate::config::policy::Policy;
use crate::config::policy::quiet::QuietLevel;
use crate::config::texts::{Library, Reading};
use crate::gate::guard::{self, Protected};
use crate::gate::{
    AgentNames, AgentStopContext, CallContext, CallEffect, Context, DangerFacts, Found, GuardFacts,
    HostFacts, JailFacts, Keeps, PlanQuestion, PromptContext, SessionEndContext, SettingsContext,
    StartContext, Unheld, facts, is_busy,
};
use crate::host;
use crate::host::claude::transcript;
use crate::ledger::open::Ledger;
use crate::model::agent::{AgentId, PLUGIN_PREFIX, ours};
use crate::model::call::{Effect, ToolCall};
use crate::model::client::Ability;
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind, What};
use crate::model::permission_mode::PermissionMode;
use crate::observe::ended::end;
use crate::observe::keeping::Lost;
use crate::observe::other_clients::{OtherClients, behind};
use crate::observe::tampering;
use crate::observe::{
    authority, brought, by_user, client, discards, draw, evidence, executable, foreign_agents, growth, hosts,
    jailed, keeping, keys, lasting_timers, leases, parked, plan, plugins, questions, quiet, real_paths,
    same_project, scratch, settings_edit, swept, unended, unfinished, unstopped, verified,
};
use crate::session::agent_report::{self, AgentReport};
use crate::session::fact::{CallMeans, Step, Unasked};
use crate::session::fold::Session;
use crate::session::memory::OpenCall;
use crate::session::prompt::Prompt;
use crate::system::env::Env;
use crate::system::process::Sharing;
use crate::text::json;
use crate::tool::effect;
use crate::tool::table::{self, ToolTouches};
use crate::tool::targets;
use aops_shell::class::{LineSetting, certain};
use aops_shell::syntax::{Ground, Word};
use std::path::Path;

pub fn look(env: &Reading, ledger: &Ledger, event: &Event) -> Result<Context, Failure> {
    let session = ledger.session();
    let unstarted = authority::is_unstarted(env, session, event);
    let mut context = Context { unstarted, ..shared_context(env, session, event) };
    match event.kind() {
        EventKind::PreToolUse | EventKind::PermissionRequest => {
            lasting_timers::remember(env, event)?;
            let _sharing = Sharing::begin();
            look_at_call(env, ledger, event, &mut context);
            hosts::look(session, &ledger.place().path, event, &mut context);
        }
        EventKind::PostToolUse | EventKind::PostToolUseFailure => {
            let mut ended = end(env, ledger, event, &context);
            ended.unasked = unasked(env, ledger, event, &context)?;
            context.found = Found::End(Box::new(ended));
        }
        EventKind::SessionStart => {
            let start = start(env, ledger, event)?;
            // The session learns the new names from this very event.
            context.agents.renamed.clone_from(&start.clashes);
            context.found = Found::Start(Box::new(start));
            context.unproven = authority::of_client(env, session, event);
        }
        EventKind::SubagentStart => {
            context.unproven =
                authority::of_agent(env, session, event).or_else(|| plugins::of_agent(env, event));
            if context.unproven.is_none() {
                context.found = Found::Start(Box::new(start(env, ledger, event)?));
            }
        }
        EventKind::UserPromptSubmit => {
            let (meant, unproven) = prompt(env, session, event);
            context.found = Found::Prompt(PromptContext { meant, ..PromptContext::default() });
            context.unproven = unproven;
        }
        EventKind::SessionEnd => {
            let unwatched = !context.attended && context.stage.is_none();
            context.found = Found::SessionEnd(SessionEndContext {
                refused: unwatched.then(|| unfinished::refusal(&ledger.recent())).flatten(),
                hosts: hosts::reached(env, session, &ledger.place().path, event).0,
            });
        }
        EventKind::SubagentStop => {
            context.unproven = authority::of_agent(env, session, event);
            let said = report(env, session, event, context.unproven.is_none());
            let report = said.map(|said| evidence::borne_out(ledger, event, said?));
            let verified_tree = verified::of_report(env, session, event, report.as_ref());
            context.found =
                Found::AgentStop(Box::new(AgentStopContext { report, verified_tree, left: None }));
        }
        EventKind::Stop if !is_busy(session, event) => {
            unstopped::look_at_stop(env, ledger, event, &mut context)?;
        }
        _ => {}
    }
    if let What::Configured(change) = &event.what {
        let text = tampering::settings(&change.file_path);
        let unread = tampering::is_too_large(&change.file_path);
        context.found = Found::Settings(SettingsContext { text, unread });
    }
    look_back(env, ledger, event, &mut context)?;
    Ok(context)
}

/// What happened before this event: a turn without a Stop, calls without an end, the same call earlier.
fn look_back(env: &Env, ledger: &Ledger, event: &Event, context: &mut Context) -> Result<(), Failure> {
    unstopped::look(env, ledger, event, context)?;
    unstopped::look_at_plan(env, ledger, event, context)?;
    parked::look(env, ledger.session(), event, context);
    context.earlier.decisions = questions::look(env, ledger.session(), event);
    unended::look(env, ledger.session(), event, context);
    context.earlier.past = past(ledger, event)?;
    Ok(())
}

/// What the prompt means. If only a person may say that and we cannot attribute it to one: also why.
fn prompt(env: &Env, session: &Session, event: &Event) -> (Prompt, Option<String>) {
    let (prompt, unproven) = authority::of_prompt(env, session, event);
    let message = session.policy().jail.messaging && jailed::is_message(event.prompt());
    (if message { Prompt::Ordinary } else { prompt }, unproven)
}

/// What a call did that ended without ever having been asked about.
fn unasked(env: &Env, ledger: &Ledger, event: &Event, context: &Context) -> Result<Option<Unasked>, Failure> {
    let session = ledger.session();
    let is_open = event.call().is_none_or(|call| session.open_call(&call.key).is_some());
    if is_open || past(ledger, event)?.is_some() {
        return Ok(None);
    }
    let effect =
        call(env, session, event).map(|(call, _)| call.does.effect).filter(|effect| effect.is_write());
    Ok(effect.map(|effect| {
        let means = CallMeans { effect: Some(effect), ..CallMeans::default() };
        let open = OpenCall { means, ..OpenCall::default() };
        Unasked {
            drawn: draw::draw(session, event, &open, context),
            effect,
            grows: growth::of_unasked(env, session, event),
        }
    }))
}

fn look_at_loss(env: &Reading, session: &Session, event: &Event, context: &mut Context, lost: &Lost) {
    let keeps = keeping::look(env, session, event, context, lost);
    if let Some(seen) = context.call_mut() {
        seen.danger.keeps = keeps;
    }
}

/// What a call does and reaches that is about to be made, or that a person is asked about.
fn look_at_call(env: &Reading, ledger: &Ledger, event: &Event, context: &mut Context) {
    let session = ledger.session();
    let (seen, lost) = call(env, session, event).unzip();
    let Some(mut seen) = seen else { return };
    seen.handed_back = handed_back(env, ledger, event);
    context.found = Found::Call(Box::new(seen));
    if let Some(lost) = lost.flatten().filter(|_| event.kind() == EventKind::PreToolUse) {
        look_at_loss(env, session, event, context, &lost);
    }
    if event.kind() == EventKind::PreToolUse && session.policy().quiet.allow != QuietLevel::Off {
        quiet::note(env, session, event, context);
    }
    if event.kind() == EventKind::PreToolUse {
        leases::look(env, session, event, context);
    } else if facts::is_plan_question(event) {
        let now = || brought::approves(env, Path::new(&event.cwd));
        let hook = session.memory.client.plan_hook.clone().or_else(now);
        let shown = Some(plan::shown(env, event, || Library::workflow_gates(env)));
        if let Some(call) = context.call_mut() {
            call.plan = PlanQuestion { shown, hook };
        }
    }
}

/// How a call with this key ended earlier, if the event concerns a call that is not open.
fn past(ledger: &Ledger, event: &Event) -> Result<Option<Step>, Failure> {
    let session = ledger.session();
    let of_call = matches!(
        event.kind(),
        EventKind::PreToolUse | EventKind::PostToolUse | EventKind::PostToolUseFailure
    );
    let call = event.call().filter(|_| of_call && !session.is_new());
    match call.filter(|call| session.open_call(&call.key).is_none()) {
        Some(call) => ledger.past_call(&call.key),
        None => Ok(None),
    }
}

/// Foreign files with our agents' names, and blocked sessions of the same project.
fn start(env: &Env, ledger: &Ledger, event: &Event) -> Result<StartContext, Failure> {
    let cwd = Path::new(&event.cwd);
    let session_starts = event.kind() == EventKind::SessionStart;
    let started = event.agent_type.as_ref().filter(|_| !session_starts);
    let shadowed = started.map(|name| foreign_agents::shadow(env, cwd, name));
    let clashes = foreign_agents::clashes(env, cwd, &|_| false);
    let shadowed = shadowed.unwrap_or_else(|| clashes.first().map(|(_, path)| path.clone()));
    let is_shadowed = shadowed.is_some();
    let (timers, timers_lost) =
        if session_starts { client::timers_before(env, event) } else { (Vec::new(), false) };
    Ok(StartContext {
        timers,
        timers_lost,
        shadowed: shadowed.map(|path| path.display().to_string()),
        beside: session_starts && authority::is_beside(env, ledger.session()),
        agentless: if session_starts { client::agentless(env, event) } else { None },
        clashes: clashes.into_iter().filter(|_| is_shadowed).map(|(name, _)| name.to_owned()).collect(),
        blocked_beside: if session_starts && ledger.session().is_new() {
            same_project::blocked_beside(env, ledger, event, event.source() == "fork")?
        } else {
            Vec::new()
        },
    })
}

/// A person is at the client, and the permission mode leaves them something to answer.
fn is_attended(env: &Env, event: &Event) -> bool {
    env.client.attended && event.permission_mode().is_none_or(PermissionMode::leaves_questions)
}

/// Rebuilds the context of a recorded event as far as possible: what the call does and reaches by today's
/// rules, in the folders and at the time of the event. The caller adds what only the ledger knows, such as
/// the working tree.
pub fn again(env: &Env, session: &Session, event: &Event, then_ms: i64) -> Context {
    made(env, session, event, then_ms, false)
}

/// The same for a call that might be made now, including what it would lose.
pub fn tried(env: &Env, session: &Session, event: &Event) -> Context {
    made(env, session, event, env.now_ms, true)
}

fn made(env: &Env, session: &Session, event: &Event, then_ms: i64, is_now: bool) -> Context {
    let env = &Reading::new(env, Path::new(&event.cwd));
    let folders = session.memory.watched.folders.clone();
    let stage = session.memory.run.clone();
    let defers = stage.is_some();
    let client = session.memory.agents.at_work.last().map(|agent| agent.client.clone()).unwrap_or_default();
    let shared = shared_context(env, session, event);
    let mut context = Context { folders, client, now_ms: then_ms, defers, stage, ..shared };
    match event.kind() {
        EventKind::PreToolUse | EventKind::PermissionRequest => {
            // We do not know what was on the disk then. If the text shows what the call loses, assume that
            // all of it could be kept.
            let keeps = |loses| if loses { Keeps::Nothing } else { Keeps::Untold };
            if let Some((mut call, lost)) = call(env, session, event) {
                call.danger.keeps = keeps(lost.is_some());
                context.found = Found::Call(Box::new(call));
                if let Some(lost) = lost.filter(|_| is_now) {
                    look_at_loss(env, session, event, &mut context, &lost);
                }
            }
        }
        EventKind::SubagentStop => {
            let report = report(env, session, event, true);
            context.found =
                Found::AgentStop(Box::new(AgentStopContext { report, ..AgentStopContext::default() }));
        }
        EventKind::UserPromptSubmit => {
            let meant = Prompt::read(event.prompt(), |_| false);
            context.found = Found::Prompt(PromptContext { meant, ..PromptContext::default() });
        }
        _ => {}
    }
    context
}

fn shared_context(env: &Env, session: &Session, event: &Event) -> Context {
    let stage = authority::stage(env, session);
    let prefixed = stage.is_some() || env.client.is_plugin;
    // Nobody inside a session is asked like a person, even if the client has a terminal.
    let attended = is_attended(env, event) && !authority::is_inside(env, session);
    let renamed = renamed(session);
    let cwd = Path::new(&event.cwd);
    let missing = |name: &&String| !prefixed && !foreign_agents::has_second_name(env, cwd, name);
    let missing = renamed.iter().filter(missing).cloned().collect();
    Context {
        folders: env.folders.iter().cloned().collect(),
        client: env.client.pid.clone(),
        now_ms: env.now_ms,
        agents: AgentNames { prefix: if prefixed { PLUGIN_PREFIX } else { "" }, renamed, missing },
        attended,
        interactive: env.client.attended && env.host.can(Ability::AsksPersons),
        defers: stage.is_some() || !attended && (env.run.claimed || asks_fleet(env, session)),
        stage,
        found: Found::nothing_of(event.kind()),
        ..Context::default()
    }
}

/// A client without a terminal ends without making the call, and `fleet wait` continues with it when a person
/// has answered.
fn asks_fleet(env: &Env, session: &Session) -> bool {
    session.policy().fleet.asks_sessions()
        && env.host.can(Ability::AsksPersons)
        && !env.client.attended
        && !authority::is_inside(env, session)
}

fn renamed(session: &Session) -> Vec<String> {
    session.memory.client.names_taken.as_ref().map(|taken| taken.names.clone()).unwrap_or_default()
}

/// What a call does and reaches, and what its command line would destroy.
fn call(env: &Env, session: &Session, event: &Event) -> Option<(CallContext, Option<Lost>)> {
    let call = event.call()?;
    let tool = &call.key.tool;
    let input = &call.input;
    let policy = session.policy();
    let mut protected = protected(env, session, event);
    let touches = table::tool(tool).touches != ToolTouches::Nothing;
    let mut others = if touches { OtherClients::new(env, session) } else { OtherClients::none(env) };
    if others.are_named(input) {
        others.add(&mut protected);
    }
    let variables = real_paths::variables(&protected);
    let home = protected.home.clone();
    let ground = Ground { cwd: &event.cwd, home: &home, variables: &variables };
    // Parsed once for both: the guard asks what the line touches, the plan gate what it does.
    let line = targets::line(tool, input, &ground);
    let mut reach = targets::of(tool, input, line.as_ref(), &ground);
    real_paths::settle(&mut reach, &mut protected, &mut others);
    swept::leave_out(env, event, &reach, &mut protected);
    protected.hooked = guard::starts(&reach).filter(|client| host::is_hooked(env, *client)).collect();
    let plans = by_user::plans(env, event, &reach);
    let listed_command = |program: &str, words: &[Word]| listed(policy, tool, program, words);
    let around = effect::CallSetting {
        is_planning: event.is_planning(),
        plans: &plans.to_string_lossy(),
        listed: policy.effects.of(tool),
        line: LineSetting { ground, project: Some(&protected.project), listed: &listed_command },
    };
    let class = effect::of(tool, input, line.as_ref(), &around);
    let looked = jailed::look(env, session, call, line.as_ref(), &around, class.effect);
    let place = keys::KeyPlace::of(env, session, &protected, looked.unheld != Unheld::Nothing);
    let dangers = discards::left(env, call, line.as_ref(), &ground, &reach);
    let lost = keeping::read(session, line.as_ref(), &dangers, &ground, &protected.project);
    let project = protected.project.clone();
    let grows = growth::of_edit(env, session, event);
    let does = CallEffect {
        effect: class.effect,
        why: looked.lasts.map_or(class.why, str::to_owned),
        touches_tree: class.touches_tree,
        scratch: scratch::is_all(env, session, tool, line.as_ref(), &around, &reach),
        weightless: grows.is_none() && growth::is_weightless(env, session, event),
        grows,
    };
    let guard = GuardFacts {
        keys: keys::shown(event, call, &reach, &place),
        settings: settings_edit::of_call(&protected, call, &reach),
        executable: executable::written(env, &protected, call, &reach),
        brought: brought(env, session, event, call),
        protected,
    };
    let seen = CallContext {
        does,
        guard,
        danger: DangerFacts { dangers, keeps: Keeps::default() },
        jail: JailFacts { unknown: looked.unknown, online: looked.online, unheld: looked.unheld },
        hosts: HostFacts { named: hosts::of_call(session, call, line.as_ref()), ..HostFacts::default() },
        ..by_user::asked(env, policy, event, (call, &project), reach)
    };
    Some((seen, lost))
}

/// What a call must not touch, including other clients' files if the call may reach them.
fn protected(env: &Env, session: &Session, event: &Event) -> Protected {
    let mut protected = tampering::protected(env, session, event);
    protected.on_disk.real = behind(&protected, &session.memory.watched.linked);
    protected.registered = session.memory.watched.held.keys().cloned().collect();
    protected
}

/// What the skill or agent that this call starts brings along, if that may change something.
fn brought(env: &Env, session: &Session, event: &Event, call: &ToolCall) -> Option<String> {
    let shut = session.is_shut() || session.memory.run.is_some();
    if shut { executable::used(env, Path::new(&event.cwd), call) } else { None }
}

/// What the user's `[effects]` say about a command in a tool's line; the tracker's program counts as the
/// tracker.
fn listed(policy: &Policy, tool: &str, program: &str, words: &[Word]) -> Option<Effect> {
    let listed = policy.effects.of_command(tool, program, || certain(words));
    listed.or_else(|| (program == policy.tracker.command).then_some(Effect::Tracker))
}

/// A report that one of our agents hands back, if it cannot be taken: after this call the agent could not be
/// sent back any more. A refusal counts at its end, whatever its form.
fn handed_back(env: &Reading, ledger: &Ledger, event: &Event) -> Option<Box<AgentStopContext>> {
    let call = event.asked_call().filter(|call| call.key.tool == transcript::HANDBACK)?;
    let session = ledger.session();
    let kind = event.agent_type.as_deref()?;
    session.awaited(event.agent_id.as_deref()?, kind)?;
    let agent = ours(kind)?;
    let text = json::read(&call.input).ok()?.text_of("message")?;
    if agent_report::read_refusal(agent, &text).is_some()
        || authority::of_agent(env, session, event).is_some()
    {
        return None;
    }
    let read = agent_report::read(agent, &text, &Library::workflow_gates(env));
    let fault = read.and_then(|report| evidence::borne_out(ledger, event, report)).err()?;
    Some(Box::new(AgentStopContext { report: Some(Err(fault)), ..AgentStopContext::default() }))
}

/// The findings of an agent that we wait for, and of any auditor, since its BLOCK counts in any case.
fn report(
    env: &Reading,
    session: &Session,
    event: &Event,
    proven: bool,
) -> Option<Result<AgentReport, String>> {
    let id = event.agent_id.as_deref()?;
    let kind = event.agent_type.as_deref()?;
    let agent = ours(kind)?;
    // The events of its call or its start may be missing.
    if !(proven && session.awaited(id, kind).is_some() || agent.id == AgentId::Custodiet) {
        return None;
    }
    let workflows = Library::workflow_gates(env);
    let said = agent_report::read(agent, event.report(), &workflows);
    // In auto mode an agent's report is in a call, and its last message only says so.
    let handed_back = || {
        let records = env.host.can(Ability::RecordsPersons) && !event.transcript_path.is_empty();
        // A refusal in the message counts, whatever its form.
        let refuses = agent_report::read_refusal(agent, event.report()).is_some();
        if !records || refuses {
            return None;
        }
        transcript::handed_back(Path::new(&event.transcript_path), id)
    };
    Some(said.or_else(|fault| match handed_back() {
        Some(text) => agent_report::read(agent, &text, &workflows),
        None => Err(fault),
    }))
}

#[cfg(test)]
mod tests;
