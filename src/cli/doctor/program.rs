//! Checks that what is registered is there, may be run, and is of this version; that our texts are in place; and that the
//! client blocks a call when a hook breaks, which older versions do not.
//!
//! Reads files and asks each registered program, and `claude`, for its version in a throwaway home.

use super::registration::{HookFileKind, Scene, install, several};
use super::{Report, bad, report, shell_word};
use crate::claude::settings::Registered;
use crate::cli::world::World;
use crate::config::texts;
use crate::system::process::Ending;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The first client that knows `onFailure`.
const FIRST_CLIENT: [u32; 3] = [2, 1, 295];

/// Where a registered program is; a bare name is looked up as the client would.
pub(super) fn path(scene: &Scene, one: &Registered) -> PathBuf {
    let name = one.program();
    if name.contains('/') { name.into() } else { scene.env.on_path(name).unwrap_or_else(|| name.into()) }
}

pub(super) fn executable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

pub(super) fn programs(scene: &Scene) -> Report {
    let paths: BTreeSet<_> = scene.ours().map(|(_, one)| path(scene, one)).collect();
    let wrong: Vec<_> = paths.iter().filter_map(|path| program(scene, path)).collect();
    let shown: Vec<_> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
    let well = if shown.is_empty() { "none registered".to_owned() } else { format!("{VERSION}, {}", shown.join(", ")) };
    report(wrong, well)
}

/// What is wrong with a registered program, and the fix.
fn program(scene: &Scene, path: &Path) -> Option<(String, String)> {
    let (shown, install) = (path.display(), install(scene));
    if !path.is_file() {
        return Some((format!("`{shown}` is registered and not there"), install));
    }
    if !executable(path) {
        return Some((format!("`{shown}` has lost its execute bit"), format!("run `chmod +x {}`", shell_word(path))));
    }
    match version(scene, path, "aops-hook ") {
        Ok(theirs) if theirs == VERSION => None,
        Ok(theirs) => Some((format!("`{shown}` is version {theirs}, this is {VERSION}"), install)),
        Err(words) => {
            let fix = format!("build it anew with `./install.sh`, or {install} with a program that works");
            Some((format!("`{shown}` does not print its version: {words}"), fix))
        }
    }
}

/// The first word a program says to `--version`, after this prefix.
fn version(scene: &Scene, path: &Path, prefix: &str) -> Result<String, String> {
    let search = scene.env.search_path();
    let ask = |world: World| world.run(path, &["--version".to_owned()], &search, None, Duration::from_secs(20));
    let asked = World::new("version", "").and_then(ask).map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&asked.stdout).into_owned();
    match (asked.ending, said.trim().strip_prefix(prefix)) {
        (Ending::Exit(0), Some(rest)) => Ok(rest.split_whitespace().next().unwrap_or_default().to_owned()),
        (Ending::Exit(0), None) => Err(format!("it says `{}`", said.trim())),
        (Ending::Exit(code), _) => Err(format!("it exits with {code}")),
        (Ending::Signal(signal), _) => Err(format!("signal {signal} killed it")),
        (Ending::TimedOut, _) => Err("it does not end".to_owned()),
    }
}

/// Our agents and commands are in the host's folder, unless the plugin brings them.
pub(super) fn texts(scene: &Scene) -> Report {
    if !scene.ours().any(|(place, _)| matches!(place.kind, HookFileKind::Settings(_))) {
        return Ok(String::new());
    }
    let there = |path: &str, text: &str| std::fs::read(scene.env.config.join(path)).is_ok_and(|b| b == text.as_bytes());
    let missing: Vec<_> = texts::placed().filter(|a| !there(a.path, a.text)).map(|a| a.path).collect();
    let folder = scene.env.config.display();
    if missing.is_empty() {
        return Ok(format!("{} agents and commands in `{folder}`", texts::placed().count()));
    }
    bad(format!("missing or changed in `{folder}`: {}", several(&missing)), install(scene))
}

fn version_of(text: &str) -> Option<[u32; 3]> {
    let mut parts = text.split('-').next()?.split('.').map(str::parse);
    Some([parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?])
}

fn judge_client(path: &str, said: &Result<String, String>) -> Report {
    let first = FIRST_CLIENT.map(|n| n.to_string()).join(".");
    match said.as_deref().map(|text| (text, version_of(text))) {
        Ok((text, Some(version))) if version >= FIRST_CLIENT => Ok(format!("{text}, `{path}`")),
        Ok((text, Some(_))) => {
            let what = format!("`{path}` is {text}: before {first} a broken guard lets everything pass");
            bad(what, "run `claude update`")
        }
        Ok((text, None)) => bad(format!("`{path}` says version `{text}`"), "run `claude update`"),
        Err(words) => {
            let what = format!("`{path}` does not print its version: {words}");
            bad(what, "reinstall Claude Code, so that `claude --version` works")
        }
    }
}

pub(super) fn client(scene: &Scene) -> Report {
    match scene.env.on_path("claude") {
        Some(path) => judge_client(&path.display().to_string(), &version(scene, &path, "")),
        None => Ok("no `claude` on PATH, so its version was not looked at".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_clients_are_told_from_new_ones() {
        for (said, ok) in [
            ("2.1.295", true),
            ("2.1.325", true),
            ("2.2.0-beta.1", true),
            ("3.0.0", true),
            ("2.1.294", false),
            ("1.9.999", false),
            ("new", false),
        ] {
            assert_eq!(judge_client("claude", &Ok(said.to_owned())).is_ok(), ok, "{said}");
        }
        assert!(judge_client("claude", &Err("it exits with 1".to_owned())).is_err());
    }
}
