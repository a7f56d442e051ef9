//! The second verifier, `tests/verify_ledger.py`: another language, another author's library, the same rules.

use serde_json::Value;
use std::path::{Path, PathBuf};

/// What it says about each of these session folders.
pub(crate) fn verify(folders: &[PathBuf]) -> Vec<Value> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify_ledger.py");
    let mut command = assert_cmd::Command::new("/usr/bin/env");
    let output = command.args(["python3", "-I"]).arg(script).args(folders).output();
    let output = output.expect("`env` is on every system");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`python3` 3.8 or later is needed: {err}");
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
