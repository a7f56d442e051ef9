//! Starts the refresher: a separate process that asks the tracker, witnesses and other machines in the
//! background.
//!
//! Starts this program with an internal verb, detached. Invariant: no event waits for it.

use crate::system::env::{Env, HeldNetwork};
use crate::system::process::detached;
use crate::system::process::program::{Identity, Program};
use std::ffi::OsString;
use std::io;
use std::path::Path;

/// The refresher's internal verb.
pub const WATCH: &str = "__refresh";
/// The verb of the process that attests commits.
pub const ATTEST: &str = "__attest";
/// The variable that tells such a process which session network to use.
const NETWORK: &str = "AOPS_NETWORK";
/// The folder for statements in the session's folder, and the file ending of unpublished ones.
pub const ATTEST_FOLDER: &str = "attest";
pub const ATTEST_MADE: &str = "json";
/// Used as the tracker's command if there is no tracker.
pub const NO_TRACKER: &str = "none";

/// Starts a refresher for this project, without waiting for it.
pub fn spawn(env: &Env, project: &Path, command: &str) -> io::Result<()> {
    let variables = variables(env);
    detached::start(
        &Program::find(env, Identity::Own)?,
        &[WATCH, &project.to_string_lossy(), command],
        &variables,
    )
    .map(drop)
}

/// Starts the process that attests the commits of the session in this folder, without waiting for it.
pub fn spawn_attest(env: &Env, folder: &Path, trace: &str) -> io::Result<()> {
    let variables = variables(env);
    detached::start(
        &Program::find(env, Identity::Own)?,
        &[ATTEST, &folder.to_string_lossy(), trace],
        &variables,
    )
    .map(drop)
}

/// Programs that such a process starts on an agent's files use the session's network.
fn variables(env: &Env) -> Vec<(String, OsString)> {
    let mut all = env.variables(|name| passed_on(name) && name != NETWORK);
    all.extend(env.told.network.get().map(|network| (NETWORK.to_owned(), network.to_text().into())));
    all
}

/// In such a process: takes over the session's network settings.
pub fn take_network(env: &Env) {
    if let Some((_, text)) = env.variables(|name| name == NETWORK).pop() {
        let _ = env.told.network.set(HeldNetwork::of_text(&text.to_string_lossy()));
    }
}

/// A statement of this session was made but not published: its process was killed, or git failed.
pub fn left_statements(folder: &Path) -> bool {
    let items = std::fs::read_dir(folder.join(ATTEST_FOLDER)).into_iter().flatten().flatten();
    items.into_iter().any(|item| item.path().extension().is_some_and(|ending| ending == ATTEST_MADE))
}

/// Variables that determine our folders, the tracker's folders, and the language.
pub fn passed_on(name: &str) -> bool {
    let ours = [
        NETWORK,
        "CLAUDE_CODE_SHELL_PREFIX",
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_PROJECT_DIR",
        "ACA_DATA",
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "LANG",
        "TZ",
        "TMPDIR",
    ];
    let families =
        ["BD_", "BEADS_", "XDG_", "LC_", "GIT_AUTHOR_", "GIT_COMMITTER_", "OTEL_EXPORTER_OTLP_", "SSL_CERT_"];
    ours.contains(&name)
        || families.iter().any(|family| name.starts_with(family))
        || (cfg!(test_switches) && name.starts_with("AOPS_TEST_"))
}
