//! The refresher: asks the tracker in the background and writes a snapshot that prompts read; shows the log
//! to witnesses; sends the results of sessions to the database that machines share and to a collector.
//!
//! Starts itself detached, then the tracker; writes the snapshot and empties the queue. Two processes: a
//! watcher, and a worker in a process group with everything it starts. Invariants: one worker per project at
//! a time, which looks once more if it was asked to meanwhile; if one of the two is killed, the other ends
//! the group.

#[cfg(feature = "fleet")]
mod fleet;
mod tool;
mod witness;

use aops_core::briefing::notes;
use aops_core::briefing::refresh::{NO_TRACKER, WATCH, passed_on, spawn, take_network};
use aops_core::briefing::tracker::dialect::Dialect;
use aops_core::briefing::tracker::{self, Issue, Part, SCHEMA, Snapshot, Trouble, queue};
use aops_core::insight::collect;
use aops_core::model::error::Failure;
use aops_core::system::env::Env;
use aops_core::system::files::{self, make_all};
use aops_core::system::process::program::{Identity, Program};
use aops_core::system::process::{Task, detached};
use aops_core::text::json::cut;
use aops_core::text::time::timestamp;
use rustix::process::{Signal, getpgrp, getpid, kill_current_process_group};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use tool::Tool;

/// What a hook would start; for tests and measurements.
const START: &str = "__refresh-start";
const WORK: &str = "__refresh-work";

/// How long after the end of the budget the worker kills its own group, and how long the watcher waits to do
/// so.
const WORKER_GRACE: Duration = Duration::from_secs(2);
const WATCHER_GRACE: Duration = Duration::from_secs(4);
/// How long a write that was under way when its worker was killed has to finish.
const ORPHAN_GRACE: Duration = Duration::from_secs(3);

/// An internal verb, not listed in `--help`.
pub fn is_verb(word: &str) -> bool {
    matches!(word, START | WATCH | WORK)
}

/// Runs an internal verb; prints nothing, since stdout is closed.
pub fn run(arguments: &[String], env: &Env) -> u8 {
    let [verb, project, command] = arguments else { return 2 };
    take_network(env);
    let done = match verb.as_str() {
        START => spawn(env, Path::new(project), command).is_ok(),
        WATCH => watch(env, project, command).is_ok(),
        _ => work(env, project, command).is_ok(),
    };
    u8::from(!done)
}

fn watch(env: &Env, project: &str, command: &str) -> io::Result<()> {
    detached::own_session();
    let variables = env.variables(passed_on);
    let program = Program::find(env, Identity::Own)?;
    let args = [WORK, project, command].map(str::to_owned);
    let timeout = env.refresh_budget() + WATCHER_GRACE;
    detached::watch(&Task::new(&program, &args, Path::new("/"), &variables, timeout), ORPHAN_GRACE)
}

/// Looks, and looks again as long as a request arrived meanwhile.
fn work(env: &Env, project: &str, command: &str) -> Result<(), Failure> {
    let end = Instant::now() + env.refresh_budget();
    end_with_everything_at(end + WORKER_GRACE);
    let again = tracker::folder(env).join(format!("{}.again", tracker::project_hash(project)));
    loop {
        let Some(alone) = alone(env, project)? else {
            // Leave the request before the second try: the holder of the lock looks for it after unlocking.
            lock_file(&again)?;
            match self::alone(env, project)? {
                None => return Ok(()),
                Some(_) => continue,
            }
        };
        let _ = fs::remove_file(&again);
        // In parallel with the tracker, which may hang. Without an index the prompt scans, so a failure here
        // costs only time.
        let notes = thread::spawn({
            let env = env.clone();
            let project = project.to_owned();
            move || {
                let _ = notes::refresh(&env);
                collect::sweep(&env, &project);
            }
        });
        // There may be witnesses without a tracker.
        if command != NO_TRACKER {
            look(env, project, command, end)?;
        }
        witness::show(env, project, end);
        #[cfg(feature = "fleet")]
        fleet::ship(env, project, end);
        let _ = notes.join();
        drop(alone);
        if !again.exists() || Instant::now() >= end {
            return Ok(());
        }
    }
}

/// Last resort if this worker hangs and the watcher is gone: kills its own process group.
fn end_with_everything_at(end: Instant) {
    thread::spawn(move || {
        thread::sleep(end.saturating_duration_since(Instant::now()));
        if getpgrp() == getpid() {
            let _ = kill_current_process_group(Signal::KILL);
        }
        #[expect(clippy::exit, reason = "the process group is being killed")]
        std::process::exit(1);
    });
}

/// The lock of this project's refresher, if it is free.
fn alone(env: &Env, project: &str) -> Result<Option<File>, Failure> {
    let path = tracker::folder(env).join(format!("{}.lock", tracker::project_hash(project)));
    let mut file = lock_file(&path)?;
    if file.try_lock().is_err() {
        return Ok(None);
    }
    let told = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    told.map_err(|e| Failure::storage(path.display(), e))?;
    Ok(Some(file))
}

fn lock_file(path: &Path) -> Result<File, Failure> {
    make_all(path.parent().unwrap_or(Path::new("/")))?;
    let storage = |e| Failure::storage(path.display(), e);
    let options = &mut OpenOptions::new();
    let file = files::open_as(path, options.append(true).create(true).mode(0o600)).map_err(storage)?;
    // The umask may remove even the owner's bits.
    file.set_permissions(std::fs::Permissions::from_mode(0o600)).map_err(storage)?;
    Ok(file)
}

/// One look: writes what is waiting, then reads the present state.
fn look(env: &Env, project: &str, command: &str, end: Instant) -> Result<(), Failure> {
    let began = Instant::now();
    let before = tracker::snapshot(env, Path::new(project));
    let seen = Tool::find(env, project, command, end).and_then(|tool| {
        let trouble = tool::drain(env, project, &tool).err();
        Ok(Snapshot { trouble, ..survey(env, project, &tool)? })
    });
    queue::prune(env, project);
    let waiting = queue::waiting(env, project).len();
    let now_ms = env.now_ms + i64::try_from(began.elapsed().as_millis()).unwrap_or_default();
    let timed = |trouble| Trouble { at_ms: now_ms, ..trouble };
    let snapshot = match seen {
        Ok(seen) => {
            Snapshot { taken_ms: Some(now_ms), trouble: seen.trouble.clone().map(timed), waiting, ..seen }
        }
        Err(trouble) => before.after(timed(trouble), waiting),
    };
    tracker::keep(env, &snapshot)
}

/// Asks the tracker now for ready work that we did not file ourselves: id and title of each item. For a
/// command that a person runs.
pub fn ready(env: &Env, project: &Path, command: &str) -> Result<Vec<String>, String> {
    let end = Instant::now() + env.refresh_budget();
    let tool = Tool::find(env, &project.to_string_lossy(), command, end).map_err(|trouble| trouble.words)?;
    let issues = tool.issues(tool.dialect.ready(tool::FEWER)).map_err(|trouble| trouble.words)?;
    let shown = |issue: tracker::Issue| format!("{}: {}", issue.id, issue.title);
    Ok(issues.unwrap_or_default().into_iter().filter(|issue| !issue.ours).map(shown).collect())
}

fn survey(env: &Env, project: &str, tool: &Tool) -> Result<Snapshot, Trouble> {
    let all = 0;
    let some = tool::FEWER;
    let mut ours = 0;
    let mut list = |arguments: fn(Dialect, usize) -> Vec<String>| -> Result<(Vec<Issue>, bool), Trouble> {
        let (mut issues, complete) = match tool.issues(arguments(tool.dialect, all))? {
            Some(issues) => (issues, true),
            None => (tool.issues(arguments(tool.dialect, some))?.unwrap_or_default(), false),
        };
        let found = issues.len();
        issues.retain(|issue| !issue.ours);
        ours += found - issues.len();
        Ok((issues, complete))
    };
    let ready = list(Dialect::ready)?;
    let blocked = list(|dialect, _| dialect.blocked())?;
    let in_progress = list(Dialect::in_progress)?;
    let names = own_names(env);
    let mut own: Vec<Issue> = [&in_progress.0, &ready.0, &blocked.0].into_iter().flatten().cloned().collect();
    own.retain(|issue| names.contains(&issue.assignee));
    let part = |(issues, complete): (Vec<Issue>, bool)| Part::of(issues, complete);
    Ok(Snapshot {
        schema: SCHEMA,
        project: project.to_owned(),
        tool: Some(tool.version.clone()),
        ready: part(ready),
        blocked: part(blocked),
        in_progress: part(in_progress),
        own: Part::of(own, true),
        recent: recent(env, tool),
        ours,
        ..Snapshot::default()
    })
}

/// The names under which the tracker knows the user.
fn own_names(env: &Env) -> Vec<String> {
    let known = |name: &str| ["BD_ACTOR", "BEADS_ACTOR", "GIT_AUTHOR_NAME", "USER"].contains(&name);
    let values = env.variables(known).into_iter().filter_map(|(_, value)| value.into_string().ok());
    values.filter(|name| !name.is_empty()).collect()
}

const LATELY_MS: i64 = 7 * 24 * 3_600_000;
const MOST_RECENT: usize = 8;

/// The most recently changed items. A tracker that cannot list them has no such part.
fn recent(env: &Env, tool: &Tool) -> Part {
    let since = timestamp(env.now_ms - LATELY_MS);
    let mut found = tool.issues(tool.dialect.recent(cut(&since, 10))).ok().flatten().unwrap_or_default();
    found.retain(|issue| !issue.ours && issue.updated_at.as_str() >= cut(&since, 10));
    found.sort_by(|a, b| b.updated_at.cmp(&a.updated_at));
    found.truncate(MOST_RECENT);
    Part::of(found, true)
}
