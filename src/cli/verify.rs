//! Checks a whole ledger, and what the log proves about it; with `--all` every one; with `--quarantine` a
//! person sets a damaged one aside and starts a new one.
//!
//! Reads sessions and the log; without the last flag it writes nothing. Invariants: a block in the readable
//! part, or in the exported head, is carried over; a ledger is set aside under its lock, so no hook writes to
//! it meanwhile.

mod all;
mod proof;

use super::table::Tone;
use super::{
    Command, Io, SAME, allowed, flag, merge, named_session, option, refused, session, session_arguments,
    text, who_may, yes,
};
use crate::refusal::Refused;
use anyhow::Context;
use aops_core::config::in_force;
use aops_core::ledger::heads::Head;
use aops_core::ledger::lock::Lock;
use aops_core::ledger::open::Ledger;
use aops_core::ledger::session_folder::{self, dashed, guard};
use aops_core::ledger::sessions::{self, Checked, SessionOnDisk};
use aops_core::model::error::Code;
use aops_core::proof::append;
use aops_core::proof::check::{self, Examined, Trust, read_seal_key};
use aops_core::proof::judge::{self, Judged, judge};
use aops_core::proof::notes;
use aops_core::proof::record::Record;
use aops_core::proof::store::Store;
use aops_core::proof::tier::{self, Level};
use aops_core::proof::trust;
use aops_core::session::fact::{Blocked, FORMAT, Fact, Opened, Previous};
use aops_core::system::env::boot_id;
use aops_core::system::files::make_all;
use aops_core::system::git;
use aops_core::text::sha256::sha256;
use aops_proof::key::PublicKey;
use clap::{ArgAction, ArgMatches};
use serde_json::json;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub const COMMAND: Command = Command {
    name: "verify",
    about: "Check a session's ledger: every digest, link, number and state, and what the log proves of it",
    examples: &[
        ("aops-hook verify", "check the newest session of this project; exit 4 when it is damaged"),
        ("aops-hook verify 3f2a --json", "the same for a program: ok, entries, code, seq, torn_bytes, tier"),
        ("aops-hook verify --all", "every session, and the log over all of them"),
        ("aops-hook verify --all --git", "with the checkpoints that the project's remote has"),
        ("aops-hook verify --all --seal seal.txt", "the seals too, with what `key export --seal` printed"),
        ("aops-hook verify --proof refusal.tlog-proof --key KEY", "one entry that `prove` wrote, offline"),
        ("aops-hook verify 3f2a --quarantine", "set a damaged ledger aside and begin a new one"),
    ],
    arguments: |row| {
        let help = "Set a damaged ledger aside as ….broken-N and begin a new one (needs a person)";
        let key =
            option("key", "KEY", "This public key must have signed the log; default: those on this machine");
        let key = key.action(ArgAction::Append);
        let seal = option("seal", "FILE", "Check the seals with the key that `key export --seal` printed");
        let all = flag("all", "Every session, and the log over all of them")
            .conflicts_with_all(["session", SAME, "quarantine"]);
        let git =
            flag("git", "Check the checkpoints in the git notes of this project too, as the remote has them");
        let proof = option(
            "proof",
            "FILE",
            "Check a proof that `prove` wrote, with `--key` or the keys on this machine",
        );
        let proof = proof.conflicts_with_all(["session", SAME, "quarantine", "all", "seal", "git"]);
        let quarantine = flag("quarantine", help);
        let [session, same] = session_arguments();
        row.args([git, session, same, all, key, seal, proof, quarantine, yes().requires("quarantine")])
    },
    run,
};

/// The keys to check the log with; and, if git notes are used, whether they come from the remote.
fn trusted(given: &ArgMatches, io: &Io) -> anyhow::Result<(Trust, Option<bool>)> {
    let keys = given.get_many::<String>("key").unwrap_or_default().map(|text| PublicKey::parse(text));
    let keys: Vec<PublicKey> = keys.collect::<Result<_, _>>().or_else(refused)?;
    let seal = match text(given, "seal") {
        None => None,
        Some(path) => {
            let said = fs::read_to_string(path).with_context(|| format!("`{path}`"))?;
            let odd =
                format!("`{path}` holds no key of a seal\nhint: `aops-hook key export --seal` prints one");
            Some(read_seal_key(&said).map_or_else(|| refused(odd), Ok)?)
        }
    };
    let mut trust = Trust { keys, seal, ..trust::here(io.env)? };
    if !given.get_flag("git") {
        return Ok((trust, None));
    }
    let Some((lines, remote)) = git::notes::read(io.env, &io.env.cwd) else {
        return refused(
            "there are no notes of ours in this repository\n\
            hint: set `witness.git = \"notes\"`, and end a turn here",
        );
    };
    trust.seen = notes::parse(&lines);
    Ok((trust, Some(remote)))
}

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let said = look(given, io);
    if !given.get_flag("git") || !sessions::all(io.env).is_empty() {
        return said;
    }
    // Without a session there is nothing to compare with git, which does not count as a pass.
    let hint = "hint: `aops-hook verify-commit` checks commits of other machines";
    match said {
        Ok(0) if io.json => Ok(3),
        Ok(0) => io.print(format!("nothing was verified: there is no session here\n{hint}")).map(|_| 3),
        Err(error) if error.is::<Refused>() => {
            Err(Refused { code: 3, words: format!("nothing was verified: there is no session here\n{hint}") }
                .into())
        }
        said => said,
    }
}

fn look(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    if let Some(path) = text(given, "proof") {
        return proof::verify(&trusted(given, io)?.0, path, io);
    }
    if given.get_flag("all") {
        let (trust, remote) = trusted(given, io)?;
        return all::verify(&trust, remote, io);
    }
    let quarantine = given.get_flag("quarantine");
    if quarantine {
        allowed("verify --quarantine", who_may("verify --quarantine"), io)?;
    }
    let named = named_session(given);
    let gone = if named.is_none() { sessions::lost(io.env) } else { Vec::new() };
    let here: Vec<&Head> = gone.iter().filter(|head| is_here(io, head)).collect();
    let exported =
        named.and_then(|name| sessions::exported(io.env, name)).or_else(|| here.last().copied().cloned());
    let trust = trusted(given, io)?.0;
    let found = match find(given, io, exported) {
        Err(_) if !quarantine && is_missed(io, &trust, named) => return all::verify(&trust, None, io),
        found => found?,
    };
    if quarantine {
        return set_aside_damaged(io, &found);
    }
    let judged = judge(io.env, &trust, &found)?;
    report(io, &found, &judged.checked, &gone, Some(&judged))?;
    if let Some(failure) = judged.checked.failure.as_ref().filter(|_| !io.json) {
        let id = &found.session_id;
        io.print(match failure.code {
            code if code.is_of_another_version() => format!("hint: {}", code.way_out()),
            _ => format!("hint: `aops-hook verify {id} --quarantine` sets it aside and begins a new one"),
        })?;
    }
    Ok(if judged.is_ok() && here.is_empty() { 0 } else { 4 })
}

/// Whether there is no such session, although a head or the log remembers one: then everything is checked and
/// reported.
fn is_missed(io: &Io, trust: &Trust, named: Option<&str>) -> bool {
    let log = check::examine(io.env, trust);
    let lost = judge::lost(io.env, log.as_ref(), &sessions::all(io.env));
    let Some(named) = named else {
        let faults = log.as_ref().is_some_and(|log| !log.faults.is_empty());
        return faults || !lost.is_empty() || !judge::gone(io.env, log.as_ref()).is_empty();
    };
    lost.iter().any(|(id, ..)| id.as_ref().is_some_and(|id| id.starts_with(named)))
}

/// The requested session, even if only its exported head is left.
fn find(given: &ArgMatches, io: &Io, exported: Option<Head>) -> anyhow::Result<SessionOnDisk> {
    match (session(given, io), exported) {
        (Err(_), Some(head)) if head.seq > 0 => Ok(lost(io, &head)),
        (Err(_), Some(Head { session_id, ts, reason: Some(reason), blocked: false, .. })) => {
            refused(format!(
                "no session `{session_id}`: {reason}, {ts}\n\
            hint: its insights are kept; `aops-hook sessions` lists the others"
            ))
        }
        (found, _) => found,
    }
}

/// Whether this is a session of the project around the working directory.
fn is_here(io: &Io, head: &Head) -> bool {
    io.env.cwd.ancestors().any(|folder| dashed(&folder.to_string_lossy()) == head.project)
}

/// Holds two locks: of all folders, so that no hook creates a new one, and of the session, so that none
/// appends.
fn set_aside_damaged(io: &mut Io, found: &SessionOnDisk) -> anyhow::Result<u8> {
    let _project = guard(io.env)?;
    let old = session_folder::open(found.path.clone())?;
    let _lock = old.map(|folder| Lock::acquire(&folder.dir)).transpose()?;
    let (log, digests) = judge::look_at_log(io.env, &Trust::default(), &found.path);
    let checked = judge::check(io.env, found, true);
    let checked = judge::of_session(io.env, log.as_ref(), digests, found, checked).checked;
    report(io, found, &checked, &[], None)?;
    let other =
        checked.failure.as_ref().map(|failure| failure.code).filter(|code| code.is_of_another_version());
    let said = if let Some(code) = other {
        format!("not set aside\nhint: {}", code.way_out())
    } else if checked.failure.is_some() {
        let aside = set_aside(io, found, &checked)?;
        explain(io, log.as_ref(), found, &aside)?;
        format!("set aside as `{}`; a new ledger has begun", aside.display())
    } else {
        "nothing to set aside".to_owned()
    };
    if io.json { Ok(0) } else { io.print(said) }
}

/// Records in the log which of its leaves belonged to the ledger that is set aside, so that they are not
/// reported missing.
fn explain(io: &Io, log: Option<&Examined>, found: &SessionOnDisk, aside: &Path) -> anyhow::Result<()> {
    let (Some(log), Some(store)) = (log, Store::look(io.env)?) else { return Ok(()) };
    let spans =
        tier::spans(log, &Record::of(&store, &found.session_id), &tier::digests(aside).unwrap_or_default());
    drop(store);
    append::say(io.env, "aside", &json!({"session": found.session_id, "spans": spans}))?;
    Ok(())
}

/// A session of which only the exported head is left.
fn lost(io: &Io, head: &Head) -> SessionOnDisk {
    let day = head.ts.get(..10).unwrap_or_default().replace('-', "");
    let name = format!("{day}-{}", &sha256(&[head.session_id.as_bytes()])[..8]);
    let path = io.env.projects().join(&head.project).join(name);
    SessionOnDisk { session_id: head.session_id.clone(), path, changed: SystemTime::UNIX_EPOCH }
}

/// The first word about a ledger that cannot be read.
fn word_for(code: Code) -> &'static str {
    match code {
        Code::WrittenByNewer => "newer:",
        Code::WrittenByOlder => "older:",
        _ => "damaged:",
    }
}

/// Prints what is known about one session, and about the log if it was asked for.
fn report(
    io: &mut Io,
    found: &SessionOnDisk,
    checked: &Checked,
    gone: &[Head],
    judged: Option<&Judged>,
) -> anyhow::Result<u8> {
    let code = checked.failure.as_ref().map(|failure| failure.code.name());
    let entries = checked.session.seq;
    if io.json {
        let ok =
            code.is_none() && judged.is_none_or(Judged::is_ok) && !gone.iter().any(|head| is_here(io, head));
        let value = json!({
            "ok": ok, "entries": entries, "code": code, "seq": checked.seq,
            "torn_bytes": checked.torn_bytes, "session_id": found.session_id,
            "lost": gone.iter().map(|head| &head.session_id).collect::<Vec<_>>(),
        });
        let more = judged
            .map(|judged| merge(json!({"log_faults": judged.faults, "gone": judged.gone}), judged.to_json()));
        return io.print(merge(value, more.unwrap_or_default()));
    }
    if let Some(failure) = &checked.failure {
        writeln!(io.out, "{} {failure}", Tone::Bad.paint(word_for(failure.code), io))?;
        match entries {
            0 => {}
            1 => writeln!(io.out, "entry 1 is intact")?,
            _ => writeln!(io.out, "entries 1 to {entries} are intact")?,
        }
    } else {
        let many = if entries == 1 { "entry" } else { "entries" };
        writeln!(
            io.out,
            "{} {entries} {many}, session {}",
            Tone::Good.paint("intact:", io),
            found.session_id
        )?;
    }
    if let Some(judged) = judged {
        print_proven(io, judged)?;
    }
    for head in gone.iter().filter(|head| head.session_id != found.session_id) {
        let lost = Tone::Bad.paint("lost:", io);
        let id = &head.session_id;
        writeln!(io.out, "{lost} session {id}, known only by its exported head: `aops-hook verify {id}`")?;
    }
    match checked.torn_bytes {
        0 => Ok(0),
        torn => io
            .print(format!("{torn} bytes of an unfinished write at the end: the next event sets them aside")),
    }
}

fn print_proven(io: &mut Io, judged: &Judged) -> anyhow::Result<()> {
    print_wrong(io, &judged.faults, &judged.gone)?;
    let Some(tier) = judged.tier() else { return Ok(()) };
    let at = tier
        .witnessed_at
        .as_ref()
        .map(|at| format!(", entries 1 to {} seen by witnesses at {at}", tier.witnessed_to));
    writeln!(io.out, "tier: {}{}", tier.level.name(), at.unwrap_or_default())?;
    if let Some(why) = &tier.why {
        let next = if tier.level == Level::Intact { "sealed" } else { "witnessed" };
        writeln!(io.out, "not {next}: {why}")?;
    }
    Ok(())
}

/// What is wrong with the log, and what is missing.
fn print_wrong(io: &mut Io, faults: &[String], gone: &[String]) -> anyhow::Result<()> {
    for fault in faults {
        writeln!(io.out, "{} the log: {fault}", Tone::Bad.paint("damaged:", io))?;
    }
    for what in gone {
        writeln!(io.out, "{} {what}", Tone::Bad.paint("gone:", io))?;
    }
    Ok(())
}

/// Starts a ledger next to the damaged folder, then renames both.
fn set_aside(io: &Io, found: &SessionOnDisk, checked: &Checked) -> anyhow::Result<PathBuf> {
    let env = io.env;
    // Done first, so that an invalid configuration is found before anything is moved.
    let in_force = in_force::load(env, &env.cwd)?;
    in_force.keep(env)?;
    let head = sessions::exported(env, &found.session_id).filter(|head| head.blocked);
    let block = checked.session.blocked().map(str::to_owned);
    let block = block.or_else(|| head.map(|head| head.reason.unwrap_or_default()));
    let aside = free_name(&found.path);
    let fresh = found.path.with_extension("new");
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
        folders: checked.session.memory.watched.folders.clone(),
        format: FORMAT,
        policy: checked.session.memory.configured.policy.clone(),
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
    // From here on the exported head proves the new ledger, no longer the old one.
    ledger.export(env)?;
    Ok(aside)
}

fn free_name(path: &Path) -> PathBuf {
    let mut names = (1_u64..).map(|n| PathBuf::from(format!("{}.broken-{n}", path.display())));
    names.find(|name| name.symlink_metadata().is_err()).unwrap_or_default()
}
