//! Checks that our folders are private, that a file lock works in them, and that configuration and workflows
//! can be read: if they cannot, the guard blocks everything.
//!
//! Reads modes below the host's configuration folder, and the texts in force; creates and removes one file.

use super::registration::Scene;
use super::{Report, bad, report, shell_word};
use aops_core::config::policy::idle;
use aops_core::config::texts::Library;
use aops_core::config::{bundle, in_force};
use aops_core::gate::never;
use aops_core::ledger::sessions::{self, SessionOnDisk};
use aops_core::proof::check::{self, Trust};
use aops_core::proof::health::log_damage;
use aops_core::proof::{judge, tier};
use aops_core::system::{files, threads};
use aops_core::text::plain::count;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// More than these do not fit on a line; the rest is found the next time.
const MOST: usize = 20;

pub(super) fn private(scene: &Scene) -> Report {
    let mut folders = vec![scene.env.config.join("aops")];
    for project in scene.env.all_projects() {
        folders.extend(below(&project).into_iter().filter(|path| is_session(path)));
    }
    let open: Vec<_> = folders.iter().filter(|folder| is_open(folder)).take(MOST).collect();
    let mut wrong = Vec::new();
    if let Some(first) = open.first() {
        let more = if open.len() > 1 { format!(" and {} more", open.len() - 1) } else { String::new() };
        let words: Vec<_> = open.iter().map(|path| shell_word(path)).collect();
        let what = format!("others may read or write in `{}`{more}", first.display());
        wrong.push((what, format!("run `chmod -R go-rwx {}`", words.join(" "))));
    }
    let config = &scene.env.config;
    if config.exists() && rustix::fs::access(config, rustix::fs::Access::WRITE_OK).is_err() {
        let fix = format!("run `chmod u+rwx {}`", shell_word(config));
        wrong.push((format!("`{}` cannot be written", config.display()), fix));
    }
    report(wrong, "private, and can be written")
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// `{YYYYMMDD}-{hash}`
fn is_session(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let parts =
        name.split_once('-').filter(|(day, _)| day.len() == 8 && day.bytes().all(|b| b.is_ascii_digit()));
    let is_hash = |hash: &str| hash.get(..8).is_some_and(|hash| hash.bytes().all(|b| b.is_ascii_hexdigit()));
    parts.is_some_and(|(_, hash)| is_hash(hash)) && path.is_dir()
}

/// Whether the folder or anything in it is accessible to group or others.
fn is_open(path: &Path) -> bool {
    let Ok(known) = fs::symlink_metadata(path) else { return false };
    if known.is_symlink() {
        return false;
    }
    known.mode() & 0o077 != 0 || known.is_dir() && below(path).iter().any(|path| is_open(path))
}

pub(super) fn lock(scene: &Scene) -> Report {
    let config = &scene.env.config;
    if !config.exists() {
        return Ok("not tried: nothing is installed yet".to_owned());
    }
    let path = config.join(format!(".aops-lock-{}", std::process::id()));
    let open =
        || files::open_itself(&path, OpenOptions::new().write(true).create(true).truncate(false).mode(0o600));
    let excludes = excludes(open);
    let _ = fs::remove_file(&path);
    let fix =
        format!("set `CLAUDE_CONFIG_DIR` to a folder on a local disk instead of `{}`", config.display());
    match excludes {
        Ok(true) => Ok("a second writer has to wait".to_owned()),
        Ok(false) => bad(format!("two writers get the same lock in `{}`", config.display()), fix),
        Err(error) => bad(format!("cannot get a lock in `{}`: {error}", config.display()), fix),
    }
}

/// Opens the same file twice: the second lock must fail.
fn excludes(open: impl Fn() -> io::Result<File>) -> io::Result<bool> {
    let first = open()?;
    let second = open()?;
    flock(&first, FlockOperation::NonBlockingLockExclusive)?;
    match flock(&second, FlockOperation::NonBlockingLockExclusive).map_err(io::Error::from) {
        Ok(()) => Ok(false),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(true),
        Err(error) => Err(error),
    }
}

/// Every ledger is intact, and so is the log: in a damaged session every call is blocked.
pub(super) fn ledgers(scene: &Scene) -> Report {
    let all = sessions::all(scene.env);
    let log = check::examine(scene.env, &Trust::default());
    let look = |found: &SessionOnDisk| {
        let digests = tier::digests(&found.path).unwrap_or_default();
        let judged =
            judge::of_session(scene.env, log.as_ref(), digests, found, judge::check(scene.env, found, false));
        let failure = judged.checked.failure;
        let is_of_another = failure.as_ref().is_some_and(|failure| failure.code.is_of_another_version());
        let damage = failure.filter(|_| !is_of_another).map(|failure| failure.to_string());
        let damage = damage.map(|words| (found.session_id.clone(), words));
        Some((damage, judged.gone, is_of_another))
    };
    let looked = threads::map(&all, look);
    let mut damaged: Vec<_> = looked.iter().filter_map(|(damage, ..)| damage.clone()).collect();
    damaged.sort();
    let wrong = damaged.into_iter().take(MOST).map(|(id, words)| {
        let words = words.lines().next().unwrap_or_default().to_owned();
        (
            format!("the ledger of session `{id}` is damaged: {words}"),
            format!("run `aops-hook verify {id} --quarantine`"),
        )
    });
    let of_others = looked.iter().filter(|(.., is_of_another)| *is_of_another).count();
    let more = if of_others > 0 { format!(", {of_others} of another version") } else { String::new() };
    let whole = format!("{} intact{more}", count(all.len() - of_others, "ledger"));
    let whole = if all.is_empty() { String::new() } else { whole };
    let lost = judge::lost(scene.env, log.as_ref(), &all);
    let lost = lost.into_iter().take(MOST).map(|(id, entries, who)| {
        let fix = match &id {
            Some(id) if who != tier::THE_LOG => {
                format!("run `aops-hook verify {id} --quarantine`, or put it back from a copy")
            }
            _ => "put it back from a copy, or give it up with `aops-hook key rotate --new-log`".to_owned(),
        };
        let id = id.unwrap_or_else(|| "that nothing names".to_owned());
        (format!("session {id} is lost: {} in {who} and nowhere else", count(entries, "entry")), fix)
    });
    let remembered = looked.iter().flat_map(|(_, gone, _)| gone).next().cloned();
    let of_log = log_damage(scene.env).or(remembered).map(|damage| {
        // Some messages name their own way out.
        let then = if damage.contains("`aops-hook ") {
            "do what it says"
        } else {
            "`aops-hook key rotate --new-log`"
        };
        (
            format!("the log over all sessions is damaged: {damage}"),
            format!("run `aops-hook verify --all`, then {then}"),
        )
    });
    report(wrong.chain(lost).chain(of_log).collect(), whole)
}

/// Reports nothing if the machine has no administrator's bundle.
pub(super) fn bundle(scene: &Scene) -> Report {
    match bundle::installed(scene.env) {
        Ok(None) => Ok(String::new()),
        Ok(Some((bundle, signer))) => {
            let words = format!("{} {}, signed by `{signer}`", bundle.name, bundle.version);
            match bundle.outdated(&scene.env.administered, scene.env.now_ms) {
                Some(why) => bad(format!("{words}: {why}"), "ask your administrator for a newer bundle"),
                None => Ok(words),
            }
        }
        Err(problem) => {
            let fix = "as root, run `aops-hook install --managed BUNDLE` with the bundle that your \
                administrator signed";
            bad(problem.to_string(), fix)
        }
    }
}

pub(super) fn configuration(scene: &Scene) -> Report {
    let found = match in_force::look(scene.env, &scene.env.cwd) {
        Ok(found) => found,
        Err(problems) => {
            let fix = "correct that line, then run `aops-hook policy show`";
            return Err(problems.iter().map(|problem| (problem.to_string(), fix.to_owned())).collect());
        }
    };
    // A setting without effect is only mentioned; everything may still be fine.
    let mut idle = idle::find(&found.policy, &found.origins);
    idle.extend(never::find(&found.policy, &found.origins));
    let idle = idle.into_iter().map(|idle| idle.to_string());
    let well = workflows(scene).is_ok().then(|| "the configuration and the workflows can be read".to_owned());
    Ok(well.into_iter().chain(idle).collect::<Vec<_>>().join("; "))
}

/// Reports nothing if the workflows can be read, or if the configuration cannot.
pub(super) fn workflows(scene: &Scene) -> Report {
    let Ok(found) = in_force::look(scene.env, &scene.env.cwd) else { return Ok(String::new()) };
    let fix = "correct that line; `aops-hook workflow check` lists every problem";
    let problems = Library::of(scene.env, &found.texts).problems;
    report(problems.iter().map(|problem| (problem.to_string(), fix.to_owned())).collect(), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_does_not_lock_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        assert!(excludes(|| File::create(&path)).unwrap());
        // On a file system without working locks, both attempts succeed.
        assert!(!excludes(tempfile::tempfile).unwrap());
        assert!(excludes(|| File::open(folder.path().join("none"))).is_err());
    }

    #[test]
    fn sessions_are_known_by_their_names() {
        let folder = tempfile::tempdir().unwrap();
        for (name, is) in [
            ("20261115-0a1b2c3d", true),
            ("20261115-0a1b2c3d.broken-1", true),
            ("-tmp-x", false),
            ("2026-0a1b2c3d", false),
        ] {
            fs::create_dir(folder.path().join(name)).unwrap();
            assert_eq!(is_session(&folder.path().join(name)), is, "{name}");
        }
    }
}
