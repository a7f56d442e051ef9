//! Finds agent files of other people that carry our agents' names.
//!
//! Reads `.claude/agents` of the project and the host's folder. Why: the client starts whatever the file says, and a
//! repository must not bring its own critic. Invariant: a file counts as ours by its text alone: the shipped one, or the
//! user's own in our configuration folder.

use crate::agent::{AGENTS, ours};
use crate::asset::{self, Kind};
use crate::env::Env;
use std::path::{Path, PathBuf};

/// The file that stands in the place of this agent of ours; nothing where the name is ours, or carries our prefix.
pub fn shadow(env: &Env, cwd: &Path, agent_type: &str) -> Option<PathBuf> {
    let agent = ours(agent_type).filter(|agent| agent.name == agent_type)?;
    let projects = cwd.ancestors().map(|folder| folder.join(".claude"));
    let folders = projects.chain([env.config.clone()]);
    let file = format!("agents/{}.md", agent.name);
    folders.map(|folder| folder.join(&file)).find(|path| is_foreign(env, path, agent.name))
}

/// The first of all our names that is shadowed.
pub fn any(env: &Env, cwd: &Path) -> Option<PathBuf> {
    AGENTS.iter().find_map(|agent| shadow(env, cwd, agent.name))
}

fn is_foreign(env: &Env, path: &Path, name: &str) -> bool {
    let Ok(text) = std::fs::read_to_string(path) else { return path.symlink_metadata().is_ok() };
    let shipped = asset::ASSETS.iter().find(|asset| asset.kind() == Kind::Agent && asset.id() == name);
    let users = || asset::find(env, None, Kind::Agent, name).ok().flatten();
    shipped.is_none_or(|shipped| shipped.text != text) && users().is_none_or(|users| users.text != text)
}
