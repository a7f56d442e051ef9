//! Gets the unmodified client from npm, once per target folder.
//!
//! Writes `<target>/client-<version>/`. Invariant: the folder appears whole or not at all, however many tests want it at
//! once, and npm keeps its cache and its logs out of the home.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The release our observations of the client are about.
pub(crate) const VERSION: &str = "2.1.325";

const PACKAGE: &str = "@anthropic-ai/claude-code";

/// The client's program, fetched if this target folder does not have it yet.
pub(crate) fn program() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let folder = target.join(format!("client-{VERSION}"));
    let program = folder.join("node_modules").join(format!("{PACKAGE}-{}", platform())).join("claude");
    if program.exists() {
        return program;
    }
    let lock = File::create(target.join(format!("client-{VERSION}.lock"))).unwrap();
    lock.lock().unwrap();
    if !program.exists() {
        fetch(target, &folder);
    }
    assert!(program.exists(), "npm brought no client for this platform: `{}` is missing", program.display());
    program
}

/// npm's name for this machine.
fn platform() -> String {
    let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let musl = if Path::new("/etc/alpine-release").exists() { "-musl" } else { "" };
    format!("{system}-{machine}{musl}")
}

fn fetch(target: &Path, folder: &Path) {
    let scratch = tempfile::Builder::new().prefix("client-").tempdir_in(target).unwrap();
    let output = assert_cmd::Command::new("npm")
        .args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel", "error"])
        .arg("--prefix")
        .arg(scratch.path())
        .arg("--cache")
        .arg(scratch.path().join("cache"))
        .arg(format!("{PACKAGE}@{VERSION}"))
        .current_dir(scratch.path())
        .timeout(Duration::from_mins(4))
        .output()
        .unwrap_or_else(|error| panic!("`npm` cannot be run: {error}\nhint: {}", by_hand(folder)));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "npm did not bring the client: {words}\nhint: {}", by_hand(folder));
    fs::remove_dir_all(scratch.path().join("cache")).unwrap();
    fs::rename(scratch.keep(), folder).unwrap();
}

fn by_hand(folder: &Path) -> String {
    format!(
        "install Node.js with npm, or on a machine that has it run `npm install --prefix {} {PACKAGE}@{VERSION}`",
        folder.display()
    )
}
