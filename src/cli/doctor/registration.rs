//! Collects every file that can register or disable the hooks; checks that every event calls us exactly once,
//! and that nothing switches hooks off.
//!
//! Reads the administrator's, the user's, the project's and the local settings, and the plugin if it is
//! switched on.
//! Invariant: a file that cannot be read is kept with its error, never left out.

use super::{Report, bad, report, shell_word};
use crate::cli::install::Level;
use crate::cli::install::placing::found_by_script;
use crate::cli::install::steps::read_settings;
use aops_core::host;
use aops_core::host::claude::settings::{Registered, Survey, survey};
use aops_core::model::client::Client;
use aops_core::model::event::EVENTS;
use aops_core::system::env::Env;
use aops_core::system::files;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const PLUGIN: &str = "aops";

pub(super) struct Scene<'a> {
    pub env: &'a Env,
    pub places: Vec<HookFile>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HookFileKind {
    Managed,
    Settings(Level),
    Plugin,
}

/// One file, with its content or the reason why it has none.
pub(super) struct HookFile {
    pub kind: HookFileKind,
    pub path: PathBuf,
    pub survey: Survey,
    pub error: Option<String>,
    /// The plugin's name as it was switched on.
    pub plugin: String,
}

impl<'a> Scene<'a> {
    pub(super) fn read(env: &'a Env) -> Self {
        let mut places: Vec<_> =
            managed_files(env).iter().map(|path| HookFile::read(HookFileKind::Managed, path)).collect();
        for level in Level::ALL {
            let place = HookFile::read(HookFileKind::Settings(level), &level.path(env));
            // In the home folder, the project's settings are the same file as the user's.
            if places.iter().all(|other| other.path != place.path) {
                places.push(place);
            }
        }
        let plugins = plugins(env, &places);
        places.extend(plugins);
        Self { env, places }
    }

    /// Every registration of this program, with its file.
    pub(super) fn ours(&self) -> impl Iterator<Item = (&HookFile, &Registered)> {
        self.places.iter().flat_map(|place| place.survey.ours.iter().map(move |one| (place, one)))
    }
}

impl HookFile {
    fn read(kind: HookFileKind, path: &Path) -> Self {
        let read = read_settings(path).map_err(|error| error.to_string());
        let (path, survey) = match read {
            Ok((found, text)) => (found.path, survey(&text).map_err(|error| error.to_string())),
            Err(error) => (path.to_owned(), Err(error)),
        };
        let (survey, error) =
            survey.map_or_else(|error| (Survey::default(), Some(error)), |found| (found, None));
        Self { kind, path, survey, error, plugin: String::new() }
    }
}

fn managed_files(env: &Env) -> Vec<PathBuf> {
    let folder = env.managed();
    let more = fs::read_dir(folder.join("managed-settings.d")).into_iter().flatten().flatten();
    let mut more: Vec<_> =
        more.map(|file| file.path()).filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    more.sort();
    more.insert(0, folder.join("managed-settings.json"));
    more.retain(|path| path.exists());
    more
}

/// Our plugin's hooks, if it is installed and the most specific setting switches it on.
fn plugins(env: &Env, places: &[HookFile]) -> Vec<HookFile> {
    let list = files::read(env.config.join("plugins/installed_plugins.json")).unwrap_or_default();
    let list: Value = serde_json::from_slice(&list).unwrap_or_default();
    let installed = list.get("plugins").and_then(Value::as_object);
    let ours = installed.into_iter().flatten().filter(|(id, _)| id.split('@').next() == Some(PLUGIN));
    let on = |id: &str| {
        let mut said = places.iter().flat_map(|place| &place.survey.plugins).filter(|(name, _)| name == id);
        said.next_back().is_some_and(|(_, on)| *on)
    };
    let folder = |install: &Value| Some(PathBuf::from(install.get("installPath")?.as_str()?));
    ours.filter(|(id, _)| on(id))
        .flat_map(|(id, installs)| {
            let folders = installs.as_array().into_iter().flatten().filter_map(folder);
            folders.map(|folder| plugin(env, id, &folder)).collect::<Vec<_>>()
        })
        .collect()
}

fn plugin(env: &Env, id: &str, folder: &Path) -> HookFile {
    let mut place = HookFile::read(HookFileKind::Plugin, &folder.join("hooks/hooks.json"));
    id.clone_into(&mut place.plugin);
    let program = run_by_plugin(env, folder);
    for one in &mut place.survey.ours {
        one.command = one.command.replace("${CLAUDE_PLUGIN_ROOT}/bin/aops-hook", &program.to_string_lossy());
    }
    place
}

/// The program in the plugin, or the one that the plugin's script finds on this machine.
fn run_by_plugin(env: &Env, folder: &Path) -> PathBuf {
    let script = folder.join("bin/aops-hook");
    let built = folder.join("bin/here/aops-hook");
    let is_script = files::read(&script).is_ok_and(|bytes| bytes.starts_with(b"#!"));
    let found = if built.is_file() { Some(built) } else { found_by_script(env) };
    found.filter(|_| is_script).unwrap_or(script)
}

/// Every settings file can be read: the client ignores one that cannot, with all hooks in it.
pub(super) fn settings(scene: &Scene) -> Report {
    let broken = scene.places.iter().filter_map(|place| Some((place.path.display(), place.error.as_ref()?)));
    let wrong = broken.map(|(path, error)| {
        let what = format!("`{path}` cannot be read: {}", error.lines().next().unwrap_or_default());
        (what, format!("make `{path}` plain JSON, without comments and trailing commas"))
    });
    report(wrong.collect(), "every settings file can be read")
}

/// No foreign entry is one that the client rejects: the client would then silently drop every hook in that
/// file.
pub(super) fn entries(scene: &Scene) -> Report {
    let beside = scene.places.iter().filter(|place| !place.survey.ours.is_empty());
    let wrong = beside.flat_map(|place| {
        let path = place.path.display();
        place.survey.odd.iter().map(move |(at, wanted)| {
            let what = format!(
                "`{at}` in `{path}` must be {wanted}: as it is, the client drops every hook of that file"
            );
            (what, format!("correct `{at}` in `{path}`, or remove it"))
        })
    });
    report(wrong.collect(), "")
}

/// Every event of the table is registered, the way we would register it today.
pub(super) fn registered(scene: &Scene) -> Report {
    if scene.ours().next().is_none() {
        let elsewhere =
            Client::default().others_by_name().any(|client| host::is_registered(scene.env, client));
        return if elsewhere {
            Ok(String::new())
        } else {
            bad("not registered for any event", "run `aops-hook install`")
        };
    }
    let wanted = || EVENTS.iter().filter(|kind| kind.timeout > 0).map(|kind| kind.name);
    let missing: Vec<_> = wanted().filter(|name| scene.ours().all(|(_, one)| one.event != *name)).collect();
    let outdated = scene.ours().filter(|(_, one)| !one.current);
    let outdated: BTreeSet<_> = outdated.map(|(place, one)| (&place.path, &one.event)).collect();
    let mut wrong = Vec::new();
    if !missing.is_empty() {
        wrong.push((format!("not registered for {}", several(&missing)), install(scene)));
    }
    if let Some((path, _)) = outdated.first() {
        let events: Vec<_> = outdated.iter().map(|(_, event)| event.as_str()).collect();
        let what = format!(
            "not registered the way this version does it, in `{}`: {}",
            path.display(),
            several(&events)
        );
        wrong.push((what, install(scene)));
    }
    let files: BTreeSet<_> = scene.ours().map(|(place, _)| format!("`{}`", place.path.display())).collect();
    let files: Vec<_> = files.into_iter().collect();
    report(wrong, format!("{} events in {}", wanted().count(), files.join(", ")))
}

/// The command that registers us, in the settings that already name us, so that we are not registered twice.
pub(super) fn install(scene: &Scene) -> String {
    let there = scene.ours().find_map(|(place, _)| match place.kind {
        HookFileKind::Settings(level) => Some(level),
        _ => None,
    });
    there.map_or_else(|| "run `aops-hook install`".to_owned(), install_at)
}

pub(super) fn install_at(level: Level) -> String {
    let option = if level == Level::User { String::new() } else { format!(" --{}", level.name()) };
    format!("run `aops-hook install{option}`")
}

/// `disableAllHooks` in any file switches off all hooks in all files.
pub(super) fn switched_on(scene: &Scene) -> Report {
    let off = scene.places.iter().filter(|place| place.survey.disabled).map(|place| place.path.display());
    let wrong = off.map(|path| {
        let what = format!("`disableAllHooks` in `{path}` switches every hook off");
        (what, format!("remove `disableAllHooks` from `{path}`"))
    });
    report(wrong.collect(), "no settings file disables hooks")
}

/// Under `allowManagedHooksOnly` only an administrator can register us.
pub(super) fn managed(scene: &Scene) -> Report {
    let only =
        scene.places.iter().find(|place| place.kind == HookFileKind::Managed && place.survey.managed_only);
    let there = scene.ours().any(|(place, _)| place.kind == HookFileKind::Managed);
    let Some(place) = only.filter(|_| !there) else {
        return Ok("no managed setting keeps the hooks out".to_owned());
    };
    let path = place.path.display();
    let fix = format!(
        "ask the administrator to register `aops-hook` in `{path}`, or to remove `allowManagedHooksOnly`"
    );
    bad(format!("`allowManagedHooksOnly` in `{path}` keeps the hooks out"), fix)
}

/// No event is registered in two places: the client would run us twice.
pub(super) fn once(scene: &Scene) -> Report {
    let places: Vec<_> = scene.places.iter().filter(|place| !place.survey.ours.is_empty()).collect();
    let mut wrong = Vec::new();
    for place in &places {
        let mut seen = BTreeSet::new();
        let events = place.survey.ours.iter().map(|one| one.event.as_str());
        let twice: Vec<_> = events.filter(|event| !seen.insert(*event)).collect();
        if !twice.is_empty() {
            let what = format!("registered twice in `{}`: {}", place.path.display(), several(&twice));
            wrong.push((what, install(scene)));
        }
    }
    // If a person's hooks are the same as the administrator's, the client runs them once, and the person may
    // keep them.
    let managed = places.iter().find(|place| place.kind == HookFileKind::Managed);
    let is_same = |place: &HookFile| {
        let holds = |one: &Registered, all: &[Registered]| {
            all.iter().any(|other| (&other.event, &other.command) == (&one.event, &one.command))
        };
        managed.is_some_and(|managed| place.survey.ours.iter().all(|one| holds(one, &managed.survey.ours)))
    };
    let places: Vec<_> =
        places.iter().filter(|place| place.kind == HookFileKind::Managed || !is_same(place)).collect();
    // The settings with the widest scope stay; a plugin is removed first.
    for place in places.iter().skip(1) {
        let what =
            format!("registered in `{}` and again in `{}`", places[0].path.display(), place.path.display());
        let fix = match place.kind {
            HookFileKind::Settings(level) => format!("run `aops-hook uninstall --{}`", level.name()),
            HookFileKind::Plugin => format!("run `claude plugin disable {}`", place.plugin),
            HookFileKind::Managed => format!("remove our entries from {}", shell_word(&place.path)),
        };
        wrong.push((what, fix));
    }
    report(wrong, "no event is registered twice")
}

/// `A`, `B` and 28 more.
pub(super) fn several(names: &[&str]) -> String {
    let shown: Vec<_> = names.iter().take(4).map(|name| format!("`{name}`")).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
