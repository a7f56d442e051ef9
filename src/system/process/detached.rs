//! Programs that outlive the hook that starts them, and the watchers that end them.
//!
//! Starts processes, closes inherited files. The host kills a hook's whole process group at its timeout, so a detached
//! program makes a session of its own. One process does the work, another only waits for it. Invariant: when the watcher
//! returns, with an error too, the process group that it watched is gone.

use super::{Ending, Task, ending, pid, wait};
use rustix::process::{Signal, kill_process_group, setsid, test_kill_process_group};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Starts it and does not wait. The program itself has to call `own_session`.
pub fn start(program: &Path, args: &[&str], variables: &[(&str, &OsStr)]) -> io::Result<()> {
    Command::new(program)
        .args(args)
        .env_clear()
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(drop)
}

/// First call of a detached program: leaves the session of its parent and closes the files that it inherited.
pub fn own_session() {
    // Fails for the leader of a group, which a shell makes of us; then we have a group of our own already.
    let _ = setsid();
    #[expect(unsafe_code, reason = "no safe crate closes files it does not own")]
    // SAFETY: only the three standard streams are open, so no `OwnedFd` is left with a closed descriptor.
    unsafe {
        #[cfg(target_os = "linux")]
        libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32);
        #[cfg(not(target_os = "linux"))]
        (3..256).for_each(|file| {
            libc::close(file);
        });
    }
}

/// Runs it in a process group of its own and waits. After its end the rest of the group has `grace` to end; at the timeout
/// the group is killed at once.
pub fn watch(task: &Task, grace: Duration) -> io::Result<()> {
    let mut child =
        task.command().process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let group = pid(&child);
    let status = wait(&mut child, Instant::now() + task.timeout);
    let ended = matches!(status, Ok(Some(_)));
    if let Some(group) = group {
        let end = Instant::now() + grace;
        while ended && Instant::now() < end && test_kill_process_group(group).is_ok() {
            thread::sleep(Duration::from_millis(10));
        }
        let _ = kill_process_group(group, Signal::KILL);
    }
    if !ended {
        child.wait()?;
    }
    status.map(drop)
}

/// Runs it in a process group of its own, with our environment, its output written to these files. `begun` gets its pid. At
/// the timeout the group gets SIGTERM, after the grace SIGKILL; the rest of the group is killed in any case.
pub fn supervise(
    program: &Path,
    args: &[String],
    folder: &Path,
    (out, err): (File, File),
    begun: impl FnOnce(u32) -> io::Result<()>,
    (timeout, grace): (Duration, Duration),
) -> io::Result<Ending> {
    let mut child = Command::new(program)
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .process_group(0)
        .spawn()?;
    let group = pid(&child);
    let signal = |signal| group.map(|group| kill_process_group(group, signal));
    let waited = begun(child.id()).and_then(|()| wait(&mut child, Instant::now() + timeout));
    let mut ended = matches!(waited, Ok(Some(_)));
    if let Ok(None) = waited {
        signal(Signal::TERM);
        ended = matches!(wait(&mut child, Instant::now() + grace), Ok(Some(_)));
    }
    signal(Signal::KILL);
    if !ended {
        child.wait()?;
    }
    Ok(waited?.map_or(Ending::TimedOut, ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, test_kill_process};
    use std::cell::Cell;

    #[test]
    fn a_program_whose_start_cannot_be_told_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let file = || File::create(folder.path().join("out")).unwrap();
        let started = Cell::new(0);
        let begun = |pid| {
            started.set(pid);
            Err(io::Error::other("no room"))
        };
        let args = ["-c".to_owned(), "sleep 600".to_owned()];
        let times = (Duration::from_mins(1), Duration::from_mins(1));
        let done = supervise(Path::new("/bin/sh"), &args, folder.path(), (file(), file()), begun, times);
        assert_eq!(done.unwrap_err().to_string(), "no room");
        let pid = Pid::from_raw(started.get().try_into().unwrap()).unwrap();
        assert!(test_kill_process(pid).is_err(), "it lives on");
    }
}
