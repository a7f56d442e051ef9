//! Starts a program, feeds its input, waits for it with a timeout, and returns its output.
//!
//! The only place that starts processes, each from a [`program::Program`]. The child gets its own process
//! group, unless it must share ours, and sees only the variables it is given. Invariants: output beyond the
//! limit is read and dropped, so no child blocks on a full pipe; at the timeout the whole group is killed;
//! the child's output up to its end is read.

#![expect(clippy::disallowed_methods, reason = "the one place that starts processes")]

pub mod program;
#[cfg(target_os = "linux")]
pub mod shared;
pub mod detached;
pub mod kin;

use crate::system::signal;
use program::Program;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
#[cfg(target_os = "linux")]
use std::os::fd::AsFd;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub struct Task<'a> {
    pub program: &'a Program,
    pub args: &'a [String],
    pub folder: &'a Path,
    pub variables: &'a [(String, OsString)],
    pub input: &'a [u8],
    pub timeout: Duration,
    /// Bytes kept of each stream.
    pub keep: usize,
}

/// One variable for a child process.
pub fn variable(name: &str, value: impl Into<OsString>) -> (String, OsString) {
    (name.to_owned(), value.into())
}

#[derive(Debug)]
pub struct Outcome {
    pub ending: Ending,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// A stream was longer than `Task::keep`.
    pub cut: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Exit(i32),
    Signal(i32),
    TimedOut,
}

/// How long the output may stay open after the program itself has ended: a process that it left behind can
/// hold it.
const AFTERWARDS: Duration = Duration::from_millis(500);

/// Runs it to its end, in a process group of its own, which is killed at the timeout. An error means that it
/// could not be started.
pub fn run(task: &Task) -> io::Result<Outcome> {
    #[cfg(target_os = "linux")]
    if let Some(done) = run_in_shared(task) {
        return done;
    }
    run_as(task, true, false)
}

/// The same in the jail that others run in, too; `None` if it did not begin there.
#[cfg(target_os = "linux")]
fn run_in_shared(task: &Task) -> Option<io::Result<Outcome>> {
    let end = Instant::now() + task.timeout;
    let shared = shared::Shared::take(task)?;
    let pipes = || Some((io::pipe().ok()?, io::pipe().ok()?, io::pipe().ok()?));
    let ((stdin, input), (output, stdout), (errors, stderr)) = pipes()?;
    shared.start(task, [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()])?;
    drop((stdin, stdout, stderr));
    feed(task, Some(input.into()));
    Some(Output::of([Some(output.into()), Some(errors.into())], task.keep, false).and_then(|mut output| {
        let status = output.read_until_exit(|| Ok(shared.try_wait()), end)?;
        match status {
            Some(_) => shared.wait_again(),
            None => shared.kill(),
        }
        output.read_the_rest();
        Ok(output.outcome(status.map_or(Ending::TimedOut, ending)))
    }))
}

/// The same inside our own group, for a caller whose group is watched as a whole; only the program itself is
/// killed.
pub fn run_beside(task: &Task) -> io::Result<Outcome> {
    run_as(task, false, false)
}

/// The same, but keeps the last bytes of each stream instead of the first. Nothing of its group is left
/// afterwards, even if a signal that can be caught ends us meanwhile.
pub fn run_for_its_end(task: &Task) -> io::Result<Outcome> {
    run_as(task, true, true)
}

/// `own`: in a group of its own. `whole`: always kill the group, and keep the end of the output.
fn run_as(task: &Task, own: bool, whole: bool) -> io::Result<Outcome> {
    let mut command = task.command();
    if own {
        command.process_group(0);
    }
    if whole {
        signal::hold();
    }
    let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let pid = started.as_ref().ok().and_then(pid);
    if whole {
        signal::take_along(pid);
    }
    let mut child = started?;
    let end = Instant::now() + task.timeout;
    feed(task, child.stdin.take().map(OwnedFd::from));
    let streams = [child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from)];
    let mut output = Output::of(streams, task.keep, whole)?;
    let mut status = output.read_until_exit(|| child.try_wait(), end);
    if whole || !matches!(status, Ok(Some(_))) {
        let kill = if own { kill_process_group } else { kill_process };
        let _ = pid.map(|pid| kill(pid, Signal::KILL));
    }
    if let Ok(None) = status {
        status = child.wait().map(|_| None);
    }
    if whole {
        signal::take_along(None);
    }
    let ending = status?.map_or(Ending::TimedOut, ending);
    output.read_the_rest();
    Ok(output.outcome(ending))
}

/// While it lives, the confined programs that this process runs share a jail.
#[derive(Debug)]
#[must_use]
pub struct Sharing(());

impl Sharing {
    pub fn begin() -> Self {
        #[cfg(target_os = "linux")]
        shared::begin();
        Self(())
    }
}

impl Drop for Sharing {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        shared::end();
    }
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

fn feed(task: &Task, stdin: Option<OwnedFd>) {
    if let Some(mut stdin) = stdin.map(File::from) {
        let input = task.input.to_owned();
        // If a program closes its input without reading it, this thread ends.
        thread::spawn(move || stdin.write_all(&input));
    }
}

impl<'a> Task<'a> {
    /// With an empty input, and no output kept.
    pub fn new(
        program: &'a Program,
        args: &'a [String],
        folder: &'a Path,
        variables: &'a [(String, OsString)],
        timeout: Duration,
    ) -> Self {
        Self { program, args, folder, variables, input: b"", timeout, keep: 0 }
    }

    fn command(&self) -> Command {
        let mut command = self.program.command();
        command
            .args(self.args)
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.folder);
        command
    }
}

impl Program {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.before);
        command
    }
}

fn wait(child: &mut Child, end: Instant) -> io::Result<Option<ExitStatus>> {
    wait_in_steps(|| child.try_wait(), end, thread::sleep)
}

fn wait_in_steps(
    mut ended: impl FnMut() -> io::Result<Option<ExitStatus>>,
    end: Instant,
    mut step: impl FnMut(Duration),
) -> io::Result<Option<ExitStatus>> {
    let mut pause = Duration::from_micros(500);
    loop {
        if let Some(status) = ended()? {
            return Ok(Some(status));
        }
        if Instant::now() >= end {
            return Ok(None);
        }
        step(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

fn ending(status: ExitStatus) -> Ending {
    status.code().map_or_else(|| Ending::Signal(status.signal().unwrap_or_default()), Ending::Exit)
}

/// A child's output, read as it comes, so that the child never waits for us.
struct Output {
    stdout: Stream,
    stderr: Stream,
}

impl Output {
    fn of([stdout, stderr]: [Option<OwnedFd>; 2], keep: usize, last: bool) -> io::Result<Self> {
        Ok(Self { stdout: Stream::new(stdout, keep, last)?, stderr: Stream::new(stderr, keep, last)? })
    }

    fn outcome(self, ending: Ending) -> Outcome {
        let Self { stdout, stderr } = self;
        let cut = stdout.cut || stderr.cut;
        Outcome { ending, stdout: stdout.kept.into(), stderr: stderr.kept.into(), cut }
    }

    /// Its exit status; `None` if it did not exit in time.
    fn read_until_exit(
        &mut self,
        ended: impl FnMut() -> io::Result<Option<ExitStatus>>,
        end: Instant,
    ) -> io::Result<Option<ExitStatus>> {
        wait_in_steps(ended, end, |pause| {
            self.wait(pause);
            self.read();
        })
    }

    /// After its end, reads first what it has written itself, however late we look, and then the output of
    /// processes that hold its streams.
    fn read_the_rest(&mut self) {
        let end = Instant::now() + AFTERWARDS;
        self.read();
        while (self.stdout.is_open() || self.stderr.is_open()) && Instant::now() < end {
            self.wait(Duration::from_millis(10));
            self.read();
        }
    }

    fn read(&mut self) {
        self.stdout.read();
        self.stderr.read();
    }

    /// Waits until there is output, a stream ends, or this time has passed.
    fn wait(&self, pause: Duration) {
        let open = [&self.stdout, &self.stderr].into_iter().filter_map(|stream| stream.from.as_ref());
        let mut open: Vec<PollFd> = open.map(|from| PollFd::new(from, PollFlags::IN)).collect();
        if open.is_empty() {
            thread::sleep(pause);
        } else {
            // A signal ends the wait early; the caller then looks again.
            let _ = poll(&mut open, Timespec::try_from(pause).ok().as_ref());
        }
    }
}

struct Stream {
    /// `None` after its end.
    from: Option<OwnedFd>,
    kept: VecDeque<u8>,
    keep: usize,
    /// Keep the last bytes, not the first.
    last: bool,
    cut: bool,
}

impl Stream {
    fn new(from: Option<OwnedFd>, keep: usize, last: bool) -> io::Result<Self> {
        if let Some(from) = &from {
            ioctl_fionbio(from, true)?;
        }
        Ok(Self { from, kept: VecDeque::new(), keep, last, cut: false })
    }

    fn is_open(&self) -> bool {
        self.from.is_some()
    }

    /// Reads what is there now, but at most the size of a pipe, so that an endless stream cannot hold us.
    fn read(&mut self) {
        let mut chunk = [0; 8 << 10];
        let mut more = 128;
        while let (Some(from), 1..) = (&self.from, more) {
            match rustix::io::read(from, &mut chunk) {
                Ok(0) => self.from = None,
                Ok(n) => self.take(&chunk[..n]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.from = None,
            }
            more -= 1;
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        let room =
            if self.last { bytes.len() } else { bytes.len().min(self.keep.saturating_sub(self.kept.len())) };
        self.kept.extend(&bytes[..room]);
        let old = self.kept.len().saturating_sub(self.keep);
        self.kept.drain(..old);
        self.cut |= room < bytes.len() || old > 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::LazyLock;

    static SH: LazyLock<Program> = LazyLock::new(|| Program::fixed("/bin/sh"));

    fn task<'a>(args: &'a [String], folder: &'a Path, timeout: Duration) -> Task<'a> {
        Task { keep: 1000, ..Task::new(&SH, args, folder, &[], timeout) }
    }

    fn sh(line: &str, input: &[u8], timeout: Duration) -> Outcome {
        let args = ["-c".to_owned(), line.to_owned()];
        let folder = std::env::temp_dir();
        run(&Task { input, ..task(&args, &folder, timeout) }).unwrap()
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn says_how_it_ended_and_what_was_said() {
        let done = sh("cat; echo no >&2; exit 3", b"yes", LONG);
        assert_eq!(
            (done.ending, &done.stdout[..], &done.stderr[..]),
            (Ending::Exit(3), &b"yes"[..], &b"no\n"[..])
        );
        assert!(!done.cut);
        assert_eq!(sh("kill -9 $$", b"", LONG).ending, Ending::Signal(9));
        let seen = sh("env", b"", LONG).stdout;
        assert!(!String::from_utf8_lossy(&seen).contains("HOME="), "a cleared environment");
    }

    /// Its output is the process ID of a grandchild that keeps the pipes open.
    #[test]
    fn what_was_said_is_kept_although_a_grandchild_holds_the_pipe() {
        let done = sh("sleep 600 & echo $!; echo no >&2", b"", LONG);
        let pid = String::from_utf8_lossy(&done.stdout).trim().parse().ok().and_then(Pid::from_raw);
        let pid = pid.unwrap_or_else(|| panic!("{done:?}"));
        kill_process(pid, Signal::KILL).unwrap();
        assert_eq!((done.ending, &done.stderr[..]), (Ending::Exit(0), &b"no\n"[..]));
    }

    #[test]
    fn a_flood_is_bounded_and_unread_input_is_no_error() {
        let done = sh("head -c 3000000 /dev/zero", &vec![0; 1 << 20], LONG);
        assert_eq!((done.ending, done.stdout.len(), done.cut), (Ending::Exit(0), 1000, true));
    }

    /// Returns when the process whose ID is in `pid` has ended, or is a zombie that init has not reaped yet.
    /// SIGKILL is not instant; if the process lives on, the test hangs until its timeout, which comes before
    /// the process ends by itself.
    fn wait_until_gone(folder: &Path) {
        let pid = std::fs::read_to_string(folder.join("pid")).unwrap();
        let is_running = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
        };
        while is_running() {
            thread::yield_now();
        }
    }

    /// Starts a background process and writes its process ID.
    const BACKGROUND: &str = "sleep 600 & echo $! > pid;";

    #[test]
    fn for_its_end_the_last_bytes_are_kept_and_no_process_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let run = |line: &str, timeout| {
            let args = ["-c".to_owned(), format!("{BACKGROUND} {line}")];
            run_for_its_end(&Task { keep: 10, ..task(&args, folder.path(), timeout) }).unwrap()
        };
        let done = run("head -c 300000 /dev/zero; printf 'the end'; exit 4", LONG);
        assert_eq!((done.ending, &done.stdout[3..], done.cut), (Ending::Exit(4), &b"the end"[..], true));
        wait_until_gone(folder.path());
        assert_eq!(run("sleep 600", Duration::from_millis(300)).ending, Ending::TimedOut);
        wait_until_gone(folder.path());
    }

    #[test]
    fn the_whole_group_dies_at_the_timeout() {
        let folder = tempfile::tempdir().unwrap();
        let args = ["-c".to_owned(), format!("{BACKGROUND} sleep 600")];
        let done = run(&task(&args, folder.path(), Duration::from_millis(300))).unwrap();
        assert_eq!(done.ending, Ending::TimedOut);
        wait_until_gone(folder.path());
    }
}
