//! Runs lines in a root of their own: namespaces without network, the system's folders read-only, a home of
//! tmpfs. What a line changed there is what it may change.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

fn driver() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fuzz/run-lines")
}

#[expect(clippy::disallowed_methods, reason = "namespaces around the lines")]
fn started(lines: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lines");
    fs::write(&file, lines).unwrap();
    let mut command = Command::new("unshare");
    command.args([
        "--user", "--map-root-user", "--mount", "--pid", "--fork", "--net", "--ipc", "--kill-child", "bash",
    ]);
    command.arg(driver()).arg(&file).arg(folder.path().join("root")).output().expect("unshare")
}

/// Namespaces may be forbidden here, as in some containers.
pub(super) fn is_to_be_had() -> bool {
    started("").status.success()
}

/// The lines that changed something.
pub(super) fn run(lines: &[String]) -> Vec<String> {
    let given: String = lines.iter().flat_map(|line| [line, "\0"]).collect();
    let output = started(&given);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let (changed, count) = said.rsplit_once('\u{1}').expect("the number of lines");
    assert_eq!(
        count.trim().parse(),
        Ok(lines.len()),
        "each was run: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    changed.split_terminator('\0').map(str::to_owned).collect()
}
