//! `key`: makes, shows, rotates and exports the key that signs the log of all sessions.
//!
//! Reads and writes keys and log. Invariants: the secret that signs is never printed; the key of the seal is
//! printed only when a person asks, since whoever has it can seal from that epoch on.

use super::{Command, Io, flag, option, refused, text, yes};
use anyhow::Context;
use aops_core::proof::keys::{AgentKey, Keys};
use aops_core::proof::life::{self, Standing};
use aops_core::system::ssh_agent::{self, Identity};
use aops_core::text::plain::count;
use aops_core::text::sha256::Sum;
use aops_proof::key::PublicKey;
use aops_proof::text::base64;
use clap::{Arg, ArgMatches};
use serde_json::json;
use std::path::Path;

pub const COMMAND: Command = Command {
    name: "key",
    about: "The key that signs the log over all sessions",
    examples: &[
        ("aops-hook key show", "the public key, as a witness needs it, and how far the log is signed"),
        ("aops-hook key init", "make the key; `install` has done it"),
    ],
    arguments: |row| Command::verbs(VERBS, row.arg(yes().global(true))),
    run: |given, io| Ok(Command::run_verb("key", VERBS, given, io)?.unwrap_or(2)),
};

pub(super) static VERBS: &[Command] = &[
    Command {
        name: "init",
        about: "Make the key, and the log if there is none",
        examples: &[
            ("aops-hook key init", "with a random name"),
            ("aops-hook key init --origin example.com/ledger", "with a name of your own"),
            (
                "aops-hook key init --ssh-agent me@laptop",
                "with an Ed25519 key of your ssh-agent, by its comment",
            ),
        ],
        arguments: |row| {
            row.arg(option(
                "origin",
                "NAME",
                "The log's name, without blanks and `+`; it cannot be changed later",
            ))
            .args(agents())
        },
        run: init,
    },
    Command {
        name: "show",
        about: "Show the public key and how far the log is signed",
        examples: &[("aops-hook key show --json", "for programs")],
        arguments: |row| row,
        run: show,
    },
    Command {
        name: "rotate",
        about: "Make a new key for the same log; the old one vouches for it",
        examples: &[
            ("aops-hook key rotate", "then give your witnesses the new key"),
            ("aops-hook key rotate --new-log", "set a damaged log aside and begin another"),
        ],
        arguments: |row| {
            let new = flag("new-log", "Set the log aside and begin another under a new name");
            row.args(agents()).arg(new.conflicts_with("ssh-agent"))
        },
        run: rotate,
    },
    Command {
        name: "export",
        about: "Print a public key, or the key with which seals are checked",
        examples: &[
            ("aops-hook key export", "the public key, for a witness or for `verify_ledger.py`"),
            ("aops-hook key export --ml-dsa", "the one that is also safe from quantum computers"),
            ("aops-hook key export --pem", "the same key for other tools that read attestations"),
            ("aops-hook key export --seal", "keep it on another machine: it checks every seal from now on"),
        ],
        arguments: |row| {
            let ml_dsa = flag("ml-dsa", "The ML-DSA-44 key, which signs alongside the main key");
            let pem = flag("pem", "The public key as PEM").conflicts_with_all(["ml-dsa", "seal"]);
            row.args([ml_dsa.conflicts_with("seal"), pem, flag("seal", "The key of the next seal, a secret")])
        },
        run: export,
    },
];

fn agents() -> [Arg; 2] {
    let key = "Sign with this Ed25519 key of an ssh-agent: its comment or SHA256 fingerprint";
    let socket = "The agent's socket; default: what `SSH_AUTH_SOCK` names at each turn's end";
    [option("ssh-agent", "KEY", key), option("socket", "PATH", socket).requires("ssh-agent")]
}

/// The fingerprint in the form of `ssh-add -l`.
fn fingerprint(identity: &Identity) -> String {
    format!("SHA256:{}", base64(&Sum::of(&Identity::blob(&identity.key)).0).trim_end_matches('='))
}

/// The agent's key that a person named.
fn agent_key(given: &ArgMatches, io: &Io) -> anyhow::Result<Option<AgentKey>> {
    let Some(named) = text(given, "ssh-agent") else { return Ok(None) };
    let own = text(given, "socket").map(|path| io.env.from_here(Path::new(path)));
    let Some(socket) = own.clone().or_else(ssh_agent::socket) else {
        return refused(
            "no ssh-agent: `SSH_AUTH_SOCK` names none\nhint: `eval $(ssh-agent)`, `ssh-add`, and again",
        );
    };
    let offered = ssh_agent::list(&socket).with_context(|| format!("`{}`", socket.display()))?;
    let fits = |one: &&Identity| one.comment == named || fingerprint(one) == named;
    let found: Vec<&Identity> = offered.iter().filter(fits).collect();
    let [found] = found[..] else {
        let list: Vec<String> =
            offered.iter().map(|one| format!("{} {}", fingerprint(one), one.comment)).collect();
        let there = if list.is_empty() { "it has no Ed25519 key".to_owned() } else { list.join("\n") };
        let many = if found.is_empty() { "no" } else { "more than one" };
        return refused(format!("{many} key `{named}` in the ssh-agent\nhint: name one of these:\n{there}"));
    };
    Ok(Some(AgentKey { key: found.key, socket: own }))
}

fn init(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    if Keys::open(io.env)?.is_some() {
        return refused(
            "there is a key already\nhint: `aops-hook key show`; `aops-hook key rotate` makes a new one",
        );
    }
    let key = life::begin(io.env, text(given, "origin"), agent_key(given, io)?.as_ref())?;
    io.answer(
        &json!({"key": key.to_string(), "origin": key.name}),
        format!("made the key of log {}\n{key}", key.name),
    )
}

fn standing(io: &Io) -> anyhow::Result<Standing> {
    match life::standing(io.env)? {
        Some(standing) => Ok(standing),
        None => refused(
            "no key can be seen from here\n\
            hint: `aops-hook key init` makes one; commands of an agent never see it",
        ),
    }
}

fn show(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let Standing { key, ml_dsa, old, size, leaves, epoch, .. } = standing(io)?;
    let old: Vec<String> = old.iter().map(ToString::to_string).collect();
    let value = json!({
        "key": key.to_string(), "ml_dsa": ml_dsa.as_ref().map(ToString::to_string), "origin": key.name,
        "signed": size, "leaves": leaves, "epoch": epoch, "old": old,
    });
    let before = if old.is_empty() { String::new() } else { format!("\nbefore it: {}", old.join(", ")) };
    let with = if ml_dsa.is_some() { " with Ed25519 and ML-DSA-44" } else { "" };
    io.answer(
        &value,
        format!(
            "{key}\nlog {}, {} signed{with}, {}{before}",
            key.name,
            count(size, "entry"),
            count(epoch, "seal")
        ),
    )
}

fn rotate(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    if given.get_flag("new-log") {
        let (key, aside) = life::begin_anew(io.env)?;
        let words = format!("the log is set aside as `{}`; another has begun\n{key}", aside.display());
        return io.answer(&json!({"key": key.to_string(), "origin": key.name, "aside": aside}), words);
    }
    standing(io)?;
    let (old, new) = life::rotate(io.env, agent_key(given, io)?.as_ref())?;
    let words =
        format!("{new}\nhint: tell your witnesses; `aops-hook key export --seal` exports the new seal");
    io.answer(&json!({"key": new.to_string(), "old": old.to_string(), "origin": new.name}), words)
}

/// The form that OpenSSL and every library reads for an Ed25519 key (RFC 8410).
fn to_pem(key: &PublicKey) -> String {
    const BEFORE: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
    let inside = base64(&[&BEFORE, key.bytes()].concat());
    format!("-----BEGIN PUBLIC KEY-----\n{inside}\n-----END PUBLIC KEY-----\n")
}

fn export(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let Standing { key, ml_dsa, .. } = standing(io)?;
    if given.get_flag("ml-dsa") {
        let Some(key) = ml_dsa else {
            return refused(
                "this log has no ML-DSA-44 key\nhint: `aops-hook key rotate` makes new keys, one of them",
            );
        };
        return io.answer(&json!({"key": key.to_string()}), &key);
    }
    if given.get_flag("pem") {
        let pem = to_pem(&key);
        return io.answer(&json!({"key": key.to_string(), "pem": pem}), pem.trim_end());
    }
    if !given.get_flag("seal") {
        return io.answer(&json!({"key": key.to_string()}), &key);
    }
    let sealed = Keys::open(io.env)?.map(|keys| keys.sealed()).transpose()?.flatten();
    let Some(sealed) = sealed else { return refused("nothing is sealed yet\nhint: end a turn first") };
    let text = format!("aops-seal+{}+{}", sealed.key.epoch, base64(sealed.key.bytes()));
    io.answer(&json!({"seal": text, "epoch": sealed.key.epoch}), &text)
}
