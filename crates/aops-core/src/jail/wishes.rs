//! Collects what is wanted for each place, and resolves the place's real path.
//!
//! Reads folders and links; writes nothing. Invariants: each name on the way to a place is looked at once;
//! any error other than "not found" makes the whole plan fail.

use super::mounts::Mounts;
use rustix::fs::{Access, CWD};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// What happens to a place, in rising order of strictness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Unchanged, and on the same mount as the folder above it; it cannot be renamed or removed.
    Held,
    /// The same, on a separate mount, which is copied into every namespace made from this one. The only
    /// way to hold a symlink, which stays a symlink.
    Pinned,
    /// Changes go into a throwaway layer.
    Layer,
    Writable,
    ReadOnly,
    /// Read-only, and locks taken in it are invisible outside.
    Apart,
    Hidden,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub path: PathBuf,
    pub way: Way,
    /// Without it the jail protects nothing, so a failure is an error.
    pub needed: bool,
}

/// Folder of the records of runs, next to a project's texts. There may be many, so links in it are not
/// searched.
const RUNS: &str = "runs";

/// The real path, or nothing if the place does not exist; or why we cannot tell.
type Found = Result<Option<PathBuf>, String>;

/// The wishes by real path. Keys are compared as bytes: comparing paths component by component took a tenth
/// of the jail's time.
#[derive(Default)]
pub(super) struct Wishes {
    all: BTreeMap<OsString, (Way, bool)>,
    /// Paths already looked up: most places share the folders above them.
    known: BTreeMap<OsString, Found>,
    /// Symlinks on the way to the places, each in a real folder.
    links: BTreeSet<OsString>,
    /// Why a path that matters could not be looked at.
    failed: Option<String>,
}

impl Wishes {
    pub(super) fn add(&mut self, path: &Path, way: Way, needed: bool) {
        let path = match self.find(path) {
            Ok(Some(path)) if path.parent().is_some() => path,
            Err(why) if needed || way >= Way::ReadOnly => return self.fail(why),
            // Leaving it out only makes the plan stricter.
            _ => return,
        };
        let held = self.all.entry(path.into()).or_insert((way, needed));
        *held = (held.0.max(way), held.1 || needed);
    }

    /// The real path; `None` if nothing is there.
    pub(super) fn look_up(&mut self, path: &Path) -> Option<PathBuf> {
        let found = self.find(path);
        self.kept(found)
    }

    /// The same for a path that may not exist yet: its name in the real folder where it would be.
    pub(super) fn settle(&mut self, path: &Path) -> PathBuf {
        let there = path.ancestors().find_map(|above| Some((above, self.look_up(above)?)));
        there.map_or_else(PathBuf::new, |(above, real)| real.join(path.strip_prefix(above).unwrap_or(path)))
    }

    /// Looks at each folder on the way only once.
    fn find(&mut self, path: &Path) -> Found {
        if let Some(known) = self.known.get(path.as_os_str()) {
            return known.clone();
        }
        let found = self.find_anew(path);
        self.known.insert(path.into(), found.clone());
        found
    }

    fn find_anew(&mut self, path: &Path) -> Found {
        let (Some(folder), Some(last)) = (path.parent(), path.components().next_back()) else {
            return Ok(Some(path.to_owned()).filter(|path| path.is_absolute()));
        };
        let Some(folder) = self.find(folder)? else { return Ok(None) };
        let Component::Normal(name) = last else {
            return Ok(Some(folder.parent().unwrap_or(&folder).to_owned()));
        };
        let place = folder.join(name);
        let to = match link_at(&folder, &place)? {
            Link::Nothing => return Ok(None),
            Link::Other => return Ok(Some(place)),
            Link::To(to) => to,
        };
        // Noted before it is followed, so that a link that leads back to itself leads nowhere.
        self.known.insert(path.into(), Ok(None));
        self.links.insert(place.into());
        self.find(&folder.join(to))
    }

    pub(super) fn fail(&mut self, why: String) {
        self.failed.get_or_insert(why);
    }

    /// Fails if something that matters could not be looked at.
    pub(super) fn whole(&self) -> Result<(), String> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    /// This name in its real folder, and what kind of file it is. A link is not followed.
    pub(super) fn look_at(&mut self, path: &Path) -> Option<(PathBuf, Metadata)> {
        let folder = self.look_up(path.parent()?)?;
        let place = folder.join(path.file_name()?);
        let found = there(&folder, place.symlink_metadata());
        self.kept(found).map(|found| (place, found))
    }

    fn kept<T>(&mut self, found: Result<Option<T>, String>) -> Option<T> {
        found.unwrap_or_else(|why| {
            self.fail(why);
            None
        })
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

    /// Holds the folders above each place, and the symlinks on the way to it. A command that can write to the
    /// parent could rename such a folder or replace such a link, and so give the place's name to another
    /// file. `linked`: this folder and others must stay on one mount.
    pub(super) fn pin(&mut self, linked: &dyn Fn(&Path) -> bool) {
        let links = std::mem::take(&mut self.links);
        let places: Vec<OsString> = self.all.keys().chain(&links).cloned().collect();
        // Most places share the folders above them.
        let mut open: BTreeMap<OsString, bool> = BTreeMap::new();
        for place in places {
            for path in Path::new(&place).ancestors().skip(usize::from(!links.contains(&place))) {
                let (Some(above), name) = (path.parent(), path.as_os_str()) else { break };
                if self.all.contains_key(name) {
                    continue;
                }
                if *open.entry(above.into()).or_insert_with(|| may_write(above)) {
                    let way = if linked(path) && !links.contains(name) { Way::Held } else { Way::Pinned };
                    self.all.insert(name.to_owned(), (way, true));
                }
            }
        }
    }

    /// The same inside of writable folders whose surroundings are read-only.
    pub(super) fn pin_inside(&mut self, folders: &[PathBuf]) {
        let links = std::mem::take(&mut self.links);
        let strict = self.all.iter().filter(|(_, (way, _))| *way >= Way::ReadOnly).map(|(path, _)| path);
        let places: Vec<OsString> = strict.chain(&links).cloned().collect();
        let is_inside = |path: &Path| folders.iter().any(|folder| path != folder && lies_in(path, folder));
        for place in places {
            let above = Path::new(&place).ancestors().skip(usize::from(!links.contains(&place)));
            for path in above.take_while(|path| is_inside(path)) {
                self.all.entry(path.into()).or_insert((Way::Pinned, true));
            }
        }
    }

    pub(super) fn by_depth(mut self) -> Result<Vec<Place>, String> {
        let hidden: Vec<OsString> = self
            .all
            .iter()
            .filter(|(_, (way, _))| *way == Way::Hidden)
            .map(|(path, _)| path.clone())
            .collect();
        // What lies in a hidden folder is out of reach already.
        let is_hidden = |path: &OsString| {
            hidden.iter().any(|above| path != above && lies_in(path.as_ref(), above.as_ref()))
        };
        self.all.retain(|path, (way, _)| *way < Way::ReadOnly || !is_hidden(path));
        self.add_twins(&Mounts::here());
        let place = |(path, (way, needed)): (OsString, _)| Place { path: path.into(), way, needed };
        let mut places: Vec<Place> = self.all.into_iter().map(place).collect();
        places.sort_by_key(|place| depth(&place.path));
        self.failed.map_or(Ok(places), Err)
    }

    /// Adds the other paths of each guarded place, if its file system is mounted more than once.
    fn add_twins(&mut self, mounts: &Mounts) {
        let strict = self.all.iter().filter(|(_, (way, _))| *way >= Way::ReadOnly);
        let twins = strict.flat_map(|(path, wish)| {
            mounts.twins(path.as_ref()).into_iter().map(|twin| (twin.into_os_string(), *wish))
        });
        for (twin, wish) in twins.collect::<Vec<_>>() {
            let known = self.all.entry(twin).or_insert(wish);
            *known = (*known).max(wish);
        }
    }

    /// The entries of this folder.
    pub(super) fn items(&mut self, folder: &Path) -> Option<Vec<fs::DirEntry>> {
        let items = there(folder, fs::read_dir(folder).and_then(Iterator::collect));
        self.kept(items)
    }

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

/// How many folders lie above this real path.
pub(super) fn depth(path: &Path) -> usize {
    path.as_os_str().as_bytes().split(|byte| *byte == b'/').count()
}

/// Both must be real paths.
pub(super) fn lies_in(path: &Path, folder: &Path) -> bool {
    let rest = path.as_os_str().as_bytes().strip_prefix(folder.as_os_str().as_bytes());
    rest.is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
}

/// How often we look at a place that keeps changing.
const MOST_LOOKS: usize = 16;

/// What is at a place.
enum Link {
    To(PathBuf),
    /// A file or folder that is not a link.
    Other,
    Nothing,
}

/// The link at this place. A command may exchange it for a folder and back while we look. That gets an error
/// of its own, since it does not mean that the kernel lacks something.
fn link_at(folder: &Path, place: &Path) -> Result<Link, String> {
    for _ in 0..MOST_LOOKS {
        let Some(is) = there(folder, place.symlink_metadata())? else { return Ok(Link::Nothing) };
        if !is.is_symlink() {
            return Ok(Link::Other);
        }
        match place.read_link() {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
            to => return Ok(there(folder, to)?.map_or(Link::Nothing, Link::To)),
        }
    }
    Err(format!("`{}`: {}", place.display(), io::Error::from_raw_os_error(libc::EAGAIN)))
}

/// What was found in this folder. If a command may not enter the folder, nothing is there for it, unless the
/// user owns the folder and could change its permissions. Any other error is temporary: another process of
/// the user may use up all file descriptors.
fn there<T>(folder: &Path, found: io::Result<T>) -> Result<Option<T>, String> {
    let nothing = [libc::ENOENT, libc::ENOTDIR, libc::ELOOP, libc::ENAMETOOLONG];
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.raw_os_error().is_some_and(|code| nothing.contains(&code)) => Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::EACCES) && !is_own(folder) => Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
            let folder = folder.display();
            Err(format!(
                "`{folder}`: {error}; files that guard the session may be in it, so make it readable: `chmod u+rwx '{folder}'`"
            ))
        }
        Err(error) => Err(format!("`{}`: {error}", folder.display())),
    }
}

/// If we cannot stat the folder, assume the user owns it.
fn is_own(folder: &Path) -> bool {
    folder.symlink_metadata().map_or(true, |is| is.uid() == rustix::process::geteuid().as_raw())
}

/// Whether a command can write to this folder, or make it writable.
fn may_write(folder: &Path) -> bool {
    match rustix::fs::accessat(CWD, folder, Access::WRITE_OK, rustix::fs::AtFlags::EACCESS) {
        Err(rustix::io::Errno::ROFS) => false,
        Err(rustix::io::Errno::ACCESS) => is_own(folder),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_moment_is_no_missing_place() {
        let own = tempfile::tempdir().unwrap();
        let error = |code| Err::<(), _>(io::Error::from_raw_os_error(code));
        for (code, told) in
            [(libc::ENOENT, true), (libc::EACCES, false), (libc::EMFILE, false), (libc::ENOMEM, false)]
        {
            assert_eq!(there(own.path(), error(code)).is_ok(), told, "{code}");
        }
        // Failing to mount these only leaves a cache read-only; failing to mount the strict ones would show
        // keys.
        let loose = [Way::Layer, Way::Writable];
        let strict = [Way::ReadOnly, Way::Apart, Way::Hidden];
        for (way, whole) in loose.map(|way| (way, true)).into_iter().chain(strict.map(|way| (way, false))) {
            let mut wishes = Wishes::default();
            wishes.known.insert("/gone".into(), Err("`/gone`: Stale file handle".to_owned()));
            wishes.add(Path::new("/gone/x"), way, false);
            assert_eq!(wishes.by_depth().is_ok(), whole, "{way:?}");
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
