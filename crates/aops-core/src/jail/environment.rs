//! Whether the environment lets a command do what its text says: nothing else may start before it or in its
//! place.
//!
//! Reads variables, and where links lead. Invariant: the code that answers in a person's place and the code
//! that starts the command make the same checks.

use super::ground::Ground;
use crate::session::memory::OpenCall;
use crate::session::quieted::Quieted;
use crate::system::env::Env;
use crate::system::leading::{Lead, lead};
use crate::text::sha256::sha256;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Variables that a command line was judged with.
const JUDGED_WITH: [&str; 2] = ["HOME", "PATH"];

/// Why a command with these variables may do something else than its text says. `held`: folders into which
/// an agent can put programs.
pub fn disturbance(variables: &[(String, OsString)], held: &[PathBuf]) -> Option<String> {
    let set = || variables.iter().filter(|(_, value)| !value.is_empty());
    let mut leading = set().filter_map(|(name, value)| Some((name, value, lead(name)?)));
    let led = leading.find_map(|(name, value, lead)| match lead {
        Lead::Runs => Some(format!("`{name}` runs something first")),
        Lead::Loads => named_in(name, value, held)
            .map(|path| format!("`{name}` contains `{path}`, where an agent could put what it loads")),
        // They run inside the jail.
        Lead::Starts => None,
    });
    if led.is_some() {
        return led;
    }
    let path = variables.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    std::env::split_paths(path.unwrap_or(OsStr::new(""))).find_map(|entry| {
        is_loose(&entry, held)
            .then(|| format!("`PATH` contains `{}`, where an agent could put programs", entry.display()))
    })
}

/// An agent may put something there.
fn is_loose(path: &Path, held: &[PathBuf]) -> bool {
    let has = |name: &str| path.components().any(|part| part.as_os_str() == name);
    !path.is_absolute()
        || has("..")
        || has("node_modules")
        || held.iter().any(|folder| path.starts_with(folder))
}

/// The first path in this value of a variable that an agent may fill. In a list of folders, an empty entry is
/// the working directory.
fn named_in(name: &str, value: &OsStr, held: &[PathBuf]) -> Option<String> {
    let text = value.to_string_lossy();
    if name.ends_with("PATH") {
        let mut entries = text.split([':', ';']).map(Path::new);
        return entries.find(|entry| is_loose(entry, held)).map(|entry| entry.display().to_string());
    }
    let mut words = text.split([' ', ':', ';', '=']);
    let is_named = |word: &&str| word.contains('/') && is_loose(Path::new(word), held);
    words.find(is_named).map(str::to_owned)
}

/// Folders in which an agent may put programs.
pub fn held(ground: &Ground) -> Vec<PathBuf> {
    let real = |folder: &PathBuf| folder.canonicalize().ok();
    let named = || ground.temporary.iter().chain([&ground.project]);
    named().cloned().chain(named().filter_map(real)).collect()
}

/// Digest of the folder and the variables that a command line was judged with.
pub fn digest(variables: &[(String, OsString)], cwd: &Path) -> String {
    let value =
        |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_bytes());
    let mut parts: Vec<&[u8]> = vec![cwd.as_os_str().as_bytes()];
    parts.extend(JUDGED_WITH.iter().map(|name| value(name).unwrap_or_default()));
    sha256(&parts)
}

/// Digest of where a folder and the paths named in a command line lead right now.
pub fn leads(cwd: &Path, paths: &[String]) -> String {
    let real = |path: &Path| path.canonicalize().map(PathBuf::into_os_string).unwrap_or_default();
    let found: Vec<OsString> = [cwd].into_iter().chain(paths.iter().map(Path::new)).map(real).collect();
    sha256(&found.iter().flat_map(|path| [path.as_bytes(), b"\0"]).collect::<Vec<_>>())
}

/// Judgements of the calls that were answered in a person's place. A shell command may belong to any of
/// several open calls with the same text.
#[derive(Default)]
pub(super) struct Judged {
    answers: Vec<Quieted>,
    /// All calls that the command may belong to were answered this way.
    alone: bool,
}

impl Judged {
    pub(super) fn of(calls: &[&OpenCall]) -> Self {
        let answers: Vec<Quieted> =
            calls.iter().filter_map(|open| open.means.quiet.as_deref().cloned()).collect();
        Self { alone: answers.len() == calls.len(), answers }
    }

    pub(super) fn is_none(&self) -> bool {
        self.answers.is_empty()
    }

    /// Paths that any of these calls must not see are hidden from the command.
    pub(super) fn hides(&self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> =
            self.answers.iter().flat_map(|answer| &answer.hides).map(PathBuf::from).collect();
        all.sort();
        all.dedup();
        all
    }

    /// A command that no person approved runs exactly as it was judged: in the same folder, with the same
    /// variables and paths, and nothing runs before it or in its place. Among several calls with the same
    /// text, at least one must have been judged under these conditions.
    pub(super) fn check(&self, ground: &Ground, env: &Env) -> Result<(), String> {
        if self.is_none() {
            return Ok(());
        }
        let variables = env.variables(|_| true);
        if let Some(why) = disturbance(&variables, &held(ground)) {
            return Err(format!("nobody was asked about it, and {why}"));
        }
        let now = digest(&variables, &env.cwd);
        let same: Vec<&Quieted> = self.answers.iter().filter(|judged| judged.environment == now).collect();
        if self.alone && same.is_empty() {
            let why = "it was judged in another folder or with other variables";
            return Err(format!("nobody was asked about it, and {why}"));
        }
        if same.iter().any(|judged| leads(&env.cwd, &judged.reads) != judged.leads) {
            return Err("nobody was asked about it, and a path that it names now leads elsewhere".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, value: &str) -> Option<String> {
        let path = ("PATH".to_owned(), OsString::from("/usr/bin:/bin"));
        let mut variables = vec![(name.to_owned(), OsString::from(value))];
        variables.extend((name != "PATH").then_some(path));
        disturbance(&variables, &["/home/u/p".into(), "/tmp".into()])
    }

    #[test]
    fn what_runs_first_or_in_its_place_disturbs() {
        for (name, value) in [
            ("BASH_ENV", "/x"),
            ("ENV", "x"),
            ("LD_PRELOAD", "x.so"),
            ("LD_AUDIT", "x.so"),
            ("PROMPT_COMMAND", "x"),
            ("BASH_FUNC_ls%%", "() {  :; }"),
            ("SHELLOPTS", "xtrace"),
            ("PS4", "$(x)"),
            ("LD_LIBRARY_PATH", "/usr/lib:/home/u/p/lib"),
            ("LD_LIBRARY_PATH", "/usr/lib:"),
            ("ZDOTDIR", "/tmp/x"),
            ("PATH", "/home/u/p/bin:/usr/bin"),
            ("PATH", "/usr/bin:/tmp"),
            ("PATH", "/usr/bin:"),
            ("PATH", "bin:/usr/bin"),
            ("PATH", "/home/u/q/../p/bin:/usr/bin"),
            ("PATH", "/home/u/q/node_modules/.bin:/usr/bin"),
        ] {
            assert!(of(name, value).is_some(), "{name}={value}");
        }
        for (name, value) in [
            ("BASH_ENV", ""),
            ("PATH", "/home/u/.local/bin:/usr/bin"),
            ("EDITOR", "vi"),
            ("GIT_EDITOR", "true"),
            ("GIT_SSH_COMMAND", "/home/u/p/ssh"),
            ("LD_LIBRARY_PATH", "/usr/local/cuda/lib64"),
            ("NODE_OPTIONS", "--require /home/u/p/x.js"),
            ("SHELL", "/bin/bash"),
            ("TERMINFO", "/usr/lib/kitty/terminfo"),
            ("ZDOTDIR", "/home/u/.zsh"),
        ] {
            assert_eq!(of(name, value), None, "{name}={value}");
        }
    }
}
