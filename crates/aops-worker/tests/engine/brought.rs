//! What npm brings once for this target folder: the engine's server, and the checker of pages.

use crate::world::FLEET;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

const SERVER: &str = "1.7.12";
const AXE: &str = "4.10.3";

/// A file of this package.
fn brought(name: &str, package: &str, version: &str, file: &str) -> PathBuf {
    let target = Path::new(FLEET).ancestors().nth(2).unwrap();
    let folder = target.join(format!("{name}-{version}"));
    let lock = File::create(target.join(format!("{name}-{version}.lock"))).unwrap();
    lock.lock().unwrap();
    if !folder.join(file).exists() {
        let scratch = tempfile::Builder::new().prefix(&format!("{name}-")).tempdir_in(target).unwrap();
        let npm = Command::new("npm")
            .args([
                "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error", "--prefix",
            ])
            .arg(scratch.path())
            .arg("--cache")
            .arg(scratch.path().join("cache"))
            .arg(format!("{package}@{version}"))
            .current_dir(scratch.path())
            .output()
            .expect("`npm` is needed: install Node.js");
        assert!(npm.status.success(), "npm: {}", String::from_utf8_lossy(&npm.stderr));
        fs::remove_dir_all(scratch.path().join("cache")).unwrap();
        fs::rename(scratch.keep(), &folder).unwrap();
    }
    folder.join(file)
}

pub(crate) fn server_program() -> PathBuf {
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let file = format!("node_modules/@restatedev/restate-server-linux-{machine}/bin/restate-server");
    brought("restate", "@restatedev/restate-server", SERVER, &file)
}

/// The source of axe, which finds what a screen reader cannot use.
pub(crate) fn axe() -> String {
    fs::read_to_string(brought("axe-core", "axe-core", AXE, "node_modules/axe-core/axe.min.js")).unwrap()
}
