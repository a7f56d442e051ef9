//! Collects every file that can register or disable the hooks.
//!
//! Reads the administrator's, the user's, the project's and the local settings, and the plugin if it is switched on.
//! Invariant: a place that cannot be read is a place with an error, never one left out.

use crate::claude::settings::{Registered, Survey, survey};
use crate::cli::install::Level;
use crate::cli::install::plan::read_settings;
use crate::system::env::Env;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The name of our plugin.
const PLUGIN: &str = "aops";

/// All there is to look at.
pub(super) struct Scene<'a> {
    pub env: &'a Env,
    pub places: Vec<Place>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Managed,
    Settings(Level),
    Plugin,
}

/// One file, and what it says or why it says nothing.
pub(super) struct Place {
    pub kind: Kind,
    pub path: PathBuf,
    pub survey: Survey,
    pub error: Option<String>,
    /// How the plugin is called where it was switched on.
    pub plugin: String,
}

impl<'a> Scene<'a> {
    pub(super) fn read(env: &'a Env) -> Self {
        let mut places: Vec<_> = managed(env).iter().map(|path| Place::read(Kind::Managed, path)).collect();
        for level in Level::ALL {
            let place = Place::read(Kind::Settings(level), &level.path(env));
            // In the home folder the project's settings are the user's.
            if places.iter().all(|other| other.path != place.path) {
                places.push(place);
            }
        }
        let plugins = plugins(env, &places);
        places.extend(plugins);
        Self { env, places }
    }

    /// Every registration of this program, with its file.
    pub(super) fn ours(&self) -> impl Iterator<Item = (&Place, &Registered)> {
        self.places.iter().flat_map(|place| place.survey.ours.iter().map(move |one| (place, one)))
    }
}

impl Place {
    fn read(kind: Kind, path: &Path) -> Self {
        let read = read_settings(path).map_err(|error| error.to_string());
        let (path, survey) = match read {
            Ok((found, text)) => (found.path, survey(&text).map_err(|error| error.to_string())),
            Err(error) => (path.to_owned(), Err(error)),
        };
        let (survey, error) = survey.map_or_else(|error| (Survey::default(), Some(error)), |found| (found, None));
        Self { kind, path, survey, error, plugin: String::new() }
    }
}

fn managed(env: &Env) -> Vec<PathBuf> {
    let folder = env.managed();
    let more = fs::read_dir(folder.join("managed-settings.d")).into_iter().flatten().flatten();
    let mut more: Vec<_> =
        more.map(|file| file.path()).filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    more.sort();
    more.insert(0, folder.join("managed-settings.json"));
    more.retain(|path| path.exists());
    more
}

/// Our plugin's hooks, where it is installed and the most special setting switches it on.
fn plugins(env: &Env, places: &[Place]) -> Vec<Place> {
    let list = fs::read(env.config.join("plugins/installed_plugins.json")).unwrap_or_default();
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
            folders.map(|folder| plugin(id, &folder)).collect::<Vec<_>>()
        })
        .collect()
}

fn plugin(id: &str, folder: &Path) -> Place {
    let mut place = Place::read(Kind::Plugin, &folder.join("hooks/hooks.json"));
    id.clone_into(&mut place.plugin);
    for one in &mut place.survey.ours {
        one.command = one.command.replace("${CLAUDE_PLUGIN_ROOT}", &folder.to_string_lossy());
    }
    place
}
