//! Finds foreign agent files that carry our agents' names.
//!
//! Reads `.claude/agents` of the project and of the client's folder, at every depth. Why: the client starts an agent by the
//! `name` in its file, and a repository must not bring its own critic. Invariants: a file is ours only by its text: the
//! shipped one, or the user's own in our configuration folder; a file with our name that cannot be read is foreign.

use crate::config::texts::{self, Kind};
use crate::model::agent::{AGENTS, meant, ours};
use crate::system::env::Env;
use crate::text::yaml::{self, Value};
use std::path::{Path, PathBuf};

/// Deeper folders below `agents`, and further files, are not looked at.
const DEEPEST: usize = 4;
const MOST: usize = 500;

/// The foreign file behind this name of one of our agents; a prefixed name cannot be shadowed.
pub fn shadow(env: &Env, cwd: &Path, agent_type: &str) -> Option<PathBuf> {
    let agent = ours(agent_type).filter(|agent| agent.name == agent_type)?;
    find(env, cwd, &[agent.name])
}

/// The first file that shadows any of our names.
pub fn any(env: &Env, cwd: &Path) -> Option<PathBuf> {
    let names: Vec<&str> = AGENTS.iter().map(|agent| agent.name).collect();
    find(env, cwd, &names)
}

fn find(env: &Env, cwd: &Path, names: &[&str]) -> Option<PathBuf> {
    let projects = cwd.ancestors().map(|folder| folder.join(".claude/agents"));
    projects.chain([env.config.join("agents")]).find_map(|folder| {
        let mut files = Vec::new();
        list(&folder, DEEPEST, &mut files);
        files.into_iter().find(|path| is_foreign(env, path, names))
    })
}

fn list(folder: &Path, deep: usize, files: &mut Vec<PathBuf>) {
    let items = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut items: Vec<PathBuf> = items.map(|item| item.path()).collect();
    items.sort();
    for path in items {
        if files.len() >= MOST {
            return;
        }
        if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("md")) {
            files.push(path);
        } else if deep > 0 && path.is_dir() {
            list(&path, deep - 1, files);
        }
    }
}

fn is_foreign(env: &Env, path: &Path, names: &[&str]) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let one_of = |name: &str| meant(name).and_then(|name| names.iter().find(|known| **known == name));
    let Ok(Some(text)) = texts::read_text(path, None) else { return one_of(&stem).is_some() };
    let Some(name) = one_of(&stem).or_else(|| one_of(&read_name(&text)?)) else { return false };
    let shipped = texts::ASSETS.iter().find(|asset| asset.kind() == Kind::Agent && asset.id() == *name);
    let users = || texts::find(env, None, Kind::Agent, name).ok().flatten();
    shipped.is_none_or(|shipped| shipped.text != text) && users().is_none_or(|users| users.text != text)
}

/// The name in the text's frontmatter; if that cannot be parsed, the first line that looks like a name.
fn read_name(text: &str) -> Option<String> {
    let front = text.trim_start_matches('\u{feff}').trim_start().strip_prefix("---")?;
    let front = front.split("\n---").next().unwrap_or(front);
    if let Ok(node) = yaml::parse(front, 1) {
        let Value::Map(members) = node.value else { return None };
        let name = members.into_iter().find(|(key, _)| key.name == "name")?.1;
        return if let Value::Text(name) = name.value { Some(name) } else { None };
    }
    let line = front.lines().find_map(|line| line.trim().strip_prefix("name:"))?;
    Some(line.trim().trim_matches(['"', '\'']).to_owned())
}
