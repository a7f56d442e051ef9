//! One program of a run, looked after by a process of its own, so that it ends well whatever becomes of the driver.
//!
//! Starts processes; reads and writes the files of one place. The driver hands a program out and looks; the watcher starts
//! it, holds it to its time, and writes down how it ended. Invariants: what a place was given is started at most once; how
//! it ended is there whole or not at all; a watcher that is gone without a word is told from one at work; what did not end
//! well has nothing running any more when its end is told.

use crate::run::attempt::Begun;
use crate::system::files;
use crate::system::process::{Ending, detached, kin};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The watcher's verb; nobody's to type.
const WATCH: &str = "__step";

/// A variable of the program and of all it starts: whose they are.
const JOB: &str = "AOPS_JOB";

/// From the polite signal at the end of its time until the program is killed.
const GRACE: Duration = Duration::from_secs(5);

/// What to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub args: Vec<String>,
    pub folder: PathBuf,
    pub program: PathBuf,
    pub timeout_ms: u64,
}

/// How a place stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStatus {
    NotStarted,
    Running,
    Ended(Ending),
    /// Its watcher was killed.
    Lost,
}

/// How a program ended, as it is written down.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    exit: Option<i32>,
    signal: Option<i32>,
}

/// The files of one program.
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

    fn file(&self, kind: &str) -> PathBuf {
        self.stem.with_extension(kind)
    }

    pub fn stdout(&self) -> PathBuf {
        self.file("out")
    }

    pub fn stderr(&self) -> PathBuf {
        self.file("err")
    }

    /// Hand it out and go on.
    pub fn start(&self, job: &Job, variables: &[(&str, &OsStr)]) -> io::Result<()> {
        let path = self.file("job");
        let text = serde_json::to_vec(job)?;
        files::find(&path)?.replace(&text, 0o600)?;
        let name = self.name();
        let variables: Vec<_> = variables.iter().copied().chain([(JOB, OsStr::new(&name))]).collect();
        detached::start(&std::env::current_exe()?, &[WATCH, &name], &variables)
    }

    pub fn status(&self) -> JobStatus {
        if let Some(ending) = self.ending() {
            return JobStatus::Ended(ending);
        }
        if !self.file("started").exists() {
            return JobStatus::NotStarted;
        }
        let alone = File::open(self.file("alive")).is_ok_and(|file| file.try_lock().is_ok());
        match (alone, self.ending()) {
            (_, Some(ending)) => JobStatus::Ended(ending),
            (true, None) => JobStatus::Lost,
            (false, None) => JobStatus::Running,
        }
    }

    fn ending(&self) -> Option<Ending> {
        let written: Written = serde_json::from_slice(&fs::read(self.file("exit")).ok()?).ok()?;
        Some(match written {
            Written { exit: Some(code), .. } => Ending::Exit(code),
            Written { signal: Some(signal), .. } => Ending::Signal(signal),
            _ => Ending::TimedOut,
        })
    }

    /// Whoever succeeds is the only one who may start it, or keeps everybody else from it.
    pub fn claim(&self) -> bool {
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.file("started")).is_ok()
    }

    /// A signal to the program and all it started; false before it was started.
    pub fn signal(&self, signal: Signal) -> bool {
        self.group().is_some_and(|group| kill_process_group(group, signal).is_ok())
    }

    /// Ends what an abandoned program left running.
    pub fn kill_leftovers(&self) {
        if !kin::end(JOB, &self.name()) {
            self.signal(Signal::KILL);
        }
    }

    fn group(&self) -> Option<Pid> {
        fs::read_to_string(self.file("pid")).ok()?.trim().parse().ok().and_then(Pid::from_raw)
    }

    fn watch(&self) -> io::Result<()> {
        let private =
            |kind: &str| OpenOptions::new().append(true).create(true).mode(0o600).open(self.file(kind));
        let alive = private("alive")?;
        alive.lock()?;
        if !self.claim() {
            return Ok(());
        }
        let job: Job = serde_json::from_slice(&fs::read(self.file("job"))?)?;
        let timeout = Duration::from_millis(job.timeout_ms);
        let begun = |pid: u32| fs::write(self.file("pid"), pid.to_string());
        let streams = (private("out")?, private("err")?);
        let ended =
            detached::supervise(&job.program, &job.args, &job.folder, streams, begun, (timeout, GRACE));
        if !matches!(ended, Ok(Ending::Exit(0))) {
            // Else it could still do its work after everybody was told that it did not.
            kin::end(JOB, &self.name());
        }
        let written = match ended {
            Ok(Ending::Exit(code)) => Written { exit: Some(code), signal: None },
            Ok(Ending::Signal(signal)) => Written { exit: None, signal: Some(signal) },
            Ok(Ending::TimedOut) => Written { exit: None, signal: None },
            Err(error) => {
                fs::write(
                    self.file("err"),
                    format!("`{}` cannot be started: {error}\n", job.program.display()),
                )?;
                Written { exit: Some(127), signal: None }
            }
        };
        files::find(&self.file("exit"))?.replace(&serde_json::to_vec(&written)?, 0o600)
    }
}

/// A verb of ours that is no command for people.
pub fn is_verb(word: &str) -> bool {
    word == WATCH
}

/// The watcher. Silent, since nobody listens.
pub fn run(arguments: &[String]) -> u8 {
    let [_, stem] = arguments else { return 2 };
    detached::own_session();
    u8::from(JobFiles { stem: PathBuf::from(stem) }.watch().is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        place.watch().unwrap();
        (folder, place)
    }

    #[test]
    fn how_it_ended_is_written_down() {
        let (_kept, place) = watched("echo out; echo err >&2; exit 3", 20_000);
        assert_eq!(place.status(), JobStatus::Ended(Ending::Exit(3)));
        let read = |path| fs::read_to_string(path).unwrap();
        assert_eq!((read(place.stdout()), read(place.stderr())), ("out\n".to_owned(), "err\n".to_owned()));
        assert_eq!(watched("kill -9 $$", 20_000).1.status(), JobStatus::Ended(Ending::Signal(9)));
        assert_eq!(watched("sleep 30", 100).1.status(), JobStatus::Ended(Ending::TimedOut));
    }

    #[test]
    fn what_is_claimed_is_started_once() {
        let (folder, place) = watched("echo once >> count", 20_000);
        fs::remove_file(place.file("exit")).unwrap();
        place.watch().unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("count")).unwrap(), "once\n");
        assert_eq!(place.status(), JobStatus::Lost);
        assert!(!place.claim());
    }
}
