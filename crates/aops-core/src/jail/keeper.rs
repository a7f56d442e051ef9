//! The keeper of a throwaway layer: the first process of the command's PID namespace.
//!
//! It makes the jail, waits for the command's end, and records what was lost. When it ends, for whatever
//! reason, the kernel kills every remaining process of the command. Invariants: it ends with the command,
//! with the client that waits for the command, and with the session; no process of the command can stop it or
//! inspect it.

use super::kernel::{close_all_but, fork, ignore_children, kill_others, leave};
use super::layer::Layers;
use super::namespaces::{mount_all, separate};
use super::plan::{Ground, Plan};
use super::receipt::Receipt;
use crate::model::profile::{Hold, Profile, Proof};
use crate::system::channel::{receive, send};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, fcntl_lock, fstat, openat, statat, unlinkat};
use rustix::net::RecvFlags;
use rustix::process::{DumpableBehavior, PidfdFlags, getpid, pidfd_open, set_dumpable_behavior, setsid};
use std::fs::{self, File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A file that its keeper keeps locked as long as it lives; the end of the session looks for it. If it was
/// removed before it was locked, the session has ended.
pub(super) struct Mark {
    folder: OwnedFd,
    file: File,
    name: String,
}

impl Mark {
    pub(super) fn new(folder: &Path, name: String) -> std::io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(folder.join(&name))?;
        // The jail mounts this folder read-only, but this descriptor still writes.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, folder, flags, Mode::empty())
            .inspect_err(|_| drop(fs::remove_file(folder.join(&name))))?;
        Ok(Self { folder, file, name })
    }

    pub(super) fn files(&self) -> [i32; 2] {
        [self.folder.as_raw_fd(), self.file.as_raw_fd()]
    }

    /// Whether it is ours to keep. If somebody claimed it meanwhile, they may have seen our lock already and
    /// count on us.
    pub(super) fn lock(&self) -> bool {
        fcntl_lock(&self.file, FlockOperation::NonBlockingLockExclusive).is_ok() && self.has_name()
    }

    /// The file still exists, even if it was renamed.
    pub(super) fn has_name(&self) -> bool {
        fstat(&self.file).is_ok_and(|own| own.st_nlink > 0)
    }

    fn is_there(&self) -> bool {
        let there = statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        there.is_ok_and(|there| fstat(&self.file).is_ok_and(|own| own.st_ino == there.st_ino))
    }

    /// Removes the file; false if it was already gone.
    pub(super) fn remove(&self) -> bool {
        self.is_there() && unlinkat(&self.folder, &self.name, AtFlags::empty()).is_ok()
    }

    /// The same mark under the name that its claimer gave it.
    pub(super) fn renamed(self, name: String) -> Self {
        Self { name, ..self }
    }
}

/// The processes a keeper watches, and where it reports.
pub(super) struct Told {
    /// A handle of the process that the client started.
    pub(super) command: OwnedFd,
    /// When one of these ends, nobody waits for the command any more.
    pub(super) clients: Vec<OwnedFd>,
    pub(super) receipt: Option<Receipt>,
    /// The command's process ID.
    pub(super) number: u32,
}

impl Told {
    pub(super) fn send(&self, channel: &OwnedFd) -> Option<()> {
        let mut bytes = self.number.to_ne_bytes().to_vec();
        bytes.push(u8::from(self.receipt.is_some()));
        let watched = std::iter::once(&self.command).chain(&self.clients).map(AsFd::as_fd);
        let files: Vec<BorrowedFd> = watched.chain(self.receipt.as_ref().map(AsFd::as_fd)).collect();
        send(channel, &bytes, &files)
    }

    pub(super) fn receive(channel: &OwnedFd) -> Option<Self> {
        let mut bytes = [0; 5];
        let (5, mut files) = receive(channel, &mut bytes, RecvFlags::DONTWAIT)? else { return None };
        let number = u32::from_ne_bytes(bytes[..4].try_into().ok()?);
        let receipt = if bytes[4] == 1 { Some(Receipt::from(files.pop()?)) } else { None };
        let clients = files.split_off(files.len().min(1));
        Some(Self { command: files.pop()?, clients, receipt, number })
    }
}

/// The calling process ends; its child continues as the first process of a PID namespace.
pub(super) fn become_first(plan: &Plan) -> Result<(), String> {
    separate(plan)?;
    match fork() {
        Ok(Some(_)) => leave(0),
        Ok(None) => {
            let _ = setsid();
            // Orphaned processes become our children, and nobody needs their exit codes.
            ignore_children();
            Ok(())
        }
        Err(error) => Err(format!("fork: {error}")),
    }
}

pub(super) fn make(plan: &Plan, originals: &[PathBuf]) -> Result<Layers, String> {
    mount_all(plan, originals)?.ok_or_else(|| "there is no layer".to_owned())
}

/// Waits until the command, or whoever waits for it, has ended, and then kills what is left of it.
pub(super) fn keep(layers: &Layers, told: Told) {
    // From here on the command shares our user namespace and could inspect us.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let watched = std::iter::once(&told.command).chain(&told.clients);
    let mut ends: Vec<PollFd> = watched.map(|process| PollFd::new(process, PollFlags::IN)).collect();
    while matches!(poll(&mut ends, None), Err(rustix::io::Errno::INTR)) {}
    let ports = layers.ports();
    kill_others();
    if let Some(mut receipt) = told.receipt {
        let mut lost = layers.losses();
        lost.ports = ports;
        let _ = receipt.write(&Proof { lost, ..Proof::of(Hold::Namespaces, Profile::Trial) });
    }
}

/// Runs in a process of its own: a keeper for one command. It answers the command with a handle of itself and
/// of its layers' disk, or with the reason why there are none.
pub(super) fn keep_for_one(ground: &Ground, channel: &OwnedFd, mark: Option<&Mark>) -> ! {
    let kept = mark.into_iter().flat_map(Mark::files).chain([channel.as_raw_fd()]);
    close_all_but(&kept.collect::<Vec<_>>());
    let _ = setsid();
    let made =
        ground.plan(Profile::Trial).and_then(|plan| become_first(&plan).and_then(|()| make(&plan, &[])));
    let answer = made.and_then(|layers| {
        if mark.is_some_and(|mark| !mark.lock()) {
            return Err("its session has ended".to_owned());
        }
        let own = pidfd_open(getpid(), PidfdFlags::empty()).map_err(|error| format!("pidfd: {error}"))?;
        send(channel, &[0], &[own.as_fd(), layers.disk()]).ok_or("nobody waits for it")?;
        Ok(layers)
    });
    match answer {
        Ok(layers) => {
            let mut asked = [PollFd::new(channel, PollFlags::IN)];
            while matches!(poll(&mut asked, None), Err(rustix::io::Errno::INTR)) {}
            if let Some(told) = Told::receive(channel) {
                keep(&layers, told);
            }
        }
        Err(why) => drop(send(channel, why.as_bytes(), &[])),
    }
    let _ = mark.map(Mark::remove);
    leave(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command renames the mark, sees that it is locked, and enters: if the keeper ended now, the command
    /// would die with it.
    #[test]
    fn a_mark_that_was_claimed_before_its_lock_is_kept_and_a_removed_one_is_not() {
        let folder = std::env::temp_dir().join(format!("aops-mark-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let claimed = Mark::new(&folder, "waiting".to_owned()).unwrap();
        fs::rename(folder.join("waiting"), folder.join("waiting.7")).unwrap();
        assert!(claimed.lock());
        fs::remove_file(folder.join("waiting.7")).unwrap();
        assert!(!claimed.lock());
        fs::remove_dir_all(&folder).unwrap();
    }
}
