//! Which files a pattern of the shell, or of a search, matches.
//!
//! Reads folders, up to a limit. Invariant: if not everything can be looked at, the answer is `None`.

use aops_shell::syntax::{Bit, Word};
use rustix::fs::Access;
use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Folders of what others published; a search goes through them, but no file of the user's is there.
const OF_OTHERS: [&str; 3] = [".git", "node_modules", "site-packages"];

/// Whether a name matches this part of a pattern. `with_hidden`: a leading dot needs no dot in the pattern.
pub fn matches(pattern: &[Bit], name: &OsStr, with_hidden: bool) -> bool {
    let name: Vec<char> = name.to_string_lossy().chars().collect();
    if !with_hidden && name.first() == Some(&'.') && pattern.first() != Some(&Bit::Char('.')) {
        return false;
    }
    let mut at = 0;
    let mut read = 0;
    let mut star = None;
    while read < name.len() {
        match pattern.get(at) {
            Some(Bit::Star | Bit::Any) => {
                star = Some((at, read));
                at += 1;
            }
            Some(Bit::One) => (at, read) = (at + 1, read + 1),
            Some(Bit::Char(c)) if *c == name[read] => (at, read) = (at + 1, read + 1),
            _ => {
                let Some((back, from)) = star else { return false };
                at = back + 1;
                read = from + 1;
                star = Some((back, from + 1));
            }
        }
    }
    pattern[at..].iter().all(|bit| matches!(bit, Bit::Star | Bit::Any))
}

/// The existing paths that this absolute pattern matches; `**` is any depth, without following links.
/// `None` if that takes more than `most` entries.
pub fn expand(pattern: &Word, with_hidden: bool, most: usize) -> Option<Vec<PathBuf>> {
    let parts: Vec<&[Bit]> =
        pattern.bits.split(|bit| *bit == Bit::Char('/')).filter(|part| !part.is_empty()).collect();
    let mut search = Search { left: most, found: Vec::new() };
    search.descend(PathBuf::from("/"), &parts, with_hidden)?;
    Some(search.found)
}

struct Search {
    left: usize,
    found: Vec<PathBuf>,
}

impl Search {
    fn descend(&mut self, folder: PathBuf, parts: &[&[Bit]], with_hidden: bool) -> Option<()> {
        let Some((part, rest)) = parts.split_first() else {
            self.found.extend(Some(folder).filter(|path| path.symlink_metadata().is_ok()));
            return Some(());
        };
        if let Some(name) = literal(part) {
            return self.descend(folder.join(name), rest, with_hidden);
        }
        if *part != [Bit::Star, Bit::Star] {
            for item in self.items(&folder)? {
                if matches(part, &item.file_name(), with_hidden) {
                    self.descend(item.path(), rest, with_hidden)?;
                }
            }
            return Some(());
        }
        let mut waiting = vec![folder];
        while let Some(folder) = waiting.pop() {
            if !rest.is_empty() {
                // A search finds hidden files as well.
                self.descend(folder.clone(), rest, true)?;
            }
            for item in self.items(&folder)? {
                let is_folder = item.file_type().is_ok_and(|kind| kind.is_dir());
                if is_folder && !OF_OTHERS.iter().any(|name| item.file_name() == *name) {
                    waiting.push(item.path());
                } else if !is_folder && rest.is_empty() {
                    self.found.push(item.path());
                }
            }
        }
        Some(())
    }

    /// The entries of a folder; none if it is not a folder, or nobody may enter it.
    fn items(&mut self, folder: &Path) -> Option<Vec<DirEntry>> {
        let items = match fs::read_dir(folder) {
            Ok(items) => items,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Some(Vec::new());
            }
            Err(_) if rustix::fs::access(folder, Access::EXEC_OK).is_err() => return Some(Vec::new()),
            Err(_) => return None,
        };
        let mut all = Vec::new();
        for item in items {
            self.left = self.left.checked_sub(1)?;
            all.push(item.ok()?);
        }
        Some(all)
    }
}

fn literal(part: &[Bit]) -> Option<String> {
    part.iter().map(|bit| if let Bit::Char(c) = bit { Some(*c) } else { None }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aops_shell::syntax::globbed;

    #[test]
    fn a_pattern_is_a_shells() {
        let of = |pattern: &str| {
            let bit = |c| match c {
                '*' => Bit::Star,
                '?' => Bit::One,
                c => Bit::Char(c),
            };
            pattern.chars().map(bit).collect::<Vec<_>>()
        };
        for (pattern, name, is) in [
            ("*", "a", true),
            ("*", ".a", false),
            (".*", ".a", true),
            ("*.csv", "a.b.csv", true),
            ("*.csv", "a.csv.gz", false),
            ("a?c", "abc", true),
            ("a*b*c", "axxbyyc", true),
        ] {
            assert_eq!(matches(&of(pattern), OsStr::new(name), false), is, "{pattern} {name}");
        }
    }

    #[test]
    fn patterns_match_as_in_the_shell_and_searches_find_everything() {
        let held = tempfile::tempdir().unwrap();
        let root = held.path().canonicalize().unwrap();
        for file in [".env", "a.txt", "sub/.env", "sub/b.txt", "node_modules/x/.env", ".git/config"] {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "x").unwrap();
        }
        std::os::unix::fs::symlink(&root, root.join("sub/up")).unwrap();
        let found = |pattern: &str, with_hidden: bool| {
            let pattern = globbed(&Word::of(&format!("{}/{pattern}", root.display())));
            let mut found = expand(&pattern, with_hidden, 1000).unwrap();
            found.sort();
            let inside = |path: PathBuf| path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
            found.into_iter().map(inside).collect::<Vec<_>>().join(" ")
        };
        for (pattern, with_hidden, names) in [
            (".e*", false, ".env"),
            (".[e]nv", false, ".env"),
            ("?env", false, ""),
            ("?env", true, ".env"),
            ("*", false, "a.txt node_modules sub"),
            ("*/.env", false, "sub/.env"),
            ("**/.e*", false, ".env sub/.env"),
            ("**/*.txt", false, "a.txt sub/b.txt"),
            ("**", false, ".env a.txt sub/.env sub/b.txt sub/up"),
            ("no/**", false, ""),
            ("a.txt/**", false, ""),
            ("a.txt", false, "a.txt"),
        ] {
            assert_eq!(found(pattern, with_hidden), names, "{pattern}");
        }
        assert_eq!(expand(&globbed(&Word::of(&format!("{}/**", root.display()))), false, 3), None);
    }
}
