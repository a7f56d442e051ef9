//! Finds Unix sockets of outside programs: a command without a network could act through each of them.
//!
//! Reads the kernel's list; hides nothing itself.

use super::super::ground::{DATABASES, Ground};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Folders whose services (name lookup, system services, the display) can make new sockets at any time.
const FOLDERS: [&str; 6] =
    ["/run/avahi-daemon", "/run/nscd", "/run/systemd", "/run/udev", "/tmp/.ICE-unix", "/tmp/.X11-unix"];

/// Everything to hide, by real path, none of it below another; without what stays visible.
pub(super) fn foreign(ground: &Ground, visible: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let visible: Vec<PathBuf> = visible.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let list = std::fs::read("/proc/self/net/unix").map_err(|error| format!("list of sockets: {error}"))?;
    let rows = rows(&list);
    let known = FOLDERS.iter().chain(&DATABASES).map(PathBuf::from).chain(ground.services.iter().cloned());
    let found: BTreeSet<PathBuf> = known.filter_map(|path| path.canonicalize().ok()).collect();
    // A folder with a visible socket in it cannot be hidden as a whole; its other sockets are hidden one by
    // one.
    let folders: Vec<PathBuf> =
        found.into_iter().filter(|path| !visible.iter().any(|one| one.starts_with(path))).collect();
    let relative = places_of(&relative(&rows));
    let sockets: BTreeSet<PathBuf> = paths(&rows)
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

/// Number and name of each socket in the kernel's list. The kernel writes a name's bytes as they are, so a
/// name may go over several lines.
fn rows(list: &[u8]) -> Vec<(&str, &Path)> {
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    for line in list.split_inclusive(|byte| *byte == b'\n') {
        starts.extend(split_row(line).map(|_| at));
        at += line.len();
    }
    let ends = starts.iter().copied().skip(1).chain([list.len()]);
    let row = |(from, to)| {
        let row: &[u8] = &list[from..to];
        split_row(row.strip_suffix(b"\n").unwrap_or(row))
    };
    starts.iter().copied().zip(ends).filter_map(row).collect()
}

/// `0000: 00000002 00000000 00010000 0001 01 16163 name`; without a name nothing follows the number.
fn split_row(row: &[u8]) -> Option<(&str, &Path)> {
    let (address, mut rest) = split_at(row, b':')?;
    let is_hex = |field: &[u8]| field.iter().all(u8::is_ascii_hexdigit);
    let mut number = address;
    for _ in 0..6 {
        rest = rest.trim_ascii_start();
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        (number, rest) = rest.split_at(end);
        if number.is_empty() || !is_hex(number) || !is_hex(address) {
            return None;
        }
    }
    let name = Path::new(OsStr::from_bytes(rest.strip_prefix(b" ").unwrap_or(b"")));
    Some((std::str::from_utf8(number).ok()?, name))
}

fn split_at(text: &[u8], mark: u8) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(mark, text)?;
    Some((&text[..at], &text[at + 1..]))
}

/// The paths in the kernel's list of sockets, listening or not.
fn paths<'a>(rows: &[(&str, &'a Path)]) -> impl Iterator<Item = &'a Path> {
    rows.iter().map(|(_, name)| *name).filter(|name| name.has_root())
}

/// Sockets bound to a relative path, which the kernel lists as it was given: their numbers and names.
fn relative<'a>(rows: &[(&'a str, &'a Path)]) -> BTreeMap<&'a str, &'a Path> {
    let is_relative = |name: &Path| {
        !name.has_root() && !name.as_os_str().is_empty() && !name.as_os_str().as_bytes().starts_with(b"@")
    };
    rows.iter().filter(|(_, name)| is_relative(name)).copied().collect()
}

/// Where they lie, assuming that their owner has not changed its folder since. Processes are only searched if
/// there is such a socket.
fn places_of(sockets: &BTreeMap<&str, &Path>) -> Vec<PathBuf> {
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
        let list = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
                    0000: 00000002 00000000 00010000 0001 01 16163 /run/a b\n\
                    0000: 00000002 00000000 00010000 0001 01 16164 @abstract\n\
                    0000: 00000003 00000000 00000000 0001 03 16165\n\
                    0000: 00000002 00000000 00010000 0001 01 16166 a relative\n\
                    0000: 00000002 00000000 00010000 0001 01 16167 /odd\xe9\n\
                    0000: 00000002 00000000 00010000 0001 01 16168 /two\nlines: 1\n\
                    0000: 00000002 00000000 00010000 0001 01 16169 /last\n";
        let rows = rows(list);
        let odd = Path::new(OsStr::from_bytes(b"/odd\xe9"));
        let known = [Path::new("/run/a b"), odd, Path::new("/two\nlines: 1"), Path::new("/last")];
        assert_eq!(paths(&rows).collect::<Vec<_>>(), known);
        assert_eq!(relative(&rows).into_iter().collect::<Vec<_>>(), [("16166", Path::new("a relative"))]);
    }

    #[test]
    fn every_socket_of_others_is_found_but_those_that_stay_visible() {
        let held = tempfile::tempdir().unwrap();
        let root = held.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("service")).unwrap();
        let names = ["one", "two", "service/three", "service/four"].map(|name| root.join(name));
        let odd = root.join(OsStr::from_bytes(b"odd\xe9\nname"));
        let _listening: Vec<UnixListener> =
            names.iter().chain([&odd]).map(|path| UnixListener::bind(path).unwrap()).collect();
        let ground = Ground { services: vec![root.join("service"), root.join("gone")], ..Ground::default() };
        let own = |visible: &[PathBuf]| {
            let mut found = foreign(&ground, visible).unwrap();
            found.retain(|path| path.starts_with(&root));
            found.sort();
            found
        };
        assert_eq!(own(&[]), [odd.clone(), root.join("one"), root.join("service"), root.join("two")]);
        assert_eq!(
            own(&[root.join("two"), root.join("service/three")]),
            [odd, root.join("one"), root.join("service/four")]
        );
    }
}
