//! Finds Unix sockets of outside programs: a command without a network could act through each of them.
//!
//! Reads the kernel's list; hides nothing itself.

use super::super::ground::{DATABASES, Ground};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Folders whose services (name lookup, system services, the display) can make new sockets at any time.
const FOLDERS: [&str; 6] =
    ["/run/avahi-daemon", "/run/nscd", "/run/systemd", "/run/udev", "/tmp/.ICE-unix", "/tmp/.X11-unix"];

/// Everything to hide, by real path, none of it below another; without what stays visible.
pub(super) fn foreign(ground: &Ground, visible: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let visible: Vec<PathBuf> = visible.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let list = std::fs::read("/proc/self/net/unix").map_err(|error| format!("list of sockets: {error}"))?;
    let list = String::from_utf8_lossy(&list);
    let known = FOLDERS.iter().chain(&DATABASES).map(PathBuf::from).chain(ground.services.iter().cloned());
    let found: BTreeSet<PathBuf> = known.filter_map(|path| path.canonicalize().ok()).collect();
    // A folder with a visible socket in it cannot be hidden as a whole; its other sockets are hidden one by
    // one.
    let folders: Vec<PathBuf> =
        found.into_iter().filter(|path| !visible.iter().any(|one| one.starts_with(path))).collect();
    let relative = places_of(&relative(&list));
    let sockets: BTreeSet<PathBuf> = paths(&list)
        .chain(relative.iter().map(PathBuf::as_path))
        .filter_map(real_socket)
        .filter(|path| !visible.contains(path))
        .collect();
    let mut all: Vec<PathBuf> = Vec::with_capacity(folders.len() + sockets.len());
    for path in folders.into_iter().chain(sockets) {
        if !all.iter().any(|above| path.starts_with(above)) {
            all.push(path);
        }
    }
    Ok(all)
}

/// The paths in the kernel's list of sockets, listening or not.
fn paths(list: &str) -> impl Iterator<Item = &Path> {
    list.lines().filter_map(|line| line.find(" /").map(|at| Path::new(&line[at + 1..])))
}

/// Sockets bound to a relative path, which the kernel lists as it was given: their numbers and names.
fn relative(list: &str) -> BTreeMap<&str, &str> {
    let row = |line| {
        let (number, name) = split_row(line)?;
        (!name.starts_with(['/', '@']) && !name.is_empty()).then_some((number, name))
    };
    list.lines().skip(1).filter_map(row).collect()
}

/// `0000: 00000002 00000000 00010000 0001 01 16163 name`
fn split_row(line: &str) -> Option<(&str, &str)> {
    let mut rest = line;
    let mut number = "";
    for _ in 0..7 {
        (number, rest) = rest.trim_start().split_once(' ')?;
    }
    Some((number, rest))
}

/// Where they lie, assuming that their owner has not changed its folder since. Processes are only searched if
/// there is such a socket.
fn places_of(sockets: &BTreeMap<&str, &str>) -> Vec<PathBuf> {
    let mut places = Vec::new();
    if sockets.is_empty() {
        return places;
    }
    for process in std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path()) {
        let Ok(files) = std::fs::read_dir(process.join("fd")) else { continue };
        let leads = files.flatten().filter_map(|file| std::fs::read_link(file.path()).ok());
        let name =
            |to: PathBuf| sockets.get(to.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?).copied();
        for name in leads.filter_map(name) {
            places.extend(std::fs::read_link(process.join("cwd")).map(|folder| folder.join(name)));
        }
    }
    places
}

/// A socket that the user cannot see is out of reach for the user's commands, too.
fn real_socket(path: &Path) -> Option<PathBuf> {
    let is_socket = path.symlink_metadata().is_ok_and(|is| is.file_type().is_socket());
    path.canonicalize().ok().filter(|_| is_socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn paths_are_read_from_the_kernels_list() {
        let list = "Num       RefCount Protocol Flags    Type St Inode Path\n\
                    0000: 00000002 00000000 00010000 0001 01 16163 /run/a b\n\
                    0000: 00000002 00000000 00010000 0001 01 16164 @abstract\n\
                    0000: 00000003 00000000 00000000 0001 03 16165\n";
        assert_eq!(paths(list).collect::<Vec<_>>(), [Path::new("/run/a b")]);
        let more = format!("{list}0000: 00000002 00000000 00010000 0001 01 16166 a relative\n");
        assert_eq!(relative(&more).into_iter().collect::<Vec<_>>(), [("16166", "a relative")]);
    }

    #[test]
    fn every_socket_of_others_is_found_but_those_that_stay_visible() {
        let held = tempfile::tempdir().unwrap();
        let root = held.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("service")).unwrap();
        let names = ["one", "two", "service/three", "service/four"].map(|name| root.join(name));
        let _listening: Vec<UnixListener> =
            names.iter().map(|path| UnixListener::bind(path).unwrap()).collect();
        let ground = Ground { services: vec![root.join("service"), root.join("gone")], ..Ground::default() };
        let own = |visible: &[PathBuf]| {
            let mut found = foreign(&ground, visible).unwrap();
            found.retain(|path| path.starts_with(&root));
            found.sort();
            found
        };
        assert_eq!(own(&[]), [root.join("one"), root.join("service"), root.join("two")]);
        assert_eq!(
            own(&[root.join("two"), root.join("service/three")]),
            [root.join("one"), root.join("service/four")]
        );
    }
}
