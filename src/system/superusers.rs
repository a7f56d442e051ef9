//! Files that nobody but the superuser can change: such a file is a program's identity, a name is none.
//!
//! Looks at files; writes nothing. Invariants: every folder and every link on the way counts like the file itself; what
//! cannot be looked at is not the superuser's alone; for a process with the superuser's rights nothing is.

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// As many as the kernel follows.
const MOST_LINKS: usize = 40;

/// The file that a shell would start by this word, if only the superuser can change which one that is, and what is in it.
pub fn program(word: &str, search: &OsStr, cwd: &Path) -> Option<PathBuf> {
    let starts = |path: &PathBuf| path.metadata().is_ok_and(|is| is.is_file() && is.mode() & 0o111 != 0);
    let found = if word.contains('/') {
        Some(PathBuf::from(word)).filter(|path| path.is_absolute() && starts(path))
    } else {
        std::env::split_paths(search).map(|folder| cwd.join(folder).join(word)).find(starts)
    };
    real(&found?)
}

/// Those folders of a search path in which only the superuser can put a program.
pub fn search_path(search: &OsStr) -> OsString {
    let safe = std::env::split_paths(search).filter_map(|folder| real(&folder));
    std::env::join_paths(safe).unwrap_or_default()
}

/// Where this absolute path really leads, if only the superuser can change that.
fn real(path: &Path) -> Option<PathBuf> {
    let mut at = PathBuf::from("/");
    let mut rest = parts(path.is_absolute().then_some(path)?);
    let mut links = 0;
    if !is_superusers(&at, &at.symlink_metadata().ok()?) {
        return None;
    }
    while let Some(name) = rest.pop() {
        if name == ".." {
            at.pop();
            continue;
        }
        let next = at.join(name);
        let is = next.symlink_metadata().ok()?;
        if is.is_symlink() {
            links += 1;
            let to = next.read_link().ok().filter(|_| links <= MOST_LINKS)?;
            rest.extend(parts(&to));
            at = if to.is_absolute() { PathBuf::from("/") } else { at };
        } else if is_superusers(&next, &is) {
            at = next;
        } else {
            return None;
        }
    }
    Some(at)
}

/// The names of a path, the first one last.
fn parts(path: &Path) -> Vec<OsString> {
    let named = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    named.rev().map(|part| part.as_os_str().to_owned()).collect()
}

/// A sticky folder is everybody's too. Beyond owner and mode there are lists and rights, of which the kernel knows.
fn is_superusers(path: &Path, is: &Metadata) -> bool {
    let mode = is.mode();
    let shared = mode & 0o002 != 0 || mode & 0o020 != 0 && is.gid() != 0;
    let may_write = accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS);
    is.uid() == 0 && !shared && matches!(may_write, Err(Errno::ACCESS | Errno::PERM | Errno::ROFS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_file_in_a_folder_of_anybody_else_is_nobodys_program() {
        let held = tempfile::tempdir().unwrap();
        let (bin, name) = (held.path().join("bin"), "aops-planted");
        fs::create_dir(&bin).unwrap();
        symlink("/bin/sh", bin.join(name)).unwrap();
        assert_eq!(program(name, bin.as_os_str(), held.path()), None, "a link to the system's program");
        fs::remove_file(bin.join(name)).unwrap();
        fs::copy("/bin/sh", bin.join(name)).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        for search in [bin.as_os_str(), OsStr::new("bin"), OsStr::new("./bin:/bin")] {
            assert_eq!(program(name, search, held.path()), None, "{}", search.display());
        }
        assert_eq!(program(name, OsStr::new(""), &bin), None);
        assert_eq!(search_path(bin.as_os_str()), OsStr::new(""));
    }

    /// The first one counts, as for a shell.
    #[test]
    fn the_systems_own_programs_are_the_superusers_unless_another_comes_first() {
        let is_root = rustix::process::geteuid().is_root();
        let system = OsStr::new("/usr/bin:/bin");
        let sh = program("sh", system, Path::new("/"));
        assert_eq!(sh.is_none(), is_root, "{sh:?}");
        assert_eq!(program("/bin/sh", OsStr::new(""), Path::new("/")), sh);
        assert_eq!(program("no-such-program", system, Path::new("/")), None);
        let held = tempfile::tempdir().unwrap();
        let all = std::env::join_paths([held.path(), Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
        assert_eq!(program("sh", &all, Path::new("/")), sh, "it is not in the first");
        fs::copy("/bin/sh", held.path().join("sh")).unwrap();
        assert_eq!(program("sh", &all, Path::new("/")), None);
    }
}
