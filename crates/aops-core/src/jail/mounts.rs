//! Finds the other paths of a place whose file system is mounted more than once.
//!
//! Reads the kernel's list of mounts. Why: a jail covers paths, and if the home is mounted a second time (by
//! `mount --bind`, in a container), everything in it has a second path. Invariant: a path that another mount
//! covers is not counted.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Large enough for most lists; the kernel generates the list again for each small read.
const USUAL: usize = 1 << 16;

/// The kernel's list of mounts, unparsed.
pub(super) fn list() -> Vec<u8> {
    let mut text = Vec::with_capacity(USUAL);
    let _ = fs::File::open("/proc/self/mountinfo").and_then(|mut list| list.read_to_end(&mut text));
    text
}

struct Mount {
    device: Vec<u8>,
    /// Which folder of the file system is mounted.
    root: PathBuf,
    point: PathBuf,
}

/// In mount order; empty if no file system is mounted twice.
pub(super) struct Mounts(Vec<Mount>);

impl Mounts {
    /// Empty on a system that keeps no such list.
    pub(super) fn here() -> Self {
        Self::parse(&list())
    }

    fn parse(text: &[u8]) -> Self {
        let read = |line: &[u8]| {
            let mut words = line.split(|byte| *byte == b' ').skip(2);
            let device = words.next()?.to_vec();
            let root = unescaped(words.next()?);
            Some(Mount { device, root, point: unescaped(words.next()?) })
        };
        let all: Vec<Mount> = text.split(|byte| *byte == b'\n').filter_map(read).collect();
        let mut devices = BTreeSet::new();
        // Usually each file system is mounted once, and no path needs to be searched for.
        let is_twice = all.iter().any(|mount| !devices.insert(&mount.device));
        if is_twice { Self(all) } else { Self(Vec::new()) }
    }

    /// The other paths of this place, which must contain no symlink.
    pub(super) fn twins(&self, place: &Path) -> Vec<PathBuf> {
        let Some(own) = self.over(place) else { return Vec::new() };
        let Mount { device, root, point } = &self.0[own];
        let Ok(below) = place.strip_prefix(point) else { return Vec::new() };
        let within = root.join(below);
        let others = self.0.iter().enumerate().filter(|(at, other)| *at != own && other.device == *device);
        let found = others.filter_map(|(at, other)| {
            let twin = joined(&other.point, within.strip_prefix(&other.root).ok()?);
            (twin != place && self.over(&twin) == Some(at)).then_some(twin)
        });
        found.collect()
    }

    /// The mount that contains this path: the deepest, and of several at one point the last.
    fn over(&self, path: &Path) -> Option<usize> {
        let above = self.0.iter().enumerate().filter(|(_, mount)| path.starts_with(&mount.point));
        above.max_by_key(|(at, mount)| (mount.point.as_os_str().len(), *at)).map(|(at, _)| at)
    }
}

/// Joins without the trailing slash that an empty rest would add.
fn joined(folder: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { folder.to_owned() } else { folder.join(rest) }
}

/// Decodes the kernel's octal escapes: `\040` is a blank.
pub(super) fn unescaped(text: &[u8]) -> PathBuf {
    let mut all = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, behind)) = rest.split_first() {
        let digits = behind.get(..3).filter(|_| *byte == b'\\').and_then(|three| str::from_utf8(three).ok());
        let meant = digits.and_then(|three| u8::from_str_radix(three, 8).ok());
        all.push(meant.unwrap_or(*byte));
        rest = if meant.is_some() { &behind[3..] } else { behind };
    }
    PathBuf::from(OsString::from_vec(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_that_is_mounted_twice_has_two_paths() {
        let mounts = Mounts::parse(
            b"1 0 8:1 / / rw - ext4 /dev/a rw\n\
              2 1 8:2 / /home rw shared:1 - ext4 /dev/b rw\n\
              3 1 8:2 /u /srv/second\\040home rw - ext4 /dev/b rw\n\
              4 1 8:2 /u/project /work rw - ext4 /dev/b rw\n\
              5 1 8:2 /u /hidden rw - ext4 /dev/b rw\n\
              6 1 0:9 / /hidden rw - tmpfs tmpfs rw\n",
        );
        let twins = |place: &str| {
            let found = mounts.twins(Path::new(place)).into_iter();
            found.map(|twin| twin.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(twins("/home/u/.claude/aops/keys"), ["/srv/second home/.claude/aops/keys"]);
        assert_eq!(twins("/home/u/project/a"), ["/srv/second home/project/a", "/work/a"]);
        assert_eq!(twins("/work/a"), ["/home/u/project/a", "/srv/second home/project/a"]);
        assert_eq!(twins("/home/u"), ["/srv/second home"]);
        assert_eq!(twins("/home/other/x"), [""; 0]);
        assert_eq!(twins("/etc/x"), [""; 0]);
    }
}
