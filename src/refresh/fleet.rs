//! Sends the results of sessions in the background: heads, checkpoints and insights to the database that
//! machines share, questions to the engine, traces to a collector. Each once, in the order in which it was
//! written.
//!
//! Connects to the database, starts `export`; stores its progress next to the machine's name. Invariants:
//! only the refresher does this, so no event waits for it; what could not be sent is sent next time; one
//! process sends at a time.

use crate::remote::announce::announce;
use crate::remote::asked::{self, Asked, Pending};
use crate::remote::database;
use crate::remote::gateway::{Gateway, TOKEN};
use aops_core::config::bundle;
use aops_core::config::in_force::{self, InForce};
use aops_core::config::policy::fleet::Fleet as Wanted;
use aops_core::insight::collect;
use aops_core::insight::document::Insights;
use aops_core::ledger::heads::{self, Head};
use aops_core::ledger::session_folder;
use aops_core::ledger::sessions::{self, SessionOnDisk};
use aops_core::proof::store::Store;
use aops_core::system::env::Env;
use aops_core::system::process::program::{Identity, Program};
use aops_core::system::process::{self, Ending, Task};
use aops_core::system::{files, fleet_home};
use aops_core::text::sha256::sha256;
use aops_fleet::Fleet;
use aops_fleet::session::{Machine, SessionHead};
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Instant, UNIX_EPOCH};

/// Heads in one transaction. For each one the state of its session is read.
const BATCH: usize = 100;

/// Failures are tried again after the next turn. The hook creates the folder when there is something to send;
/// without it, no configuration is read.
pub(super) fn ship(env: &Env, project: &str, end: Instant) {
    if !fleet_home::folder(env).is_dir() {
        return;
    }
    let Ok(in_force) = in_force::load(env, Path::new(project)) else { return };
    let Wanted { url, otlp, engine, .. } = &in_force.policy.fleet;
    let _ = url.as_ref().and_then(|url| send(env, url, &in_force));
    let _ = engine.as_ref().and_then(|url| ask_engine(env, url, &in_force.policy.fleet));
    let _ = otlp.as_ref().and_then(|url| export(env, url, end));
}

fn send(env: &Env, url: &str, in_force: &InForce) -> Option<()> {
    let machine = database::machine(env).ok()?;
    let cursor = Cursor::take(env, "sent", url)?;
    let mut fleet = database::open(env, url).ok()?;
    let bundle = bundle::in_words(env);
    let me = Machine {
        name: &machine,
        version: env!("CARGO_PKG_VERSION"),
        policy: &in_force.hash,
        bundle: &bundle,
    };
    fleet.register(&me).ok()?;
    let mut place = cursor.read().parse().unwrap_or_default();
    loop {
        let (batch, end) = heads::at(env).after(place, BATCH).ok()?;
        if batch.is_empty() {
            break;
        }
        let found = newest(&batch).into_iter().map(|head| (head, on_disk(env, head)));
        let found: Vec<(&Head, Option<SessionOnDisk>)> = found.collect();
        let told: Vec<SessionHead> =
            found.iter().map(|(head, found)| describe(head, found.as_ref())).collect();
        fleet.report(&machine, &told).ok()?;
        // Remembers what is sent, even if there is no time for the rest.
        cursor.keep(&end.to_string())?;
        place = end;
    }
    send_checkpoint(env, &mut fleet, &machine)?;
    let cursor = Cursor::take(env, "insights", url)?;
    for Concluded { session, text, place } in concluded(env, &cursor.read()) {
        fleet.conclude(&machine, &session, &open(in_force, text)).ok()?;
        cursor.keep(&place)?;
    }
    Some(())
}

/// An insights document in the form that may leave this machine.
fn open(in_force: &InForce, text: String) -> String {
    if in_force.policy.insights.prompts {
        return text;
    }
    let document: Option<Insights> = serde_json::from_str(&text).ok();
    document.map(|document| document.without_prompts().text()).unwrap_or_default()
}

/// Asks the questions of sessions at the engine. `fleet wait` carries the answers out.
fn ask_engine(env: &Env, url: &str, wanted: &Wanted) -> Option<()> {
    if !wanted.defer {
        return None;
    }
    let cursor = Cursor::take(env, "asked", url)?;
    let mut place = cursor.read().parse().unwrap_or_default();
    loop {
        let (batch, end) = heads::at(env).after(place, BATCH).ok()?;
        if batch.is_empty() {
            break;
        }
        for found in newest(&batch).into_iter().filter_map(|head| on_disk(env, head)) {
            let Some(Asked { asked, question, digest }) = asked::of(env, &found) else { continue };
            let pending = Pending { asked, digest, question, tries: 0 };
            if !pending.is_kept(env) {
                pending.keep(env).ok()?;
                announce(env, wanted, [&pending.id(), &pending.asked.cwd, &pending.question]);
            }
        }
        cursor.keep(&end.to_string())?;
        place = end;
    }
    let machine = database::machine(env).ok()?;
    let waiting = asked::pending(env);
    let gateway = if waiting.is_empty() { None } else { Some(Gateway::find(env, url, TOKEN).ok()?) };
    for pending in waiting {
        let gateway = gateway.as_ref()?;
        if !asked::is_given_up(env, &pending) {
            // Asked again, it is the same question.
            gateway.ask(&pending.id(), "", &pending.order(&machine)).ok()?;
            continue;
        }
        let note = json!({"note": "the session gave up the call"});
        // 404 and 409: it is over.
        if let (200 | 202 | 404 | 409, _) = gateway.ask(&pending.id(), "/block", &note).ok()? {
            pending.forget(env);
        }
    }
    Some(())
}

/// The newest checkpoint of the log covers every earlier one.
fn send_checkpoint(env: &Env, fleet: &mut Fleet, machine: &str) -> Option<()> {
    let Some(store) = Store::look(env).ok()? else { return Some(()) };
    let Some((checkpoint, note)) = store.checkpoint().ok()? else { return Some(()) };
    let size = i64::try_from(checkpoint.size).ok()?;
    fleet.checkpoint(machine, &checkpoint.origin, size, &note.to_string()).ok()
}

/// Sends the trace of each session that ended. A session that cannot be read is skipped.
fn export(env: &Env, url: &str, end: Instant) -> Option<()> {
    let cursor = Cursor::take(env, "otlp", url)?;
    let program = Program::find(env, Identity::Own).ok()?;
    let variables = env.variables(super::passed_on);
    for Concluded { session, place, .. } in concluded(env, &cursor.read()) {
        let timeout = end.checked_duration_since(Instant::now())?;
        let words = ["export", &session, "--format", "otlp", "--endpoint", url].map(str::to_owned);
        let task = Task::new(&program, &words, Path::new("/"), &variables, timeout);
        // Exit code 1: the collector did not accept it.
        if !matches!(process::run(&task).ok()?.ending, Ending::Exit(code) if code != 1) {
            return None;
        }
        cursor.keep(&place)?;
    }
    Some(())
}

/// How far the data was sent to one address; a new address has received nothing yet.
struct Cursor {
    file: PathBuf,
    _alone: File,
}

impl Cursor {
    /// `None` if another process is sending.
    fn take(env: &Env, what: &str, url: &str) -> Option<Self> {
        let file = fleet_home::folder(env).join(format!("{what}-{}", &sha256(&[url.as_bytes()])[..12]));
        let options = &mut File::options();
        let alone =
            files::open_itself(file.with_extension("lock"), options.append(true).create(true).mode(0o600))
                .ok()?;
        alone.try_lock().ok()?;
        Some(Self { file, _alone: alone })
    }

    fn read(&self) -> String {
        files::read_text(&self.file).unwrap_or_default().trim().to_owned()
    }

    fn keep(&self, place: &str) -> Option<()> {
        files::find(&self.file).ok()?.replace(place.as_bytes(), 0o600).ok()
    }
}

/// The insights of a session.
struct Concluded {
    session: String,
    text: String,
    /// The time they were written, and their file; sorting these texts sorts by time.
    place: String,
}

/// Insights written after this place, in order.
fn concluded(env: &Env, after: &str) -> impl Iterator<Item = Concluded> + use<> {
    let items = fs::read_dir(collect::folder(env)).into_iter().flatten().flatten();
    let mut places: Vec<(String, PathBuf)> = items
        .filter_map(|item| {
            let written = item.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
            let place = format!("{:024} {}", written.as_nanos(), item.file_name().to_string_lossy());
            let path = item.path();
            (place.as_str() > after && path.extension() == Some(OsStr::new("json"))).then_some((place, path))
        })
        .collect();
    places.sort();
    let read = |(place, path): (String, PathBuf)| {
        let document = collect::kept(&path)?;
        let session = document.get("session_id")?.as_str()?.to_owned();
        Some(Concluded { session, text: document.to_string(), place })
    };
    places.into_iter().filter_map(read)
}

/// The last head of each session, in the order of the batch.
fn newest(batch: &[Head]) -> Vec<&Head> {
    let last: BTreeMap<&str, u64> = batch.iter().map(|head| (head.session_id.as_str(), head.seq)).collect();
    batch.iter().filter(|head| last.get(head.session_id.as_str()) == Some(&head.seq)).collect()
}

fn describe(head: &Head, found: Option<&SessionOnDisk>) -> SessionHead {
    let known = found.and_then(sessions::session);
    let cost = known.as_ref().and_then(|session| {
        let insights: serde_json::Value =
            serde_json::from_str(session.state.insights.as_ref()?.get()).ok()?;
        insights["cost_usd"].as_f64()
    });
    #[expect(clippy::cast_possible_truncation, reason = "millionths of a dollar")]
    let cost = cost.map(|dollars| (dollars * 1_000_000.0) as i64);
    SessionHead {
        id: head.session_id.clone(),
        project: head.project.clone(),
        entries: i64::try_from(head.seq).unwrap_or(i64::MAX),
        head: head.digest.clone(),
        phase: known.as_ref().map(|session| session.state.phase.name().to_owned()).unwrap_or_default(),
        mode: known
            .as_ref()
            .map(|session| session.policy().mode.level().name().to_owned())
            .unwrap_or_default(),
        cost,
        ts: head.ts.clone(),
    }
}

fn on_disk(env: &Env, head: &Head) -> Option<SessionOnDisk> {
    let projects = env.projects_named(&head.project).into_iter();
    let places = projects.flat_map(|project| session_folder::find_in(env, &project, &head.session_id));
    let found = places.flatten().filter_map(|place| sessions::on_disk(place.path));
    found.into_iter().find(|found| found.session_id == head.session_id)
}
