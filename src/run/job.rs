//! The program of one step, watched by a process of its own that survives the driver.
//!
//! The driver writes the job and polls its status; the watcher starts the program, enforces its time limit,
//! and writes how it ended. Invariants: a job is started at most once; its end is written atomically; the
//! lock shows whether a watcher is alive; if a program did not end well, none of its processes is left when
//! its end is written.

use crate::run::attempt::Begun;
use aops_core::system::env::{Env, JOB};
use aops_core::system::files;
use aops_core::system::process::program::{Identity, Program};
use aops_core::system::process::{Ending, detached, variable};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// The watcher's internal verb.
const WATCH: &str = "__step";

/// The time from SIGTERM at the time limit until SIGKILL.
const GRACE: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub args: Vec<String>,
    pub folder: PathBuf,
    pub program: PathBuf,
    pub timeout_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStatus {
    NotStarted,
    Running,
    Ended(Ending),
    /// Its watcher was killed.
    Lost,
}

/// The stored form of how a program ended.
#[derive(Debug, Serialize, Deserialize)]
struct StoredEnding {
    exit: Option<i32>,
    signal: Option<i32>,
}

#[derive(Clone, Debug)]
pub struct JobFiles {
    stem: PathBuf,
}

impl JobFiles {
    pub fn of(run_folder: &Path, begun: &Begun) -> Self {
        Self { stem: run_folder.join(format!("{}-{}", begun.step, begun.attempt)) }
    }

    fn name(&self) -> String {
        self.stem.to_string_lossy().into_owned()
    }

    /// The path of one of the job's files; `out` and `err` hold what the program printed.
    pub fn file(&self, kind: &str) -> PathBuf {
        self.stem.with_extension(kind)
    }

    /// Starts the watcher and returns.
    pub fn start(&self, env: &Env, job: &Job, mut variables: Vec<(String, OsString)>) -> io::Result<()> {
        files::find(&self.file("job"))?.replace(&serde_json::to_vec(job)?, 0o600)?;
        let name = self.name();
        variables.push(variable(JOB, &name));
        let mut watcher = detached::start(&Program::find(env, Identity::Own)?, &[WATCH, &name], &variables)?;
        // Reaps the watcher: a worker runs for a long time, and would accumulate dead ones.
        thread::spawn(move || watcher.wait());
        Ok(())
    }

    pub fn status(&self) -> JobStatus {
        if let Some(ending) = self.ending() {
            return JobStatus::Ended(ending);
        }
        if !self.file("started").exists() {
            return JobStatus::NotStarted;
        }
        // The watcher locks `alive` before it claims; without that file, a driver claimed the job.
        let alone = match files::open(self.file("alive")) {
            Ok(alive) => alive.try_lock().is_ok(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        match (alone, self.ending()) {
            (_, Some(ending)) => JobStatus::Ended(ending),
            (true, None) => JobStatus::Lost,
            (false, None) => JobStatus::Running,
        }
    }

    fn ending(&self) -> Option<Ending> {
        let written: StoredEnding = serde_json::from_slice(&files::read(self.file("exit")).ok()?).ok()?;
        Some(match written {
            StoredEnding { exit: Some(code), .. } => Ending::Exit(code),
            StoredEnding { signal: Some(signal), .. } => Ending::Signal(signal),
            _ => Ending::TimedOut,
        })
    }

    /// Creates `started`. Only one caller succeeds: it alone may start the program, or decide that it never
    /// starts.
    pub fn claim(&self) -> bool {
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.file("started")).is_ok()
    }

    /// Signals the program's process group; `false` if it was not started yet.
    pub fn signal(&self, signal: Signal) -> bool {
        let group = files::read_text(self.file("pid")).ok();
        let group = group.and_then(|pid| pid.trim().parse().ok()).and_then(Pid::from_raw);
        group.is_some_and(|group| kill_process_group(group, signal).is_ok())
    }

    /// Kills what an abandoned program left running.
    pub fn kill_leftovers(&self) {
        if !detached::end_marked(JOB, &self.name()) {
            self.signal(Signal::KILL);
        }
    }

    fn watch(&self, env: &Env) -> io::Result<()> {
        let private = |kind: &str| {
            files::open_itself(self.file(kind), OpenOptions::new().append(true).create(true).mode(0o600))
        };
        let alive = private("alive")?;
        alive.lock()?;
        if !self.claim() {
            return Ok(());
        }
        let job: Job = serde_json::from_slice(&files::read(self.file("job"))?)?;
        let timeout = Duration::from_millis(job.timeout_ms);
        let begun = |pid: u32| files::replace_private(&self.file("pid"), pid.to_string().as_bytes());
        let streams = (private("out")?, private("err")?);
        // The client, or our own program around a command line: each confines what it starts.
        let ended = Program::find(env, Identity::Client(&job.program)).and_then(|program| {
            detached::supervise(&program, &job.args, &job.folder, streams, begun, (timeout, GRACE))
        });
        if !matches!(ended, Ok(Ending::Exit(0))) {
            // Otherwise a child could still have an effect after the step was recorded as failed.
            detached::end_marked(JOB, &self.name());
        }
        let (exit, signal) = match ended {
            Ok(Ending::Exit(code)) => (Some(code), None),
            Ok(Ending::Signal(signal)) => (None, Some(signal)),
            Ok(Ending::TimedOut) => (None, None),
            Err(error) => {
                let words = format!("`{}` cannot be started: {error}\n", job.program.display());
                files::replace_private(&self.file("err"), words.as_bytes())?;
                (Some(127), None)
            }
        };
        let written = StoredEnding { exit, signal };
        files::find(&self.file("exit"))?.replace(&serde_json::to_vec(&written)?, 0o600)
    }
}

pub fn is_verb(word: &str) -> bool {
    word == WATCH
}

/// Runs the watcher. It prints nothing, since its output is not read.
pub fn run(arguments: &[String], env: &Env) -> u8 {
    let [_, stem] = arguments else { return 2 };
    detached::own_session();
    u8::from(JobFiles { stem: PathBuf::from(stem) }.watch(env).is_err())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn watched(line: &str, timeout_ms: u64) -> (tempfile::TempDir, JobFiles) {
        let folder = tempfile::tempdir().unwrap();
        let place = JobFiles { stem: folder.path().join("step") };
        let job = Job {
            args: vec!["-c".to_owned(), line.to_owned()],
            folder: folder.path().to_owned(),
            program: PathBuf::from("/bin/sh"),
            timeout_ms,
        };
        fs::write(place.file("job"), serde_json::to_vec(&job).unwrap()).unwrap();
        assert_eq!(place.status(), JobStatus::NotStarted);
        place.watch(&Env::default()).unwrap();
        (folder, place)
    }

    #[test]
    fn its_end_is_written() {
        let (_kept, place) = watched("echo out; echo err >&2; exit 3", 20_000);
        assert_eq!(place.status(), JobStatus::Ended(Ending::Exit(3)));
        let read = |path| fs::read_to_string(path).unwrap();
        assert_eq!(
            (read(place.file("out")), read(place.file("err"))),
            ("out\n".to_owned(), "err\n".to_owned())
        );
        assert_eq!(watched("kill -9 $$", 20_000).1.status(), JobStatus::Ended(Ending::Signal(9)));
        assert_eq!(watched("sleep 30", 100).1.status(), JobStatus::Ended(Ending::TimedOut));
    }

    /// A driver claims a job whose watcher never came, and is then killed itself: the next driver must not
    /// wait.
    #[test]
    fn a_job_that_a_driver_claimed_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let place = JobFiles { stem: folder.path().join("step") };
        assert!(place.claim());
        assert_eq!(place.status(), JobStatus::Lost);
    }

    /// The driver polls these files, and a command of the step can put anything in their place.
    #[test]
    fn a_job_does_not_wait_for_a_fifo_in_the_place_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let place = JobFiles { stem: folder.path().join("step") };
        for kind in ["started", "exit", "alive", "pid"] {
            let path = place.file(kind);
            let fifo = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, &path, fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        }
        assert_eq!(place.status(), JobStatus::Running, "nobody says that its watcher is gone");
        assert!(!place.signal(Signal::TERM));
        assert!(place.watch(&Env::default()).is_err());
    }

    #[test]
    fn a_job_is_started_once() {
        let (folder, place) = watched("echo once >> count", 20_000);
        fs::remove_file(place.file("exit")).unwrap();
        place.watch(&Env::default()).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("count")).unwrap(), "once\n");
        assert_eq!(place.status(), JobStatus::Lost);
        assert!(!place.claim());
    }
}
