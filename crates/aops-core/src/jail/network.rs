//! The network of a session: a network namespace in which every address leads to the broker, and the broker
//! outside, which decides.
//!
//! Writes the session's list; starts and ends the broker. Invariants: with the mode off nothing here runs; no
//! command can write the list or pose as the broker; without the broker no command has a network.

mod derive;
#[cfg(target_os = "linux")]
mod sockets;
#[cfg(target_os = "linux")]
mod enter;
#[cfg(target_os = "linux")]
mod servers;
#[cfg(target_os = "linux")]
mod keep;

pub mod seen;

#[cfg(target_os = "linux")]
pub use keep::run;

use super::ground::Ground;
use crate::config::policy::jail::{Jail, JailLevel};
use crate::config::policy::network::{Network, NetworkMode};
use crate::model::profile::{Hold, Profile};
use crate::session::fact::Reached;
use crate::session::fold::Session;
use crate::system::env::{Env, HeldNetwork};
use crate::system::process::program::{Identity, Program};
use crate::system::process::{detached, kin};
use crate::system::{files, signal};
use crate::text::template::one_line;
use aops_network::counts::{Counts, Row, Served};
use aops_network::list::{List, Mode, Pattern, Word};
use rustix::process::{Flock, FlockType, Pid, Signal, fcntl_getlk};
use std::collections::BTreeSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// `aops-hook __network SESSION CLIENT PERSON` is the broker; internal. `PERSON` is a process whose
/// environment a person set.
pub const VERB: &str = "__network";
/// In the session's folder, which no command can write.
const FOLDER: &str = "network";
/// The broker keeps it locked as long as it lives. It is empty until commands can enter.
const MARK: &str = "mark";
const LIST: &str = "list";
/// Hosts that were reached and refused, for reports.
pub const COUNTS: &str = "hosts";
/// Events that are not in the ledger yet.
const NEWS: &str = "news";
/// The hosts that each command line wanted.
const WANTED: &str = "wanted";
/// Where the last foreign text came from.
const FOREIGN: &str = "foreign";
/// At most this many hosts per ledger entry.
const MOST_NEWS: usize = 64;
/// At most this many wishes of lines are remembered. A host without one is still refused, and can be allowed
/// by name.
const MOST_WANTED: usize = 1024;
/// How long to wait for the broker to read its list; usually it takes less than a millisecond.
const TAKEN_UP: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_micros(200);
/// Variables that the broker gets. None of them changes how names resolve: a project's settings could set
/// those.
const PASSED_ON: [&str; 4] = ["HOME", "LANG", "PATH", "TZ"];

/// The network that one command enters.
#[derive(Debug)]
pub struct Reach {
    /// The folder of the session whose network it enters; `None` if the command reaches no network.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "no session has a network there"))]
    session: Option<PathBuf>,
    /// Sockets that stay visible. All others of outside programs are hidden, since no network confines them.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "no session has a network there"))]
    visible: Option<Vec<PathBuf>>,
    /// Hosts that a person was asked about. The command starts, so they were approved.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "no session has a network there"))]
    wants: Vec<String>,
}

/// What we need to know about a command.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub jail: &'a Jail,
    pub network: &'a Network,
    pub hold: Hold,
    pub profile: Profile,
    /// The program is a hook or server that the client starts.
    pub harness: bool,
    /// The session's folder, if the session is known.
    pub session: Option<&'a Path>,
    pub wants: &'a [String],
}

impl Reach {
    /// The network that this command enters; `None` if it has the machine's, or none at all.
    pub fn of(asked: Asked, ground: &Ground) -> Result<Option<Self>, String> {
        let Asked { jail, network, hold, profile, harness, session, wants } = asked;
        if network.mode == NetworkMode::Off {
            return Ok(None);
        }
        let uses = match profile {
            Profile::None => false,
            Profile::Work => true,
            Profile::Read | Profile::QuietRead | Profile::QuietWork | Profile::Trial => ground.network.open,
        };
        if profile == Profile::None || harness && !network.servers {
            return Ok(None);
        }
        if hold != Hold::Namespaces {
            let must = jail.level == JailLevel::Require && network.mode.closes_sockets();
            let why = format!(
                "`[network] mode` is `{}`, and only namespaces can confine a network",
                network.mode.name()
            );
            return if must && uses { Err(why) } else { Ok(None) };
        }
        let closes = closes(network, session);
        let known = || session.ok_or("its session is not known, so neither is its network");
        let session = uses.then(known).transpose()?.map(Path::to_owned);
        // Even without any network a command could use sockets of outside programs.
        let visible = closes.then(|| visible(network, &ground.home));
        let is_held = session.is_some() || visible.is_some();
        Ok(is_held.then(|| Self { session, visible, wants: wants.to_vec() }))
    }

    /// Enters the network, and lists in `ground` the sockets that must be hidden from the command.
    #[cfg(target_os = "linux")]
    pub fn enter(&self, ground: &mut Ground) -> Result<(), String> {
        // Done before entering: the kernel lists only the sockets of the current network.
        ground.network.shut =
            self.visible.as_ref().map(|visible| sockets::foreign(ground, visible)).transpose()?;
        let Some(session) = &self.session else { return Ok(()) };
        if !self.wants.is_empty() {
            allow_for_session(session, &self.wants)
                .map_err(|error| format!("its session's list: {error}"))?;
        }
        enter::find(session)?.enter()
    }

    #[cfg(not(target_os = "linux"))]
    pub fn enter(&self, _: &mut Ground) -> Result<(), String> {
        Err("no session has a network here".to_owned())
    }
}

/// Sockets of outside programs are hidden: by the configuration with which the session began, or because a
/// person has held its hosts since (`network hold`).
fn closes(network: &Network, session: Option<&Path>) -> bool {
    let is_held = || session.and_then(list).is_some_and(|list| list.mode != Mode::Observe);
    network.mode.closes_sockets() || network.mode == NetworkMode::Observe && is_held()
}

/// Sockets that the configuration keeps visible.
fn visible(network: &Network, home: &Path) -> Vec<PathBuf> {
    let in_home = |path: &String| match path.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => PathBuf::from(path),
    };
    network.sockets.iter().map(in_home).collect()
}

/// The session's network for programs that we start on an agent's files; `None` if it is off.
pub fn held(
    network: &Network,
    home: &Path,
    session: impl FnOnce() -> Option<PathBuf>,
) -> Option<HeldNetwork> {
    (network.mode != NetworkMode::Off).then(|| {
        let session = session();
        let closes = closes(network, session.as_deref());
        HeldNetwork { closes, session, sockets: visible(network, home) }
    })
}

/// Enters that network. If it is gone or unknown, the program runs without any: git and many checks need
/// none.
#[cfg(target_os = "linux")]
pub fn hold(network: &HeldNetwork, ground: &mut Ground) -> Result<(), String> {
    ground.network.shut = network.closes.then(|| sockets::foreign(ground, &network.sockets)).transpose()?;
    if let Some(Ok(spaces)) = network.session.as_deref().map(enter::find) {
        return spaces.enter();
    }
    ground.network.offline = network.closes;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub fn hold(_: &HeldNetwork, _: &mut Ground) -> Result<(), String> {
    Ok(())
}

/// The sockets that are hidden from a command in a throwaway layer; the command itself will compute the same
/// list.
#[cfg(target_os = "linux")]
pub fn shut_for_trial(network: &HeldNetwork, ground: &Ground) -> Option<Vec<PathBuf>> {
    network.closes.then(|| sockets::foreign(ground, &network.sockets).ok()).flatten()
}

#[cfg(not(target_os = "linux"))]
pub fn shut_for_trial(_: &HeldNetwork, _: &Ground) -> Option<Vec<PathBuf>> {
    None
}

/// The folder of a run, below the client's. Its network lies there, as a session's lies in the session's
/// folder.
pub fn run_folder(env: &Env, run_id: &str) -> PathBuf {
    env.config.join("aops/runs").join(run_id)
}

fn folder(session: &Path) -> PathBuf {
    session.join(FOLDER)
}

/// The broker's process ID, if it lives. We ask the kernel who locked the file, since commands cannot forge
/// that.
fn broker(mark: &File) -> Option<Pid> {
    fcntl_getlk(mark, &Flock::from(FlockType::ReadLock)).ok()??.pid
}

fn open_mark(session: &Path) -> io::Result<File> {
    files::open_itself(folder(session).join(MARK), OpenOptions::new().read(true))
}

/// Opens the mark for writing; creates it if it is missing.
fn make_mark(session: &Path) -> io::Result<File> {
    let path = folder(session).join(MARK);
    files::open_itself(path, OpenOptions::new().write(true).create(true).truncate(false).mode(0o600))
}

/// The list of this session, as its broker reads it.
pub fn list(session: &Path) -> Option<List> {
    files::read_text(folder(session).join(LIST)).ok().and_then(|text| List::parse(&text).ok())
}

pub fn counts(session: &Path) -> Option<Counts> {
    files::read_text(folder(session).join(COUNTS)).ok().and_then(|text| Counts::parse(&text))
}

/// The network of a session in one line; `None` if it is off.
pub fn describe(session: &Session, folder: &Path) -> Option<String> {
    let mode = session.policy().network.mode;
    let held = session.memory.client.jail.as_ref().is_some_and(|jail| jail.hold == Hold::Namespaces);
    let counts = || {
        let counts = counts(folder).unwrap_or_default().describe();
        let read = describe_reading(folder).map(|words| format!(" · {words}")).unwrap_or_default();
        format!("{counts}{read}")
    };
    let unheld = "not confined: commands have the machine's network";
    match (mode, held) {
        (NetworkMode::Off, _) => None,
        (_, true) => Some(format!("{} · {}", mode.name(), counts())),
        (NetworkMode::Observe, false) => Some(format!("{}, {unheld}", mode.name())),
        (_, false) => Some(format!("{}, {unheld}, and only lines that name a host are judged", mode.name())),
    }
}

pub fn is_running(session: &Path) -> bool {
    open_mark(session).is_ok_and(|mark| broker(&mark).is_some())
}

/// Writes the list of the current configuration. What this session found out or a person answered stays on
/// it.
fn write_list(
    session: &Path,
    network: &Network,
    found: impl FnOnce() -> Vec<(Pattern, Word)>,
) -> io::Result<bool> {
    let Some(mut new) = network.list() else { return Ok(false) };
    match list(session) {
        Some(old) => new.keep_from(&old, network.derive),
        None if network.derive => new.allow.extend(found()),
        None => {}
    }
    put_list(session, &new).map(|()| true)
}

fn put_list(session: &Path, list: &List) -> io::Result<()> {
    let text = list.to_string();
    files::write_beside(&folder(session).join(LIST), 0o600, |file| file.write_all(text.as_bytes())).map(drop)
}

/// Makes a running session's network use another configuration; false if there was none to tell.
pub fn renew(session: &Path, network: &Network) -> io::Result<bool> {
    let runs = is_running(session) && write_list(session, network, Vec::new)?;
    if runs { tell_broker(session) } else { Ok(false) }
}

/// Whether commands get a network of their own, and with which process it ends.
#[derive(Clone, Copy)]
pub enum Runs {
    /// No network: only the text of commands is judged.
    Outside,
    In(Option<i32>),
}

/// Writes the list of a session that starts, and lets a background process make its network. If there is one
/// already, it reads the new list.
pub fn start(env: &Env, session: &Path, project: &Path, network: &Network, runs: Runs) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder(session)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let is_listed = write_list(session, network, || derive::derived(env, project))?;
    let Runs::In(client) = runs else { return Ok(()) };
    if !is_listed {
        return Ok(());
    }
    let mark = make_mark(session)?;
    if let Some(broker) = broker(&mark) {
        return signal::send_awake(broker, Signal::HUP);
    }
    mark.set_len(0)?;
    let variables = env.variables(|name| PASSED_ON.contains(&name));
    let word = |pid: Option<i32>| pid.map(|pid| pid.to_string()).unwrap_or_default();
    let words =
        [VERB, &session.to_string_lossy(), &word(client), &word(client.filter(|client| started_us(*client)))];
    detached::start(&Program::find(env, Identity::Own)?, &words, &variables).map(drop)
}

/// The client is this process or one above it. A variable alone is no proof: a project's settings could name
/// another process, whose environment an agent controls.
fn started_us(client: i32) -> bool {
    let own = rustix::process::getpid().as_raw_pid();
    client == own || kin::ancestors(own).contains(&client)
}

/// What the broker noted since the last time: hosts new to the session, refusals (each once), and servers
/// that are reached at another port than inside.
pub fn take_news(session: &Path) -> (Vec<Reached>, Vec<Served>) {
    let waiting = folder(session).join(NEWS);
    let taken = folder(session).join("news.told");
    if std::fs::rename(&waiting, &taken).is_err() {
        return (Vec::new(), Vec::new());
    }
    let text = files::read_text(&taken).unwrap_or_default();
    let lines: BTreeSet<&str> = text.lines().collect();
    let read = |line: &&str| {
        let [kind, host, port, said] = line.split('\t').collect::<Vec<_>>()[..] else { return None };
        let known = Reached { host: host.to_owned(), port: port.parse().ok()?, ..Reached::default() };
        match kind {
            "refused" => Some(Reached { reason: Some(said.to_owned()), refused: 1, ..known }),
            "new" => Some(Reached { connections: 1, word: (said != "-").then(|| said.to_owned()), ..known }),
            _ => None,
        }
    };
    let read_served = |line: &&str| match line.split('\t').collect::<Vec<_>>()[..] {
        ["served", inside, outside] => {
            Some(Served { inside: inside.parse().ok()?, outside: outside.parse().ok()? })
        }
        _ => None,
    };
    let served = lines.iter().filter_map(read_served).filter(|one| one.inside != one.outside).collect();
    (at_most(lines.iter().filter_map(read).collect()), served)
}

/// Limits the hosts of one ledger entry; its last row says how many were left out.
fn at_most(mut hosts: Vec<Reached>) -> Vec<Reached> {
    if hosts.len() <= MOST_NEWS {
        return hosts;
    }
    let rest = hosts.split_off(MOST_NEWS - 1);
    let sum = |of: fn(&Reached) -> u64| rest.iter().map(of).sum();
    hosts.push(Reached {
        connections: sum(|host| host.connections),
        down: sum(|host| host.down),
        host: format!("({} more)", rest.len()),
        refused: sum(|host| host.refused),
        up: sum(|host| host.up),
        ..Reached::default()
    });
    hosts
}

/// The traffic to each host of the session up to now.
pub fn all_reached(session: &Path) -> Vec<Reached> {
    // The broker saves only now and then.
    let _ = tell_broker(session);
    let counts = counts(session).unwrap_or_default();
    let told = |(host, port, row): (&str, u16, &Row)| Reached {
        connections: row.connections,
        down: row.down,
        first: row.first,
        host: host.to_owned(),
        last: row.last,
        port,
        reason: (row.refused > 0).then(|| row.why.clone()),
        refused: row.refused,
        up: row.up,
        word: row.word.map(|word| word.to_string()),
    };
    at_most(counts.rows().map(told).collect())
}

/// Remembers that this line wanted these hosts, each once.
pub fn want(session: &Path, line: &str, hosts: &[&Reached]) {
    let file = folder(session).join(WANTED);
    let known = files::read_text(&file).unwrap_or_default();
    let wanted: BTreeSet<String> =
        hosts.iter().map(|host| format!("{line}\t{}\t{}", host.host, host.port)).collect();
    let is_new = |row: &&String| known.lines().all(|old| old != row.as_str());
    let room = MOST_WANTED.saturating_sub(known.lines().count());
    for row in wanted.iter().filter(is_new).take(room) {
        let _ = files::add_line(&file, row);
    }
}

/// The hosts that this line wanted before.
pub fn wanted_by(session: &Path, line: &str) -> Vec<(String, u16)> {
    let text = files::read_text(folder(session).join(WANTED)).unwrap_or_default();
    let read = |row: &str| {
        let [known, host, port] = row.split('\t').collect::<Vec<_>>()[..] else { return None };
        (known == line).then(|| Some((host.to_owned(), port.parse().ok()?))).flatten()
    };
    let mut hosts: Vec<(String, u16)> = text.lines().filter_map(read).collect();
    hosts.sort();
    hosts.dedup();
    hosts
}

/// A secret was read (`wanted`), or the task that read it is over. Returns whether that changed the list.
pub fn guard(session: &Path, wanted: bool) -> io::Result<bool> {
    let Some(mut list) = list(session).filter(|list| list.guarded != wanted) else { return Ok(false) };
    if wanted {
        list.guard();
    } else {
        list.guarded = false;
    }
    put_list(session, &list)?;
    tell_broker(session).map(|_| true)
}

/// Makes the broker read the list and waits until it has: a command that starts now must find its ports open.
fn tell_broker(session: &Path) -> io::Result<bool> {
    let Some(broker) = open_mark(session).ok().and_then(|mark| broker(&mark)) else { return Ok(false) };
    let saved =
        || folder(session).join(COUNTS).metadata().ok().map(|is| (is.ino(), is.mtime(), is.mtime_nsec()));
    let before = saved();
    let begun = Instant::now();
    signal::send_awake(broker, Signal::HUP)?;
    while saved() == before && begun.elapsed() < TAKEN_UP {
        std::thread::sleep(PAUSE);
    }
    Ok(true)
}

/// Remembers where the latest foreign text came from. True if it is another source than the one before.
pub fn note_foreign(session: &Path, what: &str) -> bool {
    let is_new = foreign(session).as_deref() != Some(what);
    let path = folder(session).join(FOREIGN);
    is_new && files::write_beside(&path, 0o600, |file| file.write_all(what.as_bytes())).is_ok()
}

/// What the agent read that made the network stricter, in a few words; `None` if the list is off or lets
/// everything pass.
pub fn describe_reading(folder: &Path) -> Option<String> {
    let guarded =
        is_guarded(folder).then(|| "a secret was read, so hosts that take uploads need you again".to_owned());
    let foreign = foreign(folder).map(|what| format!("foreign text by {}", one_line(&what, 80)));
    let all: Vec<String> = guarded.into_iter().chain(foreign).collect();
    (!all.is_empty()).then(|| all.join(" · "))
}

pub fn foreign(session: &Path) -> Option<String> {
    files::read_text(folder(session).join(FOREIGN)).ok()
}

/// A secret was read in this session, so hosts that accept uploads need approval again.
pub fn is_guarded(session: &Path) -> bool {
    list(session).is_some_and(|list| list.guarded)
}

/// A person approved these hosts for the rest of the session.
pub fn allow_for_session(session: &Path, hosts: &[String]) -> io::Result<()> {
    let Some(mut list) = list(session) else { return Ok(()) };
    let known = list.allow.len();
    for pattern in hosts.iter().filter_map(|host| Pattern::of(host)) {
        if !list.allow.contains(&(pattern.clone(), Word::Session)) {
            list.allow.push((pattern, Word::Session));
        }
    }
    if list.allow.len() == known {
        return Ok(());
    }
    put_list(session, &list)?;
    tell_broker(session).map(drop)
}

/// Ends the network of a session that has ended.
pub fn end(session: &Path) {
    if let Some(broker) = open_mark(session).ok().and_then(|mark| broker(&mark)) {
        let _ = signal::send_awake(broker, Signal::TERM);
    }
}
