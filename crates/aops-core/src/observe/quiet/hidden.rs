//! Paths that the user's rules protect from being read: whether a line names one, and where they all are, so
//! that its jail can hide them.
//!
//! Reads folders, up to a limit. Invariant: if not everything can be examined, no line is answered.

use super::pattern::is_part;
use super::rules::PathRule;
use rustix::fs::Access;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// At most this many entries of folders are examined for one line.
const MOST_ENTRIES: usize = 20_000;
/// At most this many paths are hidden by one jail.
const MOST_HIDDEN: usize = 64;

pub(super) fn covers(rules: &[PathRule], places: &[PathBuf]) -> bool {
    rules.iter().any(|rule| places.iter().any(|place| rule.covers(place)))
}

/// All existing files that the rules cover: a program that a line starts may read them without naming them.
pub(super) fn all(rules: &[PathRule]) -> Result<Vec<PathBuf>, String> {
    let mut search = Search { left: MOST_ENTRIES, found: Vec::new(), away: BTreeSet::new() };
    for rule in rules {
        let parts: Vec<&str> = rule.parts.iter().map(String::as_str).collect();
        for base in &rule.bases {
            search.descend(base, &parts, base)?;
        }
    }
    search.found.sort();
    search.found.dedup();
    if search.found.len() > MOST_HIDDEN {
        return Err("your rules cover more files than can be hidden".to_owned());
    }
    match search.found.iter().find(|path| has_second_name(path)) {
        Some(path) => Err(format!(
            "`{}` has a second name, which one of the user's rules does not cover",
            path.display()
        )),
        None => Ok(search.found),
    }
}

/// The entries with this name in the folder; a name that differs only in case is covered as well.
fn spelt(folder: &Path, name: &str) -> Vec<PathBuf> {
    let exact =
        || Some(folder.join(name)).filter(|path| path.symlink_metadata().is_ok()).into_iter().collect();
    let is_it =
        |path: &PathBuf| path.file_name().and_then(|own| own.to_str()).is_some_and(|own| is_part(name, own));
    fs::read_dir(folder)
        .map_or_else(|_| exact(), |items| items.flatten().map(|item| item.path()).filter(is_it).collect())
}

/// Some of these lie where the line looks, so that one of its patterns may match them.
pub(super) fn is_near(hides: &[PathBuf], places: &[PathBuf]) -> bool {
    let near = |hide: &PathBuf| places.iter().any(|place| hide.starts_with(place) || place.starts_with(hide));
    hides.iter().any(near)
}

pub(super) fn has_second_name(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.is_file() && about.nlink() > 1)
}

impl PathRule {
    fn covers(&self, place: &Path) -> bool {
        let covers = |base: &PathBuf| {
            let Ok(rest) = place.strip_prefix(base) else { return false };
            let names: Option<Vec<&str>> = rest.iter().map(|name| name.to_str()).collect();
            let parts: Vec<&str> = self.parts.iter().map(String::as_str).collect();
            names.is_none_or(|names| begins(&parts, &names))
        };
        self.bases.iter().any(covers)
    }
}

/// A path of these names matches the parts, or lies in a matching folder.
fn begins(parts: &[&str], names: &[&str]) -> bool {
    match (parts, names) {
        ([], _) => true,
        (["**", rest @ ..], _) => {
            (0..=names.len()).any(|skipped| begins(rest, &names[skipped..]))
                && !(rest.is_empty() && names.is_empty())
        }
        ([part, parts @ ..], [name, names @ ..]) => is_part(part, name) && begins(parts, names),
        (_, []) => false,
    }
}

struct Search {
    left: usize,
    found: Vec<PathBuf>,
    /// Folders outside of the rule's own, to which links lead and which were already searched.
    away: BTreeSet<PathBuf>,
}

impl Search {
    /// Finds what the parts cover from this folder on. `base`: the folder to which the rule is relative.
    fn descend(&mut self, folder: &Path, parts: &[&str], base: &Path) -> Result<(), String> {
        match parts {
            [] => {
                self.found.push(folder.to_owned());
                Ok(())
            }
            ["**", rest @ ..] => {
                if !rest.is_empty() {
                    self.descend(folder, rest, base)?;
                }
                for path in self.entries(folder)? {
                    if rest.is_empty() {
                        self.found.push(path);
                    } else if self.is_searched(&path, base) {
                        self.descend(&path, parts, base)?;
                    }
                }
                Ok(())
            }
            [part, rest @ ..] if part.contains(['*', '?']) => {
                for path in self.entries(folder)? {
                    let name = path.file_name().and_then(|name| name.to_str());
                    if name.is_none_or(|name| is_part(part, name)) {
                        self.descend(&path, rest, base)?;
                    }
                }
                Ok(())
            }
            [part, rest @ ..] => {
                for path in spelt(folder, part) {
                    self.descend(&path, rest, base)?;
                }
                Ok(())
            }
        }
    }

    /// Whether to search this path: a folder, or behind a link a folder that is not searched anyway.
    fn is_searched(&mut self, path: &Path, base: &Path) -> bool {
        match path.symlink_metadata() {
            Ok(about) if about.is_symlink() => path
                .canonicalize()
                .is_ok_and(|real| real.is_dir() && !real.starts_with(base) && self.away.insert(real)),
            about => about.is_ok_and(|about| about.is_dir()),
        }
    }

    fn entries(&mut self, folder: &Path) -> Result<Vec<PathBuf>, String> {
        let unread = |error: io::Error| format!("`{}`: {error}", folder.display());
        let items = match fs::read_dir(folder) {
            Ok(items) => items,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(Vec::new());
            }
            // Nobody who may not enter the folder can read a file in it.
            Err(_) if rustix::fs::access(folder, Access::EXEC_OK).is_err() => return Ok(Vec::new()),
            Err(error) => return Err(unread(error)),
        };
        let mut entries = Vec::new();
        for item in items {
            self.left =
                self.left.checked_sub(1).ok_or("too many files to search for those that your rules cover")?;
            entries.push(item.map_err(unread)?.path());
        }
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(base: &Path, parts: &[&str]) -> PathRule {
        PathRule {
            bases: vec![base.to_owned()],
            parts: parts.iter().map(|part| (*part).to_owned()).collect(),
        }
    }

    #[test]
    fn what_a_rule_covers_is_found_and_known_by_its_name() {
        let held = tempfile::tempdir().unwrap();
        let root = held.path().canonicalize().unwrap();
        for file in ["a/.env", "a/b/.env", "private/x/y", "keys/a.pem", "keys/b.txt", "Upper/KEY.Pem"] {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "x").unwrap();
        }
        for (parts, found) in [
            (&["**", ".env"][..], &["a/.env", "a/b/.env"][..]),
            (&["private"], &["private"]),
            (&["keys", "*.pem"], &["keys/a.pem"]),
            (&["upper", "key.pem"], &["Upper/KEY.Pem"]),
            (&["gone"], &[]),
        ] {
            let rules = [rule(&root, parts)];
            let wanted: Vec<PathBuf> = found.iter().map(|name| root.join(name)).collect();
            assert_eq!(all(&rules).unwrap(), wanted, "{parts:?}");
            for path in &wanted {
                assert!(
                    covers(&rules, &[path.join("deeper")]) && covers(&rules, std::slice::from_ref(path)),
                    "{path:?}"
                );
            }
            assert!(!covers(&rules, &[root.join("a/c")]), "{parts:?}");
        }
    }

    #[test]
    fn what_a_link_leads_to_is_found_and_a_second_name_is_told() {
        let held = tempfile::tempdir().unwrap();
        let root = held.path().canonicalize().unwrap();
        for folder in ["project/sub", "away"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("away/.env"), "x").unwrap();
        for (link, to) in [("project/out", "away"), ("project/sub/back", "project"), ("away/up", "away")] {
            std::os::unix::fs::symlink(root.join(to), root.join(link)).unwrap();
        }
        let rules = [rule(&root.join("project"), &["**", ".env"])];
        assert_eq!(all(&rules).unwrap(), [root.join("project/out/.env")]);
        fs::hard_link(root.join("away/.env"), root.join("project/other")).unwrap();
        assert!(all(&rules).unwrap_err().contains("second name"));
    }

    #[test]
    fn more_than_can_be_looked_at_is_no_answer() {
        let held = tempfile::tempdir().unwrap();
        for n in 0..=MOST_HIDDEN {
            fs::write(held.path().join(n.to_string()), "").unwrap();
        }
        assert!(all(&[rule(held.path(), &["*"])]).is_err());
        assert!(all(&[rule(Path::new("/"), &["**", "no such file at all"])]).is_err());
    }
}
