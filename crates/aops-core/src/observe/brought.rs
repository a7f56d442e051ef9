//! Lists for the person what a repository brings that runs without asking us: once, and again when it
//! changes.
//!
//! Reads `.claude` and `.mcp.json` of the project when a session starts; writes one small file per project
//! below `<config>/aops/brought`. Invariants: our own files are not listed; lists are bounded; the model does
//! not see them.

use crate::config::texts::Reading;
use crate::host::claude::disarm;
use crate::host::claude::settings::{SCRIPT, SCRIPT_COMMAND, SCRIPT_IN_SHELL, SCRIPT_PATH};
use crate::observe::foreign_agents::list;
use crate::observe::plugins;
use crate::system::files::{self, make_all, replace_private};
use crate::text::frontmatter::brings;
use crate::text::json::{self, Json};
use crate::text::redact::redact;
use crate::text::sha256::sha256;
use crate::text::template::one_line;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A notice names at most this many.
const MOST_NAMED: usize = 8;
/// Settings whose value is a program to run.
const PROGRAMS: [&str; 5] =
    ["statusLine", "apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "otelHeadersHelper"];

/// The event at which the client asks for a permission.
const PROMPTS: &str = "PermissionRequest";
/// Files in which a plugin keeps its hooks, and folders of texts that may contain hooks.
const MANIFESTS: [&str; 2] = ["hooks/hooks.json", ".claude-plugin/plugin.json"];
const TEXTS: [&str; 3] = ["skills", "commands", "agents"];
/// At most this many hooks of others are named.
const MOST_ANSWERERS: usize = 50;

/// The hooks that our plugin registers.
const OUR_HOOKS: &str = include_str!("../../hooks/hooks.json");

/// Commands by which a project's registration starts us.
const IN_PROJECT: [&str; 2] = [SCRIPT_COMMAND, SCRIPT_IN_SHELL];

/// The notice for the person, unless they have already read it.
pub fn notice(env: &Reading, cwd: &Path) -> Option<String> {
    let root = env.root();
    let found = find(env, cwd, root);
    if found.is_empty() {
        return None;
    }
    let parts: Vec<&[u8]> =
        found.iter().flat_map(|(path, text)| [path.as_bytes(), text.as_bytes()]).collect();
    let digest = sha256(&parts);
    let folder = env.config.join("aops/brought");
    let file = folder.join(&sha256(&[root.to_string_lossy().as_bytes()])[..16]);
    if files::read_short(&file).is_some_and(|known| known == digest) {
        return None;
    }
    if !env.dry_run && make_all(&folder).is_ok() {
        let _ = replace_private(&file, digest.as_bytes());
    }
    let named: Vec<String> = found.iter().take(MOST_NAMED).map(|(path, _)| one_line(path, 200)).collect();
    let more = found.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!(
        "this repository has files that run without asking you: {}{more}\nhint: look at it before you work here; you see this only once",
        named.join(", ")
    ))
}

/// A file of the project or of a plugin, with a hook (not ours) for the start of a session: the client may
/// run its answer as a prompt.
pub fn greets(env: &Reading, cwd: &Path) -> Option<String> {
    let script = has_script(env);
    let greets = |text: &str| may_run(text, script, "SessionStart", |_| true);
    hooked_file(env, cwd, &plugin_roots(env, cwd), greets)
}

/// The plugins that these settings of a project enable out of folders of this machine.
fn enabled_by(env: &Reading, settings: &Path) -> Vec<PathBuf> {
    env.short(settings).map(|text| plugins::in_marketplaces(settings, &text)).unwrap_or_default()
}

/// The roots of all plugins but ours.
fn plugin_roots(env: &Reading, cwd: &Path) -> Vec<PathBuf> {
    let folders = plugins::folders(env, cwd).into_iter().filter(|folder| *folder != env.config);
    let settings =
        folders.flat_map(|folder| ["settings.json", "settings.local.json"].map(|name| folder.join(name)));
    let enabled: Vec<PathBuf> = settings.flat_map(|path| enabled_by(env, &path)).collect();
    let roots = plugins::all(env, cwd).into_iter().map(|(_, root)| root).chain(enabled);
    let hooks = |root: &Path| env.short(&root.join("hooks/hooks.json")).is_some_and(|text| text == OUR_HOOKS);
    roots.filter(|root| !(hooks(root) && plugins::is_our_plugin(env, root))).collect()
}

/// The first settings or plugin file that meets this condition. A file that cannot be read is assumed to meet
/// it.
fn hooked_file(
    env: &Reading,
    cwd: &Path,
    roots: &[PathBuf],
    is_one: impl Fn(&str) -> bool,
) -> Option<String> {
    let manifests = roots.iter().flat_map(|root| MANIFESTS.map(|name| root.join(name)));
    let mut files = settings_files(env, cwd).into_iter().chain(manifests);
    let found = files.find(|path| env.short(path).map_or_else(|| path.is_file(), |text| is_one(&text)));
    found.map(|path| path.display().to_string())
}

/// The project's files that may contain hooks: settings, and those of plugins among its skills.
fn settings_files(env: &Reading, cwd: &Path) -> Vec<PathBuf> {
    let root = env.root();
    let folders =
        cwd.ancestors().take_while(|folder| folder.starts_with(root)).map(|folder| folder.join(".claude"));
    let files = folders.filter(|folder| *folder != env.config).flat_map(|claude| {
        let plugins = std::fs::read_dir(claude.join("skills")).into_iter().flatten().flatten();
        let plugins = plugins.map(|item| item.path().join("hooks/hooks.json"));
        let settings = ["settings.json", "settings.local.json"].map(|name| claude.join(name));
        let enabled: Vec<PathBuf> = settings.iter().flat_map(|path| enabled_by(env, path)).collect();
        let enabled = enabled.into_iter().flat_map(|root| MANIFESTS.map(|name| root.join(name)));
        settings.into_iter().chain(plugins).chain(enabled.filter(|path| path.is_file()))
    });
    files.collect()
}

/// A file with a hook (not ours) that may answer in a person's place when the client asks about a plan: of
/// the project, a plugin, a skill, a command or an agent. A file that cannot be read is assumed to have one.
pub fn approves(env: &Reading, cwd: &Path) -> Option<String> {
    let roots = plugin_roots(env, cwd);
    let meets = |group: &Value| may_match(group.get("matcher").and_then(Value::as_str), "ExitPlanMode");
    let script = has_script(env);
    if let Some(file) = hooked_file(env, cwd, &roots, |text| may_run(text, script, PROMPTS, meets)) {
        return Some(file);
    }
    for folder in plugins::folders(env, cwd).iter().chain(&roots) {
        for name in TEXTS {
            let place = folder.join(name);
            let mut texts = Vec::new();
            if !list(&place, 4, &mut texts) {
                return Some(place.display().to_string());
            }
            let hooked = |path: &PathBuf| env.short(path).map_or(path.is_file(), |text| says_prompts(&text));
            if let Some(path) = texts.into_iter().find(hooked) {
                return Some(path.display().to_string());
            }
        }
    }
    None
}

/// Files with a hook (not ours) that may answer the client's permission prompts, and what the hook runs: of
/// an administrator, the user, the project, a plugin, a skill, a command or an agent. The first answer to a
/// prompt wins.
pub fn answers_prompts(env: &Reading, cwd: &Path) -> Vec<(String, String)> {
    let roots = plugin_roots(env, cwd);
    let managed = env.managed();
    let parts = std::fs::read_dir(managed.join("managed-settings.d")).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = parts.map(|item| item.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    files.push(managed.join("managed-settings.json"));
    files.extend(["settings.json", "settings.local.json"].map(|name| env.config.join(name)));
    files.extend(settings_files(env, cwd));
    files.extend(roots.iter().flat_map(|root| MANIFESTS.map(|name| root.join(name))));
    files.sort();
    files.dedup();
    let script = has_script(env);
    let mut found = Vec::new();
    for path in &files {
        let hooks = match env.short(path) {
            Some(text) => prompt_hooks(&text, script),
            None if path.is_file() => vec!["a file that cannot be read".to_owned()],
            None => continue,
        };
        found.extend(hooks.into_iter().map(|what| (path.display().to_string(), what)));
    }
    for folder in plugins::folders(env, cwd).iter().chain(&roots) {
        let mut texts = Vec::new();
        for name in TEXTS {
            // A list that is too long is cut: it is only shown to a person.
            let _ = list(&folder.join(name), 4, &mut texts);
        }
        let hooked = texts.into_iter().filter(|path| env.short(path).is_some_and(|text| says_prompts(&text)));
        found.extend(hooked.map(|path| (path.display().to_string(), "hooks of its own".to_owned())));
    }
    found.truncate(MOST_ANSWERERS);
    found
}

/// The commands in a text of hooks that answer permission prompts, without ours.
fn prompt_hooks(text: &str, script: bool) -> Vec<String> {
    let Ok(root) = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) else {
        return vec!["a file that is not JSON".to_owned()];
    };
    let hooks = root.get("hooks");
    if hooks.is_some_and(|hooks| hooks.is_string() || hooks.is_array()) {
        return vec!["hooks in a file of another name".to_owned()];
    }
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let groups = list(hooks.and_then(|hooks| hooks.get(PROMPTS)));
    let all = groups.iter().flat_map(|group| list(group.get("hooks")));
    let of = |hook: &Value, name: &str| hook.get(name).and_then(Value::as_str).map(str::to_owned);
    let is_ours = |hook: &Value| {
        disarm::is_ours(PROMPTS, hook) && of(hook, "command").is_some_and(|line| runs_us(&line, script))
    };
    let what = |hook: Value| {
        let runs = ["command", "url", "server", "prompt", "type"].iter().find_map(|name| of(&hook, name));
        one_line(&redact(&runs.unwrap_or_default()), 120)
    };
    all.filter(|hook| !is_ours(hook)).map(what).collect()
}

/// A text that has hooks of its own for permission prompts.
fn says_prompts(text: &str) -> bool {
    brings(text).is_some() && text.to_lowercase().contains(&PROMPTS.to_lowercase())
}

/// A text of hooks that may run one (not ours) at this event. The client may be able to read a text that is
/// not JSON to us.
fn may_run(text: &str, script: bool, event: &str, meets: impl Fn(&Value) -> bool) -> bool {
    let Ok(root) = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) else { return true };
    // A plugin may keep its hooks in a file of another name.
    let elsewhere = root.get("hooks").is_some_and(|hooks| hooks.is_string() || hooks.is_array());
    let groups = root.get("hooks").and_then(|hooks| hooks.get(event)).and_then(Value::as_array);
    let by_path =
        |hook: &Value| hook.get("command").and_then(Value::as_str).is_some_and(|line| runs_us(line, script));
    let is_ours = |hook: &Value| disarm::is_ours(event, hook) && by_path(hook);
    let runs_others = |group: &Value| {
        let hooks = group.get("hooks").and_then(Value::as_array);
        hooks.is_some_and(|hooks| !hooks.iter().all(is_ours))
    };
    elsewhere || groups.is_some_and(|groups| groups.iter().any(|group| meets(group) && runs_others(group)))
}

/// A list of names is compared as the client compares it; any other pattern may match.
fn may_match(matcher: Option<&str>, tool: &str) -> bool {
    let matcher = matcher.unwrap_or_default();
    let is_list =
        matcher.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '|' | ',' | ' '));
    let named = || matcher.split(['|', ',']).any(|name| name.trim() == tool);
    matcher.trim().is_empty() || !is_list || named()
}

/// What the repository brings, each with its text: `.claude/skills/x/SKILL.md (hooks)`.
fn find(env: &Reading, cwd: &Path, root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let script = has_script(env);
    for folder in cwd.ancestors().take_while(|folder| folder.starts_with(root)) {
        let claude = folder.join(".claude");
        let mut add = |path: PathBuf, what: &dyn Fn(&str) -> Option<&'static str>| {
            let Some(text) = env.short(&path).filter(|text| !plugins::is_ours(text)) else { return };
            let Some(what) = what(&text) else { return };
            let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            found.push((format!("`{shown}` ({what})"), text));
        };
        add(folder.join(".mcp.json"), &|text| Some(of_servers(text)));
        if claude == env.config {
            continue;
        }
        for name in ["settings.json", "settings.local.json"] {
            add(claude.join(name), &|text| of_settings(text, script));
        }
        let mut texts = Vec::new();
        for name in ["skills", "commands", "agents"] {
            // A list that is too long is cut: it is only shown to a person.
            let _ = list(&claude.join(name), 3, &mut texts);
        }
        let skills = std::fs::read_dir(claude.join("skills")).into_iter().flatten().flatten();
        let mut manifests: Vec<PathBuf> =
            skills.map(|item| item.path().join(".claude-plugin/plugin.json")).collect();
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

/// The helper's name may be spelt with escapes.
fn of_servers(text: &str) -> &'static str {
    let is_named = ["headersHelper", "\\u"].iter().any(|name| text.contains(name));
    if is_named { "MCP servers, a `headersHelper` that runs outside the jail" } else { "MCP servers" }
}

fn of_settings(text: &str, script: bool) -> Option<&'static str> {
    let Ok(json) = json::read(text.trim_start_matches('\u{feff}')) else { return Some("hooks") };
    if json.get("hooks").is_some_and(|hooks| runs_others(hooks, script)) {
        return Some("hooks");
    }
    let runs = |json: &Json| is_other(json, script) || runs_others(json, script);
    PROGRAMS.iter().any(|name| json.get(name).is_some_and(runs)).then_some("programs")
}

/// Some entry runs a command that is not our program, or does something else than run a command.
fn runs_others(json: &Json, script: bool) -> bool {
    match json {
        Json::Object(members) => members.iter().any(|(name, value)| match name.as_ref() {
            "type" => value.text().is_some_and(|kind| kind != "command"),
            "command" | "url" | "prompt" => is_other(value, script) || runs_others(value, script),
            _ => runs_others(value, script),
        }),
        Json::List(items) => items.iter().any(|item| runs_others(item, script)),
        _ => false,
    }
}

fn is_other(command: &Json, script: bool) -> bool {
    command.text().is_some_and(|command| !runs_us(&command, script))
}

/// The script through which a project's registration finds our program exists, and is unchanged.
fn has_script(env: &Reading) -> bool {
    env.short(&env.root().join(SCRIPT_PATH)).is_some_and(|text| text == SCRIPT)
}

/// The line starts this very program by its path, with plain words only: a bare name could be any program. Or
/// it starts the project's script that does so.
fn runs_us(line: &str, script: bool) -> bool {
    let line = line.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let mut by_script = IN_PROJECT.iter().filter_map(|command| line.strip_prefix(command));
    let is_end = |rest: &str| rest.is_empty() || rest.starts_with(' ');
    if by_script.any(|rest| script && is_end(rest) && rest.chars().all(plain)) {
        return true;
    }
    let quote = line.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let (program, rest) = match quote {
        Some(quote) => line[1..].split_once(quote).unwrap_or((&line[1..], "")),
        None => line.split_once(' ').unwrap_or((line, "")),
    };
    let own = || std::env::current_exe().ok()?.canonicalize().ok();
    let named = Path::new(program);
    rest.chars().all(plain)
        && named.is_absolute()
        && named.canonicalize().ok().is_some_and(|real| Some(real) == own())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(hook: &str) -> String {
        format!(r#"{{"hooks":{{"SessionStart":[{{"hooks":[{hook}]}}]}}}}"#)
    }

    #[test]
    fn ours_is_this_very_program_and_what_cannot_be_read_is_not() {
        let own = std::env::current_exe().unwrap().display().to_string();
        // In this test our program has another name, so entries are not recognised by name.
        for (line, ours) in [
            (own.clone(), true),
            (format!("'{own}' SessionStart"), true),
            (format!("{own} SessionStart > /dev/null; true"), false),
            ("aops-hook SessionStart".to_owned(), false),
            ("./aops-hook SessionStart".to_owned(), false),
            ("printf x # aops-hook".to_owned(), false),
            ("/nowhere/aops-hook SessionStart".to_owned(), false),
        ] {
            assert_eq!(runs_us(&line, false), ours, "{line}");
        }
        for command in IN_PROJECT {
            let line = format!("{command} SessionStart");
            assert!(
                runs_us(&line, true) && !runs_us(&line, false) && !runs_us(&format!("{line}; true"), true),
                "{line}"
            );
        }
        let command = r#"{"type":"command","command":"./aops-hook SessionStart"}"#;
        let tool = r#"{"type":"mcp_tool","server":"x","tool":"y"}"#;
        for text in [with(command), with(tool), format!("\u{feff}{}", with(command)), "{".to_owned()] {
            assert!(may_run(&text, true, "SessionStart", |_| true), "{text}");
            assert_eq!(of_settings(&text, true), Some("hooks"), "{text}");
        }
        for text in ["{}", r#"{"hooks":{"Stop":[]}}"#, "\u{feff}{\"model\":\"x\"}"] {
            assert!(
                !may_run(text, true, "SessionStart", |_| true) && of_settings(text, true).is_none(),
                "{text}"
            );
        }
    }
}
