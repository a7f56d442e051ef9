//! Whether the variables of a command let it be what its text says: nothing else is started before it or in
//! its place.
//!
//! Reads variables, and where links lead. Invariant: what answers for a person and what starts the command
//! ask the same.

use super::ground::Ground;
use crate::session::memory::OpenCall;
use crate::session::quieted::Quieted;
use crate::system::env::Env;
use crate::text::sha256::sha256;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Variables by which a shell or the loader runs something first. The client starts a shell of its own with
/// them, outside of any jail.
const RUNS_FIRST: [&str; 5] = ["BASH_ENV", "ENV", "LD_AUDIT", "LD_PRELOAD", "PROMPT_COMMAND"];
/// Before a function that a shell hands to the next one.
const FUNCTION: &str = "BASH_FUNC_";
/// What the judgement of a line rests on.
const JUDGED_WITH: [&str; 2] = ["HOME", "PATH"];

/// Why a command with these variables may be another than its text says. `held`: folders in which an agent
/// may put programs.
pub fn disturbance(variables: &[(String, OsString)], held: &[PathBuf]) -> Option<String> {
    for (name, value) in variables {
        let runs = RUNS_FIRST.contains(&name.as_str()) && !value.is_empty() || name.starts_with(FUNCTION);
        if runs {
            return Some(format!("`{name}` runs something first"));
        }
    }
    let path = variables.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    std::env::split_paths(path.unwrap_or(OsStr::new(""))).find_map(|entry| {
        let is_held = |folder: &PathBuf| entry.starts_with(folder);
        let is_odd = !entry.is_absolute() || entry.components().any(|part| part.as_os_str() == "..");
        let found = is_odd
            || held.iter().any(is_held)
            || entry.components().any(|part| part.as_os_str() == "node_modules");
        found.then(|| format!("`PATH` has `{}`, in which an agent may put programs", entry.display()))
    })
}

/// Folders in which an agent may put programs.
pub fn held(ground: &Ground) -> Vec<PathBuf> {
    let real = |folder: &PathBuf| folder.canonicalize().ok();
    let named = || ground.temporary.iter().chain([&ground.project]);
    named().cloned().chain(named().filter_map(real)).collect()
}

/// What the judgement of a line rests on, as a digest.
pub fn digest(variables: &[(String, OsString)], cwd: &Path) -> String {
    let value =
        |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_bytes());
    let mut parts: Vec<&[u8]> = vec![cwd.as_os_str().as_bytes()];
    parts.extend(JUDGED_WITH.iter().map(|name| value(name).unwrap_or_default()));
    sha256(&parts)
}

/// Where a folder and the paths that a line names lead by now, as a digest.
pub fn leads(cwd: &Path, paths: &[String]) -> String {
    let real = |path: &Path| path.canonicalize().map(PathBuf::into_os_string).unwrap_or_default();
    let found: Vec<OsString> = [cwd].into_iter().chain(paths.iter().map(Path::new)).map(real).collect();
    sha256(&found.iter().flat_map(|path| [path.as_bytes(), b"\0"]).collect::<Vec<_>>())
}

/// The judgements of the calls that were answered in a person's place, of all that a command may be.
#[derive(Default)]
pub(super) struct Judged {
    answers: Vec<Quieted>,
    /// There is no other call that it may be.
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

    /// What one of them may not see, none does.
    pub(super) fn hides(&self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> =
            self.answers.iter().flat_map(|answer| &answer.hides).map(PathBuf::from).collect();
        all.sort();
        all.dedup();
        all
    }

    /// A line that nobody was asked about runs as it was judged: in the same folder, with the same variables
    /// and paths, and nothing runs before it or in its place. Of several calls with its text it must be one
    /// as that one was judged.
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
            return Err(
                "nobody was asked about it, and a path that it names leads elsewhere by now".to_owned()
            );
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
            ("PATH", "/home/u/p/bin:/usr/bin"),
            ("PATH", "/usr/bin:/tmp"),
            ("PATH", "/usr/bin:"),
            ("PATH", "bin:/usr/bin"),
            ("PATH", "/home/u/q/../p/bin:/usr/bin"),
            ("PATH", "/home/u/q/node_modules/.bin:/usr/bin"),
        ] {
            assert!(of(name, value).is_some(), "{name}={value}");
        }
        for (name, value) in [("BASH_ENV", ""), ("PATH", "/home/u/.local/bin:/usr/bin"), ("EDITOR", "vi")] {
            assert_eq!(of(name, value), None, "{name}={value}");
        }
    }
}
