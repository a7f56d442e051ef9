//! Starts `git`: no hook, no file-system monitor, no optional lock, the user's own configuration.
//!
//! Invariant: an answer is whole or there is none. [`beginning`] is the exception; its callers tell that they cut.

use crate::model::error::{Code, Failure};
use crate::system::env::Env;
use crate::system::process::{self, Ending, Outcome};
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

/// No list of paths is longer. It bounds memory against a repository that is made to fill it.
const LONGEST: usize = 256 << 20;
/// Of a text for people.
const BEGINNING: usize = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(8);

/// `None`: no git, no repository, an error, or no answer in time.
pub(super) fn git(env: &Env, cwd: &Path, args: &[&str]) -> Option<Vec<u8>> {
    git_with(env, cwd, args, &[], PATIENCE)
}

/// Without the line feed at the end.
pub(super) fn git_line(env: &Env, cwd: &Path, args: &[&str]) -> Option<String> {
    String::from_utf8(git(env, cwd, args)?).ok().map(|said| said.trim_end_matches('\n').to_owned())
}

pub(super) fn git_with(
    env: &Env,
    cwd: &Path,
    args: &[&str],
    variables: &[(&str, &OsStr)],
    timeout: Duration,
) -> Option<Vec<u8>> {
    start(env, cwd, args, variables, (timeout, LONGEST)).filter(|said| !said.cut).map(|said| said.stdout)
}

/// At most the first mebibyte.
pub(super) fn beginning(env: &Env, cwd: &Path, args: &[&str]) -> String {
    let said = start(env, cwd, args, &[], (PATIENCE, BEGINNING));
    said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned()).unwrap_or_default()
}

/// Everything that is tracked in this folder or below, even if it is deleted: relative paths, each followed by a zero
/// byte. `None` where git does not answer.
pub fn tracked(env: &Env, folder: &Path) -> Result<Option<Vec<u8>>, Failure> {
    match start(env, folder, &["ls-files", "-z", "--cached"], &[], (PATIENCE, LONGEST)) {
        Some(said) if said.cut => {
            let what = format!("`{}`: git tracks more than {} MB of paths", folder.display(), LONGEST >> 20);
            Err(Failure::new(Code::StorageFailed, what))
        }
        said => Ok(said.map(|said| said.stdout)),
    }
}

fn start(
    env: &Env,
    cwd: &Path,
    args: &[&str],
    more: &[(&str, &OsStr)],
    (timeout, keep): (Duration, usize),
) -> Option<Outcome> {
    let program = env.on_path("git")?;
    let quiet = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks"];
    let args: Vec<String> = quiet.iter().chain(args).map(|arg| (*arg).to_owned()).collect();
    let path = env.search_path();
    let always = [("HOME", env.home.as_os_str()), ("PATH", path.as_os_str()), ("LC_ALL", OsStr::new("C"))];
    // It moves the user's configuration and ignore list of git.
    let moved = env.folders.iter().filter(|(name, _)| name == "XDG_CONFIG_HOME");
    let moved = moved.map(|(name, value)| (name.as_str(), OsStr::new(value)));
    let variables: Vec<(&str, &OsStr)> = always.iter().chain(more).copied().chain(moved).collect();
    let task =
        process::Task { program: &program, args: &args, folder: cwd, variables: &variables, input: b"", timeout, keep };
    process::run(&task).ok().filter(|said| said.ending == Ending::Exit(0))
}
