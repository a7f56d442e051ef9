//! Finds foreign agent files that use our agents' names.
//!
//! Reads `.claude/agents` (`.codex/agents`, `.github/agents`) of the project and of the client's folder, at
//! every depth. Why: the client starts an agent by the `name` in its file, and a repository must not bring
//! its own critic. Invariants: only its text makes a file ours: the shipped one, or the user's own in our
//! configuration folder; a file with our name that cannot be read is foreign.

use crate::config::texts::{self, Kind, Reading};
use crate::host::agents;
use crate::host::table::host;
use crate::model::agent::{AGENTS, FILE_PREFIX, PLUGIN_PREFIX, bare, meant, ours};
use crate::model::client::Ability;
use crate::system::env::Env;
use crate::system::process::kin;
use crate::text::frontmatter;
use crate::text::json::{self, Json};
use crate::text::yaml::{self, Value};
use std::path::{Path, PathBuf};

/// We do not look into deeper folders below `agents`, or at further files. Such a place may contain any of
/// our names.
const DEEPEST: usize = 4;
const MOST: usize = 2000;
/// The client's option that defines agents.
const OPTION: &str = "--agents";

/// The foreign file that takes this name of one of our agents. A name with the plugin's prefix cannot be
/// taken.
pub fn shadow(env: &Env, cwd: &Path, agent_type: &str) -> Option<PathBuf> {
    ours(agent_type).filter(|_| !agent_type.starts_with(PLUGIN_PREFIX))?;
    if given(env).iter().any(|name| name == agent_type) {
        return Some(PathBuf::from(OPTION));
    }
    let (files, mut unseen) = files(env, cwd);
    let is_it = |path: &PathBuf| match carried(env, path) {
        Carried::Ours(name) => name == agent_type,
        Carried::Other => false,
        Carried::Unseen => {
            unseen.get_or_insert_with(|| path.clone());
            false
        }
    };
    let found = files.into_iter().find(is_it);
    found.or(unseen)
}

/// Which name a file's agent has.
enum Carried {
    /// A name of one of our agents.
    Ours(String),
    Other,
    /// The file cannot be read, so it may contain any name.
    Unseen,
}

fn carried(env: &Env, path: &Path) -> Carried {
    let by_stem = || meant(&path.file_stem().unwrap_or_default().to_string_lossy());
    let name = match texts::read_text(path, None) {
        Ok(Some(text)) => name_in(env, path, &text),
        Ok(None) => None,
        Err(_) => match by_stem().filter(|name| !name.starts_with(PLUGIN_PREFIX)) {
            None if path.is_file() => return Carried::Unseen,
            name => name,
        },
    };
    name.map_or(Carried::Other, Carried::Ours)
}

/// Our names among the agents that the client was started with.
fn given(env: &Env) -> Vec<String> {
    let line = env.client.pid.parse().map(kin::command_line).unwrap_or_default();
    let texts = line.windows(2).filter(|pair| pair[0] == OPTION).map(|pair| pair[1].as_str());
    let glued = line.iter().filter_map(|word| word.strip_prefix("--agents="));
    let mut names = Vec::new();
    for text in texts.chain(glued) {
        match json::read(text) {
            Ok(Json::Object(members)) => names.extend(members.iter().filter_map(|(name, _)| meant(name))),
            // The option names a file, or a text that we cannot read: it may define any agent.
            _ => {
                names.extend(
                    AGENTS
                        .iter()
                        .filter(|agent| text.contains(agent.name))
                        .map(|agent| agent.name.to_owned()),
                );
            }
        }
    }
    names
}

/// Those of our agents whose bare names are taken, each with the first file that takes it. `is_known`: files
/// that are ours although their text differs, such as those of an older version.
pub fn clashes(env: &Env, cwd: &Path, is_known: &dyn Fn(&Path) -> bool) -> Vec<(&'static str, PathBuf)> {
    let (files, mut unseen) = files(env, cwd);
    let given = given(env).into_iter().map(|name| (name, PathBuf::from(OPTION)));
    let mut taken: Vec<(String, PathBuf)> = given.collect();
    for path in files.into_iter().filter(|path| !is_known(path)) {
        match carried(env, &path) {
            Carried::Ours(name) => taken.push((name, path)),
            Carried::Other => {}
            Carried::Unseen => drop(unseen.get_or_insert(path)),
        }
    }
    let named = |name: &str| taken.iter().find(|(known, _)| known == name).map(|(_, path)| path.clone());
    let first = |name: &str| named(name).or_else(|| unseen.clone());
    AGENTS.iter().filter_map(|agent| Some((agent.name, first(agent.name)?))).collect()
}

/// The text of one of our agents, under the second name that it gets if its own is taken.
pub fn rename(text: &str, name: &str) -> String {
    text.replacen(&format!("\nname: {name}\n"), &format!("\nname: {FILE_PREFIX}{name}\n"), 1)
}

/// `install` placed our agent under its second name, and the client reads it.
pub fn has_second_name(env: &Env, cwd: &Path, name: &str) -> bool {
    let file = format!("agents/{FILE_PREFIX}{name}.md");
    let folders = cwd.ancestors().map(|folder| folder.join(".claude")).chain([env.config.clone()]);
    folders.map(|folder| folder.join(&file)).any(|path| {
        let text = texts::read_text(&path, None).ok().flatten();
        text.is_some_and(|text| name_in(env, &path, &text).is_none())
    })
}

/// The agent files that the client may read here, the project's first; and a folder that contains more than
/// we look at.
fn files(env: &Env, cwd: &Path) -> (Vec<PathBuf>, Option<PathBuf>) {
    let agents = &host(env.host).agents;
    let names = agents.in_project;
    let kind = agents.ending;
    let own = env.folder_of(env.host);
    let projects = cwd.ancestors().flat_map(|folder| names.iter().map(|name| folder.join(name)));
    let mut all = Vec::new();
    let mut unseen = None;
    for folder in projects.chain([own.join("agents")]) {
        let mut files = Vec::new();
        if !list_kind(&folder, DEEPEST, kind, &mut files) {
            unseen.get_or_insert(folder);
        }
        all.extend(files);
    }
    (all, unseen)
}

/// Adds the texts below this folder; false if there are more, or deeper ones, than we look at.
#[must_use]
pub fn list(folder: &Path, deep: usize, files: &mut Vec<PathBuf>) -> bool {
    list_kind(folder, deep, "md", files)
}

fn list_kind(folder: &Path, deep: usize, kind: &str, files: &mut Vec<PathBuf>) -> bool {
    let items = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut items: Vec<PathBuf> = items.map(|item| item.path()).collect();
    items.sort();
    let mut is_whole = true;
    for path in items {
        if path.extension().is_some_and(|end| end.eq_ignore_ascii_case(kind)) {
            if files.len() >= MOST {
                return false;
            }
            files.push(path);
        } else if path.is_dir() {
            is_whole &= deep > 0 && list_kind(&path, deep - 1, kind, files);
        }
    }
    is_whole
}

/// Which of our names, bare or prefixed, a foreign file uses.
pub fn foreign_name(env: &Env, path: &Path) -> Option<String> {
    match carried(env, path) {
        Carried::Ours(name) => Some(name),
        Carried::Other => None,
        Carried::Unseen => Some(AGENTS[0].name.to_owned()),
    }
}

/// The same for a file with this text.
pub fn name_in(env: &Env, path: &Path, text: &str) -> Option<String> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let stem = stem.strip_suffix(".agent").unwrap_or(&stem);
    let one_of = |name: &str| meant(name).filter(|name| !name.starts_with(PLUGIN_PREFIX));
    if !env.host.can(Ability::RenamesAgents) {
        let name = one_of(stem).or_else(|| one_of(&agents::name(text).or_else(|| read_name(text))?))?;
        return (!agents::is_ours(env.host, text)).then_some(name);
    }
    let name = one_of(stem).or_else(|| one_of(&read_name(text)?))?;
    let bare = bare(&name);
    let is_renamed = name.starts_with(FILE_PREFIX);
    let expected = |own: &str| if is_renamed { rename(own, bare) == text } else { own == text };
    let shipped = texts::ASSETS.iter().find(|asset| asset.kind() == Kind::Agent && asset.id() == bare);
    let users = || texts::find(&Reading::new(env, path), false, Kind::Agent, bare).ok().flatten();
    let is_own = shipped.is_some_and(|shipped| expected(shipped.text))
        || users().is_some_and(|own| expected(&own.text));
    (!is_own).then_some(name)
}

/// The name in the text's frontmatter; if that cannot be parsed, the first line that looks like a name.
pub fn read_name(text: &str) -> Option<String> {
    let (front, _) = frontmatter::split(text)?;
    if let Ok(node) = yaml::parse(front, 1) {
        let Value::Map(members) = node.value else { return None };
        let name = members.into_iter().find(|(key, _)| key.name == "name")?.1;
        if let Value::Text(name) = name.value {
            return Some(plain(&name));
        }
    }
    let line = front.lines().find_map(|line| line.trim().strip_prefix("name:"))?;
    Some(plain(line.trim()))
}

/// The name without YAML tags and anchors: a reader that knows them takes `!!str critic` for `critic`. An
/// alias may be any name.
fn plain(text: &str) -> String {
    let mut text = text;
    while text.starts_with(['!', '&']) {
        text = text.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start());
    }
    if text.starts_with('*') { AGENTS[0].name.to_owned() } else { text.trim_matches(['"', '\'']).to_owned() }
}
