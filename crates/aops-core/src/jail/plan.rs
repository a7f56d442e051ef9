//! The table of profiles: what each of them does with which part of the file system.
//!
//! Looks which folders exist; writes nothing. Invariants: a deeper place is applied later, so it wins; of two
//! wishes about one place the stricter wins; files that guard the session are writable in no profile but
//! `none`.

use super::ground::{DATABASES, TEMPORARY};
pub use super::ground::{Ground, GroundNetwork};
use super::guarded::own_program;
use super::wishes::{Place, Way, Wishes, lies_in};
use crate::checkpoint::tree::OURS;
use crate::model::profile::Profile;
use rustix::fs::{FileType, fstat};
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Everything that is not listed in `places` is read-only.
    pub read_only: bool,
    /// An empty network with only a loopback device.
    pub own_network: bool,
    /// A PID namespace of its own; all its processes end with the first.
    pub own_processes: bool,
    /// Sorted by depth.
    pub places: Vec<Place>,
    pub layer_mb: u64,
    pub project: PathBuf,
    /// The file in a temporary folder that stays writable, so that the command can report its working
    /// directory to the client.
    pub told: Option<PathBuf>,
}

/// Through these a superuser could leave any namespace. In a read-only profile only those in `/proc` are
/// still writable.
const SYSTEM: [&str; 5] = ["/proc/bus", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger", "/sys"];

impl Ground {
    /// What this profile does here.
    pub fn plan(&self, profile: Profile) -> Result<Plan, String> {
        let mut wishes = Wishes::default();
        // Before anything is pinned, so that no command renames a folder above a socket.
        wishes.add_all(self.network.shut.iter().flatten(), Way::Hidden);
        match profile {
            Profile::None => {}
            Profile::Work => self.work(&mut wishes),
            Profile::Read | Profile::QuietRead => {
                wishes.add(&self.project, Way::ReadOnly, true);
                let named = self.private();
                let private = self.free(&mut wishes, &named);
                wishes.add_all(&private, Way::Layer);
                if profile == Profile::Read {
                    self.keep_answering(&mut wishes, &named, &private);
                }
            }
            Profile::QuietWork => {
                self.quiet_work(&mut wishes);
                // Only folders outside of the project: what a build stores in the project stays.
                let outside = |folder: &&PathBuf| !folder.starts_with(&self.project);
                wishes.add_all(self.temporary.iter().chain(&self.caches).filter(outside), Way::Layer);
            }
            Profile::Trial => {
                wishes.add(&self.project, Way::Layer, true);
                wishes.add_all(self.temporary.iter().chain(&self.caches), Way::Layer);
            }
        }
        if profile > Profile::Work {
            self.shut(&mut wishes);
        }
        if profile == Profile::QuietWork {
            self.pin_trees(&mut wishes);
        }
        if profile == Profile::Trial || profile.is_quiet() {
            wishes.add_all(&self.services, Way::Hidden);
            wishes.add_all(DATABASES.iter().filter(|_| !self.network.open), Way::Hidden);
        }
        if profile > Profile::Work {
            wishes.add_all(&self.hidden, Way::Hidden);
        }
        if profile != Profile::None {
            wishes.add(&self.guards.keys, Way::Hidden, false);
            // Checkpoints may contain a file of secrets.
            wishes.add(&self.project.join(OURS), Way::Hidden, false);
            // The same for the home, if it is a repository.
            wishes.add_all(self.guards.kept_at_home(), Way::Hidden);
            wishes.add_all(&self.locks, Way::Apart);
            // Nothing above them can be renamed, so they need no pinning and come last.
            let open = |path: &&&str| profile == Profile::Work || path.starts_with("/proc");
            wishes.add_all(SYSTEM.iter().filter(|_| self.root).filter(open).map(Path::new), Way::ReadOnly);
        }
        let project = wishes.look_up(&self.project).unwrap_or_else(|| self.project.clone());
        let told = self.told.as_ref().and_then(|file| wishes.look_at(file)).map(|(file, _)| file);
        Ok(Plan {
            told,
            read_only: profile > Profile::Work,
            own_network: self.network.offline
                || (profile == Profile::Trial || profile.is_quiet()) && !self.network.open,
            own_processes: profile == Profile::Trial,
            places: wishes.by_depth()?,
            layer_mb: self.layer_mb,
            project,
        })
    }

    /// Keeps the user's sockets in these folders (an SSH agent, a tmux) reachable: in a layer each would be
    /// another file. `named`: the same folders by another name.
    fn keep_answering(&self, wishes: &mut Wishes, named: &[PathBuf], folders: &[PathBuf]) {
        for socket in self.services.iter().filter(|path| named.iter().any(|folder| path.starts_with(folder)))
        {
            let Some((path, is)) = wishes.look_at(socket) else { continue };
            if is.file_type().is_socket() && folders.iter().any(|folder| lies_in(&path, folder)) {
                wishes.add(&path, Way::Writable, false);
            }
        }
    }

    /// Makes the files that guard read-only, also inside of layers and writable folders.
    fn shut(&self, wishes: &mut Wishes) {
        let project = wishes.look_up(&self.project).unwrap_or_default();
        for folder in &self.kept {
            let Some(folder) = wishes.look_up(folder) else { continue };
            // If the home contains the project, it must not be thrown away with it.
            if wishes.is_inside(&folder) && folder != project {
                wishes.add(&folder, Way::ReadOnly, true);
            }
        }
    }

    /// Those of these folders that a command may really write to, by real path. Any command of the user may
    /// have replaced one, or a folder above it, by a symlink. So we leave out a folder that leads to files
    /// that guard, and a symlink in a folder where every user can create one.
    pub(super) fn free(&self, wishes: &mut Wishes, folders: &[PathBuf]) -> Vec<PathBuf> {
        let mut free = Vec::new();
        for folder in folders {
            if TEMPORARY.iter().any(|known| folder == Path::new(known)) {
                free.extend(wishes.look_up(folder));
                continue;
            }
            let Some((named, is)) = wishes.look_at(folder) else { continue };
            if is.is_symlink() && self.is_open_to_all(wishes, &named) {
                continue;
            }
            let Some((real, is)) = wishes.look_up(folder).and_then(|real| wishes.look_at(&real)) else {
                continue;
            };
            if is.is_dir() && self.is_free(wishes, folder, &real) {
                free.push(real);
            }
        }
        free
    }

    /// The path lies in a temporary folder or in the project, where others can create files.
    fn is_open_to_all(&self, wishes: &mut Wishes, named: &Path) -> bool {
        let open = self.temporary.iter().chain([&self.project]);
        open.filter_map(|folder| wishes.look_up(folder))
            .any(|folder| named.starts_with(&folder) && named != folder)
    }

    fn is_free(&self, wishes: &mut Wishes, named: &Path, real: &Path) -> bool {
        let Some(project) = wishes.look_up(&self.project) else { return false };
        let inside = named.starts_with(&self.project) || named.starts_with(&project);
        if real == project || real.starts_with(&project) && !inside {
            return false;
        }
        let kept: Vec<PathBuf> = self.kept.iter().filter_map(|folder| wishes.look_up(folder)).collect();
        let meets = |known: &PathBuf| lies_in(known, real) || lies_in(real, known);
        if !kept.iter().chain([&project, &own_program(wishes)]).any(meets) {
            return true;
        }
        let guarded = self.guarded(wishes).into_iter().map(|place| PathBuf::from(place.path));
        let guarded = guarded.chain(self.kept.iter().skip(1).cloned());
        let guarded: Vec<PathBuf> = guarded.filter_map(|place| wishes.look_up(&place)).collect();
        // A project may lie in the client's folder; it is guarded on its own.
        let covers = |place: &PathBuf| place.starts_with(real) && !place.starts_with(&project);
        !guarded.iter().any(|place| real.starts_with(place) || covers(place))
    }

    /// Everything that a throwaway layer depends on, including what exists on the disk: equal bytes mean an
    /// equal jail.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(1 << 13);
        let uid = rustix::process::geteuid().as_raw();
        bytes.extend(self.layer_mb.to_ne_bytes());
        bytes.extend(uid.to_ne_bytes());
        let lists = [&self.kept, &self.temporary, &self.caches, &self.services, &self.locks, &self.hidden];
        for path in
            [&self.project, &self.home, &self.guards.keys].into_iter().chain(lists.into_iter().flatten())
        {
            bytes.extend_from_slice(path.as_os_str().as_bytes());
            bytes.push(0);
        }
        let databases = DATABASES.iter().map(Path::new);
        let there = self.services.iter().chain(&self.locks).chain([&self.guards.keys]).map(PathBuf::as_path);
        bytes.extend(there.chain(databases).map(|path| u8::from(path.exists())));
        bytes.push(self.network.open.into());
        bytes.push(self.network.shut.is_some().into());
        for path in self.network.shut.iter().flatten() {
            bytes.extend_from_slice(path.as_os_str().as_bytes());
            bytes.push(0);
        }
        bytes
    }
}

/// Whether the client's line may really report its working directory in this file.
pub fn is_folder_file(path: &Path, temporary: &[PathBuf]) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let named = name.starts_with("claude-") && name.ends_with("-cwd");
    named && path.parent().is_some_and(|folder| temporary.iter().any(|known| known == folder))
}

/// The user's own regular file with a single name. Any command of the user could put something else there: a
/// symlink, a pipe, a hard link to another file.
pub(super) fn is_for_telling(file: impl AsFd) -> bool {
    let own = |uid| uid == rustix::process::geteuid().as_raw();
    let is_file = |mode| FileType::from_raw_mode(mode) == FileType::RegularFile;
    fstat(file).is_ok_and(|found| is_file(found.st_mode) && found.st_nlink == 1 && own(found.st_uid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::env::Env;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// Makes each of these folders, and a ground that refers to them.
    fn ground(folders: &[&str]) -> (tempfile::TempDir, PathBuf, Ground) {
        let held = tempfile::tempdir().unwrap();
        let root = held.path().canonicalize().unwrap();
        for folder in [&["project", "home/.claude/aops", "home/.aops", "home/data"], folders].concat() {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let env = Env {
            home: root.join("home"),
            config: root.join("home/.claude"),
            user_config: root.join("home/.aops"),
            data: root.join("home/data"),
            ..Env::default()
        };
        let ground = Ground::of(&env, &root.join("project"), &|_| None);
        (held, root, ground)
    }

    #[test]
    fn a_folder_that_leads_elsewhere_is_not_written_for_real() {
        let (_held, root, ground) =
            ground(&["tmp", "home/tmp", "project/tmp", "project/src", "home/.claude/aops/x"]);
        for (link, to) in [("away", "tmp"), ("guarded", "home/.claude"), ("inside", "project")] {
            symlink(root.join(to), root.join(link)).unwrap();
        }
        let free = ["tmp", "home/tmp", "project/tmp"].map(|name| root.join(name));
        let held = ["guarded/aops/x", "guarded/aops", "inside/src", "project", "home/data", "home", "gone"];
        let folders: Vec<PathBuf> =
            free.iter().cloned().chain(held.iter().map(|name| root.join(name))).collect();
        assert_eq!(ground.free(&mut Wishes::default(), &folders), free);
    }

    #[test]
    fn what_is_kept_in_a_written_project_cannot_be_moved_away_with_a_folder_above_it() {
        let (_held, root, ground) = ground(&["home/deep/kept"]);
        let home = root.join("home");
        let ground = Ground { project: home.clone(), kept: vec![home.join("deep/kept")], ..ground };
        let places = ground.plan(Profile::QuietWork).unwrap().places;
        let way = |path: PathBuf| places.iter().find(|place| place.path == path).map(|place| place.way);
        assert_eq!(way(home.join("deep/kept")), Some(Way::ReadOnly));
        assert_eq!(way(home.join("deep")), Some(Way::Pinned));
    }

    #[test]
    fn the_file_for_the_working_directory_is_no_link() {
        let (_held, root, mut ground) = ground(&["tmp"]);
        let file = root.join("tmp/claude-1-cwd");
        fs::write(root.join("home/x"), "").unwrap();
        symlink(root.join("home/x"), &file).unwrap();
        ground.told = Some(file.clone());
        assert_eq!(ground.plan(Profile::Trial).unwrap().told, Some(file));
    }
}
