//! Throwaway layers: overlays whose upper folders lie in one temporary file system of limited size, which
//! disappears with its last process.
//!
//! Mounts and reads; writes only to the layer itself. Invariant: no change of the command outlives its
//! processes, however they end.

use super::changes::{Covered, Looked, failed, open};
use super::kernel::{UNSEEN, by_number};
use super::plan::Plan;
use crate::model::profile::Losses;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, chmodat, chownat, fstat, mkdirat, openat};
use rustix::mount::{MountFlags, MoveMountFlags, mount, mount_bind, move_mount};
use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// At most this many ports of listening servers are named.
const MOST_PORTS: usize = 5;
/// An empty folder in the temporary file system.
const EMPTY: &str = "e";

pub(super) struct Layers {
    disk: OwnedFd,
    /// The folder on which it is mounted, as it was before.
    unseen: OwnedFd,
    /// The user and group who made the temporary file system and own everything in it by default.
    own: (u32, u32),
    /// The project and the layers inside it; each used folder has taken a number.
    covered: Vec<Covered>,
    next: usize,
    project: PathBuf,
    layer_mb: u64,
    own_network: bool,
}

/// Names of the upper folder with this number, and of the folder that the overlay works in.
fn names(number: usize) -> [String; 2] {
    [format!("u{number}"), format!("w{number}")]
}

/// Name of the folder on which the original with this number is mounted.
pub(super) fn name_of_original(number: usize) -> String {
    format!("o{number}")
}

impl Layers {
    /// The temporary file system is mounted on a folder that no command needs; we keep a descriptor and cover
    /// the mount again.
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

    /// From now on changes below this folder go into a layer of its own.
    pub(super) fn cover(&mut self, path: &Path, original: &OwnedFd, over: &OwnedFd) -> Result<(), String> {
        let number = self.next;
        self.next += 1;
        let [above, work] = names(number);
        let like = fstat(original).map_err(failed)?;
        for name in [&above, &work] {
            mkdirat(&self.disk, name, Mode::RWXU).map_err(failed)?;
        }
        // The merged folder shows its upper folder's owner. We cannot set an owner whose ID is not mapped
        // here.
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

    pub(super) fn nothing(&self) -> Result<OwnedFd, String> {
        open(&self.disk, EMPTY)
    }

    /// Hides the temporary file system. Unmounting it would wait until every core has passed a quiet state.
    pub(super) fn put_out_of_sight(&self) -> Result<(), String> {
        mount_bind(by_number(&self.unseen), UNSEEN).map_err(failed)
    }

    /// Keeps a covered folder's original mount, hidden together with the temporary file system.
    pub(super) fn keep_original(&self, number: usize, original: &OwnedFd) -> Result<(), String> {
        let name = name_of_original(number);
        mkdirat(&self.disk, &name, Mode::RWXU).map_err(failed)?;
        let whole = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        move_mount(original, "", &self.disk, &name, whole).map_err(failed)
    }

    pub(super) fn disk(&self) -> BorrowedFd<'_> {
        self.disk.as_fd()
    }

    /// Ports on which a server still listens in the command's own network.
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

    /// The files that were changed in the project, without its caches.
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
