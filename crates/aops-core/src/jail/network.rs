//! The network of a session: one namespace in which every address is the broker's, and the broker outside that judges.
//!
//! Writes the session's list, starts and ends the broker. Invariants: with the mode off nothing here runs; no command can
//! write the list or stand in for the broker; without the broker no command has a network.

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
use crate::system::env::Env;
use crate::system::files;
use crate::system::process::detached;
use crate::system::process::program::{Identity, Program};
use crate::text::template::one_line;
use aops_network::list::{Refusal, spelt};
use rustix::process::{Flock, FlockType, Pid, Signal, fcntl_getlk, kill_process};
use std::collections::BTreeSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// `aops-hook __network SESSION CLIENT`: the broker; internal.
pub const VERB: &str = "__network";
/// In the session's folder, which no command can write.
const FOLDER: &str = "network";
/// Locked by the broker as long as it lives. Empty until a command can enter.
const MARK: &str = "mark";
const LIST: &str = "list";
/// What was reached and what was refused, for those who tell it.
pub const COUNTS: &str = "hosts";
/// Refusals that nobody was told of yet.
const REFUSED: &str = "refused";
/// Refusals that one result names.
const MOST_NAMED: usize = 5;
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
}

impl Reach {
    /// The network that this command enters; nothing where it has the machine's, or none at all.
    pub fn of(asked: Asked, ground: &Ground) -> Result<Option<Self>, String> {
        let Asked { jail, network, hold, profile, harness, session } = asked;
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
        Ok(Some(Self { session: session.to_owned(), visible }))
    }

    /// Enters it. What is to be hidden beside it is added to the ground.
    #[cfg(target_os = "linux")]
    pub fn enter(&self, ground: &mut Ground) -> Result<(), String> {
        // The kernel lists the sockets of the network that one is in.
        ground.shut = self.visible.as_ref().map(|visible| sockets::foreign(ground, visible)).transpose()?;
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

/// Writes the list of a session that starts, and has its network made behind the hook. One that is there reads the new list.
pub fn start(env: &Env, session: &Path, network: &Network, client: Option<i32>) -> io::Result<()> {
    let Some(list) = network.list() else { return Ok(()) };
    match DirBuilder::new().mode(0o700).create(folder(session)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let text = list.to_string();
    files::write_beside(&folder(session).join(LIST), 0o600, |file| file.write_all(text.as_bytes()))?;
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

/// What was refused since the last time, in a sentence for the model. Without it a model takes a refusal for a broken network
/// and tries detours.
pub fn take_refusals(session: &Path) -> Option<String> {
    let (waiting, taken) = (folder(session).join(REFUSED), folder(session).join("refused.told"));
    std::fs::rename(&waiting, &taken).ok()?;
    let text = files::read_text(&taken).ok()?;
    let all: BTreeSet<&str> = text.lines().collect();
    let say = |line: &&str| {
        let (host, why) = line.split_once('\t').unwrap_or((line, ""));
        let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
        let by_list = [Refusal::NotListed, Refusal::OtherPort].iter().any(|known| why == known.to_string());
        let rule = spelt(name, port.parse().unwrap_or_default());
        let next = format!(". Ask the person to add `{rule}` to `[network] allow` of their configuration");
        let next = if by_list { next } else { String::new() };
        one_line(&format!("network: `{host}` refused, {why}{next}."), 300)
    };
    let mut said: Vec<String> = all.iter().take(MOST_NAMED).map(say).collect();
    let more = all.len().saturating_sub(MOST_NAMED);
    said.extend((more > 0).then(|| format!("network: {more} more refused.")));
    (!said.is_empty()).then(|| said.join("\n"))
}

/// The session has ended: so does its network.
pub fn end(session: &Path) {
    if let Some(broker) = open_mark(session).ok().and_then(|mark| broker(&mark)) {
        let _ = kill_process(broker, Signal::TERM);
    }
}
