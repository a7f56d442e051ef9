//! The worker of a machine: takes its lock, ends what an earlier worker left, serves, and announces itself to
//! the engine.
//!
//! Writes below its folder, starts `aops-hook` once a day. Invariants: it serves nothing before the last
//! holder of an earlier worker is gone; what it lets go has ended before another machine may begin it.

#![expect(clippy::disallowed_methods, reason = "it starts `aops-hook`")]

use crate::alone::Alone;
use crate::attend::Steps;
use crate::client::Address;
use crate::doors::Doors;
use crate::given::Given;
use crate::hold;
use crate::order::Machine;
use crate::port::{OPTIONS, Port};
use crate::service;
use crate::way::{Through, Way};
use aops_core::config::bundle;
use aops_core::config::policy::Fleet;
use aops_core::system::env::Env;
use aops_core::system::fleet_home::machine;
use aops_remote::signed::Trusted;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const DAY: Duration = Duration::from_hours(24);
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How often a worker asks whether its machine is still assigned runs.
const ASK_AGAIN: Duration = Duration::from_secs(30);

const KNOWN: [&str; 12] = [
    "name", "listen", "address", "ingress", "admin", "folder", "hook", "label", "reattach", "grace",
    "lost-after", "gateway-key",
];

/// The options that a worker was started with.
#[derive(Clone, Debug)]
pub struct Options {
    pub name: String,
    pub port: Port,
    /// The address at which the server reaches it, if it is not that of the port.
    pub address: Option<String>,
    pub way: Way,
    pub folder: PathBuf,
    pub hook: PathBuf,
    pub labels: Vec<String>,
    pub reattach: Duration,
    pub grace: Duration,
    /// Where this machine's own bundle is found.
    env: Env,
    /// Only answers that one of these gateways signed are acted on.
    pub trusted: Trusted,
}

impl Options {
    /// What no option says, the user's configuration does.
    pub fn read(words: &[String], env: &Env, fleet: &Fleet) -> Result<Self, String> {
        let given = Given::read(words, &[&KNOWN[..], &OPTIONS].concat())?;
        let listen = given.last("listen").or(fleet.listen.as_deref()).ok_or(
            "where should it listen?\nhint: set `fleet.listen` in your configuration, or give `--listen ADDRESS:PORT`",
        )?;
        let name = given.last("name").map_or_else(|| own_name(env), |name| Ok(name.to_owned()))?;
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
            return Err(format!("`{name}` is not the name of a machine\nhint: letters, digits, `-` and `_`"));
        }
        let port = Port::read(&given, fleet, "listen", listen)?;
        let reattach = given.period("reattach", fleet.reattach)?;
        let grace = given.period("grace", fleet.grace)?;
        let lost_after = given.period("lost-after", fleet.lost_after)?;
        if let Some(what) = Fleet::times_problem(reattach, grace, lost_after) {
            return Err(format!(
                "{what}\nhint: a machine that is cut off must have ended its step before another one begins it"
            ));
        }
        let all = |name: &str, usual: &[String]| {
            Some(given.all(name)).filter(|all| !all.is_empty()).unwrap_or_else(|| usual.to_vec())
        };
        Ok(Self {
            port,
            address: given.last("address").map(str::to_owned),
            way: way(&given, env, fleet, &name)?,
            folder: given
                .last("folder")
                .map_or_else(|| env.home.join(".local/state/aops/worker"), PathBuf::from),
            hook: given.last("hook").map_or_else(|| find_hook(env), |path| Ok(PathBuf::from(path)))?,
            labels: all("label", &fleet.labels),
            reattach: reattach.duration(),
            grace: grace.duration(),
            trusted: Trusted::read(&all("gateway-key", &fleet.gateway_keys))?,
            env: env.clone(),
            name,
        })
    }
}

/// The server's own addresses if they are given, else the gateway.
fn way(given: &Given, env: &Env, fleet: &Fleet, name: &str) -> Result<Way, String> {
    match (given.last("ingress"), given.last("admin"), &fleet.engine) {
        (None, None, Some(url)) => Ok(Way::Gateway(Arc::new(Through::new(env, url, name)))),
        (None, None, None) => {
            Err("where is the engine?\nhint: set `fleet.engine` in your configuration to the \
             address of its gateway, or give `--ingress` and `--admin`"
                .to_owned())
        }
        _ => {
            let ingress = Address::read(given.must("ingress")?)?;
            Ok(Way::Doors(Doors { ingress, admin: Address::read(given.must("admin")?)? }))
        }
    }
}

/// The name that this machine also has in a shared database, in letters that a service may have.
fn own_name(env: &Env) -> Result<String, String> {
    let name =
        machine(env).map_err(|error| format!("this machine has no name: {error}\nhint: give `--name`"))?;
    Ok(name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_', "-"))
}

/// `aops-hook` in this program's folder, or on `PATH`.
fn find_hook(env: &Env) -> Result<PathBuf, String> {
    let beside = env.program().ok().map(|own| own.with_file_name("aops-hook")).filter(|path| path.is_file());
    beside.or_else(|| env.on_path("aops-hook")).ok_or_else(|| {
        "`aops-hook` is neither next to this program nor on PATH\nhint: name it with `--hook`".to_owned()
    })
}

pub fn work(options: &Options) -> Result<(), String> {
    let at = |path: &Path, error: std::io::Error| format!("`{}`: {error}", path.display());
    fs::create_dir_all(&options.folder).map_err(|error| at(&options.folder, error))?;
    let folder = options.folder.canonicalize().map_err(|error| at(&options.folder, error))?;
    let alone = loop {
        match Alone::take(&folder).map_err(|error| at(&folder, error))? {
            Some(alone) => break alone,
            None => thread::sleep(LOOK_AGAIN),
        }
    };
    hold::sweep(&folder.to_string_lossy());
    let steps = Steps::new(
        options.name.clone(),
        folder,
        options.hook.clone(),
        options.way.clone(),
        alone.number(),
        options.grace,
        options.reattach,
    );
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let program = options.hook.clone();
    thread::spawn(move || clean_up_daily(&program));
    let announced = options.clone();
    thread::spawn(move || stay_known(&announced));
    runtime.block_on(service::serve_machine(steps, &options.port, options.trusted.clone()))
}

/// Removes what runs left behind, as `aops-hook` knows it.
fn clean_up_daily(program: &Path) {
    loop {
        let mut command = Command::new(program);
        let command =
            command.arg("__retain").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let _ = command.status();
        thread::sleep(DAY);
    }
}

/// Announces this machine to the engine and to the other machines, again if it was considered lost or has
/// another bundle.
fn stay_known(options: &Options) {
    let here = options.address.clone().unwrap_or_else(|| options.port.address());
    let mut machine = Machine {
        name: options.name.clone(),
        labels: options.labels.clone(),
        grace_s: options.grace.as_secs(),
        reattach_s: options.reattach.as_secs(),
        ..Machine::default()
    };
    let mut told = String::new();
    loop {
        let mut pause = Duration::from_secs(1);
        let known = bundle::in_words(&options.env);
        machine.bundle = serde_json::from_str(&known).unwrap_or_default();
        while let Err((_, words)) = options.way.hello(&machine, &here) {
            if words != told {
                let _ = writeln!(std::io::stderr(), "aops-fleet: not known to the engine yet: {words}");
                told = words;
            }
            thread::sleep(pause);
            pause = (pause * 2).min(ASK_AGAIN);
        }
        while options.way.counts(&options.name) != Ok(false) && bundle::in_words(&options.env) == known {
            thread::sleep(ASK_AGAIN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aops_core::config::policy::Period;

    #[test]
    fn what_is_missing_or_odd_is_told() {
        let env = Env::read();
        let fleet = Fleet::default();
        let read = |listen: &str, more: &[&str]| {
            let words =
                ["--name", "a", "--listen", listen, "--ingress", "http://h:1", "--admin", "http://h:2"];
            let words =
                words.iter().chain(&["--hook", "/bin/true"]).chain(more).map(|word| (*word).to_owned());
            Options::read(&words.collect::<Vec<_>>(), &env, &fleet)
        };
        let without =
            |fleet: &Fleet| Options::read(&["--listen".to_owned(), "127.0.0.1:1".to_owned()], &env, fleet);
        assert!(without(&fleet).unwrap_err().contains("`fleet.engine`"));
        for (more, is_fine) in
            [(["--reattach", "57"], true), (["--reattach", "58"], false), (["--lost-after", "64"], false)]
        {
            assert_eq!(read("127.0.0.1:1", &more).is_ok(), is_fine, "{more:?}");
        }
    }

    #[test]
    fn what_no_option_says_is_configured() {
        let fleet = Fleet {
            identity: Some("publickeyv1_x".to_owned()),
            labels: vec!["gpu".to_owned()],
            listen: Some("10.0.0.5:9443".to_owned()),
            reattach: Period::seconds(20),
            ..Fleet::default()
        };
        let read = |more: &[&str]| {
            let words =
                ["--name", "a", "--ingress", "http://h:1", "--admin", "http://h:2", "--hook", "/bin/true"];
            let words: Vec<String> = words.iter().chain(more).map(|word| (*word).to_owned()).collect();
            Options::read(&words, &Env::read(), &fleet)
        };
        let said = read(&["--plain", "on"]).unwrap();
        let Port { listen, identity, .. } = said.port;
        let shown = (listen.to_string(), identity, said.labels, said.reattach.as_secs());
        assert_eq!(shown, ("10.0.0.5:9443".to_owned(), fleet.identity.clone(), fleet.labels.clone(), 20));
        let said = read(&["--label", "mac", "--listen", "127.0.0.1:1", "--reattach", "3"]).unwrap();
        assert_eq!(
            (said.port.listen.port(), said.labels, said.reattach.as_secs()),
            (1, vec!["mac".to_owned()], 3)
        );
        let said = read(&["--reattach", "2m", "--plain", "on"]).unwrap_err();
        assert!(["(2m)", "(2s)", "`lost_after`"].iter().all(|part| said.contains(part)), "{said}");
    }
}
