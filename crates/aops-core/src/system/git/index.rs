//! The paths in git's index, read without starting `git`.
//!
//! Reads the index alone. Invariant: what is not understood whole (a split or sparse index, another version,
//! damage) is nothing, and `git` is asked.

use crate::system::files;
use crate::text::git_object::ObjectFormat;
use crate::text::sha256::hex;
use rustix::fs::Stat;
use std::path::Path;

/// How long a name of an object is, with SHA-1 and with SHA-256.
const IDS: [usize; 2] = [20, 32];
/// Times, device, inode, mode, owner and size of an entry.
const STAT: usize = 40;
/// Where an entry has the time of the last change, the inode and the size.
const MODIFIED: usize = 8;
const INODE: usize = 20;
const SIZE: usize = 36;
/// Of an entry's flags: the side of a conflict.
const STAGE: u16 = 0x3000;
/// Of an entry's flags: there are more of them.
const EXTENDED: u16 = 0x4000;
/// How long the path is, as far as that fits.
const LONG: u16 = 0x0fff;
/// Of an entry's flags: git was told to take the file for unchanged.
const TRUSTED: u16 = 0x8000;
/// Where an entry has its mode, and that of a submodule.
const MODE: usize = 24;
const SUBMODULE: u32 = 0o160_000;

/// The tracked paths below this folder (empty, or with a slash at the end), each followed by a zero byte, as
/// `git ls-files -z --cached` says them. `None`: git must be asked.
pub fn paths(index: &Path, below: &[u8]) -> Option<Vec<u8>> {
    let bytes = files::read(index).ok()?;
    IDS.into_iter().find_map(|id| paths_in(&bytes, id, below))
}

/// All tracked paths, if git compares each of them with its file: none is in a conflict, left out, only meant
/// to be added, taken for unchanged, or a submodule. `None`: git must be asked.
pub fn plain_paths(index: &Path) -> Option<Vec<Vec<u8>>> {
    const ODD: u16 = TRUSTED | EXTENDED | STAGE;
    let bytes = files::read(index).ok()?;
    IDS.into_iter().find_map(|id| {
        let (mut all, mut is_plain) = (Vec::new(), true);
        each(&bytes, id, &mut |head, path| {
            let mode = head.get(MODE..).and_then(number);
            is_plain &= mode.is_some_and(|mode| mode != SUBMODULE);
            is_plain &= flags(head, id).is_some_and(|flags| flags & ODD == 0);
            all.push(path.to_owned());
        })?;
        is_plain.then_some(all)
    })
}

/// Whether the checksum at the end is right, or git was told to write none. Git does not look at it, and what
/// a shortened index lacks it takes for empty.
pub fn is_whole(index: &Path) -> bool {
    let Ok(bytes) = files::read(index) else { return false };
    IDS.into_iter().zip([ObjectFormat::Sha1, ObjectFormat::Sha256]).any(|(id, format)| {
        let Some((body, sum)) = bytes.len().checked_sub(id).map(|end| bytes.split_at(end)) else {
            return false;
        };
        sum.iter().all(|byte| *byte == 0) || format.digest(&[body]) == hex(sum)
    })
}

/// Whether the index has this file's present content, judged as git does, by its times, size and inode.
/// `None`: git must be asked.
pub fn is_as_indexed(index: &Path, path: &[u8], file: &Stat) -> Option<bool> {
    let written = rustix::fs::stat(index).ok()?;
    let bytes = files::read(index).ok()?;
    let mut same = None;
    IDS.into_iter().find_map(|id| {
        same = None;
        each(&bytes, id, &mut |head, own| {
            if own == path {
                same = Some(same.is_none() && is_same(head, id, file));
            }
        })
    })?;
    // A file that was changed in the very moment of the index may differ all the same.
    let is_older = (file.st_mtime, file.st_mtime_nsec) < (written.st_mtime, written.st_mtime_nsec);
    same.filter(|same| !same || is_older)
}

/// Whether an entry without conflict says this of a file.
fn is_same(head: &[u8], id: usize, file: &Stat) -> bool {
    let at = |from: usize| head.get(from..).and_then(number).map(u64::from);
    let low = |value: u64| value & u64::from(u32::MAX);
    let seconds = u64::try_from(file.st_mtime).map(low).ok();
    let size = u64::try_from(file.st_size).map(low).ok();
    at(MODIFIED) == seconds
        && at(MODIFIED + 4).map(i128::from) == Some(i128::from(file.st_mtime_nsec))
        && at(INODE) == Some(low(file.st_ino))
        && at(SIZE) == size
        && flags(head, id).is_some_and(|flags| flags & STAGE == 0)
}

/// The same of the index's bytes; `id`: the length of a name of an object.
fn paths_in(bytes: &[u8], id: usize, below: &[u8]) -> Option<Vec<u8>> {
    let mut found = Vec::new();
    each(bytes, id, &mut |_, path| {
        if let Some(own) = path.strip_prefix(below) {
            found.extend_from_slice(own);
            found.push(0);
        }
    })?;
    Some(found)
}

/// Passes the head and the path of each entry on.
fn each(bytes: &[u8], id: usize, found: &mut dyn FnMut(&[u8], &[u8])) -> Option<()> {
    let body = bytes.get(..bytes.len().checked_sub(id)?)?;
    let version = number(body.strip_prefix(b"DIRC")?)?;
    let count = number(body.get(8..)?)?;
    let mut rest = body.get(12..)?;
    let mut path = Vec::new();
    for _ in 0..count {
        let head = rest;
        rest = match version {
            2 | 3 => entry(rest, id, &mut path)?,
            4 => short_entry(rest, id, &mut path)?,
            _ => return None,
        };
        let is_odd = |part: &[u8]| matches!(part, b"" | b"." | b"..");
        if path.split(|byte| *byte == b'/').any(is_odd) {
            return None;
        }
        found(head, &path);
    }
    extensions(rest)
}

fn number(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.first_chunk()?))
}

fn flags(head: &[u8], id: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*head.get(STAT + id..)?.first_chunk()?))
}

/// The length of an entry's head, and of its path as far as that fits.
fn head(rest: &[u8], id: usize) -> Option<(usize, usize)> {
    let (at, flags) = (STAT + id, flags(rest, id)?);
    Some((at + if flags & EXTENDED == 0 { 2 } else { 4 }, usize::from(flags & LONG)))
}

/// Takes an entry whose path is whole, followed by zero bytes up to a multiple of eight.
fn entry<'a>(rest: &'a [u8], id: usize, path: &mut Vec<u8>) -> Option<&'a [u8]> {
    let (from, told) = head(rest, id)?;
    let text = rest.get(from..)?;
    let long = text.iter().position(|byte| *byte == 0)?;
    if told != long.min(usize::from(LONG)) {
        return None;
    }
    path.clear();
    path.extend_from_slice(&text[..long]);
    let end = (from + long + 8) & !7;
    rest.get(from + long..end)?.iter().all(|byte| *byte == 0).then(|| &rest[end..])
}

/// Takes an entry that tells how much of the path before it goes, and what comes in its place.
fn short_entry<'a>(rest: &'a [u8], id: usize, path: &mut Vec<u8>) -> Option<&'a [u8]> {
    let (from, told) = head(rest, id)?;
    let mut text = rest.get(from..)?;
    let mut gone = 0usize;
    loop {
        let (byte, after) = text.split_first()?;
        text = after;
        gone = gone.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            break;
        }
        gone = gone.checked_add(1)?;
    }
    let long = text.iter().position(|byte| *byte == 0)?;
    path.truncate(path.len().checked_sub(gone)?);
    path.extend_from_slice(&text[..long]);
    (told == path.len().min(usize::from(LONG))).then(|| &text[long + 1..])
}

/// What follows the entries may be skipped if its name begins with a capital letter; a split or sparse
/// index has others.
fn extensions(mut rest: &[u8]) -> Option<()> {
    while !rest.is_empty() {
        if !rest.first()?.is_ascii_uppercase() {
            return None;
        }
        let long = usize::try_from(number(rest.get(4..)?)?).ok()?;
        rest = rest.get(8..)?.get(long..)?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{repository, run};
    use super::super::{git, git_folder};
    use super::*;
    use crate::system::env::Env;
    use std::fs;

    #[track_caller]
    fn as_git_says(env: &Env, below: &str) -> usize {
        let folder = env.cwd.join(below);
        let said = git(env, &folder, &["ls-files", "-z", "--cached"]).unwrap();
        let index = git_folder(&env.cwd).unwrap().join("index");
        assert_eq!(paths(&index, below.as_bytes()), Some(said.clone()), "{below}");
        said.split(|byte| *byte == 0).count() - 1
    }

    fn put(env: &Env, name: &str) {
        let path = env.cwd.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }

    #[test]
    fn the_index_says_what_git_says() {
        let (home, mut env) = repository();
        let long = home.path().join("long");
        for (version, format) in [("2", "sha1"), ("4", "sha1"), ("2", "sha256"), ("4", "sha256")] {
            env.cwd = long.join(format!("{version}-{format}"));
            fs::create_dir_all(&env.cwd).unwrap();
            run(&env, &["init", "-q", "-b", "main", &format!("--object-format={format}")]);
            run(&env, &["config", "index.version", version]);
            let index = env.cwd.join(".git/index");
            assert_eq!(paths(&index, b""), None, "nothing was ever added");
            for name in ["a", "b/c", "b/cd/e", "b/cd/f g", "ü", "b\nc"] {
                put(&env, name);
            }
            // Paths of every length up to a multiple of eight, and a long one.
            for n in 1..=9 {
                put(&env, &format!("n/{}", "x".repeat(n)));
            }
            let deep = format!("{}/end", ["d".repeat(200).as_str(); 3].join("/"));
            put(&env, &deep);
            run(&env, &["add", "-A"]);
            // An entry with more flags.
            put(&env, "later");
            run(&env, &["add", "--intent-to-add", "later"]);
            assert_eq!(as_git_says(&env, ""), 17);
            assert_eq!(as_git_says(&env, "b/cd/"), 2);
            assert_eq!(as_git_says(&env, "n/"), 9);
            // A commit leaves extensions behind.
            run(&env, &["commit", "-q", "-m", "one"]);
            run(&env, &["rm", "-q", "--cached", "a"]);
            assert_eq!(as_git_says(&env, ""), 16);
        }
    }

    #[test]
    fn a_clean_file_is_known_without_git() {
        let (_home, env) = repository();
        put(&env, "a");
        run(&env, &["add", "-A"]);
        let index = env.cwd.join(".git/index");
        let is = |name: &str| {
            is_as_indexed(&index, name.as_bytes(), &rustix::fs::lstat(env.cwd.join("a")).unwrap())
        };
        assert_eq!(is("b"), None, "it is not in the index");
        let file = std::fs::File::options().append(true).open(env.cwd.join("a")).unwrap();
        let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        file.set_modified(long_ago).unwrap();
        assert_eq!(is("a"), Some(false), "its time is another");
        for version in ["2", "4"] {
            run(&env, &["update-index", "--index-version", version, "-q", "--really-refresh"]);
            assert_eq!(is("a"), Some(true), "{version}");
        }
        std::io::Write::write_all(&mut &file, b"more").unwrap();
        file.set_modified(long_ago).unwrap();
        assert_eq!(is("a"), Some(false), "its size is another");
    }

    /// Both sides of a conflict are there, as git lists them.
    #[test]
    fn a_conflict_is_in_the_index() {
        let (_home, env) = repository();
        let commit = |text: &str| {
            fs::write(env.cwd.join("a"), text).unwrap();
            run(&env, &["add", "-A"]);
            run(&env, &["commit", "-q", "-m", text]);
        };
        commit("one");
        run(&env, &["checkout", "-q", "-b", "side"]);
        commit("side");
        run(&env, &["checkout", "-q", "main"]);
        commit("main");
        let _ = git(&env, &env.cwd, &["merge", "-q", "side"]);
        assert!(as_git_says(&env, "") > 1);
    }

    #[test]
    fn what_is_not_understood_is_gits_to_say() {
        let (_home, env) = repository();
        let index = env.cwd.join(".git/index");
        put(&env, "a");
        put(&env, "b/c");
        run(&env, &["add", "-A"]);
        let whole = fs::read(&index).unwrap();
        for end in 0..whole.len() - 20 {
            // Where what follows the entries begins, all of them are there.
            let found = paths_in(&whole[..end], 20, b"");
            assert!(found.is_none_or(|found| found == b"a\0b/c\0"), "cut at {end}");
        }
        assert_eq!(paths_in(&whole, 32, b""), None, "names of another length");
        assert!(is_whole(&index));
        for end in [0, 8, 60, whole.len() - 1] {
            fs::write(&index, &whole[..end]).unwrap();
            assert!(!is_whole(&index), "cut at {end}");
        }
        fs::write(&index, &whole).unwrap();
        let text = whole.windows(3).position(|part| part == b"b/c").unwrap();
        let mut outside = whole.clone();
        outside[text..text + 3].copy_from_slice(b"../");
        assert_eq!(paths_in(&outside, 20, b""), None, "a path out of the tree");
        run(&env, &["update-index", "--split-index"]);
        put(&env, "d");
        run(&env, &["add", "-A"]);
        assert!(paths(&index, b"").is_none() && is_whole(&index), "a split index");
        run(&env, &["update-index", "--no-split-index"]);
        assert_eq!(as_git_says(&env, ""), 3);
        run(&env, &["commit", "-q", "-m", "one"]);
        run(&env, &["sparse-checkout", "set", "--cone", "--sparse-index", "e"]);
        assert_eq!(paths(&index, b""), None, "a sparse index");
    }
}
