//! A mount namespace of our own: small disks, read-only folders, another boot. Gone when dropped.

use crate::support::{Answer, BINARY, Sandbox};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

pub(crate) struct Namespace {
    holder: Child,
}

impl Namespace {
    /// With these mounts, given as lines of shell.
    #[expect(clippy::disallowed_methods, reason = "held open for the whole test, which assert_cmd cannot")]
    pub(crate) fn new(mounts: &str) -> Self {
        let script = format!("{{ {mounts}; }} >&2 && echo ready && exec cat");
        let mut command = std::process::Command::new("unshare");
        command
            .args(["--mount", "sh", "-ec", &script])
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut holder = spawned.expect("`unshare` is needed: install util-linux");
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(
            line, "ready\n",
            "mounting needs root: run the tests as root, or with CAP_SYS_ADMIN (docker: --privileged)"
        );
        Self { holder }
    }

    /// A path as it looks in there.
    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{}", self.holder.id(), path.display()))
    }

    /// The hook in there.
    pub(crate) fn hook(&self, sandbox: &Sandbox, event: &str, payload: &Value) -> Answer {
        let pid = self.holder.id().to_string();
        let mut command = sandbox.command("nsenter");
        command.args(["--mount", "--target", &pid, BINARY, event]).write_stdin(payload.to_string());
        Answer::of(event, &command.output().expect("`nsenter` is needed: install util-linux"))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        self.holder.wait().unwrap();
    }
}
