//! Whether the tree is still as it was when the work was verified.
//!
//! Reads the tree once at VERIFIED, and after a command that may leave it unchanged (`git pull`, tests).
//! Invariants: a tree that is unknown, or not this one, has no digest; a line that is known to act on
//! anything but the tree is never "unchanged".

use super::real_paths;
use super::scratch::temporary_folders;
use crate::checkpoint::capture::{Limits, tree_digest};
use crate::checkpoint::rollback::root;
use crate::checkpoint::store::Store;
use crate::model::call::Effect;
use crate::model::event::Event;
use crate::model::outcome::AgentVerdict;
use crate::session::agent_report::AgentReport;
use crate::session::fold::Session;
use crate::session::memory::OpenCall;
use crate::system::env::Env;
use crate::system::git;
use crate::tool::targets;
use aops_shell::class::{LineSetting, is_only_unknown, only_changes_named, only_fetches, only_syncs};
use aops_shell::outside::outside;
use aops_shell::syntax::{Ground, Line, Word};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A tree that takes longer to read has no digest this time.
const LONGEST: Duration = Duration::from_millis(1500);

/// The tree that this report says is verified.
pub(super) fn of_report(
    env: &Env,
    session: &Session,
    event: &Event,
    report: Option<&Result<AgentReport, String>>,
) -> Option<String> {
    let found = report?.as_ref().ok().filter(|found| found.says(AgentVerdict::Verified));
    found.and_then(|_| digest(env, session, event))
}

fn digest(env: &Env, session: &Session, event: &Event) -> Option<String> {
    let root = root(env, session, event)?;
    if env.dry_run || git::worktree_at(&root, Path::new(&event.cwd)).is_some() {
        return None;
    }
    let store = Store::open(env, &root).ok()?;
    let limits = Limits { sync: false, until: Some(Instant::now() + env.at_most(LONGEST)), ..Limits::none() };
    tree_digest(env, &store, &limits).ok()
}

/// It brings what others did, and leaves the tree as it is.
pub(super) fn fetches(env: &Env, event: &Event) -> bool {
    let home = env.home.to_string_lossy();
    let ground = Ground { cwd: &event.cwd, home: &home, variables: &[] };
    let line = event.call().and_then(|call| targets::line(&call.key.tool, &call.input, &ground));
    line.is_some_and(|line| only_fetches(&line, &LineSetting::of(ground)))
}

/// This line changes nothing but files that it names in the project or in a temporary folder: whether there
/// is work in it, the tree shows.
pub(super) fn changes_here(env: &Env, session: &Session, event: &Event, line: &Line) -> bool {
    let home = env.home.to_string_lossy();
    let ground = Ground { cwd: &event.cwd, home: &home, variables: &[] };
    let around = LineSetting::of(ground);
    let (Some(call), Some(root)) = (event.call(), root(env, session, event)) else { return false };
    let reach = targets::of(&call.key.tool, &call.input, Some(line), &ground);
    let is_ours =
        |path: &Path| path.iter().any(|part| part == ".git" || part == ".claude" || part == ".aops");
    let is_here = |path: PathBuf| {
        let real = real_paths::real(&path).unwrap_or(path);
        let inside = real.strip_prefix(&root).is_ok_and(|inside| !is_ours(inside));
        inside || temporary_folders().iter().any(|folder| real.starts_with(folder))
    };
    let is_named = |word: &Word| word.literal().is_some_and(|path| is_here(PathBuf::from(path)));
    only_changes_named(line, &around)
        && !reach.over
        && reach.hidden.is_empty()
        && reach.paths.iter().all(|target| is_named(&target.path))
}

/// A command of the task may have kept running after VERIFIED, and the tree has changed.
pub(super) fn is_outdated(env: &Env, session: &Session, event: &Event) -> bool {
    let progress = &session.memory.progress;
    let goes_on = progress.proven.verified && progress.weight.unmeasured_ms.is_some();
    goes_on && progress.proven.tree.is_some() && digest(env, session, event) != progress.proven.tree
}

/// This call of the main agent left the tree as it was verified.
pub(super) fn is_unchanged(env: &Env, session: &Session, event: &Event, open: &OpenCall) -> bool {
    let (Some(verified), Some(call)) = (&session.memory.progress.proven.tree, event.call()) else {
        return false;
    };
    let still = session.memory.progress.proven.verified
        && open.means.effect == Some(Effect::Write)
        && event.agent_id.is_none();
    if !still || call.unended {
        return false;
    }
    let home = env.home.to_string_lossy();
    let ground = Ground { cwd: &event.cwd, home: &home, variables: &[] };
    let around = LineSetting::of(ground);
    let stays = targets::line(&call.key.tool, &call.input, &ground).is_some_and(|line| {
        let is_unknown = is_only_unknown(&line, &around) && !outside(&line);
        is_unknown || only_syncs(&line, &around) || changes_here(env, session, event, &line)
    });
    stays && digest(env, session, event).as_ref() == Some(verified)
}
