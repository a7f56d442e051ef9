//! Gets a real tracker, `mb` (minibeads, MIT), once per target folder.
//!
//! Writes `<target>/tools/`. Invariant: built once, however many tests want it at once.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

const VERSION: &str = "0.25.0";

/// The program, built if this target folder does not have it yet.
pub(crate) fn program() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let folder = target.join("tools");
    let program = folder.join("bin/mb");
    let lock = File::create(target.join("tools.lock")).unwrap();
    lock.lock().unwrap();
    if !program.exists() {
        install(&folder);
    }
    assert!(program.exists(), "cargo installed no `{}`", program.display());
    program
}

fn install(folder: &Path) {
    let by_hand = format!(
        "with a network, run `cargo install minibeads --version {VERSION} --locked --debug --root {}`",
        folder.display()
    );
    let output = assert_cmd::Command::new("cargo")
        .args(["install", "minibeads", "--version", VERSION, "--locked", "--debug", "--quiet", "--root"])
        .arg(folder)
        .envs([("CARGO_PROFILE_DEV_DEBUG", "0"), ("CARGO_INCREMENTAL", "0")]) // built once, never debugged
        // Outside our own tree, whose settings for static programs are not meant for it.
        .current_dir(std::env::temp_dir())
        .timeout(Duration::from_mins(11))
        .output()
        .unwrap_or_else(|error| panic!("`cargo` cannot be run: {error}\nhint: {by_hand}"));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo did not bring minibeads: {words}\nhint: {by_hand}");
}
