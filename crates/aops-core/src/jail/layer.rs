//! Throwaway layers: overlays whose upper folders lie in one bounded temporary file system, which is gone
//! with its last process.
//!
//! Mounts and reads; what it writes to is the layer itself. Invariant: nothing outlives the processes of the
//! command, however they end.

use super::changes::{Covered, Looked, failed, open};
use super::kernel::{UNSEEN, by_number};
use super::plan::Plan;
use crate::model::profile::Losses;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, chmodat, chownat, fstat, mkdirat, openat};
use rustix::mount::{MountFlags, MoveMountFlags, mount, mount_bind, move_mount};
use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Ports of servers that are named.
const MOST_PORTS: usize = 5;
/// A folder of the temporary file system in which there is nothing.
const EMPTY: &str = "e";

pub(super) struct Layers {
    disk: OwnedFd,
    /// The folder over which it is mounted, as it was before.
    unseen: OwnedFd,
    /// Who made the temporary file system, and everything in it that has no other owner.
    own: (u32, u32),
    /// The project and what is covered inside it; every folder has used a number.
    covered: Vec<Covered>,
    next: usize,
    project: PathBuf,
    layer_mb: u64,
    own_network: bool,
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
    /// The temporary file system is mounted on a folder that no command needs, used from there, and covered
    /// again.
    pub(super) fn new(plan: &Plan) -> Result<Self, String> {
        let options = CString::new(format!("size={}m,mode=0700", plan.layer_mb)).unwrap_or_default();
        let unseen = openat(CWD, UNSEEN, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
        mount("aops-layer", UNSEEN, "tmpfs", MountFlags::NODEV, &*options)
            .map_err(|error| format!("temporary file system: {error}"))?;
        let disk = open(CWD, UNSEEN)?;
        let own = fstat(&disk).map(|made| (made.st_uid, made.st_gid)).map_err(failed)?;
        mkdirat(&disk, EMPTY, Mode::from_raw_mode(0o555)).map_err(failed)?;
        let project = plan.project.clone();
        let layer_mb = plan.layer_mb;
        let own_network = plan.own_network;
        Ok(Self { disk, unseen, own, covered: Vec::new(), next: 0, project, layer_mb, own_network })
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
            let user = rustix::fs::Uid::from_raw(like.st_uid);
            let group = rustix::fs::Gid::from_raw(like.st_gid);
            let _ = chownat(&self.disk, &above, Some(user), Some(group), AtFlags::empty());
        }
        let _ = chmodat(&self.disk, &above, Mode::from_raw_mode(like.st_mode), AtFlags::empty());
        let lower = by_number(original);
        let options = format!("lowerdir={lower},upperdir={UNSEEN}/{above},workdir={UNSEEN}/{work},userxattr");
        let options = CString::new(options).unwrap_or_default();
        mount("overlay", by_number(over), "overlay", MountFlags::empty(), &*options)
            .map_err(|error| format!("overlay: {error}"))?;
        if path.starts_with(&self.project) {
            let original = original.try_clone().map_err(|error| format!("layer: {error}"))?;
            self.covered.push(Covered { number, path: path.to_owned(), original });
        }
        Ok(())
    }

    /// A folder in which there is nothing.
    pub(super) fn nothing(&self) -> Result<OwnedFd, String> {
        open(&self.disk, EMPTY)
    }

    /// Takes the temporary file system out of sight. Unmounting would wait until every core has passed a
    /// quiet state.
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

    /// Ports on which something still listens in the command's own network.
    pub(super) fn ports(&self) -> Vec<u16> {
        const LISTENS: &str = "0A";
        if !self.own_network {
            return Vec::new();
        }
        let lists = ["tcp", "tcp6"]
            .map(|kind| std::fs::read_to_string(format!("/proc/self/net/{kind}")).unwrap_or_default());
        let port = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (_, port) = words.get(1)?.rsplit_once(':')?;
            if *words.get(3)? == LISTENS { u16::from_str_radix(port, 16).ok() } else { None }
        };
        let mut ports: Vec<u16> = lists.iter().flat_map(|list| list.lines().filter_map(port)).collect();
        ports.sort_unstable();
        ports.dedup();
        ports.truncate(MOST_PORTS);
        ports
    }

    /// What was changed in the project, caches aside.
    pub(super) fn losses(&self) -> Losses {
        let mut found = Looked::default();
        for covered in &self.covered {
            let Ok(inside) = covered.path.strip_prefix(&self.project) else { continue };
            if let Ok(folder) = open(&self.disk, &names(covered.number)[0]) {
                found.walk(&folder, covered, inside, Path::new(""));
            }
        }
        let full = rustix::fs::fstatvfs(&self.disk).is_ok_and(|disk| disk.f_bavail * 100 < disk.f_blocks);
        found.losses(full.then_some(self.layer_mb))
    }
}
