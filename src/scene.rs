//! Gathers what the gates may know beside session and event, before anybody decides.
//!
//! Reads heads, the call index, the working tree and the system's randomness, each only for the events that need it.
//! Invariant: a plain tool call costs one look into the index and nothing else.

use crate::agent::ours;
use crate::command_line::Ground;
use crate::effect;
use crate::env::Env;
use crate::event::Event;
use crate::failure::Failure;
use crate::finding;
use crate::gate::guard::Protected;
use crate::gate::{Scene, disarm, is_waived};
use crate::git;
use crate::heads;
use crate::ledger::Ledger;
use crate::reach;
use crate::resolve;
use crate::session::Session;
use crate::tripwire::{self, Mark, Trip};
use std::collections::BTreeMap;
use std::path::Path;

/// The scene of this event.
pub fn look(env: &Env, ledger: &Ledger, event: &Event) -> Result<Scene, Failure> {
    let session = ledger.session();
    let mut scene = Scene {
        folders: env.folders.iter().cloned().collect(),
        busy: event.busy,
        now_ms: env.now_ms,
        prefix: if env.is_plugin { "aops:" } else { "" },
        grace: 5,
        refusals: 3,
        ..Scene::default()
    };
    match event.name.as_str() {
        "PreToolUse" | "PermissionRequest" => call(env, event, &mut scene),
        "PostToolUse" | "PostToolUseFailure" => after(env, session, event, &mut scene),
        "ConfigChange" => scene.settings = Some(tripwire::settings(&event.file_path)),
        "SubagentStop" => scene.report = report(session, event),
        "Stop" if session.state.task.as_ref().is_some_and(|task| task.writes > 0) && !event.busy => {
            scene.tree = git::owed(env, Path::new(&event.cwd), &session.memory.baseline);
        }
        "SessionStart" if session.is_new() => scene.blocked_beside = blocked_beside(env, ledger)?,
        _ => {}
    }
    if let Some(call) = event.call.as_ref().filter(|call| session.open_call(&call.key).is_none())
        && matches!(event.name.as_str(), "PreToolUse" | "PostToolUse" | "PostToolUseFailure")
        && !session.is_new()
    {
        scene.past = ledger.past_call(&call.key);
    }
    Ok(scene)
}

fn call(env: &Env, event: &Event, scene: &mut Scene) {
    let Some(call) = &event.call else { return };
    let (tool, input) = (&call.key.tool, &call.input);
    let mut protected = protected(env, event);
    let (variables, home) = (resolve::variables(&protected), protected.home.clone());
    let ground = Ground { cwd: &event.cwd, home: &home, variables: &variables };
    // Cut once: the guard asks what the line reaches, the sandbox what it does.
    let line = reach::line(tool, input, &ground);
    let mut reach = reach::reach(tool, input, line.as_ref(), &ground);
    resolve::settle(&mut reach, &mut protected);
    scene.reach = Some((protected, reach));
    let plans = env.config.join("plans");
    let around = effect::Around {
        mode: event.permission_mode.as_deref(),
        plans: &plans.to_string_lossy(),
        ground,
        told: &|_| None,
    };
    let classed = effect::of(call, line.as_ref(), &around);
    (scene.effect, scene.why, scene.touches_tree) = (Some(classed.effect), classed.why, classed.touches_tree);
}

/// What the guard stands before: this world, and the project the session began in.
pub fn protected(env: &Env, event: &Event) -> Protected {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let project = if env.project.as_os_str().is_empty() { event.cwd.clone() } else { text(&env.project) };
    let program = std::env::current_exe().map(|path| text(&path)).unwrap_or_default();
    let pids = Some(env.client.clone()).filter(|pid| !pid.is_empty());
    Protected { pids: pids.into_iter().collect(), ..resolve::protected(env, &project, vec![program]) }
}

/// What a look at settings, configuration and program says now, by path.
pub fn marks(protected: &Protected) -> BTreeMap<String, String> {
    let stamp = |m: &Mark| format!("{}:{}:{}:{:o}", m.len, m.mtime_ns, m.ino, m.mode);
    tripwire::look(protected).iter().map(|mark| (mark.path.clone(), stamp(mark))).collect()
}

/// The settings files that register us now, with their events.
pub fn held(protected: &Protected) -> BTreeMap<String, Vec<String>> {
    let files = marks(protected)
        .into_keys()
        .filter(|path| Path::new(path).extension().is_some_and(|kind| kind == "json"));
    let held = files.map(|path| (path.clone(), disarm::registered(&tripwire::settings(&path))));
    held.filter(|(_, events)| !events.is_empty()).collect()
}

/// The end of a write: the audit's lot, and whether something of ours was changed behind the gates' back.
fn after(env: &Env, session: &Session, event: &Event, scene: &mut Scene) {
    scene.drawn = draw(session, event, scene);
    let open = event.call.as_ref().and_then(|call| session.open_call(&call.key));
    let wrote = open.is_some_and(|open| open.effect.is_some_and(super::call::Effect::is_write));
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
    match tripwire::judge(&changed, &held, &protected.binaries) {
        Some(Trip::Disarmed(path, why)) => {
            scene.disarmed = Some(format!("`{path}` changed while a tool call ran: {why}"));
        }
        Some(Trip::Changed(paths)) => scene.changed = paths,
        None => {}
    }
    scene.marks = Some(marks);
}

/// The audit's lot for a write that ended: from the system's randomness, and at the latest every so many writes.
fn draw(session: &Session, event: &Event, scene: &Scene) -> Option<bool> {
    const RATE: f64 = 0.1;
    const AT_LEAST_EVERY: u64 = 25;
    let open = session.open_call(&event.call.as_ref()?.key)?;
    let by_ours =
        event.agent_id.as_ref().and(event.agent_type.as_deref()).is_some_and(|name| ours(name).is_some());
    if by_ours
        || !open.effect.is_some_and(super::call::Effect::is_write)
        || session.state.audit.due
        || is_waived(session, scene, "audit")
    {
        return None;
    }
    let mut bytes = [0_u8; 4];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).ok()?;
    let lot = f64::from(u32::from_ne_bytes(bytes)) / (f64::from(u32::MAX) + 1.0);
    Some(lot < RATE || session.memory.course.writes_since_draw + 1 >= AT_LEAST_EVERY)
}

fn report(session: &Session, event: &Event) -> Option<Result<finding::Finding, String>> {
    let (id, kind) = (event.agent_id.as_deref()?, event.agent_type.as_deref()?);
    session.awaited(id, kind)?;
    Some(finding::read(ours(kind)?, &event.report, &workflows()))
}

/// Ids and gates of the workflows in force.
fn workflows() -> BTreeMap<String, Vec<String>> {
    let rows: [(&str, &[&str]); 11] = [
        ("feature-dev", &["critic", "qa"]),
        ("batch-processing", &["critic", "qa"]),
        ("build-loop", &["critic", "qa"]),
        ("project", &["critic", "qa"]),
        ("minor-edit", &["qa"]),
        ("debugging", &["qa"]),
        ("tdd-cycle", &["qa"]),
        ("qa-demo", &["qa"]),
        ("spec-review", &["critic"]),
        ("direct-skill", &[]),
        ("simple-question", &[]),
    ];
    rows.into_iter()
        .map(|(id, gates)| (id.to_owned(), gates.iter().map(|g| (*g).to_owned()).collect()))
        .collect()
}

fn blocked_beside(env: &Env, ledger: &Ledger) -> Result<Vec<(String, String)>, Failure> {
    let project = ledger.project();
    let beside = heads::all(env)?.into_iter().filter(|head| head.blocked && head.project == project);
    Ok(beside.map(|head| (head.session_id, head.reason.unwrap_or_default())).collect())
}
