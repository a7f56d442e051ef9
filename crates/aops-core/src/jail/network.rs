//! The network of a session: one namespace in which every address is the broker's, and the broker outside that judges.
//!
//! Writes the session's list, starts and ends the broker. Invariants: with the mode off nothing here runs; no command can
//! write the list or stand in for the broker; without the broker no command has a network.

mod derive;
#[cfg(target_os = "linux")]
mod sockets;
#[cfg(target_os = "linux")]
mod enter;
#[cfg(target_os = "linux")]
mod keep;

#[cfg(target_os = "linux")]
pub use keep::run;

use super::ground::Ground;
use crate::config::policy::jail::{Jail, JailLevel};
use crate::config::policy::network::{Network, NetworkMode};
use crate::model::profile::{Hold, Profile};
use crate::session::fact::Reached;
use crate::session::fold::Session;
use crate::system::env::Env;
use crate::system::files;
use crate::system::process::detached;
use crate::system::process::program::{Identity, Program};
use aops_network::counts::{Counts, Row};
use aops_network::list::{List, Pattern, Word};
use rustix::process::{Flock, FlockType, Pid, Signal, fcntl_getlk, kill_process};
use std::collections::BTreeSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// `aops-hook __network SESSION CLIENT`: the broker; internal.
pub const VERB: &str = "__network";
/// In the session's folder, which no command can write.
const FOLDER: &str = "network";
/// Locked by the broker as long as it lives. Empty until a command can enter.
const MARK: &str = "mark";
const LIST: &str = "list";
/// What was reached and what was refused, for those who tell it.
pub const COUNTS: &str = "hosts";
/// What the ledger does not have yet.
const NEWS: &str = "news";
/// Hosts that lines wanted, by line.
const WANTED: &str = "wanted";
/// Where the last foreign text came from.
const FOREIGN: &str = "foreign";
/// Hosts that one entry of the ledger names.
const MOST_NEWS: usize = 64;
/// How long one waits for a broker that reads a list: it is a matter of less than a millisecond.
const TAKEN_UP: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_micros(200);
/// Variables that the broker gets. None that changes where a name leads: a project's settings could set it.
const PASSED_ON: [&str; 4] = ["HOME", "LANG", "PATH", "TZ"];

/// The session's network, for one command.
#[derive(Debug)]
pub struct Reach {
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there is no network of a session there"))]
    session: PathBuf,
    /// What no network holds is closed too, except for these sockets.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there is no network of a session there"))]
    visible: Option<Vec<PathBuf>>,
    /// Hosts that a person was asked about; the command starts, so they said yes.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there is no network of a session there"))]
    wants: Vec<String>,
}

/// What is to be known about a command.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub jail: &'a Jail,
    pub network: &'a Network,
    pub hold: Hold,
    pub profile: Profile,
    /// A hook or server that the client starts.
    pub harness: bool,
    /// The session's folder, if the session is known.
    pub session: Option<&'a Path>,
    pub wants: &'a [String],
}

impl Reach {
    /// The network that this command enters; nothing where it has the machine's, or none at all.
    pub fn of(asked: Asked, ground: &Ground) -> Result<Option<Self>, String> {
        let Asked { jail, network, hold, profile, harness, session, wants } = asked;
        if network.mode == NetworkMode::Off {
            return Ok(None);
        }
        let uses = match profile {
            Profile::None => false,
            Profile::Work => true,
            Profile::Read | Profile::QuietRead | Profile::QuietWork | Profile::Trial => ground.network,
        };
        if !uses || harness && !network.servers {
            return Ok(None);
        }
        if hold != Hold::Namespaces {
            let must = jail.level == JailLevel::Require && network.mode.closes_sockets();
            let why = format!("`[network] mode` is `{}`, and only namespaces hold a network", network.mode.name());
            return if must { Err(why) } else { Ok(None) };
        }
        let session = session.ok_or("its session is not known, so neither is its network")?;
        let home = |path: &String| match path.strip_prefix("~/") {
            Some(rest) => ground.home.join(rest),
            None => PathBuf::from(path),
        };
        let visible = network.mode.closes_sockets().then(|| network.sockets.iter().map(home).collect());
        Ok(Some(Self { session: session.to_owned(), visible, wants: wants.to_vec() }))
    }

    /// Enters it. What is to be hidden beside it is added to the ground.
    #[cfg(target_os = "linux")]
    pub fn enter(&self, ground: &mut Ground) -> Result<(), String> {
        // The kernel lists the sockets of the network that one is in.
        ground.shut = self.visible.as_ref().map(|visible| sockets::foreign(ground, visible)).transpose()?;
        if !self.wants.is_empty() {
            allow_for_session(&self.session, &self.wants).map_err(|error| format!("its session's list: {error}"))?;
        }
        enter::enter(&self.session)
    }

    #[cfg(not(target_os = "linux"))]
    pub fn enter(&self, _: &mut Ground) -> Result<(), String> {
        Err("there is no network of a session here".to_owned())
    }
}

fn folder(session: &Path) -> PathBuf {
    session.join(FOLDER)
}

/// The broker of this session, if it lives. The kernel says who has locked the file, not the file.
fn broker(mark: &File) -> Option<Pid> {
    fcntl_getlk(mark, &Flock::from(FlockType::ReadLock)).ok()??.pid
}

fn open_mark(session: &Path) -> io::Result<File> {
    files::open_itself(folder(session).join(MARK), OpenOptions::new().read(true))
}

/// The same to write it; made where it is missing.
fn make_mark(session: &Path) -> io::Result<File> {
    let path = folder(session).join(MARK);
    files::open_itself(path, OpenOptions::new().write(true).create(true).truncate(false).mode(0o600))
}

/// The list of this session, as its broker reads it.
pub fn list(session: &Path) -> Option<List> {
    files::read_text(folder(session).join(LIST)).ok().and_then(|text| List::parse(&text).ok())
}

/// What was reached and refused in this session so far.
pub fn counts(session: &Path) -> Option<Counts> {
    files::read_text(folder(session).join(COUNTS)).ok().and_then(|text| Counts::parse(&text))
}

/// The network of a session in one line; nothing where it is off.
pub fn describe(session: &Session, folder: &Path) -> Option<String> {
    let mode = session.policy().network.mode;
    let held = session.memory.jail.as_ref().is_some_and(|jail| jail.hold == Hold::Namespaces);
    let counts = || counts(folder).unwrap_or_default().describe();
    let unheld = "not held: commands have the machine's network";
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

/// Writes the list that the configuration says now; what this session found or a person answered in it stays.
fn write_list(session: &Path, network: &Network, found: impl FnOnce() -> Vec<(Pattern, Word)>) -> io::Result<bool> {
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

/// A running session's network takes up another configuration: whether there was one to tell.
pub fn renew(session: &Path, network: &Network) -> io::Result<bool> {
    let runs = is_running(session) && write_list(session, network, Vec::new)?;
    if runs { tell_broker(session) } else { Ok(false) }
}

/// Whether commands get a network of their own, and with whom it ends.
#[derive(Clone, Copy)]
pub enum Runs {
    /// Only words are judged.
    Outside,
    In(Option<i32>),
}

/// Writes the list of a session that starts, and has its network made behind the hook. One that is there reads the new list.
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
        return kill_process(broker, Signal::HUP).map_err(Into::into);
    }
    mark.set_len(0)?;
    let variables = env.variables(|name| PASSED_ON.contains(&name));
    let client = client.map(|pid| pid.to_string()).unwrap_or_default();
    let words = [VERB, &session.to_string_lossy(), &client];
    detached::start(&Program::find(env, Identity::Own)?, &words, &variables).map(drop)
}

/// What the broker noted since the last time: hosts that are new in the session, and refusals, each once.
pub fn take_news(session: &Path) -> Vec<Reached> {
    let (waiting, taken) = (folder(session).join(NEWS), folder(session).join("news.told"));
    if std::fs::rename(&waiting, &taken).is_err() {
        return Vec::new();
    }
    let text = files::read_text(&taken).unwrap_or_default();
    let lines: BTreeSet<&str> = text.lines().collect();
    let read = |line: &&str| {
        let [kind, host, port, said] = line.split('\t').collect::<Vec<_>>()[..] else { return None };
        let known = Reached { host: host.to_owned(), port: port.parse().ok()?, ..Reached::default() };
        match kind {
            "refused" => Some(Reached { reason: Some(said.to_owned()), refused: 1, ..known }),
            _ => Some(Reached { connections: 1, word: (said != "-").then(|| said.to_owned()), ..known }),
        }
    };
    lines.iter().take(MOST_NEWS).filter_map(read).collect()
}

/// All that went to each host of the session.
pub fn all_reached(session: &Path) -> Vec<Reached> {
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
    counts.rows().take(MOST_NEWS).map(told).collect()
}

/// Remembers that this line wanted these hosts.
pub fn want(session: &Path, line: &str, hosts: &[&Reached]) {
    for host in hosts {
        let _ = files::add_line(&folder(session).join(WANTED), &format!("{line}\t{}\t{}", host.host, host.port));
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

/// A secret was read, or the task in which it was is over.
pub fn guard(session: &Path, wanted: bool) -> io::Result<()> {
    let Some(mut list) = list(session).filter(|list| list.guarded != wanted) else { return Ok(()) };
    if wanted {
        list.guard();
    } else {
        list.guarded = false;
    }
    put_list(session, &list)?;
    tell_broker(session).map(drop)
}

/// Has the broker read the list, and waits until it has: a command that starts now must find its ports open.
fn tell_broker(session: &Path) -> io::Result<bool> {
    let Some(broker) = open_mark(session).ok().and_then(|mark| broker(&mark)) else { return Ok(false) };
    let saved = || folder(session).join(COUNTS).metadata().ok().map(|is| (is.ino(), is.mtime(), is.mtime_nsec()));
    let (before, begun) = (saved(), Instant::now());
    kill_process(broker, Signal::HUP)?;
    while saved() == before && begun.elapsed() < TAKEN_UP {
        std::thread::sleep(PAUSE);
    }
    Ok(true)
}

/// The foreign text that came last.
pub fn note_foreign(session: &Path, what: &str) {
    let path = folder(session).join(FOREIGN);
    let _ = files::write_beside(&path, 0o600, |file| file.write_all(what.as_bytes()));
}

pub fn foreign(session: &Path) -> Option<String> {
    files::read_text(folder(session).join(FOREIGN)).ok()
}

/// A person said yes to these hosts: they are on the list as long as the session.
fn allow_for_session(session: &Path, hosts: &[String]) -> io::Result<()> {
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

/// The session has ended: so does its network.
pub fn end(session: &Path) {
    if let Some(broker) = open_mark(session).ok().and_then(|mark| broker(&mark)) {
        let _ = kill_process(broker, Signal::TERM);
    }
}
