//! What a repository brings that runs without asking us: listed for the person once, and again when it changes.
//!
//! Reads `.claude` and `.mcp.json` of the project when a session starts; writes one small file per project below
//! `<config>/aops/brought`. Invariants: what is ours is not listed; lists are bounded; the model is told nothing of it.

use crate::config::texts;
use crate::host::claude::disarm;
use crate::observe::foreign_agents::list;
use crate::observe::plugins;
use crate::system::env::Env;
use crate::system::files::read_short;
use crate::system::files::{make_all, replace_private};
use crate::text::frontmatter::brings;
use crate::text::json::{self, Json};
use crate::text::sha256::sha256;
use crate::text::template::one_line;
use serde_json::Value;
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
    let hooks = |path: &PathBuf| {
        let Some(text) = read_short(path) else { return path.is_file() };
        let json = json::read(&text).ok();
        json.is_some_and(|json| json.get("hooks").and_then(|hooks| hooks.get("SessionStart")).is_some_and(runs_others))
    };
    settings_files(env, cwd).into_iter().find(hooks).map(|path| path.display().to_string())
}

/// The project's files in which hooks may stand: settings, and those of plugins among its skills.
fn settings_files(env: &Env, cwd: &Path) -> Vec<PathBuf> {
    let root = texts::project(env, cwd);
    let folders = cwd.ancestors().take_while(|folder| folder.starts_with(&root)).map(|folder| folder.join(".claude"));
    let files = folders.filter(|folder| *folder != env.config).flat_map(|claude| {
        let plugins = std::fs::read_dir(claude.join("skills")).into_iter().flatten().flatten();
        let plugins = plugins.map(|item| item.path().join("hooks/hooks.json"));
        ["settings.json", "settings.local.json"].map(|name| claude.join(name)).into_iter().chain(plugins)
    });
    files.collect()
}

/// A file with a hook, not ours, that may answer in a person's place when the client asks about a plan: of the project, a
/// plugin, a skill, a command or an agent. What cannot be read may be one.
pub fn approves(env: &Env, cwd: &Path) -> Option<String> {
    let roots: Vec<PathBuf> = plugins::all(env, cwd).into_iter().map(|(_, root)| root).collect();
    let manifests =
        roots.iter().flat_map(|root| ["hooks/hooks.json", ".claude-plugin/plugin.json"].map(|n| root.join(n)));
    let by_hooks = |path: &PathBuf| match read_short(path) {
        Some(text) => answers_plans(&text),
        None => path.is_file(),
    };
    if let Some(path) = settings_files(env, cwd).into_iter().chain(manifests).find(by_hooks) {
        return Some(path.display().to_string());
    }
    for folder in plugins::folders(env, cwd).iter().chain(&roots) {
        for name in ["skills", "commands", "agents"] {
            let (place, mut texts) = (folder.join(name), Vec::new());
            if !list(&place, 4, &mut texts) {
                return Some(place.display().to_string());
            }
            let says = |text: &String| brings(text).is_some() && text.to_lowercase().contains("permissionrequest");
            let hooked = |path: &PathBuf| read_short(path).map_or(path.is_file(), |text| says(&text));
            if let Some(path) = texts.into_iter().find(hooked) {
                return Some(path.display().to_string());
            }
        }
    }
    None
}

/// A text of hooks in which one, not ours, is run when the client asks about a plan.
fn answers_plans(text: &str) -> bool {
    const EVENT: &str = "PermissionRequest";
    let Ok(root) = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) else { return false };
    // A plugin may keep its hooks in a file of another name.
    let elsewhere = root.get("hooks").is_some_and(|hooks| hooks.is_string() || hooks.is_array());
    let groups = root.get("hooks").and_then(|hooks| hooks.get(EVENT)).and_then(Value::as_array);
    let runs_others = |group: &Value| {
        let hooks = group.get("hooks").and_then(Value::as_array);
        hooks.is_some_and(|hooks| hooks.iter().any(|hook| !disarm::is_ours(EVENT, hook)))
    };
    let meets = |group: &Value| may_match(group.get("matcher").and_then(Value::as_str), "ExitPlanMode");
    elsewhere || groups.is_some_and(|groups| groups.iter().any(|group| meets(group) && runs_others(group)))
}

/// A list of names is compared as the client does; any other pattern may match.
fn may_match(matcher: Option<&str>, tool: &str) -> bool {
    let matcher = matcher.unwrap_or_default();
    let is_list = matcher.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '|' | ',' | ' '));
    let named = || matcher.split(['|', ',']).any(|name| name.trim() == tool);
    matcher.trim().is_empty() || !is_list || named()
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
            // A list for a person to look at.
            let _ = list(&claude.join(name), 3, &mut texts);
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
