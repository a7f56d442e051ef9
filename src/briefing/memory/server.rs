//! The memory servers of a project's `.mcp.json`, as far as the user let the client use them.
//!
//! Reads the settings that hold the user's answer. Invariants: from a project's file nothing but loopback HTTP; a
//! repository does not approve itself, since its own `settings.json` may forbid a server and not allow one.

use crate::config::policy::Address;
use crate::system::env::Env;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Larger settings files are not read.
const LARGEST: u64 = 16 << 20;

/// A server that a project names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    pub name: String,
    pub address: Address,
}

/// The servers of this text: those on loopback HTTP whose name says memory.
pub fn of_project(mcp_json: &str) -> Vec<Named> {
    let Ok(file) = serde_json::from_str::<Value>(mcp_json) else { return Vec::new() };
    let entries = file["mcpServers"].as_object().into_iter().flatten();
    let named = entries.filter(|(name, _)| name.to_ascii_lowercase().contains("memory"));
    let http = named.filter(|(_, entry)| matches!(entry["type"].as_str(), Some("http" | "streamable-http")));
    let found = http.filter_map(|(name, entry)| {
        Some(Named { name: name.clone(), address: Address::read(entry["url"].as_str()?).ok()? })
    });
    found.filter(|named| named.address.is_loopback()).collect()
}

/// Whether the user let the client use this server of the project's.
pub fn is_approved(env: &Env, project: &Path, name: &str) -> bool {
    let own = [
        read(&env.config.join("settings.json")),
        read(&project.join(".claude/settings.local.json")),
        remembered(env, project),
    ];
    let lists = |settings: &Value, key: &str| {
        settings[key].as_array().is_some_and(|names| names.iter().any(|listed| *listed == name))
    };
    let shared = read(&project.join(".claude/settings.json"));
    if own.iter().chain([&shared]).any(|settings| lists(settings, "disabledMcpjsonServers")) {
        return false;
    }
    own.iter()
        .any(|settings| settings["enableAllProjectMcpServers"] == true || lists(settings, "enabledMcpjsonServers"))
}

/// What the client itself remembers about this project.
fn remembered(env: &Env, project: &Path) -> Value {
    let beside = env.config == env.home.join(".claude");
    let file = if beside { env.home.join(".claude.json") } else { env.config.join(".claude.json") };
    let known = read(&file);
    known.get("projects").and_then(|all| all.get(project.to_string_lossy().as_ref())).cloned().unwrap_or_default()
}

fn read(path: &Path) -> Value {
    let small = fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= LARGEST);
    let text = small.then(|| fs::read(path).ok()).flatten();
    text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_project_names_loopback_only() {
        let file = r#"{"mcpServers": {
            "memory": {"type": "http", "url": "http://127.0.0.1:8765/mcp"},
            "Team-Memory": {"type": "http", "url": "http://10.0.0.1:8765/mcp"},
            "memory-names": {"type": "http", "url": "http://memory.local:8765/mcp"},
            "memory-stdio": {"command": "memory", "args": []},
            "other": {"type": "http", "url": "http://127.0.0.1:9999/mcp"}
        }}"#;
        let address = Address::read("http://127.0.0.1:8765/mcp").unwrap();
        assert_eq!(of_project(file), [Named { name: "memory".to_owned(), address }]);
        for odd in ["", "[]", "{\"mcpServers\": []}", "{\"mcpServers\": {\"memory\": 3}}"] {
            assert_eq!(of_project(odd), []);
        }
    }

    #[test]
    fn only_the_user_approves() {
        let world = tempfile::tempdir().unwrap();
        let (home, project) = (world.path().join("home"), world.path().join("project"));
        for folder in [home.join(".claude"), project.join(".claude")] {
            fs::create_dir_all(folder).unwrap();
        }
        let env = Env { config: home.join(".claude"), home: home.clone(), ..Env::default() };
        let user = home.join(".claude/settings.json");
        let (local, shared) = (project.join(".claude/settings.local.json"), project.join(".claude/settings.json"));
        let kept = home.join(".claude.json");
        let put = |file: &Path, says: &Value| fs::write(file, says.to_string()).unwrap();
        let asked = || is_approved(&env, &project, "memory");
        let (all, one) = (json!({"enableAllProjectMcpServers": true}), json!({"enabledMcpjsonServers": ["memory"]}));
        assert!(!asked(), "no answer of the user is recorded");
        put(&shared, &all);
        assert!(!asked(), "a repository does not approve itself");
        for file in [&user, &local] {
            for says in [&all, &one] {
                put(file, says);
                assert!(asked(), "{says} in {}", file.display());
            }
            put(file, &json!({"enabledMcpjsonServers": ["other"], "enableAllProjectMcpServers": "yes"}));
            assert!(!asked());
        }
        put(&kept, &json!({"projects": {project.to_str().unwrap(): one}}));
        assert!(asked(), "as the client remembers it");
        put(&shared, &json!({"disabledMcpjsonServers": ["memory"]}));
        assert!(!asked(), "a denial anywhere counts");
    }
}
