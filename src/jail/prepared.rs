//! The jail of a command that is tried out, made before the command comes.
//!
//! The kernel takes a millisecond for the network and the layers. So the hook that lets the command go has them made by a
//! process of its own, the keeper, while the client is busy with the answer, and the command enters them. Afterwards the
//! keeper waits for its end and writes down what vanished. Writes one file beside the session's receipts. Invariants: no
//! two commands get the same jail; a command asks the kernel, not the file, which process is the keeper, and enters only
//! what was made for the same folders and variables; where no jail waits, or none is ready, a command makes its own.

use super::kernel::{close_all_but, fork, leave, mount_copy, open_at};
use super::layer::{Layers, name_of_original};
use super::namespaces::make;
use super::plan::{Ground, is_for_telling};
use super::receipt::{self, Receipt, make_folder};
use super::user::tried;
use crate::model::profile::Profile;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, fcntl_lock, fstat, openat, statat, unlinkat};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::mount::{OpenTreeFlags, open_tree};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::{
    DumpableBehavior, Flock, FlockType, Pid, PidfdFlags, PidfdGetfdFlags, Signal, fcntl_getlk, pidfd_getfd, pidfd_open,
    pidfd_send_signal, set_dumpable_behavior,
};
use rustix::thread::{ThreadNameSpaceType, move_into_thread_name_spaces};
use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Empty. The keeper of a jail that is ready holds a write lock on it. A command in a jail cannot take one: it can open no
/// file of this folder for writing.
const FILE: &str = "prepared";
/// The number of the keeper's file that is the command's end of the channel between them.
const CHANNEL: i32 = 100;
/// How long a jail waits for its command. Meanwhile it keeps file systems in use that a person may want to unmount.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// Has a jail made for the next command of this session, if none waits yet: the last thing that a hook does, since it
/// closes all files. A command could stop the new process before it has closed copies of its own, and those would keep the
/// session's lock and the client's streams for good.
pub fn prepare(session: &Path, ground: impl FnOnce() -> Ground) -> io::Result<()> {
    let folder = make_folder(session)?;
    let path = folder.join(FILE);
    let file = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        file => file?,
    };
    close_all_but(&file);
    match fork() {
        Ok(None) => keep(&folder, &file, &ground()),
        Ok(Some(_)) => Ok(()),
        Err(error) => fs::remove_file(&path).and(Err(error)),
    }
}

/// In a process of its own: makes the jail, waits for its command, and for the command's end.
fn keep(folder: &Path, file: &File, ground: &Ground) -> ! {
    let _ = rustix::process::setsid();
    // In the jail the folder is read-only, but not through this.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = openat(CWD, folder, flags, Mode::empty()) else { leave(1) };
    // A command that came meanwhile has removed the file, and makes its own jail.
    let is_there = || {
        let there = statat(&folder, FILE, AtFlags::SYMLINK_NOFOLLOW);
        there.is_ok_and(|there| fstat(file).is_ok_and(|own| own.st_ino == there.st_ino))
    };
    let withdraw = || is_there() && unlinkat(&folder, FILE, AtFlags::empty()).is_ok();
    if let Some((layers, own, _commands)) = offer(ground) {
        let mut asked = [PollFd::new(&own, PollFlags::IN)];
        let mut is_asked = || poll(&mut asked, Some(&PATIENCE)).is_ok_and(|ready| ready > 0);
        let locked = fcntl_lock(file, FlockOperation::NonBlockingLockExclusive).is_ok();
        // What cannot be withdrawn was just claimed.
        if locked && is_there() && (is_asked() || !withdraw() && is_asked()) {
            // From here on the command is in the same user namespace.
            let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
            if let Some((command, receipt)) = asked_for(&own) {
                layers.report_end(&command, receipt);
            }
        }
    }
    withdraw();
    leave(0)
}

/// Makes the jail, and the two ends of the channel to its command: ours, into which we said for what it was made, and the command's.
fn offer(ground: &Ground) -> Option<(Layers, OwnedFd, OwnedFd)> {
    let made_for = ground.to_bytes();
    let layers = make(&ground.plan(Profile::Trial).ok()?, &ground.temporary).ok()??;
    let (own, commands) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).ok()?;
    send(&own, &made_for, &[layers.disk()])?;
    let commands = fcntl_dupfd_cloexec(commands, CHANNEL).ok()?;
    Some((layers, own, commands))
}

/// Who writes down what vanished with the command.
pub enum Reporter {
    /// A process that this one starts.
    Own(Layers),
    /// The keeper, at the other end of this channel.
    Keeper(OwnedFd),
}

impl Reporter {
    pub fn report(self, receipt: Receipt) {
        match self {
            Self::Own(layers) => layers.report(receipt),
            Self::Keeper(channel) => tell(&channel, &receipt),
        }
    }
}

/// Enters the jail that waits, or a new one; a superuser must still `lock` it.
pub(super) fn enter(profile: Profile, ground: &Ground, cwd: &Path) -> Result<Option<Reporter>, String> {
    let session = ground.session.as_ref().filter(|_| profile == Profile::Trial && !ground.network);
    let reporter = match session.and_then(|session| enter_waiting(session, ground)) {
        Some(keeper) => Some(Reporter::Keeper(keeper)),
        None => make(&ground.plan(profile)?, &[])?.map(Reporter::Own),
    };
    tried("working directory", rustix::process::chdir(cwd))?;
    Ok(reporter)
}

/// Enters the jail that waits in the session's folder, if it was made for this ground. Gives the channel to its keeper.
fn enter_waiting(session: &Path, ground: &Ground) -> Option<OwnedFd> {
    let keeper = claim(session)?;
    let Some((channel, disk)) = enter_of(&keeper, ground) else {
        let _ = pidfd_send_signal(keeper, Signal::KILL);
        return None;
    };
    let number = |file: &PathBuf| ground.temporary.iter().position(|folder| file.parent() == Some(folder));
    if let Some((file, number)) = ground.told.as_ref().and_then(|file| Some((file, number(file)?))) {
        let name = Path::new(&name_of_original(number)).join(file.file_name().unwrap_or_default());
        let copied = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        // Without it the client goes on in the folder where it is.
        let copy = open_tree(disk, &name, copied | OpenTreeFlags::AT_SYMLINK_NOFOLLOW);
        let here = || open_at(&file.parent()?.canonicalize().ok()?.join(file.file_name()?)).ok();
        if let (Ok(copy), Some(here)) = (copy, here()) {
            let _ = is_for_telling(&copy).then(|| mount_copy(&copy, &here));
        }
    }
    Some(channel)
}

/// Enters all namespaces of this process, if it keeps a jail for this ground: the channel to it, and its layers' disk.
fn enter_of(keeper: &OwnedFd, ground: &Ground) -> Option<(OwnedFd, OwnedFd)> {
    let channel = pidfd_getfd(keeper, CHANNEL, PidfdGetfdFlags::empty()).ok()?;
    let wanted = ground.to_bytes();
    // One more: a longer one is another.
    let mut found = vec![0; wanted.len() + 1];
    let (length, [disk]) = receive(&channel, &mut found)?;
    if found.get(..length)? != wanted {
        return None;
    }
    let spaces =
        ThreadNameSpaceType::MOUNT | ThreadNameSpaceType::NETWORK | ThreadNameSpaceType::INTER_PROCESS_COMMUNICATION;
    let enter = |spaces| move_into_thread_name_spaces(keeper.as_fd(), spaces);
    // A superuser's keeper has our own user namespace, which cannot be entered again: then nothing was entered.
    enter(spaces | ThreadNameSpaceType::USER).or_else(|_| enter(spaces)).ok()?;
    Some((channel, disk))
}

/// Tells the keeper which process the command is, and where to write down what vanished with it.
fn tell(channel: &OwnedFd, receipt: &Receipt) {
    if let Ok(command) = pidfd_open(rustix::process::getpid(), PidfdFlags::empty()) {
        send(channel, &[0], &[command.as_fd(), receipt.as_fd()]);
    }
}

fn asked_for(channel: &OwnedFd) -> Option<(OwnedFd, Receipt)> {
    let (_, [command, receipt]) = receive(channel, &mut [0])?;
    Some((command, Receipt::from(receipt)))
}

fn send(channel: &OwnedFd, bytes: &[u8], files: &[BorrowedFd]) -> Option<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut with = SendAncillaryBuffer::new(&mut space);
    with.push(SendAncillaryMessage::ScmRights(files));
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    sendmsg(channel, &[IoSlice::new(bytes)], &mut with, flags).ok().map(drop)
}

/// The next message: its length, and so many files.
fn receive<const N: usize>(channel: &OwnedFd, into: &mut [u8]) -> Option<(usize, [OwnedFd; N])> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut with = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let length = recvmsg(channel, &mut [IoSliceMut::new(into)], &mut with, flags).ok()?.bytes;
    let files = with.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => files.collect(),
        _ => Vec::new(),
    });
    Some((length, files.collect::<Vec<_>>().try_into().ok()?))
}

/// The keeper of the jail that waits in the session's folder, which is nobody else's from here on.
fn claim(session: &Path) -> Option<OwnedFd> {
    let folder = receipt::folder(session);
    let claimed = folder.join(format!("{FILE}.{}", std::process::id()));
    fs::rename(folder.join(FILE), &claimed).ok()?;
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(&claimed);
    fs::remove_file(&claimed).ok()?;
    let file = file.ok()?;
    let pid = locked_by(&file)?;
    let keeper = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    // It lives still, so no other process had its number meanwhile: a command can kill it and wait for its number.
    (locked_by(&file) == Some(pid)).then_some(keeper)
}

/// The living process that has the file locked for writing.
fn locked_by(file: &File) -> Option<Pid> {
    fcntl_getlk(file, &Flock::from(FlockType::ReadLock)).ok()??.pid
}
