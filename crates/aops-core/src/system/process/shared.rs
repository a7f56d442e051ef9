//! One process in a jail that starts several programs, one after the other: entering a jail takes as long as
//! two git calls.
//!
//! Starts that process, and is it. Invariants: it has entered its jail before it starts anything; programs
//! share it only if their folder, their variables and what is guarded are the same, so that each would have
//! had the same jail; it has read none of our files; a program that cannot be started through it is started
//! by itself, in a jail of its own.

use super::Task;
use crate::system::channel;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::RecvFlags;
use rustix::process::{DumpableBehavior, Pid, Signal, kill_process_group, set_dumpable_behavior};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A program with longer arguments gets a jail of its own.
const LONGEST: usize = 64 << 10;
/// Variables that only git reads; no jail depends on them.
const OF_GIT: &str = "GIT_";

/// How many of our callers want jails to be shared, and the process that waits for its next program.
#[derive(Debug)]
struct Idle {
    wanted: usize,
    process: Option<Shared>,
}

fn idle() -> MutexGuard<'static, Idle> {
    static IDLE: Mutex<Idle> = Mutex::new(Idle { wanted: 0, process: None });
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn begin() {
    idle().wanted += 1;
}

/// After the last caller nothing waits any more.
pub(super) fn end() {
    let mut idle = idle();
    idle.wanted = idle.wanted.saturating_sub(1);
    let ended = if idle.wanted == 0 { idle.process.take() } else { None };
    drop(idle);
    drop(ended);
}

/// What the jail depends on: our own arguments, the folder, and the variables.
type Ground = (Vec<String>, PathBuf, Vec<(String, OsString)>);

/// The process in the jail, as its user sees it.
#[derive(Debug)]
pub(super) struct Shared {
    ground: Ground,
    /// Closed first, which ends the process.
    channel: Option<OwnedFd>,
    process: Child,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.channel = None;
        let _ = self.process.wait();
    }
}

impl Shared {
    /// For this program; `None` if it shares no jail.
    pub(super) fn take(task: &Task) -> Option<Self> {
        let (_, ours) = task.program.before.split_last()?;
        let of_git = |(name, _): &&(String, OsString)| !name.starts_with(OF_GIT);
        let variables = task.variables.iter().filter(of_git).cloned().collect();
        let ground = (ours.to_vec(), task.folder.to_owned(), variables);
        let mut idle = idle();
        if idle.wanted == 0 {
            return None;
        }
        let known = idle.process.take();
        drop(idle);
        known.filter(|known| known.ground == ground).or_else(|| Self::enter(task, ground))
    }

    fn enter(task: &Task, ground: Ground) -> Option<Self> {
        let (ours, theirs) = channel::pair().ok()?;
        let mut command = Command::new(&task.program.path);
        command.args(&ground.0).current_dir(&ground.1).env_clear();
        command.envs(ground.2.iter().map(|(name, value)| (name, value)));
        command.stdin(theirs).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let process = command.spawn().ok()?;
        // It holds their end.
        drop(command);
        let shared = Self { ground, channel: Some(ours), process };
        let patience = Timespec::try_from(task.timeout).ok();
        let is_there = shared.channel.as_ref().is_some_and(|channel| {
            let _ = poll(&mut [PollFd::new(channel, PollFlags::IN)], patience.as_ref());
            matches!(channel::receive(channel, &mut [0], RecvFlags::DONTWAIT), Some((1, _)))
        });
        if !is_there {
            shared.kill();
        }
        is_there.then_some(shared)
    }

    /// Starts it with these three streams; `None` if that was not asked for.
    pub(super) fn start(&self, task: &Task, streams: [BorrowedFd; 3]) -> Option<()> {
        let count = task.args.len().to_string();
        let program = task.program.before.last()?;
        let mut text = Vec::new();
        let own = [program.as_str(), &count].into_iter().chain(task.args.iter().map(String::as_str));
        for word in [task.folder.as_os_str()].into_iter().chain(own.map(OsStr::new)) {
            text.extend_from_slice(word.as_bytes());
            text.push(0);
        }
        for (name, value) in task.variables {
            text.extend([name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat());
        }
        let words = text.split(|byte| *byte == 0).count();
        let is_whole = words == 4 + task.args.len() + task.variables.len() && text.len() <= LONGEST;
        channel::send(self.channel.as_ref().filter(|_| is_whole)?, &text, &streams)
    }

    /// How the program ended, if it has.
    pub(super) fn try_wait(&self) -> Option<ExitStatus> {
        let mut status = [0; 4];
        match channel::receive(self.channel.as_ref()?, &mut status, RecvFlags::DONTWAIT)? {
            (4, _) => Some(ExitStatus::from_raw(i32::from_ne_bytes(status))),
            _ => Some(ExitStatus::from_raw(Signal::KILL.as_raw())),
        }
    }

    /// Ends it with everything that it started.
    pub(super) fn kill(&self) {
        let group = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw);
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
    }

    /// It waits for the next program.
    pub(super) fn wait_again(self) {
        let mut idle = idle();
        let old = if idle.wanted > 0 { idle.process.replace(self) } else { Some(self) };
        drop(idle);
        drop(old);
    }
}

/// The process in the jail: starts what it is asked for, until nobody asks any more. No program that it
/// started can look into it.
pub fn serve() -> io::Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let channel = io::stdin().as_fd().try_clone_to_owned()?;
    let gone = || io::Error::other("nobody asks");
    channel::send(&channel, &[0], &[]).ok_or_else(gone)?;
    let mut text = vec![0; LONGEST];
    loop {
        let asked = channel::receive(&channel, &mut text, RecvFlags::empty());
        let Some((long @ 1.., files)) = asked else { return Ok(()) };
        let status = run(&text[..long], files).ok_or_else(gone)?;
        channel::send(&channel, &status.into_raw().to_ne_bytes(), &[]).ok_or_else(gone)?;
    }
}

/// How one program ended. Where it cannot be started, its error stream says why.
fn run(text: &[u8], files: Vec<OwnedFd>) -> Option<ExitStatus> {
    let mut words = text.strip_suffix(b"\0")?.split(|byte| *byte == 0).map(OsStr::from_bytes);
    let folder = Path::new(words.next()?);
    let program = words.next()?;
    let count = words.next()?.to_str()?.parse().ok()?;
    let mut command = Command::new(program);
    command.args(words.by_ref().take(count)).current_dir(folder).env_clear();
    for variable in words {
        let at = variable.as_bytes().iter().position(|byte| *byte == b'=')?;
        let (name, value) = variable.as_bytes().split_at(at);
        command.env(OsStr::from_bytes(name), OsStr::from_bytes(&value[1..]));
    }
    let [stdin, stdout, stderr] = <[OwnedFd; 3]>::try_from(files).ok()?;
    let mut told = File::from(stderr.try_clone().ok()?);
    let ended = command.stdin(stdin).stdout(stdout).stderr(stderr).status();
    let failed = |error| {
        let _ = writeln!(told, "aops-hook did not run this program: {error}");
        ExitStatus::from_raw(126 << 8)
    };
    Some(ended.unwrap_or_else(failed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the process in the jail does with one message: exit code, output, errors.
    fn ran(words: &[&str]) -> (Option<i32>, String, String) {
        let text: String = words.iter().flat_map(|word| [word, "\0"]).collect();
        let [(_, stdin), (output, stdout), (errors, stderr)] = [(); 3].map(|()| io::pipe().unwrap());
        let stdin = OwnedFd::from(stdin);
        let ended = run(text.as_bytes(), vec![stdin, stdout.into(), stderr.into()]).unwrap();
        (ended.code(), io::read_to_string(output).unwrap(), io::read_to_string(errors).unwrap())
    }

    #[test]
    fn a_program_gets_its_words_folder_and_variables_and_no_others() {
        let line = "echo $1; pwd; env | grep -v -e PWD -e SHLVL -e _=; echo no >&2; exit 3";
        let words = ["/", "/bin/sh", "4", "-c", line, "sh", "a b", "GIT_DIR=/x=y", "EMPTY="];
        let told = (Some(3), "a b\n/\nEMPTY=\nGIT_DIR=/x=y\n".to_owned(), "no\n".to_owned());
        let mut found = ran(&words);
        let mut lines: Vec<&str> = found.1.lines().collect();
        lines[2..].sort_unstable();
        found.1 = lines.join("\n") + "\n";
        assert_eq!(found, told);
        let (code, _, why) = ran(&["/", "/no/such/program", "0"]);
        assert!(code == Some(126) && why.contains("did not run this program: No such file"), "{why}");
        assert!(run(b"/\0/bin/sh", Vec::new()).is_none() && run(b"/\0/bin/sh\0x\0", Vec::new()).is_none());
    }
}
