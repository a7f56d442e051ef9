//! Looks at the registration in Codex, where there is one: every event, trusted, our agents there, and a call that is refused.
//!
//! Reads Codex's files; runs the registered hook in a throwaway home. Invariant: without a registration nothing is said.

use super::registration::{Scene, several};
use super::{Report, bad, report};
use crate::cli::world::World;
use crate::host::codex::{agents, hooks, trust};
use crate::model::client::Client;
use crate::system::process::Ending;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::time::Duration;

const FIX: &str = "run `aops-hook install --client codex`";

pub(super) fn codex(scene: &Scene) -> Report {
    let folder = scene.env.folder_of(Client::Codex);
    let path = folder.join(hooks::FILE);
    let text = fs::read_to_string(&path).unwrap_or_default();
    let Ok(ours) = hooks::ours(&text) else {
        return bad(format!("`{}` cannot be read", path.display()), "make it plain JSON");
    };
    let Some(one) = ours.iter().find(|one| one.event == "PreToolUse").or(ours.first()) else {
        return Ok(String::new());
    };
    let mut wrong = Vec::new();
    let missing = hooks::missing(&text).unwrap_or_default();
    if !missing.is_empty() {
        wrong.push((format!("not registered in Codex for {}", several(&missing)), FIX.to_owned()));
    }
    let config = fs::read_to_string(folder.join("config.toml")).unwrap_or_default();
    if !hooks::is_trusted(folder, &text) {
        wrong.push(("Codex does not trust our hooks, and skips them without a word".to_owned(), FIX.to_owned()));
    }
    if trust::switches_off(&config) {
        let what = format!("`features.hooks` in `{}` switches every hook off", folder.join("config.toml").display());
        wrong.push((what, "remove it".to_owned()));
    }
    let there = |(name, text): &(String, String)| fs::read_to_string(folder.join(name)).is_ok_and(|is| is == *text);
    if !agents::files().iter().all(there) {
        wrong.push(("an agent of ours is missing in Codex, or another is in its place".to_owned(), FIX.to_owned()));
    }
    wrong.extend(intercept(scene, &one.command).err().map(|words| (words, FIX.to_owned())));
    report(wrong, format!("{} events in `{}`, trusted; a forbidden call was refused", ours.len(), path.display()))
}

/// A call that is never allowed, asked as Codex asks.
fn intercept(scene: &Scene, command: &str) -> Result<(), String> {
    let world = World::new("doctor", "00000000-d0c7-4d0c-8d0c-00000000c0de").map_err(|error| error.to_string())?;
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "aops-hook clear-block"}, "tool_use_id": "c"});
    let payload = world.payload("PreToolUse", "doctor", "default", call);
    let args = ["-c".to_owned(), command.to_owned()];
    let asked =
        world.run(Path::new("/bin/sh"), &args, &scene.env.search_path(), Some(&payload), Duration::from_mins(1));
    let asked = asked.map_err(|error| format!("Codex's hook cannot be started: {error}"))?;
    let refused = asked.ending == Ending::Exit(2) && asked.stdout.is_empty() && !asked.stderr.is_empty();
    if refused { Ok(()) } else { Err(format!("`{command}` does not refuse what is forbidden")) }
}
