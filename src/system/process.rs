//! Starts a program, feeds it, waits so long and no longer, and hands back what it said.
//!
//! The one place that starts processes. The child is alone in its group, unless it is to share ours, and sees only the
//! variables it is given. Invariants: output beyond the bound is read and dropped, so no child hangs on a full pipe; after
//! the time is up the whole group is killed.

pub mod detached;
pub mod kin;

use crate::system::signal;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// What to start and how.
#[derive(Debug)]
pub struct Task<'a> {
    pub program: &'a Path,
    pub args: &'a [String],
    pub folder: &'a Path,
    /// All it sees.
    pub variables: &'a [(&'a str, &'a std::ffi::OsStr)],
    pub input: &'a [u8],
    pub timeout: Duration,
    /// Bytes kept of each stream.
    pub keep: usize,
}

/// How it ended, and what it said.
#[derive(Debug)]
pub struct Outcome {
    pub ending: Ending,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Exit(i32),
    Signal(i32),
    TimedOut,
}

/// How long an ended program's children may still hold its output open.
const AFTERWARDS: Duration = Duration::from_millis(500);

/// Run it to its end. An error means it could not be started.
pub fn run(task: &Task) -> io::Result<Outcome> {
    let mut child = start(task.command().process_group(0))?;
    let group = pid(&child);
    finish(task, &mut child, || {
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
    })
}

/// The same inside our own group, for somebody whose group is looked after as a whole. When its time is up only the
/// program itself is killed.
pub fn run_beside(task: &Task) -> io::Result<Outcome> {
    let mut child = start(&mut task.command())?;
    let alone = pid(&child);
    finish(task, &mut child, || {
        let _ = alone.map(|alone| kill_process(alone, Signal::KILL));
    })
}

/// The same in a group of its own, for its end: of standard output the last bytes are kept, not the first. Nothing of the
/// group is left afterwards, also not when we are ended ourselves by a signal that can be caught.
pub fn run_for_its_end(task: &Task) -> io::Result<Outcome> {
    let mut child = start(task.command().process_group(0))?;
    let group = pid(&child);
    let kill = || {
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
    };
    signal::take_along(group);
    let end = Instant::now() + task.timeout;
    feed(task, &mut child);
    let said = Arc::new(Mutex::new(VecDeque::new()));
    let told = tail(child.stdout.take(), task.keep, Arc::clone(&said));
    let status = wait(&mut child, end);
    kill();
    let status = match status? {
        Some(status) => Some(status),
        None => child.wait().map(|_| None)?,
    };
    signal::take_along(None);
    // Whoever left the group may hold the pipe open for ever; what was said until now is enough.
    let _ = told.recv_timeout(AFTERWARDS);
    let stdout = said.lock().map(|said| said.iter().copied().collect()).unwrap_or_default();
    Ok(Outcome { ending: status.map_or(Ending::TimedOut, ending), stdout, stderr: Vec::new() })
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

fn finish(task: &Task, child: &mut Child, kill: impl Fn()) -> io::Result<Outcome> {
    let end = Instant::now() + task.timeout;
    feed(task, child);
    let stdout = collect(child.stdout.take(), task.keep);
    let stderr = collect(child.stderr.take(), task.keep);
    let status = wait(child, end)?;
    if status.is_none() {
        kill();
        child.wait()?;
    }
    let ending = status.map_or(Ending::TimedOut, ending);
    let last = |stream: mpsc::Receiver<Vec<u8>>| stream.recv_timeout(AFTERWARDS).unwrap_or_default();
    Ok(Outcome { ending, stdout: last(stdout), stderr: last(stderr) })
}

fn feed(task: &Task, child: &mut Child) {
    if let Some(mut stdin) = child.stdin.take() {
        let input = task.input.to_owned();
        // A program that does not read its input ends the thread by closing the pipe.
        thread::spawn(move || stdin.write_all(&input));
    }
}

impl Task<'_> {
    #[expect(clippy::disallowed_methods, reason = "the one place that starts processes")]
    fn command(&self) -> Command {
        let mut command = Command::new(self.program);
        command.args(self.args).env_clear().envs(self.variables.iter().copied()).current_dir(self.folder);
        command
    }
}

fn start(command: &mut Command) -> io::Result<Child> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

fn wait(child: &mut Child, end: Instant) -> io::Result<Option<ExitStatus>> {
    let mut pause = Duration::from_micros(500);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= end {
            return Ok(None);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

fn ending(status: ExitStatus) -> Ending {
    status.code().map_or_else(|| Ending::Signal(status.signal().unwrap_or_default()), Ending::Exit)
}

fn collect(stream: Option<impl Read + Send + 'static>, keep: usize) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let Some(mut stream) = stream else { return };
        let mut kept = Vec::new();
        let _ = stream.by_ref().take(keep as u64).read_to_end(&mut kept);
        let _ = io::copy(&mut stream, &mut io::sink());
        let _ = sender.send(kept);
    });
    receiver
}

/// Keeps the last bytes of a stream where others can see them; a word when it has ended.
fn tail(
    stream: Option<impl Read + Send + 'static>,
    keep: usize,
    said: Arc<Mutex<VecDeque<u8>>>,
) -> mpsc::Receiver<()> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let Some(mut stream) = stream else { return };
        let mut chunk = [0; 8192];
        while let Ok(n @ 1..) = stream.read(&mut chunk) {
            let Ok(mut said) = said.lock() else { return };
            said.extend(&chunk[..n]);
            let old = said.len().saturating_sub(keep);
            said.drain(..old);
        }
        let _ = sender.send(());
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    fn sh(line: &str, input: &[u8], timeout: Duration) -> Outcome {
        let args = ["-c".to_owned(), line.to_owned()];
        let variables = [("PATH", OsStr::new("/usr/bin:/bin"))];
        let folder = std::env::temp_dir();
        run(&Task {
            program: Path::new("/bin/sh"),
            args: &args,
            folder: &folder,
            variables: &variables,
            input,
            timeout,
            keep: 1000,
        })
        .unwrap()
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn says_how_it_ended_and_what_was_said() {
        let done = sh("cat; echo no >&2; exit 3", b"yes", LONG);
        assert_eq!(
            (done.ending, &done.stdout[..], &done.stderr[..]),
            (Ending::Exit(3), &b"yes"[..], &b"no\n"[..])
        );
        assert_eq!(sh("kill -9 $$", b"", LONG).ending, Ending::Signal(9));
        let seen = sh("env", b"", LONG).stdout;
        assert!(!String::from_utf8_lossy(&seen).contains("HOME="), "a cleared environment");
    }

    #[test]
    fn a_flood_is_bounded_and_unread_input_is_no_error() {
        let done = sh("head -c 3000000 /dev/zero", &vec![0; 1 << 20], LONG);
        assert_eq!((done.ending, done.stdout.len()), (Ending::Exit(0), 1000));
    }

    #[test]
    fn for_its_end_the_last_words_are_kept_and_nobody_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let run = |line: &str, timeout| {
            let args = ["-c".to_owned(), line.to_owned()];
            let variables = [("PATH", OsStr::new("/usr/bin:/bin"))];
            let task = Task {
                program: Path::new("/bin/sh"),
                args: &args,
                folder: folder.path(),
                variables: &variables,
                input: b"",
                timeout,
                keep: 10,
            };
            run_for_its_end(&task).unwrap()
        };
        let done = run("(sleep 1; touch late) & head -c 300000 /dev/zero; printf 'the end'; exit 4", LONG);
        assert_eq!((done.ending, &done.stdout[3..]), (Ending::Exit(4), &b"the end"[..]));
        assert_eq!(run("echo said; sleep 30", Duration::from_millis(300)).ending, Ending::TimedOut);
        thread::sleep(Duration::from_millis(1500));
        assert!(!folder.path().join("late").exists(), "a child lived on");
    }

    #[test]
    fn the_whole_group_dies_when_the_time_is_up() {
        let folder = tempfile::tempdir().unwrap();
        let line = format!("(sleep 1; touch {}/late) & sleep 30", folder.path().display());
        let started = Instant::now();
        assert_eq!(sh(&line, b"", Duration::from_millis(100)).ending, Ending::TimedOut);
        assert!(started.elapsed() < Duration::from_secs(10));
        thread::sleep(Duration::from_millis(1500));
        assert!(!folder.path().join("late").exists(), "a grandchild lived on");
    }
}
