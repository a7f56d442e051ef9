//! Walks a whole ledger and says whether it holds; with `--quarantine`, a person's way out when it does not.
//!
//! Reads one session; without the flag it writes nothing. Invariant: a block in the readable part, or in the exported
//! head, is carried over: setting a ledger aside frees nobody.

use super::table::Tone;
use super::{Command, Io, Who, allowed, session, session_argument};
use crate::config::in_force;
use crate::ledger::heads::{self, Head};
use crate::ledger::open::Ledger;
use crate::ledger::sessions::{self, Checked, SessionOnDisk};
use crate::model::error::{Code, Failure};
use crate::session::fact::{Blocked, Fact, Opened, Previous};
use crate::system::env::boot_id;
use crate::system::files::make_all;
use anyhow::Context;
use clap::{Arg, ArgAction, ArgMatches};
use serde_json::json;
use std::path::{Path, PathBuf};

pub const COMMAND: Command = Command {
    name: "verify",
    about: "Check a session's ledger: every digest, link, number and state",
    examples: &[
        ("aops-hook verify", "check the newest session of this project; exit 4 when it does not hold"),
        ("aops-hook verify 3f2a --json", "the same for a program: ok, entries, code, seq, torn_bytes"),
        ("aops-hook verify 3f2a --quarantine", "set a damaged ledger aside and begin a new one"),
    ],
    who: Who::Anyone,
    arguments: |command| {
        let quarantine = Arg::new("quarantine").long("quarantine").action(ArgAction::SetTrue);
        let yes = Arg::new("yes").long("yes").action(ArgAction::SetTrue).requires("quarantine");
        session_argument(command)
            .arg(quarantine.help("Set a damaged ledger aside as ….broken-N and begin a new one (a person's)"))
            .arg(yes.help("Run without a terminal, from your own script"))
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let quarantine = given.get_flag("quarantine");
    if quarantine {
        allowed("verify --quarantine", Who::AtTerminal, io)?;
    }
    let named = given.get_one::<String>("session");
    let shelved = match (session(given, io), named.and_then(|name| sessions::exported(io.env, name))) {
        (Ok(shelved), _) => shelved,
        (Err(_), Some(head)) if head.seq > 0 => lost(io, &head),
        (Err(error), _) => return Err(error),
    };
    let checked = sessions::check(io.env, &shelved).unwrap_or_else(|failure| missing(io, &shelved, failure));
    report(io, &shelved, &checked)?;
    if !quarantine {
        if checked.failure.is_some() && !io.json {
            let id = &shelved.session_id;
            writeln!(io.out, "hint: `aops-hook verify {id} --quarantine` sets it aside and begins anew")?;
        }
        return Ok(if checked.failure.is_some() { 4 } else { 0 });
    }
    if checked.failure.is_some() {
        let aside = set_aside(io, &shelved, &checked)?;
        if !io.json {
            writeln!(io.out, "set aside as `{}`; a new ledger has begun", aside.display())?;
        }
    } else if !io.json {
        writeln!(io.out, "nothing to set aside")?;
    }
    Ok(0)
}

/// A session of which only the exported head is left.
fn lost(io: &Io, head: &Head) -> SessionOnDisk {
    let day = head.ts.get(..10).unwrap_or_default().replace('-', "");
    let name = format!("{day}-{}", &crate::text::sha256::sha256(&[head.session_id.as_bytes()])[..8]);
    let path = io.env.projects().join(&head.project).join(name);
    SessionOnDisk { session_id: head.session_id.clone(), path, changed: std::time::SystemTime::UNIX_EPOCH }
}

fn missing(io: &Io, shelved: &SessionOnDisk, failure: Failure) -> Checked {
    let head = sessions::exported(io.env, &shelved.session_id).filter(|head| head.seq > 0);
    let proven = |head: Head| {
        Failure::new(Code::RecoveryFailed, format!("the ledger is gone, but entry {} was exported", head.seq))
    };
    let failure = Some(head.map_or(failure, proven));
    Checked { session: crate::session::fold::Session::default(), torn_bytes: 0, failure, seq: Some(1) }
}

fn report(io: &mut Io, shelved: &SessionOnDisk, checked: &Checked) -> anyhow::Result<()> {
    let code = checked.failure.as_ref().map(|failure| failure.code.name());
    let entries = checked.session.seq;
    if io.json {
        let value = json!({
            "ok": code.is_none(), "entries": entries, "code": code, "seq": checked.seq,
            "torn_bytes": checked.torn_bytes, "session_id": shelved.session_id,
        });
        return Ok(writeln!(io.out, "{value}")?);
    }
    match &checked.failure {
        None => writeln!(
            io.out,
            "{} {entries} {}, session {}",
            Tone::Good.paint("holds:", io),
            if entries == 1 { "entry" } else { "entries" },
            shelved.session_id
        )?,
        Some(failure) => {
            let broken = Tone::Bad.paint("does not hold:", io);
            writeln!(io.out, "{broken} {failure}\nwhat stands up to entry {entries} holds")?;
        }
    }
    if checked.torn_bytes > 0 {
        writeln!(
            io.out,
            "{} bytes of a cut write at the end: the next event sets them aside",
            checked.torn_bytes
        )?;
    }
    Ok(())
}

/// Renames the folder and begins a ledger in its place that names the old one.
fn set_aside(io: &Io, shelved: &SessionOnDisk, checked: &Checked) -> anyhow::Result<PathBuf> {
    let env = io.env;
    // First: a configuration that does not hold is found before anything is moved.
    let in_force = in_force::load(env, &env.cwd)?;
    in_force.keep(env)?;
    let head = sessions::exported(env, &shelved.session_id);
    let block = checked.session.blocked().map(str::to_owned);
    let block = block.or_else(|| {
        head.as_ref().filter(|head| head.blocked).map(|head| head.reason.clone().unwrap_or_default())
    });
    let aside = free_name(&shelved.path);
    if shelved.path.exists() {
        std::fs::rename(&shelved.path, &aside).with_context(|| format!("`{}`", shelved.path.display()))?;
    }
    make_all(&shelved.path)?;
    // The proof of the old entries is given up here, by a person, and nowhere else.
    let project =
        shelved.path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    heads::export(
        env,
        &Head {
            blocked: block.is_some(),
            digest: crate::text::sha256::NO_DIGEST.to_owned(),
            project: project.clone(),
            reason: block.clone(),
            seq: 0,
            session_id: shelved.session_id.clone(),
            ts: crate::text::time::timestamp(env.now_ms),
        },
    )?;
    let mut ledger = Ledger::at(env, &shelved.path, &shelved.session_id)?;
    let folder = aside.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let previous = Previous { folder, head: checked.session.head.clone(), seq: checked.session.seq };
    let mut facts = vec![Fact::Open(Opened {
        binary: env!("CARGO_PKG_VERSION").to_owned(),
        boot: boot_id(),
        folders: checked.session.memory.folders.clone(),
        format: 1,
        policy: checked.session.memory.policy.clone(),
        policy_hash: in_force.hash,
        previous: Some(previous),
        project,
    })];
    facts.extend(block.map(|reason| {
        Fact::Block(Blocked { by: "carried over from the ledger set aside".to_owned(), reason })
    }));
    ledger.append(env, facts)?;
    Ok(aside)
}

fn free_name(path: &Path) -> PathBuf {
    let named = |n: u32| PathBuf::from(format!("{}.broken-{n}", path.display()));
    let taken = |n: &u32| named(*n).symlink_metadata().is_ok();
    named((1..u32::MAX).find(|n| !taken(n)).unwrap_or(u32::MAX))
}
