//! A PostgreSQL of its own for a test: a copy of a template that is made once, without fsync, on a socket.

#![expect(clippy::disallowed_methods, reason = "a server that the test starts, kills and starts again")]

use crate::support::Sandbox;
use aops_fleet::{Access, Fleet};
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_mins(1);
/// The user it runs as where the tests run as root, which it refuses.
const NOBODY: u32 = 65534;

pub(crate) struct Postgres {
    folder: TempDir,
    more: Vec<String>,
    port: u16,
    server: Option<Child>,
}

impl Postgres {
    pub(crate) fn start() -> Self {
        Self::on_port(&[], |_| (), 5432)
    }

    /// With these settings more, after a look at its folder, on this port.
    pub(crate) fn on_port(more: &[&str], prepare: impl FnOnce(&Path), port: u16) -> Self {
        let folder = tempfile::Builder::new().prefix("aops-pg-").tempdir_in("/tmp").unwrap();
        copy(&template(), &folder.path().join("data"));
        prepare(&folder.path().join("data"));
        give_away(folder.path());
        let more = more.iter().map(|text| (*text).to_owned()).collect();
        let mut postgres = Self { folder, more, port, server: None };
        postgres.start_again();
        postgres
    }

    /// Also after it was killed.
    pub(crate) fn start_again(&mut self) {
        let end = Instant::now() + PATIENCE;
        loop {
            let mut server = self.spawn();
            loop {
                if self.is_up() {
                    self.server = Some(server);
                    return;
                }
                assert!(Instant::now() < end, "it did not come up: {}", self.said());
                if server.try_wait().unwrap().is_some() {
                    break; // children of a killed one may still be there: once more
                }
                thread::sleep(Duration::from_millis(10));
            }
        }
    }

    fn spawn(&self) -> Child {
        let said = File::options().append(true).create(true).open(self.folder.path().join("said")).unwrap();
        let mut command = as_user(&program("postgres"));
        command.arg("-D").arg(self.folder.path().join("data")).arg("-k").arg(self.folder.path());
        for setting in ["fsync=off", "full_page_writes=off", "autovacuum=off", "max_connections=60"] {
            command.args(["-c", setting]);
        }
        if !self.more.iter().any(|setting| setting.starts_with("listen_addresses")) {
            command.args(["-c", "listen_addresses="]);
        }
        for setting in &self.more {
            command.args(["-c", setting]);
        }
        command.stdin(Stdio::null()).stdout(said.try_clone().unwrap()).stderr(said);
        command.spawn().expect("`setpriv` is needed: install the package `util-linux`")
    }

    fn said(&self) -> String {
        fs::read_to_string(self.folder.path().join("said")).unwrap_or_default()
    }

    fn is_up(&self) -> bool {
        Fleet::open_any(&access(&self.url())).is_ok()
    }

    /// SIGKILL: as if the machine had lost its power, but for the disk.
    pub(crate) fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
    }

    pub(crate) fn url(&self) -> String {
        let folder = self.folder.path().to_str().unwrap().replace('/', "%2F");
        format!("postgresql://aops@{folder}:{}/postgres", self.port)
    }

    /// A connection as the program makes it.
    pub(crate) fn fleet(&self) -> Fleet {
        Fleet::open(&access(&self.url())).unwrap()
    }

    /// With tables.
    pub(crate) fn with_tables() -> Self {
        let postgres = Self::start();
        Fleet::open_any(&access(&postgres.url())).unwrap().migrate().unwrap();
        postgres
    }

    /// What one statement gives, a line for each row; for tests only.
    pub(crate) fn sql(&self, text: &str) -> String {
        let mut command = as_user(&program("psql"));
        command.args([
            "-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-U", "aops", "-d", "postgres", "-c", text,
        ]);
        command.args(["-p", &self.port.to_string()]);
        let output = command.arg("-h").arg(self.folder.path()).output().unwrap();
        assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// The configuration of a machine that shares it.
    pub(crate) fn configure(&self, sandbox: &Sandbox, more: &str) {
        sandbox.configure(&format!(
            "tracker.command = \"none\"\naudit.rate = 0\nfleet.url = \"{}\"\n{more}",
            self.url()
        ));
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) fn access(url: &str) -> Access<'_> {
    Access { url, password: None, trust: &|| Err("no TLS here".to_owned()) }
}

/// Debian keeps each version in a folder of its own, and none on PATH.
pub(crate) fn program(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = versions.map(|version| version.path().join("bin").join(name)).collect();
    let path = Sandbox::new().environment().into_iter().find(|(name, _)| name == "PATH").unwrap().1;
    found.extend(std::env::split_paths(&path).map(|folder| folder.join(name)));
    let found = found.into_iter().find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("`{name}` is needed: install the package `postgresql`"))
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// It ends when this process does.
fn as_user(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.env_clear().env("LANG", "C.UTF-8").env("TZ", "UTC0").current_dir("/");
    if is_root() {
        command.args([&format!("--reuid={NOBODY}"), &format!("--regid={NOBODY}"), "--clear-groups"]);
    }
    command.args(["--pdeathsig", "QUIT"]).arg(program);
    command
}

fn give_away(folder: &Path) {
    if is_root() {
        let owner = format!("{NOBODY}:{NOBODY}");
        assert!(Command::new("chown").args(["-R", &owner]).arg(folder).status().unwrap().success());
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
}

fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp").args(["-a", "--reflink=auto"]).args([from, to]).status().unwrap();
    assert!(done.success());
}

/// A cluster that was initialised once and never started; an ordinary user may have a folder of its own for
/// it.
fn template() -> PathBuf {
    let own = std::env::temp_dir().join(format!("aops-pg-{}", fs::metadata("/proc/self").unwrap().uid()));
    let lock_in = |folder: &PathBuf| File::create(folder.join("postgres.lock"));
    let mut target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let lock = lock_in(&target).or_else(|_| {
        fs::create_dir_all(&own)?;
        target = own;
        lock_in(&target)
    });
    let (place, lock) = (target.join("postgres"), lock.unwrap());
    lock.lock().unwrap();
    if !place.exists() {
        let folder = tempfile::Builder::new().prefix("aops-pg-").tempdir_in("/tmp").unwrap();
        give_away(folder.path());
        let data = folder.path().join("data");
        let mut init = as_user(&program("initdb"));
        init.args(["-N", "-U", "aops", "-A", "trust", "-E", "UTF8", "--no-locale", "--wal-segsize=1", "-D"])
            .arg(&data);
        let output = init.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        copy(&data, &target.join("postgres.new"));
        fs::rename(target.join("postgres.new"), &place).unwrap();
    }
    place
}
