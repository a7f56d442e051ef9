//! Gets a real tracker, `mb` (minibeads, MIT), once per target folder.
//!
//! Starts `tests/minibeads`, which writes `<target>/tools/`; CI has started it before.
//! Invariant: built once, however many tests want it at once.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/minibeads");
    let by_hand = format!("with a network, run `tests/minibeads {}`", folder.display());
    let output = assert_cmd::Command::new(script)
        .arg(folder)
        .timeout(Duration::from_mins(11))
        .output()
        .unwrap_or_else(|error| panic!("`{script}` cannot be run: {error}\nhint: {by_hand}"));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo did not bring minibeads: {words}\nhint: {by_hand}");
}
