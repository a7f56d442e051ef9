//! Gets the unmodified clients from npm, once per target folder.
//!
//! Writes a folder each: `<target>/client-<version>/`, `<target>/codex-<version>/`. Invariant: the folder
//! appears whole or not at all, however many tests want it at once, and npm keeps its cache and its logs out
//! of the home.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The release our observations of the client are about.
pub(crate) const VERSION: &str = "2.1.325";
pub(crate) const CODEX: &str = "0.166.0";
pub(crate) const COPILOT: &str = "1.0.102";
pub(crate) const OPENCODE: &str = "1.18.33";
pub(crate) const GEMINI: &str = "0.61.0";
pub(crate) const QWEN: &str = "0.24.4";
const RESTATE: &str = "1.7.12";

/// One package of npm, and where its program is in it.
struct Package {
    name: &'static str,
    version: &'static str,
    /// What its folder begins with.
    short: &'static str,
    program: String,
}

/// The client's program, fetched if this target folder does not have it yet.
pub(crate) fn program() -> PathBuf {
    let name = "@anthropic-ai/claude-code";
    let program = format!("{name}-{}/claude", platform());
    Package { name, version: VERSION, short: "client", program }.get()
}

/// The same of Codex: the program itself, not the script that starts it.
pub(crate) fn codex() -> PathBuf {
    let name = "@openai/codex";
    let system = if cfg!(target_os = "macos") { "apple-darwin" } else { "unknown-linux-musl" };
    let machine = if cfg!(target_arch = "aarch64") { "aarch64" } else { "x86_64" };
    let program =
        format!("{name}-{}/vendor/{machine}-{system}/bin/codex", platform().trim_end_matches("-musl"));
    Package { name, version: CODEX, short: "codex", program }.get()
}

/// The same of Copilot CLI, and the folder that it unpacks itself into: once, for all tests.
pub(crate) fn copilot() -> (PathBuf, PathBuf) {
    let name = "@github/copilot";
    let program = format!("{name}-{}/copilot", platform().trim_end_matches("-musl"));
    let package = Package { name, version: COPILOT, short: "copilot", program };
    let program = package.get();
    let cache = package.folder().join("cache");
    if !cache.join("whole").exists() {
        let _lock = package.lock();
        let home = tempfile::tempdir().unwrap();
        let mut unpack = assert_cmd::Command::new(&program);
        unpack
            .arg("--version")
            .env("HOME", home.path())
            .env("XDG_CACHE_HOME", &cache)
            .env("COPILOT_AUTO_UPDATE", "false");
        assert!(unpack.output().unwrap().status.success(), "Copilot cannot unpack itself");
        fs::write(cache.join("whole"), "").unwrap();
    }
    (program, cache)
}

/// The same of OpenCode, and the folder with the library that it wants beside a plugin.
pub(crate) fn opencode() -> (PathBuf, PathBuf) {
    let program = format!("opencode-{}/bin/opencode", platform());
    let client = Package { name: "opencode-ai", version: OPENCODE, short: "opencode", program };
    let library = "@opencode-ai/plugin";
    let program = format!("{library}/package.json");
    let library = Package { name: library, version: OPENCODE, short: "opencode-plugin", program };
    let _ = library.get();
    (client.get(), library.folder())
}

/// The same of Gemini CLI: a script for Node.
pub(crate) fn gemini() -> PathBuf {
    let program = ".bin/gemini".to_owned();
    Package { name: "@google/gemini-cli", version: GEMINI, short: "gemini", program }.get()
}

/// The same of Qwen Code.
pub(crate) fn qwen() -> PathBuf {
    let program = ".bin/qwen".to_owned();
    Package { name: "@qwen-code/qwen-code", version: QWEN, short: "qwen", program }.get()
}

/// The server of Restate.
pub(crate) fn restate() -> PathBuf {
    let program =
        format!("@restatedev/restate-server-{}/bin/restate-server", platform().trim_end_matches("-musl"));
    Package { name: "@restatedev/restate-server", version: RESTATE, short: "restate", program }.get()
}

/// npm's name for this machine.
fn platform() -> String {
    let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let musl = if Path::new("/etc/alpine-release").exists() { "-musl" } else { "" };
    format!("{system}-{machine}{musl}")
}

fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap()
}

impl Package {
    fn folder(&self) -> PathBuf {
        target().join(format!("{}-{}", self.short, self.version))
    }

    /// Held by who makes something of it.
    fn lock(&self) -> File {
        let lock = File::create(target().join(format!("{}-{}.lock", self.short, self.version))).unwrap();
        lock.lock().unwrap();
        lock
    }

    fn get(&self) -> PathBuf {
        let folder = self.folder();
        let program = folder.join("node_modules").join(&self.program);
        if program.exists() {
            return program;
        }
        let _lock = self.lock();
        if !program.exists() {
            self.fetch(target(), &folder);
        }
        assert!(
            program.exists(),
            "npm brought no client for this platform: `{}` is missing",
            program.display()
        );
        program
    }

    fn fetch(&self, target: &Path, folder: &Path) {
        let scratch =
            tempfile::Builder::new().prefix(&format!("{}-", self.short)).tempdir_in(target).unwrap();
        let quiet =
            ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel", "error"];
        let output = assert_cmd::Command::new("npm")
            .arg("install")
            .args(quiet)
            .arg("--prefix")
            .arg(scratch.path())
            .arg("--cache")
            .arg(scratch.path().join("cache"))
            .arg(format!("{}@{}", self.name, self.version))
            .current_dir(scratch.path())
            .timeout(Duration::from_mins(4))
            .output()
            .unwrap_or_else(|error| panic!("`npm` cannot be run: {error}\nhint: {}", self.by_hand(folder)));
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "npm did not bring the client: {words}\nhint: {}",
            self.by_hand(folder)
        );
        fs::remove_dir_all(scratch.path().join("cache")).unwrap();
        fs::rename(scratch.keep(), folder).unwrap();
    }

    fn by_hand(&self, folder: &Path) -> String {
        let (folder, name, version) = (folder.display(), self.name, self.version);
        format!(
            "install Node.js with npm, or on a machine that has it run `npm install --prefix {folder} {name}@{version}`"
        )
    }
}
