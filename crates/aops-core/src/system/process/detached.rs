//! Programs that outlive the hook that starts them, the watchers that end them, and the removal of all
//! processes that they left behind.
//!
//! Starts processes, closes inherited files. The host kills a hook's whole process group at its timeout, so a
//! detached program creates its own session. One process does the work, another only waits for it. Invariant:
//! when the watcher returns, even with an error, the process group that it watched has ended. Processes left
//! behind are found in `/proc` by a variable in their environment: the client runs each command in a session
//! of its own, and process IDs are reused. Without `/proc` (macOS) they are not touched, and neither is this
//! process, nor one of another user.

use super::program::Program;
use super::{Ending, Task, ending, pid, wait};
use rustix::process::{Pid, Signal, kill_process, kill_process_group, setsid, test_kill_process_group};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use std::{io, thread};

/// Starts it and does not wait. The program itself must call `own_session`.
pub fn start(program: &Program, args: &[&str], variables: &[(String, OsString)]) -> io::Result<Child> {
    program
        .command()
        .args(args)
        .env_clear()
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// First call of a detached program: leaves its parent's session and closes the files that it inherited.
pub fn own_session() {
    // Fails if we lead a group, as a process started by a shell does; then we already have our own group.
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

/// Runs it in its own process group and waits. After its end the rest of the group has `grace` to end; at the
/// timeout the group is killed at once.
pub fn watch(task: &Task, grace: Duration) -> io::Result<()> {
    let mut child = task
        .command()
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
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

/// Runs it in its own process group, with our environment, and writes its output to these files. `begun` gets
/// its process ID. At the timeout the group gets SIGTERM, after the grace period SIGKILL; the rest of the
/// group is always killed.
pub fn supervise(
    program: &Program,
    args: &[String],
    folder: &Path,
    (out, err): (File, File),
    begun: impl FnOnce(u32) -> io::Result<()>,
    (timeout, grace): (Duration, Duration),
) -> io::Result<Ending> {
    let mut child = program
        .command()
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

/// Number of scans, and the time between two: a process that is just being started has no environment yet.
const LOOKS: usize = 40;
const APART: Duration = Duration::from_millis(10);

/// Kills every process with `name=value` in its environment, and its descendants, until none is left. False
/// without `/proc`.
pub fn end_marked(name: &str, value: &str) -> bool {
    if !Path::new("/proc/self/environ").exists() {
        return false;
    }
    let mark = format!("{name}={value}").into_bytes();
    let mut quiet = 0;
    for _ in 0..LOOKS {
        let found = marked(Path::new("/proc"), &mark);
        quiet = if found.is_empty() { quiet + 1 } else { 0 };
        if quiet == 2 {
            break;
        }
        for pid in found.into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
        thread::sleep(APART);
    }
    true
}

/// Processes with the mark, and their descendants; never this process.
fn marked(proc: &Path, mark: &[u8]) -> BTreeSet<i32> {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let pids = fs::read_dir(proc).into_iter().flatten().flatten();
    let pids =
        pids.filter_map(|item| item.file_name().to_str()?.parse::<i32>().ok()).filter(|pid| *pid != own);
    let mut above = BTreeMap::new();
    let mut found = BTreeSet::new();
    for pid in pids {
        let folder = proc.join(pid.to_string());
        above.insert(pid, parent(&fs::read_to_string(folder.join("stat")).unwrap_or_default()));
        let variables = fs::read(folder.join("environ")).unwrap_or_default();
        if variables.split(|byte| *byte == 0).any(|variable| variable == mark) {
            found.insert(pid);
        }
    }
    loop {
        let below = |pid: &i32| above.get(pid).is_some_and(|parent| found.contains(parent));
        let more: Vec<i32> = above.keys().copied().filter(|pid| !found.contains(pid) && below(pid)).collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

/// The parent's process ID in a line of `stat`; the name before it may contain anything, even brackets.
fn parent(stat: &str) -> i32 {
    let after = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    after.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or_default()
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
        let done =
            supervise(&Program::fixed("/bin/sh"), &args, folder.path(), (file(), file()), begun, times);
        assert_eq!(done.unwrap_err().to_string(), "no room");
        let pid = Pid::from_raw(started.get().try_into().unwrap()).unwrap();
        assert!(test_kill_process(pid).is_err(), "it lives on");
    }

    #[test]
    fn marked_ones_and_what_they_started() {
        let proc = tempfile::tempdir().unwrap();
        for (pid, parent, name, variables) in [
            ("10", "1", "client", "A=1\0X=here\0"),
            ("11", "10", "cleared) 1 7", ""),
            ("12", "11", "below", ""),
            ("13", "1", "gone from it", "X=here\0B=2"),
            ("14", "1", "other", "X=here-too\0YX=here\0"),
            ("15", "14", "other's", ""),
        ] {
            let folder = proc.path().join(pid);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("stat"), format!("{pid} ({name}) S {parent} 1 1 0")).unwrap();
            fs::write(folder.join("environ"), variables).unwrap();
        }
        fs::create_dir(proc.path().join("self")).unwrap();
        assert_eq!(marked(proc.path(), b"X=here"), BTreeSet::from([10, 11, 12, 13]));
        assert_eq!(marked(&proc.path().join("none"), b"X=here"), BTreeSet::new());
    }
}
