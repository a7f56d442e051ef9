//! Checks that the registered program exists, is executable and has this version; that our texts are in
//! place; and that the client blocks a call when a hook crashes, which older versions do not.
//!
//! Reads files and asks each registered program, and `claude`, for its version in a throwaway home.

use super::registration::{HookFile, HookFileKind, Scene, install, install_at, several};
use super::{Report, bad, report, shell_word};
use crate::cli::install::Level;
use crate::cli::install::placing::{OwnText, Placing, found_by_script};
use crate::cli::install::receipt::Receipt;
use crate::cli::world::World;
use aops_core::host::claude::settings::{Registered, SCRIPT_COMMAND};
use aops_core::system::files;
use aops_core::system::process::Ending;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The first version of the client that supports `onFailure`.
const FIRST_CLIENT: [u32; 3] = [2, 1, 295];

/// The path of a registered program; a bare name is looked up as the client would.
pub(super) fn path(scene: &Scene, one: &Registered) -> PathBuf {
    if one.program() == SCRIPT_COMMAND {
        return found_by_script(scene.env)
            .unwrap_or_else(|| scene.env.from_here(".claude/aops-hook".as_ref()));
    }
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
    let well = if shown.is_empty() {
        "none registered".to_owned()
    } else {
        format!("{VERSION}, {}", shown.join(", "))
    };
    report(wrong, well)
}

/// The problem with a registered program, and the fix.
fn program(scene: &Scene, path: &Path) -> Option<(String, String)> {
    let shown = path.display();
    let install = install(scene);
    if !path.is_file() {
        return Some((format!("`{shown}` is registered but does not exist"), install));
    }
    if !executable(path) {
        return Some((
            format!("`{shown}` has lost its execute bit"),
            format!("run `chmod +x {}`", shell_word(path)),
        ));
    }
    match version(scene, path, "aops-hook ") {
        Ok(theirs) if theirs == VERSION => None,
        Ok(theirs) => Some((format!("`{shown}` is version {theirs}, this is {VERSION}"), install)),
        Err(words) => {
            let fix = format!("rebuild it with `./install.sh`, or {install} with a program that works");
            Some((format!("`{shown}` does not print its version: {words}"), fix))
        }
    }
}

/// The first version number in the output of `--version`.
pub(super) fn any_version(scene: &Scene, path: &Path) -> Result<String, String> {
    let said = say_version(scene, path)?;
    let number = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric()).trim_start_matches('v').to_owned();
        version_of(&word).is_some().then_some(word)
    };
    said.split_whitespace().find_map(number).ok_or_else(|| format!("it says `{said}`"))
}

/// The first word of a program's `--version` output, after this prefix.
fn version(scene: &Scene, path: &Path, prefix: &str) -> Result<String, String> {
    let said = say_version(scene, path)?;
    match said.strip_prefix(prefix) {
        Some(rest) => Ok(rest.split_whitespace().next().unwrap_or_default().to_owned()),
        None => Err(format!("it says `{said}`")),
    }
}

fn say_version(scene: &Scene, path: &Path) -> Result<String, String> {
    let search = scene.env.search_path();
    let ask = |world: World| {
        world.run(scene.env, path, &["--version".to_owned()], &search, None, Duration::from_secs(20))
    };
    let asked = World::new("version", "").and_then(ask).map_err(|error| error.to_string())?;
    match asked.ending {
        Ending::Exit(0) => Ok(String::from_utf8_lossy(&asked.stdout).trim().to_owned()),
        Ending::Exit(code) => Err(format!("it exits with {code}")),
        Ending::Signal(signal) => Err(format!("signal {signal} killed it")),
        Ending::TimedOut => Err("it does not end".to_owned()),
    }
}

/// Our agents and commands are in the host's folder, unless the plugin provides them.
pub(super) fn texts(scene: &Scene) -> Report {
    if !scene.ours().any(|(place, _)| matches!(place.kind, HookFileKind::Settings(_))) {
        return Ok(String::new());
    }
    let receipt = Receipt::read(scene.env).unwrap_or_default();
    let mut wrong = Vec::new();
    let mut well = Vec::new();
    for level in Level::ALL {
        let is_here = |(place, _): &(&HookFile, &Registered)| place.kind == HookFileKind::Settings(level);
        let Some((_, one)) = scene.ours().find(is_here) else { continue };
        let folder = level.folder(scene.env);
        let placing = Placing::of(scene.env, level, &path(scene, one).to_string_lossy(), &receipt);
        // A registered command may also be the running program itself.
        let itself = scene.env.program().unwrap_or_default();
        let second = Placing::of(scene.env, level, &itself.to_string_lossy(), &receipt);
        let there = |own: &OwnText| files::read(&own.path).is_ok_and(|bytes| bytes == own.text.as_bytes());
        let pairs =
            placing.texts.iter().zip(&second.texts).filter(|(one, other)| !there(one) && !there(other));
        let below = |path: &Path| path.strip_prefix(&folder).unwrap_or(path).display().to_string();
        let missing: Vec<String> = pairs.map(|(own, _)| below(&own.path)).collect();
        let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
        let shown = folder.display();
        if !missing.is_empty() {
            wrong
                .push((format!("missing or changed in `{shown}`: {}", several(&missing)), install_at(level)));
        }
        well.push(format!("{} agents and commands in `{shown}`", placing.texts.len()));
    }
    report(wrong, well.join("; "))
}

pub(super) fn version_of(text: &str) -> Option<[u32; 3]> {
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
        None => Ok(String::new()),
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
