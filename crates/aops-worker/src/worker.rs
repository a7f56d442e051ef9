//! The worker of a machine: takes its lock, ends what an earlier worker left, serves, and announces itself to
//! the engine.
//!
//! Writes below its folder. Invariants: it serves nothing before the last holder of an earlier worker is
//! gone; what it lets go has ended before another machine may begin it.

use crate::alone::Alone;
use crate::announce;
use crate::attend::Steps;
use crate::client::{Address, SOON};
use crate::given::Given;
use crate::hold;
use crate::service::{self, ALL, Machine, name_of};
use crate::signed::Trusted;
use aops_core::system::env::Env;
use serde_json::json;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How often a worker asks whether its machine is still assigned runs.
const ASK_AGAIN: Duration = Duration::from_secs(30);

const KNOWN: [&str; 13] = [
    "name", "listen", "address", "ingress", "admin", "folder", "hook", "label", "identity", "reattach",
    "grace", "lost-after", "gateway-key",
];

/// The options that a worker was started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub name: String,
    pub listen: SocketAddr,
    /// The address at which the server reaches it, if it is not `listen`.
    pub address: Option<String>,
    pub ingress: Address,
    pub admin: Address,
    pub folder: PathBuf,
    pub hook: PathBuf,
    pub labels: Vec<String>,
    pub identity: Option<String>,
    pub reattach: Duration,
    pub grace: Duration,
    /// Only answers that one of these gateways signed are acted on.
    pub trusted: Trusted,
}

impl Options {
    pub fn read(words: &[String]) -> Result<Self, String> {
        let given = Given::read(words, &KNOWN)?;
        let seconds = |wanted: &str, usual: u64| given.seconds(wanted, usual);
        let env = Env::read();
        let listen = given.must("listen")?;
        let name = given.must("name")?.to_owned();
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
            return Err(format!("`{name}` is not the name of a machine\nhint: letters, digits, `-` and `_`"));
        }
        let listen: SocketAddr =
            listen.parse().map_err(|_| format!("`--listen {listen}`: write ADDRESS:PORT"))?;
        if given.last("identity").is_none() && !listen.ip().is_loopback() {
            return Err(format!(
                "`--listen {listen}` without `--identity`: whoever reaches it could run programs here\n\
                 hint: give the server's key (`publickeyv1_…`), or listen on 127.0.0.1"
            ));
        }
        let reattach = seconds("reattach", 30)?;
        let grace = seconds("grace", 2)?;
        let lost_after = seconds("lost-after", 120)?;
        if (reattach + grace) * 2 >= lost_after {
            return Err(format!(
                "`--reattach` and `--grace` are {} s together, which is not below half of `--lost-after` ({} s)\n\
                 hint: a machine that is cut off must have ended its step before another one begins it",
                (reattach + grace).as_secs(),
                lost_after.as_secs()
            ));
        }
        Ok(Self {
            listen,
            address: given.last("address").map(str::to_owned),
            ingress: Address::read(given.must("ingress")?)?,
            admin: Address::read(given.must("admin")?)?,
            folder: given
                .last("folder")
                .map_or_else(|| env.home.join(".local/state/aops/worker"), PathBuf::from),
            hook: given.last("hook").map_or_else(|| find_hook(&env), |path| Ok(PathBuf::from(path)))?,
            labels: given.all("label"),
            identity: given.last("identity").map(str::to_owned),
            reattach,
            grace,
            trusted: Trusted::read(&given.all("gateway-key"))?,
            name,
        })
    }
}

/// `aops-hook` in this program's folder, or on `PATH`.
fn find_hook(env: &Env) -> Result<PathBuf, String> {
    let beside = env.program().ok().map(|own| own.with_file_name("aops-hook")).filter(|path| path.is_file());
    beside.or_else(|| env.on_path("aops-hook")).ok_or_else(|| {
        "`aops-hook` is neither beside this program nor on PATH\nhint: name it with `--hook`".to_owned()
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
        options.ingress.clone(),
        alone.number(),
        options.grace,
        options.reattach,
    );
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let announced = options.clone();
    thread::spawn(move || stay_known(&announced));
    let Options { listen, identity, trusted, .. } = options;
    runtime.block_on(service::serve_machine(steps, *listen, identity.as_deref(), trusted.clone()))
}

/// Announces this machine to the engine and to the other machines, again if it was considered lost.
fn stay_known(options: &Options) {
    let here = options.address.clone().unwrap_or_else(|| format!("http://{}", options.listen));
    announce::deployment(&options.admin, &here);
    let hello = json!(Machine {
        name: options.name.clone(),
        labels: options.labels.clone(),
        grace_s: options.grace.as_secs(),
        reattach_s: options.reattach.as_secs(),
        ..Machine::default()
    });
    let path = format!("/Machines/{ALL}/hello");
    let question = format!("/Machines/{ALL}/counts");
    loop {
        announce::insist(&options.ingress, &path, &hello);
        resume_paused(options);
        let counts = || options.ingress.ask("POST", &question, Some(&json!(options.name)), SOON);
        while counts().map_or(true, |said| said.json != json!(false)) {
            thread::sleep(ASK_AGAIN);
        }
    }
}

/// Resumes steps that the engine paused, because it stops trying to reach a machine that was away for long.
fn resume_paused(options: &Options) {
    let service = name_of(&options.name);
    let sql = format!(
        "select id from sys_invocation where target_service_name = '{service}' and status = 'paused' limit 1000"
    );
    let Ok(said) = options.admin.ask("POST", "/query", Some(&json!({"query": sql})), SOON) else { return };
    for id in said.json["rows"].as_array().into_iter().flatten().filter_map(|row| row["id"].as_str()) {
        let _ = options.admin.ask("PATCH", &format!("/invocations/{id}/resume"), None, SOON);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_served_only_with_the_servers_key() {
        let read = |listen: &str, more: &[&str]| {
            let words =
                ["--name", "a", "--listen", listen, "--ingress", "http://h:1", "--admin", "http://h:2"];
            let words =
                words.iter().chain(&["--hook", "/bin/true"]).chain(more).map(|word| (*word).to_owned());
            Options::read(&words.collect::<Vec<_>>())
        };
        for open in ["10.0.0.5:9080", "0.0.0.0:9080", "[::]:9080"] {
            let said = read(open, &[]).unwrap_err();
            assert!(said.contains(open) && said.contains("hint:"), "{said}");
            assert!(read(open, &["--identity", "publickeyv1_x"]).is_ok(), "{open}");
        }
        for here in ["127.0.0.1:9080", "[::1]:9080"] {
            assert!(read(here, &[]).is_ok(), "{here}");
        }
        assert!(read("here", &[]).unwrap_err().contains("ADDRESS:PORT"));
        for (more, is_fine) in
            [(["--reattach", "57"], true), (["--reattach", "58"], false), (["--lost-after", "64"], false)]
        {
            assert_eq!(read("127.0.0.1:1", &more).is_ok(), is_fine, "{more:?}");
        }
    }
}
