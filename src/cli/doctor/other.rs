//! Checks the registration in another client, if there is one: that it is as we would write it and not
//! switched off, that our agents are there, and that a forbidden call is blocked.
//!
//! Reads the client's files; runs the registered hook in a throwaway home. Invariant: without a registration
//! it reports nothing.

use super::registration::Scene;
use super::{Report, bad, program, report};
use crate::cli::world::World;
use aops_core::host::contract::Hindrance;
use aops_core::host::{self, agents, table};
use aops_core::model::client::Client;
use aops_core::system::files;
use aops_core::system::process::Ending;
use serde_json::json;
use std::path::Path;
use std::time::Duration;

pub(super) fn look(scene: &Scene, client: Client) -> Report {
    if !host::is_registered(scene.env, client) {
        return Ok(String::new());
    }
    let host = table::adapter(client);
    let row = table::host(client);
    let folder = scene.env.folder_of(client);
    let title = row.title;
    let fix = format!("run `aops-hook install --client {}`", client.name());
    let path = folder.join(row.registration);
    let text = files::read_text(&path).unwrap_or_default();
    let Some(command) = host.command(&text) else {
        return bad(format!("`{}` cannot be read, or runs something else", path.display()), &fix);
    };
    let mut wrong: Vec<(String, String)> =
        switched_off(host.hindrance(folder, false), folder, &fix).into_iter().collect();
    if !host::is_current(client, &text) {
        wrong.push((
            format!("not registered in {title} for every event, as we would do it today"),
            fix.clone(),
        ));
    }
    let there =
        |(name, text): &(String, String)| files::read_text(folder.join(name)).is_ok_and(|is| is == *text);
    if !agents::files(client).iter().all(there) {
        wrong.push((
            format!("one of our agents is missing in {title}, or another is in its place"),
            fix.clone(),
        ));
    }
    wrong.extend(intercept(scene, title, &command).err().map(|words| (words, fix)));
    let version = version(scene, client).unwrap_or_else(|words| {
        wrong.push((words, format!("reinstall {title}, so that its `--version` works")));
        String::new()
    });
    report(wrong, format!("registered in `{}`; a forbidden call was refused{version}", path.display()))
}

/// The client found on `PATH`, and the version that our answers were tested with; nothing if no client was
/// found.
fn version(scene: &Scene, client: Client) -> Result<String, String> {
    let Some(path) = scene.env.on_path(client.name()) else { return Ok(String::new()) };
    let title = table::host(client).title;
    let tried = table::host(client).measured.0;
    let there = program::any_version(scene, &path)
        .map_err(|words| format!("`{}` does not print its version: {words}", path.display()))?;
    let older = program::version_of(&there) < program::version_of(tried);
    let beside = match () {
        () if there == tried => String::new(),
        () if older => format!(", older than {tried}, with which our hooks were tried: update it"),
        () => format!(", tried with {tried}"),
    };
    Ok(format!("; {title} {there}, `{}`{beside}", path.display()))
}

/// What keeps the client from running our hooks, and how to fix it.
fn switched_off(hindrance: Option<Hindrance>, folder: &Path, fix: &str) -> Option<(String, String)> {
    match hindrance? {
        Hindrance::Switch { key, file } => {
            let what = format!("`{key}` in `{}` switches every hook off", folder.join(file).display());
            Some((what, "remove it".to_owned()))
        }
        Hindrance::Installation(what) => Some((what.to_owned(), fix.to_owned())),
    }
}

/// Sends a call that is never allowed, in the form the client uses.
fn intercept(scene: &Scene, title: &str, command: &str) -> Result<(), String> {
    let world =
        World::new("doctor", "00000000-d0c7-4d0c-8d0c-00000000c0de").map_err(|error| error.to_string())?;
    let call =
        json!({"tool_name": "Bash", "tool_input": {"command": "aops-hook clear-block"}, "tool_use_id": "c"});
    let payload = world.payload("PreToolUse", "doctor", "default", call);
    let args = ["-c".to_owned(), command.to_owned()];
    let asked = world.run(
        scene.env,
        Path::new("/bin/sh"),
        &args,
        &scene.env.search_path(),
        Some(&payload),
        Duration::from_mins(1),
    );
    let asked = asked.map_err(|error| format!("the hook of {title} cannot be started: {error}"))?;
    let refused = asked.ending == Ending::Exit(2) && !asked.stderr.is_empty();
    if refused { Ok(()) } else { Err(format!("`{command}` does not refuse what is forbidden")) }
}
