//! Finds the files that guard the session inside of folders that a command really writes to.
//!
//! Looks which files exist; writes nothing. Invariant: a file that guards, and every folder above it that a
//! command could rename, stays in its place.

use super::ground::Ground;
use super::wishes::{Way, Wishes, lies_in};
use crate::checkpoint::tree::OF_RUNS;
use crate::gate::guard::{Protected, ProtectedPlace};
use std::fs;
use std::path::{Path, PathBuf};

impl Ground {
    /// The places that guard the session, our program included.
    pub(super) fn guarded(&self, wishes: &mut Wishes) -> Vec<ProtectedPlace> {
        let binaries = vec![own_program(wishes).to_string_lossy().into_owned()];
        Protected { binaries, ..self.guards.protected.clone() }.places()
    }

    pub(super) fn work(&self, wishes: &mut Wishes) {
        let protected = self.guarded(wishes);
        for (folder, names) in &self.guards.settings {
            if names.iter().any(|name| !folder.join(name).exists()) {
                lock_folder(folder, &protected, Path::new(&self.guards.protected.beside.worktree), wishes);
            }
        }
        for place in &protected {
            wishes.add(Path::new(&place.path), Way::ReadOnly, true);
        }
        self.hold_runs(wishes);
        // Folders that do not exist are not looked up again: this runs before every command.
        let administered =
            self.guards.administered.iter().filter(|folder| self.root && wishes.look_up(folder).is_some());
        let administered: Vec<&PathBuf> = administered.collect();
        for folder in &administered {
            wishes.add(folder, Way::ReadOnly, true);
        }
        let home = wishes.look_up(&self.home);
        let project = wishes.look_up(&self.project);
        let is_above =
            |path: &Path| [&home, &project].into_iter().flatten().any(|known| known.starts_with(path));
        let texts = self.guards.texts.iter().chain(administered);
        let links: Vec<PathBuf> = texts.flat_map(|folder| wishes.links_below(folder, DEEPEST)).collect();
        for link in links {
            if wishes.look_up(&link).is_some_and(|path| !is_above(&path)) {
                wishes.add(&link, Way::ReadOnly, true);
            }
        }
        let linked = self.linked(wishes);
        wishes.pin(&|folder| linked.iter().any(|known| lies_in(known, folder)));
    }

    /// The project is really written to, and everything around it is read-only. So are the files in it that
    /// guard, and its repository: a hook or a filter there would run later, outside of the jail. git works
    /// even if it cannot refresh its index.
    pub(super) fn quiet_work(&self, wishes: &mut Wishes) {
        let trees = self.trees();
        let worktree = PathBuf::from(&self.guards.protected.beside.worktree);
        for tree in &trees {
            wishes.add(tree, Way::Writable, true);
            wishes.add(&tree.join(".git"), Way::ReadOnly, true);
        }
        let is_written = |wishes: &mut Wishes, path: &Path| {
            let real = wishes.look_up(path);
            real.is_some_and(|real| wishes.is_inside(&real))
        };
        let protected = self.guarded(wishes);
        for (folder, names) in &self.guards.settings {
            if is_written(wishes, folder) && names.iter().any(|name| !folder.join(name).exists()) {
                lock_folder(folder, &protected, &worktree, wishes);
            }
        }
        let links: Vec<PathBuf> =
            self.guards.texts.iter().flat_map(|folder| wishes.links_below(folder, DEEPEST)).collect();
        for path in protected.iter().map(|place| PathBuf::from(&place.path)).chain(links) {
            let holds_a_tree = trees.iter().any(|tree| tree.starts_with(&path));
            if !holds_a_tree && is_written(wishes, &path) {
                wishes.add(&path, Way::ReadOnly, true);
            }
        }
        self.hold_runs(wishes);
    }

    /// What runs say they did, and what a person answered them. The driver writes it, no step does.
    fn hold_runs(&self, wishes: &mut Wishes) {
        if wishes.look_up(&self.project.join(RECORDS)).is_some() {
            for name in OF_RUNS {
                wishes.add(&self.project.join(name), Way::ReadOnly, true);
            }
        }
    }

    /// Pins every place in them that was wished for so far.
    pub(super) fn pin_trees(&self, wishes: &mut Wishes) {
        let trees: Vec<PathBuf> = self.trees().iter().filter_map(|tree| wishes.look_up(tree)).collect();
        wishes.pin_inside(&trees);
    }

    /// The project, and the worktree of it in which the command runs.
    fn trees(&self) -> Vec<PathBuf> {
        let all = [self.project.clone(), PathBuf::from(&self.guards.protected.beside.worktree)];
        all.into_iter().filter(|tree| tree.is_absolute()).collect()
    }

    /// Folders between which tools hard-link and move files, by real path: from caches into the project, and
    /// within the home.
    fn linked(&self, wishes: &mut Wishes) -> Vec<PathBuf> {
        let home = wishes.look_up(&self.home).unwrap_or_default();
        let project = wishes.look_up(&self.project);
        let inside = |folder: &PathBuf| folder.strip_prefix(&self.home).map(|rest| home.join(rest));
        let named =
            self.caches.iter().chain(&self.temporary).map(|folder| inside(folder).unwrap_or(folder.clone()));
        named.chain(project).chain([home.clone()]).collect()
    }
}

/// We cannot guard our program if we do not know its path.
pub(super) fn own_program(wishes: &mut Wishes) -> PathBuf {
    std::env::current_exe().unwrap_or_else(|error| {
        wishes.fail(format!("our own program: {error}"));
        PathBuf::new()
    })
}

/// No new file can be made in this folder, and the existing ones stay as they are. The command's worktree may
/// lie in it and stays writable: its guarded files are protected one by one.
fn lock_folder(folder: &Path, protected: &[ProtectedPlace], worktree: &Path, wishes: &mut Wishes) {
    let Some(items) = wishes.items(folder) else { return };
    wishes.add(folder, Way::ReadOnly, true);
    let holds = |path: &Path| protected.iter().any(|place| Path::new(&place.path).starts_with(path));
    let guarded = |path: &Path| holds(path) && !worktree.starts_with(path);
    for item in items.iter().map(fs::DirEntry::path).filter(|path| !guarded(path)) {
        if item.symlink_metadata().is_ok_and(|meta| meta.is_dir() || meta.is_file()) {
            wishes.add(&item, Way::Writable, false);
        }
    }
}

/// Exists in projects whose runs keep their records in `artifacts`; otherwise they are in `.aops`, which is
/// protected as a whole.
const RECORDS: &str = "artifacts/loop_state";

/// How many folders deep our texts lie: `templates/owed/push.md`.
const DEEPEST: usize = 2;
