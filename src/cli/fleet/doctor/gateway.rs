//! The part of `fleet doctor` about the engine: the gateway, versions, the server's key, and whether server
//! and worker reach each other.
//!
//! Asks the gateway; starts `aops-fleet --version`.

use super::{Row, near};
use crate::cli::Io;
use crate::remote::gateway::{Gateway, PATIENCE, TOKEN, WORKER_TOKEN, words_of};
use aops_core::config::policy::Fleet;
use aops_core::system::env::now_ms;
use aops_core::system::fleet_home::secret_file;
use aops_core::system::process::program::{Identity, Program};
use aops_core::system::process::{self, Ending, Task};
use serde_json::Value;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

const QUICK: Duration = Duration::from_secs(5);
const OURS: &str = env!("CARGO_PKG_VERSION");
/// How the server's key begins, and how long its text may be: 32 bytes in base 58.
const KEY: &str = "publickeyv1_";
const KEY_CHARS: std::ops::RangeInclusive<usize> = 32..=44;

pub(super) fn rows(io: &Io, wanted: &Fleet, url: &str) -> Vec<Row> {
    let serves = wanted.listen.is_some() || secret_file(io.env, WORKER_TOKEN).exists();
    let asks = secret_file(io.env, TOKEN).exists();
    let mut rows: Vec<Row> = Vec::new();
    // A machine that only works has no person's token.
    let mut who = None;
    for (name, token, is_wanted) in
        [("gateway", TOKEN, asks || !serves), ("gateway for the worker", WORKER_TOKEN, serves)]
    {
        if is_wanted {
            let found = about(io, url, token);
            who = found.as_ref().ok().cloned().or(who);
            rows.push((name, found.map(|about| format!("answers, to {}", text(&about, "you")))));
        }
    }
    rows.push(("versions", versions(io, who.as_ref())));
    rows.push(("key", key(wanted, serves)));
    if let Some(about) = &who {
        rows.push(("clock", near(now_ms() - about["now_ms"].as_i64().unwrap_or_default(), "the gateway")));
    }
    if serves {
        rows.push(("worker", listens(wanted)));
        rows.push(("worker from the server", reached(io, url)));
    }
    rows
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or("?").to_owned()
}

fn about(io: &Io, url: &str, token: &str) -> Result<Value, String> {
    match Gateway::find(io.env, url, token)?.post("about", &Value::Null, PATIENCE)? {
        (200, about) => Ok(about),
        (401, _) => Err(format!(
            "it does not know the token in `{}`\nhint: ask the gateway's operator for a new one",
            secret_file(io.env, token).display()
        )),
        (status, said) => Err(words_of(status, &said)),
    }
}

/// A gateway serves workers of its own version and of the previous one.
fn versions(io: &Io, about: Option<&Value>) -> Result<String, String> {
    let worker = worker_version(io);
    let mut words = format!("aops-hook {OURS}, aops-fleet {}", worker.as_deref().unwrap_or("is not here"));
    if let Some(about) = about {
        let gateway = text(about, "gateway");
        let engine = text(about, "engine");
        words = format!("{words}, the gateway's {gateway}, the server's {engine}");
        if minor(&gateway) != minor(OURS) {
            return Err(format!("{words}\nhint: upgrade the gateway first, then this machine"));
        }
    }
    if worker.is_some_and(|worker| worker != OURS) {
        return Err(format!("{words}\nhint: install `aops-fleet` and `aops-hook` of one version"));
    }
    Ok(words)
}

fn minor(version: &str) -> &str {
    version.rsplit_once('.').map_or(version, |(minor, _)| minor)
}

/// The version of `aops-fleet` next to this program, or on `PATH`.
fn worker_version(io: &Io) -> Option<String> {
    let beside = io.env.program().ok()?.with_file_name("aops-fleet");
    let path = if beside.is_file() { beside } else { io.env.on_path("aops-fleet")? };
    let program = Program::find(io.env, Identity::At(&path)).ok()?;
    let variables = io.env.variables(|name| name == "PATH" || name == "HOME");
    let words = ["--version".to_owned()];
    let task = Task { keep: 200, ..Task::new(&program, &words, Path::new("/"), &variables, QUICK) };
    let said = process::run(&task).ok()?;
    let said =
        (said.ending == Ending::Exit(0)).then(|| String::from_utf8_lossy(&said.stdout).into_owned())?;
    Some(said.split_whitespace().last()?.to_owned())
}

fn key(wanted: &Fleet, serves: bool) -> Result<String, String> {
    let hint = "hint: set `fleet.identity` to what `aops-fleet identity` prints (`publickeyv1_…`)";
    let Some(identity) = &wanted.identity else {
        let listen = wanted.listen.as_deref().and_then(|listen| listen.parse::<SocketAddr>().ok());
        if serves && listen.is_some_and(|listen| !listen.ip().is_loopback()) {
            return Err(format!("a worker on a network accepts no call without the server's key\n{hint}"));
        }
        return Ok("none; only a worker on a network needs the server's key".to_owned());
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() && !"0OIl".contains(c);
    match identity.strip_prefix(KEY) {
        Some(rest) if KEY_CHARS.contains(&rest.len()) && rest.chars().all(is_plain) => {
            Ok("calls must be signed with the server's key".to_owned())
        }
        _ => Err(format!("`fleet.identity` is not the key of a server\n{hint}")),
    }
}

fn listens(wanted: &Fleet) -> Result<String, String> {
    let Some(listen) = &wanted.listen else {
        return Err(
            "no address is set for the worker to listen on\nhint: set `fleet.listen`, as `10.0.0.5:9443`"
                .to_owned(),
        );
    };
    let address: SocketAddr = listen.parse().map_err(|_| {
        format!("`fleet.listen` = \"{listen}\" is not ADDRESS:PORT\nhint: write it as `10.0.0.5:9443`")
    })?;
    match TcpStream::connect_timeout(&address, QUICK) {
        Ok(_) => Ok(format!("listens on {listen}")),
        Err(error) => Err(format!("nothing listens on {listen}: {error}\nhint: start `aops-fleet worker`")),
    }
}

/// The server calls this machine, as it does for a step.
fn reached(io: &Io, url: &str) -> Result<String, String> {
    let gateway = Gateway::find(io.env, url, WORKER_TOKEN)?;
    let (status, about) = gateway.post("about", &Value::Null, PATIENCE)?;
    if status != 200 {
        return Err(words_of(status, &about));
    }
    let name = text(&about, "you");
    match gateway.post(&format!("machines/{name}/reach"), &Value::Null, PATIENCE)? {
        (200, said) => Ok(format!("the server reaches {name} at {}", text(&said, "address"))),
        (404, _) => {
            Err(format!("the engine does not know {name}\nhint: start `aops-fleet worker --name {name}`"))
        }
        (status, said) => Err(format!(
            "{}\nhint: the server must reach `fleet.listen` of {name}, with the key in `fleet.identity`",
            words_of(status, &said)
        )),
    }
}
