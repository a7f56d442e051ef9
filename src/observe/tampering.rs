//! Notices changes of the files that guard a session, made past the gates.
//!
//! Reads the size, time and inode of settings, configuration and program; the text only of a settings file that changed.
//! Invariant: unchanged files cost one system call each, and nothing here writes.

use crate::claude::disarm;
use crate::gate::guard::Protected;
use crate::model::event::Event;
use crate::observe::real_paths;
use crate::system::env::Env;
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::Path;

/// A settings file above this size is not read: it is no longer what it was.
const LARGEST: u64 = 8 * 1024 * 1024;

/// Settings files that register our hooks, with the events they do it for.
type Held = BTreeMap<String, Vec<String>>;

/// One file as it was last seen. All zero: it was not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Mark {
    path: String,
    len: u64,
    mtime_ns: i64,
    ino: u64,
    /// Permission bits: a program without its execute bit no longer guards.
    mode: u32,
}

/// What a change means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trip {
    /// Our hooks are off, or will be: path and why.
    Disarmed(String, String),
    /// Something else changed.
    Changed(Vec<String>),
}

/// What the guard protects for this event: the folders of this environment, and the project the session began in.
pub fn protected(env: &Env, event: &Event) -> Protected {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let project = if env.project.as_os_str().is_empty() { event.cwd.clone() } else { text(&env.project) };
    let program = std::env::current_exe().map(|path| text(&path)).unwrap_or_default();
    let pids = Some(env.client.clone()).filter(|pid| !pid.is_empty());
    Protected { pids: pids.into_iter().collect(), ..real_paths::protected(env, &project, vec![program]) }
}

/// What `stat` says now of settings, configuration and program, by path.
pub fn marks(protected: &Protected) -> BTreeMap<String, String> {
    let stamp = |m: &Mark| format!("{}:{}:{}:{:o}", m.len, m.mtime_ns, m.ino, m.mode);
    look(protected).iter().map(|mark| (mark.path.clone(), stamp(mark))).collect()
}

/// The settings files that register our hooks now, with their events.
pub fn held(protected: &Protected) -> Held {
    let files =
        marks(protected).into_keys().filter(|path| Path::new(path).extension().is_some_and(|kind| kind == "json"));
    let held = files.map(|path| (path.clone(), disarm::registered(&settings(&path))));
    held.filter(|(_, events)| !events.is_empty()).collect()
}

/// The files that matter, as they are now.
fn look(protected: &Protected) -> Vec<Mark> {
    let project = &protected.project;
    let mut paths = vec![
        format!("{}/settings.json", protected.config),
        format!("{}/settings.local.json", protected.config),
        format!("{project}/.claude/settings.json"),
        format!("{project}/.claude/settings.local.json"),
        format!("{}/config.toml", protected.user_config),
        format!("{project}/.aops/config.toml"),
    ];
    paths.extend(protected.binaries.iter().cloned());
    paths.dedup();
    paths.into_iter().map(mark).collect()
}

fn mark(path: String) -> Mark {
    match fs::metadata(&path) {
        Ok(meta) => Mark { len: meta.len(), ..stamp(path, &meta) },
        Err(_) => Mark { path, ..Mark::default() },
    }
}

#[cfg(unix)]
fn stamp(path: String, meta: &Metadata) -> Mark {
    use std::os::unix::fs::MetadataExt;
    let mtime_ns = meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec());
    Mark { path, mtime_ns, ino: meta.ino(), mode: meta.mode() & 0o7777, ..Mark::default() }
}

#[cfg(not(unix))]
fn stamp(path: String, meta: &Metadata) -> Mark {
    let since = meta.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let mtime_ns = since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or(1);
    Mark { path, mtime_ns, ino: 1, ..Mark::default() }
}

/// What these changes mean. `held`: settings files that register us, with their events.
pub fn judge(changed: &[String], held: &Held, binaries: &[String]) -> Option<Trip> {
    for path in changed {
        if let Some(why) = disarmed(path, held, binaries) {
            return Some(Trip::Disarmed(path.clone(), why));
        }
    }
    (!changed.is_empty()).then(|| Trip::Changed(changed.to_vec()))
}

fn disarmed(path: &str, held: &Held, binaries: &[String]) -> Option<String> {
    if binaries.iter().any(|binary| binary == path) {
        return program_gone(Path::new(path));
    }
    if Path::new(path).extension().is_none_or(|kind| kind != "json") {
        return None;
    }
    disarm::disarms(&settings(path), held.get(path).map_or(&[][..], Vec::as_slice))
}

/// The text of a settings file; empty if it is gone, unreadable or absurd.
pub fn settings(path: &str) -> String {
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() && meta.len() <= LARGEST => fs::read_to_string(path).unwrap_or_default(),
        _ => String::new(),
    }
}

#[cfg(unix)]
fn program_gone(path: &Path) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;
    match fs::metadata(path) {
        Err(_) => Some("our program is gone".to_owned()),
        Ok(meta) if meta.permissions().mode() & 0o111 == 0 => Some("our program can no longer be run".to_owned()),
        Ok(_) => None,
    }
}

#[cfg(not(unix))]
fn program_gone(path: &Path) -> Option<String> {
    (!path.exists()).then(|| "our program is gone".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world() -> (tempfile::TempDir, Protected) {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
        let protected = Protected {
            home: at(""),
            config: at("config"),
            user_config: at("user"),
            project: at("project"),
            binaries: vec![at("aops-hook")],
            ..Protected::default()
        };
        for folder in ["config", "user", "project/.claude"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        fs::write(dir.path().join("aops-hook"), "x").unwrap();
        (dir, protected)
    }

    /// Paths whose marks differ.
    fn compare(old: &[Mark], new: &[Mark]) -> Vec<String> {
        let before = |path: &str| old.iter().find(|mark| mark.path == path);
        let changed = new.iter().filter(|mark| before(&mark.path).is_some_and(|old| old != *mark));
        changed.map(|mark| mark.path.clone()).collect()
    }

    #[test]
    fn an_unchanged_world_says_nothing() {
        let (_dir, protected) = world();
        let marks = look(&protected);
        assert_eq!(compare(&marks, &look(&protected)), Vec::<String>::new());
        assert_eq!(judge(&[], &Held::new(), &[]), None);
    }

    #[test]
    fn each_change_is_told_and_a_disarming_one_apart() {
        let (dir, protected) = world();
        let path = dir.path().join("config/settings.json");
        let held = Held::from([(path.to_string_lossy().into_owned(), vec!["PreToolUse".to_owned()])]);
        let armed = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"/b/aops-hook","args":["PreToolUse"]}]}]}}"#;
        let trip = |text: Option<&str>| {
            let before = look(&protected);
            match text {
                Some(text) => fs::write(&path, text).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            judge(&compare(&before, &look(&protected)), &held, &protected.binaries)
        };
        assert!(matches!(trip(Some(armed)), Some(Trip::Changed(_))));
        assert!(matches!(trip(Some(&armed.replace("aops-hook", "other"))), Some(Trip::Disarmed(..))));
        assert!(matches!(trip(Some(&armed.replacen('{', "{\"model\":\"x\",", 1))), Some(Trip::Changed(_))));
        assert!(matches!(trip(None), Some(Trip::Disarmed(..))));
    }

    #[test]
    fn another_file_may_go_but_not_switch_hooks_off() {
        let (dir, protected) = world();
        let path = dir.path().join("project/.claude/settings.local.json");
        let before = look(&protected);
        fs::write(&path, r#"{"disableAllHooks":true}"#).unwrap();
        let after = look(&protected);
        assert!(matches!(judge(&compare(&before, &after), &Held::new(), &[]), Some(Trip::Disarmed(..))));
        fs::remove_file(&path).unwrap();
        assert!(matches!(judge(&compare(&after, &look(&protected)), &Held::new(), &[]), Some(Trip::Changed(_))));
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_cannot_run_no_longer_guards() {
        let (dir, protected) = world();
        let before = look(&protected);
        fs::write(dir.path().join("aops-hook"), "xy").unwrap();
        let changed = compare(&before, &look(&protected));
        assert!(matches!(judge(&changed, &Held::new(), &protected.binaries), Some(Trip::Disarmed(..))));
    }
}
