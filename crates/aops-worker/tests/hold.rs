//! The holder, with real processes that do not want to end.

#![expect(
    clippy::disallowed_methods,
    clippy::similar_names,
    clippy::unwrap_used,
    reason = "tests start programs and stop at what they do not expect"
)]

use aops_worker::alone::Alone;
use aops_worker::hold::{Apart, ENDED, Held, MARK, sweep};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Leaves the group, the session and its parent, and hears no polite signal.
const DAEMON: &str = r#"(setsid nohup sh -c 'trap "" TERM HUP INT; echo up > daemon; while :; do sleep 1; done' >/dev/null 2>&1 &)"#;
const BOTH: [Apart; 2] = [Apart::IfPossible, Apart::Never];

struct Step {
    folder: tempfile::TempDir,
    holder: Child,
    /// Its worker's end.
    pipe: Option<ChildStdin>,
}

impl Step {
    fn start(line: &str, apart: Apart, lock: Option<i32>) -> Self {
        Self::start_for(None, line, apart, lock)
    }

    fn start_for(life: Option<Duration>, line: &str, apart: Apart, lock: Option<i32>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let args = vec!["-c".to_owned(), line.to_owned()];
        let program = "/bin/sh".to_owned();
        let held = Held { grace: Duration::from_millis(200), life, apart, lock, program, args };
        let mut holder = Command::new(env!("CARGO_BIN_EXE_aops-fleet"))
            .args(held.words())
            .env(MARK, folder.path())
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // `Child::wait` would close it.
        let pipe = holder.stdin.take();
        Self { folder, holder, pipe }
    }

    fn there(&self, name: &str) -> bool {
        self.folder.path().join(name).exists()
    }

    /// Processes of this step, its holder among them.
    fn alive(&self) -> usize {
        marked(self.folder.path())
    }

    fn wait(&mut self) -> Option<i32> {
        self.holder.wait().unwrap().code()
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
        sweep(self.folder.path().to_str().unwrap());
    }
}

/// Processes with the mark that are no zombies.
fn marked(folder: &Path) -> usize {
    let mark = format!("{MARK}={}", folder.display()).into_bytes();
    let items = fs::read_dir("/proc").unwrap().flatten();
    let has = |path: &Path| {
        let variables = fs::read(path.join("environ")).unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|variable| variable == mark)
    };
    items.filter(|item| has(&item.path())).count()
}

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_mins(1), "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A worker that is killed closes the pipe; so does one that lets a step go.
#[test]
fn a_closed_pipe_ends_the_whole_tree() {
    for apart in BOTH {
        let mut step = Step::start(&format!("{DAEMON}; echo up > step; sleep 600"), apart, None);
        until("the daemon is up", || step.there("daemon") && step.there("step"));
        drop(step.pipe.take());
        assert_eq!(step.wait(), Some(i32::from(ENDED)), "{apart:?}");
        assert_eq!(step.alive(), 0, "{apart:?}");
    }
}

/// A worker that is frozen keeps the pipe open and says nothing. One that lives says so.
#[test]
fn a_pipe_without_a_sign_of_life_ends_the_whole_tree() {
    let life = Some(Duration::from_millis(500));
    for apart in BOTH {
        let mut step = Step::start_for(life, &format!("{DAEMON}; echo up > step; sleep 600"), apart, None);
        let mut pipe = step.pipe.take().unwrap();
        until("the daemon is up", || {
            pipe.write_all(b".").unwrap();
            step.there("daemon") && step.there("step")
        });
        for _ in 0..12 {
            thread::sleep(Duration::from_millis(100));
            pipe.write_all(b".").unwrap();
            assert_eq!(
                step.holder.try_wait().unwrap(),
                None,
                "it lives as long as its worker says so: {apart:?}"
            );
        }
        assert_eq!((step.wait(), step.alive()), (Some(i32::from(ENDED)), 0), "{apart:?}");
        drop(pipe);
    }
}

#[test]
fn a_polite_signal_to_the_holder_ends_the_whole_tree() {
    for apart in BOTH {
        let mut step = Step::start(&format!("{DAEMON}; sleep 600"), apart, None);
        until("the daemon is up", || step.there("daemon"));
        let pid = Pid::from_raw(i32::try_from(step.holder.id()).unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        assert_eq!(step.wait(), Some(i32::from(ENDED)), "{apart:?}");
        assert_eq!(step.alive(), 0, "{apart:?}");
    }
}

/// A program that can clean up is given the time.
#[test]
fn a_polite_step_ends_by_itself() {
    let line = "trap 'echo bye > bye; exit 0' TERM; echo up > step; while :; do sleep 0.01; done";
    for apart in BOTH {
        let mut step = Step::start(line, apart, None);
        until("the step is up", || step.there("step"));
        drop(step.pipe.take());
        assert_eq!((step.wait(), step.alive()), (Some(i32::from(ENDED)), 0), "{apart:?}");
        assert!(step.there("bye"), "{apart:?}");
    }
}

#[test]
fn what_a_step_leaves_ends_with_it() {
    for apart in BOTH {
        let line = format!("{DAEMON}; while ! test -e daemon; do sleep 0.01; done; echo said; exit 7");
        let mut step = Step::start(&line, apart, None);
        assert_eq!((step.wait(), step.alive()), (Some(7), 0), "{apart:?}");
        let mut said = String::new();
        step.holder.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(said, "said\n");
        let mut step = Step::start("kill -9 $$", apart, None);
        assert_eq!(step.wait(), Some(137), "{apart:?}");
    }
}

/// The kernel ends the namespace with its first process. Where there is none, the daemon lives on and is
/// swept.
#[test]
fn a_holder_that_is_killed_leaves_nothing_or_is_swept() {
    for apart in BOTH {
        let mut step =
            Step::start(&format!("{DAEMON}; readlink /proc/self/ns/pid > ns; sleep 600"), apart, None);
        until("the daemon is up", || step.there("daemon") && step.there("ns"));
        let own = fs::read_link("/proc/self/ns/pid").unwrap();
        let its = fs::read_to_string(step.folder.path().join("ns")).unwrap();
        let is_apart = its.trim() != own.to_str().unwrap();
        assert!(apart == Apart::IfPossible || !is_apart);
        step.holder.kill().unwrap();
        step.wait();
        if is_apart {
            until("the kernel has ended all of it", || step.alive() == 0);
        } else {
            assert!(step.alive() > 0, "the daemon heard nothing of it");
            assert!(sweep(step.folder.path().to_str().unwrap()));
            assert_eq!(step.alive(), 0);
        }
    }
}

/// The next worker serves once the last holder is gone, and a step cannot keep it waiting.
#[test]
fn a_holder_keeps_the_lock_of_its_worker_and_its_step_does_not() {
    let place = tempfile::tempdir().unwrap();
    for apart in BOTH {
        let lock = Alone::take(place.path()).unwrap().unwrap();
        assert!(Alone::take(place.path()).unwrap().is_none(), "a second worker");
        let mut step =
            Step::start("ls -l /proc/self/fd > files; echo up > step; sleep 600", apart, Some(lock.number()));
        until("the step is up", || step.there("step"));
        let files = fs::read_to_string(step.folder.path().join("files")).unwrap();
        assert!(!files.contains("worker.lock") && files.contains("/dev/null"), "{files}");
        drop(lock);
        assert!(Alone::take(place.path()).unwrap().is_none(), "its holder lives: {apart:?}");
        drop(step.pipe.take());
        step.wait();
        assert!(Alone::take(place.path()).unwrap().is_some(), "{apart:?}");
    }
}
