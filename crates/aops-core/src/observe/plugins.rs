//! Finds the plugins, skills, commands and agents that a client may load here.
//!
//! Reads `.claude` of the project and the folders above it, the client's own folder, its list of installed
//! plugins and its command line. Invariants: the texts of its agents make a plugin ours, not its name; lists
//! are bounded, and a list that is cut may have missed anything.

use crate::config::texts::{self, Kind};
use crate::model::agent::{PLUGIN_PREFIX, folded, ours};
use crate::model::event::Event;
use crate::observe::foreign_agents::{self, list};
use crate::system::env::Env;
use crate::system::files::read_short;
use crate::system::process::kin;
use crate::text::json::{self, Json};
use std::path::{Path, PathBuf};

const OUR_NAME: &str = "aops";
const IN_PLUGIN: &str = "${CLAUDE_PLUGIN_ROOT}/bin/aops-hook";
/// At most this many plugins, and skills of one folder, are looked at.
const MOST: usize = 2000;

/// The files that may define a skill, command or agent.
pub struct Origins {
    pub files: Vec<PathBuf>,
    /// No file was left out.
    pub are_all: bool,
}

/// Why an agent with our plugin's prefix may belong to another plugin.
pub fn of_agent(env: &Env, event: &Event) -> Option<String> {
    let by_plugin = |kind: &&String| kind.starts_with(PLUGIN_PREFIX) && ours(kind).is_some();
    event.agent_type.as_ref().filter(by_plugin)?;
    foreign(env, Path::new(&event.cwd))
}

/// Every `.claude` that the client reads here, the project's first, its own last.
pub fn folders(env: &Env, cwd: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = cwd.ancestors().map(|folder| folder.join(".claude")).collect();
    all.retain(|folder| *folder != env.config);
    all.push(env.config.clone());
    all
}

/// The folders of plugins, with each plugin's name.
pub fn all(env: &Env, cwd: &Path) -> Vec<(String, PathBuf)> {
    roots(env, cwd).into_iter().filter_map(|root| Some((name(&root)?, root))).collect()
}

/// The folders that may be plugins. If there are more than `MOST`, one more than that is returned.
fn roots(env: &Env, cwd: &Path) -> Vec<PathBuf> {
    let in_skills = folders(env, cwd).into_iter().flat_map(|folder| inside(&folder.join("skills")));
    let installed = ["installed_plugins.json", "installed_plugins_v2.json"].into_iter().flat_map(|name| {
        let mut found = Vec::new();
        let text = read_short(&env.config.join("plugins").join(name)).unwrap_or_default();
        if let Ok(json) = json::read(&text) {
            install_paths(&json, &mut found);
        }
        found
    });
    let given = given_by(env, "--plugin-dir").into_iter().map(|folder| cwd.join(folder));
    in_skills.chain(installed).chain(given).chain(env.client.plugin_root.clone()).take(MOST + 1).collect()
}

/// The settings files of the project and the folders above it.
fn settings_of_projects(env: &Env, cwd: &Path) -> impl Iterator<Item = PathBuf> {
    let folders = folders(env, cwd).into_iter().filter(|folder| *folder != env.config);
    folders.flat_map(|folder| ["settings.json", "settings.local.json"].map(|name| folder.join(name)))
}

/// Whether this file makes a plugin act that settings of a project switch on out of a folder of this machine.
pub(super) fn is_in_force(env: &Env, project: &Path, file: &Path) -> bool {
    const ACTING: [&str; 6] = [".claude-plugin", ".lsp.json", ".mcp.json", "bin", "hooks", "monitors"];
    let is_named = |path: &Path| path.iter().any(|part| ACTING.iter().any(|name| part == *name));
    let in_plugin = |root: &PathBuf| {
        let first = file.strip_prefix(root).ok().and_then(|inside| inside.iter().next());
        let is_list = || file.ancestors().nth(2).is_some_and(|market| root.starts_with(market));
        first.is_some_and(|first| ACTING.iter().any(|name| first == *name))
            || file.ends_with(".claude-plugin/marketplace.json") && is_list()
    };
    let plugins = || {
        settings_of_projects(env, project)
            .filter_map(|settings| Some((read_short(&settings)?, settings)))
            .flat_map(|(text, settings)| in_marketplaces(&settings, &text))
            .collect::<Vec<_>>()
    };
    is_named(file) && plugins().iter().any(in_plugin)
}

/// The plugins in folders of this machine that settings name as marketplaces: a repository may enable them
/// out of itself.
pub(super) fn in_marketplaces(settings: &Path, text: &str) -> Vec<PathBuf> {
    let Ok(json) = json::read(text) else { return Vec::new() };
    let Some(Json::Object(known)) = json.get("extraKnownMarketplaces") else { return Vec::new() };
    let project = settings.ancestors().nth(2).unwrap_or(settings);
    let places = known.iter().filter_map(|(_, one)| Some(project.join(one.get("source")?.text_of("path")?)));
    places.flat_map(|place| plugins_of(&place)).take(MOST + 1).collect()
}

/// `place`: the marketplace's folder, or its list.
fn plugins_of(place: &Path) -> Vec<PathBuf> {
    let is_list = place.extension().is_some_and(|kind| kind == "json");
    let folder = if is_list { place.ancestors().nth(2).unwrap_or(place) } else { place };
    let list = if is_list { place.to_owned() } else { place.join(".claude-plugin/marketplace.json") };
    let text = read_short(&list).unwrap_or_default();
    let Ok(json) = json::read(&text) else { return Vec::new() };
    let Some(Json::List(plugins)) = json.get("plugins") else { return Vec::new() };
    let base = json.get("metadata").and_then(|about| about.text_of("pluginRoot")).unwrap_or_default();
    let sources = plugins.iter().filter_map(|plugin| plugin.text_of("source"));
    let places = sources.flat_map(|source| [folder.join(&source), folder.join(&base).join(&source)]);
    // Without the `.` of `./plugin`.
    places.map(|place| place.components().collect()).collect()
}

fn inside(folder: &Path) -> Vec<PathBuf> {
    let items = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST + 1);
    let mut all: Vec<PathBuf> = items.map(|item| item.path()).collect();
    all.sort();
    all
}

fn install_paths(json: &Json, found: &mut Vec<PathBuf>) {
    match json {
        Json::Object(members) => {
            found.extend(json.text_of("installPath").map(PathBuf::from));
            for (_, value) in members {
                install_paths(value, found);
            }
        }
        Json::List(items) => items.iter().for_each(|item| install_paths(item, found)),
        _ => {}
    }
}

/// Each value of this option on the client's command line.
pub fn given_by(env: &Env, option: &str) -> Vec<String> {
    let line = env.client.pid.parse().map(kin::command_line).unwrap_or_default();
    let glued = format!("{option}=");
    let mut words = line.iter();
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        match word.strip_prefix(&glued) {
            Some(value) => found.push(value.to_owned()),
            None if word == option => found.extend(words.next().cloned()),
            None => {}
        }
    }
    found
}

/// The name in a plugin's manifest; `None` without a manifest.
fn name(root: &Path) -> Option<String> {
    let text = read_short(&root.join(".claude-plugin/plugin.json"))?;
    let named = json::read(&text).ok().and_then(|json| json.text_of("name"));
    named.or_else(|| Some(root.file_name()?.to_string_lossy().into_owned()))
}

/// Why `aops:` agents do not count here: another plugin uses our name. If the client says that it runs our
/// plugin, that settles it.
pub fn foreign(env: &Env, cwd: &Path) -> Option<String> {
    let said = env.client.plugin_root.as_ref().filter(|_| !is_set_by_project(env, cwd));
    if said.is_some_and(|root| is_our_plugin(env, root)) {
        return None;
    }
    if roots(env, cwd).len() > MOST {
        return Some("there are too many plugins to check, and one may be called `aops`".to_owned());
    }
    let taken = |(name, root): &(String, PathBuf)| folded(name) == OUR_NAME && !is_our_plugin(env, root);
    let (_, root) = all(env, cwd).into_iter().find(taken)?;
    Some(format!("`{}` is a plugin called `aops` that is not ours", root.display()))
}

/// The project's own settings set our plugin root, so the client's word about it proves nothing.
fn is_set_by_project(env: &Env, cwd: &Path) -> bool {
    settings_of_projects(env, cwd).any(|path| {
        let Some(text) = read_short(&path) else { return path.is_file() };
        let json = json::read(&text).ok();
        json.is_some_and(|json| json.get("env").is_some_and(|env| env.get("CLAUDE_PLUGIN_ROOT").is_some()))
    })
}

/// Its agents are exactly the ones that we ship.
pub fn is_our_plugin(env: &Env, root: &Path) -> bool {
    let text = read_short(&root.join(".claude-plugin/plugin.json")).unwrap_or_default();
    let own = json::read(&text)
        .is_ok_and(|json| json.text_of("name").as_deref() == Some(OUR_NAME) && json.get("agents").is_none());
    let mut files = Vec::new();
    let are_all = list(&root.join("agents"), 4, &mut files);
    own && are_all
        && !files.is_empty()
        && files.iter().all(|path| foreign_agents::foreign_name(env, path).is_none())
}

/// The files that may define a skill or command of this name.
pub fn skill_files(env: &Env, cwd: &Path, spelled: &str) -> Origins {
    let name = spelled.trim().trim_start_matches('/').split(char::is_whitespace).next().unwrap_or_default();
    let mut found = Origins { files: Vec::new(), are_all: roots(env, cwd).len() <= MOST };
    if let Some((plugin, skill)) = name.split_once(':') {
        for (_, root) in all(env, cwd).into_iter().filter(|(name, _)| folded(name) == folded(plugin)) {
            add_skill(&root, skill, &mut found);
        }
    }
    let last = name.rsplit(':').next().unwrap_or(name);
    for folder in folders(env, cwd) {
        add_skill(&folder, last, &mut found);
    }
    found
}

/// Adds files below a `.claude` folder or a plugin's root. A skill has the name of its folder or the one in
/// its text.
fn add_skill(folder: &Path, name: &str, found: &mut Origins) {
    let is_meant = |path: &PathBuf| {
        let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        folded(&folder) == folded(name)
            || read_short(path)
                .and_then(|text| foreign_agents::read_name(&text))
                .is_some_and(|own| folded(&own) == folded(name))
    };
    let skills = inside(&folder.join("skills"));
    found.are_all &= skills.len() <= MOST;
    let skills = skills.into_iter().map(|skill| skill.join("SKILL.md"));
    found.files.extend(skills.filter(|path| path.exists()).filter(is_meant));
    found.files.extend([folder.join("SKILL.md")].into_iter().filter(|path| path.exists()));
    let mut commands = Vec::new();
    found.are_all &= list(&folder.join("commands"), 4, &mut commands);
    let stem =
        |path: &PathBuf| path.file_stem().is_some_and(|stem| folded(&stem.to_string_lossy()) == folded(name));
    found.files.extend(commands.into_iter().filter(stem));
}

/// The files that may define an agent of this name.
pub fn agent_files(env: &Env, cwd: &Path, kind: &str) -> Origins {
    let last = kind.rsplit(':').next().unwrap_or(kind);
    let mut files = Vec::new();
    let mut are_all = roots(env, cwd).len() <= MOST;
    for folder in folders(env, cwd).into_iter().chain(all(env, cwd).into_iter().map(|(_, root)| root)) {
        are_all &= list(&folder.join("agents"), 4, &mut files);
    }
    let is_meant = |path: &PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let own = read_short(path)
            .and_then(|text| foreign_agents::read_name(&text))
            .unwrap_or_else(|| stem.into_owned());
        folded(&own) == folded(last)
    };
    Origins { files: files.into_iter().filter(is_meant).collect(), are_all }
}

/// A text that we ship, possibly with the program's path that an installation inserted.
pub fn is_ours(text: &str) -> bool {
    texts::ASSETS.iter().filter(|asset| matches!(asset.kind(), Kind::Agent | Kind::Command)).any(|asset| {
        let Some((before, _)) = asset.text.split_once(IN_PLUGIN) else { return asset.text == text };
        let rest = text.strip_prefix(before).unwrap_or_default();
        let program = rest.find("aops-hook").map(|end| &rest[..end + "aops-hook".len()]).unwrap_or_default();
        let plain = |c: char| c.is_alphanumeric() || "/._-+@%:,=\"${}'".contains(c);
        let fixed =
            program.starts_with(['/', '\'']) || program.contains(".claude/aops-hook") || program == IN_PLUGIN;
        fixed
            && program.chars().all(plain)
            && !program.contains("$(")
            && asset.text.replace(IN_PLUGIN, program) == text
    })
}
