//! Opens texts of the user or the project.
//!
//! Reads folders and files, writes nothing. Invariants: nothing blocks on a FIFO or device, nothing longer
//! than `LONGEST` is read, and no link leads out of a project.

use crate::system::env::{Env, OWN_FOLDERS};
use crate::system::files;
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Ten times the longest shipped text.
const LONGEST: u64 = 64 << 10;
const MOST: usize = 100;

/// The root of the project: starting where the client was started, or else at `cwd`, the nearest folder with
/// an `.aops` in the same repository; otherwise the repository's root; outside of a repository the folder
/// itself, since anybody may own the folders above. Never above the user's home.
pub fn project(env: &Env, cwd: &Path) -> PathBuf {
    root_from(env, if env.client.project.as_os_str().is_empty() { cwd } else { &env.client.project })
}

/// The same starting in this folder.
pub fn root_from(env: &Env, start: &Path) -> PathBuf {
    let owner = fs::metadata(start).ok().map(|about| about.uid());
    // Anybody may create a `/tmp/.git`, and a configuration may start programs.
    let has = |folder: &Path, name: &str| {
        let ours = |uid: u32| folder == start || uid == 0 || Some(uid) == owner;
        fs::symlink_metadata(folder.join(name)).is_ok_and(|about| ours(about.uid()))
    };
    let above_home = |folder: &Path| env.home.starts_with(folder) && folder != env.home;
    let mut folders = start.ancestors().take_while(|folder| !above_home(folder));
    let Some(root) = folders.find(|folder| has(folder, ".git")) else { return start.to_owned() };
    let mut inside = start.ancestors().take_while(|folder| folder.starts_with(root));
    inside.find(|folder| has(folder, ".aops")).unwrap_or(root).to_owned()
}

/// Where links of a text may lead: within the project, but not to files that guard, which may be in it.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<'a> {
    pub project: &'a Path,
    /// The client's folder, which contains keys and records.
    pub config: &'a Path,
}

impl<'a> Bounds<'a> {
    pub fn of(env: &'a Env, project: &'a Path) -> Self {
        Self { project, config: &env.config }
    }
}

/// The text of a file; `None` if it does not exist.
pub fn read_text(path: &Path, within: Option<Bounds<'_>>) -> Result<Option<String>, String> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = match within {
        // The system may follow a person's own links.
        None => rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(io::Error::from),
        // The real path must be in the project; a link that is put there from now on is not followed.
        Some(bounds) => match resolve(path, bounds)? {
            Some(real) => files::open_real(&real, flags),
            None => return Ok(None),
        },
    };
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return nothing_at(path).map(|()| None),
        // A socket cannot be opened at all.
        Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {
            return Err("is not a plain file".to_owned());
        }
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    let stat = rustix::fs::fstat(&file).map_err(|e| format!("cannot be read: {e}"))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err("is not a plain file".to_owned());
    }
    // One byte more than the size, so that no second read is needed to see the end.
    let long = u64::try_from(stat.st_size).unwrap_or_default().min(LONGEST);
    let mut bytes = Vec::with_capacity(usize::try_from(long).unwrap_or_default() + 1);
    let mut file = fs::File::from(file).take(LONGEST + 1);
    file.read_to_end(&mut bytes).map_err(|e| format!("cannot be read: {e}"))?;
    if bytes.len() as u64 > LONGEST {
        return Err(format!("is longer than {} KB", LONGEST >> 10));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| "is not UTF-8".to_owned())
}

/// The markdown files of a folder and of its subfolders, by name; `None` if there is no folder.
pub(super) fn list(
    folder: &Path,
    within: Option<Bounds<'_>>,
    deep: bool,
) -> Result<Option<Vec<PathBuf>>, String> {
    let real = match within {
        None => Some(folder.to_owned()),
        Some(within) => resolve(folder, within)?,
    };
    let Some(real) = real else { return Ok(None) };
    let items = match fs::read_dir(&real) {
        Ok(items) => items,
        Err(error) if error.kind() == ErrorKind::NotFound => return nothing_at(folder).map(|()| None),
        Err(error) => return Err(format!("cannot be listed: {error}")),
    };
    let mut found = Vec::new();
    for item in items {
        let name = item.map_err(|e| format!("cannot be listed: {e}"))?.file_name();
        let path = folder.join(&name);
        let Some(name) = name.to_str() else { return Err("holds a name that is not UTF-8".to_owned()) };
        if name.starts_with('.') || name == "README.md" {
            continue; // an editor's file, a note to people
        }
        if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        } else if deep && path.is_dir() {
            found.extend(list(&path, within, false)?.unwrap_or_default());
        }
        if found.len() > MOST {
            return Err(format!("holds more than {MOST} texts"));
        }
    }
    found.sort();
    Ok(Some(found))
}

/// The real path, which must be within these bounds; `None` if nothing is there. Nothing is opened, so a link
/// in a repository to a device has no effect.
fn resolve(path: &Path, within: Bounds<'_>) -> Result<Option<PathBuf>, String> {
    let real = match files::real(path) {
        Ok(real) => real,
        Err(error) if error.kind() == ErrorKind::NotFound => return nothing_at(path).map(|()| None),
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    let is_inside = |folder: &Path| files::real(folder).is_ok_and(|folder| real.starts_with(folder));
    // Only through a link can a text's path lead to our folders.
    if real != path && OWN_FOLDERS.iter().any(|name| is_inside(&within.config.join(name))) {
        return Err("is a link to the folder of the record".to_owned());
    }
    if is_inside(within.project) {
        return Ok(Some(real));
    }
    Err("is a link out of the project".to_owned())
}

/// Nothing is at this path, not even a link.
fn nothing_at(path: &Path) -> Result<(), String> {
    if fs::symlink_metadata(path).is_ok() { Err("is a link that leads nowhere".to_owned()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_text_or_why_not() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("project");
        let outside = home.path().join("outside.md");
        fs::create_dir(&project).unwrap();
        fs::write(&outside, "secret").unwrap();
        let at = |name: &str| project.join(name);
        fs::write(at("good.md"), "text").unwrap();
        fs::write(at("bytes.md"), b"\xff").unwrap();
        fs::write(at("long.md"), vec![b'a'; 64 * 1024 + 1]).unwrap();
        fs::write(at("full.md"), vec![b'a'; 64 * 1024]).unwrap();
        fs::create_dir(at("folder.md")).unwrap();
        rustix::fs::mknodat(CWD, at("pipe.md"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        symlink(&outside, at("out.md")).unwrap();
        symlink("good.md", at("in.md")).unwrap();
        symlink("nowhere", at("lost.md")).unwrap();
        symlink("ring.md", at("ring.md")).unwrap();
        fs::create_dir_all(project.join("config/aops")).unwrap();
        fs::write(project.join("config/aops/note.key"), "secret").unwrap();
        symlink("config/aops/note.key", at("key.md")).unwrap();
        let bounds = Bounds { project: &project, config: &project.join("config") };
        let read = |name: &str| read_text(&at(name), Some(bounds));
        assert_eq!(read("good.md"), Ok(Some("text".to_owned())));
        assert_eq!(read("in.md"), Ok(Some("text".to_owned())));
        assert_eq!(read("none.md"), Ok(None));
        assert_eq!(read("full.md").map(|text| text.unwrap().len()), Ok(64 * 1024));
        let why = |name: &str| read(name).unwrap_err();
        assert_eq!(why("out.md"), "is a link out of the project");
        assert_eq!(why("key.md"), "is a link to the folder of the record");
        assert_eq!(why("lost.md"), "is a link that leads nowhere");
        assert_eq!(why("bytes.md"), "is not UTF-8");
        assert_eq!(why("long.md"), "is longer than 64 KB");
        assert_eq!(why("folder.md"), "is not a plain file");
        assert_eq!(why("pipe.md"), "is not a plain file");
        assert!(why("ring.md").starts_with("cannot be read: "));
        assert_eq!(
            read_text(&at("out.md"), None),
            Ok(Some("secret".to_owned())),
            "a person's own links are followed"
        );
    }

    #[test]
    fn where_a_project_begins() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let make = |name: &str| fs::create_dir_all(home.join(name)).unwrap();
        make(".aops");
        make("loose/sub");
        make("repo/.git");
        make("repo/.aops");
        make("repo/a/.aops");
        make("repo/a/b");
        make("repo/c");
        make("bare/.git");
        make("bare/x");
        let begins = |cwd: &str| {
            project(&Env::default(), &home.join(cwd)).strip_prefix(home).unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(begins("loose/sub"), "loose/sub", "an `.aops` above may be anybody's");
        assert_eq!(begins("repo"), "repo");
        assert_eq!(begins("repo/c"), "repo");
        assert_eq!(begins("repo/a/b"), "repo/a");
        assert_eq!(begins("bare/x"), "bare");
        let client = crate::system::env::ClientEnv { project: home.join("repo"), ..<_>::default() };
        let env = Env { client, ..Env::default() };
        assert_eq!(project(&env, &home.join("repo/a/b")), home.join("repo"), "where the client was started");
        let env = Env { home: home.join("repo/a"), ..Env::default() };
        assert_eq!(project(&env, &home.join("repo/a/b")), home.join("repo/a/b"), "nothing above home");
        let env = Env { home: home.join("repo"), ..Env::default() };
        assert_eq!(project(&env, &home.join("repo/c")), home.join("repo"), "home itself may be one");
    }
}
