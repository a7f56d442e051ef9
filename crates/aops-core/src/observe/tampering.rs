//! Notices changes of the files that guard a session which bypassed the gates.
//!
//! Reads size, times, inode and mode of settings, configuration and program, and the text only if one of
//! these changed. Invariant: unchanged files cost one system call each, and nothing here writes.

use crate::config::texts::{self, Reading};
use crate::gate::EndContext;
use crate::gate::guard::{Beside, Protected};
use crate::host;
use crate::host::claude::disarm;
use crate::host::claude::settings::survey;
use crate::ledger::open::{Ledger, Recent};
use crate::model::call::CallState;
use crate::model::event::Event;
use crate::observe::{own_changes, real_paths};
use crate::session::fact::Fact;
use crate::session::fold::Session;
use crate::session::memory::OpenCall;
use crate::system::env::Env;
use crate::system::files;
use crate::system::git;
use crate::text::sha256::sha256;
use crate::text::time;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A settings file above this size is not read: no sensible one is that large.
const LARGEST: u64 = 8 * 1024 * 1024;
/// File times are only as precise as one clock tick.
const TICK_MS: i64 = 20;

/// Settings files that register our hooks, with the registered events.
pub type Held = BTreeMap<String, Vec<String>>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trip {
    /// Our hooks are switched off, or will be: path and reason.
    Disarmed(String, String),
    Changed(Vec<String>),
}

/// The folder in which the session's client was started.
pub fn project(env: &Env, event: &Event) -> PathBuf {
    let project = &env.client.project;
    if project.as_os_str().is_empty() { PathBuf::from(&event.cwd) } else { project.clone() }
}

/// What the guard protects during this event: the folders of this environment, the project in which the
/// session began, and the folder above whose `.aops` is in force.
pub fn protected(env: &Env, session: &Session, event: &Event) -> Protected {
    let known = &session.memory.place.root;
    let root = if known.is_empty() { texts::project(env, Path::new(&event.cwd)) } else { known.into() };
    protected_below(env, event, &root)
}

fn protected_below(env: &Env, event: &Event, root: &Path) -> Protected {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let project = project(env, event);
    let program = std::env::current_exe().map(|path| text(&path)).unwrap_or_default();
    let pids = Some(env.client.pid.clone()).filter(|pid| !pid.is_empty());
    let own = Some(env.host).filter(|client| client.is_registered_by_name());
    let worktree = git::worktree_at(&project, Path::new(&event.cwd));
    Protected {
        home: text(&env.home),
        config: text(&env.config),
        host: env.host,
        clients: own.map(|client| (client, text(env.folder_of(client)))).into_iter().collect(),
        sessions: text(&env.data.join("sessions")),
        user_config: text(&env.user_config),
        managed: text(&env.managed()),
        beside: Beside {
            root: Some(root).filter(|root| *root != project).map(text).unwrap_or_default(),
            worktree: worktree.map(|path| text(&path)).unwrap_or_default(),
        },
        project: text(&project),
        binaries: with_link(env, program),
        pids: pids.into_iter().collect(),
        ..Protected::default()
    }
}

/// The same when a session starts, also with the other clients in which we are registered. It reads a file of
/// each.
pub fn protected_with_others(env: &Reading, event: &Event) -> Protected {
    let mut protected = protected_below(env, event, env.root());
    let registered = env.host.others_by_name().filter(|client| host::is_registered(env, *client));
    protected
        .clients
        .extend(registered.map(|client| (client, env.folder_of(client).to_string_lossy().into_owned())));
    protected
}

/// Our program, the link under which hooks may register it, and the plugin's script that starts it.
fn with_link(env: &Env, program: String) -> Vec<String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let script = env.client.plugin_root.as_ref().map(|root| text(&root.join("bin/aops-hook")));
    let others = [Some(text(&env.home.join(".local/bin/aops-hook"))), script];
    let mut all = vec![program];
    for path in others.into_iter().flatten() {
        if !all.contains(&path) {
            all.push(path);
        }
    }
    all
}

/// The present state of settings, configuration and program, by path: `length:mtime:inode:mode:ctime:digest`,
/// all zero if there is no file. The mode counts because a program without its execute bit no longer guards.
/// An edit in place can set the `mtime` back, but not the `ctime`. If a mark in `old` still matches the
/// `stat`, the file is not read again.
pub fn marks(protected: &Protected, old: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let files = watched(protected).map(|path| (mark(&path, true, old), path));
    let programs = protected.binaries.iter().map(|path| (mark(path, false, old), path.clone()));
    files.chain(programs).map(|(mark, path)| (path, mark)).collect()
}

/// Settings and configuration, without the programs.
fn watched(protected: &Protected) -> impl Iterator<Item = String> {
    let Protected { config, project, user_config, beside: Beside { root, .. }, .. } = protected;
    let files = [
        format!("{config}/settings.json"),
        format!("{config}/settings.local.json"),
        format!("{project}/.claude/settings.json"),
        format!("{project}/.claude/settings.local.json"),
        format!("{user_config}/config.toml"),
        format!("{project}/.aops/config.toml"),
    ];
    let above = Some(root).filter(|root| !root.is_empty()).map(|root| format!("{root}/.aops/config.toml"));
    files.into_iter().chain(above).chain(managed(protected)).chain(of_host(protected))
}

/// The administrator's settings of Claude Code: a file, a folder, and the files in it.
fn managed(protected: &Protected) -> Vec<String> {
    let folder = Some(protected.managed.as_str()).filter(|folder| !folder.is_empty());
    let parts = folder.map(|folder| format!("{folder}/{MANAGED_PARTS}"));
    let files = parts.iter().flat_map(|parts| json_files(parts));
    let whole = folder.map(|folder| format!("{folder}/managed-settings.json"));
    files.chain(whole).chain(parts.clone()).collect()
}

const MANAGED_PARTS: &str = "managed-settings.d";

fn json_files(folder: &str) -> Vec<String> {
    let items = fs::read_dir(folder).into_iter().flatten().flatten().map(|item| item.path());
    items.filter_map(|path| path.into_os_string().into_string().ok()).filter(|path| is_json(path)).collect()
}

/// The files of the client that runs us, unless it is Claude Code.
fn of_host(protected: &Protected) -> impl Iterator<Item = String> {
    let own = protected.clients.iter().find(|(client, _)| *client == protected.host);
    own.into_iter().flat_map(|(client, base)| {
        let row = host::table::host(*client);
        let own =
            row.guards.iter().filter(|name| !name.ends_with('/')).map(move |name| format!("{base}/{name}"));
        own.chain(row.in_project.iter().map(|name| format!("{}/{name}", protected.project)))
    })
}

/// `digested`: include the digest of the text; our program is too long for that.
pub(super) fn mark(path: &str, digested: bool, old: &BTreeMap<String, String>) -> String {
    let Ok(meta) = fs::metadata(path) else { return "0:0:0:0".to_owned() };
    let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    let mtime = nanoseconds(meta.mtime(), meta.mtime_nsec());
    let ctime = nanoseconds(meta.ctime(), meta.ctime_nsec());
    let stat = format!("{}:{mtime}:{}:{:o}:{ctime}:", meta.len(), meta.ino(), meta.mode() & 0o7777);
    if let Some(old) = old.get(path).filter(|old| old.starts_with(&stat)) {
        return old.clone();
    }
    let text =
        if digested && meta.len() <= LARGEST { files::read(path).unwrap_or_default() } else { Vec::new() };
    format!("{stat}{}", &sha256(&[&text])[..16])
}

/// The paths whose files differ between these two looks. A file whose `ctime` alone differs counts as
/// unchanged if its text is known to be the same. Marks of an older version have neither `ctime` nor digest.
pub fn compare(
    old: &BTreeMap<String, String>,
    new: &BTreeMap<String, String>,
    binaries: &[String],
) -> Vec<String> {
    let parts = |mark: &str| mark.split(':').map(str::to_owned).collect::<Vec<_>>();
    let differs = |path: &str, was: &str, is: &str| {
        let was = parts(was);
        let is = parts(is);
        let shared = was.len().min(is.len()).min(4);
        let stat = was[..shared] != is[..shared];
        let text = was.get(5).is_some_and(|digest| is.get(5) != Some(digest));
        let ctime = was.get(4).is_some_and(|time| is.get(4) != Some(time))
            && binaries.iter().any(|binary| binary == path);
        stat || text || ctime
    };
    let changed = new.iter().filter(|(path, is)| old.get(*path).is_some_and(|was| differs(path, was, is)));
    changed.map(|(path, _)| path.clone()).collect()
}

/// The settings files that register our hooks now, with their events.
pub fn held(protected: &Protected) -> Held {
    let held = watched(protected)
        .filter(|path| is_json(path))
        .map(|path| (path.clone(), disarm::recorded(&settings(&path))));
    held.filter(|(_, events)| !events.is_empty()).collect()
}

/// What changed since the last look, except for the file that this very call edits and reports itself, and
/// except for changes that a person made with our verbs.
pub fn look(env: &Env, ledger: &Ledger, event: &Event, edited: Option<&str>, ended: &mut EndContext) {
    let session = ledger.session();
    let protected = protected(env, session, event);
    let marks = marks(&protected, &session.memory.watched.marks);
    let mut changed = compare(&session.memory.watched.marks, &marks, &protected.binaries);
    if !changed.is_empty() {
        let since_ms = running_since(ledger);
        let own = own_changes::read(env);
        let disarms =
            |path: &String| find_disarmed(path, &session.memory.watched.held, &protected.binaries).is_some();
        // A call could also have made a verb do this. So switching our hooks off does not count as the
        // person's wish.
        let by_person = |path: &String| {
            let real = || own.get(&*real_paths::real(Path::new(path))?.to_string_lossy());
            let own = own.get(path).or_else(real).filter(|own| own.made(&marks[path]));
            // If a call writes the same text again later, the verb is not the last to have changed the file.
            let changed_before = || changed_ms(&marks[path]).is_none_or(|at| at < since_ms);
            own.is_some_and(|own| if own.at_ms < since_ms { changed_before() } else { !disarms(path) })
        };
        changed.retain(|path| !by_person(path));
        ended.apart =
            changed.iter().all(|path| changed_ms(&marks[path]).is_some_and(|at| at + TICK_MS < since_ms));
    }
    match judge(&changed, &session.memory.watched.held, &protected.binaries) {
        Some(Trip::Disarmed(path, why)) => {
            let when = if ended.apart {
                "since the last tool call, while none ran"
            } else {
                "while a tool call ran"
            };
            ended.disarmed = Some(format!("`{path}` changed {when}: {why}"));
        }
        Some(Trip::Changed(mut paths)) => {
            let real = |path: &String| real_paths::real(Path::new(path)).unwrap_or_else(|| path.into());
            paths.retain(|path| edited.is_none_or(|edited| real(path) != Path::new(edited)));
            ended.changed = paths;
        }
        None => {}
    }
    ended.recorded.marks = Some(marks);
}

/// When the oldest open call was asked about; long ago if the end of the ledger does not show it.
fn running_since(ledger: &Ledger) -> i64 {
    let recent = ledger.recent();
    let asked = |entry: &Recent| match &entry.fact {
        Fact::Call(step) if step.to == CallState::Pending => {
            Some((step.call.clone(), time::parse(&entry.ts)?))
        }
        _ => None,
    };
    let asked: Vec<_> = recent.iter().filter_map(asked).collect();
    let began = |open: &OpenCall| {
        asked.iter().rev().find(|(call, _)| *call == open.call).map_or(i64::MIN, |(_, began)| *began)
    };
    ledger.session().memory.calls.iter().map(began).min().unwrap_or(i64::MAX)
}

/// When the file with this mark last changed; `None` if it is gone.
fn changed_ms(mark: &str) -> Option<i64> {
    mark.split(':').nth(4)?.parse::<i64>().ok().map(|nanoseconds| nanoseconds / 1_000_000)
}

/// What these changes mean. `held`: the settings files that register us, with their events.
pub fn judge(changed: &[String], held: &Held, binaries: &[String]) -> Option<Trip> {
    let disarmed = |path: &String| Some(Trip::Disarmed(path.clone(), find_disarmed(path, held, binaries)?));
    if let Some(disarmed) = changed.iter().find_map(disarmed) {
        return Some(disarmed);
    }
    (!changed.is_empty()).then(|| Trip::Changed(changed.to_vec()))
}

fn find_disarmed(path: &str, held: &Held, binaries: &[String]) -> Option<String> {
    if binaries.iter().any(|binary| binary == path) {
        return program_gone(Path::new(path));
    }
    if path.ends_with(MANAGED_PARTS) {
        return json_files(path).iter().find_map(|file| find_disarmed(file, held, binaries));
    }
    if !is_json(path) {
        return None;
    }
    if is_too_large(path) {
        return Some(TOO_LARGE.to_owned());
    }
    let text = settings(path);
    let disarmed = disarm::disarms(&text, held.get(path).map_or(&[][..], Vec::as_slice));
    disarmed.or_else(|| is_managed(path).then(|| shuts_out(&text, held)).flatten())
}

pub(super) fn is_managed(path: &str) -> bool {
    let folder = Path::new(path).parent();
    path.ends_with("/managed-settings.json") || folder.is_some_and(|folder| folder.ends_with(MANAGED_PARTS))
}

/// The administrator's settings allow only their own hooks, and ours are not among them.
fn shuts_out(text: &str, held: &Held) -> Option<String> {
    let alone = survey(text).is_ok_and(|found| found.managed_only);
    let ours = |(path, recorded): (&String, &Vec<String>)| is_managed(path) && disarm::runs_us(recorded);
    let shuts = alone && !held.iter().any(ours);
    shuts.then(|| "it sets `allowManagedHooksOnly`".to_owned())
}

fn is_json(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|kind| kind == "json")
}

/// Why a settings file that is not read counts as one that switches our hooks off.
pub const TOO_LARGE: &str = "it is too large to be read, and may switch our hooks off";

/// The file is larger than what we read.
pub fn is_too_large(path: &str) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() > LARGEST)
}

/// The text of a settings file; empty if it is gone, unreadable or too large.
pub fn settings(path: &str) -> String {
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() && meta.len() <= LARGEST => files::read_text(path).unwrap_or_default(),
        _ => String::new(),
    }
}

fn program_gone(path: &Path) -> Option<String> {
    match fs::metadata(path) {
        Err(_) => Some("our program is missing".to_owned()),
        Ok(meta) if meta.mode() & 0o111 == 0 => Some("our program can no longer be run".to_owned()),
        Ok(_) => None,
    }
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
            managed: at("managed"),
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

    fn marks(protected: &Protected) -> BTreeMap<String, String> {
        super::marks(protected, &BTreeMap::new())
    }

    fn compare(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> Vec<String> {
        super::compare(old, new, &[])
    }

    /// The client was started in a subfolder, so its project's `.aops` lies above.
    #[test]
    fn the_configuration_that_is_in_force_above_is_protected() {
        let (dir, _) = world();
        let root = dir.path().join("home/repository");
        let sub = root.join("sub");
        for folder in [".git", ".aops", "sub"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let env = Env { home: dir.path().join("home"), ..Env::default() };
        let of = |folder: &Path| {
            let mut session = Session::default();
            session.memory.place.root = root.to_string_lossy().into_owned();
            protected(&env.for_project(folder), &session, &Event::default())
        };
        let above = root.join(".aops/config.toml").to_string_lossy().into_owned();
        assert_eq!(of(&root).beside.root, "", "it is the project's own");
        assert!(watched(&of(&sub)).any(|path| path == above));
        assert!(of(&sub).places().iter().any(|place| place.path == above));
        let ground = crate::jail::plan::Ground::of(&env, &sub, &|_| None);
        assert!(ground.guards.protected.places().iter().any(|place| place.path == above));
    }

    /// E07: an edit of the same length, with the modification time set back.
    #[test]
    fn an_edit_of_the_same_length_with_the_old_time_is_seen() {
        let (dir, protected) = world();
        let path = dir.path().join("config/settings.json");
        fs::write(&path, "{\"a\":1}").unwrap();
        let before = marks(&protected);
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        fs::write(&path, "{\"a\":2}").unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        let after = super::marks(&protected, &before);
        assert_eq!(super::compare(&before, &after, &[]), [path.to_string_lossy()]);
        assert_eq!(super::marks(&protected, &after), after, "and then it is what it is");
    }

    #[test]
    fn a_file_with_another_ctime_and_the_same_text_is_unchanged() {
        let (dir, protected) = world();
        let path = dir.path().join("config/settings.json");
        fs::write(&path, "{}").unwrap();
        let before = marks(&protected);
        fs::hard_link(&path, dir.path().join("second")).unwrap();
        fs::hard_link(dir.path().join("aops-hook"), dir.path().join("third")).unwrap();
        let after = super::marks(&protected, &before);
        assert_eq!(compare(&before, &after), Vec::<String>::new());
        assert_eq!(
            super::compare(&before, &after, &protected.binaries),
            protected.binaries,
            "our program is not read"
        );
    }

    /// Marks of an older version contain only four numbers.
    #[test]
    fn a_mark_without_digest_is_compared_by_what_it_says() {
        let (dir, protected) = world();
        fs::write(dir.path().join("config/settings.json"), "{}").unwrap();
        let new = marks(&protected);
        let four = |mark: &String| mark.split(':').take(4).collect::<Vec<_>>().join(":");
        let old: BTreeMap<String, String> =
            new.iter().map(|(path, mark)| (path.clone(), four(mark))).collect();
        assert_eq!(super::compare(&old, &new, &protected.binaries), Vec::<String>::new());
        fs::write(dir.path().join("config/settings.json"), "{} ").unwrap();
        assert_eq!(super::compare(&old, &marks(&protected), &protected.binaries).len(), 1);
    }

    #[test]
    fn an_unchanged_world_says_nothing() {
        let (_dir, protected) = world();
        let before = marks(&protected);
        assert_eq!(compare(&before, &marks(&protected)), Vec::<String>::new());
        assert_eq!(judge(&[], &Held::new(), &[]), None);
    }

    #[test]
    fn each_change_is_told_and_a_disarming_one_apart() {
        let (dir, protected) = world();
        let path = dir.path().join("config/settings.json");
        let held = Held::from([(path.to_string_lossy().into_owned(), vec!["PreToolUse".to_owned()])]);
        let armed = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"/b/aops-hook","args":["PreToolUse"]}]}]}}"#;
        let trip = |text: Option<&str>| {
            let before = marks(&protected);
            match text {
                Some(text) => fs::write(&path, text).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            judge(&compare(&before, &marks(&protected)), &held, &protected.binaries)
        };
        assert!(matches!(trip(Some(armed)), Some(Trip::Changed(_))));
        assert!(matches!(trip(Some(&armed.replace("aops-hook", "other"))), Some(Trip::Disarmed(..))));
        assert!(matches!(trip(Some(&armed.replacen('{', "{\"model\":\"x\",", 1))), Some(Trip::Changed(_))));
        assert!(matches!(trip(None), Some(Trip::Disarmed(..))));
    }

    #[test]
    fn what_leads_past_the_jail_counts_unless_it_was_there() {
        let (dir, protected) = world();
        let path = dir.path().join("project/.claude/settings.local.json");
        let judged = |held: &Held, text: &str| {
            let before = marks(&protected);
            fs::write(&path, text).unwrap();
            judge(&compare(&before, &marks(&protected)), held, &[])
        };
        let none = Held::new();
        let ours = dir.path().join("ours/aops-hook");
        fs::create_dir(dir.path().join("ours")).unwrap();
        std::os::unix::fs::symlink(std::env::current_exe().unwrap(), &ours).unwrap();
        for (text, past) in [
            (r#"{"env":{"CLAUDE_CODE_SHELL_PREFIX":""}}"#, true),
            (r#"{"env":{"BASH_ENV":"/tmp/x"}}"#, true),
            (r#"{"env":{"LD_LIBRARY_PATH":"/tmp/x"}}"#, true),
            (r#"{"env":{"SHELLOPTS":"xtrace","PS4":"$(x)"}}"#, true),
            (r#"{"env":{"CLAUDE_CODE_SHELL_PREFIX":"/p/tools/./aops-hook"}}"#, true),
            (&format!(r#"{{"env":{{"CLAUDE_CODE_SHELL_PREFIX":"{}"}}}}"#, ours.display()), false),
            (r#"{"env":{"PATH":"/tmp/x","NODE_ENV":"x","BASH_MAX_TIMEOUT_MS":"1"}}"#, false),
            (r#"{"env":{"FOO":"1"}}"#, false),
        ] {
            assert_eq!(matches!(judged(&none, text), Some(Trip::Disarmed(..))), past, "{text}");
        }
        fs::write(&path, r#"{"env":{"BASH_ENV":"/tmp/x"}}"#).unwrap();
        let held = super::held(&protected);
        let more = r#"{"env":{"BASH_ENV":"/tmp/x"},"model":"y"}"#;
        assert!(matches!(judged(&held, more), Some(Trip::Changed(_))), "it was there");
        assert!(matches!(judged(&held, &more.replace("/x", "/z")), Some(Trip::Disarmed(..))));
        assert!(matches!(judged(&held, "{}"), Some(Trip::Changed(_))), "and may go");
    }

    #[test]
    fn another_file_may_go_but_not_switch_hooks_off() {
        let (dir, protected) = world();
        let path = dir.path().join("project/.claude/settings.local.json");
        let before = marks(&protected);
        fs::write(&path, r#"{"disableAllHooks":true}"#).unwrap();
        let after = marks(&protected);
        assert!(matches!(judge(&compare(&before, &after), &Held::new(), &[]), Some(Trip::Disarmed(..))));
        fs::remove_file(&path).unwrap();
        assert!(matches!(
            judge(&compare(&after, &marks(&protected)), &Held::new(), &[]),
            Some(Trip::Changed(_))
        ));
    }

    #[test]
    fn the_administrators_settings_switch_hooks_off_too() {
        let (dir, protected) = world();
        let whole = dir.path().join("managed/managed-settings.json");
        let parts = dir.path().join("managed/managed-settings.d");
        let ours = Held::from([(whole.to_string_lossy().into_owned(), Vec::new())]);
        for text in [r#"{"disableAllHooks":true}"#, r#"{"allowManagedHooksOnly":true}"#] {
            for path in [&whole, &parts.join("a.json")] {
                let judged = |held: &Held, change: &dyn Fn()| {
                    let before = marks(&protected);
                    change();
                    judge(&compare(&before, &marks(&protected)), held, &[])
                };
                let make = || {
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(path, text).unwrap();
                };
                assert!(matches!(judged(&Held::new(), &make), Some(Trip::Disarmed(..))), "made: {text}");
                let edit = || fs::write(path, "{}").unwrap();
                assert!(matches!(judged(&Held::new(), &edit), Some(Trip::Changed(_))), "harmless");
                let edit = || fs::write(path, text).unwrap();
                assert!(matches!(judged(&Held::new(), &edit), Some(Trip::Disarmed(..))), "edited: {text}");
                fs::write(path, "{}").unwrap();
                let alone = matches!(judged(&ours, &edit), Some(Trip::Changed(_)));
                assert_eq!(alone, text.contains("Only"), "ours are among the administrator's: {text}");
                fs::remove_dir_all(dir.path().join("managed")).unwrap();
            }
        }
    }

    #[test]
    fn a_program_that_cannot_run_no_longer_guards() {
        let (dir, protected) = world();
        let before = marks(&protected);
        fs::write(dir.path().join("aops-hook"), "xy").unwrap();
        let changed = compare(&before, &marks(&protected));
        assert!(matches!(judge(&changed, &Held::new(), &protected.binaries), Some(Trip::Disarmed(..))));
    }
}
