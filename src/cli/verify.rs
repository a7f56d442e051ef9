//! Checks a whole ledger; with `--quarantine` a person sets a damaged one aside and begins a new one.
//!
//! Reads one session; without the flag it writes nothing. Invariants: a block in the readable part, or in the exported
//! head, is carried over; a ledger is set aside under its lock, so no hook writes to it meanwhile.

use super::table::Tone;
use super::{Command, Io, allowed, flag, refused, session, session_operand, text, who_may, yes};
use crate::config::in_force;
use crate::ledger::heads::Head;
use crate::ledger::lock::Lock;
use crate::ledger::open::Ledger;
use crate::ledger::session_folder::{self, dashed, guard};
use crate::ledger::sessions::{self, Checked, SessionOnDisk};
use crate::model::error::{Code, Failure};
use crate::session::fact::{Blocked, Fact, Opened, Previous};
use crate::session::fold::Session;
use crate::system::env::boot_id;
use crate::system::files::make_all;
use crate::text::sha256::sha256;
use anyhow::Context;
use clap::ArgMatches;
use serde_json::json;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub const COMMAND: Command = Command {
    name: "verify",
    about: "Check a session's ledger: every digest, link, number and state",
    examples: &[
        ("aops-hook verify", "check the newest session of this project; exit 4 when it is damaged"),
        ("aops-hook verify 3f2a --json", "the same for a program: ok, entries, code, seq, torn_bytes"),
        ("aops-hook verify 3f2a --quarantine", "set a damaged ledger aside and begin a new one"),
    ],
    arguments: |row| {
        let help = "Set a damaged ledger aside as ….broken-N and begin a new one (needs a person)";
        row.args([session_operand(), flag("quarantine", help), yes().requires("quarantine")])
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let quarantine = given.get_flag("quarantine");
    if quarantine {
        allowed("verify --quarantine", who_may("verify --quarantine"), io)?;
    }
    let named = text(given, "session");
    let gone = if named.is_none() { sessions::lost(io.env) } else { Vec::new() };
    let here: Vec<&Head> = gone.iter().filter(|head| is_here(io, head)).collect();
    let exported = named.and_then(|name| sessions::exported(io.env, name)).or_else(|| here.last().copied().cloned());
    let found = match (session(given, io), exported) {
        (Ok(found), _) => found,
        (Err(_), Some(head)) if head.seq > 0 => lost(io, &head),
        (Err(_), Some(Head { session_id, ts, reason: Some(reason), blocked: false, .. })) => {
            return refused(format!(
                "no session `{session_id}`: {reason}, {ts}\nhint: its insights are kept; `aops-hook sessions` lists the others"
            ));
        }
        (Err(error), _) => return Err(error),
    };
    if quarantine {
        return set_aside_damaged(io, &found);
    }
    let checked = check(io, &found, false);
    report(io, &found, &checked, &gone)?;
    if checked.failure.is_some() && !io.json {
        let id = &found.session_id;
        io.print(format!("hint: `aops-hook verify {id} --quarantine` sets it aside and begins a new one"))?;
    }
    Ok(if checked.failure.is_some() || !here.is_empty() { 4 } else { 0 })
}

/// A session of the project around the working directory.
fn is_here(io: &Io, head: &Head) -> bool {
    io.env.cwd.ancestors().any(|folder| dashed(&folder.to_string_lossy()) == head.project)
}

/// Under two locks: of the project, so that no hook makes a new folder, and of the session, so that none appends.
fn set_aside_damaged(io: &mut Io, found: &SessionOnDisk) -> anyhow::Result<u8> {
    let _project = guard(found.path.parent().unwrap_or(Path::new("/")))?;
    let old = session_folder::open(found.path.clone())?;
    let _lock = old.map(|folder| Lock::acquire(&folder.dir)).transpose()?;
    let checked = check(io, found, true);
    report(io, found, &checked, &[])?;
    let said = if checked.failure.is_some() {
        let aside = set_aside(io, found, &checked)?;
        format!("set aside as `{}`; a new ledger has begun", aside.display())
    } else {
        "nothing to set aside".to_owned()
    };
    if io.json { Ok(0) } else { io.print(said) }
}

/// A session of which only the exported head is left.
fn lost(io: &Io, head: &Head) -> SessionOnDisk {
    let day = head.ts.get(..10).unwrap_or_default().replace('-', "");
    let name = format!("{day}-{}", &sha256(&[head.session_id.as_bytes()])[..8]);
    let path = io.env.projects().join(&head.project).join(name);
    SessionOnDisk { session_id: head.session_id.clone(), path, changed: SystemTime::UNIX_EPOCH }
}

fn check(io: &Io, found: &SessionOnDisk, locked: bool) -> Checked {
    let whole = sessions::check_locked(io.env, found, locked).map(|checked| match &checked.failure {
        Some(_) => checked,
        None => Checked { failure: sessions::check_heads(io.env, found, &checked.session).err(), ..checked },
    });
    whole.unwrap_or_else(|failure| {
        let head = sessions::exported(io.env, &found.session_id).filter(|head| head.seq > 0);
        let what = |head: Head| format!("the ledger is gone, but entry {} was exported", head.seq);
        let failure = head.map_or(failure, |head| Failure::new(Code::RecoveryFailed, what(head)));
        Checked { session: Session::default(), torn_bytes: 0, failure: Some(failure), seq: Some(1) }
    })
}

fn report(io: &mut Io, found: &SessionOnDisk, checked: &Checked, gone: &[Head]) -> anyhow::Result<u8> {
    let code = checked.failure.as_ref().map(|failure| failure.code.name());
    let entries = checked.session.seq;
    if io.json {
        let value = json!({
            "ok": code.is_none() && !gone.iter().any(|head| is_here(io, head)), "entries": entries, "code": code, "seq": checked.seq,
            "torn_bytes": checked.torn_bytes, "session_id": found.session_id,
            "lost": gone.iter().map(|head| &head.session_id).collect::<Vec<_>>(),
        });
        return io.print(value);
    }
    if let Some(failure) = &checked.failure {
        writeln!(io.out, "{} {failure}", Tone::Bad.paint("damaged:", io))?;
        match entries {
            0 => {}
            1 => writeln!(io.out, "entry 1 is intact")?,
            _ => writeln!(io.out, "entries 1 to {entries} are intact")?,
        }
    } else {
        let many = if entries == 1 { "entry" } else { "entries" };
        writeln!(io.out, "{} {entries} {many}, session {}", Tone::Good.paint("intact:", io), found.session_id)?;
    }
    for head in gone.iter().filter(|head| head.session_id != found.session_id) {
        let (lost, id) = (Tone::Bad.paint("lost:", io), &head.session_id);
        writeln!(io.out, "{lost} session {id}, known only by its exported head: `aops-hook verify {id}`")?;
    }
    match checked.torn_bytes {
        0 => Ok(0),
        torn => io.print(format!("{torn} bytes of an unfinished write at the end: the next event sets them aside")),
    }
}

/// Begins a ledger beside the damaged folder, then renames both.
fn set_aside(io: &Io, found: &SessionOnDisk, checked: &Checked) -> anyhow::Result<PathBuf> {
    let env = io.env;
    // First: an invalid configuration is found before anything is moved.
    let in_force = in_force::load(env, &env.cwd)?;
    in_force.keep(env)?;
    let head = sessions::exported(env, &found.session_id).filter(|head| head.blocked);
    let block = checked.session.blocked().map(str::to_owned);
    let block = block.or_else(|| head.map(|head| head.reason.unwrap_or_default()));
    let (aside, fresh) = (free_name(&found.path), found.path.with_extension("new"));
    match fs::remove_dir_all(&fresh) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("`{}`", fresh.display()));
        }
        _ => make_all(&fresh)?,
    }
    let mut ledger = Ledger::begin(&fresh, &found.session_id)?;
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
        project: ledger.project(),
    })];
    let by = || "carried over from the ledger set aside".to_owned();
    facts.extend(block.map(|reason| Fact::Block(Blocked { by: by(), reason })));
    ledger.append(env, facts)?;
    if found.path.exists() {
        fs::rename(&found.path, &aside).with_context(|| format!("`{}`", found.path.display()))?;
    }
    fs::rename(&fresh, &found.path).with_context(|| format!("`{}`", fresh.display()))?;
    // From here on the exported head proves the new ledger and no longer the old one.
    ledger.export(env)?;
    Ok(aside)
}

fn free_name(path: &Path) -> PathBuf {
    let mut names = (1_u64..).map(|n| PathBuf::from(format!("{}.broken-{n}", path.display())));
    names.find(|name| name.symlink_metadata().is_err()).unwrap_or_default()
}
