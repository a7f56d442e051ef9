//! Collects what is wanted for each place, and looks up where the place is.
//!
//! Reads folders and links; writes nothing. Invariants: each name on the way to a place is looked at once; an error that
//! does not say that nothing is there makes the whole plan one.

use super::plan::{Place, Way};
use rustix::fs::{Access, CWD};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Records of runs lie beside a project's texts; there may be many.
const RUNS: &str = "runs";

/// What is wanted, by real path. The keys are compared as bytes: comparing paths part by part took a tenth of the jail's time.
#[derive(Default)]
pub(super) struct Wishes {
    all: BTreeMap<OsString, (Way, bool)>,
    /// What was looked up: most places share the folders above them.
    known: BTreeMap<OsString, Option<PathBuf>>,
    /// The symlinks on the way to them: each in a real folder.
    links: BTreeSet<OsString>,
    /// What could not be looked at: another process of the user may take us every file number, for a moment.
    failed: Option<String>,
}

impl Wishes {
    pub(super) fn add(&mut self, path: &Path, way: Way, needed: bool) {
        let Some(path) = self.look_up(path).filter(|path| path.parent().is_some()) else { return };
        let held = self.all.entry(path.into()).or_insert((way, needed));
        *held = (held.0.max(way), held.1 || needed);
    }

    /// The path as the disk names it; nothing where nothing is there. Each folder on the way is looked at once.
    pub(super) fn look_up(&mut self, path: &Path) -> Option<PathBuf> {
        if let Some(known) = self.known.get(path.as_os_str()) {
            return known.clone();
        }
        // A link that leads back to itself leads nowhere.
        self.known.insert(path.into(), None);
        let found = match (path.parent(), path.components().next_back()) {
            (Some(folder), Some(Component::Normal(name))) => {
                self.look_up(folder).and_then(|folder| self.real(folder.join(name)))
            }
            (Some(folder), Some(Component::ParentDir)) => {
                self.look_up(folder).map(|folder| folder.parent().unwrap_or(&folder).to_owned())
            }
            _ => Some(path.to_owned()).filter(|path| path.is_absolute()),
        };
        self.known.insert(path.into(), found.clone());
        found
    }

    /// What this name in a real folder is; nothing where nothing is there.
    fn real(&mut self, place: PathBuf) -> Option<PathBuf> {
        let found = place.symlink_metadata();
        if !self.there(&place, found)?.is_symlink() {
            return Some(place);
        }
        let to = place.read_link();
        let to = place.parent()?.join(self.there(&place, to)?);
        self.links.insert(place.into());
        self.look_up(&to)
    }

    /// What there is of this place; an error of any other kind is kept.
    pub(super) fn there<T>(&mut self, path: &Path, found: io::Result<T>) -> Option<T> {
        let nothing = [libc::ENOENT, libc::ENOTDIR, libc::EACCES, libc::ELOOP, libc::ENAMETOOLONG];
        match found {
            Ok(found) => return Some(found),
            Err(error) if error.raw_os_error().is_some_and(|code| nothing.contains(&code)) => {}
            Err(error) => self.fail(format!("`{}`: {error}", path.display())),
        }
        None
    }

    pub(super) fn fail(&mut self, why: String) {
        self.failed.get_or_insert(why);
    }

    /// This name in the folder that the disk names, and what it is: a link is not followed.
    pub(super) fn look_at(&mut self, path: &Path) -> Option<(PathBuf, Metadata)> {
        let place = self.look_up(path.parent()?)?.join(path.file_name()?);
        let found = place.symlink_metadata();
        self.there(&place, found).map(|found| (place, found))
    }

    pub(super) fn add_all<P: AsRef<Path>>(&mut self, paths: impl IntoIterator<Item = P>, way: Way) {
        for path in paths {
            self.add(path.as_ref(), way, false);
        }
    }

    pub(super) fn is_inside(&self, folder: &Path) -> bool {
        let loose = |way: Way| matches!(way, Way::Writable | Way::Layer);
        folder.ancestors().any(|above| self.all.get(above.as_os_str()).is_some_and(|(way, _)| loose(*way)))
    }

    /// The folders above each place can be renamed by a command that may write in the folder above them, and a symlink on the way
    /// can be replaced: then another file could take the place's name. `linked`: no mount may lie between this folder and
    /// others.
    pub(super) fn pin(&mut self, linked: &dyn Fn(&Path) -> bool) {
        let links = std::mem::take(&mut self.links);
        let places: Vec<OsString> = self.all.keys().chain(&links).cloned().collect();
        // Most places share the folders above them.
        let mut shut: BTreeSet<OsString> = BTreeSet::new();
        for place in places {
            for path in Path::new(&place).ancestors().skip(usize::from(!links.contains(&place))) {
                let (Some(above), name) = (path.parent(), path.as_os_str()) else { break };
                if self.all.contains_key(name) || shut.contains(name) {
                    continue;
                }
                if may_write(above) {
                    let way = if linked(path) && !links.contains(name) { Way::Held } else { Way::Pinned };
                    self.all.insert(name.to_owned(), (way, true));
                } else {
                    shut.insert(name.to_owned());
                }
            }
        }
    }

    pub(super) fn by_depth(mut self) -> Result<Vec<Place>, String> {
        let hidden: Vec<OsString> =
            self.all.iter().filter(|(_, (way, _))| *way == Way::Hidden).map(|(path, _)| path.clone()).collect();
        // What lies in a hidden folder is out of reach already.
        let is_hidden =
            |path: &OsString| hidden.iter().any(|above| path != above && lies_in(path.as_ref(), above.as_ref()));
        self.all.retain(|path, (way, _)| *way < Way::ReadOnly || !is_hidden(path));
        let place = |(path, (way, needed)): (OsString, _)| Place { path: path.into(), way, needed };
        let mut places: Vec<Place> = self.all.into_iter().map(place).collect();
        places.sort_by_cached_key(|place| place.path.components().count());
        self.failed.map_or(Ok(places), Err)
    }

    /// What lies in this folder.
    pub(super) fn items(&mut self, folder: &Path) -> Option<Vec<fs::DirEntry>> {
        let items = fs::read_dir(folder).and_then(Iterator::collect);
        self.there(folder, items)
    }

    /// The symlinks in this folder and below it.
    pub(super) fn links_below(&mut self, folder: &Path, depth: usize) -> Vec<PathBuf> {
        let mut links = Vec::new();
        for item in self.items(folder).unwrap_or_default() {
            match item.file_type() {
                Ok(kind) if kind.is_symlink() => links.push(item.path()),
                Ok(kind) if kind.is_dir() && depth > 0 && item.file_name() != RUNS => {
                    links.extend(self.links_below(&item.path(), depth - 1));
                }
                _ => {}
            }
        }
        links
    }
}

/// Of real paths.
pub(super) fn lies_in(path: &Path, folder: &Path) -> bool {
    let rest = path.as_os_str().as_bytes().strip_prefix(folder.as_os_str().as_bytes());
    rest.is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
}

fn may_write(folder: &Path) -> bool {
    rustix::fs::accessat(CWD, folder, Access::WRITE_OK, rustix::fs::AtFlags::EACCESS).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_moment_is_no_missing_place() {
        let error = |code| Err::<(), _>(io::Error::from_raw_os_error(code));
        for (code, held) in [(libc::ENOENT, true), (libc::EACCES, true), (libc::EMFILE, false), (libc::ENOMEM, false)] {
            let mut wishes = Wishes::default();
            assert_eq!(wishes.there(Path::new("/x"), error(code)), None);
            assert_eq!(wishes.by_depth().is_ok(), held, "{code}");
        }
    }

    #[test]
    fn nothing_is_done_below_a_hidden_folder() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        fs::create_dir_all(folder.join("run/1000")).unwrap();
        fs::create_dir(folder.join("run-x")).unwrap();
        let mut wishes = Wishes::default();
        wishes.add_all(["run", "run/1000", "run-x"].map(|name| folder.join(name)), Way::Hidden);
        let places = wishes.by_depth().unwrap();
        let paths: Vec<&Path> = places.iter().map(|place| place.path.as_path()).collect();
        assert_eq!(paths, [folder.join("run"), folder.join("run-x")]);
    }
}
