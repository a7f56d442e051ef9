//! Whether what a call would lose can be kept first, and what was kept for a call that has ended.
//!
//! Reads the disk and asks git, for lines that remove, overwrite or drop something.

use crate::checkpoint::rollback;
use crate::checkpoint::store::Store;
use crate::config::policy::{DangerLevel, Policy};
use crate::gate::{Context, Keeps, profile, sandbox};
use crate::ledger::clients;
use crate::ledger::open::Ledger;
use crate::ledger::sessions::{self, SessionOnDisk};
use crate::model::error::Failure;
use crate::model::event::Event;
use crate::model::profile::Profile;
use crate::session::fact::Kept;
use crate::session::fold::Session;
use crate::session::memory::OpenCall;
use crate::system::disk::DISK;
use crate::system::env::{Env, boot_id};
use crate::text::json;
use crate::tool::danger::{Danger, Place};
use crate::undo::before::{self, told};
use crate::undo::form::Left;
use crate::undo::look::{self, Bounds, CONTAINED, Found, Unkept};
use crate::undo::retain::{self, Retained};
use crate::undo::{bring, shelf};
use aops_shell::loss::Losses;
use aops_shell::syntax::{Ground, Line};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// What a line destroys, and the rules that would be satisfied if it is kept.
#[derive(Debug)]
pub struct Lost {
    losses: Losses,
    rules: Vec<String>,
}

/// Reads the line. `None` if it destroys nothing, or if a rule found more than the line shows.
pub fn read(
    session: &Session,
    line: Option<&Line>,
    dangers: &[Danger],
    ground: &Ground,
    project: &str,
) -> Option<Lost> {
    let kept = |danger: &&Danger| session.policy().danger_level(danger.rule) == DangerLevel::Keep;
    let rules: Vec<&str> = dangers.iter().filter(kept).map(|danger| danger.rule.id()).collect();
    let place = Place { cwd: ground.cwd, home: ground.home, project: Some(project), disk: Some(DISK) };
    let losses = told(line?, &place, &rules)?;
    Some(Lost { losses, rules: rules.into_iter().map(str::to_owned).collect() })
}

/// Looks at the disk to see what the command would really change.
pub fn look(env: &Env, session: &Session, event: &Event, context: &Context, lost: &Lost) -> Keeps {
    // In a missing folder nothing can run.
    if !Path::new(&event.cwd).is_dir() {
        return Keeps::Nothing;
    }
    let is_thrown_away =
        profile::of_call(session, event, context).is_some_and(|profile| profile >= Profile::Read);
    let Some(root) = rollback::root(env, session, event) else { return Keeps::Untold };
    if is_thrown_away || sandbox::is_held(session, event, context) {
        return Keeps::Untold;
    }
    let rules: Vec<&str> = lost.rules.iter().map(String::as_str).collect();
    let looked = |quick| {
        let place = look::Place { env, root: &root, cwd: Path::new(&event.cwd), rules: &rules, quick };
        looked(place, &lost.losses, session.policy())
    };
    let is_shared = || !rules.is_empty() && is_shared(env, session, &root);
    let found = match looked(!env.dry_run) {
        Ok(found) if found.is_empty() => return Keeps::Nothing,
        Ok(found) if !is_shared() => Ok(found),
        _ => looked(false),
    };
    match found {
        Ok(found) if found.is_empty() => Keeps::Nothing,
        Ok(_) if is_shared() => Keeps::Not("another session works in this folder".to_owned()),
        Ok(found) => all(lost.rules.clone(), &found),
        // Also without a rule: it may be the only copy.
        Err(unkept) => Keeps::Not(unkept.to_string()),
    }
}

fn all(rules: Vec<String>, found: &Found) -> Keeps {
    Keeps::All { rules, files: found.count() as u64, bytes: found.bytes() }
}

/// Another session worked here recently: the lost files may be its work, and it relies on what it remembers.
fn is_shared(env: &Env, session: &Session, root: &Path) -> bool {
    const LATE_MS: i64 = 5 * 60 * 1000;
    let boot = boot_id();
    let works = |other: &SessionOnDisk| {
        let changed = other.changed.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let is_late = i64::try_from(changed).unwrap_or(i64::MAX) > env.now_ms - LATE_MS;
        let is_other = other.session_id != session.state.session_id;
        is_other && is_late && sessions::session(other).is_some_and(|other| clients::is_live(&other, &boot))
    };
    // For a line that is only tried, we assume a session of its own, which may be the open one.
    let others = usize::from(session.state.session_id == Session::TRIED);
    rollback::sessions_in(env, root, "").iter().filter(|other| works(other)).count() > others
}

/// What is found, if there is room for it in addition to what was kept before.
fn looked(place: look::Place, losses: &Losses, policy: &Policy) -> Result<Found, Unkept> {
    let found = look::look(place, losses, Bounds::of(policy))?;
    let store = if found.is_empty() { None } else { Store::look(place.root).ok().flatten() };
    let full = |store: Store| retain::is_full(place.env, &store, policy, found.bytes()).ok().flatten();
    let full = store.and_then(full);
    full.map_or(Ok(found), |full| Err(Unkept::Full(full.kept_mb)))
}

/// What was kept for a call that has ended; the state after the call is recorded with it.
pub fn of_ended(env: &Env, session: &Session, event: &Event, open: &OpenCall) -> Option<Kept> {
    open.means.jailing.keeps.as_ref().filter(|_| !env.dry_run)?;
    let root = rollback::root(env, session, event)?;
    let bounds = Bounds::of(session.policy());
    let settled = before::settle(env, &root, &open.call.id, bounds);
    let keeping = settled.or_else(|_| before::kept_for(&root, &open.call.id)).ok().flatten()?;
    let left = before::note_left(env, &root, &keeping).ok();
    let is_contained = open.means.jailing.keeps.iter().flatten().any(|rule| rule == CONTAINED);
    let forgotten =
        |left: &Left| is_contained && before::forget_unchanged(env, &root, &keeping, left) == Ok(true);
    (!left.as_ref().is_some_and(forgotten)).then(|| before::fact(&keeping, bounds))
}

/// What was kept for a call whose end nobody reported shares no content any more with what is still there.
pub fn part(env: &Env, session: &Session, event: &Event, call_id: &str) {
    let Some(root) = rollback::root(env, session, event) else { return };
    if let Ok(Some(_)) = before::kept_for(&root, call_id) {
        // If it fails, the files stay protected as they are.
        let _ = before::settle(env, &root, call_id, Bounds::of(session.policy()));
    }
}

/// Whether everything uncommitted in the tree can be kept. Needed because nobody approved what the command
/// may change.
pub fn look_at_all(env: &Env, session: &Session, event: &Event, line: &Line) -> Keeps {
    let Some(root) = rollback::root(env, session, event) else { return Keeps::Untold };
    let looked = |quick| {
        let place = look::Place { env, root: &root, cwd: Path::new(&event.cwd), rules: &[], quick };
        before::look_at_all(place, line, Bounds::of(session.policy()))
    };
    match looked(true).or_else(|_| looked(false)) {
        Ok(found) if found.is_empty() => Keeps::Nothing,
        Ok(found) => all(vec![CONTAINED.to_owned()], &found),
        Err(unkept) => Keeps::Not(unkept.to_string()),
    }
}

/// At the start of a session: finishes an interrupted undo, and removes what was kept long enough.
pub fn tend(env: &Env, ledger: &mut Ledger, event: &Event) -> Result<Retained, Failure> {
    let Some(root) = rollback::root(env, ledger.session(), event) else { return Ok(Retained::default()) };
    let Some(store) = Store::look(&root)? else { return Ok(Retained::default()) };
    if shelf::numbers(&store)?.is_empty() {
        return Ok(Retained::default());
    }
    bring::finish_pending(env, &root, Some(ledger))?;
    let policy = ledger.session().policy().clone();
    retain::retain(env, &Store::open(env, &root)?, &policy)
}

/// Keeps it now, since no program of ours starts this command.
pub fn keep(env: &Env, session: &Session, event: &Event, rules: &[String]) -> Result<(), String> {
    let Some(root) = rollback::root(env, session, event) else {
        return Err("there is no project to keep it in".to_owned());
    };
    let Some(call) = event.call() else { return Ok(()) };
    let line = json::read(&call.input).ok().and_then(|input| input.text_of("command")).unwrap_or_default();
    let command = before::Command {
        env,
        root: &root,
        line: &line,
        cwd: &event.cwd,
        rules,
        call_id: &call.key.id,
        session_id: &event.session_id,
        bounds: Bounds::of(session.policy()),
    };
    command.keep().map(drop)
}
