//! Gathers what the gates may know beside session and event, before anybody decides.
//!
//! Reads heads, the call index, the working tree and the system's randomness, each only for the events that need it.
//! Invariant: a plain tool call costs one look into the index and nothing else.

use crate::claude::disarm;
use crate::config::policy::Level;
use crate::config::texts::{self, Library};
use crate::config::workflow::Held;
use crate::gate::guard::Protected;
use crate::gate::{Context, is_waived};
use crate::ledger::heads;
use crate::ledger::open::Ledger;
use crate::model::agent::ours;
use crate::model::call::{Effect, ToolCall};
use crate::model::error::Failure;
use crate::model::event::Event;
use crate::observe::foreign_agents;
use crate::observe::real_paths;
use crate::observe::tampering::{self, Mark, Trip};
use crate::session::agent_report;
use crate::session::fold::Session;
use crate::session::state::RunStep;
use crate::shell::effect;
use crate::shell::syntax::{Ground, Word};
use crate::shell::targets::{self, CommandRun, Targets};
use crate::system::env::Env;
use crate::system::git;
use crate::text::json;
use crate::text::sha256::sha256;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The context of this event.
pub fn look(env: &Env, ledger: &Ledger, event: &Event) -> Result<Context, Failure> {
    let session = ledger.session();
    let mut context = plain(env, session, event);
    match event.name.as_str() {
        "PreToolUse" | "PermissionRequest" => call(env, session, event, &mut context),
        "PostToolUse" | "PostToolUseFailure" => after(env, session, event, &mut context),
        "SubagentStart" | "SessionStart" => shadowed(env, event, &mut context),
        "ConfigChange" => context.settings = Some(tampering::settings(&event.file_path)),
        "SubagentStop" => context.report = report(env, session, event),
        "Stop" if !event.busy && (wrote(session) || closes(&context)) => {
            context.tree = git::owed(env, Path::new(&event.cwd), &session.memory.baseline);
        }
        _ => {}
    }
    if event.name == "SessionStart" && session.is_new() {
        context.blocked_beside = blocked_beside(env, ledger)?;
    }
    if let Some(call) = event.call.as_ref().filter(|call| session.open_call(&call.key).is_none())
        && matches!(event.name.as_str(), "PreToolUse" | "PostToolUse" | "PostToolUseFailure")
        && !session.is_new()
    {
        context.past = ledger.past_call(&call.key)?;
    }
    Ok(context)
}

fn wrote(session: &Session) -> bool {
    session.state.task.as_ref().is_some_and(|task| task.writes > 0)
}

fn closes(context: &Context) -> bool {
    context.stage.as_ref().is_some_and(|stage| stage.closes)
}

/// The step under way, if the client was started for it: only the driver and the client it started know the key.
fn stage(env: &Env, session: &Session) -> Option<RunStep> {
    let (stage, (run, key)) = (session.memory.run.as_ref()?, env.run.as_ref()?);
    (stage.run_id == *run && stage.key_sha256 == sha256(&[key.as_bytes()])).then(|| stage.clone())
}

/// Whose our agents' names are here.
fn shadowed(env: &Env, event: &Event, context: &mut Context) {
    let cwd = Path::new(&event.cwd);
    let found = match &event.agent_type {
        Some(name) if event.name == "SubagentStart" => foreign_agents::shadow(env, cwd, name),
        _ => foreign_agents::any(env, cwd),
    };
    context.shadowed = found.map(|path| path.display().to_string());
}

/// A person sits there, and the mode leaves them something to answer.
fn is_attended(env: &Env, event: &Event) -> bool {
    let silent = ["bypassPermissions", "dontAsk", "auto"];
    env.attended && !event.permission_mode.as_deref().is_some_and(|mode| silent.contains(&mode))
}

/// The context of an event that a ledger recorded, as far as today can set it again: what the call does and reaches by
/// today's rules, in the folders and at the time of then. How the tree stood is for whoever asks to add from the ledger.
pub fn again(env: &Env, session: &Session, event: &Event, then_ms: i64) -> Context {
    let folders = session.memory.folders.clone();
    let stage = session.memory.run.clone();
    let defers = stage.is_some();
    let mut context = Context { folders, now_ms: then_ms, defers, stage, ..plain(env, session, event) };
    match event.name.as_str() {
        "PreToolUse" | "PermissionRequest" => call(env, session, event, &mut context),
        "SubagentStop" => context.report = report(env, session, event),
        _ => {}
    }
    context
}

/// What every context has.
fn plain(env: &Env, session: &Session, event: &Event) -> Context {
    let policy = session.policy();
    let stage = stage(env, session);
    Context {
        folders: env.folders.iter().cloned().collect(),
        busy: event.busy,
        now_ms: env.now_ms,
        prefix: if stage.is_some() || env.is_plugin || session.memory.shadowed.is_some() {
            "aops:"
        } else {
            ""
        },
        grace: policy.audit.grace,
        refusals: policy.stop.refusals,
        home: env.home.to_string_lossy().into_owned(),
        attended: is_attended(env, event),
        defers: stage.is_some() || env.in_run && !is_attended(env, event),
        stage,
        ..Context::default()
    }
}

fn call(env: &Env, session: &Session, event: &Event, context: &mut Context) {
    let Some(call) = &event.call else { return };
    let (tool, input) = (&call.key.tool, &call.input);
    let policy = session.policy();
    let mut protected = protected(env, event);
    protected.real = real_paths::behind(&protected, &session.memory.linked);
    let (variables, home) = (real_paths::variables(&protected), protected.home.clone());
    let ground = Ground { cwd: &event.cwd, home: &home, variables: &variables };
    // Cut once: the guard asks what the line reaches, the sandbox what it does.
    let line = targets::line(tool, input, &ground);
    let mut reach = targets::of(tool, input, line.as_ref(), &ground);
    real_paths::settle(&mut reach, &mut protected);
    if !policy.checks.is_empty() {
        context.saves = saves(event, call);
        context.commits = reach.runs.iter().any(commits);
    }
    if !policy.rules.is_empty() {
        (context.paths, context.commands) = named(event, call, &reach);
    }
    let planning = event.permission_mode.as_deref() == Some("plan");
    let plans = env.config.join("plans");
    let plans = if planning && leaves(&plans, &reach) { PathBuf::new() } else { plans };
    context.reach = Some((protected, reach));
    let around = effect::CallSetting {
        mode: event.permission_mode.as_deref(),
        plans: &plans.to_string_lossy(),
        ground,
        listed: &|name| policy.effects.of(name),
    };
    let classed = effect::of(tool, input, line.as_ref(), &around);
    (context.effect, context.why, context.touches_tree) =
        (Some(classed.effect), classed.why, classed.touches_tree);
}

/// The file that an edit tool is about to save.
fn saves(event: &Event, call: &ToolCall) -> Option<String> {
    let field = match call.key.tool.as_str() {
        "Write" | "Edit" | "MultiEdit" => "file_path",
        "NotebookEdit" => "notebook_path",
        _ => return None,
    };
    let path = json::read(&call.input).ok()?.text_of(field).unwrap_or_default();
    let path = Path::new(&event.cwd).join(path);
    Some(real_paths::real(&path).unwrap_or(path).to_string_lossy().into_owned())
}

/// `git commit`, whatever options stand before the verb.
fn commits(run: &CommandRun) -> bool {
    let words: Vec<String> = run.words().iter().map(Word::lossy).collect();
    let Some((program, rest)) = words.split_first() else { return false };
    let takes_value = |word: &str| matches!(word, "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace");
    let mut rest = rest.iter();
    let verb = loop {
        match rest.next() {
            Some(word) if takes_value(word) => drop(rest.next()),
            Some(word) if word.starts_with('-') => {}
            verb => break verb,
        }
    };
    program.rsplit('/').next() == Some("git") && verb.is_some_and(|verb| verb == "commit")
}

/// A link among these targets leads out of this folder.
fn leaves(folder: &Path, reach: &Targets) -> bool {
    let real = real_paths::real(folder).unwrap_or_else(|| folder.to_path_buf());
    let inside = |word: &Word| word.literal().is_some_and(|path| Path::new(&path).starts_with(&real));
    reach.paths.iter().filter_map(|target| target.real.as_ref()).any(|word| !inside(word))
}

/// What rules can be about: every path the call names or reaches, and its simple commands.
fn named(event: &Event, call: &ToolCall, reach: &Targets) -> (Vec<String>, Vec<Vec<String>>) {
    let reached = reach.paths.iter().map(|target| target.real.as_ref().unwrap_or(&target.path).lossy());
    let input = json::read(&call.input).ok();
    let fields =
        ["file_path", "notebook_path", "path"].into_iter().filter_map(|name| input.as_ref()?.text_of(name));
    let fields = fields
        .map(|path| Path::new(&event.cwd).join(path))
        .map(|path| real_paths::real(&path).unwrap_or(path).to_string_lossy().into_owned());
    let commands = reach.runs.iter().map(|run| run.words().iter().map(Word::lossy).collect());
    (reached.chain(fields).collect(), commands.collect())
}

/// What the guard stands before: this world, and the project the session began in.
pub fn protected(env: &Env, event: &Event) -> Protected {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let project = if env.project.as_os_str().is_empty() { event.cwd.clone() } else { text(&env.project) };
    let program = std::env::current_exe().map(|path| text(&path)).unwrap_or_default();
    let pids = Some(env.client.clone()).filter(|pid| !pid.is_empty());
    Protected { pids: pids.into_iter().collect(), ..real_paths::protected(env, &project, vec![program]) }
}

/// What a look at settings, configuration and program says now, by path.
pub fn marks(protected: &Protected) -> BTreeMap<String, String> {
    let stamp = |m: &Mark| format!("{}:{}:{}:{:o}", m.len, m.mtime_ns, m.ino, m.mode);
    tampering::look(protected).iter().map(|mark| (mark.path.clone(), stamp(mark))).collect()
}

/// The settings files that register us now, with their events.
pub fn held(protected: &Protected) -> BTreeMap<String, Vec<String>> {
    let files = marks(protected)
        .into_keys()
        .filter(|path| Path::new(path).extension().is_some_and(|kind| kind == "json"));
    let held = files.map(|path| (path.clone(), disarm::registered(&tampering::settings(&path))));
    held.filter(|(_, events)| !events.is_empty()).collect()
}

/// The end of a write: the audit's lot, and whether something of ours was changed behind the gates' back.
fn after(env: &Env, session: &Session, event: &Event, context: &mut Context) {
    context.drawn = draw(session, event, context);
    let open = event.call.as_ref().and_then(|call| session.open_call(&call.key));
    context.tracked = open.is_some_and(|open| open.effect == Some(Effect::Tracker));
    let wrote = open.is_some_and(|open| open.effect.is_some_and(crate::model::call::Effect::is_write));
    if !wrote || session.memory.marks.is_empty() {
        return;
    }
    let protected = protected(env, event);
    let marks = marks(&protected);
    let old = &session.memory.marks;
    let changed: Vec<String> = marks
        .iter()
        .filter(|(path, mark)| old.get(*path).is_some_and(|was| was != *mark))
        .map(|(path, _)| path.clone())
        .collect();
    let held: Vec<(String, Vec<String>)> = session.memory.held.clone().into_iter().collect();
    match tampering::judge(&changed, &held, &protected.binaries) {
        Some(Trip::Disarmed(path, why)) => {
            context.disarmed = Some(format!("`{path}` changed while a tool call ran: {why}"));
        }
        Some(Trip::Changed(paths)) => context.changed = paths,
        None => {}
    }
    context.marks = Some(marks);
}

/// The audit's lot for a write that ended: from the system's randomness, and at the latest every so many writes.
fn draw(session: &Session, event: &Event, context: &Context) -> Option<bool> {
    let policy = session.policy();
    let (audit, off) = (policy.audit, policy.gates.audit == Level::Off);
    let rate = audit.rate.in_millionths();
    let open = session.open_call(&event.call.as_ref()?.key)?;
    let by_ours =
        event.agent_id.as_ref().and(event.agent_type.as_deref()).is_some_and(|name| ours(name).is_some());
    if by_ours
        || !open.effect.is_some_and(crate::model::call::Effect::is_write)
        || off
        || session.state.audit.due
        || is_waived(session, context, "audit")
    {
        return None;
    }
    let mut bytes = [0_u8; 4];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).ok()?;
    let lot = (u64::from(u32::from_ne_bytes(bytes)) * 1_000_000) >> 32;
    let late = rate > 0 && session.memory.progress.writes_since_draw + 1 >= audit.at_least_every;
    Some(lot < u64::from(rate) || late)
}

fn report(env: &Env, session: &Session, event: &Event) -> Option<Result<agent_report::AgentReport, String>> {
    let (id, kind) = (event.agent_id.as_deref()?, event.agent_type.as_deref()?);
    session.awaited(id, kind)?;
    Some(agent_report::read(ours(kind)?, &event.report, &workflows(env, event)))
}

/// Ids and gates of the workflows in force: a project's version of a shipped one keeps that one's gates.
fn workflows(env: &Env, event: &Event) -> BTreeMap<String, Vec<String>> {
    let library = Library::read(env, &texts::project(env, Path::new(&event.cwd)));
    let gates = |held: &Held| {
        let mut gates: Vec<String> =
            held.workflow.gates.iter().chain(&held.owed).map(|gate| gate.name().to_owned()).collect();
        gates.sort();
        gates.dedup();
        gates
    };
    library.catalogue.all().map(|held| (held.workflow.id.clone(), gates(held))).collect()
}

fn blocked_beside(env: &Env, ledger: &Ledger) -> Result<Vec<(String, String)>, Failure> {
    let project = ledger.project();
    let beside = heads::all(env)?.into_iter().filter(|head| head.blocked && head.project == project);
    Ok(beside.map(|head| (head.session_id, head.reason.unwrap_or_default())).collect())
}

#[cfg(test)]
mod tests;
