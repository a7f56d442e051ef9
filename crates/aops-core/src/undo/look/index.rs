//! Whether git's index lists a file, found out without starting git.
//!
//! Invariant: an index in an unknown format, or one that cannot be read, gives no answer.

use crate::system::files;
use memchr::memmem;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const MARK: &[u8] = b"DIRC";
/// Mask for the flags before an entry's name: their low twelve bits are the name's length.
const LENGTH: u16 = 0x0fff;
/// A larger index is left to git.
const LONGEST_INDEX: u64 = 32 << 20;

/// Whether the index in this git folder lists this path, relative to the working tree.
pub(super) fn lists(git: &Path, path: &Path) -> Option<bool> {
    let file = git.join("index");
    let about = match std::fs::metadata(&file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(false),
        about => about.ok()?,
    };
    if about.len() > LONGEST_INDEX {
        return None;
    }
    holds(&files::read(&file).ok()?, path.as_os_str().as_bytes())
}

fn holds(index: &[u8], name: &[u8]) -> Option<bool> {
    let version = index.strip_prefix(MARK)?.get(..4)?;
    // Version 4 compresses names; a split index stores most entries elsewhere.
    let is_split = memmem::rfind(index, b"link").is_some();
    if !matches!(version, [0, 0, 0, 2 | 3]) || is_split {
        return None;
    }
    let mut wanted = name.to_vec();
    wanted.push(0);
    let length = u16::try_from(name.len()).unwrap_or(u16::MAX).min(LENGTH);
    let is_entry = |at: usize| {
        // In version 3 two more bytes may be between flags and name.
        let flags =
            |from: usize| Some(u16::from_be_bytes([*index.get(from)?, *index.get(from + 1)?]) & LENGTH);
        flags(at.wrapping_sub(2)) == Some(length)
            || version[3] == 3 && flags(at.wrapping_sub(4)) == Some(length)
    };
    Some(memmem::find_iter(index, &wanted).any(is_entry))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::git::tests::{repository, run};

    #[test]
    fn the_index_says_what_git_says() {
        let (_home, env) = repository();
        for name in ["a", "b.txt", "sub/a", "link"] {
            let path = env.cwd.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let git = |args: &[&str]| drop(run(&env, args));
        git(&["add", "a", "sub/a"]);
        let lists = |name: &str| super::lists(&env.cwd.join(".git"), Path::new(name));
        assert_eq!([lists("a"), lists("sub/a")], [Some(true); 2]);
        assert_eq!([lists("b.txt"), lists("sub"), lists("sub/b"), lists("/a")], [Some(false); 4]);
        git(&["update-index", "--index-version", "4"]);
        assert_eq!(lists("a"), None);
    }
}
