//! What a repository brings that runs without asking us: listed for the person once, and again when it changes.
//!
//! Reads `.claude` and `.mcp.json` of the project when a session starts; writes one small file per project below
//! `<config>/aops/brought`. Invariants: what is ours is not listed; lists are bounded; the model is told nothing of it.

use crate::config::texts;
use crate::observe::foreign_agents::list;
use crate::observe::plugins;
use crate::system::env::Env;
use crate::system::files::read_short;
use crate::system::files::{make_all, replace_private};
use crate::text::frontmatter::brings;
use crate::text::json::{self, Json};
use crate::text::sha256::sha256;
use crate::text::template::one_line;
use std::path::{Path, PathBuf};

/// Most that one notice names.
const MOST_NAMED: usize = 8;
/// Settings under which a program stands.
const PROGRAMS: [&str; 5] =
    ["statusLine", "apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "otelHeadersHelper"];

/// The words for the person, where they have not read them yet.
pub fn notice(env: &Env, cwd: &Path) -> Option<String> {
    let root = texts::project(env, cwd);
    let found = find(env, cwd, &root);
    if found.is_empty() {
        return None;
    }
    let parts: Vec<&[u8]> = found.iter().flat_map(|(path, text)| [path.as_bytes(), text.as_bytes()]).collect();
    let digest = sha256(&parts);
    let folder = env.config.join("aops/brought");
    let file = folder.join(&sha256(&[root.to_string_lossy().as_bytes()])[..16]);
    if read_short(&file).is_some_and(|known| known == digest) {
        return None;
    }
    if !env.dry_run && make_all(&folder).is_ok() {
        let _ = replace_private(&file, digest.as_bytes());
    }
    let named: Vec<String> = found.iter().take(MOST_NAMED).map(|(path, _)| one_line(path, 200)).collect();
    let more = found.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!(
        "this repository brings what runs without asking: {}{more}\nhint: look at it before you work here; this is said once",
        named.join(", ")
    ))
}

/// The project's file with a hook of its own for the start of a session: its answer may be run as a prompt.
pub fn greets(env: &Env, cwd: &Path) -> Option<String> {
    let root = texts::project(env, cwd);
    let folders = cwd.ancestors().take_while(|folder| folder.starts_with(&root)).map(|folder| folder.join(".claude"));
    let files = folders.filter(|folder| *folder != env.config).flat_map(|claude| {
        let plugins = std::fs::read_dir(claude.join("skills")).into_iter().flatten().flatten();
        let plugins = plugins.map(|item| item.path().join("hooks/hooks.json"));
        ["settings.json", "settings.local.json"].map(|name| claude.join(name)).into_iter().chain(plugins)
    });
    let hooks = |path: &PathBuf| {
        let text = read_short(path).unwrap_or_default();
        let json = json::read(&text).ok();
        json.is_some_and(|json| json.get("hooks").and_then(|hooks| hooks.get("SessionStart")).is_some_and(runs_others))
    };
    files.into_iter().find(hooks).map(|path| path.display().to_string())
}

/// Each with its text: `.claude/skills/x/SKILL.md (hooks)`.
fn find(env: &Env, cwd: &Path, root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for folder in cwd.ancestors().take_while(|folder| folder.starts_with(root)) {
        let claude = folder.join(".claude");
        let mut add = |path: PathBuf, what: &dyn Fn(&str) -> Option<&'static str>| {
            let Some(text) = read_short(&path).filter(|text| !plugins::is_ours(text)) else { return };
            let Some(what) = what(&text) else { return };
            let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            found.push((format!("`{shown}` ({what})"), text));
        };
        add(folder.join(".mcp.json"), &|_| Some("MCP servers"));
        if claude == env.config {
            continue;
        }
        for name in ["settings.json", "settings.local.json"] {
            add(claude.join(name), &of_settings);
        }
        let mut texts = Vec::new();
        for name in ["skills", "commands", "agents"] {
            list(&claude.join(name), 3, &mut texts);
        }
        let skills = std::fs::read_dir(claude.join("skills")).into_iter().flatten().flatten();
        let mut manifests: Vec<PathBuf> = skills.map(|item| item.path().join(".claude-plugin/plugin.json")).collect();
        manifests.sort();
        for path in texts {
            add(path, &brings);
        }
        for path in manifests {
            add(path, &|_| Some("a plugin"));
        }
    }
    found
}

fn of_settings(text: &str) -> Option<&'static str> {
    let json = json::read(text).ok()?;
    if json.get("hooks").is_some_and(runs_others) {
        return Some("hooks");
    }
    let runs = |json: &Json| is_other(json) || runs_others(json);
    PROGRAMS.iter().any(|name| json.get(name).is_some_and(runs)).then_some("programs")
}

/// A command in it is not our program.
fn runs_others(json: &Json) -> bool {
    match json {
        Json::Object(members) => members.iter().any(|(name, value)| {
            matches!(name.as_ref(), "command" | "url" | "prompt") && is_other(value) || runs_others(value)
        }),
        Json::List(items) => items.iter().any(runs_others),
        _ => false,
    }
}

fn is_other(command: &Json) -> bool {
    command.text().is_some_and(|command| !command.contains("aops-hook"))
}
