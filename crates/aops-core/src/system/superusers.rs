//! Recognises files that only the superuser can change, since such a file identifies a program while a name
//! does not; and paths that this user cannot redirect.
//!
//! Looks at files; writes nothing. Invariants: every folder and every link on the way counts like the file
//! itself; a file that we cannot look at does not count as the superuser's; for a process with the
//! superuser's rights no file does.

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use rustix::process::{geteuid, getuid};
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// The same limit as the kernel's.
const MOST_LINKS: usize = 40;

/// The file that a shell would start for this word, if only the superuser can change which file that is and
/// its content.
pub fn program(word: &str, search: &OsStr, cwd: &Path) -> Option<PathBuf> {
    let starts = |path: &PathBuf| path.metadata().is_ok_and(|is| is.is_file() && is.mode() & 0o111 != 0);
    let found = if word.contains('/') {
        Some(PathBuf::from(word)).filter(|path| path.is_absolute() && starts(path))
    } else {
        std::env::split_paths(search).map(|folder| cwd.join(folder).join(word)).find(starts)
    };
    real(&found?)
}

/// The folders of a search path in which only the superuser can put a program.
pub fn search_path(search: &OsStr) -> OsString {
    let safe = std::env::split_paths(search).filter_map(|folder| real(&folder));
    std::env::join_paths(safe).unwrap_or_default()
}

/// This user cannot change where this absolute path leads, whoever follows it: they cannot write to any
/// folder on the way.
pub fn is_out_of_reach(path: &Path) -> bool {
    match walk(path, &|path, is| !is.is_dir() || is_anothers(path, is)) {
        Ok(_) => true,
        // If we cannot look into a folder, only others can have put a link there, except for the kernel's own
        // links in `/proc`.
        Err(Stop::Unseen { at, climbs }) => !climbs && !at.starts_with("/proc"),
        Err(Stop::Open) => false,
    }
}

/// The real path of this absolute path, if only the superuser can change it.
fn real(path: &Path) -> Option<PathBuf> {
    walk(path, &is_superusers).ok()
}

/// Why a path was not followed to its end.
enum Stop {
    /// Somebody else may change it.
    Open,
    /// Nothing is here, or we may not look. `climbs`: the rest of the path leads up again.
    Unseen { at: PathBuf, climbs: bool },
}

fn walk(path: &Path, holds: &dyn Fn(&Path, &Metadata) -> bool) -> Result<PathBuf, Stop> {
    let mut at = PathBuf::from("/");
    let mut rest = parts(path.is_absolute().then_some(path).ok_or(Stop::Open)?);
    let mut links = 0;
    if !at.symlink_metadata().is_ok_and(|is| holds(&at, &is)) {
        return Err(Stop::Open);
    }
    while let Some(name) = rest.pop() {
        if name == ".." {
            at.pop();
            continue;
        }
        let next = at.join(name);
        let Ok(is) = next.symlink_metadata() else {
            return Err(Stop::Unseen { at: next, climbs: rest.iter().any(|name| name == "..") });
        };
        if is.is_symlink() {
            links += 1;
            let to = next.read_link().ok().filter(|_| links <= MOST_LINKS).ok_or(Stop::Open)?;
            rest.extend(parts(&to));
            at = if to.is_absolute() { PathBuf::from("/") } else { at };
        } else if holds(&next, &is) {
            at = next;
        } else {
            return Err(Stop::Open);
        }
    }
    Ok(at)
}

/// The names of a path in reverse order.
fn parts(path: &Path) -> Vec<OsString> {
    let named = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    named.rev().map(|part| part.as_os_str().to_owned()).collect()
}

/// In a sticky folder everybody can create files, so it does not count either.
fn is_superusers(path: &Path, is: &Metadata) -> bool {
    let mode = is.mode();
    let shared = mode & 0o002 != 0 || mode & 0o020 != 0 && is.gid() != 0;
    is.uid() == 0 && !shared && is_anothers(path, is)
}

/// This user neither owns it nor may write to it, and so cannot change its mode. Apart from owner and mode
/// there are access lists and capabilities, so we ask the kernel.
fn is_anothers(path: &Path, is: &Metadata) -> bool {
    let may_write = accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS);
    let is_ours = is.uid() == geteuid().as_raw() || is.uid() == getuid().as_raw();
    !is_ours && matches!(may_write, Err(Errno::ACCESS | Errno::PERM | Errno::ROFS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_file_in_a_folder_of_anybody_else_is_nobodys_program() {
        let held = tempfile::tempdir().unwrap();
        let bin = held.path().join("bin");
        let name = "aops-planted";
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

    #[test]
    fn a_path_that_this_user_can_lead_elsewhere_is_not_out_of_reach() {
        let held = tempfile::tempdir().unwrap();
        symlink("/etc/hostname", held.path().join("link")).unwrap();
        fs::write(held.path().join("file"), "").unwrap();
        let own = held.path().join("file").to_string_lossy().into_owned();
        let within = [
            own.clone(),
            format!("/etc/..{own}"),
            format!("/proc/self/root{own}"),
            format!("/proc/1/root{own}"),
        ];
        let others =
            ["/tmp/x", "/proc/self/cwd/x", "/proc/1/cwd/x", "/dev/fd/0", "etc/passwd"].map(str::to_owned);
        for path in
            within.into_iter().chain([held.path().join("link").to_string_lossy().into_owned()]).chain(others)
        {
            assert!(!is_out_of_reach(Path::new(&path)), "{path}");
        }
        if geteuid().is_root() {
            return;
        }
        for path in
            ["/etc/passwd", "/root/x/y", "/root", "/proc/meminfo", "/etc/no-such-file", "/usr/../etc/passwd"]
        {
            assert!(is_out_of_reach(Path::new(path)), "{path}");
        }
        let climbs = format!("/root/x/../..{own}");
        assert!(!is_out_of_reach(Path::new(&climbs)), "{climbs}");
    }

    /// The first match counts, as for a shell.
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
