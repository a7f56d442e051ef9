//! Throwaway layers: overlays whose upper folders lie in one bounded temporary file system, which is gone with its last
//! process.
//!
//! Mounts and reads; what it writes to is the layer itself. Invariant: nothing outlives the processes of the command,
//! however they end.

use super::kernel::{UNSEEN, by_number, close_copies, fork_unseen, leave, mount_copy, set_writable};
use super::plan::Plan;
use super::receipt::Receipt;
use crate::model::profile::{Hold, Profile, Proof};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, chmodat, chownat, fstat, mkdirat, openat};
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags, mount, mount_bind, move_mount, open_tree};
use rustix::process::{DumpableBehavior, PidfdFlags, pidfd_open, set_dumpable_behavior};
use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Entries of a layer that are looked at for the line about it, and names in that line.
const MOST_ENTRIES: usize = 20_000;
const MOST_NAMES: usize = 5;
/// A folder of the temporary file system in which there is nothing.
const EMPTY: &str = "e";

pub struct Layers {
    disk: OwnedFd,
    /// The folder over which it is mounted, as it was before.
    unseen: OwnedFd,
    /// Who made the temporary file system, and everything in it that has no other owner.
    own: (u32, u32),
    /// Each covered folder with the number of its upper one; one that could not be covered has used a number too.
    covered: Vec<(usize, PathBuf)>,
    next: usize,
    project: PathBuf,
    layer_mb: u64,
}

fn open(at: impl AsFd, name: &str) -> Result<OwnedFd, String> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, name, flags, Mode::empty()).map_err(failed)
}

fn failed(error: rustix::io::Errno) -> String {
    format!("layer: {error}")
}

/// The upper folder of this number in the temporary file system, and the one that an overlay works in.
fn names(number: usize) -> [String; 2] {
    [format!("u{number}"), format!("w{number}")]
}

/// The folder of the temporary file system on which the original of this number is mounted.
pub(super) fn name_of_original(number: usize) -> String {
    format!("o{number}")
}

impl Layers {
    /// The temporary file system is mounted on a folder that no command needs, used from there, and covered again.
    pub(super) fn new(plan: &Plan) -> Result<Self, String> {
        let options = CString::new(format!("size={}m,mode=0700", plan.layer_mb)).unwrap_or_default();
        let unseen = openat(CWD, UNSEEN, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
        mount("aops-layer", UNSEEN, "tmpfs", MountFlags::NODEV, &*options)
            .map_err(|error| format!("temporary file system: {error}"))?;
        let disk = open(CWD, UNSEEN)?;
        let own = fstat(&disk).map(|made| (made.st_uid, made.st_gid)).map_err(failed)?;
        mkdirat(&disk, EMPTY, Mode::from_raw_mode(0o555)).map_err(failed)?;
        let (project, layer_mb) = (plan.project.clone(), plan.layer_mb);
        Ok(Self { disk, unseen, own, covered: Vec::new(), next: 0, project, layer_mb })
    }

    /// What is changed below this folder from now on goes into a layer of its own.
    pub(super) fn cover(&mut self, path: &Path, original: &OwnedFd, over: &OwnedFd) -> Result<(), String> {
        let number = self.next;
        self.next += 1;
        let [above, work] = names(number);
        let like = fstat(original).map_err(failed)?;
        for name in [&above, &work] {
            mkdirat(&self.disk, name, Mode::RWXU).map_err(failed)?;
        }
        // The covered folder looks like its upper one. An owner who has no number here cannot be given.
        if (like.st_uid, like.st_gid) != self.own {
            let (user, group) = (rustix::fs::Uid::from_raw(like.st_uid), rustix::fs::Gid::from_raw(like.st_gid));
            let _ = chownat(&self.disk, &above, Some(user), Some(group), AtFlags::empty());
        }
        let _ = chmodat(&self.disk, &above, Mode::from_raw_mode(like.st_mode), AtFlags::empty());
        let lower = by_number(original);
        let options = format!("lowerdir={lower},upperdir={UNSEEN}/{above},workdir={UNSEEN}/{work},userxattr");
        let options = CString::new(options).unwrap_or_default();
        mount("overlay", by_number(over), "overlay", MountFlags::empty(), &*options)
            .map_err(|error| format!("overlay: {error}"))?;
        self.covered.push((number, path.to_owned()));
        Ok(())
    }

    /// From now on there is nothing in this folder, and nothing can be made in it.
    pub(super) fn hide(&self, over: &OwnedFd) -> Result<(), String> {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        let failed = |error: std::io::Error| format!("hide: {error}");
        let empty = open_tree(&self.disk, EMPTY, flags).map_err(|error| failed(error.into()))?;
        set_writable(empty.as_fd(), false, false).map_err(failed)?;
        mount_copy(&empty, over).map_err(|error| failed(error.into()))
    }

    /// Takes the temporary file system out of sight. Unmounting would wait until every core has passed a quiet state.
    pub(super) fn put_out_of_sight(&self) -> Result<(), String> {
        mount_bind(by_number(&self.unseen), UNSEEN).map_err(failed)
    }

    /// Keeps a mount of a covered folder as it is, out of sight with the temporary file system.
    pub(super) fn keep_original(&self, number: usize, original: &OwnedFd) -> Result<(), String> {
        let name = name_of_original(number);
        mkdirat(&self.disk, &name, Mode::RWXU).map_err(failed)?;
        let whole = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        move_mount(original, "", &self.disk, &name, whole).map_err(failed)
    }

    pub(super) fn disk(&self) -> BorrowedFd<'_> {
        self.disk.as_fd()
    }

    /// Lets a process of its own wait for the end of this one and write down what vanished with it.
    pub(super) fn report(self, receipt: Receipt) {
        // No command may look into that process: its files are outside of the jail.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        let Ok(command) = pidfd_open(rustix::process::getpid(), PidfdFlags::empty()) else { return };
        let Ok(None) = fork_unseen() else { return };
        let _ = rustix::process::setsid();
        close_copies(&[0, 1, 2]);
        self.report_end(&command, receipt)
    }

    /// Waits for the end of the command, writes down what vanished with it, and ends this process.
    pub(super) fn report_end(&self, command: &OwnedFd, mut receipt: Receipt) -> ! {
        let mut ended = [PollFd::new(command, PollFlags::IN)];
        while matches!(poll(&mut ended, None), Err(rustix::io::Errno::INTR)) {}
        let proof = Proof { hold: Hold::Namespaces, profile: Profile::Trial, vanished: self.describe() };
        let _ = receipt.write(&proof);
        leave(0)
    }

    /// `3 files changed in a throwaway layer and are gone: target/…, x.txt`, with a word about a layer that is full.
    fn describe(&self) -> String {
        let mut found = Changed::default();
        for (number, path) in &self.covered {
            let Ok(inside) = path.strip_prefix(&self.project) else { continue };
            if let Ok(folder) = open(&self.disk, &names(*number)[0]) {
                found.walk(&folder, inside, 0);
            }
        }
        let mut words = found.words();
        if rustix::fs::fstatvfs(&self.disk).is_ok_and(|disk| disk.f_bavail * 100 < disk.f_blocks) {
            let full = format!("the throwaway layer was full: {} MB, `[jail] layer_mb`", self.layer_mb);
            words = if words.is_empty() { full } else { format!("{words}; {full}") };
        }
        words
    }
}

/// What is in the upper folders of the project.
#[derive(Default)]
struct Changed {
    files: usize,
    names: Vec<String>,
}

impl Changed {
    fn walk(&mut self, folder: &OwnedFd, inside: &Path, depth: usize) {
        let Ok(items) = Dir::read_from(folder) else { return };
        for item in items.flatten() {
            let name = item.file_name().to_string_lossy().into_owned();
            if name == "." || name == ".." || self.files >= MOST_ENTRIES {
                continue;
            }
            let path = inside.join(&name);
            if item.file_type() == FileType::Directory {
                let before = self.files;
                if let Some(below) = open(folder, &name).ok().filter(|_| depth < 64) {
                    self.walk(&below, &path, depth + 1);
                }
                if depth == 0 && self.files > before {
                    self.names.push(format!("{}/…", path.display()));
                }
            } else {
                self.files += 1;
                self.names.extend((depth == 0).then(|| path.display().to_string()));
            }
        }
    }

    fn words(mut self) -> String {
        if self.files == 0 {
            return String::new();
        }
        self.names.sort();
        let more = self.names.len().saturating_sub(MOST_NAMES);
        self.names.truncate(MOST_NAMES);
        let count = if self.files >= MOST_ENTRIES { format!("{MOST_ENTRIES} or more") } else { self.files.to_string() };
        let (files, are) = if self.files == 1 { ("file", "is") } else { ("files", "are") };
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{count} {files} changed in a throwaway layer and {are} gone: {}{more}", self.names.join(", "))
    }
}
