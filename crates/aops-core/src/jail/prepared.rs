//! A throwaway layer that is made before its command comes.
//!
//! The kernel takes a millisecond for the network and the layers. So the hook that allows the command lets
//! the keeper make them while the client still handles the answer, and the command enters them. Writes one
//! file next to the session's receipts. Invariants: no two commands get the same jail; a command asks the
//! kernel, not the file, which process is the keeper, and enters only a jail that was made for the same
//! folders and variables; if no jail is ready, the command makes its own.

use super::follow::descend;
use super::keeper::{Mark, Told, become_first, keep, keep_for_one, make};
use super::kernel::{close_all_but, fork, leave, mount_copy, open_at, wait_for};
use super::layer::{Layers, name_of_original};
use super::namespaces;
use super::plan::{Ground, is_for_telling};
use super::receipt::{self, MARK, Receipt, make_folder};
use super::user::tried;
use crate::model::profile::Profile;
use crate::system::channel::{self, receive, send};
use crate::system::files;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::mount::{OpenTreeFlags, open_tree};
use rustix::net::RecvFlags;
use rustix::process::{
    DumpableBehavior, Flock, FlockType, Pid, PidfdFlags, PidfdGetfdFlags, Signal, fcntl_getlk, pidfd_getfd,
    pidfd_open, pidfd_send_signal, set_dumpable_behavior, setsid,
};
use rustix::thread::{ThreadNameSpaceType, move_into_thread_name_spaces};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Number of the keeper's descriptor that is the command's end of their channel.
const CHANNEL: i32 = 100;

/// Makes a jail for the next command of this session, if none is waiting yet. `patience`: how long it waits
/// for its command. It must be the last thing that a hook does, since it closes all files: a command could
/// stop the new process before it has closed its copies, and those would keep the session's lock and the
/// client's streams forever.
pub fn prepare(session: &Path, patience: Duration, ground: impl FnOnce() -> Ground) -> io::Result<()> {
    let folder = make_folder(session)?;
    let mark = match Mark::new(&folder, MARK.to_owned()) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        mark => mark?,
    };
    close_all_but(&mark.files());
    match fork() {
        Ok(None) => wait_for_command(mark, patience, &ground()),
        Ok(Some(_)) => Ok(()),
        Err(error) => {
            mark.remove();
            Err(error)
        }
    }
}

/// Runs in a process of its own: makes the jail, then waits for its command and for the command's end.
fn wait_for_command(mut mark: Mark, patience: Duration, ground: &Ground) -> ! {
    let _ = setsid();
    let patience = Timespec::try_from(patience).ok();
    if let Some((layers, own, _commands)) = offer(ground) {
        let mut asked = [PollFd::new(&own, PollFlags::IN)];
        let mut is_asked = || poll(&mut asked, patience.as_ref()).is_ok_and(|ready| ready > 0);
        // If we cannot withdraw the mark, somebody has just claimed it; if it has no name any more, its
        // command did without us.
        if mark.lock()
            && (is_asked() || !mark.remove() && mark.has_name() && is_asked())
            && let Some(told) = Told::receive(&own)
        {
            mark = mark.renamed(claimed_name(told.number));
            keep(&layers, told);
        }
    }
    mark.remove();
    leave(0)
}

/// Makes the jail, and the two ends of its channel: ours, into which we have written what it was made for,
/// and the command's.
fn offer(ground: &Ground) -> Option<(Layers, OwnedFd, OwnedFd)> {
    let made_for = ground.to_bytes();
    let plan = ground.plan(Profile::Trial).ok()?;
    become_first(&plan).ok()?;
    let layers = make(&plan, &ground.temporary).ok()?;
    let (own, commands) = channel::pair().ok()?;
    send(&own, &made_for, &[layers.disk()])?;
    let commands = fcntl_dupfd_cloexec(commands, CHANNEL).ok()?;
    Some((layers, own, commands))
}

/// A throwaway layer that was entered, and the channel to its keeper.
pub struct Trial(OwnedFd);

impl Trial {
    /// Continues as the command, in the keeper's PID namespace. `clients`: process IDs of those who wait for
    /// it.
    pub fn begin(self, receipt: Option<Receipt>, clients: &[i32]) -> Result<(), String> {
        // No command may inspect this process, which has more rights than the command.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        let process = |number: Pid| pidfd_open(number, PidfdFlags::empty());
        let command = tried("pidfd", process(rustix::process::getpid()))?;
        let clients = clients.iter().filter_map(|number| process(Pid::from_raw(*number)?).ok()).collect();
        let told = Told { command, clients, receipt, number: std::process::id() };
        told.send(&self.0).ok_or("its keeper has ended")?;
        descend()
    }
}

/// Enters the waiting jail, or a new one; a superuser must still call `lock`.
pub(super) fn enter(profile: Profile, ground: &Ground, cwd: &Path) -> Result<Option<Trial>, String> {
    let trial = if profile == Profile::Trial {
        let session = ground.session.as_ref().filter(|_| !ground.network.open);
        let waiting = session.and_then(|session| enter_waiting(session, ground));
        Some(Trial(waiting.map_or_else(|| enter_own(ground), Ok)?))
    } else {
        namespaces::make(&ground.plan(profile)?)?;
        None
    };
    tried("working directory", rustix::process::chdir(cwd))?;
    Ok(trial)
}

/// Makes a jail for this command alone, and enters it.
fn enter_own(ground: &Ground) -> Result<OwnedFd, String> {
    let mark = ground.watched.as_ref().map(|session| {
        let folder = make_folder(session)?;
        let name = claimed_name(std::process::id());
        // A killed keeper left it behind; its command had the process ID that we have now.
        let _ = fs::remove_file(folder.join(&name));
        Mark::new(&folder, name)
    });
    let mark = tried("mark", mark.transpose())?;
    let (own, commands) = tried("channel", channel::pair())?;
    let Some(first) = tried("fork", fork())? else {
        drop(commands);
        keep_for_one(ground, &own, mark.as_ref())
    };
    drop(own);
    let _ = wait_for(first);
    let mut said = vec![0; 4096];
    let killed = "its keeper was killed";
    let (length, files) = receive(&commands, &mut said, RecvFlags::empty()).ok_or(killed)?;
    let Ok([keeper, _disk]) = <[OwnedFd; 2]>::try_from(files) else {
        let why = String::from_utf8_lossy(&said[..length]).into_owned();
        return Err(if why.is_empty() { killed.to_owned() } else { why });
    };
    tried("namespaces", enter_spaces(&keeper, ground.network.open))?;
    Ok(commands)
}

/// Enters the jail that waits in the session's folder, if it was made for this ground. Returns the channel to
/// its keeper.
fn enter_waiting(session: &Path, ground: &Ground) -> Option<OwnedFd> {
    let (keeper, mark) = claim(session)?;
    let Some((channel, disk)) = enter_of(&keeper, ground) else {
        let _ = pidfd_send_signal(keeper, Signal::KILL);
        let _ = fs::remove_file(mark);
        return None;
    };
    let number = |file: &PathBuf| ground.temporary.iter().position(|folder| file.parent() == Some(folder));
    if let Some((file, number)) = ground.told.as_ref().and_then(|file| Some((file, number(file)?))) {
        let name = Path::new(&name_of_original(number)).join(file.file_name().unwrap_or_default());
        let copied = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        // If this fails, the client merely stays in its present folder.
        let copy = open_tree(disk, &name, copied | OpenTreeFlags::AT_SYMLINK_NOFOLLOW);
        let here = || open_at(&file.parent()?.canonicalize().ok()?.join(file.file_name()?)).ok();
        if let (Ok(copy), Some(here)) = (copy, here()) {
            let _ = is_for_telling(&copy).then(|| mount_copy(&copy, &here));
        }
    }
    Some(channel)
}

/// Enters all namespaces of this process, if it keeps a jail for this ground. Returns the channel to it, and
/// its layers' disk.
fn enter_of(keeper: &OwnedFd, ground: &Ground) -> Option<(OwnedFd, OwnedFd)> {
    let channel = pidfd_getfd(keeper, CHANNEL, PidfdGetfdFlags::empty()).ok()?;
    let wanted = ground.to_bytes();
    // One byte more than expected, so that a longer message is recognised as a different one.
    let mut found = vec![0; wanted.len() + 1];
    let (length, files) = receive(&channel, &mut found, RecvFlags::DONTWAIT)?;
    let [disk] = files.try_into().ok()?;
    if found.get(..length)? != wanted {
        return None;
    }
    enter_spaces(keeper, false).ok()?;
    Some((channel, disk))
}

fn enter_spaces(keeper: &OwnedFd, network: bool) -> rustix::io::Result<()> {
    let mut spaces = ThreadNameSpaceType::MOUNT | ThreadNameSpaceType::PROCESS_ID;
    if !network {
        spaces |= ThreadNameSpaceType::NETWORK | ThreadNameSpaceType::INTER_PROCESS_COMMUNICATION;
    }
    let enter = |spaces| move_into_thread_name_spaces(keeper.as_fd(), spaces);
    // A superuser's keeper shares our user namespace, which cannot be entered again. The first call has then
    // entered nothing.
    enter(spaces | ThreadNameSpaceType::USER).or_else(|_| enter(spaces))
}

fn claimed_name(number: u32) -> String {
    format!("{MARK}.{number}")
}

/// Takes the jail that waits in the session's folder, so that nobody else can. Returns its keeper, and the
/// file that the keeper has locked.
fn claim(session: &Path) -> Option<(OwnedFd, PathBuf)> {
    let folder = receipt::folder(session);
    let claimed = folder.join(claimed_name(std::process::id()));
    fs::rename(folder.join(MARK), &claimed).ok()?;
    let keeper = open_mark(&claimed).and_then(|file| keeper_of(&file));
    if keeper.is_none() {
        let _ = fs::remove_file(&claimed);
    }
    keeper.map(|keeper| (keeper, claimed))
}

fn open_mark(path: &Path) -> Option<File> {
    files::open_itself(path, OpenOptions::new().read(true)).ok()
}

fn keeper_of(mark: &File) -> Option<OwnedFd> {
    let pid = locked_by(mark)?;
    let keeper = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    // Without the lock it could be another process: a command could kill the keeper and wait until its
    // process ID is reused.
    (locked_by(mark) == Some(pid)).then_some(keeper)
}

/// The living process that has locked the file for writing.
fn locked_by(file: &File) -> Option<Pid> {
    fcntl_getlk(file, &Flock::from(FlockType::ReadLock)).ok()??.pid
}

/// The session has ended: ends every command in a throwaway layer. A keeper that has not locked its mark yet
/// will find it gone.
pub fn end_all(session: &Path) {
    for entry in fs::read_dir(receipt::folder(session)).into_iter().flatten().flatten() {
        if !receipt::is_mark(&entry.file_name()) {
            continue;
        }
        let mark = open_mark(&entry.path());
        let _ = fs::remove_file(entry.path());
        if let Some(keeper) = mark.and_then(|mark| keeper_of(&mark)) {
            let _ = pidfd_send_signal(keeper, Signal::KILL);
        }
    }
}
