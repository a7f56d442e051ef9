//! A sandbox with a tracker in it, and a look at every process that belongs to it.

use super::minibeads;
use crate::support::{BINARY, Sandbox};
use aops_core::briefing::tracker::{self, Item, Snapshot};
use aops_core::system::env::Env;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

pub(super) struct World {
    pub(super) sandbox: Sandbox,
    /// The tracker's program.
    pub(super) command: String,
}

impl World {
    /// A project whose tracker is this shell script.
    pub(super) fn scripted(text: &str) -> Self {
        let sandbox = Sandbox::new();
        let command = sandbox.home().join("bd");
        fs::write(&command, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&command, fs::Permissions::from_mode(0o755)).unwrap();
        Self { sandbox, command: command.to_str().unwrap().to_owned() }
    }

    /// A project with a real, empty tracker.
    pub(super) fn real() -> Self {
        let world =
            Self { sandbox: Sandbox::new(), command: minibeads::program().to_str().unwrap().to_owned() };
        world.mb(&["init", "--prefix", "demo"]);
        world
    }

    /// The same in a repository with a remote, with this configuration beside the tracker's.
    pub(super) fn repository(more: &str) -> Self {
        let world = Self {
            sandbox: Sandbox::repository("0.0"),
            command: minibeads::program().to_str().unwrap().to_owned(),
        };
        world.mb(&["init", "--prefix", "demo"]);
        let slow = "[hydration]\ndeadline_ms = 5000\n"; // on a busy machine a memory server answers late
        world.sandbox.configure(&format!(
            "[audit]\nrate = 0.0\n{slow}[tracker]\ncommand = \"{}\"\n{more}",
            world.command
        ));
        world
    }

    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.sandbox = self.sandbox.with(name, value);
        self
    }

    /// The real tracker, used by a person.
    pub(super) fn mb(&self, arguments: &[&str]) -> Value {
        let program = minibeads::program();
        let mut command = self.sandbox.command(program.to_str().unwrap());
        let said = command.args(["--mb-no-cmd-logging", "--json"]).args(arguments).output().unwrap();
        assert!(said.status.success(), "{arguments:?}: {said:?}");
        serde_json::from_slice(&said.stdout).unwrap_or_default()
    }

    pub(super) fn project(&self) -> String {
        self.sandbox.project().to_str().unwrap().to_owned()
    }

    pub(super) fn env(&self) -> Env {
        Env { config: self.sandbox.config(), now_ms: now_ms(), ..Env::default() }
    }

    /// As a hook starts it.
    pub(super) fn start(&self) {
        let said =
            self.sandbox.command(BINARY).args(["__refresh-start", &self.project(), &self.command]).output();
        let said = said.unwrap();
        assert!(said.status.success() && said.stdout.is_empty() && said.stderr.is_empty(), "{said:?}");
    }

    /// One refresh from start to end.
    pub(super) fn refresh(&self) -> Snapshot {
        let file = tracker::snapshot_file(&self.env(), &self.project());
        let written = || fs::metadata(&file).ok().map(|known| (known.ino(), known.modified().unwrap()));
        let before = written();
        self.start();
        self.wait_until("it left a snapshot", || written() != before);
        self.wait_until("nothing of it runs", || self.alive().is_empty());
        self.snapshot()
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        tracker::snapshot(&self.env(), &self.sandbox.project())
    }

    pub(super) fn enqueue(&self, item: Item) -> String {
        tracker::enqueue(&self.env(), &self.sandbox.project(), item).unwrap()
    }

    pub(super) fn waiting(&self) -> usize {
        tracker::queue::waiting(&self.env(), &self.project()).len()
    }

    #[track_caller]
    pub(super) fn wait_until(&self, what: &str, done: impl Fn() -> bool) {
        self.sandbox.wait_until(what, done);
    }

    pub(super) fn alive(&self) -> Vec<(i32, String)> {
        self.sandbox.alive()
    }

    /// A process of this sandbox whose command line has these words.
    pub(super) fn runs(&self, words: &str) -> bool {
        self.alive().iter().any(|(_, line)| line.contains(words))
    }

    /// `kill -9` of whichever process has this verb; gives whether there was one.
    pub(super) fn kill(&self, verb: &str) -> bool {
        let verb = format!(" {verb} ");
        let found = self.alive().into_iter().find(|(_, line)| line.contains(&verb));
        found.is_some_and(|(pid, _)| {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).is_ok()
        })
    }

    /// Names and contents of everything below the project.
    pub(super) fn tree(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![self.sandbox.project()];
        while let Some(folder) = folders.pop() {
            for item in fs::read_dir(folder).unwrap().flatten() {
                if item.path().is_dir() { folders.push(item.path()) } else { found.push(item.path()) }
            }
        }
        found.sort();
        found.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }
}

#[expect(clippy::disallowed_methods, reason = "a test has a clock of its own")]
fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}
