//! Programs that outlive whoever started them, and what keeps those from outliving their purpose.
//!
//! Starts processes, closes inherited files. The host kills a hook's whole group at its time-out, so a detached program
//! makes a session of its own; one that does the work is watched by one that only waits. Invariant: when the watcher is
//! gone, so is the whole group of what it watched.

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

/// Start it and go on at once. It still has to call `own_session`: the session cannot be made from outside.
#[expect(clippy::disallowed_methods, reason = "the one place that starts processes")]
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

/// For the detached program, before anything else: leave the session of whoever started us, and let go of their files.
pub fn own_session() {
    // Fails for the leader of a group, which a shell makes of us: then we are on our own already.
    let _ = setsid();
    #[expect(unsafe_code, reason = "no safe crate closes files it does not own")]
    // SAFETY: nothing of ours is open yet but the three standard streams, so no owner is left with a closed file.
    unsafe {
        #[cfg(target_os = "linux")]
        libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32);
        #[cfg(not(target_os = "linux"))]
        (3..256).for_each(|file| {
            libc::close(file);
        });
    }
}

/// Run it in a group of its own and wait. What is left of the group when it has ended gets so much grace, then it is
/// killed; when its time is up, at once.
pub fn watch(task: &Task, grace: Duration) -> io::Result<()> {
    let mut child = task
        .command()
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let group = pid(&child);
    let ended = wait(&mut child, Instant::now() + task.timeout)?.is_some();
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
    Ok(())
}

/// Run it in a group of its own, its output into these files, with the variables we have ourselves. When its time is up it
/// is asked to end, and after the grace killed; so is what is left of its group when it has ended.
#[expect(clippy::disallowed_methods, reason = "the one place that starts processes")]
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
    begun(child.id())?;
    let mut status = wait(&mut child, Instant::now() + timeout)?;
    let in_time = status.is_some();
    if !in_time {
        signal(Signal::TERM);
        status = wait(&mut child, Instant::now() + grace)?;
    }
    if status.is_none() {
        signal(Signal::KILL);
        child.wait()?;
    }
    signal(Signal::KILL);
    Ok(status.filter(|_| in_time).map_or(Ending::TimedOut, ending))
}
